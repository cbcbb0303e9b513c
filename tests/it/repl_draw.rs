//! What an interactive session draws, tells the terminal and gets from the desktop, on a terminal.

use crate::kit::{Tack, wait_for};
use crate::repl_kit::{idle, shell, start};
use crate::server::*;
use crate::tty::Tty;

/// Whether the terminal was sent this.
fn sent(tty: &Tty, what: &str) -> bool {
    String::from_utf8_lossy(&tty.bytes()).contains(what)
}

/// A program of the desktop's, in a folder of its own that comes first on the path.
fn program(tack: &Tack, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = tack.file(&format!("desktop/{name}"), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = std::env::var("PATH").unwrap_or_default();
    format!("{}:{before}", path.parent().unwrap().display())
}

#[test]
fn what_is_folded_is_unfolded_where_it_stands_and_folded_again() {
    let server = Server::start(vec![
        shell("a", "seq 101 116"),
        says("Counted."),
        shell("b", "seq 201 260"),
        says("Again."),
    ]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("count\r");
    let folded = tty.wait_for("the answer", |shown| shown.has("Counted.") && idle(shown));
    assert!(folded.has("└ +6 lines · ctrl+o") && !folded.has("105"), "{}", folded.rows.join("\n"));
    tty.keys("\x0f");
    let open = tty.wait_for("all of it", |shown| shown.has("│ 105") && !shown.has("ctrl+o") && idle(shown));
    tty.keys("\x0f");
    let again = tty.wait_for("the fold", |shown| shown.has("└ +6 lines · ctrl+o") && !shown.has("105"));
    for shown in [&open, &again] {
        for once in ["│ 101", "│ 115", "Counted.", "› count", "workspace-write"] {
            assert_eq!(shown.count(once), 1, "{once}: {}", shown.lines.join("\n"));
        }
    }
    // What has no room on the screen has a pager of its own.
    tty.keys("more\r");
    tty.wait_for("the answer", |shown| shown.has("Again.") && idle(shown));
    tty.keys("\x0f");
    let paged = tty.wait_for("the pager", |shown| shown.alternate && shown.has("q back"));
    assert!(paged.has("▌ • Ran seq 201 260") && paged.has("│ 211"), "{}", paged.rows.join("\n"));
    tty.keys("\x0f");
    tty.wait_for("the session", |shown| !shown.alternate && idle(shown));
}

#[test]
fn the_terminal_is_told_of_turns_links_and_who_is_waited_for() {
    let says_links = says("See https://a.example/x and [the book](https://b.example/y).");
    let waits = shell("w", "until [ -e go ]; do sleep 0.05; done");
    let server = Server::start(vec![waits, says_links, shell("a", "touch made")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("go\r");
    wait_for("the title of a turn", || sent(&tty, "\x1b]0;⠸ tack · "));
    tack.file("go", "");
    tty.wait_for("the answer", |shown| shown.has("the book (https://b.example/y)") && idle(shown));
    wait_for("the end of the turn", || sent(&tty, "\x1b]133;D;0\x1b\\"));
    assert!(sent(&tty, "\x1b]133;A;redraw=0\x1b\\") && sent(&tty, "\x1b]133;C\x1b\\"));
    for address in ["https://a.example/x", "https://b.example/y"] {
        assert!(sent(&tty, &format!(";{address}\x1b\\")), "{address}");
    }
    assert!(sent(&tty, "\x1b]0;tack · "));
    assert!(!sent(&tty, "\x07"));
    tty.keys("/mode ask\r");
    tty.wait_for("the mode", |shown| shown.has("· ask"));
    // Nobody looks.
    tty.keys("\x1b[O");
    tty.keys("touch it\r");
    tty.wait_for("the question", |shown| shown.has("Run this command?"));
    wait_for("the title and a bell", || sent(&tty, "\x1b]0;● needs you · tack · ") && sent(&tty, "\x07"));
}

#[test]
fn without_colours_there_are_no_links_either() {
    let server = Server::start(vec![says("See https://a.example/x.")]);
    let tack = Tack::new(&server).env("NO_COLOR", "1");
    let mut tty = start(&tack, &[]);
    tty.keys("go\r");
    tty.wait_for("the answer", |shown| shown.has("https://a.example/x") && idle(shown));
    assert!(!sent(&tty, "\x1b]8;") && !sent(&tty, "\x1b]133;"));
}

#[test]
fn what_the_desktop_has_copied_is_pasted_and_what_is_copied_reaches_it() {
    let server = Server::start(vec![says("To be **copied**.")]);
    let tack = Tack::new(&server);
    let image = r#"case "$*" in *image/png*) printf '\211PNG\r\n\032\n...' ;; *) exit 1 ;; esac"#;
    program(&tack, "wl-paste", image);
    let path = program(&tack, "wl-copy", "cat > copied");
    let tack = tack.env("PATH", &path).env("WAYLAND_DISPLAY", "wayland-0");
    let mut tty = start(&tack, &[]);
    tty.keys("\x16");
    tty.wait_for("the picture", |shown| shown.has("[image"));
    tty.keys("\x15\x03");
    tty.wait_for("the composer", idle);
    tty.keys("go\r");
    tty.wait_for("the answer", |shown| shown.has("To be copied.") && idle(shown));
    tty.keys("/copy\r");
    wait_for("the copy", || {
        tack.work().join("copied").exists() && tack.read("copied") == "To be **copied**."
    });
    assert!(sent(&tty, "\x1b]52;c;VG8gYmUgKipjb3BpZWQqKi4=\x1b\\"));
}

#[test]
fn an_editor_gets_the_text_and_cannot_leave_the_terminal_broken() {
    let server = Server::start(vec![says("read")]);
    let tack = Tack::new(&server);
    let script = "[ \"$1\" = --wait ] || exit 9\nstty -echo -icanon min 0\nprintf '\\033[?1049h\\033[?1000h\\033[5;9r'\n\
                  grep -q fail \"$2\" && exit 3\nprintf '%s and more' \"$(cat \"$2\")\" >\"$2\"";
    let path = program(&tack, "my-editor", script);
    let tack = tack.env("PATH", &path).env("VISUAL", "my-editor --wait");
    let mut tty = start(&tack, &[]);
    tty.keys("draft\x07");
    tty.wait_for("the text", |shown| shown.has("› draft and more") && !shown.alternate);
    assert!(tty.is_raw());
    tty.keys(" to fail\x07");
    tty.wait_for("why not", |shown| shown.has("did not end well") && shown.has("draft and more to fail"));
    tty.keys("\x15\x03\x03");
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    assert!(tty.is_as_before());
    assert_eq!(tty.shown().modes, [""; 0]);
}

#[test]
fn colours_follow_the_background() {
    /// The prompt's mark on a dark background and on a light one.
    const DARK: &str = "38;2;95;179;217";
    const LIGHT: &str = "38;2;5;105;168";
    let server = Server::start(vec![says("one"), says("two")]);
    let tack = Tack::new(&server).env("COLORTERM", "truecolor");
    let mut tty = start(&tack, &[]);
    wait_for("the questions", || sent(&tty, "\x1b]11;?\x1b\\") && sent(&tty, "\x1b[?2031h"));
    assert!(sent(&tty, DARK) && !sent(&tty, LIGHT));
    tty.keys("\x1b]11;rgb:ffff/ffff/ffff\x1b\\");
    wait_for("light colours", || sent(&tty, LIGHT));
    // What stands has them too, once.
    let shown = tty.wait_for("the head", |shown| shown.has("workspace-write") && idle(shown));
    assert_eq!(shown.count("workspace-write"), 1);
    let before = tty.bytes().len();
    tty.keys("go\r");
    tty.wait_for("the answer", |shown| shown.has("one") && idle(shown));
    let since = String::from_utf8_lossy(&tty.bytes()[before..]).into_owned();
    assert!(!since.contains(DARK), "{since:?}");
    let before = tty.bytes().len();
    tty.keys("\x1b[?997;1n");
    wait_for("dark colours", || String::from_utf8_lossy(&tty.bytes()[before..]).contains(DARK));
    assert_eq!(tty.shown().count("› go"), 1);
}
