//! The list behind `/`: which commands fit, and how they are drawn.

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::text::{Line, Span};

use super::{List, ROWS};
use crate::tui::composer::{Command, Offered, State};
use crate::tui::palette::Palette;
use crate::tui::text::fit;

/// From how many letters on a word of the help finds a command too.
const HELP_FROM: usize = 3;

/// Places of the commands that fit `query`: by name, then by alias, then by a word of their help. All, in
/// their order, if nothing is typed.
pub(super) fn rank(commands: &[Command], query: &str, state: State) -> Vec<usize> {
    let offered = |command: &Command| state == State::Idle || command.offered == Offered::Always;
    let all = commands.iter().enumerate().filter(|(_, command)| offered(command));
    if query.is_empty() {
        return all.map(|(at, _)| at).collect();
    }
    let mut config = Config::DEFAULT;
    config.prefer_prefix = true;
    let mut matcher = Matcher::new(config);
    let atom = Atom::new(query, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy, false);
    let mut letters = Vec::new();
    let mut score = |text: &str| atom.score(Utf32Str::new(text, &mut letters), &mut matcher);
    let words = query.to_lowercase();
    let mut found: Vec<(u8, u16, usize)> = Vec::new();
    for (at, command) in all {
        let by_help = || {
            let fits = query.chars().count() >= HELP_FROM && command.help.to_lowercase().contains(&words);
            fits.then_some((3, 0))
        };
        let exact = command.name == query || command.aliases.iter().any(|alias| alias == query);
        let by_alias = command.aliases.iter().filter_map(|alias| score(alias)).max();
        let rank = match (exact, score(&command.name)) {
            (true, _) => Some((0, 0)),
            (false, Some(by_name)) => Some((1, u16::MAX - by_name)),
            (false, None) => by_alias.map(|score| (2, u16::MAX - score)).or_else(by_help),
        };
        found.extend(rank.map(|(tier, score)| (tier, score, at)));
    }
    found.sort_unstable();
    found.into_iter().map(|(.., at)| at).collect()
}

/// `› /name args   help`, the help in one column.
pub(super) fn lines(
    commands: &[Command],
    (list, found): (List, &[usize]),
    (width, height): (usize, usize),
    palette: &Palette,
) -> Vec<Line<'static>> {
    let head = |command: &Command| 1 + command.name.len() + 1 + command.args.chars().count();
    // Of all that fit, so that the column stays while the list scrolls.
    let column = found.iter().map(|at| head(&commands[*at])).max().unwrap_or(0).min(width / 2);
    let row = |at: usize| {
        let command = &commands[found[at]];
        let chosen = at == list.at;
        let (mark, name) = if chosen { ("› ", palette.accent) } else { ("  ", palette.text) };
        let gap = " ".repeat(column.saturating_sub(head(command)) + 2);
        let line = Line::from(vec![
            Span::styled(mark, palette.accent),
            Span::styled(format!("/{}", command.name), name),
            Span::styled(format!(" {}", command.args), palette.dim),
            Span::raw(gap),
            Span::styled(command.help.clone(), palette.dim),
        ]);
        fit(line, width)
    };
    let all = found.len() > height.min(ROWS) && height > 1;
    let shown = list.window(found.len(), if all { height - 1 } else { height });
    let (above, below) = (shown.start, found.len() - shown.end);
    let mut rows: Vec<Line<'static>> = shown.map(row).collect();
    if all {
        let more = if below > 0 { format!("  ↓ {below} more") } else { format!("  ↑ {above} more") };
        rows.push(Line::styled(more, palette.dim));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::Theme;

    #[test]
    fn it_says_how_many_there_are_besides() {
        let command = |nth: usize| Command {
            name: format!("c{nth}"),
            args: String::new(),
            help: String::new(),
            aliases: Vec::new(),
            offered: Offered::Always,
        };
        let commands: Vec<Command> = (0..12).map(command).collect();
        let found: Vec<usize> = (0..12).collect();
        let drawn = |at: usize, count: usize, height: usize| {
            let list = List { at, ..List::default() };
            let rows = lines(&commands, (list, &found[..count]), (40, height), &Palette::new(Theme::Plain));
            assert!(rows.len() <= height && rows.iter().any(|row| row.to_string().starts_with('›')), "{at}");
            (rows.len(), rows.last().unwrap().to_string().trim().to_owned())
        };
        assert_eq!(drawn(0, 12, 9), (9, "↓ 4 more".to_owned()));
        assert_eq!(drawn(11, 12, 9), (9, "↑ 4 more".to_owned()));
        assert_eq!(drawn(0, 12, 4), (4, "↓ 9 more".to_owned()));
        assert_eq!(drawn(0, 12, 1).0, 1);
        assert_eq!(drawn(0, 8, 9), (8, "/c7".to_owned()));
    }
}
