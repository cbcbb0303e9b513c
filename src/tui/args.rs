//! What stands behind a command's name, read: the same on a screen and without one.

use super::host::{Folder, Host, NewProvider, Reach};
use crate::model::WireKind;

/// `/ps`
#[derive(Debug, PartialEq, Eq)]
pub enum Jobs {
    List,
    Stop(String),
    Tail(String),
}

pub fn jobs(args: &str) -> Result<Jobs, String> {
    match split(args) {
        ("", "") => Ok(Jobs::List),
        ("stop", id) if !id.is_empty() => Ok(Jobs::Stop(id.to_owned())),
        ("tail", id) if !id.is_empty() => Ok(Jobs::Tail(id.to_owned())),
        _ => Err("/ps lists; /ps tail ID shows the end of what one printed, /ps stop ID ends it".to_owned()),
    }
}

/// `/permissions`
#[derive(Debug, PartialEq, Eq)]
pub enum Rules {
    List,
    Add {
        text: String,
        holds: Reach,
    },
    /// Counted from 1, as they are listed.
    Remove(usize),
}

pub fn rules(args: &str) -> Result<Rules, String> {
    let add = |text: &str, holds| Ok(Rules::Add { text: text.to_owned(), holds });
    match split(args) {
        ("", "") => Ok(Rules::List),
        ("add", text) if !text.is_empty() => add(text, Reach::All),
        ("here", text) if !text.is_empty() => add(text, Reach::Folder),
        ("rm", nth) if nth.parse().is_ok_and(|nth: usize| nth > 0) => Ok(Rules::Remove(nth.parse().unwrap_or(0))),
        _ => Err("/permissions lists; add RULE stores one such as cargo test *, here RULE one for this project, rm N forgets one".to_owned()),
    }
}

/// Does to the stored rules what was asked; what to say of it.
pub fn change_rules(host: &dyn Host, rules: &Rules) -> Result<Option<String>, String> {
    match rules {
        Rules::List => Ok(None),
        Rules::Add { text, holds } => {
            host.add_rule(text, *holds)?;
            let place = match holds {
                Reach::All => "everywhere",
                Reach::Folder => "in this project",
            };
            Ok(Some(format!("{text} runs without asking from now on, {place}")))
        }
        Rules::Remove(nth) => {
            let known = host.rules();
            let Some(rule) = known.get(nth - 1) else { return Err(format!("there is no rule {nth}")) };
            host.forget_rule(rule)?;
            Ok(Some(format!("{} is asked for again", rule.allow)))
        }
    }
}

/// `/sandbox`
#[derive(Debug, PartialEq, Eq)]
pub enum Sandbox {
    Show,
    Change(Folder),
}

pub fn sandbox(args: &str) -> Result<Sandbox, String> {
    match split(args) {
        ("", "") => Ok(Sandbox::Show),
        ("add", folder) if !folder.is_empty() => Ok(Sandbox::Change(Folder::Add(unquoted(folder)))),
        ("rm", folder) if !folder.is_empty() => Ok(Sandbox::Change(Folder::Remove(unquoted(folder)))),
        _ => Err(
            "/sandbox shows what is allowed; add DIR lets a folder be written in this session, rm DIR takes that back"
                .to_owned(),
        ),
    }
}

/// `/provider`
#[derive(Debug)]
pub enum Providers {
    List,
    Test(String),
    Add(NewProvider),
    Remove(String),
}

pub fn providers(args: &str) -> Result<Providers, String> {
    let how = "/provider lists; test ID, add ID ADDRESS [chat|responses|messages], rm ID";
    match split(args) {
        ("", "") => Ok(Providers::List),
        ("test", id) if !id.is_empty() => Ok(Providers::Test(id.to_owned())),
        ("rm", id) if !id.is_empty() => Ok(Providers::Remove(id.to_owned())),
        ("add", rest) => match rest.split_whitespace().collect::<Vec<_>>().as_slice() {
            [id, url] => Ok(Providers::Add(provider(id, url, None))),
            [id, url, wire] => match wire_of(wire) {
                Some(wire) => Ok(Providers::Add(provider(id, url, Some(wire)))),
                None => Err(format!("there is no wire {wire}; there are chat, responses, messages")),
            },
            _ => Err(how.to_owned()),
        },
        _ => Err(how.to_owned()),
    }
}

/// Why a provider is not taken away now.
pub fn in_use(id: &str) -> String {
    format!("{id} serves this session: choose another model first, with /model")
}

fn provider(id: &str, url: &str, wire: Option<WireKind>) -> NewProvider {
    NewProvider { id: id.to_owned(), url: url.to_owned(), wire, key: None }
}

fn wire_of(word: &str) -> Option<WireKind> {
    [WireKind::Chat, WireKind::Responses, WireKind::Messages].into_iter().find(|wire| wire.name() == word)
}

fn split(args: &str) -> (&str, &str) {
    let (word, rest) = args.trim().split_once(char::is_whitespace).unwrap_or((args.trim(), ""));
    (word, rest.trim())
}

fn unquoted(text: &str) -> String {
    let bare = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    bare.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_name_is_read_or_refused_with_how_it_is_written() {
        assert_eq!(jobs(" tail job1 "), Ok(Jobs::Tail("job1".into())));
        assert_eq!(jobs(""), Ok(Jobs::List));
        assert_eq!(
            rules("add cargo test *"),
            Ok(Rules::Add { text: "cargo test *".into(), holds: Reach::All })
        );
        assert_eq!(rules("here make x"), Ok(Rules::Add { text: "make x".into(), holds: Reach::Folder }));
        assert_eq!(rules("rm 2"), Ok(Rules::Remove(2)));
        assert_eq!(sandbox("add 'a b'"), Ok(Sandbox::Change(Folder::Add("a b".into()))));
        assert_eq!(sandbox("rm ../x"), Ok(Sandbox::Change(Folder::Remove("../x".into()))));
        assert!(matches!(providers("test acme"), Ok(Providers::Test(id)) if id == "acme"));
        assert!(matches!(
            providers("add acme http://a/v1 messages"),
            Ok(Providers::Add(NewProvider { wire: Some(WireKind::Messages), .. }))
        ));
        for wrong in ["x", "stop", "tail"] {
            assert!(jobs(wrong).is_err(), "{wrong}");
        }
        for wrong in ["rm 0", "rm x", "rm", "add", "cargo test"] {
            assert!(rules(wrong).is_err(), "{wrong}");
        }
        for wrong in ["add", "add acme", "add acme http://a x", "rm", "acme"] {
            assert!(providers(wrong).is_err(), "{wrong}");
        }
        assert!(sandbox("add").is_err() && sandbox("here").is_err());
    }
}
