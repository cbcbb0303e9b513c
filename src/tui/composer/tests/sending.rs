//! What Enter and the other keys of the table come to, idle and while a turn runs.

use super::*;

fn act(did: &Did) -> &Act {
    match did {
        Did::Act(act) => act,
        other => panic!("{other:?} is no act"),
    }
}

#[test]
fn keys_say_what_is_to_be_done() {
    for (text, state, keys, want) in [
        ("", State::Idle, "esc esc", Act::Rewind),
        ("", State::Working, "esc", Act::Stop),
        ("a|", State::Working, "esc", Act::Stop),
        ("", State::Idle, "ctrl+c", Act::ClearOrExit),
        ("a|", State::Working, "ctrl+c", Act::ClearOrExit),
        ("", State::Idle, "ctrl+d", Act::Exit),
        ("", State::Working, "ctrl+s", Act::Steer(None)),
        ("", State::Idle, "ctrl+g", Act::Editor),
        ("", State::Idle, "ctrl+v", Act::PasteClipboard),
        ("", State::Idle, "shift+tab", Act::CycleMode),
        ("", State::Idle, "ctrl+t", Act::Transcript),
        ("", State::Idle, "ctrl+o", Act::Fold),
        ("", State::Idle, "alt+m", Act::ModelPicker),
        ("", State::Working, "alt+h", Act::HarnessPicker),
        ("", State::Idle, "ctrl+l", Act::Redraw),
        ("", State::Idle, "ctrl+z", Act::Suspend),
        ("", State::Idle, "?", Act::KeySheet),
    ] {
        let mut kit = Kit::with(text);
        kit.composer.set_state(state);
        assert_eq!(*act(&kit.keys(keys)), want, "{text:?} {state:?} {keys}");
    }
}

#[test]
fn what_has_nothing_to_do_does_nothing() {
    for (text, keys) in
        [("", "enter"), ("  |", "esc"), ("", "esc left esc"), ("a|", "esc esc"), ("", "tab"), ("", "up")]
    {
        let mut kit = Kit::with(text);
        let did = kit.keys(keys);
        assert!(matches!(did, Did::Nothing | Did::Edited), "{text:?} {keys}: {did:?}");
        assert_eq!(kit.text(), if text.is_empty() { "|" } else { text });
    }
    let mut kit = Kit::with("a|");
    kit.keys("?");
    assert_eq!(kit.text(), "a?|");
}

#[test]
fn enter_sends_and_queues() {
    let mut kit = Kit::new();
    let draft = kit.sends("fix it");
    assert_eq!((draft.text.as_str(), &draft.kind), ("fix it", &Kind::Prompt));
    assert!(kit.composer.is_empty());

    kit.composer.set_state(State::Working);
    kit.types("then this");
    let did = kit.keys("enter");
    let Act::Queue(queued) = act(&did) else { panic!("{did:?}") };
    assert_eq!(queued.text, "then this");
    kit.types("now");
    let did = kit.keys("ctrl+s");
    let Act::Steer(Some(now)) = act(&did) else { panic!("{did:?}") };
    assert_eq!(now.text, "now");

    kit.composer.set_queued(1);
    assert_eq!(kit.keys("up"), Did::Act(Act::EditLastQueued));
    kit.composer.restore(queued);
    assert_eq!(kit.text(), "then this|");
    kit.composer.restore(now);
    assert_eq!(kit.text(), "now\nthen this|");
}

#[test]
fn a_draft_is_put_aside_and_comes_back() {
    let mut kit = Kit::with("half a thou|ght");
    kit.keys("ctrl+s");
    assert_eq!(kit.text(), "|");
    kit.types("other");
    kit.keys("ctrl+s");
    assert_eq!(kit.text(), "half a thought|");
    kit.keys("ctrl+s");
    assert_eq!(kit.text(), "other|");
    kit.sends("");
    kit.keys("ctrl+s");
    assert_eq!(kit.text(), "half a thought|");
}

#[test]
fn commands_begin_the_text() {
    let command = |name: &str, args: &str| Kind::Command { name: name.to_owned(), args: args.to_owned() };
    for (text, kind) in [
        ("!git status", Kind::Shell("git status".to_owned())),
        ("!! ls", Kind::PrivateShell("ls".to_owned())),
        (" !ls", Kind::Prompt),
        ("wow!", Kind::Prompt),
        ("/rename a b ", command("rename", "a b")),
        ("/quit ", command("exit", "")),
        ("/model", command("model", "")),
        (" /model", Kind::Prompt),
        ("/usr/bin is slow", Kind::Prompt),
        ("/* a comment */", Kind::Prompt),
    ] {
        let draft = Kit::new().sends(text);
        assert_eq!(draft.kind, kind, "{text}");
    }
}

