//! Word commands: a tool called like a program, `view /p --view_range 1 5`.

use serde_json::{Map, Value, json};

use crate::harness::bind::Fault;
use crate::harness::tool::{Tool, Type};

/// The arguments in a command whose first word is the tool's name.
pub(crate) fn read(tool: &Tool, command: &str) -> Result<Map<String, Value>, Fault> {
    let bad = |problem: String| Fault::BadWords(problem);
    let words = shlex::split(command).ok_or_else(|| bad("a quote is not closed".to_owned()))?;
    let mut words = words.into_iter().skip(1).peekable();
    let mut places = tool.args.iter();
    let mut args = Map::new();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
            let place =
                places.next().ok_or_else(|| bad(format!("`{}` is one word too many", short(&word))))?;
            args.insert(place.clone(), json!(word));
            continue;
        };
        let (flag, inline) = match flag.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (flag, None),
        };
        let param = tool.params.find(flag).ok_or_else(|| bad(format!("there is no `--{flag}`")))?;
        let value = if param.allows(Type::Array) {
            let mut list: Vec<String> = inline.into_iter().collect();
            while let Some(next) = words.next_if(|next| !next.starts_with("--")) {
                list.push(next);
            }
            numbers(&list.join(" "))
        } else {
            json!(inline.or_else(|| words.next()).ok_or_else(|| bad(format!("`--{flag}` has no value")))?)
        };
        args.insert(flag.to_owned(), value);
    }
    Ok(args)
}

/// `1 5`, `1,5` and `[1, 5]` alike.
fn numbers(text: &str) -> Value {
    let parts = text.split(|c: char| c.is_whitespace() || "[],".contains(c)).filter(|part| !part.is_empty());
    parts.map(|part| part.parse::<i64>().map_or_else(|_| json!(part), |n| json!(n))).collect()
}

/// The command that says these arguments.
pub(crate) fn write(name: &str, tool: &Tool, args: &Map<String, Value>) -> Option<String> {
    let mut words = vec![name.to_owned()];
    for place in &tool.args {
        words.push(quote(args.get(place)?)?);
    }
    for (name, value) in args.iter().filter(|(name, _)| !tool.args.contains(name)) {
        words.push(format!("--{name}"));
        match value {
            Value::Array(list) => words.extend(list.iter().map(quote).collect::<Option<Vec<_>>>()?),
            one => words.push(quote(one)?),
        }
    }
    Some(words.join(" "))
}

fn quote(value: &Value) -> Option<String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    shlex::try_quote(&text).ok().map(std::borrow::Cow::into_owned)
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
