//! `tack harness check`: every bad manifest is named, with file and line, and none gets into a session.

use std::path::Path;

use tack::harness::{Library, Report};

#[test]
fn the_built_in_ones_are_sound() {
    let library = Library::new(Vec::new());
    for id in library.ids() {
        let report = library.report(&id);
        assert!(report.faults.is_empty(), "{id}:\n{}", said(&report, Path::new("/nowhere")));
        assert!(report.notes.is_empty(), "{id}: {:?}", report.notes);
    }
}

fn said(report: &Report, dir: &Path) -> String {
    let lines: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    lines.join("\n").replace(&format!("{}/", dir.display()), "")
}
