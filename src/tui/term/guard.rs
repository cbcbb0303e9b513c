//! The way into the terminal's modes, and the one way back, whatever happens.
//!
//! [`Guard`] restores when it is dropped, on a panic of the thread that made it, and by
//! `restore_at_once`, which the handler of a second signal calls. Nothing else in tack writes modes,
//! except what `note_alternate` and the like tell this file. Knows nothing of what is drawn.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::sync::mpsc;
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};
#[cfg(unix)]
use std::time::Duration;

use super::os::{self, Settings, Suspended, Unread};
use super::screen::Alternate;

/// What is wanted of the terminal besides raw keys.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// Pastes come marked as such.
    pub paste: bool,
    /// The terminal says when it gains and loses the focus.
    pub focus: bool,
    /// The terminal says when its background changes between dark and light (mode 2031).
    pub theme: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { paste: true, focus: true, theme: true }
    }
}

/// Ends everything that may be on: a synchronized update, paste, focus and theme reports, colours; wraps
/// lines and shows the cursor again. Each of them does nothing where it was not on.
const RESTORE: &[u8] = b"\x1b[?2026l\x1b[?2004l\x1b[?1004l\x1b[?2031l\x1b[?7h\x1b[m\x1b[?25h";
/// These do something where they were not on, so each has a mark of whether it is.
const LEAVE_ALTERNATE: &[u8] = b"\x1b[?1049l";
const PUSH_KEYS: &[u8] = b"\x1b[>1u";
const POP_KEYS: &[u8] = b"\x1b[<u";
const POP_TITLE: &[u8] = b"\x1b[23;0t";

/// Ends what a program may have left on: the other screen, reports of the mouse, keys and letters of another
/// kind, a part of the screen that scrolls by itself. The place of the cursor is kept
/// first, as leaving the other screen takes up the one that was kept. Moves nothing where none of it was on.
const HEAL: &[u8] =
    b"\x1b7\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1l\x1b>\x1b(B\x0f\x1b7\x1b[r\x1b8\x1b[m";

/// To a line of its own, when the viewport could not be taken away; what stood below the cursor goes.
const BELOW: &[u8] = b"\r\n\x1b[J";

/// Another program has the terminal, and tack waits for its end.
static LENT: AtomicBool = AtomicBool::new(false);
static ALTERNATE: AtomicBool = AtomicBool::new(false);
static KEYS: AtomicBool = AtomicBool::new(false);
static TITLE: AtomicBool = AtomicBool::new(false);
/// A question is out; what comes back must not reach the shell.
static ASKED: AtomicBool = AtomicBool::new(false);
/// How the terminal was, while tack has it.
static BEFORE: Mutex<Option<(Settings, ThreadId)>> = Mutex::new(None);

/// How long writing to a terminal that takes nothing may keep tack from ending.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_millis(500);

/// Holds the terminal; dropping it gives it back as it was.
#[derive(Debug)]
pub struct Guard {
    wishes: Wishes,
    /// What the terminal said it can: keys told apart.
    kitty: bool,
}

/// The terminal while another program has it: how it was before tack.
#[derive(Debug)]
pub struct Lent(Option<Settings>);

