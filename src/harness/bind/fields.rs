//! The fields of each action, as manifests name them; of a list's elements behind a dot.

/// By kind. A test holds them to [`crate::model::Action`].
const FIELDS: [(&str, &[&str]); 22] = [
    (
        "shell",
        &[
            "command",
            "timeout",
            "background",
            "yield_after",
            "cwd",
            "about",
            "tty",
            "stdin",
            "session",
            "fresh",
        ],
    ),
    ("job", &["op", "id", "wait", "input", "close_stdin"]),
    ("keys", &["text", "wait"]),
    ("read", &["path", "line", "last", "count", "column", "chars", "image", "folders"]),
    ("write", &["path", "text", "mode"]),
    ("rewrite", &["path", "text"]),
    ("edit", &["path", "edits", "first", "edits.old", "edits.new", "edits.all"]),
    ("insert", &["path", "line", "text"]),
    ("undo", &["path"]),
    ("patch", &["text", "cwd"]),
    ("diff", &["text", "files", "path", "fuzz", "create", "files.path", "files.text"]),
    ("find", &["query", "path", "limit", "endings", "ignore"]),
    ("notebook", &["path", "op", "cell", "kind", "text"]),
    ("glob", &["pattern", "path", "limit", "offset", "dirs", "ignored"]),
    (
        "grep",
        &[
            "pattern",
            "path",
            "glob",
            "kind",
            "show",
            "before",
            "after",
            "limit",
            "offset",
            "ignore_case",
            "multiline",
            "ignored",
        ],
    ),
    ("list", &["path", "ignore", "depth"]),
    ("fetch", &["url", "form", "limit", "timeout"]),
    (
        "todo",
        &[
            "items",
            "items.id",
            "items.text",
            "items.status",
            "items.details",
            "items.doing",
            "items.owner",
            "items.priority",
            "items.blocks",
            "items.blocked_by",
            "items.extra",
        ],
    ),
    (
        "tasks",
        &[
            "op",
            "id",
            "text",
            "status",
            "details",
            "doing",
            "owner",
            "priority",
            "blocks",
            "blocked_by",
            "extra",
        ],
    ),
    ("script", &["tool", "run", "dir", "input", "timeout", "only_reads"]),
    ("tools", &["query", "regex", "found", "limit"]),
    ("submit", &["text"]),
];

/// The fields of this kind; none of an unknown one.
pub(crate) fn fields(kind: &str) -> &'static [&'static str] {
    FIELDS.iter().find(|(known, _)| *known == kind).map_or(&[], |(_, fields)| fields)
}

/// The way to a field without the places in lists: `edits.old` of `edits.0.old`.
pub(crate) fn plain(to: &str) -> String {
    to.split('.').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join(".")
}

/// Whether this kind has such a field. What goes into a script is its own affair.
pub(crate) fn has(kind: &str, to: &str) -> bool {
    // A place in a list is made together with all before it.
    if to.split('.').filter_map(|part| part.parse::<usize>().ok()).any(|place| place > 16) {
        return false;
    }
    let to = plain(to);
    fields(kind).contains(&to.as_str()) || (kind == "script" && to.starts_with("input."))
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Names of the fields of each variant or struct in the source of the actions.
    fn declared(source: &str, head: &str, indent: &str) -> Vec<(String, Vec<String>)> {
        let block = Regex::new(&format!(r"(?ms)^{head}(\w+) \{{\n(.*?)^{indent}\}}")).unwrap();
        let field = Regex::new(r"(?m)^ +(?:pub )?(\w+): ").unwrap();
        let names = |body: &str| field.captures_iter(body).map(|one| one[1].to_owned()).collect();
        block.captures_iter(source).map(|one| (one[1].to_owned(), names(&one[2]))).collect()
    }

    #[test]
    fn the_table_is_what_actions_have() {
        let source = include_str!("../../model/action.rs");
        let of_enum = source.split("pub enum Action {").nth(1).unwrap().split("\n}\n").next().unwrap();
        let inner = declared(source, "pub struct ", "");
        let inner_of = |name: &str| inner.iter().find(|(known, _)| known == name).unwrap().1.clone();
        let mut seen = 0;
        let looks = declared(include_str!("../../model/look.rs"), "pub struct ", "");
        for (variant, mut want) in declared(of_enum, "    ", "    ").into_iter().chain(looks) {
            let kind = variant.to_lowercase();
            if kind == "unknown" {
                continue;
            }
            let (more, within) = (inner_of("TaskMore"), inner_of("Within"));
            let flat = |fields: Vec<String>| -> Vec<String> {
                let spread = |field: String| match field.as_str() {
                    "more" => more.clone(),
                    "within" => within.clone(),
                    _ => vec![field],
                };
                fields.into_iter().flat_map(spread).collect()
            };
            want = flat(want);
            let lists =
                [("edit", "edits", "Edit"), ("todo", "items", "TodoItem"), ("diff", "files", "NewText")];
            for (_, list, element) in lists.iter().filter(|(of, ..)| *of == kind) {
                want.extend(flat(inner_of(element)).into_iter().map(|field| format!("{list}.{field}")));
            }
            assert_eq!(fields(&kind), want, "{kind}");
            assert!(super::super::KINDS.contains(&kind.as_str()), "{kind}");
            seen += 1;
        }
        assert_eq!(seen, FIELDS.len());
    }

    #[test]
    fn the_documentation_lists_them() {
        let doc = include_str!("../../../docs/harnesses.md");
        for (kind, fields) in FIELDS {
            let row = doc.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/harnesses.md has no row for {kind}"));
            for field in fields {
                let last = field.split('.').next_back().unwrap();
                assert!(row.contains(&format!("`{last}`")), "docs/harnesses.md: {kind} lacks {field}");
            }
        }
    }
}
