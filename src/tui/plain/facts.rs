//! The commands that show what is in force in the session, and change a part of it.

use tokio::sync::oneshot;

use super::Plain;
use crate::agent::{Allowed, Aside};
use crate::tools::Job;
use crate::tui::args::{self, Jobs, Providers, Sandbox};
use crate::tui::board;
use crate::tui::cell::{Cell, Tone};
use crate::tui::host::{Folder, Host, ProviderRow, Report};

impl Plain {
    pub(super) fn sandbox(&mut self, written: &str) {
        match args::sandbox(written) {
            Ok(Sandbox::Show) => self.show_sandbox(),
            Ok(Sandbox::Change(folder)) => self.change_folder(folder),
            Err(how) => self.tell(Tone::Error, how),
        }
    }

    fn show_sandbox(&mut self) {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Allowed(to));
        self.wait(answer, |plain, allowed: Allowed| {
            plain.work(
                |host| host.report(Report::Sandbox).unwrap_or_else(|why| why),
                move |plain, machine| {
                    plain.show(&Cell::Board(board::sandbox(&allowed, &machine, &plain.palette)));
                },
            );
        });
    }

    fn change_folder(&mut self, folder: Folder) {
        let mode = self.facts.mode;
        self.work(
            move |host| host.change_folder(&folder, mode),
            |plain, came| match came {
                Ok((stance, said)) => {
                    plain.link.desk.lay(Aside::Stance(stance));
                    said.into_iter().for_each(|line| plain.tell(Tone::Dim, line));
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    pub(super) fn jobs(&mut self, written: &str) {
        match args::jobs(written) {
            Ok(Jobs::List) => self.list_jobs(),
            Ok(Jobs::Stop(id)) => {
                self.link.desk.lay(Aside::StopJob(id));
                self.list_jobs();
            }
            Ok(Jobs::Tail(id)) => self.tail_job(id),
            Err(how) => self.tell(Tone::Error, how),
        }
    }

    fn list_jobs(&mut self) {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::Jobs(to));
        self.wait(answer, |plain, jobs: Vec<Job>| match jobs.is_empty() {
            true => plain.tell(Tone::Dim, "nothing runs in the background"),
            false => plain.show(&Cell::Board(board::jobs(&jobs, &plain.palette))),
        });
    }

    fn tail_job(&mut self, id: String) {
        let (to, answer) = oneshot::channel();
        self.link.desk.lay(Aside::TailJob(id.clone(), to));
        self.wait(answer, move |plain, printed: Option<String>| match printed {
            Some(printed) => plain.show(&Cell::Board(board::tail(&id, &printed, &plain.palette))),
            None => plain.tell(Tone::Error, format!("there is no background command {id}; /ps lists them")),
        });
    }

    /// The stored rules: shown, and one added or forgotten before.
    pub(super) fn permissions(&mut self, written: &str) {
        let rules = match args::rules(written) {
            Ok(rules) => rules,
            Err(how) => return self.tell(Tone::Error, how),
        };
        self.work(
            move |host| (args::change_rules(&*host, &rules), host.rules()),
            |plain, (came, rules)| {
                match came {
                    Ok(Some(said)) => plain.tell(Tone::Dim, said),
                    Ok(None) => {}
                    Err(why) => return plain.tell(Tone::Error, why),
                }
                match rules.is_empty() {
                    true => plain.tell(Tone::Dim, board::no_rules(plain.facts.mode)),
                    false => plain.show(&Cell::Board(board::rules(&rules, &plain.palette))),
                }
            },
        );
    }

    pub(super) fn provider(&mut self, written: &str) {
        match args::providers(written) {
            Ok(Providers::List) => self.work(
                |host| host.providers(),
                |plain, rows| {
                    plain.rows(rows.iter().map(provider_row));
                    plain.rows(
                        [
                            "/provider test ID asks one what it has",
                            "/provider add ID ADDRESS [chat|responses|messages] adds one, rm ID takes it away",
                            "a key is stored outside of a session: tack login ID",
                        ]
                        .map(str::to_owned),
                    );
                },
            ),
            Ok(Providers::Test(id)) => self.told(move |host| host.try_provider(&id).map(|said| vec![said])),
            Ok(Providers::Add(new)) => self.told(move |host| host.add_provider(&new)),
            Ok(Providers::Remove(id)) if id == self.facts.speaks.model.provider => {
                self.tell(Tone::Error, args::in_use(&id));
            }
            Ok(Providers::Remove(id)) => self.told(move |host| host.remove_provider(&id).map(|said| vec![said])),
            Err(how) => self.tell(Tone::Error, how),
        }
    }

    /// Does it aside, and tells what came of it.
    fn told(&mut self, work: impl FnOnce(&dyn Host) -> Result<Vec<String>, String> + Send + 'static) {
        self.work(
            move |host| work(&*host),
            |plain, came| match came {
                Ok(said) => said.into_iter().for_each(|line| plain.tell(Tone::Dim, line)),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }
}

fn provider_row(row: &ProviderRow) -> String {
    let answers = match row.answers {
        Some(true) => ", answers",
        Some(false) => ", does not answer",
        None => "",
    };
    format!("{}, {}, {}, key: {}{answers}, {}", row.id, row.origin.words(), row.wires, row.key, row.address)
}
