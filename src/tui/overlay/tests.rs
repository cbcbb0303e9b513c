//! Pickers and boards as they are drawn, at the widths of a narrow, a usual and a wide terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use super::board::Board;
use super::coming::Coming;
use super::harness::{Did, HarnessPicker, History};
use super::model::{self, ModelPicker, Purpose};
use super::sessions::{self, SessionPicker};
use crate::harness::Carried;
use crate::model::Prices;
use crate::tui::cell::Cell;
use crate::tui::host::{Because, Fit, HarnessRow, Lasts, ModelRow, Reach, SessionRow, Sheet};
use crate::tui::palette::{Palette, Theme};
use crate::tui::testing::speaks;
use crate::tui::text::shot::shot;

fn harnesses() -> Vec<HarnessRow> {
    let row = |id: &str, fit, (tools, tokens): (&str, usize)| {
        let tools: Vec<String> = tools.split(' ').map(str::to_owned).collect();
        HarnessRow {
            id: id.into(),
            fit,
            tools: tools.len(),
            tokens,
            summary: format!("What {id} is for."),
            auto: (id == "kimi-code").then(|| Because::Claims("kimi*".into())),
            sheet: Sheet {
                prompt: tokens / 3,
                tools,
                edits: "old and new text, whole files".into(),
                parallel: id != "minimal",
                thinking: "sent back as it came".into(),
                wires: "chat, messages".into(),
                output: "30 KB, 2000 lines".into(),
                source: format!("{id} 2.1 · 2026-11-30"),
                files: None,
            },
        }
    };
    let cannot = Fit::Cannot("needs the messages wire · provider offers: chat".into());
    vec![
        row("minimal", Fit::Works, ("bash read edit write", 631)),
        row("kimi-code", Fit::Fits, ("Read Write Edit Bash Grep Glob TodoList", 1_974)),
        row("claude-code", Fit::Weak, ("Read Write Edit Bash Task TodoWrite WebFetch", 15_800)),
        row("zcode", cannot, ("shell", 1_222)),
        row("qwen-code", Fit::Works, ("read_file write_file edit run_shell_command Glob", 1_571)),
    ]
}

fn models() -> Vec<ModelRow> {
    let row = |provider: &str, name: &str| ModelRow {
        provider: provider.into(),
        name: name.into(),
        window: Some(262_144),
        vision: Some(true),
        tools: None,
        max_output: Some(32_768),
        prices: Some(Prices { input: 0.6, output: 2.5, cached_input: Some(0.15), cache_write: None }),
        priced: "table of 2026-08".into(),
        local: false,
        remark: String::new(),
        key: "key OK".into(),
        key_from: "MOONSHOT_API_KEY is set".into(),
        harness: Some(("kimi-code".into(), Because::Claims("kimi*".into()))),
    };
    let local = |name: &str| ModelRow {
        local: true,
        prices: None,
        vision: None,
        max_output: None,
        key: "local".into(),
        key_from: String::new(),
        harness: Some(("local".into(), Because::Family("qwen*".into()))),
        ..row("ollama", name)
    };
    let unset =
        |name: &str| ModelRow { key: "no key".into(), key_from: "missing: A_KEY".into(), ..row(name, "") };
    vec![
        ModelRow {
            tools: Some(true),
            window: Some(32_768),
            remark: "loaded".into(),
            ..local("qwen3-coder:30b")
        },
        ModelRow { tools: Some(false), window: None, ..local("a\u{1b}[31mb") },
        row("moonshot", "kimi-k3"),
        ModelRow {
            prices: None,
            window: None,
            vision: None,
            max_output: None,
            harness: None,
            ..row("acme", "acme-coder")
        },
        unset("anthropic"),
        unset("openai"),
    ]
}