impl Guard {
    /// Takes the terminal that stdin and stdout are.
    ///
    /// # Errors
    /// If stdin is no terminal or cannot be set.
    pub fn enter(wishes: &Wishes) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(restore_on_panic);
        let guard = Self { wishes: *wishes, kitty: false };
        guard.set()?;
        Ok(guard)
    }

    /// The terminal answered that it can tell keys apart (kitty's protocol): have it do so.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn push_keys(&mut self) -> io::Result<()> {
        self.kitty = true;
        if KEYS.swap(true, Ordering::SeqCst) { Ok(()) } else { write(PUSH_KEYS) }
    }

    /// Gives the terminal to a program that ends before tack goes on, such as an editor;
    /// [`Guard::take_back`] takes it again.
    pub fn lend(&self) -> Lent {
        restore();
        LENT.store(true, Ordering::SeqCst);
        Lent(Settings::read().ok())
    }

    /// Takes the terminal again from a program that may have left it as it should not be.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn take_back(&mut self, lent: Lent) -> io::Result<()> {
        LENT.store(false, Ordering::SeqCst);
        if let Some(before) = lent.0 {
            before.restore(Unread::Kept);
        }
        write(HEAL)?;
        self.resume()
    }

    /// Takes the terminal again, also when something else changed its modes meanwhile.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        self.set()?;
        if self.kitty { self.push_keys() } else { Ok(()) }
    }

    /// Stops tack, and what runs it, until the shell continues them. Call [`super::Screen::leave`]
    /// before and draw anew after. Where no shell could continue it, nothing happens.
    ///
    /// # Errors
    /// If the terminal is gone when tack goes on.
    pub fn suspend(&mut self) -> io::Result<Suspended> {
        let stopped = os::stop(restore)?;
        if stopped == Suspended::Yes {
            self.resume()?;
        }
        Ok(stopped)
    }

    fn set(&self) -> io::Result<()> {
        let now = Settings::read()?;
        {
            let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
            before.get_or_insert_with(|| (now, thread::current().id())).0.set_raw()?;
        }
        let mut modes = Vec::new();
        for (wish, sequence) in [
            (self.wishes.paste, b"\x1b[?2004h"),
            (self.wishes.focus, b"\x1b[?1004h"),
            (self.wishes.theme, b"\x1b[?2031h"),
        ] {
            if wish {
                modes.extend_from_slice(sequence);
            }
        }
        write(&modes)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// The alternate screen is about to be used, or left. Returns what has to be sent on it: terminals keep
/// the way keys are sent for each screen by itself.
pub(super) fn note_alternate(way: Alternate) -> &'static [u8] {
    ALTERNATE.store(way == Alternate::Enter, Ordering::SeqCst);
    match (KEYS.load(Ordering::SeqCst), way) {
        (false, _) => b"",
        (true, Alternate::Enter) => PUSH_KEYS,
        (true, Alternate::Leave) => POP_KEYS,
    }
}

/// Whether a program of the person's own has the terminal.
#[cfg(unix)]
pub(super) fn is_lent() -> bool {
    LENT.load(Ordering::SeqCst)
}

/// Whether the terminal owes an answer.
pub(super) fn note_asked(asked: bool) {
    ASKED.store(asked, Ordering::SeqCst);
}

/// A title is about to be set. Returns what has to be sent before, so that the old one comes back.
pub(super) fn note_title() -> &'static [u8] {
    if TITLE.swap(true, Ordering::SeqCst) { b"" } else { b"\x1b[22;0t" }
}

/// Gives the terminal back, if tack has it. Any thread may call it, any number of times.
fn restore() {
    let Some((before, _)) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    let _ = write(&farewell());
    give_back(&before);
}

/// The same for a program that is about to end, with a bound on the time: the settings first, as they
/// need no reader at the other end.
#[cfg(unix)]
pub(super) fn restore_at_once() {
    let Some((before, _)) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    give_back(&before);
    let (done, wait) = mpsc::channel();
    let bytes = [&farewell(), BELOW].concat();
    let writer = thread::Builder::new().spawn(move || {
        let _ = write(&bytes);
        let _ = done.send(());
    });
    if writer.is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
}

fn give_back(before: &Settings) {
    before.restore(if ASKED.swap(false, Ordering::SeqCst) { Unread::Dropped } else { Unread::Kept });
}

fn farewell() -> Vec<u8> {
    let mut bytes = Vec::new();
    if ALTERNATE.load(Ordering::SeqCst) && KEYS.load(Ordering::SeqCst) {
        bytes.extend_from_slice(POP_KEYS);
    }
    for (mark, sequence) in [(&ALTERNATE, LEAVE_ALTERNATE), (&KEYS, POP_KEYS), (&TITLE, POP_TITLE)] {
        if mark.swap(false, Ordering::SeqCst) {
            bytes.extend_from_slice(sequence);
        }
    }
    bytes.extend_from_slice(RESTORE);
    bytes
}

/// A panic of the thread that has the terminal is told on the terminal as it was. One of another thread
/// is not told there, as it would be written across the screen: whoever waits for that thread tells it.
fn restore_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let owner = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, owner)| *owner);
        match owner {
            Some(owner) if owner != thread::current().id() => tracing::error!(%panic, "a thread panicked"),
            Some(_) => {
                restore();
                let _ = write(BELOW);
                tell(panic);
            }
            None => tell(panic),
        }
    }));
}

/// What is drawn goes here: straight to the terminal that stdout is, so that one write stays one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output;

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        os::write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    Output.write_all(bytes)
}
