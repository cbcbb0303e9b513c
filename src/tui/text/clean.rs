//! Foreign text without anything that a terminal would obey or that a reader could not see.
//!
//! Sequences: ECMA-48 (5th edition) chapter 5 and 8.3; which strings exist and how they end: xterm "Control
//! Sequences". Works line by line: a string that is not ended on its line goes to the end of that line, so that
//! cleaning lines one at a time and cleaning the whole is the same.

use std::borrow::Cow;
use std::fmt::Write;

/// Text that is safe to draw: of control characters only `\n` and `\t` are left.
///
/// Escape sequences go as a whole. `\r\n` is `\n`, and so is `\r` alone: nothing that was said hides behind what
/// follows it. Line and paragraph separators become `\n`.
pub fn clean(text: &str) -> Cow<'_, str> {
    lines(text, |line, out| {
        for (nth, part) in line.split('\r').filter(|part| !part.is_empty()).enumerate() {
            if nth > 0 {
                out.push('\n');
            }
            strip(part, out);
        }
    })
}

/// As [`clean`], for what a program printed: text that `\r` sends the cursor back over is replaced by what
/// follows, as in a line that shows progress.
pub fn printed(text: &str) -> Cow<'_, str> {
    lines(text, |line, out| {
        let last = line.trim_end_matches('\r').rsplit('\r').find(|part| !part.is_empty());
        strip(last.unwrap_or_default(), out);
    })
}

/// Cleans a text line by line, each without its end.
fn lines(text: &str, clean: impl Fn(&str, &mut String)) -> Cow<'_, str> {
    if !text.contains(suspicious) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        clean(line, &mut out);
        out.push_str(end);
    }
    Cow::Owned(out)
}

/// As [`clean`], on one row: a line break is drawn as `↵`, a tab is blanks.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    let clean = clean(text);
    if !clean.contains(['\n', '\t']) {
        return clean;
    }
    let folded = clean.replace('\n', "↵");
    Cow::Owned(super::measure::expand(&folded, 0).into_owned())
}

/// The text with everything drawn that [`clean`] takes away, and blanks that are no space: for what a person is
/// asked to agree to. Line breaks and tabs stay.
pub fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = rest.clone().next();
        match c {
            '\n' | '\t' => out.push(c),
            '\0'..'\u{20}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => out.push('\u{2421}'),
            _ if c.is_control() || odd_blank(c) || hidden(c) && !joins(c, before, next) => {
                // Writing to a string does not fail.
                let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
            }
            _ => {
                out.push(c);
                before = Some(c);
                continue;
            }
        }
        before = None;
    }
    out
}

/// As [`reveal`], on one row.
pub fn reveal_line(text: &str) -> String {
    reveal(text).replace('\n', "↵").replace('\t', " ")
}

/// The first line of a command, with everything drawn that would hide a part of it.
pub fn first_line(command: &str) -> String {
    let (first, more) = match command.trim().split_once('\n') {
        Some((first, _)) => (first.trim_end_matches('\r'), " …"),
        None => (command.trim(), ""),
    };
    reveal_line(first) + more
}

/// Whether cleaning may change a text with this character.
fn suspicious(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        _ => c.is_control() || hidden(c),
    }
}

/// Drawn as nothing, or reorders what is drawn: format characters, fillers and selectors of Unicode 16.
fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Looks like a space and is none to a shell.
fn odd_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, ' ' | '\n' | '\t') || c == '\u{2800}'
}

/// Whether a hidden character does its work here: within an emoji, or between letters that it shapes.
fn joins(c: char, before: Option<char>, next: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        '\u{fe0e}' | '\u{fe0f}' => pictured(before),
        '\u{200d}' if next.is_some_and(pictured) => pictured(before) || before == '\u{fe0f}',
        '\u{200c}' | '\u{200d}' => shaped(before),
        _ => false,
    }
}

