//! The editing keys, on every kind of text.

use super::*;

fn table(rows: &[(&str, &str, &str)]) {
    for (before, keys, after) in rows {
        let mut kit = Kit::with(before);
        kit.keys(keys);
        assert_eq!(kit.text(), *after, "{before:?} {keys}");
    }
}

#[test]
fn the_cursor_moves() {
    table(&[
        ("hel|lo", "ctrl+b", "he|llo"),
        ("hel|lo", "left left", "h|ello"),
        ("hel|lo", "ctrl+f", "hell|o"),
        ("hello|\nyou", "right", "hello\n|you"),
        ("hello\n|you", "left", "hello|\nyou"),
        ("|", "left", "|"),
        ("a|", "right", "a|"),
        ("one two|", "ctrl+a", "|one two"),
        ("one\ntwo|", "home", "one\n|two"),
        ("|one two", "ctrl+e", "one two|"),
        ("|one\ntwo", "end", "one|\ntwo"),
        ("one\nt|wo", "ctrl+home", "|one\ntwo"),
        ("o|ne\ntwo", "ctrl+end", "one\ntwo|"),
        ("one two, three|", "alt+b", "one two, |three"),
        ("one two, |three", "alt+b", "one |two, three"),
        ("one |two", "ctrl+left", "|one two"),
        ("one|\n\ntwo", "alt+f", "one\n\ntwo|"),
        ("one\n\n|two", "alt+b", "|one\n\ntwo"),
        ("|one two, three", "alt+f", "one| two, three"),
        ("one| two, three", "ctrl+right", "one two|, three"),
        ("one two| ...", "alt+f", "one two ...|"),
        ("a.b(|c)", "alt+b", "|a.b(c)"),
        ("|can't stop", "alt+f", "can't| stop"),
        ("|漢字かな", "alt+f", "漢|字かな"),
    ]);
}

#[test]
fn up_and_down_keep_their_column() {
    table(&[
        ("long line\nab\nother lin|e", "up", "long line\nab|\nother line"),
        ("long line\nab\nother lin|e", "up up", "long line|\nab\nother line"),
        ("lon|g line\nab\nother line", "down down", "long line\nab\noth|er line"),
        ("漢字|漢\nabcdef", "down", "漢字漢\nabcd|ef"),
        ("abcde|f\n漢字漢", "down", "abcdef\n漢字|漢"),
        ("a\nb|", "ctrl+p", "a|\nb"),
        ("a|\nb", "ctrl+n", "a\nb|"),
    ]);
    // By rows of the screen, not by lines: 8 columns, 2 of them the mark.
    let mut kit = Kit::with("abcdefghij|");
    kit.composer.height(8, 9);
    kit.keys("up");
    assert_eq!(kit.text(), "abcd|efghij");
    kit.keys("down");
    assert_eq!(kit.text(), "abcdefghij|");
    kit.set("abcdef|ghij\nxy");
    kit.keys("down");
    assert_eq!(kit.text(), "abcdefghij\n|xy");
}

#[test]
fn a_character_is_what_a_person_sees() {
    table(&[
        ("👨‍👩‍👧|x", "backspace", "|x"),
        ("|🇩🇪🇫🇷", "right", "🇩🇪|🇫🇷"),
        ("🇩🇪🇫🇷|", "left", "🇩🇪|🇫🇷"),
        ("🇩🇪🇫🇷|", "backspace", "🇩🇪|"),
        ("e\u{301}|", "backspace", "|"),
        ("|e\u{301}a", "delete", "|a"),
        ("👍🏽|", "left", "|👍🏽"),
        ("नि|", "backspace", "|"),
        ("漢字|", "ctrl+h", "漢|"),
        ("a|\u{301}", "left", "|a\u{301}"),
        // What comes together by a change is one character.
        ("🇩|a🇪", "delete", "🇩🇪|"),
    ]);
}

