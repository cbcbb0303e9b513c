//! Bytes in, events out, written as a person would: `ctrl+c`, `paste(…)`.

use std::io::Read as _;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyModifiers};
use proptest::prelude::*;

use super::parse::Parser;
use super::*;

fn say(token: &Token) -> String {
    let key = match token {
        Token::Key(key) => key,
        Token::Paste(text) => return format!("paste({text})"),
        Token::Focus(gained) => return format!("focus({gained})"),
        Token::Background(theme) => return format!("background({theme:?})").to_lowercase(),
        Token::Reflow(reflow) => return format!("reflow({reflow:?})").to_lowercase(),
        Token::Kitty => return "kitty".into(),
        Token::Answered => return "answered".into(),
    };
    let mut said: String =
        key.modifiers.iter_names().map(|(name, _)| format!("{}+", name.to_lowercase())).collect();
    said += &match key.code {
        KeyCode::Char(c) => c.to_string(),
        code => format!("{code:?}").to_lowercase(),
    };
    said.replace("control", "ctrl")
}

fn parse(bytes: &[u8]) -> String {
    let (mut parser, mut out) = (Parser::default(), Vec::new());
    parser.feed(bytes, &mut out);
    parser.give_up(&mut out);
    out.iter().map(say).collect::<Vec<_>>().join(" ")
}

/// From xterm's ctlseqs, kitty's keyboard protocol, and what Linux, rxvt, tmux and PuTTY send.
const KEYS: &[(&[u8], &str)] = &[
    (b"ab", "a b"),
    ("é日😀".as_bytes(), "é 日 😀"),
    (b"A", "shift+A"),
    (b"\r\n\t\x7f", "enter ctrl+j tab backspace"),
    (b"\x00\x01\x03\x1a\x1c\x1f", "ctrl+  ctrl+a ctrl+c ctrl+z ctrl+\\ ctrl+_"),
    (b"\x1b", "esc"),
    (b"\x1b\x1b", "esc esc"),
    (b"\x1bb\x1b\r\x1b\x7f", "alt+b alt+enter alt+backspace"),
    ("\x1bé".as_bytes(), "alt+é"),
    (b"\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F", "up down right left home end"),
    (b"\x1bOA\x1bOH\x1bOP\x1bOM", "up home f(1) enter"),
    (b"\x1bO", "shift+alt+O"),
    (b"\x1bOz", "shift+alt+O z"),
    (b"\x1b[", "alt+["),
    (b"\x1b[1;5C\x1b[1;3D\x1b[1;2A\x1b[1;10P", "ctrl+right alt+left shift+up shift+super+f(1)"),
    (
        b"\x1b[1~\x1b[2~\x1b[3~\x1b[4~\x1b[5~\x1b[6~\x1b[7~\x1b[8~",
        "home insert delete end pageup pagedown home end",
    ),
    (b"\x1b[3;5~\x1b[15~\x1b[17~\x1b[21~\x1b[24~\x1b[34~", "ctrl+delete f(5) f(6) f(10) f(12) f(20)"),
    (b"\x1b[[A\x1b[[E", "f(1) f(5)"),
    (b"\x1b[Z", "shift+backtab"),
    (b"\x1b[13;2u\x1b[13;5u\x1b[27u\x1b[127;3u", "shift+enter ctrl+enter esc alt+backspace"),
    (
        b"\x1b[97;5u\x1b[97;6u\x1b[106;5u\x1b[9;2u\x1b[32;2u",
        "ctrl+a shift+ctrl+A ctrl+j shift+backtab shift+ ",
    ),
    (b"\x1b[49:33;2u\x1b[233;3u", "shift+! alt+é"),
    (b"\x1b[97;5:2u\x1b[97;5:3u\x1b[57441;2u\x1b[57414u\x1b[57417u\x1b[57376u", "ctrl+a enter left f(13)"),
    (b"\x1b[27;2;13~\x1b[27;5;106~\x1b[27;6;65~", "shift+enter ctrl+j shift+ctrl+A"),
    (b"\x1b[I\x1b[O", "focus(true) focus(false)"),
    (b"\x1b[200~one\rtwo\r\nthree\x1b[A\x1b[201~x", "paste(one\ntwo\nthree\x1b[A) x"),
    (b"\x1b[200~\x1b[201~", "paste()"),
    (b"\x1b[200~cut off", "paste(cut off)"),
    (b"\x1b[201~a", "a"),
    // Answers and reports, also such as nobody asked for.
    (b"\x1b]11;rgb:0000/0000/0000\x1b\\a", "background(dark) a"),
    (b"\x1b]11;rgb:ffff/ffff/ffff\x07a", "background(light) a"),
    (b"\x1b]11;nonsense\x07a\x1b]52;c;aGk=\x1b\\b", "a b"),
    (b"\x1b[?1u\x1b[?62;22c", "kitty answered"),
    (b"\x1b[?997;2n\x1b[?2026;2$y\x1b[?12;40R\x1b[4;600;800t", "background(light)"),
    (b"\x1bP>|XTerm(390)\x1b\\\x1bP>|tmux 3.4\x1b\\", "reflow(no) reflow(yes)"),
    (b"\x1bP1+r544e\x1b\\b\x1b_Gi=1;OK\x1b\\c", "b c"),
    (b"\x1b[<0;10;20Ma\x1b[<35;1;1mb\x1b[M !!c", "a b c"),
    (b"\x1b[99;99;99z\x1b[>1ma", "a"),
    // Keys that begin as answers do.
    (b"\x1b]\x1bP\x1b_", "alt+] shift+alt+P alt+_"),
    (b"\x1b]a\x1bPb", "alt+] a shift+alt+P b"),
    // Broken: what follows is not lost.
    (b"\x1b[12\x1b[A", "up"),
    (b"\x1b]11;rgb\x1b[A", "up"),
    (b"\x1b[1\x03", "ctrl+c"),
    (b"\xff\xe6\x97a\xe6", "\u{fffd} \u{fffd} a \u{fffd}"),
];

