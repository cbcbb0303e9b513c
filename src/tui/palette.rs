//! What each kind of text looks like, by theme. The only place that names a colour.

use std::path::PathBuf;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

/// Which set of colours. Nothing is said by colour alone, so each of them can be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    Dark,
    Light,
    /// The terminal's own 16 colours.
    Ansi,
    /// No colour sequences at all (`NO_COLOR`); bold, underline and dim stay.
    Plain,
}

/// What goes to the terminal with the text besides how it looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Extras {
    #[default]
    None,
    /// Links, and marks where turns begin. Paths lead to files below this folder; None: nowhere, as over ssh.
    Sent { folder: Option<PathBuf> },
}

/// Styles by what they are for.
#[derive(Clone, Debug)]
pub struct Palette {
    pub theme: Theme,
    pub extras: Extras,
    pub text: Style,
    /// Secondary text.
    pub dim: Style,
    /// The one accent: the prompt mark, what is chosen, keys.
    pub accent: Style,
    pub good: Style,
    pub bad: Style,
    pub warn: Style,
    /// What the person said: a tint behind the text.
    pub user: Style,
    /// Rows of a diff: tints over the full width, and the words that changed in them.
    pub added: Style,
    pub removed: Style,
    pub added_word: Style,
    pub removed_word: Style,
    pub heading: Style,
    pub strong: Style,
    pub emphasis: Style,
    pub struck: Style,
    /// Code within a line.
    pub code: Style,
    pub link: Style,
    pub quote: Style,
    /// What a search found, and the place one is at.
    pub found: Style,
    pub found_now: Style,
    pub syntax: Syntax,
}

/// Styles of source code.
#[derive(Clone, Debug)]
pub struct Syntax {
    pub keyword: Style,
    pub string: Style,
    pub comment: Style,
    pub number: Style,
    pub kind: Style,
    pub function: Style,
}

impl Palette {
    pub fn with(self, extras: Extras) -> Self {
        Self { extras, ..self }
    }

    pub fn new(theme: Theme) -> Self {
        let plain = Style::new();
        let (bold, dim) = (plain.add_modifier(Modifier::BOLD), plain.add_modifier(Modifier::DIM));
        let pick = |dark: Color, light: Color, ansi: Color| match theme {
            Theme::Dark => plain.fg(dark),
            Theme::Light => plain.fg(light),
            Theme::Ansi => plain.fg(ansi),
            Theme::Plain => plain,
        };
        // Tints need a known background; the 16 colours are too strong for one.
        let tint = |dark: Color, light: Color| match theme {
            Theme::Dark => plain.bg(dark),
            Theme::Light => plain.bg(light),
            Theme::Ansi | Theme::Plain => plain,
        };
        let rgb = Color::Rgb;
        let secondary = match theme {
            Theme::Dark => plain.fg(rgb(0x9a, 0x9a, 0x9a)),
            Theme::Light => plain.fg(rgb(0x66, 0x66, 0x66)),
            Theme::Ansi | Theme::Plain => dim,
        };
        let row = |dark, light, ansi: Color| match theme {
            Theme::Ansi => plain.fg(ansi),
            Theme::Dark | Theme::Light | Theme::Plain => tint(dark, light),
        };
        let green = pick(rgb(0x6c, 0xc0, 0x7a), rgb(0x1a, 0x7f, 0x37), Color::Green);
        let red = pick(rgb(0xf0, 0x7b, 0x74), rgb(0xc2, 0x25, 0x2d), Color::Red);
        let accent = pick(rgb(0x5f, 0xb3, 0xd9), rgb(0x05, 0x69, 0xa8), Color::Cyan);
        Self {
            theme,
            extras: Extras::None,
            text: plain,
            dim: secondary,
            accent,
            good: green,
            bad: red,
            warn: pick(rgb(0xe0, 0xb0, 0x4f), rgb(0x8a, 0x60, 0x00), Color::Yellow),
            user: tint(rgb(0x2b, 0x2f, 0x36), rgb(0xee, 0xee, 0xf2)),
            added: row(rgb(0x17, 0x2b, 0x1c), rgb(0xe4, 0xf5, 0xe7), Color::Green),
            removed: row(rgb(0x33, 0x1c, 0x1d), rgb(0xfb, 0xe7, 0xe7), Color::Red),
            added_word: tint(rgb(0x23, 0x52, 0x30), rgb(0xb4, 0xe4, 0xbd)).add_modifier(Modifier::BOLD),
            removed_word: tint(rgb(0x62, 0x2b, 0x2d), rgb(0xf6, 0xbf, 0xbf)).add_modifier(Modifier::BOLD),
            heading: bold,
            strong: bold,
            emphasis: plain.add_modifier(Modifier::ITALIC),
            struck: plain.add_modifier(Modifier::CROSSED_OUT),
            code: accent,
            link: accent.add_modifier(Modifier::UNDERLINED),
            quote: secondary,
            found: plain.add_modifier(Modifier::UNDERLINED | Modifier::BOLD),
            found_now: plain.add_modifier(Modifier::REVERSED),
            syntax: Syntax {
                keyword: pick(rgb(0xc5, 0x93, 0xd8), rgb(0x86, 0x2f, 0xa6), Color::Magenta),
                string: green,
                comment: secondary,
                number: pick(rgb(0xd8, 0x9f, 0x6b), rgb(0x96, 0x4b, 0x00), Color::Yellow),
                kind: pick(rgb(0xe0, 0xc0, 0x7d), rgb(0x7a, 0x5a, 0x00), Color::Yellow),
                function: pick(rgb(0x74, 0xae, 0xf0), rgb(0x0a, 0x58, 0xa8), Color::Blue),
            },
        }
    }
}

