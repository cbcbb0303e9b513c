//! What a project is made of, told by its files: how it is checked and built, what it needs.
//!
//! Nothing is run for it. A few manifests in the working folder are read, bounded in size, through the
//! sandbox's file gate; one that does not parse says nothing. A command whose program is not there is
//! not guessed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::CheckKeys;
use crate::model::{Entry, Project};
use crate::sandbox::Policy;
use crate::sandbox::files;

/// Longest manifest that is read, in bytes.
const MANIFEST: u64 = 256 * 1024;
/// Most test files that are looked into, and how much of each is read.
const TESTS: usize = 40;
const TEST: u64 = 32 * 1024;
/// Most names of one folder.
const NAMES: usize = 2_000;

/// What is at hand for a guess.
pub(super) struct Look<'a> {
    pub(super) policy: &'a Policy,
    /// The environment of commands, for its `PATH`.
    pub(super) env: &'a [(OsString, OsString)],
    pub(super) listing: &'a [Entry],
}

impl Look<'_> {
    /// The project, with the check that the user set, if any.
    pub(super) fn project(&self, keys: &CheckKeys) -> Project {
        let (checks, builds) = self.guesses();
        let check = match &keys.command {
            Some(command) => Some(command.trim().to_owned()).filter(|command| !command.is_empty()),
            None => self.first_that_runs(checks),
        };
        Project { check, build: self.first_that_runs(builds), tools: self.tools() }
    }

    fn first_that_runs(&self, commands: Vec<String>) -> Option<String> {
        commands.into_iter().find(|command| self.runs(command.split(' ').next().unwrap_or_default()))
    }

    /// Commands that would check and build it, most likely first.
    fn guesses(&self) -> (Vec<String>, Vec<String>) {
        let (mut checks, mut builds) = (Vec::new(), Vec::new());
        let mut add = |check: Option<&str>, build: Option<&str>| {
            checks.extend(check.map(str::to_owned));
            builds.extend(build.map(str::to_owned));
        };
        if self.has("Cargo.toml") {
            add(Some("cargo test -q"), Some("cargo build -q"));
        }
        let (check, build) = self.scripts();
        add(check.as_deref(), build.as_deref());
        add(self.python().as_deref(), None);
        if self.has("go.mod") {
            add(Some("go test ./..."), Some("go build ./..."));
        }
        let makefile = self.first(&["GNUmakefile", "makefile", "Makefile"]).unwrap_or_default();
        let rule = |names| first_rule(&makefile, names, is_target).map(|name| format!("make {name}"));
        add(rule(CHECKS).as_deref(), rule(BUILDS).as_deref());
        let justfile = self.first(&["justfile", ".justfile", "Justfile"]).unwrap_or_default();
        let rule = |names| first_rule(&justfile, names, is_recipe).map(|name| format!("just {name}"));
        add(rule(CHECKS).as_deref(), rule(BUILDS).as_deref());
        let deno = self.first(&["deno.json", "deno.jsonc"]);
        if deno.is_some_and(|text| json(&text)["tasks"]["test"].is_string()) {
            add(Some("deno task test"), None);
        }
        if self.json("composer.json").is_some_and(|composer| !composer["scripts"]["test"].is_null()) {
            add(Some("composer test"), None);
        }
        if self.has("pom.xml") {
            add(Some("mvn -q test"), Some("mvn -q compile"));
        }
        if self.has("build.gradle") || self.has("build.gradle.kts") {
            let gradle = if self.has("gradlew") { "./gradlew" } else { "gradle" };
            add(Some(&format!("{gradle} -q test")), Some(&format!("{gradle} -q assemble")));
        }
        (checks, builds)
    }

    /// The scripts of a `package.json`, run by the manager whose lock file is there.
    fn scripts(&self) -> (Option<String>, Option<String>) {
        let Some(manifest) = self.json("package.json") else { return (None, None) };
        let script =
            |name: &str| manifest["scripts"][name].as_str().filter(|script| !script.trim().is_empty());
        let (test, run) = if self.has("pnpm-lock.yaml") {
            ("pnpm --silent test", "pnpm --silent run")
        } else if self.has("yarn.lock") {
            ("yarn test", "yarn run")
        } else if self.has("bun.lock") || self.has("bun.lockb") {
            ("bun run test", "bun run")
        } else {
            ("npm test --silent", "npm run --silent")
        };
        // What `npm init` writes where there are no tests.
        let test =
            script("test").filter(|script| !script.contains("no test specified")).map(|_| test.to_owned());
        (test, script("build").map(|_| format!("{run} build")))
    }

    /// Python's runner of tests, by what shows of it: its configuration, else what the tests are
    /// written for.
    fn python(&self) -> Option<String> {
        let python = [".venv/bin/python", "venv/bin/python"].into_iter().find(|path| self.has(path));
        let python = python.unwrap_or("python3");
        let pytest = format!("{python} -m pytest -q");
        if self.names_pytest() {
            return Some(pytest);
        }
        let tests: Vec<(&str, String)> = ["", "tests", "test"]
            .into_iter()
            .flat_map(|folder| self.test_files(folder).into_iter().map(move |name| (folder, name)))
            .take(TESTS)
            .collect();
        let mut of_unittest = None;
        for (folder, name) in &tests {
            let text = self.read(&Path::new(folder).join(name), TEST).unwrap_or_default();
            let begins =
                |starts: &[&str]| text.lines().any(|line| starts.iter().any(|s| line.starts_with(s)));
            let plain = begins(&["def test_", "async def test_", "import pytest", "from pytest"]);
            let unittest = text.contains("unittest");
            if plain || !unittest && begins(&["class Test"]) {
                return Some(pytest);
            }
            if unittest && name.starts_with("test") {
                of_unittest.get_or_insert(*folder);
            }
        }
        // Discovery goes down into packages only.
        let folder = of_unittest?;
        let package = folder.is_empty() || self.has(&format!("{folder}/__init__.py"));
        let below = if package { String::new() } else { format!(" -s {folder}") };
        Some(format!("{python} -m unittest discover -q{below}"))
    }

    fn names_pytest(&self) -> bool {
        let says = |name: &str, word: &str| self.text(name).is_some_and(|text| text.contains(word));
        let config = ["pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"];
        config.iter().any(|name| self.has(name))
            || says("setup.cfg", "[tool:pytest]")
            || says("tox.ini", "pytest")
            || says("pyproject.toml", "pytest")
            || self.names("").iter().any(|name| {
                name.starts_with("requirements") && name.ends_with(".txt") && says(name, "pytest")
            })
    }

    fn test_files(&self, folder: &str) -> Vec<String> {
        let is_test = |name: &String| {
            name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test") || stem.ends_with("_test"))
        };
        self.names(folder).into_iter().filter(is_test).collect()
    }

    /// Programs that the files suggest and that are there.
    fn tools(&self) -> Vec<String> {
        let manifests = [
            ("Cargo.toml", "cargo"),
            ("package.json", "node"),
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lock", "bun"),
            ("pyproject.toml", "python3"),
            ("go.mod", "go"),
            ("Makefile", "make"),
            ("makefile", "make"),
            ("justfile", "just"),
            ("deno.json", "deno"),
            ("composer.json", "php"),
            ("pom.xml", "mvn"),
            ("Gemfile", "ruby"),
            ("CMakeLists.txt", "cmake"),
        ];
        let endings = [
            ("py", "python3"),
            ("js", "node"),
            ("mjs", "node"),
            ("ts", "node"),
            ("go", "go"),
            ("rb", "ruby"),
            ("php", "php"),
            ("java", "java"),
            ("c", "cc"),
            ("cpp", "c++"),
            ("pl", "perl"),
            ("lua", "lua"),
        ];
        let found: BTreeSet<&str> =
            self.listing.iter().filter_map(|entry| entry.path.rsplit_once('.')).map(|(_, end)| end).collect();
        let by_manifest = manifests.into_iter().filter(|(name, _)| self.has(name));
        let by_ending = endings.into_iter().filter(|(end, _)| found.contains(end));
        let programs: BTreeSet<&str> = by_manifest.chain(by_ending).map(|(_, program)| program).collect();
        programs.into_iter().filter(|program| self.runs(program)).map(str::to_owned).collect()
    }

    /// Whether the program is there: in the project, or on the `PATH` of commands.
    fn runs(&self, program: &str) -> bool {
        if program.contains('/') {
            return self.has(program);
        }
        let path = self.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
        path.is_some_and(|path| std::env::split_paths(path).any(|folder| folder.join(program).is_file()))
    }

    fn has(&self, name: &str) -> bool {
        self.place(Path::new(name)).is_file()
    }

    fn place(&self, name: &Path) -> PathBuf {
        self.policy.cwd.join(name)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok((_, entries)) = files::list(self.policy, &self.place(Path::new(folder))) else {
            return Vec::new();
        };
        entries.iter().take(NAMES).map(|entry| entry.name.to_string_lossy().into_owned()).collect()
    }

    /// The start of a file, of at most so many bytes.
    fn read(&self, name: &Path, most: u64) -> Option<String> {
        let opened = files::open(self.policy, &self.place(name)).ok()?;
        let mut bytes = Vec::new();
        opened.file.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.read(Path::new(name), MANIFEST)
    }

    fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    fn json(&self, name: &str) -> Option<Value> {
        Some(json(&self.text(name)?))
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default()
}

/// Names under which makefiles and the like check and build, the likeliest first.
const CHECKS: [&str; 2] = ["test", "check"];
const BUILDS: [&str; 2] = ["build", "all"];

fn first_rule(text: &str, names: [&'static str; 2], is_rule: fn(&str, &str) -> bool) -> Option<&'static str> {
    names.into_iter().find(|name| text.lines().any(|line| is_rule(line, name)))
}

/// Whether a line of a makefile begins a rule for `name`.
fn is_target(line: &str, name: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let top = !line.starts_with(['\t', ' ', '#']);
    top && !rest.starts_with('=') && targets.split_whitespace().any(|target| target == name)
}

/// Whether a line of a justfile begins a recipe `name` that takes no argument.
fn is_recipe(line: &str, name: &str) -> bool {
    let Some((head, rest)) = line.split_once(':') else { return false };
    !rest.starts_with('=') && head.trim_start_matches('@').trim_end() == name
}

#[cfg(test)]
mod tests;
