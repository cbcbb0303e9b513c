//! The commands of `/` that need no screen: those that set something by name, and those that tell.

use std::time::Instant;

use ratatui::text::Line;
use tokio::sync::oneshot;

use super::{Next, Plain};
use crate::agent::{Aside, Op, SessionMode};
use crate::tools::Job;
use crate::tui::app::commands;
use crate::tui::board;
use crate::tui::cell::{Cell, Tone, task_rows};
use crate::tui::composer::{Command, Offered};
use crate::tui::host::{self, Fit, HarnessRow, Meant, ModelRow, Reach, Report, Spoken, Which, Wish};
use crate::tui::overlay::harness::tokens;
use crate::tui::text;

/// These need a screen, a terminal that takes sequences, or one that echoes nothing.
const SCREEN: [&str; 4] = ["copy", "diff", "keys", "login"];

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
            self.tell(Tone::Error, format!("there is no command /{name} here; /help lists them"));
            return Next::On;
        };
        if command.offered == Offered::Idle && self.live.is_some() {
            self.tell(Tone::Error, format!("/{name} goes once the turn is over; ctrl+c stops it"));
            return Next::On;
        }
        match (command.name.as_str(), args) {
            ("model", "") => self.list_models(),
            ("model", args) => self.model_named(args),
            ("harness", "") => self.list_harnesses(),
            ("harness", "-") => match self.before.clone() {
                Some(before) => self.switch_harness(before),
                None => self.tell(Tone::Dim, "there was no other harness in this session"),
            },
            ("harness", id) => self.switch_harness(id.to_owned()),
            ("effort", args) => self.effort(args),
            ("mode", args) => self.mode(args),
            ("new", _) => self.open(Which::New),
            ("resume", "") => self.list_sessions(Reach::Folder),
            ("resume", id) => self.open(Which::Id(id.to_owned())),
            ("compact", args) => {
                let focus = (!args.is_empty()).then(|| args.to_owned());
                self.begin(Op::Compact { focus }, now);
            }
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
            ("sandbox", _) => self.report(Report::Sandbox),
            ("provider", _) => self.report(Report::Providers),
            ("config", _) => self.report(Report::Config),
            ("doctor", _) => self.report(Report::Doctor),
            ("help", _) => self.help(),
            ("exit", _) => return Next::Leave(0),
            (other, _) => self.tell(Tone::Error, format!("/{other} needs a screen")),
        }
        Next::On
    }

    fn rows(&mut self, rows: impl IntoIterator<Item = String>) {
        let rows = rows.into_iter().map(|row| Line::raw(text::clean_line(&row).into_owned()));
        self.show(&Cell::Board(rows.collect()));
    }

    fn help(&mut self) {
        let row =
            |one: Command| format!("/{} {}", one.name, one.args).trim_end().to_owned() + ": " + &one.help;
        self.rows(offered().map(row));
        self.rows(["!COMMAND: run a command yourself; !!COMMAND: the model does not hear of it".to_owned()]);
    }

    fn list_models(&mut self) {
        self.work(
            |host| host.models(),
            |plain, models| {
                let now = plain.facts.speaks.model.clone();
                let row = |model: &ModelRow| {
                    let here = (&model.provider, &model.name) == (&now.provider, &now.name);
                    model_row(model) + if here { ", in use" } else { "" }
                };
                plain.rows(models.iter().map(row));
                plain.rows(["/model PROVIDER/NAME uses one".to_owned()]);
            },
        );
    }

    /// Goes on with a model that was typed, if there is one of that name.
    fn model_named(&mut self, typed: &str) {
        let (typed, at) = (typed.to_owned(), self.facts.speaks.model.provider.clone());
        self.work(
            move |host| host.meant(&typed, &at),
            |plain, came| match came {
                Ok(Meant { provider, name, doubt }) => {
                    if let Some(doubt) = doubt {
                        plain.tell(Tone::Warning, doubt);
                    }
                    plain.switch_model(provider, name);
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    fn switch_model(&mut self, provider: String, name: String) {
        if std::mem::take(&mut self.facts.mute) {
            self.first_model(provider.clone(), name.clone());
        }
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        self.speak(Wish { model: Some((provider, name)), harness, effort: None });
    }

    /// The first choice of all is kept, so that tack starts with it, and tried out.
    fn first_model(&mut self, provider: String, name: String) {
        self.work(
            move |host| [host.make_first(&provider, &name), host.try_model(&provider, &name)],
            |plain, came| {
                for came in came {
                    match came {
                        Ok(said) => plain.tell(Tone::Dim, said),
                        Err(why) => plain.tell(Tone::Warning, why),
                    }
                }
            },
        );
    }

    fn list_harnesses(&mut self) {
        let model = self.facts.speaks.model.clone();
        self.work(
            move |host| host.harnesses(&model),
            |plain, rows| {
                let now = plain.facts.speaks.harness.clone();
                let row = |row: &HarnessRow| harness_row(row) + if row.id == now { ", in use" } else { "" };
                plain.rows(rows.iter().map(row));
                plain.rows(["/harness ID changes it, /harness - goes back".to_owned()]);
            },
        );
    }

    fn switch_harness(&mut self, id: String) {
        self.speak(Wish { harness: Some(id), ..self.same() });
    }

    fn effort(&mut self, args: &str) {
        if args.is_empty() {
            let now = self.facts.speaks.model.effort.as_deref().unwrap_or("the model's own");
            return self.tell(Tone::Dim, format!("effort: {now}; /effort none, low, medium, high sets it"));
        }
        if let Err(why) = host::effort(args) {
            return self.tell(Tone::Error, why);
        }
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        self.speak(Wish { effort: Some(args.to_owned()), harness, ..self.same() });
    }

    /// The model that is spoken to now.
    fn same(&self) -> Wish {
        let model = &self.facts.speaks.model;
        let named = Some((model.provider.clone(), model.name.clone()));
        Wish { model: named, harness: None, effort: model.effort.clone() }
    }

    /// Goes on with others, from the next request on.
    fn speak(&mut self, wish: Wish) {
        self.work(
            move |host| host.speaker(&wish),
            |plain, came| match came {
                Ok(spoken) => {
                    if plain.facts.speaks.harness != spoken.speaks.harness {
                        plain.before = Some(plain.facts.speaks.harness.clone());
                    }
                    plain.spoken(spoken);
                    plain.tell(Tone::Dim, format!("{} from the next request on", plain.who()));
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    fn spoken(&mut self, spoken: Spoken) {
        let Spoken { speaker, speaks, warnings, notes } = spoken;
        notes.into_iter().for_each(|note| self.tell(Tone::Dim, note));
        warnings.into_iter().for_each(|warning| self.tell(Tone::Warning, warning));
        self.facts.speaks = speaks;
        self.link.desk.lay(Aside::Speak(speaker));
    }

    /// Learns of the model on this machine what its server tells, and once how it calls. What is typed
    /// meanwhile waits for it.
    pub(super) fn learn(&mut self) {
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        let wish = Wish { harness, ..self.same() };
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

    fn open(&mut self, which: Which) {
        self.work(
            move |host| host.open(&which),
            |plain, came| match came {
                Ok(opened) => plain.change_session(opened),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    pub(super) fn list_sessions(&mut self, reach: Reach) {
        self.work(
            move |host| host.sessions(reach),
            |plain, rows| {
                if rows.is_empty() {
                    return plain.tell(Tone::Dim, "there is no session yet");
                }
                plain.rows(rows.iter().map(|row| format!("{}: {}", row.id, row.title)));
                plain.rows(["/resume ID goes on with one".to_owned()]);
            },
        );
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

    fn jobs(&mut self, args: &str) {
        if let Some(id) = args.strip_prefix("stop ") {
            self.link.desk.lay(Aside::StopJob(id.trim().to_owned()));
        }
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Jobs(to));
        self.wait(answer, |plain, jobs: Vec<Job>| match jobs.is_empty() {
            true => plain.tell(Tone::Dim, "nothing runs in the background"),
            false => plain.show(&Cell::Board(board::jobs(&jobs))),
        });
    }

    /// The stored rules; `rm N` forgets one.
    fn permissions(&mut self, args: &str) {
        let nth = args.strip_prefix("rm ").and_then(|nth| nth.trim().parse::<usize>().ok());
        self.work(
            move |host| {
                let rules = host.rules();
                let gone = nth.and_then(|nth| rules.get(nth.wrapping_sub(1)));
                (gone.map(|rule| host.forget_rule(rule)), host.rules())
            },
            |plain, (came, rules)| {
                if let Some(Err(why)) = came {
                    plain.tell(Tone::Error, why);
                }
                match rules.is_empty() {
                    true => plain.tell(Tone::Dim, "no rule is stored; the mode decides what is asked for"),
                    false => plain.show(&Cell::Board(board::rules(&rules, &plain.palette))),
                }
            },
        );
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

fn model_row(model: &ModelRow) -> String {
    let mut facts = vec![match model.name.is_empty() {
        true => model.provider.clone(),
        false => format!("{}/{}", model.provider, model.name),
    }];
    facts.extend(model.window.map(|window| format!("{} window", tokens(window))));
    facts.extend(model.prices.as_ref().map(|p| format!("${:.2} in, ${:.2} out", p.input, p.output)));
    facts.extend(Some(model.remark.clone()).filter(|remark| !remark.is_empty()));
    facts.join(", ")
}

fn harness_row(row: &HarnessRow) -> String {
    let fit = match &row.fit {
        Fit::Fits => "fits",
        Fit::Works => "works",
        Fit::Weak => "weak",
        Fit::Cannot(why) => return format!("{}, cannot be used: {why}", row.id),
    };
    let auto = if row.auto { ", auto choice" } else { "" };
    let tools = if row.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", row.tools) };
    format!("{}, {fit}, {tools}, {} tokens a turn{auto}", row.id, tokens(row.tokens as u64))
}
