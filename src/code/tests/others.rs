//! Answers in the other languages.

use super::*;

const SHOP: &str = "import { a } from './a';\n\nexport const RATE = 2;\n\n/** Adds. */\nexport function add(x, y) {\n  return x + y;\n}\n\nexport class Cart {\n  #items = [];\n\n  total() {\n    return 1;\n  }\n\n  clear() {\n    this.#items = [];\n  }\n}\n\nclass Order {\n  clear() {}\n}\n";

const TYPED: &str = "export function f(a: string): void;\nexport function f(a: number): void;\nexport function f(a: any) {\n  return a;\n}\n\ninterface A {\n  x: number;\n}\n";

const RUST: &str = "use std::fmt;\nuse std::io::{self, Read};\n\n/// A cart.\n#[derive(Debug)]\npub struct Cart {\n\titems: Vec<u32>,\n}\n\nimpl Cart {\n\t/// All.\n\tpub fn total(&self) -> u32 {\n\t\t1\n\t}\n\n\tfn clear(&mut self) {}\n}\n\nimpl fmt::Display for Cart {\n\tfn fmt(&self) {}\n}\n";

const GO: &str = "package shop\n\nimport \"fmt\"\n\ntype Cart struct {\n\titems []int\n}\n\nfunc (c *Cart) Total() int {\n\treturn 1\n}\n\nfunc (o *Order) Total() int {\n\treturn 2\n}\n\nconst (\n\tA = 1\n\tB = 2\n)\n";

#[test]
fn what_becomes_of_an_answer() {
    for (path, old, answer, want) in [
        ("a.js", SHOP, SHOP, "whole"),
        ("a.js", SHOP, "function add(x, y) {\n  return y;\n}\n", "parts: add"),
        ("a.js", SHOP, "total() {\n  return 2;\n}\n", "parts: total"),
        ("a.js", SHOP, "clear() {\n  return 2;\n}\n", "unknown: clear"),
        (
            "a.js",
            SHOP,
            "class Cart {\n  // ... existing methods\n  total() {\n    return 2;\n  }\n}\n",
            "parts: total",
        ),
        (
            "a.js",
            SHOP,
            "class Cart {\n  total() {\n    // existing code\n  }\n}\n",
            "elided: // existing code",
        ),
        ("a.js", SHOP, "function add(x, y) {\n  ...\n}\n", "elided: ..."),
        ("a.js", SHOP, "function other() {}\n", "unknown: other"),
        ("a.ts", TYPED, "export function f(a: any) {\n  return 1;\n}\n", "parts: f"),
        ("a.ts", TYPED, "export function f(a: string): void;\n", "unknown: f"),
        (
            "a.rs",
            RUST,
            "impl Cart {\n    pub fn total(&self) -> u32 {\n        2\n    }\n}\n",
            "parts: total",
        ),
        ("a.rs", RUST, "pub fn total(&self) -> u32 {\n    2\n}\n", "parts: total"),
        ("a.rs", RUST, "fn total() -> u32 {\n    2\n}\n", "unknown: total"),
        ("a.rs", RUST, "use std::io::Write;\n\npub struct Cart {\n    items: u8,\n}\n", "parts: Cart"),
        ("a.go", GO, "func (c *Cart) Total() int {\n\treturn 3\n}\n", "parts: Cart.Total"),
        ("a.go", GO, "func Total() int {\n\treturn 3\n}\n", "unknown: Total"),
        ("a.go", GO, "const A = 3\n", "missing: B"),
        ("a.json", "{\"a\": 1, \"b\": 2, \"c\": 3}", "{\"a\": 2}", "missing: b, c"),
        ("a.json", "{\"a\": 1, \"b\": 2, \"c\": 3}", "{\"a\": 2, \"b\": 2}", "whole"),
        ("a.json", "{\"a\": 1}", "{\"a\": 1,", "broken: 1: EOF while parsing an object"),
        ("a.txt", "one\ntwo\n", "# ... rest unchanged\n", "elided: # ... rest unchanged"),
        ("a.txt", "one\ntwo\n", "one\n", "whole"),
    ] {
        let said = said(path, old, answer);
        let fits = said == want
            || want
                .strip_prefix("unknown: ")
                .is_some_and(|name| said.ends_with(&format!("; unknown: {name}")))
            || want.starts_with("missing: ") && said.starts_with(&format!("{want};"));
        assert!(fits, "{path}: {answer}\n{said}, not {want}");
    }
}

#[test]
fn what_an_answer_does_not_say_stays() {
    for (path, old, answer, from, to) in [
        ("a.js", SHOP, "function add(x, y) {\n  return y;\n}\n", "return x + y", "return y"),
        ("a.js", SHOP, "  total() {\n    return 2;\n  }\n", "return 1", "return 2"),
        (
            "a.js",
            SHOP,
            "import { a, b } from './a';\nexport const RATE = 3;\n",
            "{ a } from './a';\n\nexport const RATE = 2",
            "{ a, b } from './a';\n\nexport const RATE = 3",
        ),
        ("a.rs", RUST, "fn total(&self) -> u32 {\n    2\n}\n", "\t\t1", "\t\t2"),
        ("a.rs", RUST, "struct Cart {\n    items: u8,\n}\n", "Vec<u32>", "u8"),
        (
            "a.go",
            GO,
            "import (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc (c *Cart) Total() int {\n\treturn 1\n}\n",
            "import \"fmt\"\n",
            "import \"fmt\"\nimport \"os\"\n",
        ),
    ] {
        assert!(old.contains(from));
        assert_eq!(fitted(path, old, answer), old.replacen(from, to, 1), "{path}: {answer}");
    }
}
