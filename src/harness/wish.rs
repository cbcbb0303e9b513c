//! What a request asks for, told by its words: a change, or something to be mended.
//!
//! A guess on English words. It only decides when the model is urged on and what is looked at before
//! it begins, so a request that is not understood costs a little time at most.

/// Words that ask for a change where a clause begins with them.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "add", "adjust", "allow", "append", "apply", "bring", "build", "bump", "change", "clean", "convert", "correct",
    "create", "debug", "delete", "drop", "edit", "ensure", "extend", "extract", "finish", "fix", "format", "generate",
    "handle", "implement", "improve", "increase", "initialize", "inline", "insert", "install", "introduce", "let",
    "make", "merge", "migrate", "modify", "move", "optimise", "optimize", "port", "prepend", "put", "reduce",
    "refactor", "remove", "rename", "reorder", "repair", "replace", "resolve", "return", "reverse", "rewrite", "set",
    "simplify", "sort", "split", "support", "swap", "translate", "turn", "update", "upgrade", "use", "wrap", "write",
];
/// The same wherever they stand in a sentence that asks nothing.
const STRONG: &[&str] = &[
    "add",
    "change",
    "create",
    "delete",
    "fix",
    "implement",
    "must",
    "needs",
    "refactor",
    "remove",
    "rename",
    "replace",
    "should",
    "update",
];
/// A sentence that begins so wants an answer.
#[rustfmt::skip]
const ASKS: &[&str] = &[
    "are", "describe", "did", "do", "does", "explain", "has", "have", "how", "is", "summarise", "summarize", "tell",
    "was", "were", "what", "when", "where", "which", "who", "whose", "why",
];
/// A sentence that begins so wants something looked up; another clause of it may want more.
const LOOKS: &[&str] =
    &["check", "count", "find", "list", "look", "open", "print", "read", "run", "search", "see", "show"];
/// What may stand ahead of the word that counts.
#[rustfmt::skip]
const LEAD: &[&str] = &[
    "also", "and", "can", "could", "finally", "first", "going", "i'd", "i", "just", "kindly", "let's", "like", "need",
    "next", "now", "ok", "please", "so", "then", "to", "want", "will", "would", "you",
];
const POLITE: &[&str] = &["can you", "could you", "would you", "will you", "please"];

/// Words that are said to be polite. A request of few words that begins so wants no work.
#[rustfmt::skip]
const TALK: &[&str] = &[
    "bonjour", "bye", "ciao", "cool", "danke", "good", "goodbye", "gracias", "great", "hallo", "hello", "hey", "hi",
    "hola", "merci", "moin", "nice", "salut", "servus", "thank", "thanks", "thx", "yo", "你好", "谢谢",
];
/// Most words of such a request.
const TALK_WORDS: usize = 4;

/// Words of requests that are about something that does not work.
#[rustfmt::skip]
const BROKEN: &[&str] = &[
    "broken", "bug", "bugs", "build", "check", "checks", "compile", "compiles", "correct", "crash", "crashes",
    "debug", "error", "errors", "fail", "failed", "failing", "fails", "failure", "fix", "green", "pass", "passes",
    "repair", "solve", "test", "tests", "wrong",
];

/// Whether the request asks for files to be changed.
pub fn asks_for_change(request: &str) -> bool {
    sentences(&request.to_lowercase()).iter().any(|sentence| sentence_asks(sentence))
}

/// Whether the request certainly wants an answer and nothing else, in any language as far as a question
/// mark tells.
pub fn only_asks(request: &str) -> bool {
    let request = request.to_lowercase();
    let looks = |word: &str| ASKS.contains(&word) || LOOKS.contains(&word);
    if is_talk(&request) {
        return true;
    }
    let asks = |sentence: &str| sentence.ends_with(['?', '？']) || opening(sentence).is_none_or(looks);
    !asks_for_change(&request) && sentences(&request).iter().all(|sentence| asks(sentence))
}

/// `request` is in small letters.
fn is_talk(request: &str) -> bool {
    let polite = words(request).next().is_some_and(|word| TALK.contains(&word));
    polite
        && words(request).count() <= TALK_WORDS
        && !asks_for_change(request)
        && !request.contains(['.', '`', '/'])
}

