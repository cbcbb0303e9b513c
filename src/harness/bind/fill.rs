//! Fields of an action from templates over a call's parameters.
//!
//! What a model wrote is data there: what goes into a command is quoted for the shell.

use serde_json::{Map, Value};

use crate::harness::kit::{Kit, fill_name};
use crate::harness::tool::{Tool, Variant};

use super::{Fault, put};

/// Fields that are no texts.
#[rustfmt::skip]
const VALUES: [&str; 29] = [
    "timeout", "yield_after", "wait", "line", "last", "count", "column", "chars", "before", "after", "limit",
    "offset", "depth", "fuzz", "background", "ignore_case", "multiline", "ignored", "dirs", "folders", "all",
    "first", "create", "image", "tty", "fresh", "close_stdin", "regex", "cell",
];

/// Sets what the tool and this variant of it fill in.
pub(super) fn fill(
    kit: &Kit,
    (name, tool): (&str, &Tool),
    variant: Option<&Variant>,
    input: &Map<String, Value>,
    action: &mut Value,
) -> Result<(), Fault> {
    let word =
        variant.and_then(|v| tool.when.iter().find(|(_, other)| std::ptr::eq(*other, v))).map(|(w, _)| w);
    let own = variant.into_iter().flat_map(|v| v.fill.names()).map(|field| (word, field));
    for (word, field) in tool.fill.names().map(|field| (None, field)).chain(own) {
        let text = kit.fields.fill(&fill_name(name, word, field), input);
        let text = text.map_err(|e| Fault::BadJson(format!("{e:#}")))?;
        let last = field.rsplit('.').next().unwrap_or(field);
        match VALUES.contains(&last) {
            true if text.trim().is_empty() => {}
            true => put(action, field, serde_json::from_str(text.trim()).unwrap_or(Value::String(text))),
            false if text.is_empty() && super::is_blank(&Value::String(String::new()), field) => {}
            false => put(action, field, Value::String(text)),
        }
    }
    Ok(())
}

/// Whether a hole of a command's template stands where quotes do not hold what is put into it: within quotes or
/// backticks of the template's own, behind a backslash, in a here-document, behind a `#`.
pub(in crate::harness) fn has_loose_hole(template: &str) -> bool {
    let (mut quote, mut rest, mut before) = (None, template, ' ');
    while let Some(c) = rest.chars().next() {
        let hole = rest.starts_with("{{");
        if hole && quote.is_some() {
            return true;
        }
        let closing =
            [("{{", "}}"), ("{%", "%}"), ("{#", "#}")].into_iter().find(|(open, _)| rest.starts_with(open));
        if let Some((_, close)) = closing {
            rest = rest.split_once(close).map_or("", |(_, rest)| rest);
            continue;
        }
        match (quote, c) {
            (None, '\\') if rest.starts_with("\\{{") => return true,
            (None, '\\') | (Some('"'), '\\') => rest = &rest[1..],
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '#') if starts_word(before) && rest.contains("{{") => return true,
            (None, '<') if rest.starts_with("<<") && !rest.starts_with("<<<") && before != '<' => {
                return rest.contains("{{");
            }
            (Some(open), c) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
        before = c;
        let step = rest.chars().next().map_or(0, char::len_utf8);
        rest = &rest[step..];
    }
    false
}

/// Whether a word of the shell begins after this character.
fn starts_word(before: char) -> bool {
    before.is_whitespace() || ";&|()<>".contains(before)
}

/// One word of a POSIX shell that is exactly this text.
pub(in crate::harness) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+,=-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use crate::harness::bind::bind;
    use crate::harness::testing::{model, toolset};
    use crate::model::{Action, Class};

    #[allow(clippy::disallowed_types, reason = "a real shell has to read what is quoted")]
    fn words(command: &str) -> Vec<String> {
        let out = std::process::Command::new("bash").args(["-c", command]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        text.split_terminator('\x01').map(str::to_owned).collect()
    }

    #[test]
    fn a_hole_is_loose_where_quotes_do_not_hold() {
        let table = [
            ("grep {{ a }} {{ b }}", false),
            ("grep 'x' \"y\" \\; {{ a }}", false),
            ("echo $(cat {{ a }}) {{ a }}#x", false),
            ("echo '{{ a }}'", true),
            ("echo \"x {{ a }}\"", true),
            ("echo `cat {{ a }}`", true),
            ("echo \\{{ a }}", true),
            ("echo # {{ a }}", true),
            ("echo x;#{{ a }}", true),
            ("cat <<E\n{{ a }}\nE", true),
        ];
        for (template, want) in table {
            assert_eq!(super::has_loose_hole(template), want, "{template}");
        }
    }

    const NASTY: [&str; 16] = [
        "",
        " ",
        "'",
        "\"",
        "\\",
        "$(touch /x)",
        "`id`",
        "a;b",
        "a\nb",
        "--",
        "-n",
        "!!",
        "*",
        "~",
        "\\'",
        "é\u{7f}%s{{",
    ];

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(48))]
        /// Whatever a model writes is one word of the shell, in every form that a hole can take.
        #[test]
        fn quotes_are_never_broken_out_of(
            picked in proptest::collection::vec(proptest::sample::select(NASTY.to_vec()), 0..6),
            free in "[^\u{0}\u{1}]{0,12}",
        ) {
            let text = format!("{}{free}{}", picked.concat(), picked.iter().rev().copied().collect::<String>());
            let tools = "[x]\ndoes = \"shell\"\n[x.fill]\ncommand = '''printf '%s\\1' {{ a }} {{ a | quote }} {{ \
                         list | quote }} {% for one in list %}{{ one }} {% endfor %}{{ \"-\" ~ a }} {{ args.a }}'''\n\
                         [x.params]\na = {}\nlist = { type = \"array\", items = \"string\" }\n";
            let loaded = toolset("", tools);
            let args = serde_json::json!({ "a": text, "list": [text, text] });
            let Action::Shell { command, .. } = bind(loaded.kit(&model(Class::F)), "x", &args.to_string()) else {
                panic!("it is a command");
            };
            let text = text.as_str();
            let dashed = format!("-{text}");
            proptest::prop_assert_eq!(words(&command), [text, text, text, text, text, text, &dashed, text]);
        }
    }
}
