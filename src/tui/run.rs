//! The life of the interactive session: waits for keys, for the agent, for work done aside and for the
//! system, hands each to the app, and draws when something changed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::layout::Size;
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;

use crate::agent::Event;

use super::app::{App, Kept, Want};
use super::approval::NewText;
use super::composer::{Keymap, editor};
use super::host::{Host, Opened, Reach};
use super::live::STEP;
use super::palette::{Extras, Palette, Theme};
use super::term::{
    Guard, Input, Output, Reader, Reflow, Said, Screen, Signals, Suspended, Wishes, escape, input, probe,
};

/// Sixty frames a second at most for what the person does, twenty for what only comes by: it is read, and a
/// third of the frames takes a third of the time and of the bytes.
const FRAME: Duration = Duration::from_millis(16);
const HEARD: Duration = Duration::from_millis(50);
/// After a change of width, how long it has to be still before what stands is drawn anew.
const STILL: Duration = Duration::from_millis(75);

/// The environment.
pub(super) type Env = fn(&str) -> Option<String>;

/// What the session begins with.
pub struct Start {
    /// Sent at once.
    pub prompt: Option<String>,
    /// The person chooses an earlier session first, of these.
    pub choose: Option<Reach>,
    /// Where history and drafts are kept.
    pub state: Option<PathBuf>,
    pub env: Env,
    /// Keys of the person's own: names of actions, and what is pressed for them.
    pub keys: BTreeMap<String, String>,
}

/// Runs it to its end; gives the exit code.
///
/// # Errors
/// If there is no terminal to be had.
pub async fn run(host: Arc<dyn Host>, opened: Opened, start: Start) -> io::Result<i32> {
    let mut signals = Signals::listen()?;
    let mut guard = Guard::enter(&Wishes::default())?;
    let mut reader = Reader::start()?;
    let woken = Arc::new(Notify::new());
    let theme = theme(start.env);
    let size = input::size();
    let wake = woken.clone();
    let (keymap, conflicts) =
        Keymap::with(start.keys.iter().map(|(name, keys)| (name.as_str(), keys.as_str())));
    let kept = Kept { keymap, state: start.state.clone(), wake: Arc::new(move || wake.notify_one()) };
    let palette = Palette::new(theme).with(extras(start.env, &opened.facts.cwd));
    let mut app = App::new(host, opened, kept, (size, palette));
    let Some(events) = app.changed() else { return Ok(1) };
    let mut screen = Screen::new(Output, size).reflow(Reflow::guess(start.env));
    screen.set_theme(theme);
    let mut stage =
        Stage { app, screen, events, dirty: Some(FRAME), drawn: None, still: None, title: String::new() };
    for conflict in conflicts {
        stage.app.warn(conflict);
    }
    stage.first(&start)?;
    loop {
        let now = Instant::now();
        let frame = stage.due(now);
        let mut pace = FRAME;
        let want = tokio::select! {
            biased;
            said = signals.next() => match said {
                Said::End(signal) => Want::Exit(i32::from(Said::code(signal))),
                Said::Stop => Want::Suspend,
                Said::Continue => {
                    guard.resume()?;
                    Want::Repaint
                }
            },
            input = reader.next() => stage.input(input, &mut guard)?,
            // Before the events, which may come without a pause.
            () = until(frame) => {
                stage.draw(Instant::now())?;
                Want::Nothing
            }
            () = until(stage.app.letter_due()) => stage.app.heed_letter(Instant::now()),
            event = stage.events.recv() => {
                pace = HEARD;
                stage.hear(event)
            }
            done = stage.app.jobs().next() => done(&mut stage.app),
            () = woken.notified() => stage.app.poll(),
        };
        if let Some(code) = stage.heed((want, pace), (&mut guard, &reader, start.env))? {
            stage.screen.leave()?;
            stage.app.farewell();
            return Ok(code);
        }
    }
}

struct Stage {
    app: App,
    screen: Screen<Output>,
    events: Receiver<Event>,
    /// Something changed since the last frame: how long after that one the next may come.
    dirty: Option<Duration>,
    drawn: Option<Instant>,
    /// When the width will have been still for long enough.
    still: Option<Instant>,
    title: String,
}

impl Stage {
    /// The first frame, and only then the questions to the terminal.
    fn first(&mut self, start: &Start) -> io::Result<()> {
        let now = Instant::now();
        if let Some(prompt) = &start.prompt {
            self.app.begin_with(prompt, now);
        }
        self.app.recover();
        self.app.welcome();
        if let Some(reach) = start.choose {
            self.app.choose_session(reach);
        }
        self.draw(now)?;
        let term = (start.env)("TERM");
        self.screen.send(probe::questions(term.as_deref()))
    }

