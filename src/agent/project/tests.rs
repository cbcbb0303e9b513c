//! Guesses by the files of small projects.

use super::*;
use crate::sandbox::{Caps, GitAccess, Mode, Net};

/// Names and texts of files.
type Files<'a> = &'a [(&'a str, &'a str)];

/// A folder with these files, and programs in its `bin` that are on the `PATH`.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(files: Files<'_>) -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        let programs = [
            "cargo", "npm", "node", "pnpm", "yarn", "bun", "python3", "go", "make", "just", "deno", "mvn",
            "composer",
        ];
        for program in programs {
            place.write(&format!("bin/{program}"), "");
        }
        for (name, text) in files {
            place.write(&format!("work/{name}"), text);
        }
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn project(&self, keys: &CheckKeys) -> Project {
        let root = self.dir.path().canonicalize().unwrap();
        let cwd = root.join("work");
        std::fs::create_dir_all(&cwd).unwrap();
        let policy = Policy {
            mode: Mode::WorkspaceWrite,
            write_roots: vec![cwd.clone()],
            cwd,
            protect: Vec::new(),
            hide: Vec::new(),
            own: vec![],
            watch: Vec::new(),
            opened: Vec::new(),
            net: Net::Off,
            git: GitAccess::Read,
            tmp: None,
            limits: Caps { processes: 64, address_space: None },
        };
        let env = [(OsString::from("PATH"), root.join("bin").into_os_string())];
        let listing =
            [Entry { path: "src/main.py".into(), dir: false }, Entry { path: "x.zig".into(), dir: false }];
        Look { policy: &policy, env: &env, listing: &listing }.project(keys)
    }
}

#[test]
fn the_check_is_guessed_from_what_is_there() {
    const UNIT: &str = "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self): pass\n";
    const PLAIN: &str = "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n";
    let npm = r#"{"scripts": {"test": "node --test"}}"#;
    let table: &[(Files<'_>, Option<&str>)] = &[
        (&[], None),
        (&[("notes.txt", "x")], None),
        (&[("Cargo.toml", "[package]")], Some("cargo test -q")),
        (&[("package.json", npm)], Some("npm test --silent")),
        (&[("package.json", npm), ("pnpm-lock.yaml", "")], Some("pnpm --silent test")),
        (&[("package.json", npm), ("yarn.lock", "")], Some("yarn test")),
        (&[("package.json", npm), ("bun.lock", "")], Some("bun run test")),
        (&[("package.json", "{}")], None),
        (
            &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)],
            None,
        ),
        (&[("package.json", r#"{"scripts": {"test": ["a"]}}"#)], None),
        (&[("package.json", "{\"scripts\": ")], None),
        (&[("package.json", "[[[[")], None),
        (&[("main.py", "x")], None),
        (&[("pyproject.toml", "[project]\nname = 'x'")], None),
        (&[("pyproject.toml", "[tool.pytest.ini_options]")], Some("python3 -m pytest -q")),
        (&[("requirements-dev.txt", "pytest==8")], Some("python3 -m pytest -q")),
        (&[("conftest.py", "")], Some("python3 -m pytest -q")),
        (&[("pytest.ini", ""), (".venv/bin/python", "")], Some(".venv/bin/python -m pytest -q")),
        (&[("test_calc.py", UNIT)], Some("python3 -m unittest discover -q")),
        (&[("test_calc.py", PLAIN)], Some("python3 -m pytest -q")),
        (&[("tests/test_calc.py", PLAIN)], Some("python3 -m pytest -q")),
        (&[("tests/test_a.py", UNIT), ("tests/test_b.py", PLAIN)], Some("python3 -m pytest -q")),
        (&[("tests/test_a.py", "class TestA:\n    pass\n")], Some("python3 -m pytest -q")),
        (&[("tests/test_calc.py", UNIT)], Some("python3 -m unittest discover -q -s tests")),
        (&[("test/test_a.py", UNIT), ("test/__init__.py", "")], Some("python3 -m unittest discover -q")),
        (&[("testing.py", "print('hello')")], None),
        (&[("go.mod", "module x")], Some("go test ./...")),
        (&[("Makefile", "all: x\n\ntest: all\n\t./run\n")], Some("make test")),
        (&[("Makefile", "check lint:\n\t./run\n")], Some("make check")),
        (&[("Makefile", "test := 1\nall:\n\techo test: x\n")], None),
        (&[("justfile", "test:\n  run\n")], Some("just test")),
        (&[("justfile", "test name:\n  run {{name}}\n")], None),
        (&[("deno.json", r#"{"tasks": {"test": "deno test"}}"#)], Some("deno task test")),
        (&[("composer.json", r#"{"scripts": {"test": "phpunit"}}"#)], Some("composer test")),
        (&[("pom.xml", "<project/>")], Some("mvn -q test")),
        (&[("build.gradle", ""), ("gradlew", "")], Some("./gradlew -q test")),
        (&[("build.gradle", "")], None),
        (&[("Cargo.toml", ""), ("Makefile", "test:\n")], Some("cargo test -q")),
        (&[("package.json", "{}"), ("Makefile", "test:\n")], Some("make test")),
    ];
    for (files, want) in table {
        let project = Place::new(files).project(&CheckKeys::default());
        assert_eq!(project.check.as_deref(), *want, "{files:?}");
    }
}

#[test]
fn what_the_user_set_wins_and_an_empty_command_is_none() {
    let place = Place::new(&[("Cargo.toml", "")]);
    let with = |command: &str| {
        let keys = CheckKeys { command: Some(command.to_owned()), limit: None };
        place.project(&keys).check
    };
    assert_eq!(with("./check --all").as_deref(), Some("./check --all"));
    assert_eq!(with("").as_deref(), None);
    assert_eq!(with("  ").as_deref(), None);
}

#[test]
fn only_programs_that_are_there_are_named() {
    let project = Place::new(&[("Cargo.toml", ""), ("Gemfile", "")]).project(&CheckKeys::default());
    assert_eq!(project.tools, ["cargo", "python3"]);
    assert_eq!(project.build.as_deref(), Some("cargo build -q"));
}

#[test]
fn hostile_manifests_are_harmless() {
    let deep = "[".repeat(200_000);
    let huge = format!("{{\"scripts\": {{\"test\": \"x\"}}, \"pad\": \"{}\"}}", "x".repeat(300_000));
    for text in [deep.as_str(), huge.as_str(), "\0\0\0", "\u{feff}{"] {
        let place = Place::new(&[("package.json", text), ("deno.json", text), ("composer.json", text)]);
        assert_eq!(place.project(&CheckKeys::default()).check, None);
    }
    let place = Place::new(&[("keep", "")]);
    #[cfg(target_os = "linux")]
    {
        let pipe = place.dir.path().join("work/package.json");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    }
    std::fs::create_dir(place.dir.path().join("work/Makefile")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", place.dir.path().join("work/justfile")).unwrap();
    assert_eq!(place.project(&CheckKeys::default()).check, None);
}
