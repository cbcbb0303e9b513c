//! Markdown as rows, at once and in pieces.

use proptest::prelude::*;

use super::super::measure::columns;
use super::super::shot::shot;
use super::*;
use crate::tui::palette::{Palette, Theme};

fn palette() -> Palette {
    Palette::new(Theme::Ansi)
}

fn texts(rows: &[Line<'_>]) -> Vec<String> {
    rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect()
}

/// An answer with everything in it.
const ANSWER: &str = include_str!("answer.md");

#[test]
fn an_answer_looks_right() {
    for width in [40, 80, 120] {
        insta::assert_snapshot!(format!("answer_{width}"), shot(&render(ANSWER, width, &palette())));
    }
}

#[test]
fn blocks() {
    for (source, rows) in [
        ("", &[][..]),
        ("\n\n  \n", &[]),
        ("one\ntwo\n\n\nthree\n", &["one", "two", "", "three"]),
        ("# Head\ntext", &["Head", "", "text"]),
        ("Head\n===\ntext", &["Head", "", "text"]),
        ("- a\n- b\n  - c\n    - d\n- e", &["- a", "- b", "  - c", "    - d", "- e"]),
        ("- a\n\n- b", &["- a", "", "- b"]),
        ("1. a\n1. b\n\ntext\n\n3. c", &["1. a", "2. b", "", "text", "", "3. c"]),
        ("9. a\n10. b\n    more", &["9. a", "10. b", "    more"]),
        ("1. a\n  - b\n    - c\n2. d", &["1. a", "   - b", "     - c", "2. d"]),
        ("- [ ] open\n- [x] done", &["- [ ] open", "- [x] done"]),
        ("- a\nlazy\n\nout", &["- a", "  lazy", "", "out"]),
        ("-\n- b", &["-", "- b"]),
        ("text\n- a\n---\nb", &["text", "", "- a", "", "────────────────────", "", "b"]),
        (
            "- a\n  ```sh\n  ls\n\n  - no item\n  ```\n- b",
            &["- a", "    sh", "    ls", "", "    - no item", "- b"],
        ),
        ("> a\nlazy\n> > b\n\nc", &["│ a", "│ lazy", "│", "│ │ b", "", "c"]),
        ("> [!NOTE]\n> mind", &["│ Note", "│ mind"]),
        ("```\nx", &["  x"]),
        ("```rs\n\n\nx\n\n\n```\ny", &["  rs", "", "", "  x", "", "y"]),
        ("```\n\n```", &[]),
        ("````md\n```sh\nls\n```\n````\nend", &["  md", "  ```sh", "  ls", "  ```", "", "end"]),
        ("~~~\n```\n~~~", &["  ```"]),
        ("    code\n\n    more\ntext", &["  code", "", "  more", "", "text"]),
        ("[a](http://b) <http://c> [http://d](http://d)", &["a (http://b)", "http://c http://d"]),
        (
            "[text][ref] and[^1]\n\n[ref]: http://x\n\n[^1]: Note here",
            &["[text][ref] and[^1]", "", "[ref]: http://x", "", "[^1]: Note here"],
        ),
        ("<b>x</b><br>y\n\n<div>\nz\n</div>", &["<b>x</b>", "y", "", "<div>", "z", "</div>"]),
        ("![alt](a.png)", &["alt (a.png)"]),
        ("a\r\nb\r\n", &["a", "b"]),
        ("esc\u{1b}[31m &#27;[1m &#x202e;x", &["esc [1m x"]),
        ("| a | b |\n|--|--:|\n| 1 | 2 |\n| x | 日本 |", &["a │    b", "──┼─────", "1 │    2", "x │ 日本"]),
        ("|||\n|-|-|\n|a|", &["  │", "──┼──", "a │"]),
    ] {
        assert_eq!(texts(&render(source, 20, &palette())), rows, "{source:?}");
    }
}

#[test]
fn a_table_that_is_too_wide() {
    let source = "| Option | What it does |\n|---|---|\n| `--all` | takes everything that there is |\n| -x | one<br>two |";
    for width in [12, 20, 30] {
        insta::assert_snapshot!(format!("table_{width}"), shot(&render(source, width, &palette())));
    }
}

#[test]
fn what_cannot_change_is_given_at_once() {
    let mut markdown = Markdown::new();
    let p = palette();
    for (piece, finished, tail) in [
        ("# He", &[][..], &["He"][..]),
        ("ad\n", &["Head"], &[]),
        ("some **te", &[], &["", "some **te"]),
        ("xt**\n-", &[], &["", "some text"]),
        (" item", &[], &["", "some text", "", "- item"]),
        ("\n- next", &["", "some text"], &["", "- item", "- next"]),
        ("\n\n", &["", "- item"], &["- next"]),
        ("```rust\nfn", &["- next", "", "  rust"], &["  fn"]),
        (" main() {}\n\n", &["  fn main() {}"], &[]),
        ("}\n``", &["", "  }"], &[]),
        ("`\n|a|\n|-|\n|b|\n", &[], &["", "a", "─", "b"]),
        ("\n", &["", "a", "─", "b"], &[]),
    ] {
        markdown.push(piece);
        assert_eq!(texts(&markdown.finished(40, &p)), finished, "finished behind {piece:?}");
        assert_eq!(texts(&markdown.tail(40, &p)), tail, "tail behind {piece:?}");
    }
    assert!(markdown.end(40, &p).is_empty());
}

#[test]
fn an_endless_block_is_given_in_parts() {
    let p = palette();
    for (start, line) in [
        ("", "word word\n"),
        ("", "word "),
        ("> ", "> ```\n> code\n"),
        ("- item\n  ```sh\n", "  echo\n"),
        ("- item\n", "  more\n"),
        ("|a|\n|-|\n", "|b|\n"),
        ("", "日"),
    ] {
        let mut markdown = Markdown::new();
        markdown.push(start);
        let (mut rows, mut most) = (Vec::new(), 0);
        for _ in 0..3 * BLOCK / line.len() {
            markdown.push(line);
            rows.extend(markdown.finished(40, &p));
            most = most.max(markdown.block.len() + markdown.source.left());
        }
        assert!(most < 2 * BLOCK, "{start:?} {line:?}: {most}");
        assert!(!rows.is_empty(), "{start:?} {line:?}");
    }
}

#[test]
fn the_rest_of_a_long_item_hangs_like_its_start() {
    let source =
        format!("3. item\n   ```sh\n{}   ```\n   end\n4. next", "   echo\n\n   done\n".repeat(2_000));
    let rows = texts(&render(&source, 40, &palette()));
    assert_eq!(&rows[..3], ["3. item", "     sh", "     echo"]);
    assert_eq!(&rows[rows.len() - 3..], ["     done", "   end", "4. next"]);
    assert!(rows.iter().all(|row| row.is_empty()
        || row.starts_with("   ")
        || row.starts_with("3.")
        || row.starts_with("4.")));
}

#[test]
fn depth_has_room() {
    let p = palette();
    for source in [">".repeat(10_000), "- ".repeat(5_000) + "x", "*".repeat(9_000), "[".repeat(9_000)] {
        for width in [1, 3, 40] {
            assert!(render(&source, width, &p).iter().all(|row| columns(row) <= width), "{width}");
        }
    }
}

/// Pieces of Markdown in any order, and anything.
fn source() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(vec![
            "\n",
            "\n\n",
            "- ",
            "  - ",
            "1. ",
            "2) ",
            "> ",
            "```",
            "```rust",
            "~~~",
            "    ",
            "  ",
            "# ",
            "---",
            "===",
            "|",
            "|-|-|",
            "**",
            "*",
            "`",
            "[x](y)",
            "<br>",
            "text",
            "日本",
            "👩\u{200d}👧",
            "\u{1b}[1m",
            "\r",
            "\t",
            "[^1]: ",
            "[a]: b",
            "&#27;",
            "<div>",
            "fn x() {",
            "\u{2028}",
            "- [ ] ",
            "\\",
            "=begin",
            "/*",
            "\u{85}",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn streaming_gives_what_the_whole_gives(source in source(), cuts in proptest::collection::vec(1usize..9, 1..20), width in 1usize..50) {
        let p = palette();
        let mut markdown = Markdown::new();
        let mut rows = Vec::new();
        let mut left = &source[..];
        let mut cuts = cuts.iter().cycle();
        while !left.is_empty() {
            let at = left.char_indices().nth(*cuts.next().unwrap()).map_or(left.len(), |(at, _)| at);
            markdown.push(&left[..at]);
            left = &left[at..];
            if at % 2 == 0 {
                rows.extend(markdown.finished(width, &p));
                markdown.tail(width, &p);
            }
        }
        rows.extend(markdown.end(width, &p));
        prop_assert_eq!(&rows, &render(&source, width, &p));
        let blank = |row: Option<&Line<'_>>| row.is_some_and(|row| row.to_string().trim().is_empty());
        prop_assert!(!blank(rows.first()) && !blank(rows.last()), "{rows:?}");
        for row in &rows {
            prop_assert!(columns(row) <= width, "{row:?} in {width}");
            prop_assert!(!row.to_string().contains(char::is_control), "{row:?}");
        }
    }
}
