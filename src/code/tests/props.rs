//! What holds for any text.

use proptest::prelude::*;

use super::*;

const PATHS: [&str; 9] = ["a.py", "a.js", "a.ts", "a.tsx", "a.rs", "a.go", "a.json", "a.toml", "a.c"];

/// Texts of the tokens that parsers trip over.
fn text() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "def f(self):",
        "class A:",
        "fn f() {",
        "function f() {",
        "func (a *A) f() {",
        "impl A {",
        "import a",
        "use a::b;",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        "`",
        "\"\"\"",
        "...",
        "# ... rest",
        "// existing code",
        "return 1",
        "x = 1",
        "const b = 2;",
        "@d",
        "#[a]",
        "export ",
        "pub ",
        "é",
        "\\",
        ";",
        ":",
        "<",
        ">",
        "f",
        "A",
    ]);
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// Python functions with bodies of a line each, and the name of one of them.
fn module() -> impl Strategy<Value = (Vec<String>, usize)> {
    prop::collection::vec("[a-z]{3,6} = [0-9]{1,3}( +# [a-zé]{1,5})?", 1..6)
        .prop_flat_map(|bodies| (Just(bodies.clone()), 0..bodies.len()))
}

proptest! {
    // Each case runs six grammars.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_is_too_strange(old in text(), answer in text()) {
        for path in PATHS {
            findings(path, &old);
            change(path, &old, &answer);
            names(path, &answer);
            let _ = adapt(path, &old, &answer, &Going::default());
        }
    }

    #[test]
    fn a_file_is_the_whole_of_itself(old in text()) {
        for path in PATHS {
            prop_assert_eq!(adapt(path, &old, &old, &Going::default()), Ok(Adapted::Whole(old.clone())));
        }
    }

    #[test]
    fn no_definition_is_lost(old in text(), answer in text()) {
        for path in &PATHS[..6] {
            if let Ok(Adapted::Parts { text, .. }) = adapt(path, &old, &answer, &Going::default())
                && findings(path, &old).is_empty()
                && findings(path, &text).is_empty()
            {
                let after = names(path, &text);
                for name in names(path, &old) {
                    prop_assert!(after.contains(&name), "{} lost {}\n{}\n---\n{}\n---\n{}", path, name, old, answer, text);
                }
            }
        }
    }

    #[test]
    fn all_but_the_replaced_function_stays((bodies, one) in module()) {
        let function = |at: usize, body: &str| format!("def f{at}():\n    {body}\n");
        let file = |bodies: &[String]| {
            let all = bodies.iter().enumerate().map(|(at, body)| function(at, body));
            format!("\"\"\"Doc.\"\"\"\nimport os\n\n\n{}\n\nrun()\n", all.collect::<Vec<_>>().join("\n\n"))
        };
        let mut after = bodies.clone();
        after[one] = "return None".to_owned();
        let fitted = fitted("a.py", &file(&bodies), &function(one, "return None"));
        prop_assert_eq!(fitted, file(&after));
    }
}
