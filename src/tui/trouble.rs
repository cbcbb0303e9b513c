//! What went wrong, in the words of a session: what happened, and which command or key does something about
//! it. Pure.

use crate::model::{KeySent, Trouble, TroubleKind};
use crate::wire::models::few;

use super::overlay::harness::tokens;
use super::text;

/// Most models that are named.
const NAMED: usize = 5;
/// What stands where a sentence has more to it than is shown.
pub(super) const DETAILS: &str = " (details ctrl+t)";
/// Where a message can be had back by a key.
const EDITS: &str = "↑ edits it, ";

/// The sentence about a turn that failed. `message` is the one for a run without a session.
pub fn sentence(message: &str, trouble: &Trouble) -> String {
    let Trouble { kind, provider, model, said, .. } = trouble;
    let refused = |key: &KeySent| match &key.ends {
        Some(ends) => format!("{provider} refused the key from {} (ends …{ends})", key.from),
        None => format!("{provider} refused the key from {}", key.from),
    };
    match kind {
        TroubleKind::Key(key) => format!("{}. /provider to change it.", refused(key)),
        TroubleKind::Denied(key) => format!("{}{}. /provider to change it.", refused(key), after(said)),
        TroubleKind::NoKey { variable } => match variable {
            Some(name) => {
                format!("{provider} wants a key{}. /login {provider} stores one, or set {name}", after(said))
            }
            None => format!("{provider} wants a key{}. /login {provider} stores one", after(said)),
        },
        TroubleKind::Paid { from } => {
            format!(
                "{provider}: the account behind {from} has nothing left{}. /model for another",
                after(said)
            )
        }
        TroubleKind::NoModel { has } if has.is_empty() => {
            format!("{provider} has no {model}. /model lists what there is")
        }
        TroubleKind::NoModel { has } => {
            format!("{provider} has no {model}. It has: {}. /model", few(has, NAMED))
        }
        TroubleKind::TooLong { tokens, window, alone } => {
            let much = too_much((*tokens, *window));
            match alone {
                true => {
                    format!("{much}: your message alone is too long. {EDITS}/model for a larger one")
                }
                false => format!("{much}. /compact, or c to compact and retry"),
            }
        }
        TroubleKind::Limited { resets } => match resets {
            Some(when) => format!("rate limit of {provider}, until {when}. /model for another"),
            None => format!("rate limit of {provider}{}. /model for another", after(said)),
        },
        TroubleKind::Unreachable { address, local: true } => {
            format!("nothing answers at {address}. Is {provider} running?")
        }
        TroubleKind::Unreachable { address, local: false } => {
            format!("nothing answers at {address}. Is this machine online?")
        }
        TroubleKind::Lost { .. } => format!("{}{}", waits_for(kind).unwrap_or_default(), after(said)),
        TroubleKind::Server { .. } => {
            format!("{provider}: {}{}", waits_for(kind).unwrap_or_default(), after(said))
        }
        TroubleKind::NoTools => {
            format!(
                "{provider} takes no tools for {model}. /harness swe-agent needs none: its calls are text"
            )
        }
        TroubleKind::Unreadable { times, harness } => {
            let often = if *times == 1 { "once".to_owned() } else { format!("{times} times in a row") };
            format!("the model's call did not parse, {often}{DETAILS}. /harness for another than {harness}")
        }
        TroubleKind::Other => bare(message),
    }
}

/// The sentence where neither of these keys does anything.
pub fn by_lines(sentence: &str) -> String {
    sentence.replace(DETAILS, "").replace(EDITS, "")
}

/// All that is known of it, for whoever wants to see it: the server's own answer where there is one.
pub fn detail(message: &str, trouble: &Trouble) -> String {
    if trouble.body.is_empty() { message.to_owned() } else { trouble.body.clone() }
}

