//! What a person sees, at three widths. Styles by letters below the row: `a` accent, `d` dim, `r` red,
//! `b` bold; `█` is the cursor.

use ratatui::buffer::Buffer as Screen;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::*;
use crate::tui::palette::{Palette, Theme};

fn shot(composer: &Composer, width: u16, most: u16) -> String {
    let palette = Palette::new(Theme::Dark);
    let area = Rect::new(0, 0, width, composer.height(width, most));
    let mut screen = Screen::empty(area);
    let cursor = composer.render(area, &mut screen, &palette);
    let mut out = format!("{width} columns\n");
    for y in 0..area.height {
        let (mut row, mut looks) = (String::new(), String::new());
        let mut skip = 0;
        for x in 0..area.width {
            let cell = &screen[(x, y)];
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let wide = crate::tui::text::width(cell.symbol()).max(1);
            skip = wide - 1;
            let here = (cursor.x, cursor.y) == (x, y);
            row.push_str(if here && cell.symbol() == " " { "█" } else { cell.symbol() });
            let style = cell.style();
            let look = match style.fg {
                _ if style.add_modifier.contains(Modifier::BOLD) => 'b',
                fg if fg == palette.accent.fg => 'a',
                fg if fg == palette.dim.fg => 'd',
                fg if fg == palette.bad.fg => 'r',
                _ => ' ',
            };
            looks.extend(std::iter::repeat_n(look, wide));
        }
        out += &format!("|{}\n", row.trim_end());
        if !looks.trim().is_empty() {
            out += &format!(" {}\n", looks.trim_end());
        }
    }
    out
}

fn shots(composer: &Composer) -> String {
    [40, 80, 120].map(|width| shot(composer, width, 12)).join("\n")
}

#[test]
fn empty() {
    insta::assert_snapshot!(shots(&Kit::new().composer));
}

#[test]
fn text_that_folds() {
    let mut kit =
        Kit::with("The rounding happens before the discount, so move it; 漢字かな交じり文 too.\n\n\tdone|");
    kit.types("\u{1b}\u{202e}");
    insta::assert_snapshot!(shots(&kit.composer));
}

#[test]
fn pastes_and_missing_files() {
    let mut kit = Kit::new();
    kit.write("here.rs", b"x");
    kit.types("compare @here.rs with @gone.rs and ");
    kit.composer.paste(&"line\n".repeat(40));
    kit.composer.paste_image(vec![0; 34_000]);
    insta::assert_snapshot!(shots(&kit.composer));
}

#[test]
fn the_list_of_commands() {
    let mut kit = Kit::new();
    kit.types("/");
    kit.keys("down");
    insta::assert_snapshot!(shots(&kit.composer));
}

#[test]
fn a_command_shows_what_it_takes() {
    let mut kit = Kit::new();
    kit.types("/rename ");
    insta::assert_snapshot!(shot(&kit.composer, 40, 12));
}

#[test]
fn a_note_below() {
    let mut kit = Kit::with("/modle now|");
    kit.keys("enter");
    insta::assert_snapshot!(shots(&kit.composer));
}

#[test]
fn searching_what_was_sent() {
    let mut kit = Kit::new();
    for text in ["fix the cart", "make the totals of the cart round once, after the discount", "!cargo test"]
    {
        kit.sends(text);
    }
    kit.types("draft");
    kit.keys("ctrl+r");
    kit.types("the");
    insta::assert_snapshot!(shots(&kit.composer));
}

#[test]
fn a_long_text_scrolls() {
    let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
    let mut kit = Kit::with(&lines.join("\n"));
    let mut out = shot(&kit.composer, 20, 4);
    kit.keys("up up up up");
    out += &shot(&kit.composer, 20, 4);
    kit.keys("down");
    out += &shot(&kit.composer, 20, 4);
    kit.keys("ctrl+home");
    out += &shot(&kit.composer, 20, 4);
    insta::assert_snapshot!(out);
}

#[test]
fn the_smallest_screens() {
    let mut out = String::new();
    for (width, most) in [(1, 1), (2, 2), (5, 2), (8, 1)] {
        let mut kit = Kit::with("漢字 ab|");
        kit.composer.set_note("a note");
        out += &shot(&kit.composer, width, most);
    }
    insta::assert_snapshot!(out);
}
