//! What an answer that does not show it may not take away.

use super::*;

const SCRIPT: &str = "import os\n\n\ndef total(xs):\n    return os.fspath(xs)\n\n\nif __name__ == \"__main__\":\n    total(1)\n";
const ITEM: &str = "from dataclasses import dataclass\n\n\n@dataclass\nclass Item:\n    \"\"\"One.\"\"\"\n\n    name: str\n    price: float\n\n    def total(self):\n        return self.price\n";
const TESTS: &str = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n";
const MODULE: &str = "fn a() -> u8 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn a_works() {\n        assert_eq!(a(), 1);\n    }\n}\n";
const JS_TESTS: &str =
    "const { a } = require('./a');\ndescribe('a', () => {});\ntest('b', () => { expect(1).toBe(1); });\n";
const MAKE: &str = "CC = gcc\n\nall: main\n\nmain: main.c\n\t$(CC) -o main main.c\n\ntest: main\n\t./run\n\nclean:\n\trm -f main\n";
const C: &str = "#include <stdio.h>\n\nint add(int a, int b) {\n    return a + b;\n}\n\nint sub(int a, int b) {\n    return a - b;\n}\n";
const JAVA: &str = "public class A {\n    int one() {\n        return 1;\n    }\n\n    public int two(int x) throws E {\n        if (x > 1) {\n            return 2;\n        }\n        return 3;\n    }\n}\n";
const PACKAGE: &str =
    "{\n  \"name\": \"a\",\n  \"scripts\": {\n    \"test\": \"x\",\n    \"build\": \"y\"\n  }\n}\n";
const CARGO: &str = "[package]\nname = \"a\"\nversion = \"1\"\n\n[dependencies]\nserde = \"1\"\n";
const README: &str = "# A\n\nOne.\n\nTwo.\n\nThree.\n\nFour.\n";

/// An answer, what the person asked, and what becomes of it.
#[test]
fn a_part_is_not_taken_for_the_whole() {
    let table = [
        // Only a function of a file with more to it.
        ("a.py", SCRIPT, "def total(xs):\n    return os.fspath(xs)\n", "", "missing: ; unknown: "),
        (
            "a.py",
            SCRIPT,
            "def total_all(xs):\n    return os.fspath(xs)\n",
            "",
            "missing: ; unknown: total_all",
        ),
        (
            "a.py",
            SCRIPT,
            "def total_all(xs):\n    return 1\n",
            "rename total to total_all",
            "missing: ; unknown: total_all",
        ),
        ("a.py", SCRIPT, &SCRIPT.replace("total", "total_all"), "", "whole"),
        (
            "a.py",
            "def f():\n    return 1\n\nprint(f())\n",
            "def f():\n    return 2\n\nprint(\"is\", f())\n",
            "",
            "whole",
        ),
        // Fields, docstrings, imports of a class or a module.
        ("a.py", ITEM, "class Item:\n    def total(self):\n        return 2\n", "", "parts: total"),
        (
            "a.py",
            ITEM,
            "from dataclasses import dataclass\n\n\n@dataclass\nclass Item:\n    def total(self):\n        return 2\n",
            "",
            "parts: total",
        ),
        ("a.py", ITEM, &ITEM.replace("price", "cost"), "", "whole"),
        ("a.py", ITEM, &ITEM.replace("    price: float\n", ""), "", "whole"),
        (
            "a.rs",
            MODULE,
            "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a_is_one() {\n        assert_eq!(a(), 1);\n    }\n}\n",
            "",
            "parts: a_is_one",
        ),
        // Another test that is like the first.
        (
            "a.py",
            TESTS,
            "from calc import sub\n\n\ndef test_sub():\n    assert sub(1, 2) == 3\n",
            "",
            "missing: test_add; unknown: test_sub",
        ),
        (
            "a.js",
            JS_TESTS,
            "test('b', () => { expect(2).toBe(2); });\n",
            "",
            "missing: ; unknown: test('b', () => { expect(2).toBe(2); });",
        ),
        // What no grammar reads.
        ("Makefile", MAKE, "test: main\n\t./run -v\n", "only change test", "short: 2 of 8"),
        ("Makefile", MAKE, "all:\n\techo\n", "simplify the Makefile", "whole"),
        ("a.c", C, "int sub(int a, int b) {\n    return b - a;\n}\n", "", "missing: add; unknown: "),
        (
            "a.c",
            C,
            "#include <stdio.h>\n\nint add(int a, int b) {\n    return a + b;\n}\n",
            "Remove sub",
            "whole",
        ),
        ("a.java", JAVA, "int one() {\n    return 2;\n}\n", "", "missing: A, two; unknown: "),
        ("a.java", JAVA, &JAVA.replace("if (x > 1)", "while (x > 1)"), "", "whole"),
        (
            "README.md",
            README,
            "--- a/README.md\n+++ b/README.md\n@@ -3,1 +3,1 @@\n-One.\n+Uno.\n",
            "",
            "broken: 1: this is a difference, not the text of the file",
        ),
        ("README.md", README, "# B\n\nUno.\n\nDue.\n", "", "whole"),
        // Data.
        (
            "a.json",
            PACKAGE,
            "{\"scripts\": {\"test\": \"z\"}}",
            "",
            "missing: name, scripts.build; unknown: ",
        ),
        ("a.json", PACKAGE, "{\"name\": \"a\"}", "remove the scripts", "whole"),
        ("a.json", "[1, 2, 3, 4]", "[2]", "", "missing: 1, 2, 3; unknown: "),
        (
            "a.toml",
            CARGO,
            "[dependencies]\nserde = \"2\"\n",
            "",
            "missing: package, package.name, package.version; unknown: ",
        ),
    ];
    for (path, old, answer, asked, want) in table {
        let said = told_of(adapt(path, old, answer, &Going::asked(asked)));
        assert_eq!(said, want, "{path}: {asked}\n{answer}");
    }
}

