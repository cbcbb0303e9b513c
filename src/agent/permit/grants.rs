//! What a person allowed for the rest of the session.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::sandbox::{Lift, real};

#[derive(Default)]
pub struct Grants {
    /// Of the sandbox, for every call.
    lifts: Vec<Lift>,
    /// Commands, to the letter, and what is lifted for each.
    lines: Vec<(String, Vec<Lift>)>,
    /// Files that may be changed.
    files: HashSet<PathBuf>,
    /// Hosts that pages may be got from.
    hosts: HashSet<String>,
}

impl Grants {
    /// What is lifted for every call.
    pub(super) fn lifts(&self) -> &[Lift] {
        &self.lifts
    }

    /// All of it, for a person.
    pub fn words(&self) -> Vec<String> {
        let lifts = self.lifts.iter().map(|lift| match lift {
            Lift::Path(path) => format!("write {}", path.display()),
            other => other.to_string(),
        });
        let lines = self.lines.iter().map(|(line, lifts)| {
            let with: Vec<String> = lifts.iter().map(ToString::to_string).collect();
            if with.is_empty() {
                format!("run {line}")
            } else {
                format!("run {line} (with {})", with.join(", "))
            }
        });
        let mut files: Vec<String> =
            self.files.iter().map(|path| format!("edit {}", path.display())).collect();
        let mut hosts: Vec<String> = self.hosts.iter().map(|host| format!("fetch from {host}")).collect();
        files.sort();
        hosts.sort();
        lifts.chain(lines).chain(files).chain(hosts).collect()
    }

    /// A path and git's folders are opened for every call, the network for the one command.
    pub(super) fn command(&mut self, line: &str, lifts: &[Lift]) {
        self.lift(lifts);
        let own: Vec<Lift> = lifts.iter().filter(|lift| **lift == Lift::Network).cloned().collect();
        self.lines.retain(|(known, _)| known != line);
        self.lines.push((line.to_owned(), own));
    }

    pub(super) fn files(&mut self, paths: impl IntoIterator<Item = PathBuf>, lifts: &[Lift]) {
        self.lift(lifts);
        // Where they lie now: a link that is put in their place later leads to another file.
        self.files.extend(paths.into_iter().map(|path| real(&path)));
    }

    pub(super) fn host(&mut self, host: String) {
        self.hosts.insert(host);
    }

    fn lift(&mut self, lifts: &[Lift]) {
        let lasting = |lift: &&Lift| matches!(lift, Lift::Path(_) | Lift::GitCommit);
        let new: Vec<Lift> =
            lifts.iter().filter(lasting).filter(|lift| !self.lifts.contains(lift)).cloned().collect();
        self.lifts.extend(new);
    }

    /// What is lifted for this very command; None: nobody allowed it.
    pub(super) fn of_command(&self, line: &str) -> Option<&[Lift]> {
        self.lines.iter().find(|(known, _)| known == line).map(|(_, lifts)| lifts.as_slice())
    }

    pub(super) fn has_files(&self, paths: &[PathBuf]) -> bool {
        !paths.is_empty() && paths.iter().all(|path| self.files.contains(&real(path)))
    }

    pub(super) fn has_host(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }
}
