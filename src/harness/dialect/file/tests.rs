//! Tests of files in replies, by tables.

use proptest::prelude::*;

use super::*;

/// Paths and texts; `cut` where the last block never ends.
fn read(body: &str) -> Vec<(String, String)> {
    let knows = |path: &str| ["cart.py", "run", "notes.md"].contains(&path);
    read_with(body, &Known { listed: &knows, said: &|_| false, asked: Vec::new(), commands: false })
}

fn read_with(body: &str, known: &Known<'_>) -> Vec<(String, String)> {
    match files(body, known) {
        Found::Files(files) => files.into_iter().map(|file| (file.path, file.text)).collect(),
        Found::CutOff => vec![("cut".to_owned(), String::new())],
        Found::Nothing => Vec::new(),
    }
}

fn one(path: &str, text: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), text.to_owned())]
}

#[test]
fn a_block_under_a_path_is_a_file() {
    let heads = [
        "cart.py\n```python\n",
        "cart.py\n\n```python\n",
        "cart.py:\n```\n",
        "./cart.py\n```python\n",
        "**cart.py**\n```python\n",
        "**cart.py:**\n```python\n",
        "### cart.py\n```python\n",
        "#### `cart.py`\n```python\n",
        "`cart.py`\n~~~python\n",
        "File: cart.py\n```python\n",
        "**File:** `cart.py`\n```python\n",
        "Path: \"cart.py\"\n```python\n",
        "cart.py (updated)\n```python\n",
        "- cart.py\n  ```python\n",
        "Here is the new cart.py:\n```python\n",
        "I fixed it. Here's the corrected `cart.py` file:\n\n```python\n",
        "I will change it.\n\ncart.py\n```python\n",
        "```python cart.py\n",
        "```python:cart.py\n",
        "```cart.py\n",
        "```python title=\"cart.py\"\n",
        "```python\n# cart.py\n",
        "```python\n# File: cart.py\n",
        "```js\n// cart.py\n",
    ];
    for head in heads {
        let indent = if head.starts_with('-') { "  " } else { "" };
        let close = if head.contains('~') { "~~~" } else { "```" };
        let body = format!("{head}{indent}def f():\n{indent}    return 1\n{indent}{close}\nThat is all.");
        assert_eq!(read(&body), one("cart.py", "def f():\n    return 1\n"), "{body}");
    }
}

#[test]
fn a_block_that_is_shown_is_no_file() {
    let blocks = [
        "```python\nprint(1)\n```",
        "For example:\n\na.py\n```python\nprint(1)\n```",
        "The output of cart.py:\n```\n3\n```",
        "Run cart.py:\n```bash\npython cart.py\n```",
        "cart.py\n```bash\npython cart.py\n```",
        "cart.py\n```diff\n-a\n+b\n```",
        "Then cart.py was:\n```python\nold\n```",
        "Here is the new other.py:\n```python\nprint(1)\n```",
        "Change cart.py and total.py as here:\n```python\nprint(1)\n```",
        "Node.js\n```js\nx\n```",
        "Some words\n```\nx\n```",
        "1.5\n```\nx\n```",
        "https://a.example/b.py\n```python\nx\n```",
        "my file.py\n```python\nx\n```",
        "--flag.py\n```python\nx\n```",
        "cart.py\n```python\n```",
        "cart.py\n\n\n\n```python\nx\n```",
        "cart.py is 3 lines long.",
        "### Cart.add_item\n```python\ndef add_item(self): pass\n```",
        "Version:\n```\nPython 3.11\n```",
        "cart.py (before)\n```python\nx = 1\n```",
        "a.py\nb.py\n\n```python\nx = 1\n```",
        "a.json\n```python\nimport json\n```",
        "```python\n# a.json\nimport json\n```",
        "notes.txt\n```\n$ cat notes.txt\nhello\n```",
        "run\n```bash\npython cart.py\n```",
        "Here is how to use cart.py:\n```python\nimport cart\n```",
        "```python\n# a comment about cart.py here\nx = 1\n```",
    ];
    for body in blocks {
        assert_eq!(read(body), [], "{body}");
    }
}

#[test]
fn a_name_that_the_person_said_may_have_any_ending() {
    let said = |path: &str| ["Cart.clear", "data.xyz"].contains(&path);
    let known = || Known { listed: &|_| false, said: &said, asked: Vec::new(), commands: false };
    assert_eq!(read_with("data.xyz\n```\n1\n```", &known()), one("data.xyz", "1\n"));
    assert_eq!(read_with("Cart.clear\n```python\ndef clear(self): pass\n```", &known()), []);
}

#[test]
fn a_file_may_have_example_in_its_name() {
    for talk in ["I change examples/a.py as asked.", "I fix the example in it.", "See `example`."] {
        let body = format!("{talk}\n\nexamples/a.py\n```python\nx = 1\n```");
        assert_eq!(read(&body), one("examples/a.py", "x = 1\n"), "{body}");
    }
}

