//! `tack models`: what tack knows of models, what a service lists, what local servers have.

mod test;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde_json::json;

use super::args::SessionFlags;
use super::error::CliError;
use super::local::running;
use super::runtime;
use super::setup::{self, Base};
use crate::config;
use crate::model::{Class, Clue, Clues};
use crate::wire::Failure;
use crate::wire::catalog::{self, Facts};
use crate::wire::client::HttpClient;
use crate::wire::client::get::Limits;
use crate::wire::local::{Found, Kind, Server, State};
use crate::wire::models::{self, Listed};
use crate::wire::provider::Provider;

/// Lists of services with ten thousand models fit in.
pub(super) const LIMITS: Limits = Limits { time: Duration::from_secs(20), bytes: 32 << 20 };

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Only of this provider, and also what it lists itself
    #[arg(long, value_name = "ID")]
    provider: Option<String>,
    /// What the servers on this machine have
    #[arg(long, conflicts_with = "provider")]
    local: bool,
    /// Ask the local model in use, or that of -m, twice how it calls tools, and say what is known of it
    #[arg(long, conflicts_with_all = ["provider", "local"])]
    test: bool,
    /// The model to test, also PROVIDER/NAME; without it the one in use, or else the one that is loaded
    #[arg(short, long, value_name = "NAME", requires = "test")]
    model: Option<String>,
    /// As JSON, one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    if args.test {
        return test::run(args.model.as_ref(), flags, args.json);
    }
    let base = setup::base(flags)?;
    if args.local {
        return local(&base, args.json);
    }
    let Some(id) = args.provider.as_ref().or(flags.provider.as_ref()) else {
        for id in config::known(&base.config) {
            let rows = catalog::models(&id).map(|name| (name.to_owned(), None)).collect();
            print(&base, &id, &rows, args.json)?;
        }
        if !args.json {
            writeln!(std::io::stdout(), "\nPer million tokens, as of {}.", catalog::as_of())?;
        }
        return Ok(0);
    };
    let mut provider = config::resolve(&base.config, id, &base.env, &base.dirs)?;
    let mut rows: BTreeMap<String, Option<Listed>> =
        catalog::models(id).map(|name| (name.to_owned(), None)).collect();
    let asked = base.give_key(&mut provider).and_then(|()| ask(provider));
    let code = match asked {
        Ok(listed) => {
            rows.extend(listed.into_iter().map(|one| (one.name.clone(), Some(one))));
            0
        }
        Err(error) if rows.is_empty() => return Err(error),
        Err(error) => {
            writeln!(
                std::io::stderr(),
                "only what tack knows itself, as the service did not give its list:"
            )?;
            super::error::report(&error.code(1))
        }
    };
    if rows.is_empty() {
        writeln!(std::io::stderr(), "{id} lists no models")?;
    }
    print(&base, id, &rows, args.json)?;
    Ok(code)
}

/// The service's own list.
fn ask(provider: Provider) -> Result<Vec<Listed>, CliError> {
    let failed = |failure: Failure| CliError::failed(failure.to_string());
    let url = models::url(&provider).map_err(failed)?;
    let name = provider.name.clone();
    let client = HttpClient::new(provider).map_err(failed)?;
    let body = runtime()?.block_on(client.get_json(&url, LIMITS)).map_err(failed)?;
    models::list(&body).ok_or_else(|| CliError::failed(format!("what {name} sent is no list of models")))
}

fn print(
    base: &Base,
    id: &str,
    rows: &BTreeMap<String, Option<Listed>>,
    as_json: bool,
) -> Result<(), CliError> {
    let provider = config::resolve(&base.config, id, &base.env, &base.dirs).ok();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (name, listed) in rows {
        let facts = catalog::facts(id, name);
        let window = listed.as_ref().and_then(|one| one.window).or(facts.window);
        let (class, clue) = match &provider {
            Some(provider) => base.class(provider, name, None),
            None => Clues { catalog: facts.class, name, hosted: true, ..Clues::default() }.read(),
        };
        let prices = base.config.prices.get(&format!("{id}/{name}")).copied().or(facts.prices);
        if as_json {
            let known = facts != Facts::default();
            let line = json!({
                "provider": id, "model": name, "window": window, "max_output": facts.max_output,
                "vision": facts.vision, "prices": prices, "as_of": known.then(catalog::as_of),
                "listed": listed.is_some(), "class": class.letter(), "class_by": clue.word(),
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let cost = prices.map_or_else(String::new, |p| format!("${} in, ${} out", p.input, p.output));
        let line = format!(
            "{:<48} {:>9}  {:<6}  {}  {cost}",
            format!("{id}/{name}"),
            tokens(window),
            sight(facts.vision),
            column(class, clue),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    out.flush()?;
    Ok(())
}

/// `class M (name)`, of one width.
fn column(class: Class, clue: Clue) -> String {
    let by = match clue {
        Clue::Nothing => String::new(),
        known => format!(" ({})", known.word()),
    };
    format!("{:<17}", format!("class {}{by}", class.letter()))
}

fn local(base: &Base, as_json: bool) -> Result<i32, CliError> {
    let tried = base.look(&Kind::ALL)?;
    let servers = running(&tried);
    if servers.is_empty() {
        return Err(base.none(&tried).code(1));
    }
    let mut out = std::io::stdout().lock();
    for server in &servers {
        let id = server.kind.id();
        if server.state == State::Loading {
            writeln!(std::io::stderr(), "the server at {} still loads its model", server.base_url)?;
        } else if server.models.is_empty() {
            writeln!(std::io::stderr(), "the server at {} has no model", server.base_url)?;
        }
        for found in &server.models {
            let provider = config::resolve(&base.config, id, &base.env, &base.dirs)?;
            let told = base.class(&provider, &found.name, Some(found));
            let line = if as_json { row_json(server, found, told) } else { row(id, found, told) };
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(0)
}

fn row(id: &str, found: &Found, (class, clue): (Class, Clue)) -> String {
    let state = if found.loaded { "loaded" } else { "not loaded" };
    let class = column(class, clue);
    let window = tokens(found.window.or(found.trained.filter(|_| !found.loaded)));
    let tools = match found.tools {
        Some(true) => "tools",
        Some(false) => "no tools",
        None => "",
    };
    format!(
        "{:<48} {window:>9}  {:<6}  {state:<10}  {class}  {tools}",
        format!("{id}/{}", found.name),
        sight(found.vision)
    )
}

fn row_json(server: &Server, found: &Found, (class, clue): (Class, Clue)) -> String {
    json!({
        "provider": server.kind.id(), "model": found.name, "base_url": server.base_url, "loaded": found.loaded,
        "window": found.window, "trained": found.trained, "vision": found.vision, "tools": found.tools,
        "class": class.letter(), "class_by": clue.word(), "parameters": found.parameters,
    })
    .to_string()
}

fn tokens(window: Option<u64>) -> String {
    window.map_or_else(|| "?".to_owned(), |window| window.to_string())
}

fn sight(vision: Option<bool>) -> &'static str {
    match vision {
        Some(true) => "images",
        Some(false) => "text",
        None => "?",
    }
}
