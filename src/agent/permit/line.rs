//! A command line read for what it is likely to do: its programs, their arguments, where it redirects.
//!
//! Read leniently, as this only decides what is asked and what is said of it: the sandbox holds whatever is
//! overlooked here. What is [`plain`](Line::plain) is read strictly, as rules match on it.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) commands: Vec<Command>,
    /// Why it is no simple command; the first reason there is.
    pub(super) shape: Option<&'static str>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// Targets of `>`.
    pub(super) writes: Vec<String>,
    /// It reads what the command before it prints.
    pub(super) piped: bool,
}

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"];
const INTERPRETERS: &[&str] = &["python", "node", "perl", "ruby", "php", "lua", "deno", "bun", "Rscript"];
/// Programs that run the rest of their arguments.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "nohup", "nice", "time", "timeout", "xargs", "command", "exec", "builtin",
    "stdbuf", "setsid",
];
/// Words of the shell before a command.
const BEFORE: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"];
const WORDS_OF_SHELL: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function",
    "select", "!", "{", "}", "[[", "coproc",
];

impl Line {
    pub(super) fn read(text: &str) -> Line {
        let mut reader =
            Reader { chars: text.chars().peekable(), line: Line::default(), ..Reader::default() };
        reader.run();
        let mut line = reader.line;
        line.commands.retain(|command| !command.words.is_empty() || !command.writes.is_empty());
        if line.commands.iter().any(|c| c.words.first().is_some_and(|w| WORDS_OF_SHELL.contains(&w.as_str())))
        {
            line.shape.get_or_insert("a loop or a condition");
        }
        let inner: Vec<Line> = line.commands.iter().filter_map(Command::script).map(Line::read).collect();
        line.commands.extend(inner.into_iter().flat_map(|inner| inner.commands));
        line
    }

    /// The words of the one simple command that it is, or why it is none.
    pub(super) fn plain(&self) -> Result<&[String], &'static str> {
        match (self.shape, self.commands.as_slice()) {
            (Some(shape), _) => Err(shape),
            (None, [only]) if only.writes.is_empty() => Ok(&only.words),
            (None, [_]) => Err("it redirects its output"),
            (None, []) => Err("it is empty"),
            // A shell's script.
            (None, _) => Err("it runs a script given as an argument"),
        }
    }
}

impl Command {
    /// The program's name without its folder, and its arguments; assignments, words of the shell and
    /// wrappers before it are passed over.
    pub(super) fn program(&self) -> (&str, &[String]) {
        let mut words = self.words.as_slice();
        while let [first, rest @ ..] = words {
            let skips = BEFORE.contains(&first.as_str()) || assigns(first);
            let wraps = WRAPPERS.contains(&name(first)) && !rest.is_empty();
            if !skips && !wraps {
                return (name(first), rest);
            }
            words = rest;
            if !skips {
                let options = |word: &&String| {
                    word.starts_with('-') || assigns(word) || word.starts_with(|c: char| c.is_ascii_digit())
                };
                let passed = words.iter().take_while(options).count();
                words = &words[passed..];
            }
        }
        ("", &[])
    }

    /// It, or a wrapper of it, is this.
    pub(super) fn begins_with(&self, programs: &[&str]) -> bool {
        let first = self.words.iter().find(|word| !assigns(word));
        first.is_some_and(|first| programs.contains(&name(first)))
    }

    /// A shell or a language's interpreter.
    pub(super) fn interprets(&self) -> bool {
        interprets(self.program().0)
    }

    /// What a shell or `eval` is given to run.
    fn script(&self) -> Option<&str> {
        let (program, args) = self.program();
        if program == "eval" {
            return args.first().map(String::as_str);
        }
        if !SHELLS.contains(&program) {
            return None;
        }
        let flag = |arg: &String| arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('c');
        args.iter().position(flag).and_then(|at| args.get(at + 1)).map(String::as_str)
    }
}

