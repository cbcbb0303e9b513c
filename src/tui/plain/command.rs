//! The commands of `/` that need no screen: those that set something by name, and those that tell.

use std::time::Instant;

use ratatui::text::Line;
use tokio::sync::oneshot;

use super::words::WIDE;
use super::{Next, Plain};
use crate::agent::{Aside, Changes, Op, SessionMode};
use crate::tui::app::commands;
use crate::tui::board;
use crate::tui::cell::{Cell, Tone, View, task_rows};
use crate::tui::composer::{Command, Offered, unknown};
use crate::tui::host::{Reach, Report, Spoken, Which, Wish};
use crate::tui::text;

/// These need a screen, a terminal that takes sequences, or one that echoes nothing.
const SCREEN: [&str; 3] = ["copy", "keys", "login"];

/// Name and arguments of a line that is a command; a path is none.
pub(super) fn split(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix('/')?;
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '?');
    named.then_some((name, args.trim()))
}

/// What is offered here, as it is listed.
fn offered() -> impl Iterator<Item = Command> {
    commands().iter().map(Command::from).filter(|one| !SCREEN.contains(&one.name.as_str()))
}

impl Plain {
    pub(super) fn command(&mut self, name: &str, args: &str, now: Instant) -> Next {
        let found = offered().find(|one| one.name == name || one.aliases.iter().any(|alias| alias == name));
        let Some(command) = found else {
            let why = match SCREEN.contains(&name) {
                true if name == "login" => "a key would be seen here: tack login ID stores it".to_owned(),
                true => format!("/{name} needs a screen: start tack without --plain"),
                false => {
                    unknown(name, commands().iter().map(|one| one.name)).replace("/ lists", "/help lists")
                }
            };
            self.tell(Tone::Error, why);
            return Next::On;
        };
        if command.offered == Offered::Idle && self.live.is_some() {
            self.tell(Tone::Error, format!("/{name} goes once the turn is over; ctrl+c stops it"));
            return Next::On;
        }
        match (command.name.as_str(), args) {
            ("model", args) => self.model_command(args),
            ("harness", args) => self.harness_command(args),
            ("effort", args) => self.effort(args),
            ("mode", args) => self.mode(args),
            ("new", _) => self.open(Which::New),
            ("resume", "") => self.list_sessions(Reach::Folder),
            ("resume", args) => self.resume_command(args),
            ("compact", args) => {
                let focus = (!args.is_empty()).then(|| args.to_owned());
                self.begin(Op::Compact { focus }, now);
            }
            ("diff", _) => self.diff(),
            ("context", _) => self.context(),
            ("cost", _) => self.show(&Cell::Board(board::cost(&self.spent, &self.palette))),
            ("tasks", _) => self.tasks(),
            ("ps", args) => self.jobs(args),
            ("permissions", args) => self.permissions(args),
            ("status", _) => {
                let session = self.session.as_deref();
                let rows = board::status(&self.facts, &self.spent, session, &self.palette);
                self.show(&Cell::Board(rows));
            }
            ("logout", args) => self.logout(args),
            ("sandbox", args) => self.sandbox(args),
            ("provider", args) => self.provider(args),
            ("config", _) => self.report(Report::Config),
            ("doctor", _) => self.report(Report::Doctor),
            ("help", _) => self.help(),
            ("exit", _) => return Next::Leave(0),
            (other, _) => self.tell(Tone::Error, format!("/{other} needs a screen")),
        }
        Next::On
    }

    pub(super) fn rows(&mut self, rows: impl IntoIterator<Item = String>) {
        let rows = rows.into_iter().map(|row| Line::raw(text::clean_line(&row).into_owned()));
        self.show(&Cell::Board(rows.collect()));
    }

    fn help(&mut self) {
        let row =
            |one: Command| format!("/{} {}", one.name, one.args).trim_end().to_owned() + ": " + &one.help;
        self.rows(offered().map(row));
        self.rows(["!COMMAND: run a command yourself; !!COMMAND: the model does not hear of it".to_owned()]);
    }

    pub(super) fn spoken(&mut self, spoken: Spoken) {
        let Spoken { speaker, speaks, warnings, notes } = spoken;
        notes.into_iter().for_each(|note| self.tell(Tone::Dim, note));
        warnings.into_iter().for_each(|warning| self.tell(Tone::Warning, warning));
        self.facts.speaks = speaks;
        self.link.desk.lay(Aside::Speak(speaker));
    }

    /// Learns of the model on this machine what its server tells, and once how it calls. What is typed
    /// meanwhile waits for it.
    pub(super) fn learn(&mut self) {
        let wish = Wish { harness: self.named(), ..self.same() };
        self.tell(Tone::Dim, format!("asking what {} can do", self.facts.speaks.model.name));
        self.work(
            move |host| host.speaker(&wish),
            |plain, came| {
                match came {
                    Ok(spoken) => {
                        plain.spoken(spoken);
                        plain.tell(Tone::Dim, plain.who());
                    }
                    Err(why) => plain.tell(Tone::Warning, why),
                }
                plain.send_next(Instant::now());
            },
        );
    }

    /// Who speaks, as what.
    pub(super) fn who(&self) -> String {
        let speaks = &self.facts.speaks;
        format!("{} @ {} under {}", speaks.model.name, speaks.model.provider, speaks.harness)
    }

    fn mode(&mut self, args: &str) {
        let modes = [SessionMode::Ask, SessionMode::Edits, SessionMode::Plan, SessionMode::Full];
        let Some(mode) = modes.into_iter().find(|mode| mode.name() == args) else {
            let now = self.facts.mode.name();
            let there = "/mode ask, edits, plan or full sets it";
            return match args {
                "" => self.tell(Tone::Dim, format!("mode {now}; {there}")),
                other => self.tell(Tone::Error, format!("there is no mode {other}; {there}")),
            };
        };
        self.work(
            move |host| host.stance(mode),
            move |plain, came| match came {
                Ok((stance, notices)) => {
                    for notice in notices {
                        plain.tell(Tone::Warning, notice);
                    }
                    plain.facts.mode = mode;
                    plain.link.desk.lay(Aside::Stance(stance));
                    plain.tell(Tone::Dim, format!("mode {} from the next call on", mode.name()));
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    pub(super) fn open(&mut self, which: Which) {
        self.work(
            move |host| host.open(&which),
            |plain, came| match came {
                Ok(opened) => plain.change_session(opened),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    fn diff(&mut self) {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Changes(to));
        self.wait(answer, |plain, changes: Changes| {
            let lines = board::changes(&changes, View { width: WIDE, ..plain.view() });
            plain.show(&Cell::Board(lines));
        });
    }

    fn context(&mut self) {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Context(to));
        self.wait(answer, |plain, filling| {
            plain.show(&Cell::Board(board::filling(&filling, &plain.palette)));
        });
    }

    fn tasks(&mut self) {
        if self.todo.is_empty() {
            return self.tell(Tone::Dim, "the model has no list of tasks");
        }
        self.show(&Cell::Board(task_rows(&self.todo, self.view())));
    }

    /// Takes a stored key away; that of the provider in use unless named.
    fn logout(&mut self, args: &str) {
        let named = if args.is_empty() { &self.facts.speaks.model.provider } else { args };
        let provider = named.to_owned();
        self.work(
            move |host| host.logout(&provider),
            |plain, came| match came {
                Ok(said) => plain.tell(Tone::Dim, said),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    fn report(&mut self, what: Report) {
        self.work(
            move |host| host.report(what),
            |plain, came| match came {
                Ok(said) => plain.rows(text::clean(&said).lines().map(str::to_owned)),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }
}
