//! Pastes, images, and texts that come back from elsewhere.

use super::*;
use crate::tui::composer::draft::Part;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest of a picture";

fn lines(n: usize) -> String {
    (1..=n).map(|i| format!("line {i} 漢字\n")).collect()
}

#[test]
fn a_short_paste_is_text_and_a_long_one_a_block() {
    for (pasted, want) in [
        ("one\r\ntwo\rthree".to_owned(), "one\ntwo\nthree|".to_owned()),
        ("x".repeat(1_000), format!("{}|", "x".repeat(1_000))),
        ("x".repeat(1_001), "[pasted 1 line · 1 KB]|".to_owned()),
        (lines(8), format!("{}|", lines(8))),
        (lines(9), "[pasted 9 lines · 126 B]|".to_owned()),
        (lines(5_000), "[pasted 5000 lines · 84 KB]|".to_owned()),
        (String::new(), "|".to_owned()),
    ] {
        let mut kit = Kit::new();
        kit.composer.paste(&pasted);
        assert_eq!(kit.text(), want);
    }
}

#[test]
fn a_block_is_sent_in_full_and_two_stay_apart() {
    let mut kit = Kit::new();
    let (one, two) = (lines(40), lines(12).to_uppercase());
    kit.types("see ");
    kit.composer.paste(&one);
    kit.composer.paste(&two);
    kit.types("!");
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!(draft.text, format!("see {one}{two}!"));
    assert_eq!(draft.shown, "see [pasted 40 lines · 591 B][pasted 12 lines · 171 B]!");
    assert_eq!(draft.kind, Kind::Prompt);
}

#[test]
fn a_block_is_one_character() {
    let mut kit = Kit::new();
    kit.types("ab");
    kit.composer.paste(&lines(9));
    kit.types("c");
    for (keys, want) in [
        ("left left", "ab|[pasted 9 lines · 126 B]c"),
        ("delete", "ab|c"),
        ("ctrl+_", "ab|[pasted 9 lines · 126 B]c"),
        ("right backspace", "ab|c"),
        ("ctrl+_ alt+b", "ab|[pasted 9 lines · 126 B]c"),
        ("alt+b", "|ab[pasted 9 lines · 126 B]c"),
        ("ctrl+e ctrl+w", "|"),
        ("ctrl+y", "ab[pasted 9 lines · 126 B]c|"),
    ] {
        kit.keys(keys);
        assert_eq!(kit.text(), want, "{keys}");
    }
    // What was cut outlives the text it was cut from.
    kit.keys("ctrl+w");
    kit.sends("x");
    kit.keys("ctrl+y");
    assert_eq!(kit.text(), format!("ab{}c|", lines(9)));
}

#[test]
fn a_block_unfolds() {
    for keys in ["ctrl+o", "left ctrl+o"] {
        let mut kit = Kit::new();
        kit.composer.paste(&lines(9));
        kit.keys(keys);
        assert_eq!(kit.text(), format!("{}|", lines(9)), "{keys}");
        kit.keys("ctrl+_");
        assert!(kit.text().contains("[pasted 9 lines"), "{keys}");
    }
}

/// A mark that joins the character before must not join a block.
#[test]
fn a_mark_behind_a_block_stays_outside() {
    let mut kit = Kit::new();
    kit.composer.paste(&lines(9));
    kit.types("\u{301}");
    kit.keys("backspace");
    assert_eq!(kit.text(), "[pasted 9 lines · 126 B]|");
}

#[test]
fn private_characters_do_not_pass_for_a_block() {
    let mut kit = Kit::new();
    kit.composer.paste(&lines(9));
    kit.types("\u{10f000}");
    kit.composer.paste("\u{10f000}");
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!(draft.text, format!("{}\u{fffd}\u{fffd}", lines(9)));
}

