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
use crate::tui::host::{Reach, Report, Which};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::board::Board;
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
        listed("mode", "[ask|edits|plan|full]", "what may run without asking", Always),
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
                self.begin(Op::Compact { focus }, Some(&empty_draft(args)), now);
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
        let title = match what {
            Report::Doctor => "Doctor",
            Report::Sandbox => "Sandbox",
            Report::Providers => "Providers",
            Report::Config => "Settings",
        };
        let mut lines = vec![Line::styled(title, self.palette.strong)];
        self.aside(
            move |host| host.report(what),
            move |app, came| {
                match came {
                    Ok(said) => {
                        lines.extend(text::clean(&said).lines().map(|line| Line::raw(line.to_owned())));
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
        let rows = rows.map(|(keys, name, help)| (keys, format!("{help}  [{name}]"))).collect();
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
