//! The terminal is given back whatever happens, and a small program on it behaves: typing, pastes,
//! sizes, signals, the end of the terminal.

use std::process::Command;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::layout::{Position, Size};
use ratatui::style::Style;
use ratatui::text::Line;
use tack::tui::term::{Alternate, Guard, Input, Output, Reader, Said, Screen, Signals, Wishes, input, probe};

use crate::tty::{Shown, Tty};

const ROLE: &str = "TACK_TEST_TERMINAL";

/// The program that the other tests run on a terminal. Letters are typed; Enter commits them. Ctrl+X
/// ends it, Ctrl+P panics, Ctrl+S does nothing for ever, Ctrl+Z suspends, Ctrl+A opens the full screen,
/// Ctrl+B commits two hundred lines.
#[test]
fn a_program_on_a_terminal() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let code = runtime.block_on(program());
    std::process::exit(code.into());
}

async fn program() -> u8 {
    let mut guard = Guard::enter(&Wishes::default()).unwrap();
    let mut screen = Screen::new(Output, input::size());
    let mut reader = Reader::start().unwrap();
    let mut signals = Signals::listen().unwrap();
    let mut typed = String::new();
    draw(&mut screen, &typed);
    screen.send(probe::questions(Some("xterm"))).unwrap();
    loop {
        let code = tokio::select! {
            said = signals.next() => match said {
                Said::End(signal) => Some(Said::code(signal)),
                Said::Stop => suspend(&mut guard, &mut screen),
                Said::Continue => None,
            },
            input = reader.next() => match input {
                Input::Key(key) if key.modifiers == KeyModifiers::CONTROL => match key.code {
                    KeyCode::Char('x') => Some(0),
                    KeyCode::Char('p') => panic!("on purpose"),
                    KeyCode::Char('s') => loop {
                        std::thread::park();
                    },
                    KeyCode::Char('z') => suspend(&mut guard, &mut screen),
                    KeyCode::Char('b') => {
                        for n in 0..200 {
                            let line = format!("{n:03}. wide 日本語 and some more words to fill a line up");
                            screen.commit(&[Line::raw(line)]);
                            draw(&mut screen, &typed);
                        }
                        None
                    }
                    KeyCode::Char('a') => {
                        screen.alternate(Alternate::Enter).unwrap();
                        None
                    }
                    _ => None,
                },
                Input::Key(key) => {
                    match key.code {
                        KeyCode::Char(c) => typed.push(c),
                        KeyCode::Enter => {
                            screen.commit(&[Line::raw(format!("sent {typed}."))]);
                            typed.clear();
                        }
                        _ => {}
                    }
                    None
                }
                Input::Paste(text) => {
                    typed = format!("pasted {} lines, {} bytes", text.lines().count(), text.len());
                    None
                }
                Input::Resize(width, height) => {
                    screen.resize(Size::new(width, height));
                    None
                }
                Input::Background(theme) => {
                    typed.push_str(&format!("{theme:?}"));
                    None
                }
                Input::Kitty => {
                    guard.push_keys().unwrap();
                    None
                }
                Input::Reflow(reflow) => {
                    screen.set_reflow(reflow);
                    None
                }
                Input::Focus(_) => None,
                Input::Closed => Some(7),
            },
        };
        if let Some(code) = code {
            let _ = screen.leave();
            return code;
        }
        draw(&mut screen, &typed);
    }
}

fn suspend(guard: &mut Guard, screen: &mut Screen<Output>) -> Option<u8> {
    screen.leave().unwrap();
    guard.suspend().unwrap();
    screen.resize(input::size());
    None
}

fn draw(screen: &mut Screen<Output>, typed: &str) {
    let size = screen.size();
    let rows = ["----".to_owned(), format!("> {typed}"), format!("status {}x{}", size.width, size.height)];
    screen
        .frame(3, |area, buffer| {
            let skip = if area.height < 3 { 1 } else { 0 };
            for (y, row) in (0..area.height).zip(&rows[skip..]) {
                buffer.set_stringn(0, y, row, area.width.into(), Style::new());
            }
            Some(Position::new(2, u16::from(area.height > 2)))
        })
        // As if it had been told that the terminal is gone.
        .unwrap_or_else(|_| std::process::exit(7));
}

fn command() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = concat!(module_path!(), "::a_program_on_a_terminal");
    let name = name.split_once("::").unwrap().1;
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ROLE, "1");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

fn start(columns: u16, rows: u16) -> Tty {
    let tty = Tty::start(&command(), columns, rows);
    let status = format!("status {columns}x{rows}");
    tty.wait_for("the prompt", |shown| shown.has(&status));
    assert!(tty.is_raw());
    tty
}