/// Has a form as an emoji, or changes one.
fn pictured(c: char) -> bool {
    matches!(c,
        '#' | '*' | '0'..='9' | '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}'
        | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Of a script whose letters are joined or kept apart by joiners: Arabic, Syriac, N'Ko, those of India, Tibet and
/// Burma, Khmer, Mongolian and their like.
fn shaped(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1a20}'..='\u{1c4f}'
        | '\u{a840}'..='\u{a8df}' | '\u{a980}'..='\u{a9df}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// Adds what is to be seen of one line.
fn strip(line: &str, out: &mut String) {
    let mut before = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => escape(&mut rest),
            '\u{9b}' => control(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => string(&mut rest),
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' => out.push(c),
            _ if c.is_control() => {}
            _ if hidden(c) && !joins(c, before, rest.clone().next()) => {}
            _ => {
                out.push(c);
                before = Some(c);
                continue;
            }
        }
        before = None;
    }
}

/// Behind ESC.
fn escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            string(rest);
        }
        Some(' '..='/') => {
            skip(rest, |c| matches!(c, ' '..='/'));
            end(rest, |c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => *rest = ahead,
        _ => {}
    }
}

/// Parameters and the final byte of a control sequence.
fn control(rest: &mut std::str::Chars<'_>) {
    skip(rest, |c| matches!(c, '0'..='?'));
    skip(rest, |c| matches!(c, ' '..='/'));
    end(rest, |c| matches!(c, '@'..='~'));
}

/// The content of a control string and what ends it.
fn string(rest: &mut std::str::Chars<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                end(rest, |c| c == '\\');
                return;
            }
            _ => {}
        }
    }
}

fn skip(rest: &mut std::str::Chars<'_>, of: impl Fn(char) -> bool) {
    *rest = rest.as_str().trim_start_matches(of).chars();
}

