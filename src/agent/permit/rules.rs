//! The person's own rules: what runs without asking, by its first words.
//!
//! Kept in `rules.toml` of the user's folder, never read from a project. A rule is matched word by word on a
//! simple command, and lifts nothing but what it was made for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::line::{Line, interprets, name, never_by_rule};
use crate::agent::harmless::only_reads;
use crate::sandbox::Lift;

/// `cargo test *`: these words, and whatever follows where the last one is a star.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The rule as a person reads and edits it.
    pub allow: String,
    /// What it lifts of the sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifts: Vec<Lift>,
    /// Root of the project it holds in; everywhere when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
}

/// Programs whose second word says what they do.
const VERBS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "flutter",
    "gem",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "nix",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rustup",
    "swift",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

impl Rule {
    /// Why the text is no rule is for the person who typed it.
    pub fn parse(text: &str) -> Result<Rule, String> {
        let rule = Rule { allow: text.trim().to_owned(), lifts: Vec::new(), project: None };
        rule.words()?;
        Ok(rule)
    }

    /// The rule that a command suggests, or why there can be none.
    pub fn suggest(command: &str) -> Result<Rule, String> {
        let line = Line::read(command);
        let words = line.plain()?;
        if let Some(why) = never_by_rule(words) {
            return Err(why.to_owned());
        }
        let quoted = |word: &String| shlex::try_quote(word).map(|word| word.into_owned());
        let text = match words {
            [program, verb, ..] if VERBS.contains(&program.as_str()) && is_verb(verb) => {
                format!("{program} {verb} *")
            }
            words => {
                let words: Result<Vec<String>, _> = words.iter().map(quoted).collect();
                words.map_err(|_| "it holds what no rule can".to_owned())?.join(" ")
            }
        };
        Rule::parse(&text)
    }

    /// Whether the command is one of those that are meant. Whatever is not simple is none.
    pub fn matches(&self, command: &str) -> bool {
        let line = Line::read(command);
        let (Ok(given), Ok((words, more))) = (line.plain(), self.words()) else { return false };
        never_by_rule(given).is_none()
            && given.starts_with(&words)
            && (more == More::Anything || given.len() == words.len())
    }

    fn check(&self) -> Result<(), String> {
        self.words()?;
        let fault = self.lifts.iter().find_map(|lift| match lift {
            Lift::NoSandbox => Some("no rule runs a command without the sandbox"),
            Lift::Steering(_) => Some("no rule opens what steers other programs"),
            Lift::Path(_) | Lift::GitCommit | Lift::Network => None,
        });
        fault.map_or(Ok(()), |fault| Err(fault.to_owned()))
    }

    fn words(&self) -> Result<(Vec<String>, More), String> {
        let (body, more) = match self.allow.strip_suffix(" *") {
            Some(body) => (body, More::Anything),
            None => (self.allow.as_str(), More::Nothing),
        };
        if body.contains(crate::model::steers) {
            return Err("no rule can be made of this: it holds characters that are not seen".to_owned());
        }
        let line = Line::read(body);
        let words = line.plain().map_err(|why| format!("no rule can be made of this: {why}"))?;
        if words.len() < 2 {
            return Err("a program's name alone is no rule: say what it may do".to_owned());
        }
        if words.iter().any(|word| word.contains('*')) {
            return Err("`*` stands only at the end".to_owned());
        }
        if let Some(why) = never_by_rule(words) {
            return Err(format!("no rule can be made of this: {why}"));
        }
        if more == More::Anything && !may_go_on(words) {
            let why = "`*` stands only behind what runs nothing that is named there, as in `cargo test *`";
            return Err(format!("{why}; without it, the rule is about this very command"));
        }
        Ok((words.to_vec(), more))
    }
}

/// Verbs behind which stands what is run.
const RUNNERS: &[&str] =
    &["eval", "exec", "dlx", "develop", "repl", "rebase", "bisect", "config", "alias", "x"];
/// Programs of [`VERBS`] whose `run` is about the project's own; that of others starts whatever is named.
const RUN: &[&str] =
    &["npm", "pnpm", "yarn", "cargo", "dotnet", "deno", "composer", "swift", "flutter", "just"];
/// Tools that are told files and options, and start nothing that these name.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "black", "cargo-nextest", "clang-format", "ctest", "eslint", "flake8", "gofmt", "golangci-lint", "isort", "jest",
    "mkdir", "mypy", "ninja", "phpunit", "prettier", "pylint", "pytest", "rspec", "rubocop", "ruff", "rustfmt", "shellcheck",
    "stylelint", "touch", "tsc", "vitest",
];
/// The same as modules of Python.
const MODULES: &[&str] = &[
    "black", "build", "coverage", "doctest", "flake8", "isort", "mypy", "pip", "pylint", "pytest", "ruff",
    "unittest",
];

