//! Texts for a file that may be the whole or some of what it defines, and changes that would keep a file
//! from parsing.

use std::fmt::Write;

use proptest::prelude::*;
use tack::model::{Action, Broken, Outcome, State};

use crate::tools_kit::{Bench, edit, read, write};

const CART: &str = "\
import math

RATE = 0.2


def total(items):
    return sum(items)


def mean(items):
    return total(items) / len(items)


class Cart:
    def add(self, item):
        self.items.append(item)

    def size(self):
        return len(self.items)
";

fn rewrite(text: &str) -> Action {
    Action::Rewrite { path: "cart.py".into(), text: text.into() }
}

fn insert(path: &str, line: u64, text: &str) -> Action {
    Action::Insert { path: path.into(), line, text: text.into() }
}

fn patch(text: &str) -> Action {
    Action::Patch { text: format!("*** Begin Patch\n{text}*** End Patch\n"), cwd: None }
}

fn keeping() -> Bench {
    let mut bench = Bench::new().file("cart.py", CART);
    bench.guards.keep_names = true;
    bench
}

fn strict() -> Bench {
    let mut bench = Bench::new().file("cart.py", CART);
    bench.guards.parse = Broken::Refused;
    bench
}

fn text(bench: &Bench) -> String {
    String::from_utf8(bench.bytes("cart.py")).unwrap()
}

fn refused(outcome: &Outcome, error: &str) {
    assert_eq!((outcome.state, &outcome.data["error"]), (State::Failed, &error.into()), "{}", outcome.text);
}

/// A whole file comes back with the ends that its lines had.
#[tokio::test]
async fn line_ends_of_both_sorts_stay() {
    let mut bench = Bench::new().file("cart.py", "import os\r\nA = 1\nB = 2\r\n");
    bench.guards.keep_names = true;
    bench.run(&rewrite("import os\nA = 1\nB = 3\n")).await;
    assert_eq!(text(&bench), "import os\r\nA = 1\nB = 3\r\n");
}

/// Only the function of a file with more to it is not the file.
#[tokio::test]
async fn a_function_that_is_there_already_does_not_replace_the_file() {
    let bench = keeping();
    let outcome = bench.run(&rewrite("def total(items):\n    return sum(items)\n")).await;
    refused(&outcome, "same");
    assert_eq!(text(&bench), CART);
}