    /// When the next frame is due; None: not before something happens.
    fn due(&self, now: Instant) -> Option<Instant> {
        let (moves, saves) = (self.app.moves(), self.app.saves_at());
        Frames { dirty: self.dirty, drawn: self.drawn, moves, still: self.still(), saves }.next(now)
    }

    /// When what stands is drawn anew; not before a turn is over.
    fn still(&self) -> Option<Instant> {
        after_turn(self.still, self.app.working())
    }

    fn draw(&mut self, now: Instant) -> io::Result<()> {
        if self.still().is_some_and(|still| now >= still) {
            self.still = None;
            self.app.repaint(&mut self.screen);
        }
        self.app.draw(&mut self.screen, now)?;
        if let Some(how) = self.app.ended() {
            self.screen.send(&escape::turn_ended(how))?;
        }
        // Behind the frame: a key is seen before it is kept.
        self.app.save(now);
        (self.dirty, self.drawn) = (None, Some(now));
        let title = self.app.title();
        if title != self.title {
            self.screen.send(&escape::title(&title))?;
            self.title = title;
        }
        Ok(())
    }

    fn input(&mut self, input: Input, guard: &mut Guard) -> io::Result<Want> {
        let now = Instant::now();
        Ok(match input {
            Input::Key(key) => self.app.key(key, now),
            Input::Paste(text) => self.app.paste(&text, Instant::now()),
            Input::Resize(width, height) => {
                let size = Size::new(width, height);
                self.screen.resize(size);
                self.app.resize(size);
                self.still = Some(now + STILL);
                Want::Frame
            }
            Input::Focus(focused) => {
                self.app.set_focus(focused);
                Want::Nothing
            }
            Input::Background(theme) => match self.app.set_background(theme) {
                Some(theme) => {
                    self.screen.set_theme(theme);
                    Want::Repaint
                }
                None => Want::Nothing,
            },
            Input::Reflow(reflow) => {
                self.screen.set_reflow(reflow);
                Want::Nothing
            }
            Input::Kitty => {
                guard.push_keys()?;
                Want::Nothing
            }
            // As after a hang-up: nobody is there any more.
            Input::Closed => Want::Exit(129),
        })
    }

    /// One event, and those that wait behind it: all of them make one frame.
    fn hear(&mut self, event: Option<Event>) -> Want {
        let now = Instant::now();
        let Some(event) = event else { return self.app.session_ended() };
        let mut want = self.app.hear(event, now);
        while want == Want::Frame
            && let Ok(event) = self.events.try_recv()
        {
            want = self.app.hear(event, now);
        }
        want
    }

    /// Does what is wanted. Some: it is over, with this exit code.
    fn heed(
        &mut self,
        (want, pace): (Want, Duration),
        (guard, reader, env): (&mut Guard, &Reader, Env),
    ) -> io::Result<Option<i32>> {
        if let Some(events) = self.app.changed() {
            self.events = events;
        }
        if let Some(notice) = self.app.notice() {
            self.screen.send(&escape::notify(escape::Notify::guess(env), notice))?;
        }
        match want {
            Want::Nothing => return Ok(None),
            Want::Frame => {}
            Want::Repaint => self.app.repaint(&mut self.screen),
            Want::Unfold => self.app.unfold(&mut self.screen, Instant::now())?,
            Want::Suspend => {
                self.screen.leave()?;
                reader.pause();
                let suspended = guard.suspend()?;
                reader.resume();
                if suspended == Suspended::Not {
                    self.app.note("nothing could continue tack here");
                }
                self.app.unseen();
                let size = input::size();
                self.screen.resize(size);
                self.app.resize(size);
            }
            Want::Editor => {
                let text = self.app.editor_text();
                let edited = self.give_terminal((guard, reader), || edit(&text, env))?;
                self.app.edited(edited);
            }
            Want::Revise(texts) => {
                let came = self.give_terminal((guard, reader), || revise(&texts, env))?;
                self.app.revised(came, Instant::now());
            }
            Want::PasteClipboard => self.app.paste_clipboard(env),
            Want::Copy(text) => {
                // Nobody says whether a terminal heeds it, so the desktop is told too.
                let sent = escape::copy(&text);
                if let Some(sequence) = &sent {
                    self.screen.send(sequence)?;
                }
                let long = "too long for the terminal's clipboard; ctrl+t and r show it raw";
                self.app.copy_to_desktop(text, env, sent.is_none().then_some(long));
            }
            Want::Exit(code) => return Ok(Some(code)),
        }
        self.dirty = Some(self.dirty.map_or(pace, |before| before.min(pace)));
        Ok(None)
    }