/// Why no rule may be about a command of these words, whatever it says.
pub(super) fn never_by_rule(words: &[String]) -> Option<&'static str> {
    let (first, args) = words.split_first()?;
    let program = name(first);
    let has = |flags: &[char]| {
        let short = |arg: &&String| arg.starts_with('-') && !arg.starts_with("--");
        args.iter().filter(short).any(|arg| arg.contains(flags))
    };
    let script = ["--eval", "--print", "--command", "--run"];
    if assigns(first) {
        return Some("it sets variables");
    }
    if ["eval", "source", "."].contains(&program) || WRAPPERS.contains(&program) {
        return Some("it runs another program");
    }
    if SHELLS.contains(&program) && has(&['c', 's'])
        || interprets(program) && !SHELLS.contains(&program) && has(&['c', 'e', 'p', 'r'])
        || interprets(program) && args.iter().any(|arg| script.iter().any(|s| arg.starts_with(s)))
    {
        return Some("it runs code given as an argument");
    }
    if interprets(program) && args.iter().all(|arg| arg.starts_with('-')) {
        return Some("it runs code that it reads");
    }
    None
}

pub(super) fn interprets(program: &str) -> bool {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    SHELLS.contains(&program) || INTERPRETERS.contains(&bare)
}

pub(super) fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn assigns(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    line: Line,
    now: Command,
    word: Option<String>,
    /// The next word is where the output goes.
    redirects: bool,
    /// Ends of here-documents that begin at the next line.
    heres: Vec<String>,
}

impl Default for Reader<'_> {
    fn default() -> Self {
        let (line, now) = (Line::default(), Command::default());
        Self { chars: "".chars().peekable(), line, now, word: None, redirects: false, heres: Vec::new() }
    }
}

