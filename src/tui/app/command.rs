//! The commands of `/`: what there is, and what each does.

use std::time::Instant;

use ratatui::text::Line;
use tokio::sync::oneshot;

use crate::agent::{Aside, Op, Rule};
use crate::tools::Job;

use super::{App, Want, view};
use crate::tui::board;
use crate::tui::cell::{Called, Cell, Tone, task_rows};
use crate::tui::composer::{Command, Draft, Kind, Offered, sheet};
use crate::tui::host::{Reach, Report, Speaks, Spoken, Which, Wish};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::board::Board;
use crate::tui::overlay::harness::HarnessPicker;
use crate::tui::overlay::model::{ModelPicker, Purpose};
use crate::tui::overlay::sessions::SessionPicker;
use crate::tui::text;

/// A command as it is listed, in the order of the list.
pub struct Listed {
    name: &'static str,
    args: &'static str,
    help: &'static str,
    aliases: &'static [&'static str],
    offered: Offered,
}

const fn listed(name: &'static str, args: &'static str, help: &'static str, offered: Offered) -> Listed {
    Listed { name, args, help, aliases: &[], offered }
}

const fn also(listed: &Listed, aliases: &'static [&'static str]) -> Listed {
    Listed { aliases, ..*listed }
}

use Offered::{Always, Idle};

/// What there is.
#[rustfmt::skip]
pub fn commands() -> &'static [Listed] {
    const ALL: &[Listed] = &[
        listed("model", "[name]", "choose model; shows price, window, tools", Always),
        listed("harness", "[id|auto|-]", "change how tack speaks to the model, in this session", Always),
        listed("effort", "[level]", "reasoning effort, if the model has one", Always),
        listed("mode", "[ask|edits|plan]", "what may run without asking", Always),
        also(&listed("new", "", "new session (the old one stays)", Idle), &["clear"]),
        listed("resume", "[id]", "go back to a session", Idle),
        listed("compact", "[focus]", "summarise old turns now", Idle),
        listed("copy", "[n]", "copy the n-th last answer", Always),
        listed("diff", "", "all changes since the session began", Always),
        listed("context", "", "what fills the window, by part", Always),
        also(&listed("cost", "", "tokens, cache and money, by model", Always), &["usage"]),
        listed("status", "", "model, harness, wire, mode, sandbox, files in force", Always),
        listed("tasks", "", "the model's to-do list", Always),
        listed("ps", "[stop ID]", "background commands; stop one", Always),
        listed("permissions", "[rm N]", "see and delete the stored rules", Always),
        listed("sandbox", "", "what the sandbox allows on this machine", Always),
        also(&listed("provider", "", "providers, and whether their keys are there", Always), &["providers"]),
        listed("login", "[provider]", "store the key of a provider", Always),
        listed("logout", "[provider]", "remove a stored key", Always),
        listed("config", "", "effective settings and where each comes from", Always),
        listed("doctor", "", "check config, key, network, sandbox", Always),
        listed("keys", "", "all keys", Always),
        also(&listed("help", "", "all commands", Always), &["?"]),
        also(&listed("exit", "", "leave tack", Always), &["quit", "q"]),
    ];
    ALL
}

impl From<&Listed> for Command {
    fn from(one: &Listed) -> Self {
        Self {
            name: one.name.to_owned(),
            args: one.args.to_owned(),
            help: one.help.to_owned(),
            aliases: one.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            offered: one.offered,
        }
    }
}

impl App {
    pub(super) fn command(&mut self, name: &str, args: &str, now: Instant) -> Want {
        match name {
            "model" => self.model_command(args),
            "harness" => self.harness_command(args),
            "effort" => self.effort(args),
            "mode" => self.mode_command(args),
            "new" => self.open(Which::New),
            "resume" if args.is_empty() => self.list_sessions(Reach::Folder),
            "resume" => self.resume(args.to_owned()),
            "compact" => {
                let focus = (!args.is_empty()).then(|| args.to_owned());
                self.begin(Op::Compact { focus }, &empty_draft(args), now);
                Want::Frame
            }
            "copy" => self.copy(args),
            "diff" => self.diff(),
            "context" => self.context(),
            "cost" => self.cost(),
            "status" => self.show_status(),
            "login" => self.login_command(args),
            "logout" => self.logout_command(args),
            "tasks" => self.tasks(),
            "ps" => self.jobs_command(args),
            "permissions" => self.permissions(args),
            "sandbox" => self.report(Report::Sandbox),
            "provider" => self.report(Report::Providers),
            "config" => self.report(Report::Config),
            "doctor" => self.report(Report::Doctor),
            "keys" => self.sheet(),
            "help" => self.help(),
            "exit" => Want::Exit(0),
            other => {
                self.tell(Tone::Error, format!("there is no command /{other}"));
                Want::Frame
            }
        }
    }