#[test]
fn what_cannot_be_sent_stays_with_a_note() {
    for (text, note) in [
        ("/modle now", "there is no command /modle; did you mean /model?"),
        ("/", "there is no command /; / lists them"),
        ("!", "write a command behind !, like !git status"),
        ("!!", "write a command behind !, like !git status"),
        ("/compact ", "/compact waits for the end of the turn; esc stops it"),
    ] {
        let mut kit = Kit::with(text);
        kit.composer.set_state(State::Working);
        assert_eq!(kit.keys("enter"), Did::Edited, "{text}");
        assert_eq!(kit.composer.note.as_deref(), Some(note));
        assert_eq!(kit.text(), format!("{text}|"));
        kit.keys("left");
        assert_eq!(kit.composer.note, None);
    }
}

#[test]
fn the_list_of_commands_completes() {
    for (typed, keys, want) in [
        ("/mod", "tab", "/model |"),
        ("/", "tab", "/model |"),
        ("/", "down tab", "/harness |"),
        ("/", "up tab", "/exit |"),
        ("/hs", "tab", "/harness |"),
        ("/quit", "tab", "/exit |"),
        ("/ren", "enter", "/rename |"),
        // A word of the help counts from three letters on.
        ("/su", "tab", "/su|"),
        ("/summ", "tab", "/compact |"),
        ("/zzz", "tab", "/zzz|"),
        ("a /mod", "tab", "a /mod|"),
        ("/mod", "esc tab tab", "/model |"),
    ] {
        let mut kit = Kit::new();
        kit.types(typed);
        kit.keys(keys);
        assert_eq!(kit.text(), want, "{typed} {keys}");
    }
    let mut kit = Kit::with("/ha| kimi-code");
    kit.types("r");
    kit.keys("tab");
    assert_eq!(kit.text(), "/harness |kimi-code");
}

#[test]
fn enter_runs_a_command_of_the_list() {
    let mut kit = Kit::new();
    kit.types("/mo");
    let Did::Send(draft) = kit.keys("enter") else { panic!("not sent") };
    assert_eq!(draft.kind, Kind::Command { name: "model".to_owned(), args: String::new() });
    // What waits for the end of the turn is not offered during it.
    kit.composer.set_state(State::Working);
    kit.types("/comp");
    assert!(!kit.composer.has_popup());
}

#[test]
fn keys_can_be_changed() {
    let (keymap, wrong) =
        Keymap::with([("steer", "F5 ctrl+x"), ("undo", "ctrl+t"), ("fly", "ctrl+x"), ("yank", "ctrl+nope")]);
    insta::assert_snapshot!(wrong.join("\n"), @r"
    tui.keys: there is no action fly; /keys lists them
    tui.keys.yank: ctrl+nope is no key; write it like ctrl+x or alt+enter
    tui.keys: ctrl+t is bound to undo and transcript; it stays with undo
    ");
    assert_eq!(keymap.keys(Action::Steer), "f5, ctrl+x");
    assert_eq!(keymap.action(&press("ctrl+t")), Some(Action::Undo));
    assert_eq!(keymap.action(&press("ctrl+s")), None);
}

#[test]
fn the_usual_keys_do_not_collide() {
    let (keymap, wrong) = Keymap::with([]);
    assert_eq!(wrong, [""; 0]);
    let rows = sheet(&keymap);
    let wide = rows.iter().map(|(keys, ..)| keys.len()).max().unwrap();
    let lines: Vec<String> =
        rows.iter().map(|(keys, name, help)| format!("{keys:wide$}  {name:16} {help}")).collect();
    insta::assert_snapshot!("key_sheet", lines.join("\n"));
}

#[test]
fn a_key_is_the_same_however_it_is_told() {
    for (key, code, mods) in [
        ("ctrl+x", KeyCode::Char('X'), KeyModifiers::CONTROL | KeyModifiers::SHIFT),
        ("shift+tab", KeyCode::BackTab, KeyModifiers::SHIFT),
        ("shift+tab", KeyCode::BackTab, KeyModifiers::NONE),
        ("?", KeyCode::Char('?'), KeyModifiers::SHIFT),
        ("A", KeyCode::Char('a'), KeyModifiers::SHIFT),
        ("alt+<", KeyCode::Char('<'), KeyModifiers::ALT | KeyModifiers::SHIFT),
        ("ctrl++", KeyCode::Char('+'), KeyModifiers::CONTROL),
        ("space", KeyCode::Char(' '), KeyModifiers::NONE),
    ] {
        assert_eq!(Chord::parse(key), Some(Chord::of(&KeyEvent::new(code, mods))), "{key}");
    }
    for wrong in ["", "ctrl+", "ctrl+ab", "f25", "hyper+a", "\u{1b}"] {
        assert_eq!(Chord::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_second_escape_takes_a_lone_slash_away() {
    let mut kit = Kit::new();
    kit.keys("/ esc");
    assert!(!kit.composer.has_popup() && !kit.composer.is_empty(), "the first closes the list");
    kit.keys("esc");
    assert!(kit.composer.is_empty());
}
