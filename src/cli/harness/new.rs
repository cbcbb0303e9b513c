//! `tack harness new`: a folder that starts from another harness.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, value};

use super::broken;
use crate::cli::error::CliError;
use crate::cli::setup::Base;
use crate::harness::sample_model;

/// What a fork says at first.
const FORK: &str = include_str!("fork.toml");

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name of the new harness and of its folder
    #[arg(value_name = "NAME")]
    id: String,
    /// Harness to start from; tack harness list shows all
    #[arg(long, value_name = "ID")]
    from: String,
    /// Copy all files of it, to change any: later improvements of the other one do not reach the copy
    #[arg(long)]
    copy: bool,
    /// Into .tack/harnesses of this project, instead of your own folder
    #[arg(long)]
    project: bool,
}

pub(super) fn run(args: &Args, base: &Base) -> Result<i32, CliError> {
    check_name(args, base)?;
    base.library.get(&args.from).map_err(broken)?;
    let files =
        if args.copy { copied(args, base)? } else { vec![("harness.toml".to_owned(), fork(args, base)?)] };
    let folder = place(args, base)?.join(&args.id);
    write(&folder, &files)?;
    say(args, base, &folder)?;
    Ok(0)
}

fn check_name(args: &Args, base: &Base) -> Result<(), CliError> {
    let id = args.id.as_str();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let starts = id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !starts || !id.chars().all(plain) || id.len() > 40 {
        let what = format!("`{id}` is no name for a harness");
        return Err(CliError::usage(what).hint("small letters, digits, `-`, `_` and `.`, at most 40"));
    }
    if ["auto", "common"].contains(&id) {
        return Err(CliError::usage(format!("`{id}` means something else to tack; take another name")));
    }
    if base.library.has(id) {
        let folder =
            base.library.own_files(id).into_iter().find(|file| file.ends_with(format!("{id}/harness.toml")));
        let place = folder.map_or("built in".to_owned(), |file| file.display().to_string());
        return Err(CliError::usage(format!(
            "there is a harness `{id}` already ({place}); take another name"
        )));
    }
    Ok(())
}

fn place(args: &Args, base: &Base) -> Result<PathBuf, CliError> {
    if args.project {
        return Ok(base.project.join(".tack/harnesses"));
    }
    let folder = base.dirs.harnesses();
    folder.ok_or_else(|| {
        CliError::usage("there is no folder for harnesses: set HOME or TACK_HOME, or give --project")
    })
}

fn fork(args: &Args, base: &Base) -> Result<String, CliError> {
    let sample = base.library.sample(&args.from, &sample_model()).map_err(broken)?;
    let tool = sample.prompt.tools.last().map_or("tool", |tool| tool.name.as_str());
    Ok(FORK.replace("{id}", &args.id).replace("{from}", &args.from).replace("{tool}", tool))
}

/// Every file of the other one's folder. A copy neither mirrors a client nor claims models by itself.
fn copied(args: &Args, base: &Base) -> Result<Vec<(String, String)>, CliError> {
    let mut files = base.library.sources(&args.from).map_err(broken)?;
    for (name, text) in files.iter_mut().filter(|(name, _)| name == "harness.toml") {
        let wrong = |error: toml_edit::TomlError| CliError::usage(format!("{}/{name}: {error}", args.from));
        let mut table: DocumentMut = text.parse().map_err(wrong)?;
        table["id"] = value(&args.id);
        table["name"] = value(&args.id);
        table["summary"] = value(format!("{}, copied.", args.from));
        table.remove("mirrors");
        table.remove("mirrored");
        table.remove("match");
        *text = table.to_string();
    }
    Ok(files)
}

/// Into a folder that is not there yet.
fn write(folder: &Path, files: &[(String, String)]) -> Result<(), CliError> {
    let wrong = |what: &Path, error: std::io::Error| CliError::failed(format!("{}: {error}", what.display()));
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above).map_err(|error| wrong(above, error))?;
    }
    fs::create_dir(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::usage(format!("{} is there already; take another name, or remove it", folder.display()))
        }
        _ => wrong(folder, error),
    })?;
    for (name, text) in files {
        let path = folder.join(name);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| wrong(&path, error))?;
    }
    Ok(())
}

fn say(args: &Args, base: &Base, folder: &Path) -> Result<(), CliError> {
    let Args { id, from, copy, project } = args;
    let kind = if *copy { "a copy" } else { "a fork" };
    let edit = if *copy { "any file in it" } else { "harness.toml in it; what it does not say is as before" };
    let mut out = std::io::stdout().lock();
    writeln!(out, "made {}, {kind} of {from}", folder.display())?;
    writeln!(out, "  edit   {edit}")?;
    writeln!(out, "  check  tack harness check {id}")?;
    writeln!(out, "  see    tack harness diff {from} {id}; tack harness show {id}")?;
    writeln!(out, "  use    tack -p \"PROMPT\" --harness {id}; for good: harness = \"{id}\" in config.toml")?;
    if *project && let Some(how) = &base.distrust {
        writeln!(out, "This project is not trusted yet: {how}")?;
    }
    Ok(())
}
