//! What guards files and shortens what is shown, under every harness.

use tack::model::{Action, WriteMode};

use crate::mechanism_kit::{
    CALC, Mechanism, Seen, Step, Surface, all_work_in_every_harness, look, mechanism, shell,
};
use crate::tools_kit::{self, read};

const FIXED: &str = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n";

/// Tools that change a part of a file.
const PARTS: [&str; 3] = ["edit", "patch", "diff"];

fn edits(surface: &Surface) -> Result<(), &'static str> {
    surface.does(&PARTS).then_some(()).ok_or("no tool changes a part of a file")
}

fn makes(surface: &Surface) -> Result<(), &'static str> {
    let any = surface.does(&["write", "rewrite", "patch", "diff"]);
    any.then_some(()).ok_or("no tool makes a file")
}

fn replaces(surface: &Surface) -> Result<(), &'static str> {
    let mut writes = surface.doing(&["write", "rewrite"]).filter(|tool| tool.word("with.mode") != "create");
    writes.next().map(|_| ()).ok_or("no tool takes a whole new text for a file")
}

fn replaces_unread(surface: &Surface) -> Result<(), &'static str> {
    replaces(surface)?;
    let mut writes = surface.doing(&["write", "rewrite"]).filter(|tool| tool.word("needs") != "read");
    writes.next().map(|_| ()).ok_or("its tools want a file read anyway")
}

fn reads(surface: &Surface) -> Result<(), &'static str> {
    let mut reads = surface.doing(&["read"]).filter(|tool| tool.word("with.image") != "true");
    reads.next().map(|_| ()).ok_or("no tool shows a text file")
}

fn commands(surface: &Surface) -> Result<(), &'static str> {
    surface.does(&["shell"]).then_some(()).ok_or("no tool runs a command")
}

fn outputs(surface: &Surface) -> Result<(), &'static str> {
    let mut own = surface.doing(&["shell", "keys"]).filter(|tool| tool.word("fill.command").is_empty());
    let own = own.any(|tool| !tool.word("output.bytes").is_empty());
    if own { Err("its tool says how much it shows") } else { Ok(()) }
}

/// Another first function, by a part or by a whole text.
fn change(path: &str, body: &str) -> Step {
    let new = format!("def add(a, b):\n    {body}");
    let patch = format!(
        "*** Begin Patch\n*** Update File: {path}\n@@\n def add(a, b):\n-    return a - b\n+    {body}\n*** End Patch"
    );
    Step::Does(vec![
        tools_kit::edit(path, "def add(a, b):\n    return a - b", &new),
        Action::Patch { text: patch, cwd: None },
    ])
}

fn whole(text: &str) -> Step {
    Step::Does(vec![tools_kit::write("calc.py", text)])
}

fn make(path: &str) -> Step {
    let (path, text) = (path.to_owned(), "x = 1\n".to_owned());
    let patch = format!("*** Begin Patch\n*** Add File: {path}\n+x = 1\n*** End Patch");
    Step::Does(vec![
        Action::Write { path: path.clone(), text: text.clone(), mode: WriteMode::Replace },
        Action::Write { path, text, mode: WriteMode::Create },
        Action::Patch { text: patch, cwd: None },
    ])
}

fn unchanged(seen: &Seen) -> bool {
    seen.file("calc.py") == CALC
}