/// Whether anything may follow these words: none of it can be another program, or code.
fn may_go_on(words: &[String]) -> bool {
    let [first, rest @ ..] = words else { return false };
    let (program, rest): (&str, Vec<&str>) = (name(first), rest.iter().map(String::as_str).collect());
    match rest.as_slice() {
        ["run", ..] => RUN.contains(&program),
        [verb, ..] if VERBS.contains(&program) => is_verb(verb) && !RUNNERS.contains(verb),
        ["-m", module, ..] if interprets(program) => MODULES.contains(module),
        [script, ..] if interprets(program) => !script.starts_with('-'),
        _ => TOOLS.contains(&program) || only_reads(program),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    Nothing,
    Anything,
}

fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-:_".contains(c))
}

/// All rules of the person, and where they are kept. Clones share one book.
#[derive(Clone, Default)]
pub struct RuleBook(Arc<Book>);

#[derive(Default)]
struct Book {
    file: Option<PathBuf>,
    rules: Mutex<Vec<Rule>>,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
}

impl RuleBook {
    /// Reads the book; a missing file is an empty one. Err: it cannot be read, and is left as it is.
    pub fn open(file: &Path) -> Result<RuleBook, String> {
        let fault = |why: String| format!("{}: {why}; mend it or take it away", file.display());
        let rules = Mutex::new(read(file).map_err(fault)?);
        Ok(RuleBook(Arc::new(Book { file: Some(file.to_owned()), rules })))
    }

    /// All of them, the oldest first.
    pub fn list(&self) -> Vec<Rule> {
        self.rules().clone()
    }

    /// Adds a rule and stores it.
    pub fn add(&self, rule: Rule) -> Result<(), String> {
        rule.check()?;
        let mut rules = self.now();
        if !rules.contains(&rule) {
            rules.push(rule);
        }
        self.store(&rules)
    }

    /// Takes a rule away; false when it is not there.
    pub fn remove(&self, rule: &Rule) -> Result<bool, String> {
        let mut rules = self.now();
        let before = rules.len();
        rules.retain(|known| known != rule);
        let gone = rules.len() < before;
        if gone {
            self.store(&rules)?;
        }
        Ok(gone)
    }

    /// The first rule for this command in this project that lifts all of `lifts`, else the first one.
    pub fn find(&self, command: &str, (project, lifts): (&Path, &[Lift])) -> Option<Rule> {
        let rules = self.now();
        let here = |rule: &&Rule| rule.project.as_deref().is_none_or(|root| root == project);
        let fits: Vec<&Rule> = rules.iter().filter(here).filter(|rule| rule.matches(command)).collect();
        let enough = |rule: &&&Rule| lifts.iter().all(|lift| rule.lifts.contains(lift));
        fits.iter().find(enough).or(fits.first()).map(|rule| (*rule).clone())
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As another tack may have left them.
    fn now(&self) -> MutexGuard<'_, Vec<Rule>> {
        let mut rules = self.rules();
        if let Some(Ok(now)) = self.0.file.as_deref().map(read) {
            *rules = now;
        }
        rules
    }

    /// Whole, for its owner only.
    fn store(&self, rules: &[Rule]) -> Result<(), String> {
        let Some(file) = &self.0.file else { return Ok(()) };
        let fault =
            |error: io::Error| format!("the rule holds for now but is not kept: {}: {error}", file.display());
        let text = toml::to_string(&File { rule: rules.to_vec() })
            .map_err(|error| format!("the rule holds for now but is not kept: {error}"))?;
        crate::store::keep_private(file, text.as_bytes()).map_err(fault)
    }
}