/// Why a request goes out again, in a few words; None: it is not known.
pub fn waits_for(kind: &TroubleKind) -> Option<String> {
    match kind {
        TroubleKind::Limited { .. } => Some("rate limit".to_owned()),
        TroubleKind::Lost { tokens: 0 } => Some("connection lost".to_owned()),
        TroubleKind::Lost { tokens: count } => {
            Some(format!("connection lost after {} tokens", tokens(*count)))
        }
        TroubleKind::Server { status: Some(status) } => Some(format!("server error {status}")),
        TroubleKind::Server { status: None } => Some("server error".to_owned()),
        TroubleKind::Unreachable { address, .. } => Some(format!("nothing answers at {address}")),
        TroubleKind::Key(_)
        | TroubleKind::Denied(_)
        | TroubleKind::NoKey { .. }
        | TroubleKind::Paid { .. }
        | TroubleKind::NoModel { .. }
        | TroubleKind::TooLong { .. }
        | TroubleKind::NoTools
        | TroubleKind::Unreadable { .. }
        | TroubleKind::Other => None,
    }
}

/// A sentence without the JSON that a server may have written into it.
pub fn bare(message: &str) -> String {
    let line = text::clean_line(message.trim()).into_owned();
    let begins = ["{\"", "{ \"", "[{", "[ {", "[\""].iter().filter_map(|mark| line.find(mark)).min();
    match begins {
        Some(at) => {
            let before = line[..at].trim_end().trim_end_matches([':', ',', ';']);
            format!("{before}{DETAILS}")
        }
        None => line,
    }
}

fn too_much((tokens_sent, window): (Option<u64>, Option<u64>)) -> String {
    match (tokens_sent, window) {
        (Some(sent), Some(window)) => {
            format!("{} tokens, the model takes {}", tokens(sent), tokens(window))
        }
        (Some(sent), None) => format!("{} tokens are more than the model takes", tokens(sent)),
        (None, Some(window)) => format!("too long for the model, which takes {} tokens", tokens(window)),
        (None, None) => "this is longer than the model takes".to_owned(),
    }
}

