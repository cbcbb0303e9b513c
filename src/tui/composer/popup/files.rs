//! The list behind `@`: what was asked of the index, and how its hits are drawn.

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::List;
use crate::tui::composer::index::{Hits, Index};
use crate::tui::composer::keymap::Action;
use crate::tui::composer::view::marked;
use crate::tui::palette::Palette;
use crate::tui::text::fit;

/// How long Tab waits for the answer to the last letter typed: unseen by a person, long for the index.
const SETTLE: Duration = Duration::from_millis(30);

pub(crate) struct Files {
    list: List,
    /// The number of the question.
    asked: u64,
    hits: Hits,
    /// A row was chosen by hand: better hits must not slip under the cursor.
    held: bool,
}

/// The token that ends at the end of `before`: where its `@` stands, and what is behind it. None for one
/// that names lines already: then the file is chosen.
pub(super) fn token(before: &str) -> Option<(usize, &str)> {
    let quoted = before.rfind("@\"").filter(|at| !before[at + 2..].replace("\\\"", "").contains('"'));
    let run = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let plain = before[run..].find('@').map(|at| run + at).filter(|at| !before[*at..].starts_with("@\""));
    let at = quoted.or(plain)?;
    let begins = before[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{'\"`".contains(c));
    let text = &before[at + 1..];
    let lines = text.rsplit_once(':').is_some_and(|(_, r)| r.starts_with(|c: char| c.is_ascii_digit()));
    (begins && !lines).then_some((at, text))
}

impl Files {
    /// Asks for what is behind the `@`; `before` is the list as it stood, if it was open.
    pub(super) fn ask(index: &Index, text: &str, before: Option<Self>) -> Self {
        if before.is_none() {
            index.opened();
        }
        let asked = index.ask(text.strip_prefix('"').unwrap_or(text));
        // The old rows stay until there are new ones: an empty list in between would flicker.
        let hits = before.map(|files| files.hits).unwrap_or_default();
        let mut files = Self { list: List::default(), asked, hits, held: false };
        files.take(index.hits());
        files
    }

    /// Takes newer hits; true if that changes something.
    pub(crate) fn take(&mut self, hits: Hits) -> bool {
        let new = hits.of == self.asked && hits != self.hits && !self.held;
        if new {
            self.hits = hits;
            self.list.at = self.list.at.min(self.hits.rows.len().saturating_sub(1));
        }
        new
    }

    /// Waits a moment for the answer to the last question.
    pub(super) fn settle(&mut self, index: Option<&Index>) {
        if !self.answered()
            && let Some(hits) = index.and_then(|index| index.answer(self.asked, SETTLE))
        {
            self.take(hits);
        }
    }

    /// The row to take; none while the answer is not there: the rows may be those of another question.
    pub(super) fn chosen(&self) -> Option<&str> {
        let row = self.hits.rows.get(self.list.at).filter(|_| self.answered());
        row.map(|(name, _)| name.as_str())
    }

    /// Whether the rows are those of what is typed now.
    pub(super) fn answered(&self) -> bool {
        self.hits.of == self.asked
    }

    /// The names, once the answer is whole.
    #[cfg(test)]
    pub(crate) fn settled(&self) -> Option<Vec<String>> {
        let whole = self.answered() && !self.hits.walking;
        whole.then(|| self.hits.rows.iter().map(|(name, _)| name.clone()).collect())
    }

    pub(super) fn go(&mut self, action: Action) -> bool {
        let moved = !self.hits.rows.is_empty() && self.list.go(action, self.hits.rows.len());
        self.held |= moved && self.answered();
        moved
    }

    pub(super) fn height(&self) -> usize {
        self.hits.rows.len().clamp(1, super::ROWS)
    }

    pub(super) fn lines(&self, (width, height): (usize, usize), palette: &Palette) -> Vec<Line<'static>> {
        let rows = &self.hits.rows;
        if rows.is_empty() {
            let waits = self.hits.walking || !self.answered();
            let text = if waits { "  looking for files" } else { "  no such file" };
            return vec![fit(Line::styled(text, palette.dim), width)];
        }
        let row = |at: usize| {
            let (mark, style) =
                if at == self.list.at { ("› ", palette.accent) } else { ("  ", palette.text) };
            let (name, fits) = &rows[at];
            let mut spans = vec![Span::styled(mark, palette.accent)];
            spans.extend(marked(name, fits, style));
            fit(Line::from(spans), width)
        };
        self.list.window(rows.len(), height).map(row).collect()
    }
}
