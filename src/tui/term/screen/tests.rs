//! The screen against a terminal emulator: what was written is what a person sees.

use avt::Terminal;
use proptest::prelude::*;
use ratatui::style::{Color, Style};
use ratatui::text::Span;

use super::*;

/// A screen and the emulated terminal it writes to.
struct Bench {
    screen: Screen<Vec<u8>>,
    terminal: Terminal,
    view: Vec<String>,
}

impl Bench {
    fn new(width: u16, height: u16) -> Self {
        Self {
            screen: Screen::new(Vec::new(), Size::new(width, height)),
            terminal: Terminal::with_scrollback(width.into(), height.into(), None).unwrap(),
            view: Vec::new(),
        }
    }

    /// What the last step wrote, shown to the terminal.
    fn flush(&mut self) -> String {
        let bytes = String::from_utf8(std::mem::take(&mut self.screen.out)).unwrap();
        self.terminal.feed(bytes.as_str());
        bytes
    }

    fn commit(&mut self, lines: &[&str]) {
        let lines: Vec<Line<'_>> = lines.iter().map(|line| Line::raw(*line)).collect();
        self.screen.commit(&lines);
    }

    fn frame(&mut self, view: &[&str]) -> String {
        self.view = view.iter().map(|row| (*row).to_owned()).collect();
        let height = u16::try_from(view.len()).unwrap();
        self.screen
            .frame(height, |area, buffer| {
                // The last rows are the ones that must be seen.
                let skip = view.len() - usize::from(area.height);
                for (y, row) in view[skip..].iter().enumerate() {
                    buffer.set_string(0, u16::try_from(y).unwrap(), row, Style::new());
                }
                Some(Position::new(2, area.height.saturating_sub(2)))
            })
            .unwrap();
        self.flush()
    }

    fn replace(&mut self, old: &[String], new: &[String]) -> Replaced {
        let lines = |texts: &[String]| texts.iter().map(|text| Line::raw(text.clone())).collect::<Vec<_>>();
        self.screen.replace(&lines(old), &lines(new))
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.terminal.resize(width.into(), height.into());
        self.screen.resize(Size::new(width, height));
    }

    /// Scrollback and screen, lines that the terminal wrapped put together.
    fn lines(&self) -> Vec<String> {
        let mut lines = self.terminal.primary_screen().text();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.terminal.cursor();
        (cursor.col, cursor.row)
    }
}

#[test]
fn lines_go_above_the_viewport_once() {
    let mut bench = Bench::new(20, 6);
    bench.terminal.feed("$ ls\r\nfile\r\n$ tack\r\n");
    bench.frame(&["", "> type", "status"]);
    assert_eq!(bench.lines(), ["$ ls", "file", "$ tack", "", "> type", "status"]);
    assert_eq!(bench.cursor(), (2, 4));
    bench.commit(&["one", "two"]);
    bench.frame(&["", "> type", "status"]);
    assert_eq!(bench.lines(), ["$ ls", "file", "$ tack", "one", "two", "", "> type", "status"]);
    assert_eq!(bench.frame(&["", "> type", "status"]), "");
    bench.frame(&["> typed more"]);
    assert_eq!(bench.lines(), ["$ ls", "file", "$ tack", "one", "two", "> typed more"]);
    bench.screen.leave().unwrap();
    bench.flush();
    assert_eq!(bench.lines(), ["$ ls", "file", "$ tack", "one", "two"]);
    assert_eq!(bench.cursor().0, 0);
}

#[test]
fn a_cursor_that_is_wanted_below_the_last_row_stands_in_it() {
    let mut bench = Bench::new(40, 10);
    bench.frame(&["one", "two"]);
    bench.screen.frame(2, |_, _| Some(Position::new(99, 7))).unwrap();
    bench.flush();
    assert_eq!(bench.cursor(), (39, 1));
    for (width, height) in [(20, 10), (20, 1), (1, 1), (60, 20)] {
        bench.resize(width, height);
        bench.frame(&["one"]);
    }
    assert_eq!(bench.lines().iter().filter(|line| *line == "one").count(), 1);
}

