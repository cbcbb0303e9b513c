//! How lines are written down in snapshots: their text, and below it which columns look different.
//!
//! ```text
//! │A heading and code
//!  aaaaaaaaa     bbbb
//! a bold · b #5fb3d9
//! ```
//!
//! Each style has a letter, in the order in which they appear; the last row says what the letters are. A row
//! without styles has no row of letters. Blanks at the end of a row are drawn as `·`.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use super::width;

/// The lines as text.
pub fn shot(lines: &[Line<'_>]) -> String {
    let mut styles: Vec<String> = Vec::new();
    let mut out = String::new();
    for line in lines {
        let text: String = line.spans.iter().map(|span| &*span.content).collect();
        let body = text.trim_end_matches(' ');
        out.push_str(&format!("│{body}{}\n", "·".repeat(text.len() - body.len())));
        let mut letters = String::new();
        for span in &line.spans {
            let letter = match said(line.style.patch(span.style)) {
                said if said.is_empty() => ' ',
                said => {
                    let at = styles.iter().position(|style| *style == said).unwrap_or_else(|| {
                        styles.push(said);
                        styles.len() - 1
                    });
                    ('a'..='z').chain('A'..='Z').nth(at).unwrap_or('?')
                }
            };
            letters.extend(std::iter::repeat_n(letter, width(&span.content)));
        }
        if !letters.trim().is_empty() {
            out.push_str(&format!(" {}\n", letters.trim_end()));
        }
    }
    let legend =
        styles.iter().zip(('a'..='z').chain('A'..='Z')).map(|(style, letter)| format!("{letter} {style}"));
    out + &legend.collect::<Vec<_>>().join(" · ")
}

/// A style in words; nothing for plain text.
fn said(style: Style) -> String {
    let color = |color: Color| color.to_string().to_lowercase();
    let mut words: Vec<String> = style.fg.map(color).into_iter().collect();
    words.extend(style.bg.map(|bg| format!("on {}", color(bg))));
    for (modifier, word) in [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::ITALIC, "italic"),
        (Modifier::UNDERLINED, "underlined"),
        (Modifier::REVERSED, "reversed"),
        (Modifier::CROSSED_OUT, "struck"),
    ] {
        if style.add_modifier.contains(modifier) {
            words.push(word.to_owned());
        }
    }
    words.join(" ")
}
