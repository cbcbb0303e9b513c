//! The dialog about each kind of request, at three widths and where there is hardly any room.

use super::*;

/// A request that is no command, with what a session of it would be.
fn asked(what: What, (why, session): (&str, Result<&str, &str>), lifts: &[Lift]) -> Request {
    let mut request = request(what, lifts);
    request.asker = if lifts.is_empty() { Asker::Mode } else { Asker::Sandbox };
    request.why = why.to_owned();
    request.offers[0].session = session.map(str::to_owned).map_err(str::to_owned);
    request
}

fn file(path: &str, before: Option<&str>, after: Option<&str>) -> Preview {
    Preview { path: path.into(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
}

/// All kinds, by name.
fn kinds() -> Vec<(&'static str, Vec<Request>)> {
    let each = Err("each time it is something else");
    let rust = "fn main() {\n    println!(\"hi\");\n}\n";
    let new = What::Edit { files: vec![file("src/bin/hello.rs", None, Some(rust))] };
    let several = vec![
        file("src/old.rs", Some("mod a;\nmod b;\n"), None),
        file("src/lib.rs", Some("mod old;\n"), Some("mod new;\n")),
    ];
    let hook = What::Edit {
        files: vec![file(".git/hooks/pre-commit", None, Some("#!/bin/sh\ncargo fmt --check\n"))],
    };
    let hook_path = "/home/u/src/shop/.git/hooks/pre-commit";
    let why = format!(
        "write {hook_path}: {hook_path} is read-only, as git starts programs by it; only the user can change it"
    );
    let mut hook = asked(
        hook,
        (&why, Err("it steers what runs outside the sandbox")),
        &[Lift::Steering(hook_path.into())],
    );
    hook.risks = vec![Risk::RunsLater];
    hook.offers[0].always = Err("it steers what runs outside the sandbox".into());
    let outside = "/home/u/notes/todo.md";
    let why = format!("read {outside}: hidden from commands");
    let mut outside = asked(
        What::Read { path: outside.into() },
        (&why, Ok(outside)),
        &[Lift::Path("/home/u/notes".into())],
    );
    outside.risks = vec![Risk::TouchesSecrets];
    let fetch = What::Fetch { url: "https://docs.example/guide?page=2".into() };
    let mut fetch = asked(
        fetch,
        ("network: not allowed by workspace-write", Ok("pages of docs.example")),
        &[Lift::Network],
    );
    fetch.risks = vec![Risk::Network];
    let script = What::Script { tool: "deploy".into(), input: "{\n  \"to\": \"staging\"\n}".into() };
    let all = "mode ask: every command not known to be harmless";
    let notebook = What::Write { path: "a.ipynb".into(), text: "import os\nprint(os.getcwd())".into() };
    let mut again = command("make install");
    again.again = true;
    again.asker = Asker::Sandbox;
    again.why = "blocked: write /usr/local/bin (outside the writable folders (/home/u/src/shop); --add-dir DIR adds one)".into();
    again.offers[0].lifts = vec![Lift::Path("/usr/local/bin".into())];
    again.risks = vec![Risk::LeavesWorkspace];
    let chinese = "printf '\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}\u{ff01}\u{6b22}\u{8fce}\u{4f7f}\u{7528}\u{547d}\u{4ee4}\u{884c}\u{5de5}\u{5177}\u{ff0c}\u{5b83}\u{5f88}\u{957f}'";
    vec![
        ("a harmless command", vec![command("cargo test cart::")]),
        ("a command with risks", vec![risky()]),
        ("a command in wide characters", vec![command(chinese)]),
        ("a command that was stopped", vec![again]),
        ("an edit", vec![edit()]),
        ("a new file", vec![asked(new, ("mode ask: every edit", Ok("changes of src/bin/hello.rs")), &[])]),
        (
            "several files",
            vec![asked(
                What::Edit { files: several },
                ("mode ask: every edit", Ok("changes of src/old.rs, src/lib.rs")),
                &[],
            )],
        ),
        ("what runs later", vec![hook]),
        (
            "a change that cannot be shown as one",
            vec![asked(notebook, ("mode ask: every edit", Ok("changes of a.ipynb")), &[])],
        ),
        ("a file outside", vec![outside]),
        ("a page", vec![fetch]),
        ("a script", vec![asked(script, (all, each), &[])]),
        ("what is typed", vec![asked(What::Typed { text: "yes\n".into() }, (all, each), &[])]),
        ("several at once", vec![command("touch a"), risky(), edit()]),
    ]
}

/// The same with something being entered.
fn entries() -> Vec<(&'static str, Vec<char>)> {
    vec![
        ("a rule is entered", vec!['p']),
        ("a reason is entered", "nuse the package of the distribution, it is there".chars().collect()),
    ]
}

#[test]
fn the_dialog_at_three_widths() {
    for width in [40, 80, 120] {
        let mut all = String::new();
        for (name, requests) in kinds() {
            let mut dialog = opened(1, requests, Instant::now());
            all += &format!("-- {name}\n{}\n", plain(&wanted(&mut dialog, width)));
        }
        for (name, keys) in entries() {
            let (mut dialog, now) = shown(vec![command("cargo test cart::")], (width, 30));
            for c in keys {
                dialog.key(char(c), now);
            }
            all += &format!("-- {name}\n{}\n", plain(&wanted(&mut dialog, width)));
        }
        insta::assert_snapshot!(format!("dialog_{width}"), all.trim_end());
    }
}

#[test]
fn the_dialog_in_colours() {
    let mut all = String::new();
    for requests in [vec![risky()], vec![command("cargo test cart::")], vec![edit()]] {
        all += &wanted(&mut opened(1, requests, Instant::now()), 80);
        all += "\n\n";
    }
    insta::assert_snapshot!(all.trim_end());
}

#[test]
fn the_dialog_in_a_terminal_of_twenty_by_five() {
    let mut all = String::new();
    for (name, requests) in kinds() {
        let mut dialog = opened(1, requests, Instant::now());
        all += &format!("-- {name}\n{}\n", plain(&drawn(&mut dialog, (20, 5))));
    }
    for (name, keys) in entries() {
        let (mut dialog, now) = shown(vec![command("cargo test cart::")], (20, 30));
        for c in keys {
            dialog.key(char(c), now);
        }
        all += &format!("-- {name}\n{}\n", plain(&drawn(&mut dialog, (20, 5))));
    }
    insta::assert_snapshot!(all.trim_end());
}
