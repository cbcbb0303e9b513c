//! Folders that may be written in the open session, besides its own: which can be, and what to say of it.

use std::path::{Path, PathBuf};

use super::super::error::CliError;
use super::super::setup::{self, Base};
use super::{Repl, held};
use crate::sandbox::{Mode, Op, Policy, Verdict, broad};

/// Hidden paths that are named in a sentence.
const NAMED: usize = 3;

impl Repl {
    /// What to say of it.
    pub(super) fn add_folder(&self, written: &str) -> Result<Vec<String>, CliError> {
        let base = setup::base(&self.flags)?;
        let folder = found(&base, written)?;
        fits(&base, &folder)?;
        let mut flags = self.flags.clone();
        flags.add_dir.extend(held(&self.folders).iter().cloned());
        let before = self.workspace(&base, &flags)?;
        if before.explain(&folder, Op::Write) == Verdict::Allowed {
            return Err(CliError::usage(format!("{} may be written already", folder.display())));
        }
        flags.add_dir.push(folder.clone());
        let policy = self.workspace(&base, &flags)?;
        if let Verdict::Denied(why) = policy.explain(&folder, Op::Write) {
            return Err(CliError::usage(format!("{} cannot be added: {why}", folder.display())));
        }
        held(&self.folders).push(folder.clone());
        let mut said = vec![format!(
            "{0} may be written in this session; /sandbox rm {0} takes that back",
            folder.display()
        )];
        said.extend(stays_hidden(&policy, &folder));
        Ok(said)
    }

    pub(super) fn remove_folder(&self, written: &str) -> Result<String, CliError> {
        let base = setup::base(&self.flags)?;
        // It may be gone by now.
        let path = base.cwd.join(base.dirs.expand(Path::new(written)));
        let path = crate::sandbox::real(&path);
        let mut folders = held(&self.folders);
        let before = folders.len();
        folders.retain(|known| *known != path);
        if folders.len() < before {
            return Ok(format!("{} may no longer be written", path.display()));
        }
        let there: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        Err(CliError::usage(match there.as_slice() {
            [] => "no folder was added in this session; --add-dir and writable_roots hold until it ends"
                .to_owned(),
            there => {
                format!("{} was not added in this session; these were: {}", path.display(), there.join(", "))
            }
        }))
    }

    /// What holds in the modes that write.
    fn workspace(&self, base: &Base, flags: &super::SessionFlags) -> Result<Policy, CliError> {
        let tmp = held(&self.tmp).clone();
        Ok(base.policy_in(flags, Mode::WorkspaceWrite, tmp.as_deref())?.0)
    }
}

/// The folder that is meant, from the session's own.
fn found(base: &Base, written: &str) -> Result<PathBuf, CliError> {
    let path = base.cwd.join(base.dirs.expand(Path::new(written)));
    let real = path
        .canonicalize()
        .map_err(|error| CliError::usage(format!("{} cannot be used: {error}", path.display())))?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(CliError::usage(format!("{} is no folder; name the one it is in", real.display()))),
    }
}

/// What is too much to hand out by a word.
fn fits(base: &Base, folder: &Path) -> Result<(), CliError> {
    let shown = folder.display();
    let refused = |why: &str| Err(CliError::usage(format!("{shown} is not made writable: {why}")));
    let home = base.dirs.home.as_deref().and_then(|home| home.canonicalize().ok());
    if let Some(why) = broad(folder, home.as_deref()) {
        return refused(why);
    }
    let own = [&base.dirs.config, &base.dirs.data, &base.dirs.state];
    let own = own.into_iter().flatten().map(|own| crate::sandbox::real(own));
    if own.into_iter().any(|own| folder.starts_with(own)) {
        return refused("tack keeps its settings, keys and sessions there");
    }
    Ok(())
}

/// What lies in the folder and stays hidden.
fn stays_hidden(policy: &Policy, folder: &Path) -> Option<String> {
    let inside: Vec<String> = policy
        .hide
        .iter()
        .filter(|path| path.starts_with(folder) && path.exists())
        .map(|path| path.display().to_string())
        .collect();
    let more = inside.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = inside.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!inside.is_empty()).then(|| format!("what is hidden in it stays hidden: {named}{more}"))
}