/// At each size: a narrow, a usual and a wide terminal, a large one, and one on which little has room.
fn drawn(mut rows: impl FnMut(usize, usize, &Palette) -> Vec<Line<'static>>) -> String {
    let palette = Palette::new(Theme::Dark);
    let mut out = String::new();
    // What a screen of 24 or 50 rows leaves to a picker.
    for (width, height) in [(40, 18), (80, 16), (120, 18), (200, 33), (20, 4)] {
        let shown = rows(width, height, &palette);
        for row in &shown {
            assert!(row.width() <= width, "{width}: {row}");
        }
        assert!(shown.len() <= height, "{width}x{height}: {}", shown.len());
        out.push_str(&format!("── {width}x{height}\n{}\n", shot(&shown)));
    }
    for width in (1..20).chain([59, 60, 109, 110]) {
        for height in 1..8 {
            let shown = rows(width, height, &palette);
            assert!(shown.len() <= height, "{width}x{height}: {}", shown.len());
            for row in shown {
                assert!(row.width() <= width, "{width}x{height}: {row}");
            }
        }
    }
    out
}

fn press(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn control(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

const HISTORY: History = History { messages: 41, calls: 12, cached: 21_000 };

fn picker() -> HarnessPicker {
    let speaks = speaks();
    HarnessPicker::new(&speaks, speaks.model.clone(), HISTORY, harnesses())
}

fn carried() -> Vec<(String, Carried)> {
    let some = Carried { kept: 3, respoken: 2, told: 1, messages: 41, calls: 12, open: 0 };
    let all = Carried { respoken: 0, told: 0, kept: 6, open: 2, ..some };
    vec![("kimi-code".into(), some), ("claude-code".into(), all)]
}

#[test]
fn the_picker_of_harnesses_says_what_a_switch_does() {
    let mut picker = picker();
    insta::assert_snapshot!("harness_in_use", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Home));
    insta::assert_snapshot!("harness_counting", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.carried(carried());
    insta::assert_snapshot!("harness_other", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Switch("kimi-code".into(), Lasts::Run));
    assert_eq!(picker.key(control('s')), Did::Switch("kimi-code".into(), Lasts::Session));
    assert_eq!(picker.key(control('d')), Did::Usual("kimi-code".into()));
    picker.key(press(KeyCode::End));
    insta::assert_snapshot!("harness_barred", drawn(|width, height, p| picker.rows(width, height, p)));
    for key in [press(KeyCode::Enter), control('s'), control('d')] {
        assert_eq!(picker.key(key), Did::Nothing);
    }
    for c in "claude".chars() {
        picker.key(press(KeyCode::Char(c)));
    }
    insta::assert_snapshot!("harness_filtered", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Char('?')));
    insta::assert_snapshot!("harness_none", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Nothing);
    assert_eq!(picker.key(press(KeyCode::Esc)), Did::Redraw);
    assert_eq!(picker.key(press(KeyCode::Esc)), Did::Left);
}

#[test]
fn a_default_says_for_whom_it_is() {
    let speaks = speaks();
    let mut rows = harnesses();
    rows[4].auto = Some(Because::Family("kimi-*".into()));
    rows[1].auto = None;
    let mut picker = HarnessPicker::new(&speaks, speaks.model.clone(), History::default(), rows);
    let rows: Vec<String> =
        picker.rows(100, 20, &Palette::new(Theme::Plain)).iter().map(ToString::to_string).collect();
    assert!(rows[1].contains("qwen-code") && rows[1].contains("your default for kimi-*"), "{rows:?}");
    assert!(rows.iter().any(|row| row.contains("ctrl+d default for kimi-*")), "{rows:?}");
    picker.key(press(KeyCode::Down));
    let rows: Vec<String> =
        picker.rows(100, 20, &Palette::new(Theme::Plain)).iter().map(ToString::to_string).collect();
    assert!(rows.iter().any(|row| row.contains("nothing was said yet")), "{rows:?}");
}

#[test]
fn two_harnesses_are_held_side_by_side() {
    let mut picker = picker();
    picker.carried(carried());
    picker.key(press(KeyCode::Home));
    assert!(!picker.fills());
    picker.key(control('p'));
    assert!(picker.fills());
    insta::assert_snapshot!("compare", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Switch("kimi-code".into(), Lasts::Run));
    // One that is barred is read, not chosen.
    for _ in 0..5 {
        picker.key(press(KeyCode::Right));
    }
    insta::assert_snapshot!("compare_barred", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Nothing);
    assert_eq!(picker.key(press(KeyCode::Esc)), Did::Redraw);
    assert!(!picker.fills());
    // From the one in use it begins with the next.
    let mut picker = self::picker();
    picker.key(control('p'));
    let p = Palette::new(Theme::Plain);
    let rows: Vec<String> = picker.rows(80, 20, &p).iter().map(ToString::to_string).collect();
    assert!(rows[1].contains("qwen-code · in use") && rows[1].matches("qwen-code").count() == 1, "{rows:?}");
}

#[test]
fn the_whole_of_a_comparison_can_be_read_on_a_small_screen() {
    let mut picker = picker();
    picker.key(press(KeyCode::Home));
    picker.key(control('p'));
    let p = Palette::new(Theme::Plain);
    let mut seen = String::new();
    loop {
        picker.rows(40, 8, &p).iter().for_each(|row| seen.push_str(&format!("{row}\n")));
        if picker.key(press(KeyCode::PageDown)) == Did::Nothing {
            break;
        }
    }
    for wanted in ["fit", "each turn", "parallel", "thinking", "shape of", "TodoList", "run_shell_command"] {
        assert!(seen.contains(wanted), "{wanted}: {seen}");
    }
}

#[test]
fn the_picker_of_models_groups_them_and_invents_nothing() {
    let mut picker = ModelPicker::new(Purpose::Switch, &speaks(), 40_000, models());
    insta::assert_snapshot!("model", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Home));
    let did = picker.key(control('t'));
    let model::Did::Try { row, provider, .. } = did else { panic!("{did:?}") };
    assert_eq!(provider, "ollama");
    picker.tried(row, Ok("tool calls work · 412 ms".into()));
    insta::assert_snapshot!("model_tried", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Char('c')));
    picker.key(press(KeyCode::Char('o')));
    insta::assert_snapshot!("model_filtered", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Esc));
    picker.key(press(KeyCode::End));
    insta::assert_snapshot!("model_keyless", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), model::Did::Key("openai".into()));
    // It has no model to try, to think or to speak to.
    for key in [control('t'), control('s'), press(KeyCode::Right)] {
        assert_eq!(picker.key(key), model::Did::Nothing);
    }
    let mut first = ModelPicker::new(Purpose::First, &speaks(), 0, models());
    insta::assert_snapshot!("model_first", drawn(|width, height, p| first.rows(width, height, p)));
    let mut none = ModelPicker::new(Purpose::First, &speaks(), 0, Vec::new());
    insta::assert_snapshot!("model_none", drawn(|width, height, p| none.rows(width, height, p)));
}

