//! Valid code has no findings, however new: each file of `modern/` holds what its grammar might lag behind.

use super::*;

#[test]
fn modern_code_has_no_findings() {
    for (path, text) in [
        ("a.py", include_str!("modern/python.txt")),
        ("a.js", include_str!("modern/javascript.txt")),
        ("a.ts", include_str!("modern/typescript.txt")),
        ("a.rs", include_str!("modern/rust.txt")),
        ("a.go", include_str!("modern/go.txt")),
        ("a.tsx", "const a = <T,>(x: T) => <Cart<T> items={x!} />;\n"),
        ("a.ts", "interface A<in T, out U> { x: import(\"./b\").C<T>; }\nexport { nothing as void };\n"),
        ("a.rs", "fn a() { let x = str![\"a\"]; b!(~ $); let y: R<-5, 5>; }\n"),
        ("a.json", "\u{feff}{\"a\": [1, 2.5e3, null]}\n"),
        ("a.json", ""),
        ("tsconfig.json", "{ // comment\n \"a\": 1, }\n"),
        (".vscode/settings.json", "{ /* comment */ }\n"),
        ("a.toml", "a = 1\n[b.\"c d\"]\ne = 1979-05-27\n[[f]]\n"),
        ("a.c", "int main(void) { char c = '('; /* ( */ puts(\")\\\"\"); // }\n}\n"),
        ("a.c", "#if A\nint f() {\n#else\nint g() {\n#endif\n}\n"),
        ("a.cpp", "auto s = R\"(()\"; int n = 1'000;\n"),
        ("a.java", "String s = \"\"\"\n  ( { \"\"\";\n"),
        ("a.kt", "val s = \"${f(\"}\")}\"\n"),
        ("a.css", "a { color: red; }\nb:not(.c) { content: '('; }\n"),
        ("a.d.ts", "export default function (): { a: string };\n"),
        ("a.txt", "a ( b\n"),
        ("Makefile", "all:\n\techo ')'\n"),
    ] {
        assert_eq!(told(path, text), "", "{path}: {text}");
    }
}

#[test]
fn errors_read_as_a_compiler_says_them() {
    for (path, text, want) in [
        ("a.py", "x = (1,\n", "1: `(` is never closed"),
        ("a.py", "def f():\n    return 1)\n", "2: `)` closes nothing"),
        ("a.py", "def f(a:\n    return [a)\n", "2: `)` does not close the `[` of line 2"),
        ("a.py", "def f()\n    return 1\n", "1: syntax error in `def f()`"),
        ("a.py", "def f():\nx = 1\n", "1: no indented block after `def`"),
        ("a.py", "if x:\n    # nothing\ny = 1\n", "1: no indented block after `if`"),
        ("a.py", "x = 1\n    y = 2\n", "2: unexpected indent"),
        ("a.py", "if x:\n        a()\n    b()\n", "3: unexpected indent"),
        ("a.py", "if x:\n\ta()\n        b()\n", "3: inconsistent use of tabs and spaces"),
        ("a.js", "function f() {\n  return 1;\n", "1: `{` is never closed"),
        ("a.js", "const a = [1, 2;\n", "1: `[` is never closed"),
        ("a.ts", "const a: number = ;\n", "1: unexpected `=`"),
        ("a.tsx", "const a = <div>;\n", "1: syntax error in `const a = <div>;`"),
        ("a.rs", "fn f() -> { 1 }\n", "1: unexpected `->`"),
        ("a.rs", "fn f() { a(1; }\n", "1: `}` does not close the `(` of line 1"),
        ("a.rs", "fn f() { vec![1; }\n", "1: `}` does not close the `[` of line 1"),
        ("a.rs", "fn f() { let x = 1 }\n", "1: missing `;`"),
        ("a.go", "func f() {\n\tx := \n}\n", "2: missing identifier"),
        ("a.go", "func f( {\n}\n", "1: `(` is never closed"),
        ("a.json", "{\"a\": 1,}\n", "1: key must be a string"),
        ("a.json", "{\"a\": 1\n", "2: EOF while parsing an object"),
        ("a.toml", "a = 1\nb =\n", "2: string values must be quoted, expected literal string"),
        ("a.c", "int f() {\n  g(1;\n}\n", "3: `}` does not close the `(` of line 2"),
        ("a.java", "class A {\n", "1: `{` is never closed"),
    ] {
        assert_eq!(told(path, text).trim_end(), want, "{path}: {text}");
    }
}

#[test]
fn only_what_an_edit_brought_is_new() {
    let lagging = "function f() {\n  @@ strange @@;\n}\nfunction g() {\n  return 1;\n}\n";
    assert!(!findings("a.js", lagging).is_empty());
    for (after, want) in [
        (lagging.to_owned(), 0),
        (format!("// moved\n\n{lagging}"), 0),
        (lagging.replace("return 1", "return 2"), 0),
        (lagging.replace("strange", "other"), 0),
        (lagging.replace("@@ strange @@;", "strange;"), 0),
        (format!("{lagging}const a = = 1;\n"), 1),
    ] {
        let made = change("a.js", lagging, &after).unwrap();
        assert_eq!((made.breaks, made.new.len()), (false, want), "{after}");
    }
    let made = change("a.py", "x = 1\n", "x = (\n").unwrap();
    assert_eq!((made.parses, made.breaks, made.new.len()), (false, true, 1));
    assert!(change("a.py", "x = (\n", "x = 1\n").unwrap().parses);
    assert_eq!(change("a.txt", "x", "("), None);
}

#[test]
fn what_is_too_large_is_left_alone() {
    let large = "x = (\n".repeat(200_000);
    for path in ["a.py", "a.rs", "a.go", "a.ts", "a.json", "a.toml", "a.c"] {
        assert_eq!(told(path, &large), "", "{path}");
        assert_eq!(said(path, &large, &large.replacen('x', "y", 1)), "whole", "{path}");
        assert_eq!(said(path, &large, "x = 1\n"), "short: 1 of 200000", "{path}");
    }
    // Within the size, but nested without end or nothing but errors.
    for part in ["(", "[", "{", "if x:\n", "<a>", ")", "'", "\\", "f(\"", "`${"] {
        for path in ["a.py", "a.tsx", "a.rs", "a.go", "a.json", "a.toml"] {
            let text = part.repeat(1_500);
            assert_eq!(said(path, &text, &text), "whole", "{path}: {part}");
            findings(path, &text);
        }
    }
}
