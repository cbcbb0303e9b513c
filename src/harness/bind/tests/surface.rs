//! What a tool's table says beyond plain parameters: filled fields, unions, refusals, tools that are only named.

use super::*;
use crate::harness::testing::toolset;

const TOOLS: &str = r#"
[git_log]
does = "shell"
fill = { command = "git log -n {{ max_count or 20 }}{% if path %} -- {{ path | quote }}{% endif %}{% for p in more %} {{ p }}{% endfor %}", timeout = "{{ seconds * 1000 if seconds }}" }
[git_log.params]
max_count = { type = "integer" }
path = { type = "string" }
more = { type = "array", items = "string" }
seconds = { type = "integer" }

[look]
pick = "how"
[look.when.names]
does = "glob"
uses = ["what"]
fill = { pattern = "**/{{ what }}*" }
[look.when.text]
does = "grep"
needs = ["what"]
[look.params]
how = { type = "string", required = true, enum = ["names", "text"] }
what = { type = "string", to = "pattern" }

[change]
does = "edit"
extra = false
[change.params]
path = { type = "string", required = true, to = "path" }
[change.params.edit]
required = true
to = "edits"
schema = { anyOf = [{ type = "object" }, { type = "array", items = { type = "object" } }] }
each.old = { type = "string", required = true, to = "old" }
each.new = { type = "string", required = true, to = "new" }

[wait]
does = "shell"
extra = false
with = { command = "sleep 1" }
[wait.params]
timeout = { type = "integer", to = "timeout", as = "s", shown = 60, min = 1 }
note = { type = ["string", "null"], to = "about", about = "Why.", schema = { maxLength = 9 } }
"#;

fn bound(name: &str, args: &Value) -> Action {
    let loaded = toolset("", TOOLS);
    bind(loaded.kit(&model(Class::F)), name, &args.to_string())
}

#[test]
fn fields_are_filled_from_parameters() {
    let shell = |command: &str| json!({ "do": "shell", "command": command });
    let table = [
        ("git_log", json!({}), shell("git log -n 20")),
        ("git_log", json!({"max_count": "3"}), shell("git log -n 3")),
        ("git_log", json!({"path": "a b"}), shell("git log -n 20 -- 'a b'")),
        ("git_log", json!({"path": "$(x)';rm"}), shell(r"git log -n 20 -- '$(x)'\'';rm'")),
        ("git_log", json!({"more": ["-x", "&& y", ""]}), shell("git log -n 20 -x '&& y' ''")),
        (
            "git_log",
            json!({"seconds": 2}),
            json!({"do": "shell", "command": "git log -n 20", "timeout": 2000}),
        ),
        ("look", json!({"how": "names", "what": "a b"}), json!({"do": "glob", "pattern": "**/a b*"})),
        ("look", json!({"how": "text", "what": "a b"}), json!({"do": "grep", "pattern": "a b"})),
        (
            "change",
            json!({"path": "a", "edit": {"old": "x", "new": "y"}}),
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": "y"}]}),
        ),
        (
            "change",
            json!({"path": "a", "edit": "[{\"old\": \"x\", \"new\": \"y\"}]"}),
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": "y"}]}),
        ),
        ("wait", json!({}), json!({"do": "shell", "command": "sleep 1", "timeout": 60_000})),
        ("wait", json!({"timeout": 2}), json!({"do": "shell", "command": "sleep 1", "timeout": 2000})),
    ];
    for (name, args, want) in table {
        assert_eq!(bound(name, &args), action(want), "{name} {args}");
    }
}

#[test]
fn a_model_is_shown_what_a_table_says() {
    let loaded = toolset("", TOOLS);
    let kit = loaded.kit(&model(Class::F));
    let shown: Vec<String> =
        kit.tools.iter().map(|(name, tool)| format!("{name} {:#}", tool.schema())).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_filled_tool_is_not_what_another_call_is_turned_into() {
    let loaded = toolset("", &TOOLS.replace("[wait]", "[waiting]").replace("[wait.", "[waiting."));
    let kit = loaded.kit(&model(Class::F));
    let said = |value| unbind(kit, &action(value)).map(|(name, _)| name);
    assert_eq!(said(json!({"do": "shell", "command": "git log -n 20"})), None);
    assert_eq!(said(json!({"do": "glob", "pattern": "**/x*"})), None);
    assert_eq!(said(json!({"do": "grep", "pattern": "x"})).as_deref(), Some("look"));
}

#[test]
fn a_refusal_says_all_that_is_wrong() {
    let told = |manifest: &str, name: &str, args: Value| {
        let loaded = toolset(manifest, TOOLS);
        match bind(loaded.kit(&model(Class::F)), name, &args.to_string()) {
            Action::Unknown { why, .. } => why,
            understood => serde_json::to_string(&understood).unwrap(),
        }
    };
    let plain = "[absent]\nGlob = \"Use `{{ tool('shell') }}` with find.\"\nAgent = \"\"";
    let strict = "[errors]\nextra = \"no {{ extra | join(' ') }}\"";
    let joined = "[errors]\nextra = \"no {{ extra | join(' ') }}\"\nmissing = \"lacks {{ missing | join(' ') }}\"\n\
                  wrong_type = \"{{ param }} is {{ got_type }}, not {{ wanted }}\"\nproblems = \"{{ name }}: {{ problems | join('; ') }}\"";
    let cases = [
        (plain, "Glob", json!({"pattern": "*"})),
        (plain, "functions.glob", json!({})),
        (plain, "Agent", json!({})),
        (plain, "Globe", json!({})),
        (plain, "wait", json!({"why": 1})),
        (plain, "change", json!({"edit": 5, "why": 1})),
        (strict, "wait", json!({"why": 1})),
        (strict, "change", json!({"file": "a", "edit": {"old": "x", "new": "y"}})),
        (strict, "git_log", json!({"why": 1})),
        (joined, "wait", json!({"why": 1})),
        (joined, "wait", json!({"timeout": "soon", "why": 1, "how": 2})),
        (joined, "change", json!({"edit": {"old": "x"}, "why": 1})),
    ];
    let told: Vec<String> = cases
        .into_iter()
        .map(|(m, name, args)| format!("{name} {args}\n  {}", told(m, name, args.clone())))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_hole_that_quotes_would_not_hold_is_refused() {
    let table = [
        ("ls {{ path }}", false),
        ("ls '{{ path }}'", true),
        ("ls \\\"{{ path }}\\\"", true),
        ("ls 'a b' {{ path }}", false),
        ("ls \\\\' {{ path }}", false),
        ("cat <<X\\n{{ path }}\\nX", true),
        ("cat <<< {{ path }}", false),
        ("ls # {{ path }}", true),
        ("ls a#b {{ path }}", false),
        ("ls {% if path == 'x' %}{{ path }}{% endif %}", false),
    ];
    for (fill, refused) in table {
        let tools =
            format!("[x]\ndoes = \"shell\"\nfill = {{ command = \"{fill}\" }}\n[x.params]\npath = {{}}");
        let made = crate::harness::testing::try_toolset("", &tools);
        assert_eq!(made.is_err(), refused, "{fill}");
    }
}
