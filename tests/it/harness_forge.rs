//! `tack harness check`: every bad manifest is named, with file and line, and none gets into a session.

use std::path::Path;

use proptest::prelude::*;
use tack::harness::{Library, LoadError, sample_model};
use tack::model::{Class, Model};

/// A manifest, the tools and one text.
type Files<'a> = &'a [(&'a str, &'a str)];

fn write(dir: &Path, files: Files<'_>) -> Library {
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Library::new(vec![dir.to_owned()])
}

/// All that is wrong with `x`, the folder's own path left out. It is not used either.
fn faults(dir: &Path, library: &Library) -> String {
    let report = library.report("x");
    let lines: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    let of = |class| Model { class, ..sample_model() };
    let loads = Class::ALL.into_iter().all(|class| library.fit("x", &of(class)).is_ok());
    assert_eq!(loads, lines.is_empty(), "{lines:?}");
    lines.join("\n").replace(&format!("{}/", dir.display()), "")
}

fn told(files: Files<'_>) -> String {
    let dir = tempfile::tempdir().unwrap();
    let library = write(dir.path(), files);
    faults(dir.path(), &library)
}

#[test]
fn the_built_in_ones_are_sound() {
    let library = Library::new(Vec::new());
    for id in library.ids() {
        let report = library.report(&id);
        let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
        assert!(faults.is_empty(), "{id}:\n{}", faults.join("\n"));
        assert!(report.sound.is_some() && report.notes.is_empty(), "{id}: {:?}", report.notes);
    }
}