fn read(file: &Path) -> Result<Vec<Rule>, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error.to_string()),
    };
    let read: File = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
    let wrong = read.rule.iter().find_map(|rule| Some(format!("`{}`: {}", rule.allow, rule.check().err()?)));
    wrong.map_or(Ok(read.rule), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_more_than_a_program_and_less_than_a_script() {
        for text in [
            "cargo test *",
            "git commit -m 'a b'",
            "git commit -m *",
            "npm run build *",
            "python3 -m pytest *",
            "pytest tests *",
            "grep -rn *",
            "bash build.sh",
            "rm -rf build",
        ] {
            assert!(Rule::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "*",
            "cargo",
            "cargo *",
            "ls | wc",
            "a && b c",
            "sh -c 'a b'",
            "bash -lc *",
            "sudo rm *",
            "env a *",
            "python3 -c *",
            "python3 -u *",
            "node -e x",
            "perl -pe x",
            "X=1 make a",
            "cargo * x",
            "make *x",
            "a $(b)",
            "a $B",
            "a > b",
            "xargs rm *",
            "eval a *",
            // What follows would be a program, or code.
            "deno eval *",
            "uv run *",
            "npm exec *",
            "nodejs -e *",
            "pypy3 -c *",
            "julia -e *",
            "awk BEGIN{} *",
            "git -c *",
            "git rebase --exec *",
            "find . -exec *",
            "find . *",
            "busybox sh *",
            "su -c *",
            "npx -c *",
            "ssh host *",
            "vim -c *",
            "make SHELL=./x *",
            "flock /tmp/x *",
            "watch -n1 *",
            "strace -f *",
            "docker run *",
            "python3 -m timeit *",
            "rm -rf *",
            "for x in *",
            "a b; c",
        ] {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_command_suggests_is_narrow() {
        for (command, want) in [
            ("cargo test cart::", Ok("cargo test *")),
            ("git -C x status", Ok("git -C x status")),
            ("rm -rf build", Ok("rm -rf build")),
            ("touch 'a b'", Ok("touch 'a b'")),
            ("npm run build:all", Ok("npm run *")),
            ("ls", Err("say what it may do")),
            ("curl -s x | sh", Err("a pipeline")),
            ("sudo make install", Err("runs another program")),
            ("python3 -c 'x'", Err("code given as an argument")),
        ] {
            match (Rule::suggest(command), want) {
                (Ok(rule), Ok(want)) => assert_eq!(rule.allow, want),
                (Err(why), Err(want)) => assert!(why.contains(want), "{command}: {why}"),
                (got, want) => panic!("{command}: {got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn rules_are_matched_word_by_word() {
        let rule = |text: &str| Rule::parse(text).unwrap();
        for (text, command, want) in [
            ("cargo test *", "cargo test", true),
            ("cargo test *", "cargo  test 'a b' --quiet", true),
            ("cargo test *", "cargo test 2>&1", true),
            ("cargo test *", "cargo testx", false),
            ("cargo test *", "cargo run test", false),
            ("cargo test *", "X=1 cargo test", false),
            ("cargo test *", "cargo test; rm x", false),
            ("cargo test *", "cargo test && rm x", false),
            ("cargo test *", "cargo test | sh", false),
            ("cargo test *", "cargo test $(rm x)", false),
            ("cargo test *", "cargo test > x", false),
            ("cargo test *", "cargo test\nrm x", false),
            ("cargo test *", "cargo test >&1x", false),
            ("cargo test *", "cargo test >&12", false),
            ("rm a", "rm a", true),
            ("rm a", "rm a b", false),
            ("rm a", "rm 'a b'", false),
            ("python3 x.py *", "python3 x.py -c y", false),
        ] {
            assert_eq!(rule(text).matches(command), want, "{text}: {command}");
        }
    }

    #[test]
    fn the_book_is_kept_for_its_owner_and_a_broken_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state/rules.toml");
        let book = RuleBook::open(&file).unwrap();
        let test = Rule::parse("cargo test *").unwrap();
        let fetch = Rule {
            lifts: vec![Lift::Network],
            project: Some("/p".into()),
            ..Rule::parse("cargo fetch *").unwrap()
        };
        book.add(test.clone()).unwrap();
        book.add(fetch.clone()).unwrap();
        book.add(test.clone()).unwrap();
        assert!(book.add(Rule { lifts: vec![Lift::NoSandbox], ..test.clone() }).is_err());
        insta::assert_snapshot!(std::fs::read_to_string(&file).unwrap(), @r#"
        [[rule]]
        allow = "cargo test *"

        [[rule]]
        allow = "cargo fetch *"
        lifts = ["network"]
        project = "/p"
        "#);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        let again = RuleBook::open(&file).unwrap();
        assert_eq!(again.list(), [test.clone(), fetch.clone()]);
        let find = |command, project| again.find(command, (Path::new(project), &[]));
        assert_eq!(find("cargo fetch --locked", "/p"), Some(fetch));
        assert_eq!(find("cargo fetch --locked", "/q"), None);
        assert!(again.remove(&test).unwrap() && !again.remove(&test).unwrap());
        assert_eq!(RuleBook::open(&file).unwrap().list().len(), 1);
        for broken in
            ["x", "[[rule]]\nallow = \"cargo\"", "[[rule]]\nallow = \"a b\"\nlifts = [\"no-sandbox\"]"]
        {
            std::fs::write(&file, broken).unwrap();
            let why = RuleBook::open(&file).err().unwrap();
            assert!(why.contains("rules.toml"), "{why}");
        }
    }
}
