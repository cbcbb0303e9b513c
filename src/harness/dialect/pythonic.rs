//! Calls written as a list of Python calls between special tokens, as LFM2 and others trained on that
//! form write them: `<|tool_call_start|>[read(path="a.py", limit=20)]<|tool_call_end|>`.
//!
//! Only literals are understood; whatever else is in there is no call.

use serde_json::{Map, Value, json};

use crate::harness::bind;
use crate::harness::kit::Kit;

use super::salvage::{Raw, between, stands_alone};

const OPENS: &str = "<|tool_call_start|>";
const CLOSES: &str = "<|tool_call_end|>";
/// Lists within lists.
const DEEPEST: usize = 32;

pub(super) fn find(kit: &Kit, body: &str) -> Option<Raw> {
    let (inside, span, closed) = between(body, OPENS, CLOSES)?;
    if !stands_alone(body, span) {
        return None;
    }
    let mut calls = Vec::new();
    for text in inside {
        let mut reader = Reader { rest: text };
        match reader.calls(kit) {
            Ok(found) => calls.extend(found),
            Err(Flaw::CutOff) if !closed => return Some(Raw::CutOff),
            Err(Flaw::CutOff | Flaw::Bad) => return Some(Raw::Unreadable),
        }
    }
    Some(if calls.is_empty() { Raw::Unreadable } else { Raw::Calls(calls, span) })
}

#[derive(Debug, PartialEq)]
enum Flaw {
    CutOff,
    Bad,
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// A list of calls, or calls one after another; nothing behind them.
    fn calls(&mut self, kit: &Kit) -> Result<Vec<(String, Value)>, Flaw> {
        let listed = self.eat('[');
        let mut calls = Vec::new();
        loop {
            if listed && self.eat(']') || !listed && self.peek().is_none() {
                break;
            }
            calls.push(self.call(kit)?);
            while self.eat(',') || self.eat(';') {}
        }
        if self.peek().is_some() { Err(Flaw::Bad) } else { Ok(calls) }
    }