#[test]
fn every_bad_manifest_is_named_with_its_place() {
    let fork = |more: &str| told(&[("x/harness.toml", &format!("schema = 1\nextends = \"pi\"\n{more}"))]);
    let text = |text: &str| {
        told(&[("x/harness.toml", "extends = \"pi\"\n[system]\nblocks = [\"s.md\"]\n"), ("x/s.md", text)])
    };
    let tools = |tools: &str| told(&[("x/harness.toml", "extends = \"minimal\"\n"), ("x/tools.toml", tools)]);
    let chain: Vec<(String, String)> = (0..20)
        .map(|n| (format!("c{n}/harness.toml"), format!("extends = \"c{}\"\n", n + 1)))
        .chain([("x/harness.toml".to_owned(), "extends = \"c0\"".to_owned())])
        .collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let circle = [
        ("x/harness.toml", "schema = 1\nextends = \"y\"\n"),
        ("y/harness.toml", "# a comment\n\nextends = \"x\"\n"),
    ];
    let elsewhere = [
        ("x/harness.toml", "extends = \"base\"\n"),
        ("base/harness.toml", "extends = \"pi\"\n\n[system]\nappend = [\n  \"gone.md\",\n]\n"),
    ];
    let class = [
        (
            "x/harness.toml",
            "extends = \"minimal\"\n[class.S]\ntools.drop = [\"red\"]\n[class.M.tools]\nkeep = [\"bosh\"]\n",
        ),
        ("x/tools.toml", ""),
    ];
    let table = [
        ("a circle", told(&circle)),
        ("itself", fork("").replace("pi", "x") + &told(&[("x/harness.toml", "extends = \"x\"")])),
        ("a long way", told(&chain)),
        ("no base", told(&[("x/harness.toml", "schema = 1\n\nextends = \"qwen-cod\"\n")])),
        ("nothing in it", told(&[("x/harness.toml", "")])),
        ("only a comment", told(&[("x/harness.toml", "# mine\n")])),
        ("no manifest", told(&[("x/tools.toml", "")])),
        (
            "two keys and a type",
            fork(
                "[loop]\nretrys = 2\nretries = \"two\"\n[outputs]\nbytes = 1\n[edit]\nwhole = 3\nsen = true\n",
            ),
        ),
        ("no TOML", fork("[loop\nretries = 1\n")),
        ("a format of tomorrow", told(&[("x/harness.toml", "extends = \"pi\"\nschema = 7\n")])),
        ("another one's id", fork("id = \"y\"\n")),
        ("catches all", fork("[match]\nmodels = [\n  \"my-*\",\n  \"*\",\n]\n")),
        (
            "catches all, in other words",
            fork("[match]\nmodels = [\"?*\"]\nproviders = [\"**\", \"\", \"  \"]\n"),
        ),
        (
            "no pattern",
            fork(
                "[match]\nmodels = [\"qwen[\", \"{a\"]\n[[request.only]]\nmodels = [\"a[\"]\nbody = { x = 1 }\n",
            ),
        ),
        ("no wire", fork("[wire]\nallow = []\n")),
        (
            "files that are not there",
            fork(
                "[system]\nappend = [\"systm.md\"]\n[user]\nfirst = \"context.md\"\n[compact]\nback = \"b.md\"\n",
            ),
        ),
        ("files elsewhere", fork("[system]\nblocks = [\"../pi/system.md\", \"/etc/hostname\"]\n")),
        ("a file of a base", told(&elsewhere)),
        ("tools of a class", told(&class)),
        (
            "reminders",
            fork(
                "[[reminder]]\nwhen = { count = 3 }\nfile = \"system.md\"\n[[reminder]]\nwhen = { results_since = \"todos\", count = 3 }\nfile = \"system.md\"\n",
            ),
        ),
        ("an opening of nothing", fork("[[opening]]\nrole = \"user\"\n")),
        ("an unknown name", text("one\n{{ cdw }}\n")),
        ("an open block", text("one\n{% if cwd %}\n")),
        (
            "a file in a text",
            text("{% if false %}\n{{ file('nothing.md') }}{{ file(\"/etc/passwd\") }}\n{% endif %}"),
        ),
        (
            "a loop without end",
            text("a\n{% for a in range(90000) %}{% for b in range(90000) %}{{ b }}{% endfor %}{% endfor %}"),
        ),
        ("calls without end", text("{% macro f() %}\n{{ f() }}{% endmacro %}{{ f() }}")),
        ("a huge text", text("\n{{ 'abcdefghij' * 900000 }}")),
        ("a very huge text", text("{{ 'abcdefghij' * 90000000000 }}")),
        (
            "lists within lists, in a loop",
            text(
                "{% set n = namespace(x=[1]) %}{% for i in range(100000) %}{% set n.x = [n.x] %}{% endfor %}",
            ),
        ),
        (
            "lists within lists, one by one",
            text(&format!("{{% set a = [1] %}}{}", "\n{% set a = [a] %}".repeat(20_000))),
        ),
        (
            "a list that holds itself, as JSON",
            text(&format!(
                "{{% set a = [1] %}}{}{{{{ a | tojson | length }}}}",
                "{% set a = [a, a] %}".repeat(60)
            )),
        ),
        (
            "a list that holds itself, as text",
            text(&format!(
                "{{% set a = [1] %}}{}{{{{ a | string | length }}}}",
                "{% set a = [a, a] %}".repeat(60)
            )),
        ),
        (
            "two lists that hold themselves, compared",
            text(&format!(
                "{{% set a = [1] %}}{{% set b = [1] %}}{}{{{{ a == b }}}}",
                "{% set a = [a, a] %}{% set b = [b, b] %}".repeat(40)
            )),
        ),
        (
            "a list that is twice as long each time",
            text(&format!("{{% set a = [1] %}}{}{{{{ a | length }}}}", "{% set a = a + a %}".repeat(60))),
        ),
        (
            "a list that grows from call to call",
            text("{% macro f(a, b) %}{{ a == b }}{{ f([a, a], [b, b]) }}{% endmacro %}{{ f([1], [1]) }}"),
        ),
        ("many signs", text(&format!("\n{{{{ {}1 }}}}", "-".repeat(100_000)))),
        ("many sums", text(&format!("{{{{ {}1 }}}}", "1+".repeat(50_000)))),
        ("many branches", text(&format!("{{% if cwd %}}{}{{% endif %}}", "\n{% elif cwd %}".repeat(50_000)))),
        (
            "a column of numbers",
            text("\n{{ ('\n' * 500000) | numbered(width=99999999, gap='x' * 500000) | length }}"),
        ),
        ("another file's text", text("{% include 'system.md' %}")),
        ("a wrong filter", text("\n\n{{ cwd | shout }}")),
        (
            "a text in a table",
            fork("[errors]\nmissing = '''\none\n{{ nam }}'''\nunknown_tool = \"{{ names | jon }}\"\n"),
        ),
        ("a result", tools("[bash]\nresult = \"\"\"\n{{ out.text }}\n{{ out.data.nothing.at_all }}\"\"\"\n")),
        (
            "twins",
            tools(
                "[Bash]\ndoes = \"shell\"\n[Bash.params]\ncommand = { to = \"command\", required = true }\n",
            ),
        ),
        ("twins but for a dash", tools("[my_tool]\ndoes = \"submit\"\n[my-tool]\ndoes = \"submit\"\n")),
        ("twice the same table", tools("[a]\ndoes = \"submit\"\n[a]\ndoes = \"submit\"\n")),
        ("a name no service takes", tools("[\"run it\"]\ndoes = \"submit\"\n")),
        (
            "bound twice",
            tools(
                "[t]\ndoes = \"shell\"\n[t.params]\ncommand = { to = \"command\", required = true }\ncmd = { to = \"command\" }\n",
            ),
        ),
        ("an unknown action", tools("[t]\ndoes = \"shel\"\n[u]\ndoes = \"dance\"\n[v]\nabout = \"x\"\n")),
        (
            "an unknown field",
            tools(
                "[t]\ndoes = \"shell\"\nwith = { backgrund = true }\n[t.params]\ncommand = { to = \"comand\", required = true }\n",
            ),
        ),
        (
            "an unknown field of an element",
            tools(
                "[t]\ndoes = \"edit\"\n[t.params]\npath = { to = \"path\", required = true }\n[t.params.edits]\ntype = \"array\"\nto = \"edits\"\nrequired = true\neach = { old = {}, newer = { to = \"newer\" } }\n",
            ),
        ),
        (
            "what the action needs",
            tools(
                "[t]\ndoes = \"write\"\n[t.params]\npath = { to = \"path\", required = true }\ntext = { to = \"text\" }\n",
            ),
        ),
        (
            "a wrong type",
            tools(
                "[t]\ndoes = \"read\"\n[t.params]\npath = { to = \"path\", required = true }\nline = { type = \"boolean\", to = \"line\" }\n",
            ),
        ),
        (
            "picks",
            tools(
                "[t]\npick = \"op\"\n[t.when.view]\ndoes = \"read\"\nneeds = [\"path\"]\nuses = [\"lines\"]\n[t.params]\nop = { enum = [\"view\", \"make\"], required = true }\npath = { to = \"path\" }\n",
            ),
        ),
        ("an example", tools("[bash]\nexample = { comand = \"ls\" }\n")),
        (
            "a range",
            tools(
                "[t]\ndoes = \"read\"\n[t.params]\npath = { to = \"path\", required = true }\nn = { type = \"integer\", min = 3, max = 1 }\n",
            ),
        ),
    ];
    let mut all = String::new();
    for (name, told) in table {
        assert!(!told.is_empty(), "{name}: nothing was told");
        assert!(!told.contains("/tmp"), "{name}: {told}");
        all.push_str(&format!("{name}\n{told}\n\n"));
    }
    insta::assert_snapshot!(all.trim_end());
}

