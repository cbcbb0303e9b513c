//! Boards at the widths of a narrow, a usual and a wide terminal.

use std::path::PathBuf;

use super::*;
use crate::model::{FileChangeKind, Model, Prices, Usage};
use crate::sandbox::{Caps, Lift, Policy};
use crate::tui::cell::{Cell, Fold};
use crate::tui::host::Facts;
use crate::tui::palette::Theme;
use crate::tui::testing::speaks;
use crate::tui::text::shot::shot;

/// As cells, at each width.
fn drawn(board: impl Fn(View<'_>) -> Vec<Line<'static>>) -> String {
    let palette = Palette::new(Theme::Dark);
    let mut out = String::new();
    for width in [40, 80, 120] {
        let view = View { width, fold: Fold::Folded, palette: &palette };
        let rows = Cell::Board(board(view)).rows(view);
        for row in &rows {
            assert!(row.width() <= usize::from(width), "{width}: {row}");
        }
        out.push_str(&format!("── {width}\n{}\n", shot(&rows)));
    }
    out
}

fn policy(mode: Mode) -> Policy {
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
    Policy {
        mode,
        cwd: "/home/me/shop".into(),
        write_roots: paths(&["/home/me/shop", "/home/me/other"]),
        protect: paths(&["/"]),
        hide: (0..10).map(|_| PathBuf::from("/")).collect(),
        own: Vec::new(),
        watch: Vec::new(),
        opened: Vec::new(),
        net: Net::Off,
        git: GitAccess::Read,
        tmp: Some("/var/tmp/x".into()),
        limits: Caps { processes: 1, address_space: None },
    }
}

#[test]
fn the_sandbox_is_shown_as_it_is_now() {
    let grants = vec![
        format!("write {}", Lift::Path("/home/me/x\u{1b}[2J".into())),
        "run curl x (with network)".into(),
    ];
    let allowed = Allowed { policy: policy(Mode::WorkspaceWrite), grants };
    let machine = "namespaces yes\nnetwork    can be cut off";
    insta::assert_snapshot!("sandbox", drawn(|view| sandbox(&allowed, machine, view.palette)));
    let open = Allowed { policy: policy(Mode::DangerFullAccess), grants: Vec::new() };
    insta::assert_snapshot!("sandbox_none", drawn(|view| sandbox(&open, machine, view.palette)));
}

#[test]
fn the_status_says_what_is_in_force_and_why() {
    let facts = Facts {
        speaks: speaks(),
        session: "0198".into(),
        cwd: "/home/me/shop".into(),
        folder: "~/shop".into(),
        branch: None,
        mode: SessionMode::Ask,
        sandbox: "workspace-write sandbox".into(),
        instructions: vec!["AGENTS.md".into()],
        log: Some("/home/me/.local/share/tack/sessions/0198.jsonl".into()),
        mute: false,
        learns: false,
    };
    let spent = Spent::new(&facts.speaks.model);
    insta::assert_snapshot!("status", drawn(|view| status(&facts, &spent, Some("0198"), view.palette)));
}

#[test]
fn money_is_told_by_model_where_the_price_is_known() {
    let prices = Prices { input: 1.0, output: 10.0, ..Prices::default() };
    let model = Model { prices: Some(prices), ..speaks().model };
    let mut spent = Spent::new(&model);
    let usage = Usage { input: 100_000, output: 10_000, ..Usage::default() };
    spent.by = vec![("kimi-k3 @ moonshot · pi".into(), usage), ("other @ acme · pi".into(), usage)];
    (spent.usage, spent.cost) = (usage, Some(0.2));
    insta::assert_snapshot!("cost", drawn(|view| cost(&spent, view.palette)));
}

#[test]
fn rules_jobs_and_the_end_of_what_one_printed() {
    let all = [
        Rule { project: Some("/home/me/shop".into()), ..Rule::parse("cargo test *").unwrap() },
        Rule { lifts: vec![Lift::Network], ..Rule::parse("cargo fetch *").unwrap() },
    ];
    insta::assert_snapshot!("rules", drawn(|view| rules(&all, view.palette)));
    let job = Job {
        id: "job1".into(),
        command: "npm run dev\u{202e}".into(),
        running: true,
        exit: None,
        output_file: Some("/home/me/.local/share/tack/output-1.txt".into()),
    };
    insta::assert_snapshot!("jobs", drawn(|view| jobs(std::slice::from_ref(&job), view.palette)));
    let printed: String = (0..30).map(|n| format!("line {n}\u{1b}[31m\n")).collect();
    insta::assert_snapshot!("tail", drawn(|view| tail("job1", &printed, view.palette)));
}

#[test]
fn changes_are_shown_by_file_with_what_is_left_out() {
    let change = |path: &str, kind, patch: &str| FileChange {
        path: path.into(),
        kind,
        added: 1,
        removed: 1,
        patch: patch.into(),
        cut: false,
    };
    let files = vec![
        change("src/cart.rs", FileChangeKind::Changed, "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        change("image.png", FileChangeKind::Added, ""),
    ];
    let some = Changes { files, left_out: 3, note: Some("of the time before, only edits are known".into()) };
    insta::assert_snapshot!("changes", drawn(|view| changes(&some, view)));
    insta::assert_snapshot!("changes_none", drawn(|view| changes(&Changes::default(), view)));
}