#[test]
fn a_line_the_shell_left_open_stays() {
    for (left, want) in [("", "> x"), ("p", "p"), ("partial", "partial"), ("12345678", "12345678")] {
        let mut bench = Bench::new(8, 5);
        bench.terminal.feed(left);
        bench.frame(&["> x"]);
        assert_eq!(bench.terminal.screen().line(0).unwrap().text().trim_end(), want);
        let row = usize::from(!left.is_empty());
        assert_eq!(bench.terminal.screen().line(row).unwrap().text().trim_end(), "> x", "{left}");
    }
}

#[test]
fn more_lines_than_the_screen_has_all_go_to_the_scrollback() {
    let mut bench = Bench::new(10, 3);
    bench.frame(&["> a", "s"]);
    let lines: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
    bench.commit(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    bench.frame(&["> b", "s"]);
    let want: Vec<String> = lines.into_iter().chain(["> b".into(), "s".into()]).collect();
    assert_eq!(bench.lines(), want);
}

#[test]
fn wide_characters_are_never_cut() {
    let mut bench = Bench::new(5, 6);
    bench.commit(&["日本語日本語"]);
    bench.frame(&["ab語語"]);
    assert_eq!(bench.lines(), ["日本", "語日", "本語", "ab語"]);
    bench.frame(&["a日語"]);
    assert_eq!(bench.lines()[3], "a日語");
    bench.frame(&["xyz語"]);
    assert_eq!(bench.lines()[3], "xyz語");
}

#[test]
fn the_cursor_is_set_again_behind_what_terminals_measure_differently() {
    let mut bench = Bench::new(20, 4);
    bench.commit(&["e\u{301}x👩\u{200d}👩y", "ab"]);
    let bytes = bench.frame(&["> "]);
    assert!(bytes.contains("e\u{301}\x1b[2Gx👩\u{200d}👩\x1b[5Gy\x1b[K\r\nab"), "{bytes:?}");
}

#[test]
fn a_plain_screen_has_no_colour() {
    let mut bench = Bench::new(20, 5);
    let bad =
        Style::new().fg(Color::Red).bg(Color::Rgb(1, 2, 3)).add_modifier(ratatui::style::Modifier::BOLD);
    for (theme, want) in [(Theme::Plain, "\x1b[1mred\x1b[m\x1b[K"), (Theme::Dark, "\x1b[1;31;48;2;1;2;3mred")]
    {
        bench.screen.set_theme(theme);
        bench.screen.commit(&[Line::from(Span::styled("red", bad))]);
        let bytes = bench.frame(&["> "]);
        assert!(bytes.contains(want), "{theme:?}: {bytes:?}");
    }
}

#[test]
fn what_is_in_sight_is_unfolded_and_folded_where_it_stands() {
    let mut bench = Bench::new(12, 8);
    bench.commit(&["gone 1", "gone 2", "gone 3", "gone 4", "first", "fold +2", "last"]);
    bench.frame(&["> a", "s"]);
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let (folded, open) = (texts(&["fold +2", "last"]), texts(&["fold", "one", "two", "last"]));
    for (old, new) in [(&folded, &open), (&open, &folded), (&folded, &open)] {
        assert_eq!(bench.replace(old, new), Replaced::Yes);
        bench.frame(&["> a", "s"]);
        let head = ["gone 1", "gone 2", "gone 3", "gone 4", "first"].map(str::to_owned);
        assert_eq!(bench.lines(), [&head[..], &new[..], &texts(&["> a", "s"])[..]].concat());
    }
    // Neither what left the screen nor what would.
    let all = texts(&["gone 1", "gone 2", "gone 3", "gone 4", "first", "fold", "one", "two", "last"]);
    assert_eq!(bench.replace(&all, &folded), Replaced::Not);
    assert_eq!(bench.replace(&open, &texts(&["x"; 7])), Replaced::Not);
    assert_eq!(bench.replace(&texts(&["other"]), &folded), Replaced::Not);
}

#[test]
fn the_pager_has_its_own_screen() {
    let mut bench = Bench::new(12, 4);
    bench.commit(&["kept"]);
    bench.frame(&["> a", "s"]);
    bench.screen.alternate(Alternate::Enter).unwrap();
    bench.commit(&["later"]);
    bench.frame(&["page 1", "page 2", "page 3", "page 4"]);
    let shown = |bench: &Bench| bench.terminal.screen().text();
    assert_eq!(shown(&bench), ["page 1", "page 2", "page 3", "page 4"]);
    assert_eq!(bench.lines(), ["kept", "> a", "s"]);
    bench.resize(9, 3);
    bench.frame(&["page 1", "page 2", "page 3"]);
    assert_eq!(shown(&bench), ["page 1", "page 2", "page 3"]);
    bench.screen.alternate(Alternate::Leave).unwrap();
    bench.frame(&["> a", "s"]);
    assert_eq!(bench.lines(), ["kept", "later", "> a", "s"]);
}

/// One streamed answer: the tail grows in the viewport, whole rows leave it upwards.
fn stream(bench: &mut Bench, text: &str, step: usize) -> (usize, usize) {
    let (mut bytes, mut tail) = (0, String::new());
    let status = "  qwen3-coder-30b · qwen-code · ask · 31% · $0.00                        ? keys";
    let chars: Vec<char> = text.chars().collect();
    for (tick, piece) in chars.chunks(step).enumerate() {
        tail.extend(piece);
        let spinner = ["⠋", "⠙", "⠹", "⠸"][tick / 4 % 4];
        let working = format!("{spinner} Answering · {}s · ↓{} tok · esc to stop", tick / 50, tick);
        while tail.chars().count() > 90 {
            let row: String = tail.chars().take(90).collect();
            bench.commit(&[&row]);
            tail = tail.chars().skip(90).collect();
        }
        bytes += bench.frame(&[&tail.clone(), "", &working, "› and then", status]).len();
    }
    (bytes, chars.len())
}

#[test]
fn a_streamed_character_costs_at_most_eight_bytes() {
    let mut bench = Bench::new(100, 30);
    let text = "The rounding happens before the discount. I will move it, and test it. ".repeat(60);
    let (bytes, chars) = stream(&mut bench, &text, 4);
    let each = bytes as f64 / chars as f64;
    assert!(each <= 8.0, "{each:.1} bytes for a character");
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<String>),
    Frame(Vec<String>),
    /// Several sizes in a row.
    Resize(Vec<(u16, u16)>),
    /// So many of the newest lines become others, where they can.
    Replace(usize, Vec<String>),
}

