//! Two harnesses side by side, on all of the screen: the one in use and another.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::harness::{fit_word, tokens};
use crate::tui::host::{Fit, HarnessRow};
use crate::tui::palette::Palette;
use crate::tui::text::{self, Hang};

/// Columns from which they stand side by side, else one under the other.
const WIDE: usize = 60;
/// Columns of a label.
const LABEL: usize = 11;

/// How far it is scrolled.
#[derive(Default)]
pub(super) struct Compare {
    top: usize,
    sight: usize,
    last: usize,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    Nothing,
    Redraw,
    Back,
    /// Another one is to be compared.
    Next,
    Previous,
}

impl Compare {
    pub fn key(&mut self, key: KeyEvent) -> Did {
        let before = self.top;
        let page = self.sight.max(2) - 1;
        self.top = match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return Did::Back,
            KeyCode::Char('p' | 'c') if key.modifiers == KeyModifiers::CONTROL => return Did::Back,
            KeyCode::Right => return Did::Next,
            KeyCode::Left => return Did::Previous,
            KeyCode::Down => self.top + 1,
            KeyCode::Up => self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top + page,
            KeyCode::PageUp => self.top.saturating_sub(page),
            KeyCode::Home => 0,
            KeyCode::End => usize::MAX,
            _ => return Did::Nothing,
        }
        .min(self.last);
        if self.top == before { Did::Nothing } else { Did::Redraw }
    }

    /// `keys`: what can be pressed, its last row.
    pub fn rows(
        &mut self,
        (now, other): (&HarnessRow, &HarnessRow),
        keys: &str,
        (width, height): (usize, usize),
        p: &Palette,
    ) -> Vec<Line<'static>> {
        let mut out = vec![text::fit(Line::styled("Compare", p.strong), width)];
        let all = lines(now, other, width, p);
        let keys = text::wrap(&Line::styled(keys.to_owned(), p.dim), width, Hang::none());
        self.sight = height.saturating_sub(out.len() + keys.len()).max(1);
        self.last = all.len().saturating_sub(self.sight);
        self.top = self.top.min(self.last);
        let more = all.len() - self.top - self.sight.min(all.len() - self.top);
        if more > 0 {
            out[0].spans.push(Span::styled(format!("   ↓ {more} more rows"), p.dim));
        }
        out.extend(all.into_iter().skip(self.top).take(self.sight));
        out.extend(keys);
        out.into_iter().take(height.max(1)).map(|line| text::fit(line, width)).collect()
    }
}

/// All of it, unscrolled.
pub fn lines(now: &HarnessRow, other: &HarnessRow, width: usize, p: &Palette) -> Vec<Line<'static>> {
    let mut out = pair("", [&format!("{} · in use", now.id), &other.id], width, p);
    let (a, b) = (facts(now), facts(other));
    for ((label, left), (_, right)) in a.iter().zip(&b) {
        out.extend(pair(label, [left, right], width, p));
    }
    out.extend(tools(now, other, width, p));
    out
}

fn facts(row: &HarnessRow) -> Vec<(&'static str, String)> {
    let sheet = &row.sheet;
    let fit = match &row.fit {
        Fit::Cannot(why) => format!("– {why}"),
        Fit::Fits | Fit::Works | Fit::Weak => fit_word(&row.fit).to_owned(),
    };
    let known = |text: &str| if text.is_empty() { "?".to_owned() } else { text.to_owned() };
    vec![
        ("fit", fit),
        ("each turn", format!("{} tokens", tokens(row.tokens as u64))),
        ("prompt", format!("{} tokens", tokens(sheet.prompt as u64))),
        ("edits", known(&sheet.edits)),
        ("parallel", if sheet.parallel { "yes" } else { "no" }.to_owned()),
        ("thinking", known(&sheet.thinking)),
        ("wires", known(&sheet.wires)),
        ("output", known(&sheet.output)),
        ("shape of", known(&sheet.source)),
    ]
}

/// Which tools are in both, and which only in one.
fn tools(now: &HarnessRow, other: &HarnessRow, width: usize, p: &Palette) -> Vec<Line<'static>> {
    let (a, b) = (&now.sheet.tools, &other.sheet.tools);
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|tool| !those.contains(tool)).cloned().collect::<Vec<_>>()
    };
    let both: Vec<String> = a.iter().filter(|tool| b.contains(tool)).cloned().collect();
    let said = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => format!("{} · {}", names.len(), names.join(" ")),
    };
    let mut out = vec![Line::styled("Tools", p.strong)];
    let sides =
        [("in both", said(&both)), ("only left", said(&only(a, b))), ("only right", said(&only(b, a)))];
    let sides = sides.map(|(label, said)| match (width >= WIDE, label) {
        (false, "only left") => (format!("only {}", now.id), said),
        (false, "only right") => (format!("only {}", other.id), said),
        _ => (label.to_owned(), said),
    });
    for (label, said) in sides {
        let said = Line::raw(text::clean_line(&said).into_owned());
        match width >= WIDE {
            true => {
                let label = Line::styled(format!("{label:<LABEL$} "), p.dim);
                out.extend(text::wrap(&said, width, Hang::under(label)));
            }
            false => {
                out.push(Line::styled(text::clean_line(&label).into_owned(), p.dim));
                out.extend(text::wrap(&said, width, Hang::under("  ")));
            }
        }
    }
    out
}

/// A fact of both: in two columns, or one under the other.
fn pair(label: &str, both: [&str; 2], width: usize, p: &Palette) -> Vec<Line<'static>> {
    let style = if label.is_empty() { p.strong } else { p.text };
    let both = both.map(|one| Line::styled(text::clean_line(one).into_owned(), style));
    if width < WIDE {
        let same = both[0].to_string() == both[1].to_string();
        let mut out: Vec<Line<'static>> =
            (!label.is_empty()).then(|| Line::styled(label.to_owned(), p.dim)).into_iter().collect();
        for (mark, line) in ["  ", "→ "].into_iter().zip(&both).skip(usize::from(same)) {
            let mark = if same { "= " } else { mark };
            out.extend(text::wrap(line, width, Hang::under(Line::styled(mark, p.dim))));
        }
        return out;
    }
    let column = (width - LABEL - 3) / 2;
    let [left, right] = both.map(|line| text::wrap(&line, column, Hang::none()));
    let row = |at: usize| {
        let label = if at == 0 { label } else { "" };
        let cell = |rows: &[Line<'static>]| rows.get(at).cloned().unwrap_or_default();
        let label = Span::styled(format!("{label:<LABEL$} "), p.dim);
        let [left, right] = [text::pad(cell(&left), column), cell(&right)];
        let styled = |line: Line<'static>| {
            let content: String = line.spans.iter().map(|span| &*span.content).collect();
            Span::styled(content, style)
        };
        Line::from(vec![label, styled(left), Span::raw("  "), styled(right)])
    };
    (0..left.len().max(right.len())).map(row).collect()
}
