//! What coloured code looks like.

use proptest::prelude::*;

use super::super::shot::shot;
use super::*;
use crate::tui::palette::{Palette, Theme};

fn paint(language: &str, text: &str) -> Vec<Line<'static>> {
    let palette = Palette::new(Theme::Ansi);
    let mut code = Code::new(language);
    text.lines().map(|line| code.line(line, &palette)).collect()
}

#[test]
fn languages_look_right() {
    for (language, text) in [
        (
            "rust",
            "/// Adds.\npub fn add<'a>(x: &'a str, n: u32) -> Option<String> {\n    let c = 'x'; /* more\n    comment */ let s = \"a\\\"b\";\n    println!(\"{n}\", 1..20);\n    r#\"raw \"quoted\" text\"#\n}",
        ),
        (
            "python",
            "@cache\ndef f(self, x: int = 0x1F) -> str:\n    \"\"\"Doc\n    string.\"\"\"\n    return f'{x!r}' if x is None else Path(x)  # why",
        ),
        (
            "ts",
            "import { a } from './a';\nexport const f = async <T>(x: Promise<T>) => `a ${await x}\nb`; // http://x\nelement.delete(\"x\");",
        ),
        ("go", "func (s *Server) Run(ctx context.Context) error {\n\treturn nil // done\n}"),
        ("sh", "# build\nfor f in *.rs; do\n  echo \"$f: ${HOME}\" 'it'\\''s' > out#1\ndone\necho don't"),
        ("toml", "[package]\nname = \"x\" # note\nedition = 2024\ntrue-ish.key = true"),
        ("yaml", "# c\non:\n  push: [main]\n  - name: Run it\n    url: http://x/#y\n    ok: true"),
        ("json", "{\"key\": [1.5e3, \"value\", null]}"),
        ("sql", "SELECT count(*) FROM users -- all\nwhere name = 'O''Brien' AND id > 10;"),
        ("html", "<!-- a\nb --><a href=\"x\" class='y'>Don't 1</a>"),
        ("css", "/* c */\n.a > b:hover {\n  color: #fff; margin: 0 10px;\n}\n@media (x) {}"),
        ("diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same"),
        ("c", "#include <stdio.h>\nint main(void) { return sizeof(x) / 2; }"),
        ("src/main.rs", "fn main() {}"),
        ("brainfuck", "+++ \"not\" // code"),
    ] {
        let name = language.replace(['/', '.'], "_");
        insta::assert_snapshot!(format!("code_{name}"), shot(&paint(language, text)));
    }
}

#[test]
fn what_is_open_goes_on() {
    let rows = paint("js", "/* a */ /* b\nc */ 1");
    assert_eq!(rows[0].spans.len(), 3);
    assert_eq!(rows[1].spans.len(), 3);
}

proptest! {
    #[test]
    fn no_text_is_lost(
        language in proptest::sample::select(vec![
            "rust", "py", "js", "sh", "toml", "json", "sql", "html", "css", "diff", "lua", "hs", "x",
        ]),
        text in "[a-z0-9\"'`#/*<>=!.:$\\\\@\\-_+ \\[\\]é日\n]{0,60}|\\PC{0,30}",
    ) {
        let rows = paint(language, &text);
        let back: Vec<String> = rows.iter().map(ToString::to_string).collect();
        prop_assert_eq!(back, text.lines().collect::<Vec<_>>());
    }
}