#[test]
fn text_is_cut_and_put_back() {
    table(&[
        ("hel|lo", "ctrl+d", "hel|o"),
        ("hello|\nyou", "delete", "hello|you"),
        ("hello\n|you", "backspace", "hello|you"),
        ("hel|lo", "ctrl+w", "|lo"),
        ("say src/a.rs |", "ctrl+w", "say |"),
        ("one\n|", "ctrl+w", "|"),
        ("say src/a|", "alt+backspace", "say src/|"),
        ("say |one, two", "alt+d", "say |, two"),
        ("one two| three", "ctrl+u", "| three"),
        ("one\n|two", "ctrl+u", "one|two"),
        ("one| two\nthree", "ctrl+k", "one|\nthree"),
        ("one|\nthree", "ctrl+k", "one|three"),
        ("one two|", "ctrl+w ctrl+w ctrl+y", "one two|"),
        ("|one two", "alt+d alt+d ctrl+a ctrl+y", "one two|"),
        ("one two|", "ctrl+w left right ctrl+w ctrl+y", "one |"),
        ("one two|", "ctrl+w left right ctrl+w ctrl+y alt+y", "two|"),
        ("one two|", "ctrl+w left right ctrl+w ctrl+y alt+y alt+y", "one |"),
        ("one|", "alt+y", "one|"),
        ("one\ntwo|", "ctrl+c ctrl+y", "one\ntwo|"),
    ]);
}

#[test]
fn lines_are_made() {
    table(&[
        ("a|b", "shift+enter", "a\n|b"),
        ("a|b", "alt+enter", "a\n|b"),
        ("a|b", "ctrl+j", "a\n|b"),
        ("a\\|b", "enter", "a\n|b"),
        ("a\\|b", "enter ctrl+_", "a\\|b"),
    ]);
}

#[test]
fn undo_goes_back_by_words_and_runs() {
    let mut kit = Kit::new();
    kit.types("one two");
    kit.keys("ctrl+_");
    assert_eq!(kit.text(), "one |");
    kit.keys("ctrl+/");
    assert_eq!(kit.text(), "|");
    kit.types("one");
    kit.keys("backspace backspace ctrl+7");
    assert_eq!(kit.text(), "one|");
    kit.keys("left delete ctrl+_");
    assert_eq!(kit.text(), "on|e");
    kit.keys("ctrl+k ctrl+y ctrl+_ ctrl+_");
    assert_eq!(kit.text(), "on|e");
    kit.keys("ctrl+c");
    assert_eq!(kit.text(), "|");
    kit.keys("ctrl+_");
    assert_eq!(kit.text(), "on|e");
}

#[test]
fn text_of_an_input_method_is_taken_as_typed() {
    let mut kit = Kit::new();
    kit.types("かな漢字한글 é");
    assert_eq!(kit.text(), "かな漢字한글 é|");
    let shifted = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::SHIFT);
    kit.composer.key(shifted);
    assert_eq!(kit.text(), "かな漢字한글 éA|");
}

#[test]
fn a_key_released_types_nothing() {
    let mut kit = Kit::new();
    let mut key = press("a");
    key.kind = crossterm::event::KeyEventKind::Release;
    assert_eq!(kit.composer.key(key), Did::Nothing);
    assert!(kit.composer.is_empty());
}

/// Five thousand lines: what a key looks at is its line and the rows on the screen. Counted by the rows
/// that are folded anew.
#[test]
fn a_key_works_on_its_line_only() {
    let text = "some words of a line, not too few of them\n".repeat(5_000);
    let mut kit = Kit::with(&format!("{text}|"));
    let mut screen = ratatui::buffer::Buffer::empty(ratatui::layout::Rect::new(0, 0, 80, 10));
    let palette = crate::tui::palette::Palette::new(crate::tui::palette::Theme::Plain);
    kit.composer.render(screen.area, &mut screen, &palette);
    let before = rows::folded();
    kit.types("x");
    kit.composer.height(80, 10);
    kit.composer.render(screen.area, &mut screen, &palette);
    let after = rows::folded();
    assert!(after - before <= 12, "{} lines folded for a key", after - before);
    assert!(after - before >= 1);
}