    fn call(&mut self, kit: &Kit) -> Result<(String, Value), Flaw> {
        let name = self.name()?.to_owned();
        self.want('(')?;
        let tool = bind::resolve(kit, &name).map(|(_, tool)| tool);
        let mut by_place = tool.iter().flat_map(|tool| tool.params.names());
        let mut args = Map::new();
        while !self.eat(')') {
            let ahead = self.rest;
            let key = self.name().ok().filter(|_| self.eat('=')).map(str::to_owned);
            let key = match key {
                Some(key) => key,
                None => {
                    self.rest = ahead;
                    by_place.next().ok_or(Flaw::Bad)?.to_owned()
                }
            };
            args.insert(key, self.value(0)?);
            if !self.eat(',') {
                self.want(')')?;
                break;
            }
        }
        Ok((name, Value::Object(args)))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Flaw> {
        if depth > DEEPEST {
            return Err(Flaw::Bad);
        }
        match self.peek().ok_or(Flaw::CutOff)? {
            '[' => self.list(('[', ']'), depth),
            '(' => self.list(('(', ')'), depth),
            '{' => self.dict(depth),
            '"' | '\'' => Ok(json!(self.text(true)?)),
            '-' | '+' | '.' | '0'..='9' => self.number(),
            _ => {
                let ahead = self.rest;
                let word = self.name()?;
                match word {
                    "True" | "true" => Ok(json!(true)),
                    "False" | "false" => Ok(json!(false)),
                    "None" | "null" => Ok(Value::Null),
                    prefix if prefix.len() <= 2 && self.rest.starts_with(['"', '\'']) => {
                        // With holes in it a text is no literal.
                        match prefix.to_ascii_lowercase().as_str() {
                            "r" => Ok(json!(self.text(false)?)),
                            "u" => Ok(json!(self.text(true)?)),
                            _ => Err(Flaw::Bad),
                        }
                    }
                    _ if ahead.len() == word.len() => Err(Flaw::CutOff),
                    _ => Err(Flaw::Bad),
                }
            }
        }
    }

    fn list(&mut self, (opens, closes): (char, char), depth: usize) -> Result<Value, Flaw> {
        self.want(opens)?;
        let mut list = Vec::new();
        while !self.eat(closes) {
            list.push(self.value(depth + 1)?);
            if !self.eat(',') {
                self.want(closes)?;
                break;
            }
        }
        Ok(Value::Array(list))
    }

    fn dict(&mut self, depth: usize) -> Result<Value, Flaw> {
        self.want('{')?;
        let mut fields = Map::new();
        while !self.eat('}') {
            let Value::String(key) = self.value(depth + 1)? else { return Err(Flaw::Bad) };
            self.want(':')?;
            fields.insert(key, self.value(depth + 1)?);
            if !self.eat(',') {
                self.want('}')?;
                break;
            }
        }
        Ok(Value::Object(fields))
    }

    fn number(&mut self) -> Result<Value, Flaw> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)));
        let (word, rest) = self.rest.split_at(end.ok_or(Flaw::CutOff)?);
        self.rest = rest;
        let word = word.replace('_', "");
        let number = word.trim_start_matches('+');
        number
            .parse::<i64>()
            .map(|n| json!(n))
            .or_else(|_| number.parse::<f64>().map(|n| json!(n)))
            .map_err(|_| Flaw::Bad)
    }

    /// A text in single or triple quotes.
    fn text(&mut self, escapes: bool) -> Result<String, Flaw> {
        let quote = self.rest.chars().next().ok_or(Flaw::CutOff)?;
        let triple = quote.to_string().repeat(3);
        let ends = if self.rest.starts_with(&triple) { triple } else { quote.to_string() };
        self.rest = &self.rest[ends.len()..];
        let mut out = String::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix(ends.as_str()) {
                self.rest = rest;
                return Ok(out);
            }
            let next = self.rest.chars().next().ok_or(Flaw::CutOff)?;
            self.rest = &self.rest[next.len_utf8()..];
            match next {
                '\\' if escapes => self.escape(&mut out)?,
                '\\' => {
                    // Raw: the quote behind it stays, and does not end the text.
                    out.push('\\');
                    let after = self.rest.chars().next().ok_or(Flaw::CutOff)?;
                    out.push(after);
                    self.rest = &self.rest[after.len_utf8()..];
                }
                // Strictly no text, but what the model means is plain.
                other => out.push(other),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Flaw> {
        let letter = self.rest.chars().next().ok_or(Flaw::CutOff)?;
        self.rest = &self.rest[letter.len_utf8()..];
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        match letter {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            '0' => out.push('\0'),
            '\n' => {}
            '\\' | '\'' | '"' => out.push(letter),
            'x' | 'u' | 'U' => {
                let hex = self.rest.get(..digits).ok_or(Flaw::Bad)?;
                let code = u32::from_str_radix(hex, 16).map_err(|_| Flaw::Bad)?;
                out.push(char::from_u32(code).ok_or(Flaw::Bad)?);
                self.rest = &self.rest[digits..];
            }
            // As Python leaves what it does not know.
            other => out.extend(['\\', other]),
        }
        Ok(())
    }

    fn name(&mut self) -> Result<&'a str, Flaw> {
        self.peek().ok_or(Flaw::CutOff)?;
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c)));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if name.is_empty() {
            return Err(Flaw::Bad);
        }
        self.rest = rest;
        Ok(name)
    }

    /// The next character behind blanks and line ends.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn want(&mut self, wanted: char) -> Result<(), Flaw> {
        match self.peek() {
            None => Err(Flaw::CutOff),
            Some(_) if self.eat(wanted) => Ok(()),
            Some(_) => Err(Flaw::Bad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::testing::{loaded, model};
    use crate::model::Class;

    fn read(text: &str) -> Result<Value, &'static str> {
        let loaded = loaded("pi");
        match find(loaded.kit(&model(Class::F)), text) {
            Some(Raw::Calls(calls, _)) => Ok(json!(calls)),
            Some(Raw::CutOff) => Err("cut off"),
            Some(Raw::Unreadable) => Err("unreadable"),
            None => Err("nothing"),
        }
    }

    #[test]
    fn calls_as_python_writes_them() {
        let table = [
            (r#"[read(path="a.py", limit=20)]"#, json!([["read", {"path": "a.py", "limit": 20}]])),
            (
                "[bash(command='ls -l'), bash('pwd', 3.5)]",
                json!([["bash", {"command": "ls -l"}], ["bash", {"command": "pwd", "timeout": 3.5}]]),
            ),
            (
                "[edit(path='a', edits=[{'oldText': 'x\\n', \"newText\": \"it's\"},])]",
                json!([["edit", {"path": "a", "edits": [{"oldText": "x\n", "newText": "it's"}]}]]),
            ),
            (
                "write(path='a', content='''1\n\"2\" \\x41\\d''')",
                json!([["write", {"path": "a", "content": "1\n\"2\" A\\d"}]]),
            ),
            (
                "[x(a=True, b=None, c=(1, -2), d={}, e=r'\\d')]",
                json!([["x", {"a": true, "b": null, "c": [1, -2], "d": {}, "e": "\\d"}]]),
            ),
        ];
        for (text, want) in table {
            assert_eq!(
                read(&format!("I look.\n<|tool_call_start|>{text}<|tool_call_end|>")),
                Ok(want.clone()),
                "{text}"
            );
            // A server may take the last token away.
            assert_eq!(read(&format!("<|tool_call_start|>{text}")), Ok(want), "{text}");
        }
        for (text, why) in [
            ("<|tool_call_start|>[read(path=\"a", "cut off"),
            ("<|tool_call_start|>[read(path=", "cut off"),
            ("<|tool_call_start|>[read(path='a')", "cut off"),
            ("<|tool_call_start|>[read(path='a)]<|tool_call_end|>", "unreadable"),
            ("<|tool_call_start|>[read(path=os.path)]<|tool_call_end|>", "unreadable"),
            ("<|tool_call_start|>[read(path=f'{x}')]<|tool_call_end|>", "unreadable"),
            ("<|tool_call_start|>[]<|tool_call_end|>", "unreadable"),
            ("[read(path='a')]", "nothing"),
        ] {
            assert_eq!(read(text), Err(why), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in r#"(\[|\]|\(|\)|a|=|,|'|"|\\|\\x4|\{|\}|:|-1|é|\n| ){0,24}"#) {
            let _ = read(&format!("<|tool_call_start|>{text}"));
        }
    }
}
