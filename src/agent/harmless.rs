//! Which command lines are known to change nothing.
//!
//! A short list, read strictly: whatever is not understood may change something. It decides what is
//! worth checking, never what is allowed; that is the sandbox's business.

/// Programs that only read, whatever their arguments, but for the options that [`writes`] knows.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "[", "basename", "cat", "cd", "cmp", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep",
    "false", "fgrep", "file", "find", "git", "grep", "head", "id", "jq", "less", "ls", "md5sum", "more", "nl", "od",
    "paste", "printenv", "printf", "ps", "pwd", "readlink", "realpath", "rev", "rg", "sed", "seq", "sha256sum",
    "sleep", "sort", "stat", "strings", "tac", "tail", "test", "tr", "tree", "true", "type", "uname", "uniq", "wc",
    "which", "whoami", "xargs",
];

/// What `git` does without changing anything.
const GIT: &[&str] = &[
    "blame",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// A word of a command, as the shell hands it on.
#[derive(Debug, Default)]
struct Word {
    text: String,
    /// The shell puts in what is not known here, where that may make an option of it, or further words.
    open: bool,
}

/// Whether the line is made of programs that only read, with pipes between them at most.
pub(super) fn harmless(line: &str) -> bool {
    let Some(commands) = commands(line) else { return false };
    !commands.is_empty() && commands.iter().all(|words| reads(words))
}

fn reads(words: &[Word]) -> bool {
    let Some((program, args)) = words.split_first().filter(|(program, _)| !program.open) else {
        return false;
    };
    if let [only] = args
        && ["--version", "--help"].contains(&only.text.as_str())
    {
        return !program.text.contains('/');
    }
    let open = args.iter().any(|arg| arg.open);
    let args: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
    let program = program.text.as_str();
    READERS.contains(&program) && !(open && CAN_WRITE.contains(&program)) && !writes(program, &args)
}

/// Readers that some argument makes write, or run something else: what [`writes`] looks at.
const CAN_WRITE: &[&str] = &[
    "[", "date", "file", "find", "git", "less", "more", "printf", "rg", "sed", "sort", "test", "tree",
    "uniq", "xargs",
];

/// Whether a program only reads, whatever its arguments.
pub(super) fn only_reads(program: &str) -> bool {
    READERS.contains(&program) && !CAN_WRITE.contains(&program)
}

/// Whether these arguments make a reader write, or run something else.
fn writes(program: &str, args: &[&str]) -> bool {
    let has = |options: &[&str]| args.iter().any(|arg| options.iter().any(|option| means(arg, option)));
    let short = |letter| args.iter().any(|arg| is_short(arg) && arg.contains(letter));
    match program {
        // Of a name with brackets the shell runs what stands in them.
        "[" | "test" => has(&["-v", "-R"]),
        "printf" => args.first().is_some_and(|first| is_short(first)),
        "date" => short('s') || has(&["--set"]) || args.iter().any(|arg| !arg.starts_with(['+', '-'])),
        "file" => short('C') || has(&["--compile"]),
        "find" => has(&["-exec", "-ok", "-delete", "-fprint", "-fls"]),
        "git" => {
            !args.first().is_some_and(|verb| GIT.contains(verb))
                || has(&["--output", "--ext-diff", "-O", "--open-files-in-pager"])
        }
        "less" | "more" => {
            short('o')
                || short('O')
                || has(&["--log-file", "--LOG-FILE"])
                || args.iter().any(|arg| arg.starts_with('+'))
        }
        "rg" => has(&["--pre", "--hostname-bin"]),
        "sed" => !sed_prints(args),
        "sort" => short('o') || has(&["--output", "--compress-program"]),
        "tree" => short('o') || short('R') || has(&["--output"]),
        // The second name is what it writes to.
        "uniq" => args.iter().filter(|arg| !arg.starts_with('-')).count() > 1,
        "xargs" => {
            let own = args.iter().take_while(|arg| ["-0", "-r", "-t"].contains(arg)).count();
            // What it adds may be anything.
            args[own..]
                .split_first()
                .is_some_and(|(run, _)| !READERS.contains(run) || CAN_WRITE.contains(run))
        }
        _ => false,
    }
}

/// Whether an argument is this option, with a value behind it, or as short as a long one may be written.
fn means(arg: &str, option: &str) -> bool {
    let name = arg.split('=').next().unwrap_or(arg);
    arg.starts_with(option) || name.len() > 2 && name.starts_with("--") && option.starts_with(name)
}

fn is_short(arg: &str) -> bool {
    arg.starts_with('-') && !arg.starts_with("--")
}

/// `sed -n` with nothing but line numbers to print.
fn sed_prints(args: &[&str]) -> bool {
    let [flag, script, files @ ..] = args else { return false };
    *flag == "-n"
        && script.chars().all(|c| c.is_ascii_digit() || "$,;+~pq ".contains(c))
        && !files.iter().any(|file| file.starts_with('-'))
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The simple commands of a line, each as its words; None when it holds anything but words, quotes,
/// variables, `|`, `&&`, `||`, `;`, line ends, `< file` and output thrown away.
fn commands(line: &str) -> Option<Vec<Vec<Word>>> {
    let mut all: Vec<Vec<Word>> = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => finish(&mut word, &mut all),
            '\n' | ';' | '|' => {
                finish(&mut word, &mut all);
                if c == '|' && chars.next_if_eq(&'|').is_none() {
                    // `|&` is one too.
                    chars.next_if_eq(&'&');
                }
                all.push(Vec::new());
            }
            '&' => {
                chars.next_if_eq(&'&')?;
                finish(&mut word, &mut all);
                all.push(Vec::new());
            }
            '>' => {
                // The number of what is thrown away is no word.
                if word.as_ref().is_some_and(|word| word.text == "1" || word.text == "2") {
                    word = None;
                }
                finish(&mut word, &mut all);
                let rest: String = chars.clone().collect();
                let length = thrown_away(&rest)?;
                chars.nth(length - 1);
            }
            '<' => {
                finish(&mut word, &mut all);
                if ['<', '>', '(', '&'].iter().any(|odd| chars.peek() == Some(odd)) {
                    return None;
                }
            }
            '`' | '(' | ')' => return None,
            '{' | '}' | '#' if word.is_none() => return None,
            c => part(c, &mut chars, word.get_or_insert_default())?,
        }
    }
    finish(&mut word, &mut all);
    all.retain(|words| !words.is_empty());
    Some(all)
}

