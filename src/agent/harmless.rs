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

/// Whether the line is made of programs that only read, with pipes between them at most.
pub(super) fn harmless(line: &str) -> bool {
    let Some(commands) = commands(line) else { return false };
    !commands.is_empty() && commands.iter().all(|words| reads(words))
}

fn reads(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    if let [only] = args
        && ["--version", "--help"].contains(&only.as_str())
    {
        return !program.contains('/');
    }
    READERS.contains(&program.as_str()) && !writes(program, args)
}

/// Whether these arguments make a reader write, or run something else.
fn writes(program: &str, args: &[String]) -> bool {
    let has = |options: &[&str]| args.iter().any(|arg| options.iter().any(|o| arg.starts_with(o)));
    let short = |letter| args.iter().any(|arg| is_short(arg) && arg.contains(letter));
    match program {
        "date" => short('s') || has(&["--set"]),
        "find" => has(&["-exec", "-ok", "-delete", "-fprint", "-fls"]),
        "git" => {
            !args.first().is_some_and(|verb| GIT.contains(&verb.as_str()))
                || has(&["--output", "--ext-diff", "-O", "--open-files"])
        }
        "less" => short('o') || short('O') || has(&["--log-file", "--LOG-FILE"]),
        "rg" => has(&["--pre"]),
        "sed" => !sed_prints(args),
        "sort" => short('o') || has(&["--output", "--compress-program"]),
        "tree" => short('o') || has(&["--output"]),
        // The second name is what it writes to.
        "uniq" => args.iter().filter(|arg| !arg.starts_with('-')).count() > 1,
        "xargs" => {
            let of_its_own = args.iter().take_while(|arg| ["-0", "-r", "-t"].contains(&arg.as_str())).count();
            args.len() > of_its_own && !reads(&args[of_its_own..])
        }
        _ => false,
    }
}

fn is_short(arg: &str) -> bool {
    arg.starts_with('-') && !arg.starts_with("--")
}

/// `sed -n` with nothing but line numbers to print.
fn sed_prints(args: &[String]) -> bool {
    let [flag, script, files @ ..] = args else { return false };
    flag == "-n"
        && script.chars().all(|c| c.is_ascii_digit() || "$,;+~pq ".contains(c))
        && !files.iter().any(|file| file.starts_with('-'))
}

/// The simple commands of a line, each as its words; None when it holds anything but words, quotes,
/// `|`, `&&`, `||`, `;`, line ends, `< file` and output thrown away.
fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    let mut word: Option<String> = None;
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
                if word.as_ref().is_some_and(|word| word == "1" || word == "2") {
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
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    c => word.get_or_insert_default().push(c),
                }
                word.get_or_insert_default();
            },
            '"' => quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '$' if chars.peek() == Some(&'(') => return None,
            '`' | '(' | ')' => return None,
            '{' | '}' | '#' if word.is_none() => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut word, &mut all);
    all.retain(|words| !words.is_empty());
    Some(all)
}

fn finish(word: &mut Option<String>, all: &mut [Vec<String>]) {
    if let (Some(word), Some(words)) = (word.take(), all.last_mut()) {
        words.push(word);
    }
}

/// The rest of a text in double quotes.
fn quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => word.push(chars.next()?),
            '`' => return None,
            '$' if chars.peek() == Some(&'(') => return None,
            c => word.push(c),
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
        ] {
            assert!(!harmless(line), "{line}");
        }
    }
}