    fn model_command(&mut self, args: &str) -> Want {
        if !args.is_empty() {
            let (provider, name) = match args.split_once('/') {
                Some((provider, name)) => (provider.to_owned(), name.to_owned()),
                None => (self.facts.speaks.model.provider.clone(), args.to_owned()),
            };
            return self.switch_model(provider, name);
        }
        self.pick_model(if self.facts.mute { Purpose::First } else { Purpose::Switch })
    }

    pub(super) fn pick_model(&mut self, purpose: Purpose) -> Want {
        self.aside(
            |host| host.models(),
            move |app, models| {
                let picker = ModelPicker::new(purpose, &app.facts.speaks, app.history.cached, models);
                app.overlay = Some(Overlay::Model(picker));
                Want::Frame
            },
        );
        Want::Nothing
    }

    /// Stores a key, and goes back to the list in which its models now are.
    pub(super) fn login(&mut self, provider: String, key: String) -> Want {
        self.aside(
            move |host| host.login(&provider, &key),
            |app, came| match came {
                Ok(said) => {
                    app.tell(Tone::Dim, said);
                    app.model_command("");
                    Want::Frame
                }
                Err(why) => {
                    app.tell(Tone::Error, why);
                    Want::Frame
                }
            },
        );
        Want::Nothing
    }

    fn harness_command(&mut self, args: &str) -> Want {
        match args {
            "" => {
                let model = self.facts.speaks.model.clone();
                self.aside(
                    move |host| host.harnesses(&model),
                    |app, rows| {
                        let picker = HarnessPicker::new(&app.facts.speaks, app.history, rows);
                        app.overlay = Some(Overlay::Harness(picker));
                        Want::Frame
                    },
                );
                Want::Nothing
            }
            "-" => match self.before.clone() {
                Some(before) => self.switch_harness(&before),
                None => {
                    self.tell(Tone::Dim, "there was no other harness in this session");
                    Want::Frame
                }
            },
            id => self.switch_harness(id),
        }
    }

    pub(super) fn switch_harness(&mut self, id: &str) -> Want {
        self.speak(Wish { harness: Some(id.to_owned()), ..self.same() })
    }

    pub(super) fn switch_model(&mut self, provider: String, name: String) -> Want {
        if std::mem::take(&mut self.facts.mute) {
            self.first_model(provider.clone(), name.clone());
        }
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        self.speak(Wish { model: Some((provider, name)), harness, effort: None })
    }

    /// The first choice of all is kept, so that tack starts with it, and tried out.
    fn first_model(&mut self, provider: String, name: String) {
        self.aside(
            move |host| {
                let kept = host.make_first(&provider, &name);
                (kept, host.try_model(&provider, &name))
            },
            |app, (kept, tried)| {
                for came in [kept, tried] {
                    match came {
                        Ok(said) => app.tell(Tone::Dim, said),
                        Err(why) => app.tell(Tone::Warning, why),
                    }
                }
                Want::Frame
            },
        );
    }

    fn effort(&mut self, args: &str) -> Want {
        if args.is_empty() {
            let now = self.facts.speaks.model.effort.as_deref().unwrap_or("the model's own");
            self.tell(Tone::Dim, format!("effort: {now}; /effort none, low, medium, high sets it"));
            return Want::Frame;
        }
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        self.speak(Wish { effort: Some(args.to_owned()), harness, ..self.same() })
    }

