//! `tack harness list | show`, and `bench`.

use std::io::Write;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use super::args::SessionFlags;
use super::bench;
use super::error::CliError;
use super::runtime;
use super::setup::{self, Base};
use crate::agent::Stopper;
use crate::harness::{self, Library, Listing};
use crate::model::{Class, Model, WireKind};
use crate::wire;
use crate::wire::prompt::Prompt;
use crate::wire::provider::Quirks;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<HarnessCommand>,
}

#[derive(Subcommand, Debug)]
enum HarnessCommand {
    /// All harnesses, the user's own among them
    List {
        /// As JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// The exact request a harness makes of a sample session
    Show {
        /// Harness; tack harness list shows all
        #[arg(value_name = "ID")]
        id: String,
        /// As models of this class see it; without it, as the model in use does
        #[arg(long, value_parser = classes(), value_name = "CLASS", ignore_case = true)]
        class: Option<Class>,
        /// As this model sees it; also PROVIDER/NAME
        #[arg(short, long, value_name = "NAME")]
        model: Option<String>,
        /// Only the request's body, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure which harness suits a model, on tasks
    Bench(Box<bench::Args>),
}

/// Classes by their letters.
fn classes() -> impl TypedValueParser<Value = Class> {
    PossibleValuesParser::new(Class::ALL.map(Class::letter)).try_map(|letter| {
        let known = |class: &Class| class.letter().eq_ignore_ascii_case(&letter);
        Class::ALL.into_iter().find(known).ok_or("no class is called so")
    })
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    match &args.command {
        Some(HarnessCommand::Bench(args)) => bench::run(args, flags),
        None => list(&setup::base(flags)?.library, false),
        Some(HarnessCommand::List { json }) => list(&setup::base(flags)?.library, *json),
        Some(HarnessCommand::Show { id, class, model, json }) => {
            let flags = SessionFlags { model: model.clone().or(flags.model.clone()), ..flags.clone() };
            let base = setup::base(&flags)?;
            let whose = whose(&base, flags.model.is_some(), *class)?;
            show(&base, &flags, (id, *json), &whose)
        }
    }
}

/// Whose request is shown.
struct Whose {
    model: Model,
    /// For people.
    class: String,
}

/// The model in use, if there is one, and the class it is to be taken for.
fn whose(base: &Base, named: bool, class: Option<Class>) -> Result<Whose, CliError> {
    let (mut model, clue) = match base.chosen() {
        Ok((model, Some(provider))) => {
            let (_, clue) = base.class_of_chosen(&provider, &model.name);
            let by = format!("as {} is {}", model.name, clue.words());
            (model, by)
        }
        Err(error) if named => return Err(error),
        Ok((_, None)) | Err(_) => (harness::sample_model(), "as hosted models are".to_owned()),
    };
    let by = match class {
        Some(_) => "as asked for".to_owned(),
        None => clue,
    };
    model.class = class.unwrap_or(model.class);
    Ok(Whose { class: format!("class {}, {by}", model.class.letter()), model })
}

/// `; tables for S and M`.
fn tables(library: &Library, id: &str) -> Result<String, harness::LoadError> {
    let classes: Vec<&str> = library.classes(id)?.into_iter().map(Class::letter).collect();
    Ok(match classes.as_slice() {
        [] => "it has no tables for classes".to_owned(),
        classes => format!("it has tables for {}", classes.join(", ")),
    })
}

fn list(library: &Library, as_json: bool) -> Result<i32, CliError> {
    let mut out = std::io::stdout().lock();
    for (id, listing) in library.list() {
        match listing {
            Ok(one) if as_json => {
                let line = json!({
                    "id": one.id, "name": one.name, "summary": one.summary, "mirrors": one.mirrors,
                    "extends": one.extends, "folder": one.from, "tokens": one.tokens,
                });
                writeln!(out, "{line}")?;
            }
            Ok(one) => {
                writeln!(out, "{:<16} {:>6} tokens  {}{}", one.id, one.tokens, one.summary, origin(&one))?;
            }
            Err(error) => writeln!(std::io::stderr(), "{id}: {error}")?,
        }
    }
    Ok(0)
}

fn origin(one: &Listing) -> String {
    let mut facts = Vec::new();
    facts.extend(one.mirrors.as_ref().map(|mirrors| format!("mirrors {mirrors}")));
    facts.extend(one.extends.as_ref().map(|base| format!("extends {base}")));
    facts.extend(one.from.as_ref().map(|folder| folder.display().to_string()));
    if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
}

/// The request as it would really be: a harness's program is asked too.
fn asked(base: &Base, flags: &SessionFlags, id: &str, model: &Model) -> Result<Option<Prompt>, CliError> {
    let broken = |error: harness::LoadError| CliError::usage(error.to_string());
    if base.library.program(id).map_err(broken)?.is_none() {
        return Ok(None);
    }
    let (policy, _, _scratch) = base.policy(flags)?;
    let sandbox = crate::sandbox::system().into();
    let programs = base.launcher(&sandbox, &policy, (String::new(), &Stopper::default()));
    let harness = base.library.fit(id, model).map_err(broken)?;
    let asked = runtime()?.block_on(harness::sample_prompt(&*harness, model, &programs));
    asked.map(Some).map_err(|error| CliError::failed(format!("{error:#}")))
}

fn show(
    base: &Base,
    flags: &SessionFlags,
    (id, as_json): (&str, bool),
    whose: &Whose,
) -> Result<i32, CliError> {
    let library = &base.library;
    let broken = |error: harness::LoadError| CliError::usage(error.to_string());
    let harness = library.get(id).map_err(broken)?;
    let wires = harness.wires();
    let usual = Some(whose.model.wire).filter(|wire| wires.contains(wire));
    let wire = wire::of(usual.or(wires.first().copied()).unwrap_or(WireKind::Chat));
    let model = Model { wire: wire.kind(), ..whose.model.clone() };
    let mut sample = library.sample(id, &model).map_err(broken)?;
    if let Some(prompt) = asked(base, flags, id, &model)? {
        sample.listing.tokens = harness::tokens(&prompt);
        sample.prompt = prompt;
    }
    let body = wire.encode(&sample.prompt, &model, &Quirks::default());
    let text = serde_json::to_string_pretty(&body).map_err(anyhow::Error::from)?;
    let mut out = std::io::stdout().lock();
    if !as_json {
        let one = &sample.listing;
        writeln!(out, "{}: {}{}", one.name, one.summary, origin(one))?;
        writeln!(out, "{}; {}", whose.class, tables(library, id).map_err(broken)?)?;
        writeln!(
            out,
            "about {} tokens before the user's words; the first request of a sample session:\n",
            one.tokens
        )?;
    }
    writeln!(out, "{text}")?;
    Ok(0)
}
