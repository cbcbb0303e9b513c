//! Harnesses from a user's folder: forks, overrides, and what is said about mistakes.

use std::path::Path;

use tack::harness::{Library, Saying, sample_model, sample_scene};
use tack::model::{Class, Model};

use crate::harness_kit::{Session, call};

fn write(dir: &Path, files: &[(&str, &str)]) -> Library {
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Library::new(vec![dir.to_owned()])
}

/// What loading `id` fails with, the folder's own path left out.
fn error(files: &[(&str, &str)], id: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let library = write(dir.path(), files);
    let error = library.get(id).err().expect("this manifest is wrong");
    error.to_string().replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_fork_says_only_what_differs() {
    let library = Library::new(vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/harness")]);
    let sample = library.sample("my-qwen", &sample_model()).unwrap();
    let names: Vec<&str> = sample.prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"run_shell_command") && !names.contains(&"list_directory"), "{names:?}");
    assert!(sample.prompt.system.last().unwrap().contains("British English"));
    assert!(sample.prompt.system[0].contains("grep_search"));
    assert_eq!(sample.listing.extends.as_deref(), Some("qwen-code"));
    assert_eq!(sample.prompt.messages.len(), 3);
    let qwen = library.get("qwen-code").unwrap();
    let fork = library.get("my-qwen").unwrap();
    assert_ne!(fork.surface(&sample_model()), qwen.surface(&sample_model()));
}

#[test]
fn the_tools_that_are_kept_come_in_that_order() {
    let dir = tempfile::tempdir().unwrap();
    let mine = "schema = 1\nextends = \"pi\"\n[tools]\nkeep = [\"write\", \"bash\", \"read\"]\n";
    let library = write(dir.path(), &[("mine/harness.toml", mine)]);
    let tools = library.sample("mine", &sample_model()).unwrap().prompt.tools;
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["write", "bash", "read"]);
}

#[test]
fn a_folder_wins_file_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let library = write(dir.path(), &[("pi/system.md", "Be brief."), ("common/image.md", "[no image]")]);
    let sample = library.sample("pi", &sample_model()).unwrap();
    assert_eq!(sample.prompt.system, ["Be brief."]);
    assert_eq!(sample.prompt.tools.len(), 4);
    assert_eq!(sample.listing.from.as_deref(), Some(dir.path()));
    let plain = Library::new(Vec::new()).get("pi").unwrap();
    let pi = library.get("pi").unwrap();
    assert_eq!(pi.surface(&sample_model()), plain.surface(&sample_model()));
    assert_eq!(pi.say(&Saying::ImageLeftOut), "[no image]");
}