/// How a program ends, the code it ends with, and what stands on the screen then.
#[test]
fn the_shell_is_as_before_however_it_ends() {
    for (how, code, last) in [
        ("\x18", 0, ""),
        ("\x10", 101, "on purpose"),
        ("TERM", 143, ""),
        ("HUP", 129, ""),
        ("INT", 130, ""),
        // A loop that is dead: the second signal ends it, or the first after a while.
        ("\x13 TERM TERM", 143, ""),
        ("\x13 HUP", 129, ""),
        // From the full screen.
        ("\x01 TERM", 143, ""),
        ("\x01 \x10", 101, "on purpose"),
    ] {
        let mut tty = start(60, 12);
        // A terminal that can do all, and answers late.
        tty.keys("\x1b[?1u\x1b[?62c");
        tty.wait_for("kitty's keys", |shown| shown.modes.contains(&">u".to_owned()));
        for step in how.split(' ') {
            match step {
                "TERM" | "HUP" | "INT" => tty.signal(step, tty.pid()),
                keys => tty.keys(keys),
            }
            if step == "\x01" {
                tty.wait_for("the full screen", |shown| shown.alternate && shown.has("status"));
            }
            if step == "\x13" {
                // The loop is dead once it does not show what is typed.
                tty.keys("x");
            }
        }
        assert_eq!(tty.exit_code(), code, "{how:?}");
        assert!(tty.is_as_before(), "{how:?}");
        let shown = tty.wait_for("the modes from before, and the last words", |shown| {
            shown.modes.is_empty() && shown.lines.iter().any(|line| line.contains(last))
        });
        assert!(shown.cursor_shown && !shown.alternate, "{how:?}: {shown:?}");
    }
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let mut tty = start(60, 12);
    tty.hang_up();
    assert!([7, 129].contains(&tty.exit_code()));
}

#[test]
fn a_shell_can_suspend_and_continue_it() {
    let mut shell = Command::new("bash");
    shell
        .args(["--norc", "--noprofile", "-i"])
        .env("PS1", "$ ")
        .env("PATH", std::env::var_os("PATH").unwrap());
    let mut tty = Tty::start(&shell, 70, 16);
    tty.wait_for("the shell", |shown| shown.has("$"));
    let program = command();
    let words: Vec<String> = std::iter::once(program.get_program())
        .chain(program.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    tty.keys(&format!("{ROLE}=1 {}\r", words.join(" ")));
    tty.wait_for("the program", |shown| shown.has("status 70x16"));
    tty.keys("ab\x1a");
    let shown = tty.wait_for("the shell again", |shown| {
        shown.has("Stopped") && shown.rows.iter().rfind(|row| !row.is_empty()).is_some_and(|row| row == "$")
    });
    // The shell itself wants pastes marked.
    assert!(shown.modes.iter().all(|mode| mode == "?2004"), "{shown:?}");
    tty.resize(66, 16);
    tty.keys("echo between; fg\r");
    tty.wait_for("the program again", |shown| shown.has("> ab") && shown.has("status 66x16"));
    tty.keys("c\x18");
    tty.wait_for("its end", |shown| !shown.has("status"));
    tty.keys("echo code $?\r");
    let shown = tty.wait_for("its code", |shown| shown.has("code 0"));
    assert_eq!(shown.count("between"), 2, "{shown:?}");
}

#[test]
fn an_answer_never_becomes_text() {
    let mut tty = start(60, 12);
    tty.keys("a");
    tty.wait_for("a", |shown| shown.has("> a"));
    for piece in ["\x1b]11;rgb:ffff/", "ffff/ffff\x1b", "\\\x1b[?62;4c", "b"] {
        tty.keys(piece);
    }
    tty.wait_for("what is typed around the answers", |shown| shown.has("> aLightb"));
}

/// Bug G11: a terminal without bracketed paste.
#[test]
fn five_thousand_lines_are_one_paste_and_send_nothing() {
    let text = format!("{} 日本\r", "0123456789".repeat(7)).repeat(5000);
    for (paste, enter) in
        [(text.clone(), false), (format!("\x1b[200~{text}\x1b[201~"), false), ("hello\r".into(), true)]
    {
        let mut tty = start(120, 40);
        tty.keys(&paste);
        if enter {
            tty.wait_for("what was sent", |shown| shown.has("sent hello."));
            continue;
        }
        let told = format!("pasted 5000 lines, {} bytes", text.len());
        let shown = tty.wait_for("the paste", |shown| shown.has(&format!("> {told}")));
        assert_eq!(shown.count("sent"), 0);
        tty.keys("\r");
        tty.wait_for("that it is sent", |shown| shown.has(&format!("sent {told}.")));
    }
}

/// Bug G12: sizes change while lines come.
#[test]
fn each_line_and_the_prompt_are_there_once_after_resizing() {
    let once = |shown: &Shown| {
        // The emulator cannot keep a wide character on one column.
        let each = (0..200).all(|n| shown.count(&format!("{n:03}. wide ")) == 1);
        let each = each && shown.count("and some more words to fill a line up") == 200;
        each && shown.count("> typed") == 1 && shown.count("status ") == 1 && shown.count("----") == 1
    };
    let mut tty = start(120, 40);
    tty.keys("typed\x02");
    let shown = tty.wait_for("all lines", |shown| shown.count("199.") == 1 && shown.has("> typed"));
    assert!(once(&shown), "{shown:#?}");
    for (columns, rows) in [(80, 24), (40, 10), (10, 3), (1, 1), (20, 5), (400, 100), (120, 40)] {
        tty.resize(columns, rows);
        let status: String = format!("status {columns}x{rows}").chars().take(columns.into()).collect();
        tty.wait_for("a frame of this size", |shown| rows == 1 || shown.rows.contains(&status));
    }
    let shown = tty.wait_for("the last frame", |shown| shown.has("status 120x40"));
    assert!(once(&shown), "{shown:#?}");
}