/// A test's thread has the stack of one that serves sessions: 2 MiB.
#[test]
fn a_text_as_intricate_as_is_allowed_fits_the_stack() {
    let texts = [
        format!("{{{{ {}1 }}}}", "-".repeat(1_900)),
        format!("{{{{ {}1 }}}}", "not ".repeat(480)),
        format!("{{{{ {}1 }}}}", "1+".repeat(970)),
        format!("{{{{ {}1 }}}}", "''~".repeat(1_900)),
        format!("{{{{ 1{} }}}}", "|e".repeat(950)),
        format!("{{{{ cwd{} }}}}", ".a".repeat(950)),
        format!("{{% if cwd %}}{}{{% endif %}}", "{%elif 1%}".repeat(210)),
        format!("{{%set a=[1]%}}{}x", "{%set a=[a]%}".repeat(150)),
        format!("{{%set a=[1]%}}{}x{{{{ a }}}}", "{%set a=[[[[[[[[[[a]]]]]]]]]]%}".repeat(60)),
        format!("{{%set a=[1]%}}{{%set a={}a{}%}}x", "dict(a=".repeat(40), ")".repeat(40)),
        format!("{{%set a=[1]%}}{{%set a=a{}%}}x", "|batch(1)".repeat(180)),
    ];
    for text in texts {
        let told = told(&[
            ("x/harness.toml", "extends = \"pi\"\n[system]\nblocks = [\"s.md\"]\n"),
            ("x/s.md", &text),
        ]);
        assert!(!told.contains("more than"), "{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_are_no_texts_are_refused_before_they_are_read() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret.md"), "secret").unwrap();
    let folder = dir.path().join("all/x");
    type Make<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Make<'_>); 8] = [
        ("a pipe", &|path| rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap()),
        ("a device", &|path| symlink("/dev/zero", path).unwrap()),
        ("a folder", &|path| std::fs::create_dir(path).unwrap()),
        ("a link out of it", &|path| symlink("../../secret.md", path).unwrap()),
        ("a link to nothing", &|path| symlink("nothing.md", path).unwrap()),
        ("a link to itself", &|path| symlink(path.file_name().unwrap(), path).unwrap()),
        ("not UTF-8", &|path| std::fs::write(path, b"one\ntwo \xff\n").unwrap()),
        ("giant", &|path| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap()),
    ];
    let mut all = String::new();
    for (what, make) in cases {
        for name in ["s.md", "tools.toml", "harness.toml"] {
            let manifest = "extends = \"pi\"\n[system]\nappend = [\"s.md\"]\n";
            let library =
                write(&dir.path().join("all"), &[("x/harness.toml", manifest), ("x/s.md", "Be kind.")]);
            let path = folder.join(name);
            let _ = std::fs::remove_file(&path);
            make(&path);
            let told =
                faults(&dir.path().join("all"), &library).replace(&dir.path().display().to_string(), "[dir]");
            assert!(!told.is_empty(), "{what} {name}");
            all.push_str(&format!("{what}: {told}\n"));
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
    // A link within the folder is a file of it, and the folder itself may be one.
    let library = write(
        &dir.path().join("kept"),
        &[("x/harness.toml", "extends = \"pi\"\n[system]\nappend = [\"s.md\"]\n"), ("x/t.md", "Be kind.")],
    );
    symlink("t.md", dir.path().join("kept/x/s.md")).unwrap();
    symlink(dir.path().join("kept/x"), dir.path().join("kept/z")).unwrap();
    assert!(library.get("x").is_ok() && library.get("z").is_ok());
    insta::assert_snapshot!(all.trim_end());
}

#[test]
fn what_does_no_harm_is_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("x/harness.toml", "extends = \"pi\"\n"),
        ("x/sytem.md", "Be kind."),
        ("x/tool.toml", ""),
        ("x/system.md", "{{ file('extra.md') }}"),
        ("x/extra.md", "Be brief."),
    ];
    let report = write(dir.path(), &files).report("x");
    assert!(report.faults.is_empty());
    let notes = report.notes.join("\n").replace(&format!("{}/", dir.path().display()), "");
    insta::assert_snapshot!(notes, @r"
    x/sytem.md: nothing in the harness reads this file
    x/tool.toml: tack does not read this file; did you mean `tools.toml`
    ");
}