#[test]
fn effort_and_duration_go_with_the_choice_of_a_model() {
    let mut picker = ModelPicker::new(Purpose::Switch, &speaks(), 0, models());
    let chosen = |did| match did {
        model::Did::Switch { name, effort, lasts, .. } => (name, effort, lasts),
        other => panic!("{other:?}"),
    };
    assert_eq!(chosen(picker.key(press(KeyCode::Enter))), ("kimi-k3".into(), None, Lasts::Run));
    assert_eq!(picker.key(press(KeyCode::Left)), model::Did::Nothing);
    for want in ["none", "low", "medium", "high", "high"] {
        picker.key(press(KeyCode::Right));
        let (_, effort, lasts) = chosen(picker.key(control('s')));
        assert_eq!((effort.as_deref(), lasts), (Some(want), Lasts::Session));
    }
    for want in [Some("medium"), Some("low"), Some("none"), None] {
        picker.key(press(KeyCode::Left));
        assert_eq!(chosen(picker.key(press(KeyCode::Enter))).1.as_deref(), want);
    }
    let other = picker.key(KeyEvent::new(KeyCode::Char('h'), KeyModifiers::ALT));
    assert_eq!(
        other,
        model::Did::Harness { provider: "moonshot".into(), name: "kimi-k3".into(), effort: None }
    );
    // What the settings say cannot be unset from here.
    let mut set = speaks();
    set.model.effort = Some("low".into());
    let mut picker = ModelPicker::new(Purpose::Switch, &set, 0, models());
    for want in ["none", "none"] {
        picker.key(press(KeyCode::Left));
        assert_eq!(chosen(picker.key(press(KeyCode::Enter))).1.as_deref(), Some(want));
    }
}