fn files() -> Vec<Mechanism> {
    vec![
        Mechanism {
            fits: edits,
            ..mechanism(
                "a change that breaks a file is refused",
                r#"edit.parse = "refused""#,
                |_| vec![look("calc.py"), change("calc.py", "return (a + b")],
                |seen| unchanged(seen) && seen.last().contains("would not parse"),
            )
        },
        Mechanism {
            fits: edits,
            ..mechanism(
                "a change that breaks a file is told",
                r#"edit.parse = "told""#,
                |_| vec![look("calc.py"), change("calc.py", "return (a + b")],
                |seen| !unchanged(seen) && seen.last().contains("does not parse now"),
            )
        },
        Mechanism {
            fits: replaces,
            ..mechanism(
                "a text with some definitions takes the place of those",
                "edit.keep_names = true",
                |_| vec![look("calc.py"), whole("def add(a, b):\n    return a + b\n")],
                |seen| seen.file("calc.py") == FIXED,
            )
        },
        Mechanism {
            fits: replaces_unread,
            ..mechanism(
                "lines that were not shown stay",
                "edit.seen = true",
                |_| vec![whole(FIXED)],
                |seen| unchanged(seen) && seen.last().contains("been shown yet"),
            )
        },
        Mechanism {
            fits: replaces_unread,
            ..mechanism(
                "the refusal shows them",
                "edit.seen = true",
                |_| vec![whole(FIXED), whole(FIXED)],
                |seen| !unchanged(seen) && seen.sent(1).contains("been shown yet"),
            )
        },
        Mechanism {
            fits: replaces,
            ..mechanism(
                "a long file is not overwritten",
                "edit.whole = 2",
                |_| vec![look("calc.py"), whole(FIXED)],
                unchanged,
            )
        },
        Mechanism {
            fits: commands,
            ..mechanism(
                "a command does not overwrite a file",
                "edit.keep_from_shell = true",
                |_| vec![shell("echo x > calc.py")],
                unchanged,
            )
        },
        Mechanism {
            fits: edits,
            ..mechanism(
                "a path from the root is one from here",
                "edit.root_is_here = true",
                |_| vec![look("calc.py"), change("/calc.py", "return a + b")],
                |seen| seen.file("calc.py") == FIXED,
            )
        },
        Mechanism {
            fits: makes,
            ..mechanism(
                "no file is called as a device",
                "edit.safe_names = true",
                |_| vec![make("aux.py")],
                |seen| !seen.exists("aux.py") && seen.last().contains("Windows"),
            )
        },
    ]
}

fn shown() -> Vec<Mechanism> {
    vec![
        Mechanism {
            fits: reads,
            ..mechanism(
                "a window of a file is shown",
                "read.window = 5",
                |_| vec![Step::Does(vec![read("long.txt")])],
                |seen| seen.last().contains("line 3 of") && !seen.last().contains("line 40 of"),
            )
        },
        Mechanism {
            fits: reads,
            ..mechanism(
                "what the model has is not sent again",
                "read.once = true",
                |_| vec![Step::Does(vec![read("long.txt")]), Step::Does(vec![read("long.txt")])],
                |seen| seen.last().matches("line 3 of").count() == 1,
            )
        },
        Mechanism {
            fits: reads,
            ..mechanism(
                "a large file is not read whole",
                "read.most = 100",
                |_| vec![Step::Does(vec![read("long.txt")])],
                |seen| !seen.last().contains("line 3 of"),
            )
        },
        Mechanism {
            fits: outputs,
            ..mechanism(
                "what a command prints is cut by bytes",
                "output.bytes = 400",
                |_| vec![shell("seq 1001 1500")],
                |seen| !seen.last().contains("1250") && seen.last().contains("1500"),
            )
        },
        Mechanism {
            fits: outputs,
            ..mechanism(
                "what a command prints is cut by lines",
                "output.lines = 10",
                |_| vec![shell("seq 1001 1500")],
                |seen| !seen.last().contains("1250"),
            )
        },
        Mechanism {
            fits: outputs,
            ..mechanism(
                "of what is longer the head is shown",
                "output = { bytes = 1000, preview = 200 }",
                |_| vec![shell("seq 1001 1500")],
                |seen| seen.last().contains("1010") && !seen.last().contains("1490"),
            )
        },
        Mechanism {
            fits: commands,
            ..mechanism(
                "some commands are refused",
                r#"shell.refuse = ["touch"]"#,
                |_| vec![shell("touch made.txt")],
                |seen| !seen.exists("made.txt"),
            )
        },
        Mechanism {
            fits: commands,
            ..mechanism(
                "a command is parsed before it runs",
                "shell.syntax = true",
                |_| vec![shell("touch made.txt\nif then")],
                |seen| !seen.exists("made.txt"),
            )
        },
        Mechanism {
            fits: commands,
            ..mechanism(
                "one shell lasts",
                "shell.lasting = true",
                |_| vec![shell("cd sub"), shell("touch made.txt")],
                |seen| seen.exists("sub/made.txt"),
            )
        },
    ]
}

#[tokio::test]
async fn what_guards_files_works_in_every_harness() {
    all_work_in_every_harness(&files()).await;
}

#[tokio::test]
async fn what_shortens_and_steers_commands_works_in_every_harness() {
    all_work_in_every_harness(&shown()).await;
}
