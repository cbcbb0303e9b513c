//! What the sandbox kept from a command of the person's own, and what they can do about it in the session.
//! The model is told in the words of `sandbox::denial_hint`; these are the person's.

use std::path::Path;

use crate::model::{Outcome, State};
use crate::sandbox::{Lift, Mode, Net, Policy, denied};

/// What begins a line about the sandbox.
const MARK: &str = "[sandbox] ";
/// What a program says of a port where nothing answers. Inside, not even this machine's own do; a command
/// that only failed to reach its own server may say the same, so a model's is not asked about for it.
const UNREACHED: &[&str] = &["connection refused", "econnrefused", "failed to connect", "couldn't connect"];

/// The outcome as the person is to see it.
pub(super) fn for_person(mut outcome: Outcome, policy: &Policy) -> Outcome {
    if outcome.state != State::Failed {
        return outcome;
    }
    let said = hints(policy, &outcome.text);
    if !said.is_empty() {
        let printed = outcome.text.lines().filter(|line| !line.starts_with(MARK)).map(str::to_owned);
        let said = said.into_iter().map(|line| format!("{MARK}{line}"));
        outcome.text = printed.chain(said).collect::<Vec<_>>().join("\n");
    }
    outcome
}

fn hints(policy: &Policy, printed: &str) -> Vec<String> {
    let mut found = denied(policy, printed);
    let lower = printed.to_lowercase();
    let cut_off = policy.mode != Mode::DangerFullAccess && policy.net == Net::Off;
    let network = found.iter().any(|(_, lift)| *lift == Lift::Network);
    if cut_off && !network && UNREACHED.iter().any(|words| lower.contains(words)) {
        found.push((String::new(), Lift::Network));
    }
    found.iter().flat_map(|(what, lift)| [blocked(what, lift), way(policy, lift)]).collect()
}

fn blocked(what: &str, lift: &Lift) -> String {
    match lift {
        Lift::Network => "the network is closed to commands, this machine's own ports too".to_owned(),
        Lift::Path(_) | Lift::Steering(_) | Lift::GitCommit | Lift::NoSandbox => {
            format!("blocked: {}", what.split(" (").next().unwrap_or(what))
        }
    }
}

/// What allows it, the narrowest first.
fn way(policy: &Policy, lift: &Lift) -> String {
    let flag = match lift {
        _ if policy.mode == Mode::ReadOnly => {
            return "/mode edits lets commands write; /mode full allows all".to_owned();
        }
        Lift::Path(place) => return way_to(policy, place),
        Lift::GitCommit => "--git commit",
        Lift::Network => "-c sandbox_workspace_write.network_access=true",
        Lift::Steering(_) | Lift::NoSandbox => return "/mode full allows it, and all else".to_owned(),
    };
    format!("/mode full allows it, and all else; tack {flag} only that, from the start")
}

/// A folder can be added; what lies in one and is kept from commands stays so.
fn way_to(policy: &Policy, place: &Path) -> String {
    if policy.hide.iter().any(|hidden| place.starts_with(hidden)) {
        return "[sandbox] reveal in your config shows it from the next start; /mode full allows all"
            .to_owned();
    }
    let folder = place.ancestors().find(|path| path.is_dir()).unwrap_or(place);
    let kept = policy.protect.iter().any(|kept| folder.starts_with(kept));
    let whole_home = policy.hide.iter().any(|hidden| hidden.parent() == Some(folder));
    if kept || whole_home {
        return "/mode full allows it, and all else".to_owned();
    }
    format!("/sandbox add {} allows it in this session; /mode full allows all", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Wish;

    fn shown(mode: Mode, output: &str) -> String {
        let tmp = tempfile::tempdir().unwrap();
        let home = tmp.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("proj/.git")).unwrap();
        std::fs::create_dir_all(home.join("other")).unwrap();
        let wish = Wish { home: Some(home.clone()), ..Wish::new(mode, home.join("proj")) };
        let policy = wish.settle().unwrap().policy;
        let output = output.replace("HOME", home.to_str().unwrap());
        let outcome = for_person(Outcome { exit: Some(1), ..Outcome::failed(output) }, &policy);
        outcome.text.replace(home.to_str().unwrap(), "HOME")
    }

    #[test]
    fn the_person_is_told_what_they_can_do() {
        let outside =
            "touch: cannot touch 'HOME/other/x': Read-only file system\n[sandbox] only the user can";
        let git = "fatal: Unable to create 'HOME/proj/.git/index.lock': Read-only file system";
        let refused = "curl: (7) Failed to connect to 127.0.0.1 port 18202: Connection refused";
        let cases = [
            (Mode::WorkspaceWrite, outside),
            (Mode::WorkspaceWrite, git),
            (Mode::WorkspaceWrite, refused),
            (Mode::ReadOnly, outside),
            (Mode::WorkspaceWrite, "make: *** no rule"),
            (Mode::DangerFullAccess, refused),
        ];
        let all: Vec<String> = cases.iter().map(|(mode, output)| shown(*mode, output)).collect();
        insta::assert_snapshot!(all.join("\n--\n"));
    }
}