/// A character of a word, with what belongs to it.
fn part(c: char, chars: &mut Chars<'_>, word: &mut Word) -> Option<()> {
    match c {
        '\'' => loop {
            match chars.next()? {
                '\'' => break,
                c => word.text.push(c),
            }
        },
        '"' => quoted(chars, word)?,
        '\\' => match chars.next()? {
            // The line goes on.
            '\n' => {}
            c => word.text.push(c),
        },
        '$' => {
            // What is put in may hold blanks, and is split there.
            word.open |= variable(chars, word)?;
        }
        // Names of files, which may begin with a dash where the word begins so.
        '*' | '?' | '[' | '{' => {
            word.open |= word.text.is_empty() && word_may_grow(c, chars) || word.text.starts_with('-');
            word.text.push(c);
        }
        c => word.text.push(c),
    }
    Some(())
}

/// The program `[` is no pattern.
fn word_may_grow(c: char, chars: &mut Chars<'_>) -> bool {
    c != '[' || chars.peek().is_some_and(|next| !next.is_ascii_whitespace())
}

/// A variable's name behind `$`, plain or in braces; false where `$` stands for itself. None: more than a name.
fn variable(chars: &mut Chars<'_>, word: &mut Word) -> Option<bool> {
    let braced = chars.next_if_eq(&'{').is_some();
    let mut name = String::new();
    while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
        name.push(c);
    }
    if braced {
        chars.next_if_eq(&'}').filter(|_| !name.is_empty())?;
    }
    word.text.push('$');
    word.text.push_str(&name);
    match (name.is_empty(), chars.peek()) {
        (false, _) => Some(true),
        // At the end of a word or a pattern.
        (true, None | Some(' ' | '\t' | '\n' | '|' | ';' | '&' | '/' | ',')) => Some(false),
        (true, Some(_)) => None,
    }
}

fn finish(word: &mut Option<Word>, all: &mut [Vec<Word>]) {
    if let (Some(word), Some(words)) = (word.take(), all.last_mut()) {
        words.push(word);
    }
}

