//! The statusline: who speaks under which harness, how freely, how full the window is, what it cost.

use ratatui::text::{Line, Span};

use super::host::Speaks;
use super::palette::Palette;
use super::text;
use crate::agent::SessionMode;

/// Percent of the window from which it is said in yellow, and in red.
const YELLOW: u64 = 75;
const RED: u64 = 90;
/// Columns under which only the most needed is shown.
const NARROW: usize = 60;

/// What the line says.
pub struct Status<'a> {
    /// None: nobody chose a model yet.
    pub speaks: Option<&'a Speaks>,
    pub mode: SessionMode,
    /// Tokens of the last request, as the server counted them.
    pub used: u64,
    /// US dollars; None when no price is known.
    pub cost: Option<f64>,
    /// What stands at the right.
    pub hint: &'a str,
}

impl Status<'_> {
    pub fn row(&self, width: usize, p: &Palette) -> Line<'static> {
        let narrow = width < NARROW;
        let mut spans = vec![Span::raw("  ")];
        // Together they decide what happens, so both give way before one of them does.
        let room = width.saturating_sub(if narrow { 16 } else { 30 }).max(8);
        let fitted = |name: &str, room: usize| {
            text::fit(Line::raw(text::clean_line(name).into_owned()), room.max(4)).to_string()
        };
        let who = match self.speaks {
            Some(Speaks { model, harness, .. }) => {
                format!("{} · {}", fitted(&model.name, room * 2 / 3), fitted(harness, room / 3))
            }
            None => "no model".to_owned(),
        };
        spans.push(Span::styled(who, p.dim));
        let style = if self.mode == SessionMode::Full { p.bad } else { p.dim };
        spans.push(Span::styled(" · ", p.dim));
        spans.push(Span::styled(self.mode.name(), style));
        spans.extend(self.window(p));
        if let Some(cost) = self.cost.filter(|_| !narrow && self.speaks.is_some()) {
            spans.push(Span::styled(format!(" · ${cost:.2}"), p.dim));
        }
        let left = Line::from(spans);
        let (have, hint) = (left.width(), text::width(self.hint));
        if narrow || have + hint + 3 > width {
            return text::fit(left, width);
        }
        let mut line = text::pad(left, width - hint - 1);
        line.spans.push(Span::styled(self.hint.to_owned(), p.dim));
        line
    }

    fn window(&self, p: &Palette) -> Option<Span<'static>> {
        let window = self.speaks?.model.window.filter(|window| *window > 0)?;
        let percent = (self.used.saturating_mul(100) / window).min(999);
        let style = match percent {
            0..YELLOW => p.dim,
            YELLOW..RED => p.warn,
            _ => p.bad,
        };
        Some(Span::styled(format!(" · {percent}%"), style))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::Theme;
    use crate::tui::text::shot::shot;

    #[test]
    fn model_and_harness_are_always_said_together() {
        let speaks = crate::tui::testing::speaks();
        let palette = Palette::new(Theme::Dark);
        let mut rows = Vec::new();
        for (mode, used, cost) in [
            (SessionMode::Edits, 0, Some(0.0)),
            (SessionMode::Plan, 26_000, None),
            (SessionMode::Full, 31_000, Some(1.234)),
        ] {
            for width in [20, 40, 80, 120] {
                let row =
                    Status { speaks: Some(&speaks), mode, used, cost, hint: "? keys" }.row(width, &palette);
                assert!(row.width() <= width, "{row}");
                assert!(row.to_string().contains("kimi") && row.to_string().contains("qwe"), "{row}");
                rows.push(row);
            }
        }
        insta::assert_snapshot!(shot(&rows));
        for width in 1..20 {
            let status =
                Status { speaks: Some(&speaks), mode: SessionMode::Ask, used: 0, cost: None, hint: "? keys" };
            assert!(status.row(width, &palette).width() <= width);
        }
    }
}