fn sessions() -> Vec<SessionRow> {
    let row = |id: &str, title: &str, age| SessionRow {
        id: id.into(),
        folder: "/home/me/shop".into(),
        title: title.into(),
        age,
        turns: 3,
        branch: if id == "1" { "main".into() } else { String::new() },
        speaks: "kimi-k3 · kimi-code".into(),
    };
    vec![row("1", "fix the failing test", 30), row("2", "日本語 and\u{202e} more", 7_300)]
}

#[test]
fn the_picker_of_sessions_names_them_by_what_was_asked_first() {
    for (name, reach) in [("sessions_here", Reach::Folder), ("sessions_all", Reach::All)] {
        let mut picker = SessionPicker::new(reach, sessions());
        insta::assert_snapshot!(name, drawn(|width, height, p| picker.rows(width, height, p)));
    }
    let mut none = SessionPicker::new(Reach::Folder, Vec::new());
    insta::assert_snapshot!("sessions_none", drawn(|width, height, p| none.rows(width, height, p)));
}

#[test]
fn the_end_of_a_session_is_shown_and_follows_the_cursor() {
    use sessions::Did;
    let mut picker = SessionPicker::new(Reach::Folder, sessions());
    assert_eq!(picker.key(press(KeyCode::Char(' '))), Did::Preview("1".into()));
    insta::assert_snapshot!("sessions_reading", drawn(|width, height, p| picker.rows(width, height, p)));
    // That of another comes too late.
    picker.previewed("2", Ok(vec![Cell::Reply("of the other".into())]));
    let said: Vec<Cell> = (1..30).map(|n| Cell::Reply(format!("answer {n}"))).collect();
    picker.previewed("1", Ok(said));
    let shown = drawn(|width, height, p| picker.rows(width, height, p));
    assert!(
        shown.contains("answer 29") && !shown.contains("answer 1\n") && !shown.contains("other"),
        "{shown}"
    );
    insta::assert_snapshot!("sessions_preview", shown);
    assert_eq!(picker.key(press(KeyCode::Down)), Did::Preview("2".into()));
    picker.previewed("2", Err("it cannot be read".into()));
    let shown = drawn(|width, height, p| picker.rows(width, height, p));
    assert!(shown.contains("it cannot be read") && !shown.contains("answer"), "{shown}");
    assert_eq!(picker.key(press(KeyCode::Char(' '))), Did::Redraw);
    assert_eq!(picker.key(press(KeyCode::Up)), Did::Redraw);
}

#[test]
fn a_session_is_deleted_only_after_a_yes() {
    use sessions::Did;
    let mut picker = SessionPicker::new(Reach::Folder, sessions());
    picker.key(control('d'));
    insta::assert_snapshot!("sessions_delete", drawn(|width, height, p| picker.rows(width, height, p)));
    for key in [KeyCode::Enter, KeyCode::Down, KeyCode::Char('x'), KeyCode::Char(' ')] {
        assert_eq!(picker.key(press(key)), Did::Nothing, "{key:?}");
    }
    assert_eq!(picker.key(press(KeyCode::Esc)), Did::Redraw);
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Open("1".into()));
    picker.key(press(KeyCode::Delete));
    assert_eq!(picker.key(press(KeyCode::Char('y'))), Did::Delete("1".into()));
    picker.gone("1");
    let p = Palette::new(Theme::Plain);
    let rows: Vec<String> = picker.rows(80, 10, &p).iter().map(ToString::to_string).collect();
    assert!(!rows.iter().any(|row| row.contains("failing")) && rows[1].contains("日本語"), "{rows:?}");
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Open("2".into()));
}

#[test]
fn a_list_that_is_put_together_says_so() {
    let mut coming = Coming::new("models");
    coming.key(press(KeyCode::Char('q')));
    insta::assert_snapshot!(
        "coming",
        drawn(|width, height, p| coming.rows(width, p).into_iter().take(height).collect())
    );
}

#[test]
fn a_board_is_scrolled_and_left() {
    let rows = (0..30).map(|n| (format!("ctrl+{n}"), format!("does thing {n}"))).collect();
    let mut board = Board::new("Keys", rows);
    insta::assert_snapshot!("board", drawn(|width, height, p| board.rows(width, height, p)));
}