fn end(rest: &mut std::str::Chars<'_>, of: impl Fn(char) -> bool) {
    if rest.clone().next().is_some_and(of) {
        rest.next();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_of_a_command_hides_on_its_one_row() {
        for (command, want) in [
            ("  cargo test\n", "cargo test"),
            ("rm -rf a\rls", "rm -rf a␍ls"),
            ("rm a\n\nls", "rm a …"),
            ("rm a\r\nls", "rm a …"),
            ("rm a\u{1b}[8m\u{202e}\tb", "rm a␛[8m⟨U+202E⟩ b"),
        ] {
            assert_eq!(first_line(command), want, "{command:?}");
        }
    }

    #[test]
    fn only_what_is_seen_is_left() {
        for (raw, seen) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[38;2;1;2;3mx\u{1b}[?25ly", "xy"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
            ("a\u{1b}P1$qm\u{1b}\\b\u{1b}_apc\u{9c}c", "abc"),
            ("a\u{1b}]52;c;aGk=\nb", "a\nb"),
            ("\u{1b}(B\u{1b}7\u{1b}cx", "x"),
            ("\u{9b}2Jx\u{9d}0;t\u{9c}y", "xy"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}[12", ""),
            ("\u{1b}\u{1b}[1mx", "x"),
            ("\u{1b}äx", "äx"),
            ("a\0b\u{7}c\u{8}d\u{7f}e\u{85}f", "abcdef"),
            ("one\r\ntwo\r\r\nthree", "one\ntwo\nthree"),
            ("10%\r55%\r100%\ndone\r", "10%\n55%\n100%\ndone"),
            ("rm -rf /\r\u{1b}[2Kls", "rm -rf /\nls"),
            ("\r", ""),
            ("user\u{202e}txt.exe\u{2066}", "usertxt.exe"),
            ("\u{feff}a\u{200b}b\u{2060}c\u{ad}d", "abcd"),
            ("x\u{e0041}\u{e0042}", "x"),
            ("a\u{2028}b\u{2029}c", "a\nb\nc"),
            ("a\u{fe0f}b\u{200d}c", "abc"),
            (
                "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
                "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            ),
            ("😀\u{fe0f}\u{fe0f}\u{fe0f}", "😀\u{fe0f}"),
            ("می\u{200c}خواهم क्\u{200d}ष", "می\u{200c}خواهم क्\u{200d}ष"),
            ("日本語 e\u{301}", "日本語 e\u{301}"),
        ] {
            assert_eq!(clean(raw), seen, "{raw:?}");
        }
    }

    #[test]
    fn a_line_that_a_program_wrote_over_is_as_it_was_last() {
        for (raw, seen) in [
            ("10%\r55%\r100%\ndone\r", "100%\ndone"),
            ("one\r\ntwo\r\r\nthree", "one\ntwo\nthree"),
            ("\u{1b}[2K\rok \u{1b}[31m3\u{1b}[0m\r", "ok 3"),
            ("plain\n", "plain\n"),
        ] {
            assert_eq!(printed(raw), seen, "{raw:?}");
        }
    }

    #[test]
    fn a_line_is_one_row() {
        assert_eq!(clean_line("a\r\nb\tc\u{1b}[1m"), "a↵b c");
        assert_eq!(clean_line("plain"), "plain");
    }

    #[test]
    fn hidden_characters_are_drawn() {
        for (raw, drawn) in [
            ("ls\n\tx", "ls\n\tx"),
            ("\u{1b}[2K\rrm", "␛[2K␍rm"),
            ("a\u{202e}b\u{e0041}", "a⟨U+202E⟩b⟨U+E0041⟩"),
            ("rm\u{a0}-rf\u{7f}\u{9b}", "rm⟨U+00A0⟩-rf␡⟨U+009B⟩"),
            ("a\u{2028}b", "a⟨U+2028⟩b"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
        ] {
            assert_eq!(reveal(raw), drawn, "{raw:?}");
        }
    }

    fn nasty() -> impl Strategy<Value = String> {
        let parts = prop_oneof![
            any::<char>().prop_map(String::from),
            "[a-z0-9;\\[\\]m\\\\]{0,4}",
            proptest::sample::select(vec![
                "\u{1b}", "\u{1b}[", "\u{1b}]", "\u{7}", "\r", "\n", "\u{9b}", "\u{9c}", "\u{200d}",
                "\u{fe0f}", "👩", "\u{202e}", "\u{1b}P", "\u{1b}\\", "\t", "日",
            ])
            .prop_map(str::to_owned),
        ];
        proptest::collection::vec(parts, 0..20).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn nothing_said_hides_behind_a_return(words in proptest::collection::vec("[a-z]{1,5}", 1..6)) {
            let shown = clean(&words.join("\r")).into_owned();
            prop_assert_eq!(shown.lines().collect::<Vec<_>>(), words);
        }

        #[test]
        fn nothing_that_acts_is_left(raw in nasty()) {
            let clean = clean(&raw);
            let acts = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
            prop_assert_eq!(clean.chars().find(acts), None);
            prop_assert_eq!(super::clean(&clean), &*clean, "once is enough");
            let printed = printed(&raw);
            prop_assert_eq!(printed.chars().find(acts), None);
            prop_assert_eq!(super::clean(&printed), &*printed);
            let drawn = reveal(&raw);
            prop_assert_eq!(drawn.chars().find(acts), None);
            prop_assert_eq!(super::clean(&drawn), &*drawn, "nothing drawn is hidden");
        }

        #[test]
        fn lines_can_be_cleaned_one_by_one(raw in nasty()) {
            let apart: String = raw.split_inclusive('\n').map(|line| clean(line).into_owned()).collect();
            prop_assert_eq!(&*clean(&raw), apart);
            let apart: String = raw.split_inclusive('\n').map(|line| printed(line).into_owned()).collect();
            prop_assert_eq!(&*printed(&raw), apart);
        }
    }
}