/// `: in these words`.
fn after(said: &str) -> String {
    let said = bare(said);
    match said.trim_end_matches('.') {
        "" => String::new(),
        DETAILS => DETAILS.to_owned(),
        words => format!(": {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::cell::{Cell, Fold, View};
    use crate::tui::palette::{Palette, Theme};
    use crate::tui::text::shot::shot;

    fn trouble(kind: TroubleKind, said: &str) -> Trouble {
        let (provider, model) = ("moonshot".to_owned(), "kimi-k3".to_owned());
        Trouble { kind, provider, model, said: said.to_owned(), body: String::new() }
    }

    fn key(ends: Option<&str>) -> KeySent {
        KeySent { from: "MOONSHOT_API_KEY".into(), ends: ends.map(str::to_owned) }
    }

    /// Each kind with what a server said and what is shown.
    fn table() -> Vec<(Trouble, &'static str)> {
        let has = |names: &[&str]| TroubleKind::NoModel {
            has: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let long = |tokens, window, alone| TroubleKind::TooLong { tokens, window, alone };
        let away = |address: &str, local| TroubleKind::Unreachable { address: address.to_owned(), local };
        vec![
            (
                trouble(TroubleKind::Key(key(Some("3f2a"))), "Invalid Authentication"),
                "moonshot refused the key from MOONSHOT_API_KEY (ends …3f2a). /provider to change it.",
            ),
            (
                trouble(TroubleKind::Denied(key(None)), "not in your country."),
                "moonshot refused the key from MOONSHOT_API_KEY: not in your country. /provider to change it.",
            ),
            (
                trouble(TroubleKind::NoKey { variable: Some("MOONSHOT_API_KEY".into()) }, ""),
                "moonshot wants a key. /login moonshot stores one, or set MOONSHOT_API_KEY",
            ),
            (
                trouble(TroubleKind::Paid { from: "MOONSHOT_API_KEY".into() }, "recharge"),
                "moonshot: the account behind MOONSHOT_API_KEY has nothing left: recharge. /model for another",
            ),
            (
                trouble(has(&["kimi-k2", "kimi-latest"]), ""),
                "moonshot has no kimi-k3. It has: kimi-k2, kimi-latest. /model",
            ),
            (trouble(has(&[]), ""), "moonshot has no kimi-k3. /model lists what there is"),
            (
                trouble(long(Some(40_030), Some(32_768), false), ""),
                "40.0k tokens, the model takes 32.8k. /compact, or c to compact and retry",
            ),
            (
                trouble(long(None, Some(32_768), false), ""),
                "too long for the model, which takes 32.8k tokens. /compact, or c to compact and retry",
            ),
            (
                trouble(long(Some(40_030), Some(32_768), true), ""),
                "40.0k tokens, the model takes 32.8k: your message alone is too long. ↑ edits it, /model for a larger one",
            ),
            (
                trouble(TroubleKind::Limited { resets: None }, "3 requests a minute"),
                "rate limit of moonshot: 3 requests a minute. /model for another",
            ),
            (
                trouble(TroubleKind::Limited { resets: Some("2026-01-01 04:06 CET".into()) }, "x"),
                "rate limit of moonshot, until 2026-01-01 04:06 CET. /model for another",
            ),
            (
                trouble(away("localhost:11434", true), ""),
                "nothing answers at localhost:11434. Is moonshot running?",
            ),
            (
                trouble(away("api.moonshot.ai", false), ""),
                "nothing answers at api.moonshot.ai. Is this machine online?",
            ),
            (
                trouble(TroubleKind::Lost { tokens: 1_204 }, "connection reset"),
                "connection lost after 1.2k tokens: connection reset",
            ),
            (
                trouble(TroubleKind::Server { status: Some(503) }, r#"{"why":"full"}"#),
                "moonshot: server error 503 (details ctrl+t)",
            ),
            (
                trouble(TroubleKind::NoTools, ""),
                "moonshot takes no tools for kimi-k3. /harness swe-agent needs none: its calls are text",
            ),
            (
                trouble(TroubleKind::Unreadable { times: 3, harness: "kimi-code".into() }, ""),
                "the model's call did not parse, 3 times in a row (details ctrl+t). /harness for another than kimi-code",
            ),
            (trouble(TroubleKind::Other, ""), "it went wrong, as told (details ctrl+t)"),
        ]
    }

    const MESSAGE: &str = r#"it went wrong, as told: {"error":{"code":7}}"#;

    #[test]
    fn each_trouble_says_what_to_do_and_shows_no_json() {
        for (trouble, want) in table() {
            assert_eq!(sentence(MESSAGE, &trouble), want);
        }
        assert_eq!(detail(MESSAGE, &Trouble::default()), MESSAGE);
        for (trouble, _) in table() {
            let words = by_lines(&sentence(MESSAGE, &trouble));
            assert!(!words.contains("ctrl+") && !words.contains('↑'), "{words}");
        }
        let body = "{\n  \"error\": 7\n}";
        assert_eq!(detail(MESSAGE, &Trouble { body: body.into(), ..Trouble::default() }), body);
    }

    #[test]
    fn troubles_are_drawn_with_what_the_server_sent() {
        let palette = Palette::new(Theme::Dark);
        for width in [40, 80, 120] {
            let (mut out, mut opened) = (String::new(), String::new());
            for (mut trouble, _) in table() {
                trouble.body = "{\n  \"error\": { \"message\": \"no \u{1b}[31mkey\" }\n}".to_owned();
                let cell = Cell::failed(MESSAGE, &trouble);
                let drawn = |fold| {
                    let rows = cell.rows(View { width, fold, palette: &palette });
                    assert!(rows.iter().all(|row| row.width() <= usize::from(width)));
                    shot(&rows) + "\n"
                };
                out.push_str(&drawn(Fold::Folded));
                opened = drawn(Fold::Open);
            }
            out.push_str(&format!("── open\n{opened}"));
            insta::assert_snapshot!(format!("troubles_{width}"), out);
        }
    }
}
