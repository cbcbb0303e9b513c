//! Searching what was sent: this folder first, then all.

use ratatui::text::{Line, Span};

use super::List;
use crate::tui::composer::Composer;
use crate::tui::composer::draft::Part;
use crate::tui::composer::glyph;
use crate::tui::composer::history::{History, Scope};
use crate::tui::composer::keymap::Action;
use crate::tui::composer::view::on_one_row;
use crate::tui::palette::Palette;
use crate::tui::text::{self, fit};

/// Found texts that are kept.
const MOST: usize = 200;

pub(crate) struct Search {
    query: String,
    scope: Scope,
    list: List,
    /// Places in the history, newest first.
    found: Vec<usize>,
}

impl Search {
    pub(super) fn new(history: &mut History) -> Self {
        history.open(Scope::Folder);
        let mut new =
            Self { query: String::new(), scope: Scope::Folder, list: List::default(), found: Vec::new() };
        new.look(history);
        new
    }

    pub(super) fn add(&mut self, text: &str, history: &History) {
        self.query.push_str(&text.replace(char::is_control, " "));
        self.look(history);
    }

    pub(super) fn shorten(&mut self, history: &History) {
        self.query.truncate(glyph::prev(&self.query, self.query.len()));
        self.look(history);
    }

    pub(super) fn widen(&mut self, history: &mut History) {
        self.scope = match self.scope {
            Scope::Folder => Scope::All,
            Scope::All => Scope::Folder,
        };
        history.open(self.scope);
        self.look(history);
    }

    pub(super) fn go(&mut self, action: Action) -> bool {
        self.list.go(action, self.found.len())
    }

    pub(super) fn chosen(&self, history: &History) -> Option<Vec<Part>> {
        history.parts(self.scope, *self.found.get(self.list.at)?)
    }

    fn look(&mut self, history: &History) {
        self.found = history.find(self.scope, &self.query, MOST);
        self.list = List::default();
    }

    pub(super) fn height(&self) -> usize {
        1 + self.found.len().clamp(1, super::ROWS - 1)
    }

    /// The question, then what was found; and the column behind the question.
    pub(super) fn lines(
        &self,
        composer: &Composer,
        (width, height): (usize, usize),
        palette: &Palette,
    ) -> (Vec<Line<'static>>, Option<usize>) {
        let (label, hint) = match self.scope {
            Scope::Folder => ("sent here: ", "all folders"),
            Scope::All => ("sent anywhere: ", "this folder"),
        };
        let hint = format!("  {} {hint}", composer.keymap.keys(Action::SearchHistory));
        let query = on_one_row(&self.query);
        let column = text::width(label) + text::width(&query);
        let head = vec![
            Span::styled(label, palette.accent),
            Span::styled(query, palette.text),
            Span::styled(hint, palette.dim),
        ];
        let mut lines = vec![fit(Line::from(head), width)];
        if self.found.is_empty() {
            lines.push(fit(Line::styled("  nothing found", palette.dim), width));
        }
        for at in self.list.window(self.found.len(), height.min(super::ROWS).saturating_sub(1)) {
            let (mark, style) =
                if at == self.list.at { ("› ", palette.accent) } else { ("  ", palette.text) };
            let (text, folder) = composer.history.shown(self.scope, self.found[at]);
            let mut spans = vec![Span::styled(mark, palette.accent), Span::styled(on_one_row(text), style)];
            if self.scope == Scope::All {
                spans.push(Span::styled(format!("  {}", on_one_row(folder)), palette.dim));
            }
            lines.push(fit(Line::from(spans), width));
        }
        (lines, Some(column.min(width.saturating_sub(1))))
    }
}
