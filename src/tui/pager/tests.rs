//! The pager by its keys and its screen.

use serde_json::json;

use super::*;
use crate::model::{Action, FileChange, FileChangeKind, Outcome};
use crate::tui::cell::Called;
use crate::tui::palette::Theme;

fn cells(count: usize) -> Vec<Cell> {
    (0..count).map(|n| Cell::Said { text: format!("message {n}"), images: 0 }).collect()
}

fn text_at(pager: &mut Pager, cells: &[Cell], width: u16) -> Vec<String> {
    let p = Palette::new(Theme::Plain);
    let rows = pager.screen(cells, (width, 7), &p);
    assert!(rows.iter().all(|row| row.width() <= usize::from(width)), "{rows:?}");
    rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect()
}

fn text(pager: &mut Pager, cells: &[Cell]) -> Vec<String> {
    text_at(pager, cells, 40)
}

/// What stands beside the mark of the chosen block.
fn chosen(pager: &mut Pager, cells: &[Cell]) -> String {
    let rows = text(pager, cells);
    rows.iter().find_map(|row| row.strip_prefix(CHOSEN)).unwrap_or_default().to_owned()
}

fn press(pager: &mut Pager, cells: &[Cell], keys: &str) -> Did {
    let mut did = Did::Nothing;
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '<' => KeyCode::BackTab,
            c => KeyCode::Char(c),
        };
        did = pager.key(KeyEvent::new(code, KeyModifiers::NONE), cells);
        text(pager, cells);
    }
    did
}

fn ran(command: &str, lines: usize) -> Cell {
    let output: String = (1..=lines).map(|n| format!("line {n}\n")).collect();
    let outcome = Outcome { exit: Some(3), data: json!({ "job": "b1" }), ..Outcome::ok(output) };
    Cell::Call(Box::new(Called { action: Action::shell(command, None), outcome }))
}

#[test]
fn it_opens_at_the_end_and_goes_to_both_ends() {
    let cells = cells(100);
    let mut pager = Pager::new();
    assert_eq!(chosen(&mut pager, &cells), "› message 99");
    assert!(pager.rows.len() < 10, "only what is in sight is laid out: {}", pager.rows.len());
    press(&mut pager, &cells, "g");
    assert_eq!(text(&mut pager, &cells)[0], "▌ › message 0");
    press(&mut pager, &cells, "G");
    assert_eq!(chosen(&mut pager, &cells), "› message 99");
}

#[test]
fn it_opens_at_a_cell_and_goes_from_block_to_block() {
    let cells = cells(100);
    let mut pager = Pager::at(40);
    assert_eq!(text(&mut pager, &cells)[0], "▌ › message 40");
    press(&mut pager, &cells, "\t\t");
    assert_eq!(chosen(&mut pager, &cells), "› message 42");
    press(&mut pager, &cells, "<<<<<");
    assert_eq!(text(&mut pager, &cells)[0], "▌ › message 37");
    // A block that is scrolled out of sight is not the chosen one any more.
    press(&mut pager, &cells, "jjjjjj");
    assert_eq!(chosen(&mut pager, &cells), "› message 40");
    assert_eq!(press(&mut pager, &cells, "y"), Did::Copy("message 40".into()));
}

#[test]
fn a_search_begins_with_what_is_in_sight_and_goes_up_to_what_was_not_laid_out() {
    let cells = cells(100);
    let mut pager = Pager::new();
    press(&mut pager, &cells, "/MESSAGE 9\n");
    assert_eq!(chosen(&mut pager, &cells), "› message 99");
    press(&mut pager, &cells, "nnn");
    assert_eq!(chosen(&mut pager, &cells), "› message 96");
    press(&mut pager, &cells, "N");
    assert_eq!(chosen(&mut pager, &cells), "› message 97");
    press(&mut pager, &cells, "/message 42\n");
    assert_eq!(text(&mut pager, &cells)[0], "▌ › message 42");
    press(&mut pager, &cells, "n");
    assert!(text(&mut pager, &cells).last().unwrap().contains("no more"));
    press(&mut pager, &cells, "/nowhere\n");
    assert!(text(&mut pager, &cells).last().unwrap().contains("no more"));
}

#[test]
fn what_was_found_stands_out_where_it_is() {
    let p = Palette::new(Theme::Plain);
    let cells = [Cell::Reply("one Two **two**".into())];
    let mut pager = Pager::new();
    press(&mut pager, &cells, "/two\n");
    let row = &pager.screen(&cells, (40, 7), &p)[0];
    let found: Vec<&str> = row
        .spans
        .iter()
        .filter(|span| span.style.add_modifier.contains(ratatui::style::Modifier::REVERSED))
        .map(|span| span.content.as_ref())
        .collect();
    assert_eq!(found, ["Two", "two"]);
}

#[test]
fn a_block_is_folded_shown_raw_and_told_in_detail() {
    let cells = [cells(1), vec![ran("cargo test", 30)]].concat();
    let mut pager = Pager::at(1);
    assert!(text(&mut pager, &cells)[0].contains("Ran cargo test  ✗ exit 3"));
    press(&mut pager, &cells, " ");
    assert!(text(&mut pager, &cells)[3].contains("⋯"), "{:?}", text(&mut pager, &cells));
    press(&mut pager, &cells, " r");
    assert_eq!(text(&mut pager, &cells)[..2], ["▌ $ cargo test", "▌ line 1"]);
    press(&mut pager, &cells, "r\n");
    assert_eq!(text(&mut pager, &cells)[0], "▌ call {");
    let whole = plain(&cells[1].detail(), 80).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in ["\"command\": \"cargo test\"", "\"exit\": 3", "\"job\": \"b1\"", "line 1\n", "line 30"] {
        assert!(whole.contains(part), "{part} in {whole}");
    }
    press(&mut pager, &cells, "\n");
    assert!(text(&mut pager, &cells)[0].contains("Ran cargo test"));
}

#[test]
fn a_change_stands_side_by_side_where_there_is_room() {
    let change = FileChange {
        path: "a.rs".into(),
        kind: FileChangeKind::Changed,
        added: 2,
        removed: 1,
        patch: "@@ -7,3 +7,4 @@\n let a = 1;\n-let b = 2;\n+let b = 3;\n+let c = 4;\n done\n".into(),
        cut: false,
    };
    let action = Action::Edit { path: "a.rs".into(), edits: Vec::new(), first: false };
    let outcome = Outcome { changes: vec![change], ..Outcome::ok("done") };
    let cells = [Cell::Call(Box::new(Called { action, outcome }))];
    let rows = |width| text_at(&mut Pager::new(), &cells, width);
    assert!(rows(130)[1].ends_with("8 - let b = 2;"), "{:?}", rows(130));
    let wide = rows(150);
    let left = wide[2].find("8 - let b = 2;").unwrap();
    let right = wide[2].find("8 + let b = 3;").unwrap();
    assert!(left < right, "{wide:?}");
    assert!(wide[3].contains("9 + let c = 4;") && !wide[3].contains('-'), "{wide:?}");
}

#[test]
fn the_place_is_kept_when_the_screen_gets_another_size() {
    let cells = cells(100);
    let mut pager = Pager::at(40);
    text(&mut pager, &cells);
    assert_eq!(text_at(&mut pager, &cells, 20)[0], "▌ › message 40");
}

#[test]
fn an_empty_transcript_has_a_pager_too() {
    let mut pager = Pager::new();
    assert_eq!(text(&mut pager, &[]).len(), 7);
    press(&mut pager, &[], "gG/x\nny r\n\t< j");
}
