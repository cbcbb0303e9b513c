//! The bench, run as people run it, with models of known skill: it finds a difference that is there,
//! says "not shown" of one that is not, goes on where it was stopped, and tells outages from failures.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::kit::{Ran, Tack, finish, wait_for};
use crate::server::*;

/// A home with a second harness, and a folder of tasks `t00` to `t13`: write the name into `out`.
struct Place {
    tack: Tack,
}

impl Place {
    fn new(server: &Server) -> Self {
        let tack = Tack::new(server);
        let place = Self { tack };
        place.harness("other", "[request]\ntop_p = 0.5\n");
        for n in 0..14 {
            let name = format!("t{n:02}");
            let check = format!(
                "#!/bin/sh\ngrep -q {name} out && exit 0\necho \"out does not say {name}\"\nexit 1\n"
            );
            let kept = n % 2 == 0;
            place.task(&name, &format!("prompt = \"Write {name} into the file out.\"\nkept = {kept}\n"), &check);
        }
        place
    }

    fn tasks(&self) -> PathBuf {
        self.tack.dir.path().join("tasks")
    }

    fn task(&self, name: &str, toml: &str, check: &str) {
        let dir = self.tasks().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("task.toml"), toml).unwrap();
        std::fs::write(dir.join("check"), check).unwrap();
    }

    /// A fork of `minimal`.
    fn harness(&self, id: &str, more: &str) {
        let dir = self.tack.home().join("harnesses").join(id);
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!("schema = 1\nid = \"{id}\"\nextends = \"minimal\"\n{more}");
        std::fs::write(dir.join("harness.toml"), text).unwrap();
    }

    fn args<'a>(&self, args: &[&'a str]) -> Vec<String> {
        let start = ["harness", "bench"].iter().chain(args).map(|arg| (*arg).to_owned());
        start.chain(["--tasks".to_owned(), self.tasks().display().to_string()]).collect()
    }

    fn bench(&self, args: &[&str]) -> Ran {
        self.tack.run(self.args(args))
    }

    fn results(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.tack.home().join("bench/results.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Whether it solves the task of this number under the harness that is asked for.
type Skill = fn(task: usize, harness: &str) -> bool;

/// Answers as a model of this skill: one command, then a last word.
fn as_skilled(request: &Request, skill: Skill) -> Option<Reply> {
    if request.method != "POST" {
        return None;
    }
    let said = request.said();
    let at = said.find("Write t")? + "Write t".len();
    let task: usize = said[at..at + 2].parse().unwrap();
    let harness = if request.body["top_p"].is_null() { "minimal" } else { "other" };
    if said.contains("\"tool\"") {
        return Some(sse([txt("It is done."), end("stop"), usage(120, 5), done()]));
    }
    let command = match skill(task, harness) {
        true => format!("echo t{task:02} > out"),
        false => "ls".to_owned(),
    };
    let call = call(0, "a", "bash", &json!({ "command": command }).to_string());
    Some(sse([call, end("tool_calls"), usage(100, 10), done()]))
}

fn skilled(skill: Skill) -> Server {
    Server::with(Vec::new(), move |request| as_skilled(request, skill))
}

/// Times and places differ from run to run.
fn plain(text: &str, place: &Place) -> String {
    let text = text.replace(&place.tack.dir.path().display().to_string(), "<dir>");
    let seconds = regex::Regex::new(r"\b\d+ s\b").unwrap().replace_all(&text, "<n> s").into_owned();
    regex::Regex::new(r" +\d+\.\d(  |\n)").unwrap().replace_all(&seconds, "  <s>$1").into_owned()
}

#[test]
fn a_real_difference_is_found() {
    let server = skilled(|task, harness| task != 13 && (harness == "minimal" || task % 2 == 0));
    let place = Place::new(&server);
    let ran = place.bench(&["--harnesses", "minimal,other", "--store"]).code(0);
    assert_snapshot!(plain(&ran.stdout, &place));
    let first: Vec<&str> = ran.stderr.lines().take(2).collect();
    assert_snapshot!(plain(&first.join("\n"), &place), @"");
    let config = std::fs::read_to_string(place.tack.home().join("config.toml")).unwrap();
    assert!(config.contains("[models.\"mock/mock\"]\nharness = \"minimal\""), "{config}");
}