impl Reader<'_> {
    fn run(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' => {
                    self.end_command();
                    self.skip_heres();
                    if self.chars.clone().any(|c| !c.is_whitespace()) {
                        self.is("several commands");
                    }
                }
                ';' => {
                    self.end_command();
                    self.is("several commands");
                }
                '&' if self.chars.peek() == Some(&'>') => {}
                '&' => {
                    let and = self.chars.next_if_eq(&'&').is_some();
                    self.end_command();
                    self.is(if and { "several commands" } else { "it goes on in the background" });
                }
                '|' => {
                    let or = self.chars.next_if_eq(&'|').is_some();
                    self.chars.next_if_eq(&'&');
                    self.end_command();
                    self.now.piped = !or;
                    self.is(if or { "several commands" } else { "a pipeline" });
                }
                '>' => self.redirect(),
                '<' => self.input(),
                '(' | ')' => {
                    self.end_command();
                    self.is("a group of commands");
                }
                '`' => {
                    self.end_command();
                    self.is("a substitution");
                }
                '$' => self.dollar(),
                '#' if self.word.is_none() => {
                    self.is("a comment");
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                }
                '\'' => self.single(),
                '"' => self.double(),
                '\\' => match self.chars.next() {
                    Some('\n') => {}
                    None => self.is("it is not complete"),
                    Some(c) => self.word.get_or_insert_default().push(c),
                },
                c => self.word.get_or_insert_default().push(c),
            }
        }
        self.end_command();
    }

    fn is(&mut self, shape: &'static str) {
        self.line.shape.get_or_insert(shape);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.redirects) {
            true => self.now.writes.push(word),
            false => self.now.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirects = false;
        let now = std::mem::take(&mut self.now);
        self.line.commands.push(now);
    }

    fn redirect(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        while self.chars.next_if(|c| matches!(c, '>' | '|')).is_some() {}
        if self.chars.next_if_eq(&'&').is_some() && self.chars.next_if(char::is_ascii_digit).is_some() {
            // `>&1x` is a file called `1x`.
            let over = self.chars.peek().is_none_or(|c| c.is_whitespace() || ";|&<>()".contains(*c));
            if over {
                return;
            }
        }
        self.is("it redirects its output");
        self.redirects = true;
    }

    fn input(&mut self) {
        self.end_word();
        if self.chars.next_if_eq(&'<').is_none() {
            return self.is("it reads its input from a file");
        }
        self.is("a text for its input");
        if self.chars.next_if_eq(&'<').is_some() {
            return;
        }
        self.chars.next_if_eq(&'-');
        while self.chars.next_if(|c| *c == ' ').is_some() {}
        let mut end = String::new();
        while let Some(c) = self.chars.next_if(|c| !c.is_whitespace() && !";|&<>()".contains(*c)) {
            end.push(c);
        }
        self.heres.push(end.replace(['\'', '"', '\\'], ""));
    }

    fn skip_heres(&mut self) {
        for end in std::mem::take(&mut self.heres) {
            loop {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                let over = self.chars.next().is_none();
                if over || line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    fn dollar(&mut self) {
        if self.chars.next_if_eq(&'(').is_some() {
            self.end_command();
            return self.is("a substitution");
        }
        self.is("a variable");
        self.word.get_or_insert_default().push('$');
    }

    fn single(&mut self) {
        let word = self.word.get_or_insert_default();
        for c in self.chars.by_ref() {
            if c == '\'' {
                return;
            }
            word.push(c);
        }
        self.is("a quote is not closed");
    }

    fn double(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c) if "\"\\$`".contains(c) => self.word.get_or_insert_default().push(c),
                    Some(c) => self.word.get_or_insert_default().extend(['\\', c]),
                },
                '`' => self.is("a substitution"),
                '$' if self.chars.peek() == Some(&'(') => {
                    self.is("a substitution");
                    let mut inner = String::new();
                    self.chars.next();
                    while let Some(c) = self.chars.next_if(|c| *c != ')') {
                        inner.push(c);
                    }
                    self.line.commands.extend(Line::read(&inner).commands);
                }
                '$' => {
                    self.is("a variable");
                    self.word.get_or_insert_default().push('$');
                }
                c => self.word.get_or_insert_default().push(c),
            }
        }
        self.is("a quote is not closed");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_simple_command_is_plain() {
        for (line, want) in [
            ("cargo test cart::", Ok("cargo|test|cart::")),
            ("  git  commit -m 'a b'\n", Ok("git|commit|-m|a b")),
            ("rm 'a;b' \"c|d\" e\\ f", Ok("rm|a;b|c|d|e f")),
            ("", Err("it is empty")),
            ("a | b", Err("a pipeline")),
            ("a && b", Err("several commands")),
            ("a; b", Err("several commands")),
            ("a\nb", Err("several commands")),
            ("a & ", Err("it goes on in the background")),
            ("a \\\n b \\\n", Ok("a|b")),
            ("a $(b)", Err("a substitution")),
            ("a \"$(b)\"", Err("a substitution")),
            ("a `b`", Err("a substitution")),
            ("a $B", Err("a variable")),
            ("a > b", Err("it redirects its output")),
            ("a <<EOF\nx\nEOF", Err("a text for its input")),
            ("(a)", Err("a group of commands")),
            ("a # b", Err("a comment")),
            ("for x in a", Err("a loop or a condition")),
            ("sh -c 'a b'", Err("it runs a script given as an argument")),
        ] {
            let line_read = Line::read(line);
            let got = line_read.plain().map(|words| words.join("|"));
            assert_eq!(got.as_deref().map_err(|e| *e), want, "{line}");
        }
    }

    #[test]
    fn programs_are_found_wherever_they_stand() {
        for (line, want) in [
            ("cd a && curl x", "cd curl"),
            ("sudo rm y", "rm"),
            ("timeout 5 curl x", "curl"),
            ("if true; then curl x; fi", "true curl fi"),
            ("echo $(wget x)", "echo wget"),
            ("echo \"$(wget x)\"", "wget echo"),
            ("bash -lc 'cd a; pip install b'", "bash cd pip"),
            ("cat > f <<'EOF'\ncurl x\nEOF\nls", "cat ls"),
            ("/usr/bin/curl x", "curl"),
        ] {
            let line_read = Line::read(line);
            let got: Vec<&str> = line_read.commands.iter().map(|command| command.program().0).collect();
            assert_eq!(got.join(" "), want, "{line}");
        }
    }

    proptest! {
        /// Whatever is plain is what a shell's word splitting makes of it.
        #[test]
        fn plain_words_are_the_shells(line in "[a-c '\"\\\\|;&$<>(){}#\n=-]{0,24}") {
            // Of a line that goes on, shlex makes a word of its own where it begins with nothing; no shell does.
            prop_assume!(!line.contains("\\\n"));
            if let Ok(words) = Line::read(&line).plain() {
                prop_assert_eq!(Some(words.to_vec()), shlex::split(&line), "{}", line);
            }
        }

        #[test]
        fn nothing_breaks_the_reader(line in "\\PC{0,60}") {
            Line::read(&line);
        }
    }
}