#[test]
fn a_folder_that_is_not_trusted_is_named_and_not_used() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("x/harness.toml", "extends = \"pi\"\n"), ("pi/system.md", "Obey the project.")]);
    let library = Library::new(Vec::new()).without(dir.path().to_owned(), "add it to the list".to_owned());
    assert!(matches!(library.get("x"), Err(LoadError::Untrusted { .. })));
    let pi = library.sample("pi", &sample_model()).unwrap();
    assert!(!pi.prompt.system[0].contains("Obey"));
    let refused = library.list().into_iter().filter_map(|(id, row)| Some((id, row.err()?.to_string())));
    let refused: Vec<(String, String)> = refused.collect();
    assert_eq!(refused.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["pi", "x"]);
    assert!(
        refused.iter().all(|(_, why)| why.ends_with("is not trusted: add it to the list")),
        "{refused:?}"
    );
}

/// Pieces of tables, so that most of what comes of them is nearly right.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "[loop]",
        "[tools]",
        "[a]",
        "[a.params]",
        "[a.when.b]",
        "[[reminder]]",
        "[[opening]]",
        "[match]",
        "[class.S]",
        "does = \"shell\"",
        "does = \"edit\"",
        "pick = \"p\"",
        "p = { to = \"command\", required = true }",
        "p = { type = \"array\", to = \"edits\", each = { old = {} } }",
        "retries = 3",
        "drop = [\"bash\"]",
        "models = [\"*\"]",
        "when = { every_user = 2 }",
        "file = \"s.md\"",
        "role = \"user\"",
        "extends = \"pi\"",
        "extends = \"x\"",
        "result = '''\n{{ out.text }}'''",
        "result = \"{{ x\"",
        "with = { op = 1 }",
        "rename = { p = 3 }",
        "default = [1, { a = 2 }]",
        "as = \"range\"",
        "to = \"edits.99999999.old\"",
    ]);
    prop_oneof![4 => words.prop_map(str::to_owned), 1 => "\\PC{0,20}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn check_survives_any_files(
        manifest in prop::collection::vec(piece(), 0..8),
        tools in prop::collection::vec(piece(), 0..10),
        text in "(\\PC|\\{\\{|\\}\\}|\\{%|%\\}|\n){0,60}",
        raw in prop::collection::vec(any::<u8>(), 0..80),
        is_raw in prop::bool::weighted(0.1),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let manifest = format!("extends = \"pi\"\n{}\n", manifest.join("\n"));
        let library = write(dir.path(), &[("x/harness.toml", &manifest), ("x/tools.toml", &tools.join("\n")), ("x/s.md", &text)]);
        if is_raw {
            std::fs::write(dir.path().join("x/harness.toml"), &raw).unwrap();
        }
        let report = library.report("x");
        prop_assert_eq!(report.faults.is_empty(), report.sound.is_some());
        prop_assert_eq!(library.get("x").is_ok() || !report.faults.is_empty(), true);
    }
}
