//! A terminal for end-to-end tests: a program in a pty, and an emulator that shows what a person sees.
//!
//! ```ignore
//! let mut tty = Tty::start(tack.command(["resume"]), 80, 24);
//! tty.wait_for("the prompt", |shown| shown.has("Ask, or /"));
//! tty.keys("hello\r");
//! tty.resize(40, 10);
//! assert_eq!(tty.exit_code(), 0);
//! assert_eq!(tty.shown().modes, [""; 0]);
//! ```
#![allow(dead_code)] // each test module uses another part

use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use regex::Regex;
use rustix::termios::{LocalModes, tcgetattr};

/// Longest a test waits for what it wants to see.
const LIMIT: Duration = Duration::from_secs(20);

pub struct Tty {
    master: Option<Box<dyn MasterPty + Send>>,
    /// Kept open, so that the settings can be read when the program is gone.
    slave: Option<Box<dyn SlavePty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<(Mutex<Screen>, Condvar)>,
    drain: Option<JoinHandle<()>>,
    /// The window is to close: nothing is read any more.
    closing: Arc<AtomicBool>,
    before: String,
}

/// The emulator, and all bytes it got.
struct Screen {
    terminal: avt::Terminal,
    bytes: Vec<u8>,
    /// Bytes of a character that is not complete.
    rest: Vec<u8>,
}

/// What stands on the terminal at a moment.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Rows of the screen, without blanks at their ends.
    pub rows: Vec<String>,
    /// Lines of scrollback and screen; what the terminal wrapped is one line again.
    pub lines: Vec<String>,
    /// Column and row.
    pub cursor: (usize, usize),
    pub cursor_shown: bool,
    pub alternate: bool,
    /// Modes that were switched on and not off again, such as `?2004`; kitty's keys as `>u`.
    pub modes: Vec<String>,
}

impl Shown {
    /// Whether a text is on the screen.
    pub fn has(&self, text: &str) -> bool {
        self.rows.iter().any(|row| row.contains(text))
    }

    /// How often a text is in scrollback and screen.
    pub fn count(&self, text: &str) -> usize {
        self.lines.iter().map(|line| line.matches(text).count()).sum()
    }
}

impl Tty {
    /// Starts a program with the environment that is set on it, and no other.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let size = PtySize { rows, cols: columns, ..PtySize::default() };
        let pty = native_pty_system().openpty(size).unwrap();
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        builder.env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            builder.env(name, value.unwrap_or_default());
        }
        if let Some(dir) = command.get_current_dir() {
            builder.cwd(dir);
        }
        let terminal = avt::Terminal::with_scrollback(columns.into(), rows.into(), None).unwrap();
        let screen = Screen { terminal, bytes: Vec::new(), rest: Vec::new() };
        let screen = Arc::new((Mutex::new(screen), Condvar::new()));
        let closing = Arc::new(AtomicBool::new(false));
        let reader = pty.master.try_clone_reader().unwrap();
        Self {
            before: settings(&*pty.master),
            writer: Some(pty.master.take_writer().unwrap()),
            drain: Some(drain(reader, screen.clone(), closing.clone())),
            closing,
            child: pty.slave.spawn_command(builder).unwrap(),
            master: Some(pty.master),
            slave: Some(pty.slave),
            screen,
        }
    }

    /// Types, or answers as a terminal does.
    pub fn keys(&mut self, keys: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Gives the window another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut screen = self.screen.0.lock().unwrap();
        screen.terminal.resize(columns.into(), rows.into());
        let size = PtySize { rows, cols: columns, ..PtySize::default() };
        self.master.as_ref().unwrap().resize(size).unwrap();
    }

    /// Waits until the screen is as wanted; fails with what it shows otherwise.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&Shown) -> bool) -> Shown {
        let end = Instant::now() + LIMIT;
        let mut screen = self.screen.0.lock().unwrap();
        loop {
            let shown = screen.shown();
            if wanted(&shown) {
                return shown;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}; {}", screen.told());
            screen = self.screen.1.wait_timeout(screen, left).unwrap().0;
        }
    }

    pub fn shown(&self) -> Shown {
        self.screen.0.lock().unwrap().shown()
    }

    /// All bytes so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.screen.0.lock().unwrap().bytes.clone()
    }

    /// Process id of the program.
    pub fn pid(&self) -> i32 {
        self.child.process_id().unwrap().try_into().unwrap()
    }

    /// Sends a signal, by the name that `kill` has for it, to the program or to another process.
    pub fn signal(&self, name: &str, pid: i32) {
        assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
    }

    /// Closes the window. The program has to be one that draws when its size changes.
    pub fn hang_up(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // What it draws ends the thread that holds our end open as well.
        self.resize(50, 10);
        self.drain.take().unwrap().join().unwrap();
        self.close();
    }

    fn close(&mut self) {
        self.writer = None;
        self.slave = None;
        self.master = None;
    }

    /// Waits for the program's end. One that a signal ended has 1.
    pub fn exit_code(&mut self) -> u32 {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            let screen = self.screen.0.lock().unwrap();
            assert!(Instant::now() < end, "waited in vain for the end; {}", screen.told());
            drop(self.screen.1.wait_timeout(screen, Duration::from_millis(10)).unwrap());
        }
    }

    /// Whether keys are read one by one and without echo.
    pub fn is_raw(&self) -> bool {
        let modes = tcgetattr(file(&**self.master.as_ref().unwrap())).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Whether the settings are those from before the program started.
    pub fn is_as_before(&self) -> bool {
        settings(&**self.master.as_ref().unwrap()) == self.before
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.close();
        if let Some(drain) = self.drain.take() {
            let _ = drain.join();
        }
    }
}