#[test]
fn what_stands_elsewhere_now_is_not_lost() {
    let go = "package a\n\nimport \"fmt\"\n\nconst (\n\tA = iota\n\tB\n)\n\nfunc F() { fmt.Println(A) }\n";
    let longer = "const (\n\tA = iota\n\tB\n\tD\n)\n";
    assert_eq!(said("a.go", go, &go.replace("\tB\n", "\tB\n\tD\n")), "whole");
    assert_eq!(fitted("a.go", go, longer), go.replace("\tB\n", "\tB\n\tD\n"));
    let blocks = "import sys\nif sys.argv:\n    def f():\n        return 1\n";
    assert_eq!(said("a.py", blocks, &format!("{blocks}    def h():\n        return 2\n")), "whole");
    let script = "import sys\n\nname = \"x\"\nprint(name)\n";
    let wrapped = "import sys\n\n\ndef main():\n    name = \"x\"\n    print(name)\n\n\nmain()\n";
    assert_eq!(said("a.py", script, wrapped), "whole");
    let functions = "import math\n\n\ndef add(a):\n    return a\n\n\ndef sub(a):\n    return a\n";
    let class = "import math\n\n\nclass Calc:\n    def add(self, a):\n        return a\n\n    def sub(self, a):\n        return a\n";
    assert_eq!(said("a.py", functions, class), "whole");
    let common = "const fs = require('fs');\nfunction a() { return fs; }\nmodule.exports = { a };\n";
    let module = "import fs from 'fs';\nexport function a() { return fs; }\n";
    assert_eq!(said("a.js", common, module), "whole");
    // A method of the same name is another one.
    let two = "def run():\n    return 1\n\n\nclass A:\n    def run(self):\n        return 2\n";
    assert_eq!(said("a.py", two, "class A:\n    def run(self):\n        return 3\n"), "parts: A");
}