/// Whether the request may be about the very thing that a failing check tells of.
pub fn asks_for_repair(request: &str) -> bool {
    words(&request.to_lowercase()).any(|word| BROKEN.contains(&word))
}

fn sentence_asks(sentence: &str) -> bool {
    let polite = POLITE.iter().any(|lead| sentence.trim_start().starts_with(lead));
    let Some(first) = opening(sentence) else { return false };
    if ASKS.contains(&first) || sentence.ends_with('?') && !polite {
        return false;
    }
    let mut clauses = sentence
        .split([',', ':', ';'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" then "));
    if clauses.any(|clause| opening(clause).is_some_and(|word| VERBS.contains(&word))) {
        return true;
    }
    !LOOKS.contains(&first) && words(sentence).any(|word| STRONG.contains(&word))
}

/// The first word that is no mere lead.
fn opening(clause: &str) -> Option<&str> {
    words(clause).find(|word| !LEAD.contains(word) && !word.chars().all(|c| c.is_ascii_digit()))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_').filter(|word| !word.is_empty())
}

/// Cut where a full stop is followed by a space: `calc.py` is one word.
fn sentences(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut from = 0;
    let ends = text.char_indices().filter(|(at, c)| {
        let next = text[at + c.len_utf8()..].chars().next();
        *c == '\n' || "!?.".contains(*c) && next.is_none_or(char::is_whitespace)
    });
    for (at, c) in ends {
        let upto = at + c.len_utf8();
        all.push(text[from..upto].trim());
        from = upto;
    }
    all.push(text[from..].trim());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_asked_for_or_not() {
        let table = [
            ("fix the sum", true),
            ("Fix it.", true),
            ("Please rename foo to bar in calc.py", true),
            ("Can you add a test for parse()?", true),
            ("could you please make the button blue?", true),
            ("In calc.py, change the constant RATE to 0.2.", true),
            ("In calc.py add a function mul(a, b).", true),
            ("The test fails. Make it pass.", true),
            ("Where is the bug? Fix it.", true),
            ("Find the bug and fix it", true),
            ("add() should return the sum of its arguments.", true),
            ("1. Read a.py\n2. Write b.py", true),
            ("I want you to implement the cache", true),
            ("I'd like to delete the old table", true),
            ("Let's refactor main", true),
            ("Run the tests, then update the snapshot", true),
            ("Write 'hello' to out.txt", true),
            ("What does make test do?", false),
            ("How do I add a test?", false),
            ("Explain how to add a field.", false),
            ("Which port does the server use?", false),
            ("Is the update safe?", false),
            ("Show the last change", false),
            ("List all files that need an update", false),
            ("run the tests", false),
            ("How many lines does notes.txt have?", false),
            ("why does fix.py fail", false),
            ("hello", false),
            ("", false),
            ("???", false),
        ];
        for (request, want) in table {
            assert_eq!(asks_for_change(request), want, "{request}");
        }
    }

    #[test]
    fn only_what_is_certainly_a_question_is_one() {
        let table = [
            ("What does a.txt say?", true),
            ("Was steht in a.txt?", true),
            ("a.txt 里有什么？", true),
            ("run the tests", true),
            ("Explain main. Then list its callers.", true),
            ("Behebe den Fehler in calc.py", false),
            ("corrige el error", false),
            ("hi", true),
            ("Hello there!", true),
            ("thanks, great work", true),
            ("你好", true),
            ("hi, fix the sum", false),
            ("hello.py", false),
            ("good tests in calc.py", false),
            ("hello world program in Rust please", false),
            ("Can you add a test?", false),
            ("Where is the bug? Fix it.", false),
        ];
        for (request, want) in table {
            assert_eq!(only_asks(request), want, "{request}");
        }
    }

    #[test]
    fn something_is_to_be_mended_or_not() {
        let table = [
            ("The tests fail. Make them pass.", true),
            ("fix the rounding", true),
            ("There is a bug in add()", true),
            ("Rename foo to bar", false),
            ("Add a fixture", false),
            ("", false),
        ];
        for (request, want) in table {
            assert_eq!(asks_for_repair(request), want, "{request}");
        }
    }
}
