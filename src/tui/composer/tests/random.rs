//! Any keys, any text, any size.

use proptest::collection::vec;
use proptest::prelude::*;
use ratatui::buffer::Buffer as Screen;
use ratatui::layout::Rect;

use super::*;
use crate::tui::composer::glyph;
use crate::tui::palette::{Palette, Theme};

#[derive(Clone, Debug)]
enum Move {
    Key(&'static str),
    Type(char),
    Paste(String),
    Size(u16, u16),
    State(State),
}

/// Enter and what leaves the text are left out where undo is watched.
const EDITING: &[&str] = &[
    "left",
    "right",
    "alt+b",
    "alt+f",
    "home",
    "end",
    "ctrl+home",
    "ctrl+end",
    "backspace",
    "delete",
    "ctrl+w",
    "alt+backspace",
    "alt+d",
    "ctrl+u",
    "ctrl+k",
    "ctrl+y",
    "alt+y",
    "ctrl+j",
    "ctrl+o",
];
const OTHERS: &[&str] = &[
    "enter", "up", "down", "tab", "esc", "ctrl+_", "ctrl+s", "ctrl+c", "ctrl+d", "ctrl+r", "pageup",
    "pagedown",
];

fn letter() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => prop::sample::select("ab c/@!\"\\:.\n漢é".chars().collect::<Vec<_>>()),
        2 => prop::sample::select("\u{301}\u{200d}\u{fe0f}👩🏽🇩🇪\u{600}\u{1b}\t\u{10f000}\u{e0001}".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    vec(letter(), 0..30).prop_map(|letters| letters.into_iter().collect())
}

fn editing() -> impl Strategy<Value = Move> {
    prop_oneof![
        prop::sample::select(EDITING).prop_map(Move::Key),
        letter().prop_map(Move::Type),
        text().prop_map(Move::Paste),
        text().prop_map(|text| Move::Paste(format!("{text}\n").repeat(9))),
    ]
}

fn anything() -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => editing(),
        2 => prop::sample::select(OTHERS).prop_map(Move::Key),
        1 => (1u16..100, 1u16..12).prop_map(|(w, h)| Move::Size(w, h)),
        1 => prop::bool::ANY.prop_map(|on| Move::State(if on { State::Working } else { State::Idle })),
    ]
}

fn make(kit: &mut Kit, one: &Move) {
    match one {
        Move::Key(key) => {
            kit.keys(key);
        }
        Move::Type(c) => {
            kit.types(&c.to_string());
        }
        Move::Paste(text) => {
            kit.composer.paste(text);
        }
        Move::Size(width, height) => {
            let area = Rect::new(0, 0, *width, *height);
            let wanted = kit.composer.height(*width, *height);
            assert!((1..=*height).contains(&wanted));
            let mut screen = Screen::empty(area);
            let at = kit.composer.render(area, &mut screen, &Palette::new(Theme::Dark));
            assert!(area.contains(at), "{at:?} outside of {area:?}");
        }
        Move::State(state) => kit.composer.set_state(*state),
    }
    let at = kit.composer.buffer.cursor();
    let line = kit.composer.buffer.line(at.line);
    assert!(glyph::is_boundary(line, at.byte), "{line:?} {}", at.byte);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 96 } else { 512 }))]

    #[test]
    fn no_keys_break_it(moves in vec(anything(), 0..60)) {
        let mut kit = Kit::new();
        for one in &moves {
            make(&mut kit, one);
        }
    }

    #[test]
    fn undo_returns_to_the_start(moves in vec(editing(), 0..40)) {
        let mut kit = Kit::new();
        for one in &moves {
            make(&mut kit, one);
        }
        for _ in 0..200 {
            kit.keys("ctrl+_");
        }
        prop_assert_eq!(kit.text(), "|");
    }

    /// Going right from the start to the end meets every place that going left meets.
    #[test]
    fn left_and_right_agree(text in text()) {
        let mut kit = Kit::new();
        kit.composer.paste(&text);
        kit.composer.insert("");
        let places = |kit: &mut Kit, key: &str| {
            let mut all = vec![kit.composer.buffer.cursor()];
            while kit.keys(key) != Did::Nothing || kit.composer.has_popup() {
                all.push(kit.composer.buffer.cursor());
                if all.len() > 200 {
                    break;
                }
            }
            all.dedup();
            all
        };
        kit.keys("ctrl+home");
        let right = places(&mut kit, "right");
        let mut left = places(&mut kit, "left");
        left.reverse();
        prop_assert_eq!(right, left);
    }

    #[test]
    fn rows_hold_the_whole_line(text in "[^\n]{0,60}", width in 1usize..20) {
        let starts = rows::starts(&text, width, &|_| 5);
        prop_assert_eq!(starts[0], 0);
        for pair in starts.windows(2) {
            prop_assert!(pair[0] < pair[1]);
            prop_assert!(glyph::is_boundary(&text, pair[1]));
            let used = rows::column_of(&text, pair[0], pair[1], &|_| 5);
            let one = glyph::next(&text, pair[0]) == pair[1];
            prop_assert!(used <= width || one, "{used} columns of {width}");
        }
    }

    #[test]
    fn any_name_is_written_so_that_it_is_read(name in "[^\0/]{1,20}") {
        let kit = Kit::new();
        let mention = format!("@{}", mention::written(Path::new(&name)));
        let tokens = mention::tokens(&mention);
        prop_assert_eq!(tokens.len(), 1);
        let path = kit.folder.path().join(&name);
        if name != "." && name != ".." && std::fs::write(&path, "").is_ok() {
            prop_assert_eq!(tokens[0].find(kit.folder.path()).path, Path::new(&name));
        }
    }

    #[test]
    fn any_text_is_read_for_names(text in text()) {
        for token in mention::tokens(&text) {
            let found = token.find(Path::new("/nonexistent"));
            prop_assert!(text[found.span.clone()].starts_with('@'));
        }
    }
}