#[test]
fn keys_are_told_apart() {
    for (bytes, want) in KEYS {
        assert_eq!(parse(bytes), *want, "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_late_answer_in_pieces_is_no_text() {
    let (mut parser, mut out) = (Parser::default(), Vec::new());
    for piece in ["\x1b", "]1", "1;rgb:1e1e/1e", "1e/2e2e", "\x1b", "\\"] {
        assert!(out.is_empty());
        parser.feed(piece.as_bytes(), &mut out);
    }
    assert_eq!(out, [Token::Background(Theme::Dark)]);
    assert_eq!(parser.patience(), None);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_say_the_same(
        parts in proptest::collection::vec(prop_oneof![
            proptest::sample::select(KEYS).prop_map(|(bytes, _)| bytes.to_vec()),
            proptest::collection::vec(any::<u8>(), 0..6),
        ], 0..12),
        cuts in proptest::collection::vec(1usize..9, 1..40),
    ) {
        let bytes = parts.concat();
        let (mut parser, mut out, mut rest) = (Parser::default(), Vec::new(), bytes.as_slice());
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            parser.feed(now, &mut out);
            rest = later;
        }
        parser.feed(rest, &mut out);
        parser.give_up(&mut out);
        prop_assert_eq!(out.iter().map(say).collect::<Vec<_>>().join(" "), parse(&bytes));
    }

    #[test]
    fn text_is_typed_or_pasted_but_never_lost(
        reads in proptest::collection::vec(("[a-c日\r]{0,30}", 0u64..200), 0..20),
    ) {
        let typed: String = reads.iter().map(|(text, _)| text.as_str()).collect();
        let (out, _) = burst(&reads.iter().map(|(text, pause)| (text.as_str(), *pause)).collect::<Vec<_>>());
        prop_assert_eq!(out.concat().replace('⏎', "\n").replace(['<', '>'], ""), typed.replace('\r', "\n"));
    }
}

/// Reads, each so many milliseconds after the one before. Keys as they are, Enter as `⏎`, pastes in
/// `<>`; and what had come out before the last pause.
fn burst(reads: &[(&str, u64)]) -> (Vec<String>, Vec<String>) {
    let (mut parser, mut burst) = (Parser::default(), Burst::default());
    let (mut now, mut out) = (Instant::now() + Duration::from_secs(60), Vec::new());
    for (text, pause) in reads {
        now += Duration::from_millis(*pause);
        if burst.due().is_some_and(|due| due <= now) {
            burst.settle(&mut out);
        }
        let mut tokens = Vec::new();
        parser.feed(text.as_bytes(), &mut tokens);
        burst.read(tokens, now, &mut out);
    }
    let show = |out: &[Token]| {
        let mut shown: Vec<String> = Vec::new();
        for token in out {
            match token {
                Token::Paste(text) => shown.push(format!("<{text}>")),
                Token::Key(key) if key.code == KeyCode::Enter => shown.push("⏎".into()),
                Token::Key(key) if key.modifiers == KeyModifiers::CONTROL => {
                    shown.push(format!("^{}", key.code).to_lowercase());
                }
                Token::Key(key) => match (key.code, shown.last_mut()) {
                    (KeyCode::Char(c), Some(last)) if !last.starts_with(['<', '⏎', '^']) => last.push(c),
                    (KeyCode::Char(c), _) => shown.push(c.into()),
                    (other, _) => shown.push(format!("^{other:?}")),
                },
                other => shown.push(say(other)),
            }
        }
        shown
    };
    let before = show(&out);
    burst.settle(&mut out);
    (show(&out), before)
}

#[test]
fn a_burst_is_a_paste_only_if_nobody_could_have_typed_it() {
    let long = "x".repeat(1200);
    for (reads, want) in [
        // A script that writes a word and Enter.
        (&[("hello\r", 0)][..], &["hello", "⏎"][..]),
        (&[("hello", 0), ("\r", 1)], &["hello", "⏎"]),
        (&[("/model gpt\r\n", 0)], &["/model gpt", "⏎"]),
        (&[("h", 0), ("e", 2), ("y", 2), ("\r", 2)], &["hey", "⏎"]),
        (&[("日本語\r", 0)], &["日本語", "⏎"]),
        (&[("hi\r", 0), ("typed", 5), ("\r", 1)], &["hi", "⏎", "typed", "⏎"]),
        // A person.
        (&[("h", 0), ("i", 90), ("\r", 120), ("y", 80)], &["hi", "⏎", "y"]),
        (&[("\r", 0), ("\r", 30)], &["⏎", "⏎"]),
        // Ctrl+J is a key by itself.
        (&[("a", 0), ("\n", 90), ("b", 90)], &["a", "^j", "b"]),
        // Pastes.
        (&[("one\rtwo\r", 0)], &["<one\ntwo\n>"]),
        (&[("one\ntwo", 0)], &["<one\ntwo>"]),
        (&[("one\r\ntwo\r\n", 0), ("three\r\n", 3)], &["<one\ntwo\nthree\n>"]),
        (&[("a", 0), ("b", 1), ("\r", 1), ("c", 1), ("\r", 1)], &["ab", "<\nc\n>"]),
        // A pause that a busy machine makes does not send it.
        (&[("one\rtwo\r", 0), ("three\r", 50)], &["<one\ntwo\nthree\n>"]),
        (&[("one\rtwo\r", 0), ("three\r", 300)], &["<one\ntwo\n>", "three", "⏎"]),
        // One long line; Enter is Enter.
        (&[(&long, 0), ("\r", 200)], &[&format!("<{long}>"), "⏎"]),
        (&[(&format!("{long}\r"), 0)], &[&format!("<{long}>"), "⏎"]),
        // Another key ends it.
        (&[("hi\r\x1b[A", 0)], &["hi", "⏎", "^Up"]),
    ] {
        assert_eq!(burst(reads).0, want, "{reads:?}");
    }
}

#[test]
fn typing_is_not_held_back() {
    for reads in
        [&[("a", 0)][..], &[("a", 0), ("b", 30)], &[("日本語", 0)], &[("\r", 500)], &[("a", 0), ("\r", 60)]]
    {
        let (all, before) = burst(reads);
        assert_eq!(all, before, "{reads:?}");
    }
}

#[test]
fn five_thousand_lines_are_one_paste() {
    let line = format!("{} 日本語 line\r", "0123456789".repeat(7));
    let text = line.repeat(5000);
    let mut reads = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let cut = (0..=4096.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap();
        reads.push((&rest[..cut], 2));
        rest = &rest[cut..];
    }
    let (out, _) = burst(&reads);
    assert_eq!(out, [format!("<{}>", text.replace('\r', "\n"))]);
}

fn reader(terminal: rustix::fd::OwnedFd) -> Reader {
    let paused = Paused::default();
    let (source, wake) = unix::of(terminal, paused.clone()).unwrap();
    Reader::read(source, wake, paused).unwrap()
}

/// A reader of a pipe in place of a terminal.
fn piped() -> (Reader, std::fs::File) {
    let (theirs, ours) = rustix::pipe::pipe().unwrap();
    (reader(theirs), ours.into())
}

#[tokio::test]
async fn the_thread_reads_until_the_terminal_is_gone() {
    let (mut reader, mut tty) = piped();
    io::Write::write_all(&mut tty, b"\x1b[200~a\rb\x1b[201~\x1b").unwrap();
    assert_eq!(reader.next().await, Input::Paste("a\nb".into()));
    assert_eq!(reader.next().await, Input::Key(KeyCode::Esc.into()));
    drop(tty);
    assert_eq!(reader.next().await, Input::Closed);
    assert_eq!(reader.next().await, Input::Closed);
}

#[tokio::test]
async fn nothing_is_read_while_another_program_has_the_terminal() {
    let (theirs, ours) = rustix::pipe::pipe().unwrap();
    let mut editor = std::fs::File::from(theirs.try_clone().unwrap());
    let mut tty = std::fs::File::from(ours);
    let mut reader = reader(theirs);
    reader.pause();
    io::Write::write_all(&mut tty, b":wq").unwrap();
    let mut took = [0; 3];
    editor.read_exact(&mut took).unwrap();
    assert_eq!(&took, b":wq");
    reader.resume();
    io::Write::write_all(&mut tty, b"x").unwrap();
    assert_eq!(reader.next().await, Input::Key(KeyCode::Char('x').into()));
}

#[test]
fn a_reader_that_is_dropped_ends_its_thread() {
    let (reader, mut tty) = piped();
    // More than the channel has room for.
    io::Write::write_all(&mut tty, &b"\x1b[A".repeat(2000)).unwrap();
    drop(reader);
}
