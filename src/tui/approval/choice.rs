//! What a person can answer to one request, in words that the screen and the plain session share.

use crate::agent::{Answer, Request, Risk, What};
use crate::sandbox::Lift;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Once,
    Session,
    Always,
    /// Once, without the sandbox.
    Open,
    Edit,
    No,
}

/// A file's path, and the text that an edit makes of it.
pub type NewText = (String, String);

impl Choice {
    pub fn key(self) -> char {
        match self {
            Self::Once => 'y',
            Self::Session => 'a',
            Self::Always => 'p',
            Self::Open => 'w',
            Self::Edit => 'e',
            Self::No => 'n',
        }
    }

    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "this session",
            Self::Always => "always, by a rule",
            Self::Open => "no sandbox",
            Self::Edit => "edit",
            Self::No => "no",
        }
    }

    pub(super) fn allows(self) -> bool {
        match self {
            Self::Once | Self::Session | Self::Always | Self::Open => true,
            Self::Edit | Self::No => false,
        }
    }
}

/// What can be chosen, in words, or why it is not offered.
pub fn choices(request: &Request) -> Vec<(Choice, Result<String, String>)> {
    let Some(offer) = request.offers.first() else { return Vec::new() };
    let lifts: Vec<String> = offer.lifts.iter().map(lifted).collect();
    let with = match lifts.is_empty() {
        true => String::new(),
        false => format!(", with {}", lifts.join(" and ")),
    };
    let online = matches!(request.what, What::Command { .. }) && offer.lifts.contains(&Lift::Network);
    let net = if online { format!(", with {}", lifted(&Lift::Network)) } else { String::new() };
    let session = offer.session.clone().map(|what| format!("this session: {what}{net}"));
    let always = offer.always.clone().map(|rule| format!("always: {}{with}", rule.allow));
    let mut all = vec![(Choice::Once, Ok(format!("once{with}"))), (Choice::Session, session)];
    // Rules are for commands.
    if let What::Command { .. } = request.what {
        all.push((Choice::Always, always));
    }
    if request.offers.len() > 1 {
        all.push((Choice::Open, Ok("once, without the sandbox".to_owned())));
    }
    if let What::Command { .. } = request.what {
        all.push((Choice::Edit, Ok("edit the command first".to_owned())));
    }
    if !new_texts(request).is_empty() {
        all.push((Choice::Edit, Ok("edit the new text first".to_owned())));
    }
    all.push((Choice::No, Ok("no, and tell the model why".to_owned())));
    all
}

/// A lift as a person has to understand it.
fn lifted(lift: &Lift) -> String {
    match lift {
        // No sandbox here tells one host from another.
        Lift::Network => "the network (any host)".to_owned(),
        Lift::Steering(_) => "this one file".to_owned(),
        Lift::Path(_) | Lift::GitCommit | Lift::NoSandbox => lift.to_string(),
    }
}

/// What a person has to know of the risk before they allow it.
pub fn risks(request: &Request) -> Vec<&'static str> {
    let mut all: Vec<&str> = request.risks.iter().copied().map(Risk::words).collect();
    if request.again {
        all.push("it ran already: what it did until it was stopped may be done twice");
    }
    all
}

/// The texts that a person may change before an edit is made.
pub fn new_texts(request: &Request) -> Vec<NewText> {
    let What::Edit { files } = &request.what else { return Vec::new() };
    let new = files.iter().filter_map(|file| Some((file.path.clone(), file.after.clone()?)));
    new.collect()
}

/// The answer that the texts from the person's editor are, in the order of [`new_texts`]. Err: why they are
/// none; it is asked again.
pub fn revision(request: &Request, texts: Vec<String>) -> Result<Answer, String> {
    let What::Edit { files } = &request.what else { return Err("there is nothing to edit".to_owned()) };
    let mut texts = texts.into_iter();
    let mut same = true;
    let mut all = Vec::new();
    for file in files {
        let Some(after) = &file.after else {
            all.push(None);
            continue;
        };
        let text = texts.next().ok_or_else(|| format!("{} did not come back", file.path))?;
        if text.trim().is_empty() && !after.trim().is_empty() {
            return Err(format!("{} came back empty, so nothing was written", file.path));
        }
        // Editors end the last line.
        let kept = text == *after || text.strip_suffix('\n') == Some(after);
        same &= kept;
        all.push(Some(if kept { after.clone() } else { text }));
    }
    // Left without saving, or by an editor that does not wait: no yes.
    match same {
        true => Err("nothing was changed; y makes the edit as it is".to_owned()),
        false => Ok(Answer::Revised { texts: all }),
    }
}