impl Palette {
    /// Gives a line that has colours of this palette those of another.
    pub fn recolour(&self, line: &mut Line<'_>, to: &Self) {
        let pairs = self.colours().into_iter().zip(to.colours());
        let pairs: Vec<(Color, Color)> = pairs.filter_map(|(from, to)| Some((from?, to?))).collect();
        let other = |style: &mut Style| {
            for colour in [&mut style.fg, &mut style.bg].into_iter().flatten() {
                if let Some((_, to)) = pairs.iter().find(|(from, _)| from == colour) {
                    *colour = *to;
                }
            }
        };
        other(&mut line.style);
        line.spans.iter_mut().for_each(|span| other(&mut span.style));
    }

    /// Each colour that says something, in one order.
    fn colours(&self) -> [Option<Color>; 14] {
        let s = &self.syntax;
        let text =
            [self.dim, self.accent, self.good, self.bad, self.warn, s.keyword, s.number, s.kind, s.function];
        let behind = [self.user, self.added, self.removed, self.added_word, self.removed_word];
        let mut all = text.iter().map(|style| style.fg).chain(behind.iter().map(|style| style.bg));
        std::array::from_fn(|_| all.next().flatten())
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::Span;

    use super::*;

    /// Relative luminance, as WCAG 2 defines it.
    fn luminance(color: Color) -> f64 {
        let Color::Rgb(r, g, b) = color else { panic!("{color:?} is no RGB") };
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    fn contrast(text: Color, behind: Color) -> f64 {
        let (a, b) = (luminance(text), luminance(behind));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// The colour of plain text is the terminal's: a usual one.
    #[test]
    fn text_can_be_read_on_whatever_is_behind_it() {
        for (theme, plain, backs) in [
            (Theme::Dark, Color::Rgb(0xcc, 0xcc, 0xcc), [Color::Rgb(0, 0, 0), Color::Rgb(0x1e, 0x1e, 0x2e)]),
            (
                Theme::Light,
                Color::Rgb(0x33, 0x33, 0x33),
                [Color::Rgb(255, 255, 255), Color::Rgb(0xfd, 0xf6, 0xe3)],
            ),
        ] {
            let p = Palette::new(theme);
            let s = &p.syntax;
            let read = |style: Style, behind: Color| {
                let contrast = contrast(style.fg.unwrap_or(plain), behind);
                assert!(contrast >= 4.5, "{theme:?}: {style:?} on {behind:?} has {contrast:.2}");
            };
            let code = [s.keyword, s.string, s.comment, s.number, s.kind, s.function];
            let words = [p.text, p.dim, p.accent, p.good, p.bad, p.warn, p.code, p.link, p.quote];
            for back in backs {
                code.iter().chain(&words).for_each(|style| read(*style, back));
            }
            // What stands on a tint: plain text, and the numbers of lines before it.
            for tint in [p.user, p.added, p.removed, p.added_word, p.removed_word] {
                read(p.text, tint.bg.unwrap());
            }
            for tint in [p.added, p.removed] {
                read(p.dim, tint.bg.unwrap());
            }
        }
    }

    #[test]
    fn a_line_gets_the_colours_of_another_palette() {
        let (dark, light) = (Palette::new(Theme::Dark), Palette::new(Theme::Light));
        let line = |p: &Palette| {
            Line::from_iter([Span::styled("a", p.dim), Span::styled("b", p.user), Span::raw("c")])
                .style(p.bad)
        };
        let mut changed = line(&dark);
        dark.recolour(&mut changed, &light);
        assert_eq!(changed, line(&light));
    }

    #[test]
    fn no_colour_means_none() {
        let p = Palette::new(Theme::Plain);
        for style in [p.accent, p.good, p.bad, p.user, p.added, p.removed_word, p.syntax.keyword] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