#[test]
fn several_blocks_are_several_files() {
    let body = "a.py\n```python\nx = 1\n```\n\nand\n\nsub/b.json\n```json\n{\"name\": 1}\n```\n";
    let want = [("a.py", "x = 1\n"), ("sub/b.json", "{\"name\": 1}\n")];
    assert_eq!(read(body), want.map(|(path, text)| (path.to_owned(), text.to_owned())));
    assert_eq!(read("Makefile\n```make\nall:\n\ttrue\n```"), one("Makefile", "all:\n\ttrue\n"));
    assert_eq!(read("run\n```\nx\n```"), one("run", "x\n"), "a file that is there needs no extension");
    assert_eq!(read("job.sh\n```bash\nls\n```"), one("job.sh", "ls\n"));
}

#[test]
fn a_call_beside_the_files_decides_by_where_it_stands() {
    let call = "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    let file = "a.py\n```python\nx = 1\n```";
    assert_eq!(read(&format!("{call}\n{file}")), []);
    assert_eq!(read(&format!("```json\n{call}\n```\n{file}")), []);
    assert_eq!(read(&format!("<tool_call>{call}</tool_call>\n{file}")), []);
    let after = format!("{file}\nResult: wrote a.py\n{call}\n{file}");
    let Found::Files(files) =
        files(&after, &Known { listed: &|_| false, said: &|_| false, asked: Vec::new(), commands: false })
    else {
        panic!()
    };
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].span, (0, after.len()), "what was made up goes with the file");
}

#[test]
fn a_block_that_never_ends_is_cut_off() {
    for body in ["a.py\n```python\nx = 1\n", "a.py\n```python", "a.md\n```markdown\n```bash\nls\n```\n"] {
        assert_eq!(read(body), one("cut", ""), "{body}");
    }
    assert_eq!(read("```python\nx = 1"), [], "what is no file is not cut off either");
}

#[test]
fn fences_within_a_file_belong_to_it() {
    let table = [
        ("````markdown\n# T\n```\nls\n```\n````", "# T\n```\nls\n```\n"),
        ("```markdown\n# T\n```bash\nls\n```\nmore\n```", "# T\n```bash\nls\n```\nmore\n"),
        ("```markdown\n# T\n```\nls\n```\nmore\n```", "# T\n```\nls\n```\nmore\n"),
        ("```markdown\n# T\n```\nThat is it.", "# T\n"),
    ];
    for (block, text) in table {
        assert_eq!(read(&format!("notes.md\n{block}")), one("notes.md", text), "{block}");
    }
    let two = read("notes.md\n```markdown\n# T\n```\nls\n```\n```\n\na.py\n```python\nx = 1\n```");
    assert_eq!(two.len(), 2, "{two:?}");
    let code = "s = '''\n```python\nx\n```\n'''\n";
    assert_eq!(read(&format!("a.py\n```python\n{code}```")), one("a.py", code));
}

#[test]
fn a_block_without_a_path_is_the_one_file_of_its_kind_that_was_asked_about() {
    let asked = |text: &str, body: &str| {
        let path = |path: &str| !["gone.py", "Then"].contains(&path);
        read_with(body, &Known { listed: &path, said: &|_| false, asked: paths(text), commands: true })
    };
    let block = "Here it is.\n```python\nx = 1\n```";
    assert_eq!(asked("Fix `sub/a.py`, please.", block), one("sub/a.py", "x = 1\n"));
    assert_eq!(
        asked("Set it to 5 in a.json.", "```json\n{\"name\": 5}\n```"),
        one("a.json", "{\"name\": 5}\n")
    );
    for other in ["Fix it.", "Fix a.py and b.py.", "Fix a.js.", "Fix gone.py"] {
        assert_eq!(asked(other, block), [], "{other}");
    }
    assert_eq!(asked("Fix a.py.", "```\nx = 1\n```"), []);
    let usage = format!("{block}\n\nThen:\n```python\nimport a\n```");
    assert_eq!(asked("Fix a.py.", &usage), one("a.py", "x = 1\n"), "what follows is how to use it");
    assert_eq!(asked("Fix a.py.", "You can test it with:\n```python\nimport a\n```"), []);
    assert_eq!(asked("Fix a.sh.", "```bash\nls\n```"), [], "a command");
    assert_eq!(asked("Fix a.py.", &format!("```bash\ncat a.py\n```\nResult: x\n{block}")), [], "made up");
    assert_eq!(paths("See a.py, (b/c.rs) and a.py. Not 1.5 or e.g. this."), ["a.py", "b/c.rs"]);
}

proptest! {
    /// Whatever a file holds, its one form is read back as the file.
    #[test]
    fn the_form_said_is_the_form_read(
        text in "(([a-z`~# ]{0,12}|```|```py|    x)\n){1,8}", path in "[a-z]{1,8}(/[a-z]{1,8})?\\.(py|md|js)"
    ) {
        prop_assume!(!text.trim().is_empty() && !begins_like_a_call(&text));
        let said = say(&path, &text);
        prop_assert_eq!(read(&said), one(&path, &text), "{}", said);
    }

    #[test]
    fn any_text_can_be_looked_at(body in "([ -~éß]{0,12}|```[a-z]{0,3}|a\\.py|\\{\"name\":|\n|\r\n){0,40}") {
        if let Found::Files(files) = files(&body, &Known { listed: &|_| true, said: &|_| true, asked: vec!["a.py".to_owned()], commands: true }) {
            for file in files {
                prop_assert!(body.get(file.span.0..file.span.1).is_some());
            }
        }
    }
}