/// What a model reads, and what a template can use.
#[tokio::test]
async fn what_is_said_of_a_text_for_a_file() {
    let cases = [
        ("one function", "def total(items):\n    return math.fsum(items)\n"),
        ("two apart", "def mean(items):\n    return 0\n\n\nRATE = 0.3\n"),
        ("a method", "def size(self):\n    return 7\n"),
        ("the whole", &CART.replace("0.2", "0.25")),
        ("the same", CART),
        ("the same function", "def total(items):\n    return sum(items)\n"),
        ("another name", "def median(items):\n    return sorted(items)[len(items) // 2]\n"),
        (
            "left out",
            "import math\n\n\ndef total(items):\n    return 0\n\n# ... rest of the file unchanged ...\n",
        ),
        ("broken", "def total(items:\n    return sum(items)\n"),
        ("no code", "Here is the new file.\n"),
        ("nothing", ""),
    ];
    let mut all = String::new();
    for (name, answer) in cases {
        let bench = keeping();
        let outcome = bench.run(&rewrite(answer)).await;
        if outcome.state != State::Ok {
            assert_eq!(text(&bench), CART, "{name}");
        }
        for name in ["RATE", "def total", "def mean", "class Cart", "def add", "def size"] {
            assert!(text(&bench).contains(name), "{name} is lost:\n{}", text(&bench));
        }
        writeln!(all, "== {name}\n{}\n-- {}\n", outcome.text, outcome.data).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn what_the_person_wants_gone_may_go() {
    let mut bench = keeping();
    let without = CART.replace("def mean(items):\n    return total(items) / len(items)\n\n\n", "");
    bench.asked = "Make total() handle an empty list".into();
    let kept = bench.run(&rewrite(&without.replace("sum(items)", "sum(items or [])"))).await;
    assert_eq!((kept.state, &kept.data["how"]), (State::Ok, &"parts".into()), "{}", kept.text);
    assert!(text(&bench).contains("def mean") && text(&bench).contains("items or []"));
    bench.put("cart.py", CART);
    bench.toolbox = tack::tools::Toolbox::default();
    bench.asked = "Remove the function mean, nobody calls it".into();
    let gone = bench.run(&rewrite(&without)).await;
    assert_eq!((gone.state, &gone.data["how"]), (State::Ok, &"whole".into()), "{}", gone.text);
    assert_eq!(text(&bench), without);
}

#[tokio::test]
async fn a_write_is_held_to_the_names_too() {
    let bench = keeping();
    let outcome = bench.run(&write("cart.py", "def total(items):\n    return 0\n")).await;
    assert_eq!((outcome.state, &outcome.data["how"]), (State::Ok, &"parts".into()), "{}", outcome.text);
    assert!(text(&bench).contains("class Cart"));
}

#[tokio::test]
async fn without_the_guard_a_text_is_the_whole_file() {
    let bench = Bench::new().file("cart.py", CART);
    let outcome = bench.run(&rewrite("def total(items): ...\n")).await;
    assert_eq!(outcome.text, "overwrote cart.py: 1 line, 22 bytes");
    assert_eq!(text(&bench), "def total(items): ...\n");
}

#[tokio::test]
async fn where_there_is_nothing_to_lose_the_text_is_the_file() {
    let mut bench = Bench::new().file("empty.py", "").file("notes.txt", "a\nb\n").file("bin", b"a\0b");
    bench.guards.keep_names = true;
    let to = |path: &str, text: &str| Action::Rewrite { path: path.into(), text: text.into() };
    let made = bench.run(&to("new/deep/cart.py", CART)).await;
    assert_eq!((made.state, &made.data["created"]), (State::Ok, &true.into()));
    assert_eq!(bench.bytes("new/deep/cart.py"), CART.as_bytes());
    for path in ["empty.py", "notes.txt", "bin"] {
        assert_eq!(bench.run(&to(path, "x = 1\n")).await.state, State::Ok, "{path}");
        assert_eq!(bench.run(&read(path)).await.text, "x = 1\n");
    }
}

#[tokio::test]
async fn a_file_keeps_its_form() {
    let answer = "def total(items):\n    return math.fsum(items)\n";
    let wanted = CART.replace("return sum(items)", "return math.fsum(items)");
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let mixed = |text: &str| text.replacen('\n', "\r\n", 3);
    let latin = |text: &str| [b"# caf\xe9 \xe4\xf6\xfc\n".as_slice(), text.as_bytes()].concat();
    let table: [(&str, Vec<u8>, Vec<u8>); 6] = [
        ("plain", CART.into(), wanted.clone().into()),
        ("crlf", crlf(CART).into(), crlf(&wanted).into()),
        ("mixed ends", mixed(CART).into(), mixed(&wanted).into()),
        ("bom", format!("\u{feff}{CART}").into(), format!("\u{feff}{wanted}").into()),
        ("latin-1", latin(CART), latin(&wanted)),
        ("open end", CART.trim_end().into(), wanted.trim_end().into()),
    ];
    for (name, before, after) in table {
        let bench = keeping();
        bench.put("cart.py", before);
        let outcome = bench.run(&rewrite(answer)).await;
        assert_eq!(outcome.state, State::Ok, "{name}: {}", outcome.text);
        assert_eq!(
            String::from_utf8_lossy(&bench.bytes("cart.py")),
            String::from_utf8_lossy(&after),
            "{name}"
        );
        assert_eq!(bench.bytes("cart.py"), after, "{name}");
    }
    let bench = keeping();
    let outcome = bench.run(&rewrite(CART.replace("0.2", "0.3").trim_end())).await;
    assert_eq!((outcome.state, text(&bench)), (State::Ok, CART.replace("0.2", "0.3")), "its last line ends");
    let latin = latin(CART);
    bench.put("latin.py", &latin);
    let call = Action::Rewrite {
        path: "latin.py".into(),
        text: "def total(items):\n    return '\u{20ac}'\n".into(),
    };
    refused(&bench.run(&call).await, "encoding");
    assert_eq!(bench.bytes("latin.py"), latin);
}

#[cfg(unix)]
#[tokio::test]
async fn modes_stay_and_what_may_not_be_written_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let mut bench = keeping();
    let path = bench.cwd.join("cart.py");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    bench.run(&rewrite("def total(items):\n    return 0\n")).await;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    bench.policy.mode = tack::sandbox::Mode::WorkspaceWrite;
    bench.policy.protect = vec![path];
    let before = text(&bench);
    let outcome = bench.run(&rewrite("def total(items):\n    return 1\n")).await;
    assert_eq!(outcome.state, State::Refused, "{}", outcome.text);
    assert_eq!(text(&bench), before);
}

#[tokio::test]
async fn what_would_no_longer_parse_is_not_written_and_both_sides_are_shown() {
    let breaks = [
        ("edit", edit("cart.py", "return sum(items)", "return sum(items")),
        ("indentation", edit("cart.py", "    return sum(items)\n", "  return sum(items)\n     x = 1\n")),
        ("insert", insert("cart.py", 6, "    if items:")),
        ("write", write("cart.py", "def total(:\n")),
        ("patch", patch("*** Update File: cart.py\n@@\n-RATE = 0.2\n+RATE = (0.2\n")),
    ];
    let mut all = String::new();
    for (name, action) in breaks {
        let bench = strict();
        let outcome = bench.run(&action).await;
        refused(&outcome, "breaks");
        assert_eq!(text(&bench), CART, "{name}");
        writeln!(all, "== {name}\n{}\n", outcome.text).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn after_two_refusals_in_a_row_it_is_made_and_told() {
    let bench = strict();
    let broken = edit("cart.py", "return sum(items)", "return sum(items");
    refused(&bench.run(&broken).await, "breaks");
    assert_eq!(bench.run(&edit("cart.py", "0.2", "0.3")).await.state, State::Ok, "ends the row");
    refused(&bench.run(&broken).await, "breaks");
    bench.put("other.py", CART);
    refused(&bench.run(&edit("other.py", "sum(items)", "sum(items")).await, "breaks");
    refused(&bench.run(&broken).await, "breaks");
    let made = bench.run(&broken).await;
    assert_eq!((made.state, &made.data["parses"]), (State::Ok, &false.into()));
    insta::assert_snapshot!(made.text);
    assert!(text(&bench).contains("return sum(items\n"));
    let next = bench.run(&edit("cart.py", "RATE", "RATE_OF_TAX")).await;
    assert_eq!(next.state, State::Ok, "a broken file may be worked on: {}", next.text);
    let mended = bench.run(&edit("cart.py", "sum(items\n", "sum(items)\n")).await;
    assert_eq!((mended.state, &mended.data["parses"]), (State::Ok, &true.into()));
    assert!(mended.text.ends_with("[cart.py parses]"), "{}", mended.text);
}

#[tokio::test]
async fn of_a_patch_that_breaks_one_file_none_is_written() {
    let bench = strict().file("other.py", "x = 1\n");
    let call = patch(
        "*** Update File: other.py\n@@\n-x = 1\n+x = 2\n*** Update File: cart.py\n@@\n-RATE = 0.2\n+RATE = (0.2\n*** Add File: new.py\n+y = 1\n",
    );
    let outcome = bench.run(&call).await;
    refused(&outcome, "breaks");
    assert!(outcome.text.starts_with("nothing was changed: cart.py"), "{}", outcome.text);
    assert_eq!((bench.bytes("other.py"), text(&bench)), (b"x = 1\n".to_vec(), CART.to_owned()));
    assert!(!bench.exists("new.py"));
}

#[tokio::test]
async fn what_is_only_told_is_made() {
    let mut bench = strict();
    bench.guards.parse = Broken::Told;
    let outcome = bench.run(&edit("cart.py", "return sum(items)", "return sum(items")).await;
    assert_eq!((outcome.state, &outcome.data["parses"]), (State::Ok, &false.into()));
    assert!(!outcome.data["findings"].as_array().unwrap().is_empty());
    assert!(outcome.text.contains("[cart.py does not parse now: line "), "{}", outcome.text);
}

#[tokio::test]
async fn a_new_file_that_does_not_parse_is_written_and_told_of() {
    let bench = strict();
    for action in [write("new.py", "def f(:\n"), patch("*** Add File: newer.py\n+def f(:\n")] {
        let outcome = bench.run(&action).await;
        assert_eq!((outcome.state, &outcome.data["parses"]), (State::Ok, &false.into()), "{}", outcome.text);
    }
}

#[tokio::test]
async fn what_no_parser_reads_and_what_was_broken_is_left_alone() {
    let mut bench = strict()
        .file("notes.txt", "(a\n")
        .file("bad.py", "def f(:\n    x = 1\n")
        .file("b.json", "{\"a\": 1}\n");
    let notes = bench.run(&edit("notes.txt", "(a", "((a")).await;
    assert_eq!(notes.text, "changed 1 place in notes.txt; line 1 is now:\n((a");
    assert_eq!(bench.run(&edit("bad.py", "x = 1", "x = 2")).await.state, State::Ok);
    refused(&bench.run(&edit("b.json", "1}", "1,}")).await, "breaks");
    bench.guards.parse = Broken::Allowed;
    let allowed = bench.run(&edit("b.json", "1}", "1,}")).await;
    assert_eq!(
        (allowed.state, allowed.text.as_str()),
        (State::Ok, "changed 1 place in b.json; line 1 is now:\n{\"a\": 1,}")
    );
    assert!(allowed.data["parses"].is_null());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a model answers, a refusal changes nothing and no definition is lost.
    #[test]
    fn no_answer_loses_a_definition(
        from in 0_usize..20,
        count in 0_usize..20,
        more in "(def total\\(items\\):\n    return [a-z(]{1,5}\n|class Cart:\n    pass\n|[a-z ():\n]{0,40})?",
        crlf in any::<bool>(),
    ) {
        let lines: Vec<&str> = CART.split_inclusive('\n').collect();
        let answer = format!("{}{more}", lines[from.min(lines.len())..(from + count).min(lines.len())].concat());
        let mut bench = keeping();
        bench.guards.parse = Broken::Refused;
        let before = if crlf { CART.replace('\n', "\r\n") } else { CART.to_owned() };
        bench.put("cart.py", &before);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(bench.run(&rewrite(&answer)));
        let after = text(&bench);
        if outcome.state != State::Ok {
            prop_assert_eq!(&after, &before);
        }
        for name in ["RATE", "def total", "def mean", "class Cart"] {
            prop_assert!(after.contains(name), "{} is lost by {:?}", name, answer);
        }
    }
}