fn drain(
    mut reader: Box<dyn Read + Send>,
    screen: Arc<(Mutex<Screen>, Condvar)>,
    closing: Arc<AtomicBool>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            // Poisoned by a test that failed: its message is enough.
            let Ok(mut screen_now) = screen.0.lock() else { return };
            screen_now.feed(&buffer[..count]);
            drop(screen_now);
            screen.1.notify_all();
            if closing.load(Ordering::SeqCst) {
                return;
            }
        }
    })
}

impl Screen {
    fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let rest = self.rest.split_off(whole);
        self.terminal.feed(&*String::from_utf8_lossy(&self.rest));
        self.rest = rest;
    }

    fn shown(&self) -> Shown {
        let cursor = self.terminal.cursor();
        let screen = self.terminal.screen();
        Shown {
            rows: screen.visible_lines().map(|line| line.text().trim_end().to_owned()).collect(),
            lines: self.terminal.primary_screen().text(),
            cursor: (cursor.col, cursor.row),
            cursor_shown: cursor.visible,
            alternate: self.terminal.active_screen_kind() == avt::ScreenKind::Alternate,
            modes: modes_left_on(&self.bytes),
        }
    }

    fn told(&self) -> String {
        let end = String::from_utf8_lossy(&self.bytes[self.bytes.len().saturating_sub(300)..]).into_owned();
        format!("the screen shows\n{}\nlast bytes: {end:?}", self.shown().rows.join("\n"))
    }
}

fn file(master: &dyn MasterPty) -> std::fs::File {
    std::fs::File::open(master.tty_name().unwrap()).unwrap()
}

fn settings(master: &dyn MasterPty) -> String {
    let now = tcgetattr(file(master)).unwrap();
    format!("{:?} {:?} {:?} {:?}", now.input_modes, now.output_modes, now.control_modes, now.local_modes)
}

fn modes_left_on(bytes: &[u8]) -> Vec<String> {
    static MODES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\x1b\[(?:(\?\d+)([hl])|([<>])\d*u)").unwrap());
    let text = String::from_utf8_lossy(bytes);
    let mut on: Vec<String> = Vec::new();
    for one in MODES.captures_iter(&text) {
        let (name, set) = match one.get(1) {
            Some(name) => (name.as_str(), &one[2] == "h"),
            None => (">u", &one[3] == ">"),
        };
        on.retain(|other| other != name);
        // A terminal begins with a cursor that is shown and with lines that wrap.
        if set != matches!(name, "?25" | "?7") {
            on.push(name.to_owned());
        }
    }
    on
}