#[test]
fn a_fork_wins_over_its_parents_class() {
    let dir = tempfile::tempdir().unwrap();
    let mine = "schema = 1\nextends = \"minimal\"\n[loop]\nretries = 7\nrepeats = \"run\"\n[class.M.loop]\nretries = 4\n";
    let library = write(dir.path(), &[("mine/harness.toml", mine)]);
    let rules = |class| library.get("mine").unwrap().rules(&Model { class, ..sample_model() });
    assert!(!rules(Class::S).refuse_repeats);
    assert_eq!((rules(Class::S).retries, rules(Class::M).retries), (7, 4));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let one = |toml: &str| error(&[("x/harness.toml", toml)], "x");
    let tools = |toml: &str| error(&[("x/harness.toml", "schema = 1"), ("x/tools.toml", toml)], "x");
    let told = [
        one("schema = 1\n\n[loop]\nretrys = 2\n"),
        one("schema = 1\n[dialect]\nkind = \"fence\"\n"),
        one("schema = 1\n[wire]\nallow = [\"chats\"]\n"),
        one("schema = 1\n[class.S.output]\nbyte = 2\n"),
        one("schema = 1\nthinkin = 1\n"),
        one("schema = 2\n"),
        one("id = \"y\"\n"),
        one("schema = 1\n[loop\n"),
        one("schema = 1\n[loop]\nretries = \"two\"\n"),
        one("extends = \"qwen-cod\"\n"),
        one("extends = \"minimal\"\n[tools]\ndrop = [\"jobs\"]\n"),
        one("[system]\nblocks = [\"systm.md\"]\n"),
        one("[system]\nblocks = [\"../x.md\"]\n"),
        error(&[("x/harness.toml", "[system]\nblocks = [\"s.md\"]\n"), ("x/s.md", "one\n{{ cdw }}\n")], "x"),
        error(
            &[("x/harness.toml", "[system]\nblocks = [\"s.md\"]\n"), ("x/s.md", "one\n{% if cwd %}\n")],
            "x",
        ),
        error(&[("x/harness.toml", "extends = \"y\""), ("y/harness.toml", "extends = \"x\"")], "x"),
        error(&[("x/notes.md", "")], "x"),
        tools("[bash]\ndoes = \"shel\"\n"),
        tools("[bash]\ndoes = \"shell\"\n[bash.params]\ncommand = { typ = \"string\" }\n"),
        tools("[bash]\nabout = \"x\"\n"),
        tools("[bash]\ndoes = \"shell\"\nargs = [\"command\"]\n"),
        tools("[p]\ndoes = \"patch\"\nfree = \"inptu\"\n[p.params]\ninput = { to = \"text\" }\n"),
        tools(
            "[p]\ndoes = \"patch\"\nfree = \"input\"\ngrammar = { syntax = \"lark\", file = \"no.lark\" }\n[p.params]\ninput = { to = \"text\" }\n",
        ),
        tools(
            "[bash]\ndoes = \"shell\"\n[bash.params]\nt = { type = \"number\", to = \"timeout\", as = \"ms\", clamp = [9, 1] }\n",
        ),
        error(&[], "qwen"),
        error(&[], "zzz"),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_broken_folder_leaves_the_others_alone() {
    let dir = tempfile::tempdir().unwrap();
    let library = write(dir.path(), &[("broken/harness.toml", "schema = 1\nnam = \"x\"\n")]);
    let list = library.list();
    let broken: Vec<&str> = list.iter().filter(|(_, row)| row.is_err()).map(|(id, _)| id.as_str()).collect();
    assert_eq!(broken, ["broken"]);
    assert!(
        list.iter()
            .filter_map(|(_, row)| row.as_ref().ok())
            .all(|row| row.tokens > 0 && !row.name.is_empty())
    );
    assert_eq!(library.pick(&of("x", "y")), "minimal");
}

#[test]
fn auto_takes_the_familys_harness() {
    let library = Library::new(vec![Path::new("/nonexistent").to_owned()]);
    let table = [
        ("ollama", "qwen2.5-coder:7b", "qwen-code"),
        ("openrouter", "qwen/qwen3-coder", "qwen-code"),
        ("x", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen-code"),
        ("x", "QwQ-32B", "qwen-code"),
        ("dashscope", "anything", "qwen-code"),
        ("openai", "gpt-5.1", "native"),
        ("openrouter", "openai/gpt-4o", "native"),
        ("ollama", "gpt-oss:20b", "native"),
        ("openai", "o3", "native"),
        ("openai", "o4-mini", "native"),
        ("openai", "GPT-5-codex", "native"),
        ("x", "o5000", "minimal"),
        ("x", "my-gpt-4", "minimal"),
        ("x", "llama-3.3-70b", "minimal"),
        ("x", "my-qwen-tune", "minimal"),
    ];
    for (provider, model, want) in table {
        assert_eq!(library.pick(&of(provider, model)), want, "{provider} {model}");
    }
    let dir = tempfile::tempdir().unwrap();
    let mine = "extends = \"minimal\"\n[match]\nmodels = [\"qwen*\"]\n";
    let library = write(dir.path(), &[("mine/harness.toml", mine)]);
    assert_eq!(library.pick(&of("x", "qwen3")), "mine");
    assert_eq!(library.pick(&Model { local: true, class: Class::S, ..of("x", "qwen3:1.7b") }), "mine");
}

#[test]
fn auto_takes_the_local_harness_for_what_runs_here() {
    let dir = tempfile::tempdir().unwrap();
    let library = write(dir.path(), &[("local/harness.toml", "extends = \"minimal\"\n")]);
    let table = [
        ("a family's", "qwen2.5-coder:7b", true, Class::M, "qwen-code"),
        ("a small one of the family", "qwen2.5-coder:1.5b", true, Class::S, "local"),
        ("a small one that is hosted", "qwen/qwen3-1.7b", false, Class::S, "qwen-code"),
        ("nobody's", "llama3.2", true, Class::M, "local"),
        ("nobody's, hosted", "llama-3.3-70b", false, Class::F, "minimal"),
        ("GPT", "gpt-5.1", false, Class::F, "native"),
    ];
    for (what, name, local, class, want) in table {
        assert_eq!(library.pick(&Model { local, class, ..of("x", name) }), want, "{what}");
    }
}

/// A hosted model.
fn of(provider: &str, name: &str) -> Model {
    Model { provider: provider.to_owned(), name: name.to_owned(), ..sample_model() }
}

#[test]
fn a_fork_may_change_what_is_free_form() {
    let dir = tempfile::tempdir().unwrap();
    let base = "extends = \"native\"\n";
    let files = [
        ("own/harness.toml", base),
        ("own/tools.toml", "[apply_patch]\ngrammar = { syntax = \"regex\", file = \"mine.lark\" }\n"),
        ("own/mine.lark", ".+"),
        ("plain/harness.toml", base),
        ("plain/tools.toml", "[apply_patch]\nfree = \"\"\n"),
    ];
    let library = write(dir.path(), &files);
    let free = |id: &str| {
        let tools = library.sample(id, &sample_model()).unwrap().prompt.tools;
        let tool = tools.into_iter().find(|tool| tool.name == "apply_patch").unwrap();
        tool.free.map(|free| (free.field, free.grammar.map(|g| (g.syntax, g.definition))))
    };
    let surface = |id: &str| library.get(id).unwrap().surface(&sample_model());
    let (field, grammar) = free("native").unwrap();
    assert_eq!(field, "input");
    assert!(grammar.unwrap().1.starts_with("start: \"*** Begin Patch\""));
    let own = Some(("input".to_owned(), Some(("regex".to_owned(), ".+".to_owned()))));
    assert_eq!((free("own"), free("plain")), (own, None));
    assert_eq!(surface("own"), surface("native"), "a grammar is a hint to the sampler");
    assert_ne!(surface("plain"), surface("native"));
}

#[tokio::test]
async fn reminders_fall_due_once() {
    let dir = tempfile::tempdir().unwrap();
    let mine = "extends = \"qwen-code\"\n[[reminder]]\nwhen = { results_since = \"todo_write\", count = 2 }\nfile = \"r.md\"\n\
                [[reminder]]\nwhen = { every_user = 2 }\nfile = \"u.md\"\n";
    let files =
        [("mine/harness.toml", mine), ("mine/r.md", "Look at {{ tool('todo') }}."), ("mine/u.md", "Again.")];
    let harness = write(dir.path(), &files).get("mine").unwrap();
    let mut session = Session::new();
    let look = || vec![call("list_directory", serde_json::json!({"path": "/"}))];
    let mut due = Vec::new();
    session.user("one");
    for _ in 0..5 {
        due.push(harness.notes(&session.view()).await.unwrap());
        session.notes(&*harness).await;
        session.reply(&*harness, look()).await;
    }
    session.user("two");
    due.push(harness.notes(&session.view()).await.unwrap());
    let counts: Vec<usize> = due.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 0, 1, 0, 1, 1]);
    assert_eq!((due[2][0].text.as_str(), due[5][0].text.as_str()), ("Look at todo_write.", "Again."));
}

#[test]
fn templates_read_the_frozen_scene() {
    let dir = tempfile::tempdir().unwrap();
    let text = "{{ cwd }} {{ os }} {{ arch }} {{ shell }} {{ git.branch if git }} {{ model }} {{ class }} {{ sandbox }} {{ network }}\n\
                {{ date('%d.%m.%Y') }} {{ tool('grep') }} {{ tool('todo') }}|\n{{ listing(depth=1, limit=2) }}\n{{ file('other.md') }}\n{{ agents_md }}";
    let files = [
        ("x/harness.toml", "extends = \"pi\"\n[system]\nblocks = [\"s.md\"]\n"),
        ("x/s.md", text),
        ("x/other.md", "OTHER"),
    ];
    let sample = write(dir.path(), &files).sample("x", &sample_model()).unwrap();
    insta::assert_snapshot!(sample.prompt.system[0]);
    assert!(sample_scene().time.starts_with("2026-03-01"));
}
