//! Pickers and boards as they are drawn, at the widths of a narrow, a usual and a wide terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use super::board::Board;
use super::harness::{Did, HarnessPicker, History};
use super::model::{self, ModelPicker, Purpose};
use super::sessions::SessionPicker;
use crate::model::Prices;
use crate::tui::host::{Fit, HarnessRow, ModelRow, Reach, SessionRow};
use crate::tui::palette::{Palette, Theme};
use crate::tui::testing::speaks;
use crate::tui::text::shot::shot;

fn harnesses() -> Vec<HarnessRow> {
    let row = |id: &str, fit, tools, tokens| HarnessRow {
        id: id.into(),
        fit,
        tools,
        tokens,
        summary: format!("What {id} is for."),
        auto: id == "kimi-code",
        about: vec!["Read Write Edit Bash Grep Glob".into(), "follows kimi-code 2.1.0".into()],
    };
    vec![
        row("minimal", Fit::Works, 5, 631),
        row("kimi-code", Fit::Fits, 14, 1_974),
        row("claude-code", Fit::Weak, 17, 15_800),
        row("zcode", Fit::Cannot("needs the messages wire; provider offers: chat".into()), 9, 1_222),
        row("qwen-code", Fit::Works, 11, 1_571),
    ]
}

fn models() -> Vec<ModelRow> {
    let row = |provider: &str, name: &str| ModelRow {
        provider: provider.into(),
        name: name.into(),
        window: Some(262_144),
        vision: Some(true),
        tools: None,
        prices: Some(Prices { input: 0.6, output: 2.5, ..Prices::default() }),
        local: false,
        remark: String::new(),
    };
    vec![
        ModelRow {
            local: true,
            prices: None,
            tools: Some(true),
            vision: None,
            window: Some(32_768),
            remark: "loaded".into(),
            ..row("ollama", "qwen3-coder:30b")
        },
        ModelRow {
            local: true,
            prices: None,
            tools: Some(false),
            vision: None,
            window: None,
            ..row("ollama", "a\u{1b}[31mb")
        },
        row("moonshot", "kimi-k3"),
        ModelRow { prices: None, window: None, vision: None, ..row("acme", "acme-coder") },
        row("anthropic", ""),
        row("openai", ""),
    ]
}

/// At each width, on so many rows.
fn drawn(mut rows: impl FnMut(usize, usize, &Palette) -> Vec<Line<'static>>) -> String {
    let palette = Palette::new(Theme::Dark);
    let mut out = String::new();
    for width in [40, 80, 120] {
        let shown = rows(width, 18, &palette);
        for row in &shown {
            assert!(row.width() <= width, "{width}: {row}");
        }
        out.push_str(&format!("── {width}\n{}\n", shot(&shown)));
    }
    for width in 1..20 {
        for height in 1..8 {
            for row in rows(width, height, &palette) {
                assert!(row.width() <= width, "{width}x{height}: {row}");
            }
        }
    }
    out
}

fn press(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

#[test]
fn the_picker_of_harnesses_says_what_a_switch_does() {
    let history = History { messages: 41, calls: 12, cached: 21_000 };
    let mut picker = HarnessPicker::new(&speaks(), history, harnesses());
    insta::assert_snapshot!("harness_in_use", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Home));
    insta::assert_snapshot!("harness_other", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Switch("kimi-code".into()));
    picker.key(press(KeyCode::End));
    insta::assert_snapshot!("harness_barred", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Nothing);
    assert_eq!(picker.key(press(KeyCode::Esc)), Did::Left);
}

#[test]
fn the_picker_of_models_groups_them_and_invents_nothing() {
    let mut picker = ModelPicker::new(Purpose::Switch, &speaks(), 21_000, models());
    insta::assert_snapshot!("model", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::Home));
    let did = picker.key(KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL));
    let model::Did::Try { row, provider, .. } = did else { panic!("{did:?}") };
    assert_eq!(provider, "ollama");
    picker.tried(row, Ok("tool calls work · 412 ms".into()));
    insta::assert_snapshot!("model_tried", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::End));
    assert_eq!(picker.key(press(KeyCode::Enter)), model::Did::Key("openai".into()));
    let mut first = ModelPicker::new(Purpose::First, &speaks(), 0, models());
    insta::assert_snapshot!("model_first", drawn(|width, height, p| first.rows(width, height, p)));
    let mut none = ModelPicker::new(Purpose::First, &speaks(), 0, Vec::new());
    insta::assert_snapshot!("model_none", drawn(|width, height, p| none.rows(width, height, p)));
}

#[test]
fn the_picker_of_sessions_names_them_by_what_was_asked_first() {
    let row = |id: &str, title: &str, age| SessionRow {
        id: id.into(),
        folder: "/home/me/shop".into(),
        title: title.into(),
        age,
        turns: 3,
        speaks: String::new(),
    };
    let rows = vec![row("1", "fix the failing test", 30), row("2", "日本語 and\u{202e} more", 7_300)];
    for (name, reach) in [("sessions_here", Reach::Folder), ("sessions_all", Reach::All)] {
        let mut picker = SessionPicker::new(reach, rows.clone());
        insta::assert_snapshot!(name, drawn(|width, height, p| picker.rows(width, height, p)));
    }
}

#[test]
fn a_board_is_scrolled_and_left() {
    let rows = (0..30).map(|n| (format!("ctrl+{n}"), format!("does thing {n}"))).collect();
    let mut board = Board::new("Keys", rows);
    insta::assert_snapshot!("board", drawn(|width, height, p| board.rows(width, height, p)));
}