/// Committed text is in capitals and Chinese, that of the viewport in small letters and kana.
fn steps(sizes: impl Strategy<Value = (u16, u16)>) -> impl Strategy<Value = Vec<Step>> {
    steps_of("[a-z]{0,3}([a-z ]{0,30}|[かなa-z]{0,20})", sizes)
}

fn steps_of(row: &'static str, sizes: impl Strategy<Value = (u16, u16)>) -> impl Strategy<Value = Vec<Step>> {
    let line = "[A-Z]{0,3}([A-Z ]{0,30}|[日本語A-Z]{0,20})";
    let others = (1usize..12, proptest::collection::vec(line, 1..12));
    let step = prop_oneof![
        3 => proptest::collection::vec(line, 0..12).prop_map(Step::Commit),
        5 => proptest::collection::vec(row, 1..9).prop_map(Step::Frame),
        2 => proptest::collection::vec(sizes, 1..4).prop_map(Step::Resize),
        2 => others.prop_map(|(count, lines)| Step::Replace(count, lines)),
    ];
    proptest::collection::vec(step, 0..25)
}

/// All text without blanks, which differ where rows end.
fn ink<'a>(lines: impl IntoIterator<Item = &'a String>) -> String {
    lines.into_iter().flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect()
}

fn of_viewport(c: char) -> bool {
    c.is_ascii_lowercase() || "かな".contains(c)
}

impl Step {
    /// The same of characters that take one column: what the emulator joins again after a wide one was
    /// moved to the next row is longer than it was.
    fn narrow(self) -> Self {
        let all = |lines: Vec<String>| {
            let narrow = |line: String| line.replace(['日', '本', '語'], "X").replace(['か', 'な'], "x");
            lines.into_iter().map(narrow).collect()
        };
        match self {
            Self::Commit(lines) => Self::Commit(all(lines)),
            Self::Frame(rows) => Self::Frame(all(rows)),
            Self::Resize(sizes) => Self::Resize(sizes),
            Self::Replace(count, lines) => Self::Replace(count, all(lines)),
        }
    }
}

/// A screen that has scrolled, so that it has no room below.
fn full_bench(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.commit(&vec![""; height.into()]);
    bench.frame(&["v"]);
    bench
}

