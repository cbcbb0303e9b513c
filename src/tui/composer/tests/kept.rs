//! What is kept in the state folder: history and drafts.

use std::time::{Duration, Instant};

use super::*;

impl Kit {
    /// The program started again in the same folder, or in another.
    fn again(&self, folder: &Path, session: &str) -> Composer {
        Composer::new(settings(folder, self.state.path(), session))
    }

    fn kept(&self, dir: &str) -> Vec<PathBuf> {
        private::files(&self.state.path().join(dir))
    }
}

#[test]
fn up_leafs_through_what_was_sent() {
    let mut kit = Kit::new();
    for text in ["one", "two", "two", "three\nlines"] {
        kit.composer.set_text(text);
        kit.keys("enter");
    }
    kit.types("mine");
    for (keys, want) in [
        ("up", "three\nlines|"),
        ("up", "three|\nlines"),
        ("up", "two|"),
        ("up", "one|"),
        ("up", "one|"),
        ("down down", "three\nlines|"),
        ("down", "mine|"),
        ("down", "mine|"),
    ] {
        kit.keys(keys);
        assert_eq!(kit.text(), want, "{keys}");
    }
}

#[test]
fn a_text_from_the_history_has_its_blocks() {
    let mut kit = Kit::new();
    kit.types("see ");
    kit.composer.paste(&"line\n".repeat(20));
    kit.keys("enter");
    kit.composer = kit.again(kit.folder.path(), "two");
    kit.keys("up");
    assert_eq!(kit.text(), "see [pasted 20 lines · 100 B]|");
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!(draft.text, format!("see {}", "line\n".repeat(20)));
}

#[test]
fn history_is_the_folders_own_until_all_are_searched() {
    let mut kit = Kit::new();
    let other = TempDir::new().unwrap();
    for text in ["fix the cart", "test the cart", "deploy"] {
        kit.sends(text);
    }
    kit.composer = kit.again(other.path(), "two");
    kit.keys("up");
    assert_eq!(kit.text(), "|");
    kit.sends("paint the cart");
    for (typed, keys, want) in [
        ("cart", "enter", "paint the cart|"),
        ("fix", "enter", "|"),
        ("fix", "ctrl+r enter", "fix the cart|"),
        ("cart the", "ctrl+r down tab", "test the cart|"),
        ("cart", "ctrl+r esc", "|"),
        ("depx", "ctrl+r backspace enter", "deploy|"),
    ] {
        kit.set("|");
        kit.keys("ctrl+r");
        kit.types(typed);
        kit.keys(keys);
        assert_eq!(kit.text(), want, "{typed} {keys}");
        assert!(!kit.composer.has_popup());
    }
}

#[test]
fn a_broken_line_of_history_costs_only_itself() {
    let mut kit = Kit::new();
    kit.sends("one");
    let file = kit.kept("history").remove(0);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"at\":1,\"fol");
    std::fs::write(&file, text).unwrap();
    kit.composer = kit.again(kit.folder.path(), "two");
    kit.sends("two");
    kit.composer = kit.again(kit.folder.path(), "three");
    kit.keys("up up");
    assert_eq!(kit.text(), "one|");
}

#[test]
fn a_very_long_text_is_kept_short() {
    let mut kit = Kit::new();
    kit.composer.paste(&"0123456789\n".repeat(10_000));
    kit.keys("enter");
    kit.keys("up");
    assert!(matches!(kit.composer.parts()[..], [Part::Paste(_)]), "this session still has it");
    let file = kit.kept("history").remove(0);
    assert!(file.metadata().unwrap().len() < 1_000);
    kit.composer = kit.again(kit.folder.path(), "two");
    kit.keys("up");
    assert_eq!(kit.text(), "[pasted 10000 lines · 110 KB]|");
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_what_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let mut kit = Kit::new();
    kit.sends("one");
    kit.types("two");
    kit.composer.save_due(Instant::now(), &[]);
    for dir in ["history", "drafts"] {
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&kit.state.path().join(dir)), 0o700);
        let files = kit.kept(dir);
        assert!(!files.is_empty());
        for file in files {
            assert_eq!(mode(&file), 0o600, "{file:?}");
        }
    }
}

#[test]
fn a_draft_survives_a_crash() {
    let mut kit = Kit::new();
    kit.types("half");
    kit.composer.paste(&"line\n".repeat(20));
    let queued = Kit::new().sends("!make");
    assert!(!kit.composer.save_due(Instant::now(), std::slice::from_ref(&queued)));
    // Another session of the folder does not take it from a running one.
    let mut other = kit.again(kit.folder.path(), "two");
    assert_eq!(other.recover(), []);
    // A crash: nothing is tidied up, the system frees the lock.
    let kept = kit.kept("drafts");
    let copies: Vec<_> = kept.iter().map(|file| (file, std::fs::read(file).unwrap())).collect();
    kit.composer = kit.again(kit.folder.path(), "none");
    for (file, bytes) in copies {
        std::fs::write(file, bytes).unwrap();
    }
    kit.composer = kit.again(kit.folder.path(), "three");
    let queue = kit.composer.recover();
    assert_eq!(kit.text(), "half[pasted 20 lines · 100 B]|");
    assert_eq!(queue, [queued]);
    assert_eq!(kit.again(kit.folder.path(), "four").recover(), []);
}

#[test]
fn two_sessions_of_one_name_keep_two_drafts() {
    let mut kit = Kit::new();
    kit.types("mine");
    kit.composer.save_due(Instant::now(), &[]);
    let mut other = kit.again(kit.folder.path(), "one");
    other.paste("theirs");
    other.save_due(Instant::now(), &[]);
    drop(other);
    let mut later = kit.again(kit.folder.path(), "one");
    later.recover();
    assert_eq!(later.editor_text(), "theirs");
    drop(std::mem::replace(&mut kit.composer, later));
    let mut last = kit.again(kit.folder.path(), "one");
    last.recover();
    assert_eq!(last.editor_text(), "mine");
}

#[test]
fn drafts_are_written_once_a_second_and_only_when_changed() {
    let mut kit = Kit::new();
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let written = |kit: &Kit| {
        let json = kit.kept("drafts").into_iter().find(|file| file.extension().is_some_and(|e| e == "json"));
        json.map(|file| std::fs::read_to_string(file).unwrap())
    };
    assert!(!kit.composer.save_due(at(0), &[]));
    assert_eq!(written(&kit), None);
    kit.types("a");
    assert!(!kit.composer.save_due(at(10), &[]));
    let first = written(&kit);
    assert!(first.is_some());
    kit.types("b");
    assert!(kit.composer.save_due(at(900), &[]), "it is to be called again");
    assert_eq!(written(&kit), first);
    assert!(!kit.composer.save_due(at(1_010), &[]));
    assert_ne!(written(&kit), first);
    // What is sent leaves nothing.
    kit.keys("enter");
    assert!(!kit.composer.save_due(at(3_000), &[]));
    assert_eq!(written(&kit), None);
}

#[cfg(unix)]
#[test]
fn a_state_folder_that_cannot_be_written_stops_nothing() {
    let kit = Kit::new();
    std::fs::write(kit.state.path().join("history"), "").unwrap();
    std::fs::write(kit.state.path().join("drafts"), "").unwrap();
    let mut kit = Kit { composer: kit.again(kit.folder.path(), "two"), ..kit };
    assert_eq!(kit.composer.recover(), []);
    kit.sends("one");
    kit.types("two");
    kit.composer.save_due(Instant::now(), &[]);
    kit.set("|");
    kit.keys("up");
    assert_eq!(kit.text(), "one|");
}