#[test]
fn what_a_person_lets_go_may_go() {
    let cart = "class Cart:\n    def a(self):\n        return 1\n\n    def clear(self):\n        return 2\n";
    let less = "class Cart:\n    def a(self):\n        return 1\n";
    assert_eq!(said("a.py", cart, less), "missing: Cart.clear; unknown: ");
    let asked = Going::asked("Remove the method clear of Cart");
    assert_eq!(told_of(adapt("a.py", cart, less, &asked)), "whole");
    // The names go, the rest of the file does not go with them.
    let asked = Going::asked("Remove what total and mean have twice");
    let old = "import os\n\n\ndef total():\n    return 1\n\n\ndef mean():\n    return 2\n";
    assert_eq!(told_of(adapt("a.py", old, "def total():\n    return 3\n", &asked)), "parts: total");
}

#[test]
fn a_whole_keeps_how_the_file_opens() {
    for (path, head, body, answer) in [
        (
            "a.py",
            "#!/usr/bin/env python3\n# Licence.\n",
            "def f():\n    return 1\n",
            "def f():\n    return 2\n",
        ),
        ("a.py", "# Licence.\n\n", "import os\n\nX = 1\n", "import os\n\nX = 2\n"),
        ("a.go", "//go:build linux\n\n", "package a\n\nfunc F() {}\n", "package a\n\nfunc F() { F() }\n"),
        ("a.js", "// Licence.\n\n", "'use strict';\nlet x = 1;\n", "'use strict';\nlet x = 2;\n"),
    ] {
        let old = format!("{head}{body}");
        assert_eq!(fitted(path, &old, answer), format!("{head}{answer}"), "{path}");
        // Without them alone, they were to go.
        assert_eq!(fitted(path, &old, body), body, "{path}");
    }
    let old = "# About f.\ndef f():\n    return 1\n";
    assert_eq!(fitted("a.py", old, "def f():\n    return 2\n"), "def f():\n    return 2\n");
}

#[test]
fn an_answer_with_line_numbers_is_read_without_them() {
    for numbers in [": ", "\t", "→", " | ", "|"] {
        let answer: String = ["# A", "", "Uno."]
            .iter()
            .enumerate()
            .map(|(at, line)| format!("  {}{numbers}{line}\n", at + 1))
            .collect();
        let want = "# A\n\nUno.\n";
        if numbers != " | " {
            assert_eq!(fitted("a.md", "# A\n\nOne.\n", &answer), want, "{answer}");
        }
    }
    let table = "1: a\n2: b\n";
    assert_eq!(fitted("a.txt", table, "1: a\n2: c\n"), "1: a\n2: c\n");
    let function = "7: def f():\n8:     return 2\n";
    assert_eq!(
        fitted("a.py", "x = 1\ndef f():\n    return 1\n", function),
        "x = 1\ndef f():\n    return 2\n"
    );
}

#[test]
fn stubs_have_no_bodies_to_leave_out() {
    let stub = "def a() -> int: ...\ndef b() -> str: ...\n";
    assert_eq!(said("a.pyi", stub, "def a() -> float: ...\n"), "parts: a");
    let answer = "def a() -> int: ...\ndef b() -> str: ...\ndef c() -> str: ...\n";
    assert_eq!(said("a.pyi", stub, answer), "whole");
    assert_eq!(said("a.py", "def a():\n    return 1\n", "def a(): ...\n"), "elided: def a(): ...");
}

#[test]
fn tabs_stay_whatever_strings_hold() {
    let old = "class A:\n\tdef f(self):\n\t\ts = \"\"\"\n  raw\n\"\"\"\n\t\treturn s\n";
    let answer = "class A:\n    def f(self):\n        s = \"\"\"\n  raw\n\"\"\"\n        return 1\n";
    assert_eq!(fitted("a.py", old, answer), old.replace("return s", "return 1"));
}

#[test]
fn an_import_that_is_tried_is_there() {
    let old =
        "try:\n    import json5 as json\nexcept ImportError:\n    import json\n\n\ndef a():\n    return 1\n";
    let answer = "import json\n\n\ndef a():\n    return 2\n";
    assert_eq!(fitted("a.py", old, answer), old.replace("return 1", "return 2"));
}
