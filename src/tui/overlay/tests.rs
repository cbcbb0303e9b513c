//! Pickers and boards as they are drawn, at the widths of a narrow, a usual and a wide terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use super::board::Board;
use super::harness::{Did, HarnessPicker, History};
use super::model::{self, ModelPicker, Purpose};
use super::sessions::SessionPicker;
use crate::model::Prices;
use crate::tui::host::{Fit, HarnessRow, ModelRow, Origin, ProviderRow, Reach, SessionRow};
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

fn providers() -> Vec<ProviderRow> {
    let row = |id: &str, key: &str, ready, origin, answers| ProviderRow {
        id: id.into(),
        name: format!("{id} Inc."),
        address: format!("https://api.{id}.example/v1"),
        wires: "chat responses".into(),
        key: key.into(),
        ready,
        origin,
        answers,
    };
    vec![
        row("openai", "missing: OPENAI_API_KEY", false, Origin::BuiltIn, None),
        row("ollama", "none needed", true, Origin::BuiltIn, Some(true)),
        row("vllm", "none needed", true, Origin::BuiltIn, Some(false)),
        row("moonshot", "stored in the keychain", true, Origin::BuiltIn, None),
        row("acme", "none needed", true, Origin::Own, None),
    ]
}

fn control(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

#[test]
fn providers_are_tested_added_and_taken_away_after_a_question() {
    use super::provider::{Did, ProviderPicker};
    let mut picker = ProviderPicker::new(providers());
    insta::assert_snapshot!("providers", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Test("acme".into()));
    insta::assert_snapshot!("providers_asked", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.tried("acme", Err("acme refused the key that ends …3f2a (401)\u{1b}[2J".into()));
    insta::assert_snapshot!("providers_refused", drawn(|width, height, p| picker.rows(width, height, p)));
    assert_eq!(picker.key(control('k')), Did::Key("acme".into()));
    for (answer, did) in [('n', Did::Redraw), ('y', Did::Remove("acme".into()))] {
        assert_eq!(picker.key(control('d')), Did::Redraw);
        insta::assert_snapshot!(
            "providers_question",
            drawn(|width, height, p| picker.rows(width, height, p))
        );
        assert_eq!(picker.key(press(KeyCode::Char(answer))), did);
    }
    // What is built in stays; only its stored key goes.
    picker.key(press(KeyCode::Down));
    assert_eq!(picker.key(control('d')), Did::Nothing);
    picker.key(press(KeyCode::Down));
    picker.key(press(KeyCode::Down));
    picker.key(control('d'));
    assert_eq!(picker.key(press(KeyCode::Char('y'))), Did::Forget("moonshot".into()));
    picker.key(press(KeyCode::Down));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Key("openai".into()));
    insta::assert_snapshot!("providers_keyless", drawn(|width, height, p| picker.rows(width, height, p)));
    picker.key(press(KeyCode::End));
    assert_eq!(picker.key(press(KeyCode::Enter)), Did::Add);
    assert_eq!(picker.key(press(KeyCode::Esc)), Did::Left);
}

#[test]
fn a_server_is_entered_and_its_key_never_shown() {
    use super::server::{Did, ServerForm};
    let mut form = ServerForm::default();
    insta::assert_snapshot!("server_empty", drawn(|width, height, p| form.rows(width, height, p)));
    form.paste("https://api.acme.example/v1\n");
    form.key(press(KeyCode::Enter));
    form.key(press(KeyCode::Tab));
    form.key(press(KeyCode::Right));
    form.key(press(KeyCode::Enter));
    form.paste("sk-secret-1");
    insta::assert_snapshot!("server_full", drawn(|width, height, p| form.rows(width, height, p)));
    let Did::Entered(new) = form.key(press(KeyCode::Enter)) else { panic!("not entered") };
    assert_eq!((new.id.as_str(), new.url.as_str()), ("acme", "https://api.acme.example/v1"));
    assert_eq!(new.wire, Some(crate::model::WireKind::Chat));
    assert_eq!(new.key.as_ref().map(|key| key.0.as_str()), Some("sk-secret-1"));
    assert!(!format!("{new:?}").contains("secret"));
    // Nothing is typed into it while its server is asked.
    assert!(matches!(form.key(press(KeyCode::Char('x'))), Did::Nothing));
    form.failed("nothing answers at api.acme.example".into());
    insta::assert_snapshot!("server_failed", drawn(|width, height, p| form.rows(width, height, p)));
    for (address, id) in
        [("localhost:8080", "own"), ("10.0.0.7:80/v1", "own"), ("llm.my-lab.org", "my-lab"), ("box", "box")]
    {
        let mut form = ServerForm::default();
        form.paste(address);
        let Did::Entered(new) = (0..4).map(|_| form.key(press(KeyCode::Enter))).last().unwrap() else {
            panic!("{address}")
        };
        assert_eq!(new.id, id);
    }
}

#[test]
fn the_first_start_leads_on_from_every_row() {
    let mut first = ModelPicker::new(Purpose::First, &speaks(), 0, Vec::new());
    for did in [model::Did::Providers, model::Did::Address, model::Did::Left] {
        assert_eq!(first.key(press(KeyCode::Enter)), did);
        first.key(press(KeyCode::Down));
    }
}

#[test]
fn a_board_is_scrolled_and_left() {
    let rows = (0..30).map(|n| (format!("ctrl+{n}"), format!("does thing {n}"))).collect();
    let mut board = Board::new("Keys", rows);
    insta::assert_snapshot!("board", drawn(|width, height, p| board.rows(width, height, p)));
}
