//! What is in force in this session, and what of it a command changes: the sandbox, the stored rules, what
//! runs in the background, the keys of providers.

use tokio::sync::oneshot;

use super::{App, Want};
use crate::agent::{Allowed, Aside, Rule};
use crate::tools::Job;
use crate::tui::args::{self, Jobs, Sandbox};
use crate::tui::board;
use crate::tui::cell::{Cell, Tone};
use crate::tui::host::{Folder, Report};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::key::KeyEntry;
use crate::tui::overlay::model::Purpose;

impl App {
    /// Model, harness, wire, window, mode, sandbox, folder, session.
    pub(super) fn show_status(&mut self) -> Want {
        let lines = board::status(&self.facts, &self.spent, self.session.as_deref(), &self.palette);
        self.show(Cell::Board(lines));
        Want::Frame
    }

    /// Asks for a provider's key; of the one in use unless named.
    pub(super) fn login_command(&mut self, args: &str) -> Want {
        if args.is_empty() && self.facts.mute {
            return self.pick_model(Purpose::First);
        }
        let provider =
            if args.is_empty() { self.facts.speaks.model.provider.clone() } else { args.to_owned() };
        self.overlay = Some(Overlay::Key(KeyEntry::new(provider)));
        Want::Frame
    }

    /// Takes a stored key away.
    pub(super) fn logout_command(&mut self, args: &str) -> Want {
        let provider =
            if args.is_empty() { self.facts.speaks.model.provider.clone() } else { args.to_owned() };
        self.aside(
            move |host| host.logout(&provider),
            |app, came| {
                match came {
                    Ok(said) => app.tell(Tone::Dim, said),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    pub(super) fn sandbox_command(&mut self, written: &str) -> Want {
        match args::sandbox(written) {
            Ok(Sandbox::Show) => self.show_sandbox(),
            Ok(Sandbox::Change(folder)) => self.change_folder(folder),
            Err(how) => self.refuse(how),
        }
    }

    /// What the agent may do, and what this machine can hold of it.
    fn show_sandbox(&mut self) -> Want {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Allowed(to));
        self.ask(answer, |app, allowed: Allowed| {
            app.aside(
                |host| host.report(Report::Sandbox).unwrap_or_else(|why| why),
                move |app, machine| {
                    app.show(Cell::Board(board::sandbox(&allowed, &machine, &app.palette)));
                    Want::Frame
                },
            );
            Want::Nothing
        });
        Want::Nothing
    }

    fn change_folder(&mut self, folder: Folder) -> Want {
        let mode = self.facts.mode;
        self.aside(
            move |host| host.change_folder(&folder, mode),
            |app, came| {
                match came {
                    Ok((stance, said)) => {
                        app.link.desk.lay(Aside::Stance(stance));
                        said.into_iter().for_each(|line| app.tell(Tone::Dim, line));
                    }
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    /// The stored rules: shown, and one added or forgotten before.
    pub(super) fn permissions(&mut self, written: &str) -> Want {
        let rules = match args::rules(written) {
            Ok(rules) => rules,
            Err(how) => return self.refuse(how),
        };
        self.aside(
            move |host| (args::change_rules(&*host, &rules), host.rules()),
            |app, (came, rules)| {
                match came {
                    Ok(Some(said)) => app.tell(Tone::Dim, said),
                    Ok(None) => {}
                    Err(why) => return app.refuse(why),
                }
                app.list_rules(&rules);
                Want::Frame
            },
        );
        Want::Nothing
    }

    fn list_rules(&mut self, rules: &[Rule]) {
        if rules.is_empty() {
            return self.tell(Tone::Dim, board::no_rules(self.facts.mode));
        }
        self.show(Cell::Board(board::rules(rules, &self.palette)));
    }

    pub(super) fn jobs_command(&mut self, written: &str) -> Want {
        match args::jobs(written) {
            Ok(Jobs::List) => self.list_jobs(),
            Ok(Jobs::Stop(id)) => {
                self.link.desk.lay(Aside::StopJob(id));
                self.list_jobs()
            }
            Ok(Jobs::Tail(id)) => self.tail_job(id),
            Err(how) => self.refuse(how),
        }
    }

    fn list_jobs(&mut self) -> Want {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Jobs(to));
        self.ask(answer, |app, jobs: Vec<Job>| {
            match jobs.is_empty() {
                true => app.tell(Tone::Dim, "nothing runs in the background"),
                false => app.show(Cell::Board(board::jobs(&jobs, &app.palette))),
            }
            Want::Frame
        });
        Want::Nothing
    }

    fn tail_job(&mut self, id: String) -> Want {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::TailJob(id.clone(), to));
        self.ask(answer, move |app, printed: Option<String>| {
            match printed {
                Some(printed) => app.show(Cell::Board(board::tail(&id, &printed, &app.palette))),
                None => app.tell(Tone::Error, format!("there is no background command {id}; /ps lists them")),
            }
            Want::Frame
        });
        Want::Nothing
    }

    /// A command that was written in no way that it can be.
    pub(super) fn refuse(&mut self, how: String) -> Want {
        self.tell(Tone::Error, how);
        Want::Frame
    }
}