    /// Leaves the terminal to a program of the person's for as long as `work` takes.
    fn give_terminal<T>(
        &mut self,
        (guard, reader): (&mut Guard, &Reader),
        work: impl FnOnce() -> T,
    ) -> io::Result<T> {
        self.screen.leave()?;
        reader.pause();
        let lent = guard.lend();
        let done = work();
        guard.take_back(lent)?;
        self.app.unseen();
        reader.resume();
        Ok(done)
    }
}

/// What asks for a frame.
#[derive(Clone, Copy, Default)]
struct Frames {
    /// Something changed, and how soon after the last frame it may be drawn.
    dirty: Option<Duration>,
    drawn: Option<Instant>,
    /// Something moves on the screen.
    moves: bool,
    still: Option<Instant>,
    saves: Option<Instant>,
}

impl Frames {
    fn next(self, now: Instant) -> Option<Instant> {
        let changed = self.dirty.map(|pace| self.drawn.map_or(now, |drawn| drawn + pace));
        let step = self.moves.then(|| self.drawn.map_or(now, |drawn| drawn + STEP));
        [changed, step, self.still, self.saves].into_iter().flatten().min()
    }
}

/// A time that is long past would be due again and again while it cannot be heeded.
fn after_turn(still: Option<Instant>, working: bool) -> Option<Instant> {
    still.filter(|_| !working)
}

/// Waits for a time; for ever when there is none.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn theme(env: Env) -> Theme {
    if env("NO_COLOR").is_some_and(|set| !set.is_empty()) {
        return Theme::Plain;
    }
    let rich = ["truecolor", "24bit"];
    let colours = env("COLORTERM").is_some_and(|set| rich.contains(&set.as_str()))
        || env("TERM").is_some_and(|term| term.contains("256color") || term.contains("kitty"));
    if !colours {
        return Theme::Ansi;
    }
    probe::guess(env("COLORFGBG").as_deref()).unwrap_or(Theme::Dark)
}

/// Whether links and marks are sent. Those who want no colours get none of them either: they are looks too.
fn extras(env: Env, cwd: &Path) -> Extras {
    if !probe::skips_unknown(env) || theme(env) == Theme::Plain {
        return Extras::None;
    }
    // Over ssh the files are not where the terminal is.
    let far = ["SSH_CONNECTION", "SSH_TTY"].iter().any(|name| env(name).is_some());
    Extras::Sent { folder: (!far).then(|| cwd.to_owned()) }
}

/// Has the person's editor change a text.
fn edit(text: &str, env: Env) -> Result<String, String> {
    let file = editor::Text::write(&std::env::temp_dir(), text).map_err(|error| error.to_string())?;
    open_editor(file.path(), env)?;
    file.read().map_err(|error| error.to_string())
}

/// Has the person's editor change the new texts of files, one after the other.
pub(super) fn revise(texts: &[NewText], env: Env) -> Result<Vec<String>, String> {
    let one = |(path, text): &NewText| {
        let said = |error: io::Error| format!("{path}: {error}");
        let file = editor::Text::named(&std::env::temp_dir(), path, text).map_err(said)?;
        open_editor(file.path(), env)?;
        file.exact().map_err(said)
    };
    texts.iter().map(one).collect()
}

fn open_editor(file: &Path, env: Env) -> Result<(), String> {
    let words = editor::command(env).ok_or("$VISUAL or $EDITOR is no command that can be read")?;
    let (program, args) = words.split_first().ok_or("no editor is set")?;
    let ended = crate::sandbox::run_with_terminal(program, args, file);
    match ended.map_err(|error| format!("{program}: {error}"))? {
        true => Ok(()),
        false => Err(format!("{program} did not end well; the text is as it was")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_width_during_a_turn_asks_for_no_more_frames_than_the_turn() {
        let start = Instant::now();
        let drawn = Some(start + 10 * STILL);
        let turn = |still| Frames { drawn, moves: true, still, ..Frames::default() };
        let next = |working| turn(after_turn(Some(start), working)).next(start + 10 * STILL);
        assert_eq!(next(true), drawn.map(|drawn| drawn + STEP));
        assert_eq!(next(false), Some(start), "it is heeded once the turn is over");
    }

    #[test]
    fn nothing_is_drawn_while_nothing_happens() {
        let now = Instant::now();
        assert_eq!(Frames { drawn: Some(now), ..Frames::default() }.next(now), None);
        let changed = Frames { dirty: Some(FRAME), drawn: Some(now), ..Frames::default() };
        assert_eq!(changed.next(now), Some(now + FRAME));
    }
}