    /// The model that is spoken to now.
    fn same(&self) -> Wish {
        let model = &self.facts.speaks.model;
        Wish {
            model: Some((model.provider.clone(), model.name.clone())),
            harness: None,
            effort: model.effort.clone(),
        }
    }

    /// Goes on with others, from the next request on.
    fn speak(&mut self, wish: Wish) -> Want {
        self.aside(
            move |host| host.speaker(&wish),
            |app, came| {
                match came {
                    Ok(spoken) => app.spoken(spoken),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    fn spoken(&mut self, spoken: Spoken) {
        let Spoken { speaker, speaks, warnings, notes } = spoken;
        for note in notes {
            self.tell(Tone::Dim, note);
        }
        for warning in warnings {
            self.tell(Tone::Warning, warning);
        }
        self.told_of(&speaks);
        self.link.desk.lay(Aside::Speak(speaker));
    }

    /// Learns of the model on this machine what its server tells, and once how it calls. What is said
    /// meanwhile waits for it.
    pub(super) fn learn(&mut self) {
        self.learning = Some(Instant::now());
        let auto = self.facts.speaks.auto;
        let harness = (!auto).then(|| self.facts.speaks.harness.clone());
        let wish = Wish { harness, ..self.same() };
        self.aside(
            move |host| host.speaker(&wish),
            |app, came| {
                app.learning = None;
                let before = app.facts.speaks.clone();
                match came {
                    // Nothing was said yet: it is simply so.
                    Ok(spoken) => {
                        (app.facts.speaks.model, app.facts.speaks.harness) =
                            (spoken.speaks.model.clone(), spoken.speaks.harness.clone());
                        app.quiet_switch = true;
                        app.spoken(spoken);
                    }
                    Err(why) => app.tell(Tone::Warning, why),
                }
                if before.harness != app.facts.speaks.harness {
                    let (name, harness) = (&app.facts.speaks.model.name, &app.facts.speaks.harness);
                    app.tell(Tone::Dim, format!("{name} is spoken to under {harness}"));
                }
                app.send_next(Instant::now());
                Want::Frame
            },
        );
    }

    /// Until the agent says that it is so, the person hears when it will be.
    fn told_of(&mut self, speaks: &Speaks) {
        if self.facts.speaks.harness != speaks.harness {
            self.before = Some(self.facts.speaks.harness.clone());
        }
        if self.working() {
            let said = format!("{} under {} from the next request on", speaks.model.name, speaks.harness);
            self.tell(Tone::Dim, said);
        }
        self.facts.speaks.auto = speaks.auto;
        self.facts.speaks.speech = speaks.speech;
    }

    pub(super) fn make_usual(&mut self, id: &str) -> Want {
        let (model, harness) = (self.facts.speaks.model.clone(), id.to_owned());
        self.aside(
            move |host| host.make_usual(&model, &harness),
            |app, came| {
                match came {
                    Ok(said) => app.tell(Tone::Dim, said),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        self.switch_harness(id)
    }

    pub(super) fn try_model(&mut self, row: usize, provider: String, name: String) -> Want {
        self.aside(
            move |host| host.try_model(&provider, &name),
            move |app, came| {
                if let Some(Overlay::Model(picker)) = &mut app.overlay {
                    picker.tried(row, came);
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn list_sessions(&mut self, reach: Reach) -> Want {
        self.aside(
            move |host| host.sessions(reach),
            move |app, mut rows| {
                rows.retain(|row| row.id != app.facts.session);
                app.overlay = Some(Overlay::Sessions(SessionPicker::new(reach, rows)));
                Want::Frame
            },
        );
        Want::Nothing
    }

    pub(super) fn widen_sessions(&mut self) -> Want {
        let Some(Overlay::Sessions(picker)) = &self.overlay else { return Want::Nothing };
        let reach = match picker.reach() {
            Reach::Folder => Reach::All,
            Reach::All => Reach::Folder,
        };
        self.list_sessions(reach)
    }

    pub(super) fn resume(&mut self, id: String) -> Want {
        self.open(Which::Id(id))
    }

    fn open(&mut self, which: Which) -> Want {
        self.aside(
            move |host| host.open(&which),
            |app, came| {
                match came {
                    Ok(opened) => app.change_session(opened),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    fn copy(&mut self, args: &str) -> Want {
        let nth: usize = if args.is_empty() { 1 } else { args.parse().unwrap_or(0) };
        let replies = self.transcript.cells().iter().rev().filter_map(|cell| match cell {
            Cell::Reply(source) => Some(source),
            _ => None,
        });
        match nth.checked_sub(1).and_then(|nth| replies.into_iter().nth(nth)).cloned() {
            Some(source) => {
                self.tell(Tone::Dim, "copied");
                Want::Copy(source)
            }
            None => {
                self.tell(Tone::Dim, "there is no such answer");
                Want::Frame
            }
        }
    }

    /// All changes that calls of this session made, file by file.
    fn diff(&mut self) -> Want {
        let mut calls: Vec<Called> = Vec::new();
        for cell in self.transcript.cells() {
            if let Cell::Call(called) = cell
                && !called.outcome.changes.is_empty()
            {
                calls.push((**called).clone());
            }
        }
        if calls.is_empty() {
            self.tell(
                Tone::Dim,
                "no file was changed by an edit in this session; what commands changed, git knows",
            );
            return Want::Frame;
        }
        for called in calls {
            self.show(Cell::Call(Box::new(called)));
        }
        Want::Frame
    }

    fn context(&mut self) -> Want {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Context(to));
        self.ask(answer, |app, filling| {
            app.show(Cell::Board(board::filling(&filling, &app.palette)));
            Want::Frame
        });
        Want::Nothing
    }

    fn cost(&mut self) -> Want {
        self.show(Cell::Board(board::cost(&self.spent, &self.palette)));
        Want::Frame
    }

    fn tasks(&mut self) -> Want {
        if self.todo.is_empty() {
            self.tell(Tone::Dim, "the model has no list of tasks");
            return Want::Frame;
        }
        let rows = task_rows(&self.todo, view(self.size, &self.palette));
        self.show(Cell::Board(rows));
        Want::Frame
    }

    fn jobs_command(&mut self, args: &str) -> Want {
        if let Some(id) = args.strip_prefix("stop ") {
            self.link.desk.lay(Aside::StopJob(id.trim().to_owned()));
        }
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Jobs(to));
        self.ask(answer, |app, jobs: Vec<Job>| {
            if jobs.is_empty() {
                app.tell(Tone::Dim, "nothing runs in the background");
                return Want::Frame;
            }
            app.show(Cell::Board(board::jobs(&jobs)));
            Want::Frame
        });
        Want::Nothing
    }

    fn report(&mut self, what: Report) -> Want {
        self.aside(
            move |host| host.report(what),
            |app, came| {
                match came {
                    Ok(said) => {
                        let lines =
                            text::clean(&said).lines().map(|line| Line::raw(line.to_owned())).collect();
                        app.show(Cell::Board(lines));
                    }
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    pub(super) fn list_rules(&mut self, rules: &[Rule]) {
        if rules.is_empty() {
            let mode = self.facts.mode.name();
            return self.tell(Tone::Dim, format!("no rule is stored; mode {mode} decides what is asked for"));
        }
        self.show(Cell::Board(board::rules(rules, &self.palette)));
    }

    fn sheet(&mut self) -> Want {
        let rows = sheet(self.composer.keymap()).into_iter();
        let rows = rows.map(|(keys, idle, _)| (keys, idle.to_owned())).collect();
        self.overlay = Some(Overlay::Board(Board::new("Keys", rows)));
        Want::Frame
    }

    fn help(&mut self) -> Want {
        let name = |one: &Listed| format!("/{} {}", one.name, one.args).trim_end().to_owned();
        let rows = commands().iter().map(|one| (name(one), one.help.to_owned())).collect();
        self.overlay = Some(Overlay::Board(Board::new("Commands", rows)));
        Want::Frame
    }
}

fn empty_draft(args: &str) -> Draft {
    let text = format!("/compact {args}");
    let kind = Kind::Command { name: "compact".to_owned(), args: args.to_owned() };
    Draft {
        kind,
        text: text.clone(),
        shown: text.clone(),
        images: Vec::new(),
        mentions: Vec::new(),
        parts: vec![crate::tui::composer::Part::Text(text)],
    }
}
