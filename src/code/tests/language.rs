//! Which names and which language a text has.

use super::*;

#[test]
fn names_are_those_of_the_top_level() {
    for (path, text, want) in [
        (
            "a.py",
            "import os\nA = 1\nB: int = 2\nc, d = 1, 2\nx.y = 3\ndef f():\n    def g(): pass\nclass C:\n    def m(self): pass\n@dec\nasync def h(): pass\ntype T = int\n",
            "A B c d f C h T",
        ),
        (
            "a.py",
            "try:\n    import a\nexcept ImportError:\n    def a(): pass\nif __name__ == '__main__':\n    x = 1\n",
            "a",
        ),
        ("a.py", "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): return a\n", "f"),
        (
            "a.js",
            "import a from 'a';\nconst b = 1, { c, d: e } = x;\nlet f = () => 1;\nfunction g() {}\nclass H { m() {} }\nexport default function i() {}\nmodule.exports = { b };\nconst fs = require('fs');\n",
            "b c e f g H i module.exports",
        ),
        ("a.js", "export const a = 1;\nexport { b } from 'b';\nexport default { c: 1 };\n", "a default"),
        (
            "a.ts",
            "interface A {}\ntype B = 1;\nenum C {}\nabstract class D {}\nnamespace E {}\ndeclare const f: 1;\nfunction g(a: string): void;\nfunction g(a: any) {}\n@dec export class H {}\n",
            "A B C D E f g H",
        ),
        (
            "a.rs",
            "use a::b;\nmod m;\npub struct S;\nenum E {}\nimpl S { fn m(&self) {} }\nimpl fmt::Display for S {}\ntrait T {}\nconst C: u8 = 1;\nstatic D: u8 = 1;\nmacro_rules! n { () => {} }\n#[test]\npub fn f() {}\ntype U = u8;\n",
            "m S E impl S impl fmt::Display for S T C D n! f U",
        ),
        (
            "a.go",
            "package a\nimport \"fmt\"\ntype (\n\tS struct{}\n\tT = int\n)\nfunc (s *S) Add() {}\nfunc (s L[T]) Len() {}\nfunc F() {}\nconst (\n\tA = iota\n\tB\n)\nvar c, d = 1, 2\n",
            "S T S.Add L.Len F A B c d",
        ),
        ("a.json", "{\"b\": 1, \"a\": {\"c\": 2}}", "b a"),
        ("a.toml", "b = 1\n[a]\nc = 2\n", "b a"),
        ("a.txt", "def f(): pass", ""),
    ] {
        assert_eq!(names(path, text).join(" "), want, "{path}: {text}");
    }
}

#[test]
fn a_language_is_known_by_the_name() {
    for (path, want) in [
        ("src/a.PY", Some(Language::Python)),
        ("a/b.test.tsx", Some(Language::Tsx)),
        ("a.mts", Some(Language::TypeScript)),
        ("a.d.ts", None),
        ("Cargo.lock", Some(Language::Toml)),
        ("package.json", Some(Language::Json)),
        ("tsconfig.build.json", None),
        ("a.py/b", None),
        ("py", None),
        ("", None),
    ] {
        assert_eq!(language(path), want, "{path}");
    }
}
