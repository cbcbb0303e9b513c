//! A call of one known tool in a text, by the same rules as [`salvage`], where no
//! harness is chosen yet.

use crate::harness::bind::mend;

use super::salvage::{self, Raw};

/// The form in which a reply that came as text calls `tool`, in the words of a manifest's `salvage`;
/// `tool` runs commands, so a shell block and nothing else is a call of it too.
pub fn form(text: &str, tool: &str) -> Option<&'static str> {
    let body = &text[super::after_thinking(text)..];
    let calls_it = |raw: Option<Raw>| match raw {
        Some(Raw::Calls(calls, _)) => calls.iter().any(|(name, _)| name.eq_ignore_ascii_case(tool)),
        Some(Raw::CutOff | Raw::Unreadable) | None => false,
    };
    type Read = fn(&str) -> Option<Raw>;
    let forms: [(&'static str, Read); 4] = [
        ("json", salvage::json_form),
        ("hermes", salvage::hermes),
        ("xml", salvage::xml),
        ("markers", salvage::markers),
    ];
    let form = forms.into_iter().find(|(_, read)| calls_it(read(body))).map(|(name, _)| name);
    form.or_else(|| is_shell_block(body).then_some("shell"))
        .or_else(|| stands_within(body, tool).then_some("within"))
}

fn is_shell_block(body: &str) -> bool {
    let blocks = salvage::shell_blocks(body);
    matches!(&blocks[..], [block] if body.trim() == body[block.span.0..block.span.1].trim())
}

fn stands_within(body: &str, tool: &str) -> bool {
    body.match_indices('{').take(salvage::PLACES).any(|(at, _)| {
        let text = mend::mended(&body[at..]);
        let first = serde_json::Deserializer::from_str(&text).into_iter().next();
        let value = first.and_then(Result::ok).unwrap_or_default();
        salvage::as_call(&value).is_some_and(|(name, _)| name.eq_ignore_ascii_case(tool))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_by_its_form() {
        let table = [
            ("```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```", Some("json")),
            ("Sure:\n{\"name\": \"Bash\", \"parameters\": {\"command\": \"ls\"}}", Some("json")),
            ("<think>hm</think>{\"name\": \"bash\", \"arguments\": \"{}\"}", Some("json")),
            (
                "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
                Some("hermes"),
            ),
            ("<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>", Some("xml")),
            ("[TOOL_CALLS][{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}]", Some("markers")),
            ("```bash\nls\n```", Some("shell")),
            (
                "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\nOutput:\na.txt\nb.txt\nSo these are the \
                 files that are here, one after the other, and there are two of them in all, as you see above.",
                Some("within"),
            ),
            ("The files are a.txt and b.txt.", None),
            ("Run this:\n```bash\nls\n```\nand look.", None),
            ("{\"name\": \"other\", \"arguments\": {}}", None),
            ("{\"name\": \"bash\", \"argum", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(form(text, "bash"), want, "{text}");
        }
    }
}
