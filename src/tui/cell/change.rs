//! What a call did to files, as the lines that went and came.

use ratatui::text::{Line, Span};

use super::{Fold, View};
use crate::model::{FileChange, FileChangeKind};
use crate::tui::palette::Extras;
use crate::tui::text::{self, diff};

pub(super) fn rows(changes: &[FileChange], view: View<'_>) -> Vec<Line<'static>> {
    let several = changes.len() > 1;
    let mut rows = Vec::new();
    for change in changes {
        if several {
            rows.push(text::fit(head(change, view), view.columns()));
        }
        // The line above says all of a file that is gone.
        if !several || change.kind != FileChangeKind::Removed || view.fold == Fold::Open {
            rows.extend(one(change, view));
        }
    }
    rows
}

/// The same, each with its file's name over it.
pub fn files(changes: &[FileChange], view: View<'_>) -> Vec<Line<'static>> {
    let one = |change| {
        let mut rows = vec![text::fit(head(change, view), view.columns())];
        rows.extend(one(change, view));
        rows
    };
    changes.iter().flat_map(one).collect()
}

fn head(change: &FileChange, view: View<'_>) -> Line<'static> {
    let p = view.palette;
    let path = text::clean_line(&change.path).into_owned();
    let what = match change.kind {
        FileChangeKind::Added => "new ",
        FileChangeKind::Changed => "",
        FileChangeKind::Removed => "deleted ",
    };
    let path = match &p.extras {
        Extras::Sent { folder: Some(folder) } => text::link::path(path, &change.path, folder),
        Extras::Sent { folder: None } | Extras::None => Span::raw(path),
    };
    let mut head = vec![Span::styled(format!("  {what}"), p.dim), path.patch_style(p.dim)];
    if change.added + change.removed > 0 {
        head.push(Span::styled(format!("  +{}", change.added), p.good));
        head.push(Span::styled(format!(" -{}", change.removed), p.bad));
    }
    Line::from(head)
}

fn one(change: &FileChange, view: View<'_>) -> Vec<Line<'static>> {
    let extent = match view.fold {
        Fold::Folded => diff::Extent::Folded,
        Fold::Open => diff::Extent::Whole,
    };
    let look = diff::Look { path: &change.path, width: view.columns(), palette: view.palette, extent };
    diff::change(change, &look)
}