/// Takes the steps; after each, what was committed is there once and in order, and the viewport last.
fn follow(bench: &mut Bench, steps: Vec<Step>, repaints: bool) -> Result<(), TestCaseError> {
    let (mut committed, mut view) = (Vec::new(), vec!["v".to_owned()]);
    for step in steps.into_iter().chain([Step::Frame(vec!["end".to_owned()])]) {
        match step {
            Step::Commit(lines) => {
                bench.commit(&lines.iter().map(String::as_str).collect::<Vec<_>>());
                committed.extend(lines);
                // Drawn with the next step.
                continue;
            }
            Step::Frame(rows) => view = rows,
            Step::Resize(sizes) => {
                sizes.into_iter().for_each(|(width, height)| bench.resize(width, height));
                if repaints {
                    let lines: Vec<Line<'_>> =
                        committed.iter().map(|line| Line::raw(line.as_str())).collect();
                    bench.screen.repaint(&lines);
                }
            }
            Step::Replace(count, lines) => {
                bench.frame(&view.iter().map(String::as_str).collect::<Vec<_>>());
                let from = committed.len().saturating_sub(count);
                if bench.replace(&committed[from..], &lines) == Replaced::Yes {
                    committed.splice(from.., lines);
                }
            }
        }
        bench.frame(&view.iter().map(String::as_str).collect::<Vec<_>>());
        let lines = bench.lines();
        let stands: String = ink(&lines).chars().filter(|c| !of_viewport(*c)).collect();
        prop_assert_eq!(stands, ink(&committed));
        prop_assert!(ink(&lines).ends_with(&shown(bench, &view)), "{:?} in {:?}", view, lines);
    }
    Ok(())
}

/// What the screen has room for of the viewport's rows.
fn shown(bench: &Bench, view: &[String]) -> String {
    let size = bench.screen.size();
    let rows = &view[view.len().saturating_sub(size.height.into())..];
    let cut = |row: &String| {
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, 1));
        buffer.set_string(0, 0, row, Style::new());
        Row::of_buffer(&buffer, 0).text()
    };
    ink(&rows.iter().map(cut).collect::<Vec<_>>())
}

/// Nothing but what was committed and the viewport is there.
fn nothing_else(bench: &Bench) -> Result<(), TestCaseError> {
    let found: String = ink(&bench.lines()).chars().filter(|c| of_viewport(*c)).collect();
    prop_assert_eq!(found, shown(bench, &bench.view));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_line_is_there_once(width in 2u16..60, height in 1u16..20, steps in steps(Just((0, 0)))) {
        let steps = steps.into_iter().filter(|step| !matches!(step, Step::Resize(..))).collect();
        let mut bench = Bench::new(width, height);
        follow(&mut bench, steps, false)?;
        nothing_else(&bench)?;
    }

    #[test]
    fn each_line_is_there_once_at_any_size(steps in steps((2u16..400, 1u16..100))) {
        follow(&mut full_bench(60, 20), steps, false)?;
    }

    #[test]
    fn each_line_is_there_once_when_all_is_drawn_again(steps in steps((2u16..100, 1u16..40))) {
        follow(&mut full_bench(60, 20), steps.into_iter().map(Step::narrow).collect(), true)?;
    }

    #[test]
    fn a_viewport_with_room_leaves_no_trace(steps in steps((30u16..100, 20u16..40))) {
        let mut bench = full_bench(60, 20);
        follow(&mut bench, steps.into_iter().map(Step::narrow).collect(), false)?;
        nothing_else(&bench)?;
    }

    /// The terminal shrinks in steps, below what the viewport needs, and grows at once. Of narrow
    /// characters: where a wide one was moved to the next row, terminals keep a blank or not.
    #[test]
    fn a_viewport_that_was_out_of_reach_is_cleared_when_the_terminal_grows(
        view in proptest::collection::vec("[a-z]{0,3}[a-z ]{0,40}", 1..9),
        mut widths in proptest::collection::vec(1u16..60, 4),
        mut heights in proptest::collection::vec(1u16..20, 4),
    ) {
        widths.sort_unstable_by(|a, b| b.cmp(a));
        heights.sort_unstable_by(|a, b| b.cmp(a));
        let sizes = widths.into_iter().zip(heights).chain([(100, 60)]);
        let steps = sizes.map(|size| Step::Resize(vec![size]));
        let mut bench = full_bench(60, 20);
        follow(&mut bench, std::iter::once(Step::Frame(view)).chain(steps).collect(), false)?;
        nothing_else(&bench)?;
    }
}