/// The rest of a text in double quotes.
fn quoted(chars: &mut Chars<'_>, word: &mut Word) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => match chars.next()? {
                '\n' => {}
                c => word.text.push(c),
            },
            '`' => return None,
            '$' if chars.peek() == Some(&'"') => word.text.push('$'),
            '$' => {
                let may = word.text.is_empty() || word.text.starts_with('-');
                word.open |= variable(chars, word)? && may;
            }
            c => word.text.push(c),
        }
    }
}

/// How many characters after a `>` say that the output goes nowhere, or to the other output.
fn thrown_away(rest: &str) -> Option<usize> {
    let target = rest.trim_start_matches(' ');
    let found = ["/dev/null", "&1", "&2"].into_iter().find(|known| {
        let after = target.strip_prefix(known).map(|after| after.chars().next());
        after.is_some_and(|next| next.is_none_or(|c| " \t\n;|&".contains(c)))
    })?;
    Some(rest.chars().count() - target.chars().count() + found.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_only_read_are_known() {
        for line in [
            "ls",
            "ls -la src",
            "cat a.py | head -20",
            "grep -rn 'def add' . 2>/dev/null | wc -l",
            "grep \"a > b\" x.txt",
            "find . -name '*.py' 2>&1",
            "find . -name \"*.py\" | xargs grep -n add",
            "cd src && cat main.rs",
            "wc -l < notes.txt",
            "sed -n '1,20p' a.py",
            "sed -n 5p a.py; tail -n 3 a.py",
            "git status --short",
            "git diff -- a.py || true",
            "cat a.py\ncat b.py\n",
            "python3 --version",
            "echo $HOME",
            "cat $F \"${F}x\"",
            "ls *.py src/*.rs",
            "find src/*/x -name '*.rs'",
            "grep -n 'x$' a",
            "grep -n \"x$\" a",
            "[ -e a ] && cat a",
            "find . -name \\\n'*.py'",
            "printf '%s\\n' a",
            "date +%s",
            "sort a.txt | uniq -c | sort -rn",
            "ls a{b,c}.txt",
            "cat x >/dev/null",
            "echo it\\'s 'a;b'",
        ] {
            assert!(harmless(line), "{line}");
        }
    }

    #[test]
    fn whatever_else_may_change_something() {
        for line in [
            "",
            "   ",
            "rm a.py",
            "echo x > a.py",
            "echo x >> a.py",
            "echo x >/dev/nullx",
            "cat a 2>err.txt",
            "cat <<EOF > a\nx\nEOF",
            "cat a <> b",
            "cat a | tee b",
            "sed -i s/a/b/ a.py",
            "sed -n 'w b' a.py",
            "sed -n -i 1p a.py",
            "sed 's/a/b/w c' a.py",
            "find . -name x -delete",
            "find . -exec rm {} +",
            "find . | xargs rm",
            "sort -o a.txt a.txt",
            "sort -uo a.txt a.txt",
            "uniq a b",
            "git commit -am x",
            "git checkout -- a.py",
            "git -c alias.x=!rm x",
            "git diff --output=a.py",
            "git",
            "echo $(rm a)",
            "echo \"$(rm a)\"",
            "echo `rm a`",
            "ls & rm a",
            "ls; rm a",
            "ls | sh",
            "(rm a)",
            "{ rm a; }",
            "X=1 rm a",
            "python3 run.py",
            "./x --version",
            "make test",
            "cat 'a",
            "ls # x\nrm a",
            "env rm a",
            "$PAGER a",
            // What the shell puts in, or puts together, may be an option.
            "find d $X",
            "find d \"$X\"",
            "find d a$X",
            "find d ${X--delete}",
            "find d $'-delete'",
            "find d $\"-delete\"",
            "echo ${X@P}",
            "find d -delet{e,e}",
            "find d -del\\\nete",
            "find d \"-del\\\nete\"",
            "find *",
            "find d -d*",
            "sort ${X--o} out a",
            "echo -delete | xargs find .",
            "ls | xargs sort",
            "sort --outp=out a",
            "sort --o out a",
            "sort --compress-p=./x a",
            "git diff --outp=f",
            "git grep --open x",
            "date --se=x",
            "date 01010101",
            "file -C -m a",
            "tree -R -H . -L 1",
            "rg --hostname-bin ./h z",
            "less +!x a",
            "[ -v 'a[$(rm x)]' ]",
            "test -v 'a[$(rm x)]'",
            "printf -v 'a[$(rm x)]' y",
        ] {
            assert!(!harmless(line), "{line}");
        }
    }
}
