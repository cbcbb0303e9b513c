//! `tack harness show`: the exact request.

use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::broken;
use super::list::origin;
use crate::agent::Stopper;
use crate::cli::args::SessionFlags;
use crate::cli::error::{CliError, shown};
use crate::cli::runtime;
use crate::cli::setup::{self, Base};
use crate::harness::{self, Library, LoadError};
use crate::model::{Class, Model, WireKind};
use crate::wire;
use crate::wire::prompt::Prompt;
use crate::wire::provider::Quirks;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Harness; tack harness list shows all
    #[arg(value_name = "ID")]
    id: String,
    /// As models of this class see it; without it, as the model in use does
    #[arg(long, value_parser = classes(), value_name = "CLASS", ignore_case = true)]
    class: Option<Class>,
    /// As this model sees it; also PROVIDER/NAME
    #[arg(short, long, value_name = "NAME")]
    model: Option<String>,
    /// Over this wire: chat, responses or messages
    #[arg(long, value_parser = wires(), value_name = "WIRE")]
    wire: Option<WireKind>,
    /// Only the request's body, as JSON
    #[arg(long)]
    json: bool,
}

/// Classes by their letters.
fn classes() -> impl TypedValueParser<Value = Class> {
    PossibleValuesParser::new(Class::ALL.map(Class::letter)).try_map(|letter| {
        let known = |class: &Class| class.letter().eq_ignore_ascii_case(&letter);
        Class::ALL.into_iter().find(known).ok_or("no class is called so")
    })
}

const WIRES: [WireKind; 3] = [WireKind::Chat, WireKind::Responses, WireKind::Messages];

fn wires() -> impl TypedValueParser<Value = WireKind> {
    PossibleValuesParser::new(WIRES.map(WireKind::name))
        .try_map(|name| WIRES.into_iter().find(|wire| wire.name() == name).ok_or("no wire is called so"))
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    let flags = SessionFlags { model: args.model.clone().or(flags.model.clone()), ..flags.clone() };
    let base = setup::base(&flags)?;
    let whose = whose(&base, flags.model.is_some(), args.class)?;
    print(&base, &flags, args, &whose)
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
fn tables(library: &Library, id: &str) -> Result<String, LoadError> {
    let classes: Vec<&str> = library.classes(id)?.into_iter().map(Class::letter).collect();
    Ok(match classes.as_slice() {
        [] => "it has no tables for classes".to_owned(),
        classes => format!("it has tables for {}", classes.join(", ")),
    })
}

/// The request as it would really be: a harness's program is asked too.
fn asked(base: &Base, flags: &SessionFlags, id: &str, model: &Model) -> Result<Option<Prompt>, CliError> {
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

fn print(base: &Base, flags: &SessionFlags, args: &Args, whose: &Whose) -> Result<i32, CliError> {
    let library = &base.library;
    let id = args.id.as_str();
    let harness = library.get(id).map_err(broken)?;
    let wires = harness.wires();
    let usual = Some(whose.model.wire).filter(|wire| wires.contains(wire));
    let usual = usual.or(wires.first().copied()).unwrap_or(WireKind::Chat);
    if let Some(asked) = args.wire.filter(|wire| !wires.contains(wire)) {
        let speaks: Vec<&str> = wires.iter().map(|wire| wire.name()).collect();
        let what = format!("harness {id} does not speak {}, only {}", asked.name(), speaks.join(", "));
        return Err(CliError::usage(what).hint("`[wire] allow` in its harness.toml says which"));
    }
    let wire = wire::of(args.wire.unwrap_or(usual));
    let model = Model { wire: wire.kind(), ..whose.model.clone() };
    let mut sample = library.sample(id, &model).map_err(broken)?;
    if let Some(prompt) = asked(base, flags, id, &model)? {
        sample.listing.tokens = harness::tokens(&prompt);
        sample.prompt = prompt;
    }
    let body = wire.encode(&sample.prompt, &model, &Quirks::default());
    let text = serde_json::to_string_pretty(&body).map_err(anyhow::Error::from)?;
    let mut out = std::io::stdout().lock();
    if !args.json {
        let one = &sample.listing;
        writeln!(out, "{}", shown(&format!("{}: {}{}", one.name, one.summary, origin(one))))?;
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
