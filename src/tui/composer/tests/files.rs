//! Files behind `@`: found, listed, completed, read.

use std::time::Duration;

use super::*;
use crate::tui::composer::mention::{There, tokens, written};

/// Longest wait for the thread of the index, which needs milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

impl Kit {
    /// Waits until the list is the whole answer to what stands behind the `@`; its names.
    fn settle(&mut self) -> Vec<String> {
        loop {
            self.composer.poll();
            let Some(Popup::Files(files)) = &self.composer.popup else { panic!("no list of files") };
            if let Some(names) = files.settled() {
                return names;
            }
            self.woken.recv_timeout(PATIENCE).expect("the index answers");
        }
    }
}

fn tree() -> Kit {
    let kit = Kit::new();
    for name in [
        "src/main.rs",
        "src/cart.rs",
        "src/[id]/(auth)/a b.ts",
        "README.md",
        "x y/z.rs",
        ".github/ci.yml",
        ".env",
        ".git/config",
        "target/debug/x.rs",
        "node_modules/left/pad.js",
    ] {
        kit.write(name, b"x");
    }
    kit.write(".gitignore", b"target/\nnode_modules\n.env\n");
    kit
}

#[test]
fn the_list_holds_what_git_would() {
    let mut kit = tree();
    kit.types("@");
    insta::assert_snapshot!(kit.settle().join("\n"), @r#"
    .github/
    .gitignore
    README.md
    src/
    "x y/"
    .github/ci.yml
    src/[id]/
    src/cart.rs
    src/main.rs
    "x y/z.rs"
    src/[id]/(auth)/
    "src/[id]/(auth)/a b.ts"
    "#);
}

#[test]
fn files_are_completed() {
    for (typed, keys, want) in [
        ("see @cart", "tab", "see @src/cart.rs |"),
        ("see @cart", "enter", "see @src/cart.rs |"),
        ("@src", "tab", "@src/|"),
        ("@src", "enter", "@src/ |"),
        ("@ab.t", "tab", "@\"src/[id]/(auth)/a b.ts\" |"),
        ("@\"a b", "tab", "@\"src/[id]/(auth)/a b.ts\" |"),
        ("@(auth", "tab", "@src/[id]/(auth)/|"),
        ("@\"x y", "tab", "@\"x y/|"),
        ("@\"x y", "enter", "@\"x y/\" |"),
        ("@zzz", "tab", "@zzz|"),
        ("me@cart", "tab", "me@cart|"),
    ] {
        let mut kit = tree();
        kit.types(typed);
        if kit.composer.has_popup() {
            kit.settle();
        }
        kit.keys(keys);
        assert_eq!(kit.text(), want, "{typed} {keys}");
    }
}

#[test]
fn esc_closes_the_list_until_the_next_name() {
    let mut kit = tree();
    kit.types("@ca");
    assert!(kit.composer.has_popup());
    kit.keys("esc");
    kit.types("r");
    assert!(!kit.composer.has_popup());
    kit.types(" @c");
    assert!(kit.composer.has_popup());
}

#[test]
fn a_name_in_full_is_sent_by_enter() {
    let mut kit = tree();
    kit.types("@src/cart.rs");
    kit.settle();
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!(draft.mentions[0].path, Path::new("src/cart.rs"));
}

#[test]
fn a_loop_of_links_ends() {
    let mut kit = tree();
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", kit.folder.path().join("src/up")).unwrap();
    kit.types("@up");
    let names = kit.settle();
    assert!(names.len() < 20, "{names:?}");
    #[cfg(unix)]
    assert_eq!(names[0], "src/up/");
}

#[test]
fn mentions_are_read() {
    let kit = tree();
    kit.write("odd:10", b"x");
    kit.write("a,", b"x");
    use There::{File, Folder, Missing};
    for (text, path, lines, there, span) in [
        ("@src/cart.rs", "src/cart.rs", None, File, "@src/cart.rs"),
        ("see @src/cart.rs, and", "src/cart.rs", None, File, "@src/cart.rs"),
        ("(@src/cart.rs)", "src/cart.rs", None, File, "@src/cart.rs"),
        ("@src/cart.rs:10-40", "src/cart.rs", Some((10, 40)), File, "@src/cart.rs:10-40"),
        ("@src/cart.rs:7.", "src/cart.rs", Some((7, 7)), File, "@src/cart.rs:7"),
        ("@odd:10", "odd:10", None, File, "@odd:10"),
        ("@a, b", "a,", None, File, "@a,"),
        ("@src/", "src/", None, Folder, "@src/"),
        ("@src", "src", None, Folder, "@src"),
        ("@src/[id]/(auth)", "src/[id]/(auth)", None, Folder, "@src/[id]/(auth)"),
        (
            "@\"src/[id]/(auth)/a b.ts\":3 x",
            "src/[id]/(auth)/a b.ts",
            Some((3, 3)),
            File,
            "@\"src/[id]/(auth)/a b.ts\":3",
        ),
        ("@nope.rs:3-2!", "nope.rs:3-2", None, Missing, "@nope.rs:3-2"),
        ("@nope.rs:3!", "nope.rs", Some((3, 3)), Missing, "@nope.rs:3"),
    ] {
        let token = tokens(text).remove(0);
        let found = token.find(kit.folder.path());
        assert_eq!(
            (found.path.to_str().unwrap(), found.lines, found.there, &text[found.span.clone()]),
            (path, lines, there, span),
            "{text}"
        );
    }
    for none in ["me@example.com", "@", "a @ b", "no at all"] {
        assert_eq!(tokens(none), [], "{none}");
    }
}

#[test]
fn a_draft_knows_its_files_but_not_those_of_a_paste() {
    let mut kit = tree();
    kit.composer.paste(&"@decorated\n".repeat(9));
    kit.types("漢 @src/cart.rs:2 and @gone ");
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    let found: Vec<_> = draft.mentions.iter().map(|m| (&draft.text[m.span.clone()], m.there)).collect();
    assert_eq!(found, [("@src/cart.rs:2", There::File), ("@gone", There::Missing)]);
}

#[cfg(unix)]
#[test]
fn odd_names_are_listed_and_read_the_same() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let names: &[&[u8]] = &[
        b"src/[id]/(auth)/a b.ts",
        b"it's \"q\".md",
        b"-rf",
        "näme".as_bytes(),
        b"new\nline",
        b"esc\x1b[31m",
        b"not\xffutf8",
        b"back\\slash",
        b"ends.",
        b"range:10",
        b"\"quoted\"",
        "turn\u{202e}ed".as_bytes(),
    ];
    for name in names {
        let mut kit = Kit::new();
        let path = Path::new(OsStr::from_bytes(name));
        // Some systems take no such name; there it cannot be met either.
        let full = kit.folder.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        if std::fs::write(&full, b"x").is_err() {
            continue;
        }
        let mention = format!("@{}", written(path));
        assert!(!mention.contains(char::is_control), "{mention:?}");
        let found = tokens(&mention).remove(0).find(kit.folder.path());
        assert_eq!((found.path.as_path(), found.there), (path, There::File), "{mention}");
        assert_eq!(found.span, 0..mention.len(), "{mention}");
        kit.types("@");
        assert!(kit.settle().contains(&mention[1..].to_owned()), "{mention}");
    }
}
