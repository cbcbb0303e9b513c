//! What changes of files look like, and that they fit.

use proptest::prelude::*;

use super::super::measure::columns;
use super::super::shot::shot;
use super::*;
use crate::tui::palette::{Palette, Theme};

const BEFORE: &str = "use std::fmt;\n\nfn total(cart: &Cart) -> Amount {\n    let sum = cart.total();\n    let sum = round(sum);\n    sum - cart.discount\n}\n\n// one\n// two\n// three\n// four\n// five\nfn last() {}\n";

fn after() -> String {
    BEFORE
        .replace("let sum = round(sum);\n    sum - cart.discount", "let net = sum - cart.discount;\n    round(net) // once, at the end, so that nothing is rounded twice")
        .replace("last() {}", "last(x: u8) {}")
}

fn look(palette: &Palette, width: usize, extent: Extent) -> Look<'_> {
    Look { path: "src/cart.rs", width, palette, extent }
}

#[test]
fn a_change_looks_right() {
    for theme in [Theme::Dark, Theme::Plain] {
        let palette = Palette::new(theme);
        for width in [40, 80, 120] {
            let rows = lines(BEFORE, &after(), &look(&palette, width, Extent::Folded));
            insta::assert_snapshot!(format!("diff_{theme:?}_{width}").to_lowercase(), shot(&rows));
        }
    }
}

#[test]
fn a_patch_looks_as_its_texts_do() {
    let palette = Palette::new(Theme::Ansi);
    let look = look(&palette, 60, Extent::Folded);
    for (before, after) in [
        (BEFORE, &*after()),
        (BEFORE, ""),
        ("", BEFORE),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nc"),
        ("--- a\n", "+++ b\n"),
        ("", ""),
    ] {
        let unified = similar::TextDiff::from_lines(before, after).unified_diff().to_string();
        for patch_text in [format!("--- a/x\n+++ b/x\n{unified}"), unified] {
            assert_eq!(patch(&patch_text, &look), lines(before, after, &look), "{patch_text}");
        }
    }
}

#[test]
fn long_changes_fold() {
    let palette = Palette::new(Theme::Plain);
    let look = |extent| look(&palette, 60, extent);
    let many = |mark: &str| (1..=60).map(|n| format!("{mark} {n}\n")).collect::<String>();
    let texts = |rows: Vec<Line<'_>>| {
        rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>()
    };
    let (old, new) = (many("old"), many("new"));

    let changed = texts(lines(&old, &new, &look(Extent::Folded)));
    assert_eq!(changed.len(), 40);
    assert_eq!(changed[20], "     ⋯ 81 lines · ctrl+o");
    assert_eq!(changed[39], "  60 + new 60");
    assert_eq!(lines(&old, &new, &look(Extent::Whole)).len(), 120);

    let created = texts(lines("", &new, &look(Extent::Folded)));
    assert_eq!(
        (created.len(), &*created[0], &*created[10]),
        (11, "   1 + new 1", "     ⋯ 50 lines · ctrl+o")
    );
    assert_eq!(texts(lines(&old, "", &look(Extent::Folded))), ["  removed, 60 lines"]);
    assert_eq!(lines(&old, "", &look(Extent::Whole)).len(), 60);
    assert_eq!(renamed("a\u{1b}[1m.rs", &look(Extent::Folded)).to_string(), "  renamed a.rs to src/cart.rs");
}

#[test]
fn a_change_of_a_file_tells_what_is_not_there() {
    let palette = Palette::new(Theme::Plain);
    let told = |kind, patch: &str, cut| {
        let patch = patch.to_owned();
        let made = FileChange { path: "a.rs".into(), kind, added: 2, removed: 1, patch, cut };
        let rows = change(&made, &look(&palette, 60, Extent::Folded));
        rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>()
    };
    let hunk = "@@ -7 +7,2 @@\n-x\n+y\n+z\n";
    for (kind, patch, cut, rows) in [
        (FileChangeKind::Changed, hunk, false, &["  7 - x", "  7 + y", "  8 + z"][..]),
        (FileChangeKind::Changed, hunk, true, &["  7 - x", "  7 + y", "  8 + z", "  ⋯ the rest is not kept"]),
        (FileChangeKind::Changed, "", false, &["  +2 -1"]),
        (FileChangeKind::Added, "", false, &["  new, 2 lines"]),
        (FileChangeKind::Removed, "@@ -1 +0,0 @@\n-x\n", false, &["  removed, 1 line"]),
    ] {
        assert_eq!(told(kind, patch, cut), rows, "{kind:?} {patch}");
    }
}

proptest! {
    #[test]
    fn any_change_fits(
        before in "([a-c日\t\u{1b}]{0,8}\r?\n?){0,6}",
        after in "([a-c日\t\u{1b}]{0,8}\r?\n?){0,6}",
        noise in "([-+@\\\\ ][-+@, 0-9a]{0,12}\n){0,8}",
        width in 1usize..30,
    ) {
        let palette = Palette::new(Theme::Dark);
        for extent in [Extent::Folded, Extent::Whole] {
            let look = look(&palette, width, extent);
            let rows = lines(&before, &after, &look).into_iter().chain(patch(&noise, &look));
            for row in rows {
                prop_assert!(columns(&row) <= width, "{row:?}");
                prop_assert!(!row.to_string().contains(char::is_control), "{row:?}");
            }
        }
    }
}