#[test]
fn images_come_by_path() {
    let kit = Kit::new();
    kit.write("a b.png", PNG);
    kit.write("c.png", PNG);
    kit.write("text.png", b"no picture");
    let dir = kit.folder.path().to_str().unwrap().to_owned();
    for (pasted, images) in [
        ("c.png".to_owned(), 1),
        (format!("{dir}/c.png\n"), 1),
        (format!("{dir}/a b.png"), 1),
        (format!("'{dir}/a b.png'"), 1),
        (format!("\"{dir}/a b.png\""), 1),
        (format!("{dir}/a\\ b.png "), 1),
        (format!("file://{dir}/a%20b.png"), 1),
        (format!("file://localhost{dir}/c.png"), 1),
        (format!("{dir}/a\\ b.png {dir}/c.png"), 2),
        (format!("{dir}/a b.png\n{dir}/c.png"), 2),
        (format!("look at {dir}/c.png"), 0),
        (format!("{dir}/text.png"), 0),
        (format!("{dir}/missing.png"), 0),
        ("file://%zz%.png".to_owned(), 0),
    ] {
        let mut composer = Composer::new(settings(kit.folder.path(), kit.state.path(), "two"));
        composer.paste(&pasted);
        let found = composer.parts().iter().filter(|part| matches!(part, Part::Image { .. })).count();
        assert_eq!(found, images, "{pasted}");
    }
}

#[test]
fn images_keep_their_numbers() {
    let mut kit = Kit::new();
    kit.composer.paste_image(vec![7; 34_000]);
    kit.types(" and ");
    kit.composer.paste_image(vec![8; 2_500_000]);
    assert_eq!(kit.text(), "[image 1 · 34 KB] and [image 2 · 2.5 MB]|");
    kit.keys("home delete end");
    kit.composer.paste_image(vec![9; 10]);
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!(draft.text, " and [image 2][image 1]");
    let sizes: Vec<usize> = draft
        .images
        .iter()
        .map(|image| match image {
            Image::Bytes(bytes) => bytes.len(),
            Image::File(path) => panic!("{path:?}"),
        })
        .collect();
    assert_eq!(sizes, [2_500_000, 10]);
}

#[test]
fn an_editor_gets_the_text_and_gives_it_back() {
    let mut kit = Kit::new();
    kit.types("see ");
    kit.composer.paste_image(vec![1; 10]);
    kit.composer.paste(&lines(9));
    let text = kit.composer.editor_text();
    assert_eq!(text, format!("see [image 1 · 10 B]{}", lines(9)));
    let file = editor::Text::write(kit.folder.path(), &text).unwrap();
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.path().metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    std::fs::write(file.path(), "now [image 1 · 10 B] last\n").unwrap();
    assert_eq!(file.exact().unwrap(), "now [image 1 · 10 B] last\n");
    kit.composer.set_text(&file.read().unwrap());
    let gone = file.path().to_owned();
    drop(file);
    assert!(!gone.exists());
    assert_eq!(kit.text(), "now [image 1 · 10 B] last|");
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!((draft.text.as_str(), draft.images.len()), ("now [image 1] last", 1));
}

#[cfg(unix)]
#[test]
fn of_what_an_editor_leaves_only_a_plain_file_is_taken() {
    let kit = Kit::new();
    let file = editor::Text::write(kit.folder.path(), "text").unwrap();
    let secret = kit.folder.path().join("secret");
    std::fs::write(&secret, "of somebody else").unwrap();
    for leave in [
        |path: &std::path::Path, secret: &std::path::Path| std::os::unix::fs::symlink(secret, path).unwrap(),
        |path: &std::path::Path, _: &std::path::Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        |path: &std::path::Path, _: &std::path::Path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        },
        |path: &std::path::Path, _: &std::path::Path| std::fs::create_dir(path).unwrap(),
    ] {
        let _ = std::fs::remove_file(file.path());
        leave(file.path(), &secret);
        assert!(file.read().is_err() && file.exact().is_err());
    }
    // What lies around it is its own: a program that tidies up there takes nobody else's.
    assert_ne!(file.path().parent(), Some(kit.folder.path()));
    let folder = file.path().parent().unwrap().to_owned();
    drop(file);
    assert!(!folder.exists() && secret.exists());
}

#[test]
fn the_editor_is_the_one_that_was_set() {
    for (visual, editor, want) in [
        (Some("code --wait"), Some("vim"), &["code", "--wait"][..]),
        (None, Some("vim -u 'a b'"), &["vim", "-u", "a b"]),
        (Some(" "), Some("nano"), &["nano"]),
        (None, None, &["vi"]),
    ] {
        let env = |name: &str| (if name == "VISUAL" { visual } else { editor }).map(str::to_owned);
        assert_eq!(editor::command(env).unwrap(), want);
    }
    assert_eq!(editor::command(|_| Some("it's".to_owned())), None);
}
