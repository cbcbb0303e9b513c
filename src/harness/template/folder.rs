//! The files of the folder as a text shows them: a list, branches, a tree. Pure.

use std::collections::{BTreeMap, VecDeque};

use crate::model::Entry;

/// What each folder has, files before folders: looked up once, as a listing may be long.
struct Folders<'a>(BTreeMap<&'a str, Vec<&'a Entry>>);

impl<'a> Folders<'a> {
    fn new(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut all: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        // One without a name would be within itself.
        for entry in entries.into_iter().filter(|entry| !entry.path.is_empty()) {
            let parent = entry.path.rsplit_once('/').map_or("", |(parent, _)| parent);
            all.entry(parent).or_default().push(entry);
        }
        all.values_mut().for_each(|inside| inside.sort_by_cached_key(|e| (e.dir, e.path.to_lowercase())));
        Self(all)
    }

    fn within(&self, folder: &str) -> &[&'a Entry] {
        self.0.get(folder).map_or(&[], Vec::as_slice)
    }
}

/// Paths to a depth, folders with a slash.
pub(super) fn listing(entries: &[Entry], depth: usize, limit: usize) -> String {
    let near: Vec<&Entry> = entries.iter().filter(|e| e.path.split('/').count() <= depth).collect();
    let mut lines: Vec<String> =
        near.iter().take(limit).map(|e| format!("{}{}", e.path, if e.dir { "/" } else { "" })).collect();
    if near.len() > limit {
        lines.push(format!("({} more)", near.len() - limit));
    }
    lines.join("\n")
}

/// The same as branches, folders first, with a line for what a folder has beyond `limit`.
pub(super) fn outline(entries: &[Entry], depth: usize, limit: usize) -> String {
    let mut lines = Vec::new();
    grow(&mut lines, &Folders::new(entries), ("", "", depth), limit);
    lines.join("\n")
}

fn grow(
    lines: &mut Vec<String>,
    folders: &Folders<'_>,
    (folder, indent, depth): (&str, &str, usize),
    limit: usize,
) {
    let mut inside = folders.within(folder).to_vec();
    inside.sort_by_key(|entry| !entry.dir);
    let more = inside.len().saturating_sub(limit);
    inside.truncate(limit);
    let branch = |last: bool| if last { "└── " } else { "├── " };
    for (at, entry) in inside.iter().enumerate() {
        let last = at + 1 == inside.len() && more == 0;
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        lines.push(format!("{indent}{}{name}{}", branch(last), if entry.dir { "/" } else { "" }));
        if entry.dir && depth > 1 {
            let deeper = format!("{indent}{}", if last { "    " } else { "│   " });
            grow(lines, folders, (&entry.path, &deeper, depth - 1), limit);
        }
    }
    if more > 0 {
        lines.push(format!("{indent}{}... and {more} more", branch(true)));
    }
}

/// A folder tree with branches, breadth first up to `limit` entries, files before folders. A folder
/// whose content did not fit ends in `/...`.
pub(super) fn tree(cwd: &str, entries: &[Entry], limit: usize) -> String {
    let all = Folders::new(entries);
    let mut shown: Vec<&Entry> = Vec::new();
    let mut open = VecDeque::from([""]);
    while let Some(folder) = open.pop_front() {
        let room = limit - shown.len();
        for entry in all.within(folder).iter().take(room) {
            shown.push(entry);
            if entry.dir {
                open.push_back(&entry.path);
            }
        }
    }
    let mut text = format!("{}/", cwd.trim_end_matches('/'));
    branches(&mut text, (&all, &Folders::new(shown)), "", "");
    text
}

fn branches(text: &mut String, (all, shown): (&Folders<'_>, &Folders<'_>), folder: &str, indent: &str) {
    let inside = shown.within(folder);
    for (at, entry) in inside.iter().enumerate() {
        let last = at + 1 == inside.len();
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        let hidden = entry.dir && shown.within(&entry.path).len() < all.within(&entry.path).len();
        let suffix = match (entry.dir, hidden) {
            (false, _) => "",
            (true, false) => "/",
            (true, true) => "/...",
        };
        let branch = if last { "└───" } else { "├───" };
        text.push_str(&format!("\n{indent}{branch}{name}{suffix}"));
        if entry.dir {
            let deeper = format!("{indent}{}", if last { "    " } else { "│   " });
            branches(text, (all, shown), &entry.path, &deeper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(paths: &[&str]) -> Vec<Entry> {
        let entry = |p: &&str| Entry { path: p.trim_end_matches('/').to_owned(), dir: p.ends_with('/') };
        paths.iter().map(entry).collect()
    }

    #[test]
    fn tree_has_branches_and_says_what_did_not_fit() {
        let entries =
            entries(&["src/", "README.md", "a.txt", "docs/", "src/main.rs", "src/lib.rs", "docs/x.md"]);
        assert_eq!(
            tree("/p", &entries, 6),
            "/p/\n├───a.txt\n├───README.md\n├───docs/\n│   └───x.md\n└───src/...\n    └───lib.rs"
        );
    }

    #[test]
    fn an_outline_has_folders_first_and_says_what_it_leaves_out() {
        let entries =
            entries(&["b.txt", "src/", ".env", "a.txt", "src/main.rs", "src/deep/", "src/deep/x.rs"]);
        assert_eq!(
            outline(&entries, 2, 3),
            "├── src/\n│   ├── deep/\n│   └── main.rs\n├── .env\n├── a.txt\n└── ... and 1 more"
        );
        assert_eq!(outline(&entries, 1, 9), "├── src/\n├── .env\n├── a.txt\n└── b.txt");
    }

    #[test]
    fn listing_stops_at_depth_and_limit() {
        let entries = entries(&["a/", "b.txt", "c.txt", "a/x"]);
        assert_eq!(listing(&entries, 1, 2), "a/\nb.txt\n(1 more)");
        assert_eq!(listing(&entries, 2, 9), "a/\nb.txt\nc.txt\na/x");
    }
}
