//! `tack harness bench`: which harness suits a model, measured.

mod add;
mod flags;
mod print;
mod selftest;

use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;

use super::args::SessionFlags;
use super::error::CliError;
use super::exec::signals;
use super::learn::Ask;
use super::runtime;
use super::setup::{self, Base};
use crate::agent::{Stopper, Why};
use crate::bench::{
    self, Compared, Finished, Own, Player, Recommended, Results, Runner, Series, Subject, Task,
};
use crate::config;
use crate::sandbox::{Mode, Wish};
use flags::Flags;

/// Nothing came of it.
const FAILED: i32 = 1;
/// A limit ended it, as in one-shot mode.
const LIMIT: i32 = 3;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Harnesses to run, or `auto`; the configured one when left out
    #[arg(long, alias = "harness", value_name = "H[,H]", value_delimiter = ',')]
    harnesses: Vec<String>,

    /// Test the tasks themselves: each check has to say no before and yes after the task is done
    #[arg(long)]
    selftest: bool,

    #[command(flatten)]
    flags: Flags,

    #[command(subcommand)]
    command: Option<BenchCommand>,
}

#[derive(Subcommand, Debug)]
enum BenchCommand {
    /// Two harnesses on one model: runs what is not in the results yet, and says whether one is better
    Compare {
        /// Harness, or the NAME of an --external agent
        #[arg(value_name = "A")]
        a: String,
        /// The other one
        #[arg(value_name = "B")]
        b: String,
        #[command(flatten)]
        flags: Box<Flags>,
    },
    /// Make a task of an earlier session
    Add(add::Args),
}

pub(super) fn run(args: &Args, session: &SessionFlags) -> Result<i32, CliError> {
    match &args.command {
        Some(BenchCommand::Compare { a, b, flags }) => compare(a, b, flags, session),
        Some(BenchCommand::Add(add)) => add::run(add, session),
        None if args.selftest => selftest::run(&args.flags, session),
        None => measure(args, session),
    }
}

fn measure(args: &Args, session: &SessionFlags) -> Result<i32, CliError> {
    let flags = &args.flags;
    let (bench, code) = finish(subjects(&args.harnesses, flags, session)?, flags, session)?;
    let recommended = bench::recommend(&bench.entries);
    let invalid = bench::changed(&bench.entries);
    let shown = print::Shown { bench: &bench, recommended: &recommended, compared: None };
    shown.print(flags)?;
    if let Some(why) = invalid {
        return Err(CliError::failed(format!("these figures cannot be compared: {why}"))
            .hint("let the server as it is and run it again with --fresh"));
    }
    if flags.store {
        store(&bench.base, &recommended)?;
    }
    Ok(code)
}

fn compare(a: &str, b: &str, flags: &Flags, session: &SessionFlags) -> Result<i32, CliError> {
    if a == b {
        return Err(CliError::usage("these are one and the same harness").hint("name two"));
    }
    if flags.models.len() > 1 {
        return Err(CliError::usage("harnesses are compared on one model").hint("name one with -m"));
    }
    let subjects = subjects(&[a.to_owned(), b.to_owned()], flags, session)?;
    let (a, b) = (resolved(a, b, &subjects)?, resolved(b, a, &subjects)?);
    let (bench, code) = finish(subjects, flags, session)?;
    let recommended = bench::recommend(&bench.entries);
    let compared: Option<Compared> =
        bench.series.subjects.first().map(|one| bench::compare(&bench.entries, &one.model_id(), &a, &b));
    let shown = print::Shown { bench: &bench, recommended: &[], compared: compared.as_ref() };
    shown.print(flags)?;
    if let Some(why) = compared.and_then(|compared| compared.invalid) {
        return Err(CliError::failed(format!("the comparison is void: {why}"))
            .hint("let the server as it is and run it again with --fresh"));
    }
    if flags.store {
        store(&bench.base, &recommended)?;
    }
    Ok(code)
}

/// What runs are called that were asked for as `one`, beside `other`: of `auto` it is the harness that it is.
fn resolved(one: &str, other: &str, subjects: &[Subject]) -> Result<String, CliError> {
    if one != "auto" {
        return Ok(one.to_owned());
    }
    let own = |subject: &&Subject| match subject.player {
        Player::Harness(_) => subject.name != other,
        Player::External(_) => false,
    };
    let named = subjects.iter().find(own).map(|subject| subject.name.clone());
    named.ok_or_else(|| {
        CliError::usage(format!("auto is {other} for this model: these are one and the same harness"))
            .hint("name two")
    })
}

/// A bench that was run, as far as it came.
struct Bench {
    base: Base,
    series: Series,
    entries: Vec<bench::Entry>,
    /// Which tasks these are, for people.
    which: String,
}

/// Runs what is missing. Also gives the exit code, where figures came of it.
fn finish(subjects: Vec<Subject>, flags: &Flags, session: &SessionFlags) -> Result<(Bench, i32), CliError> {
    let base = setup::base(session)?;
    let (tasks, which) = tasks(&base, flags)?;
    let series = Series {
        subjects,
        tasks,
        runs: flags.runs,
        seed: flags.seed,
        parallel: flags.parallel.into(),
        max_cost: flags.max_cost.or(session.max_cost),
    };
    let mut results = results(&base, flags)?;
    let stopper = Stopper::default();
    let runner = runner(&base, flags, &results, &series.tasks, &stopper)?;
    let runtime = runtime()?;
    let finished = runtime.block_on(async {
        let mut hear = print::progress;
        let work = series.run(&runner, &mut results, &mut hear);
        tokio::select! {
            finished = work => finished,
            () = signals(&stopper) => Ok(Finished::Stopped),
        }
    });
    runtime.shutdown_background();
    let entries = series.entries(&results);
    let (done, of) = (series.jobs().iter().filter(|job| results.has(&job.key)).count(), series.jobs().len());
    let go_on = format!("{done} of {of} runs are in {}", results.path().display());
    let code = match finished? {
        Finished::All => {
            note(&go_on);
            if done == 0 { FAILED } else { 0 }
        }
        Finished::Stopped => {
            note(&format!("stopped; {go_on}: the same command goes on from there"));
            match stopper.why() {
                Some(Why::Signal(number)) => 128 + number,
                Some(Why::Person | Why::Time(_) | Why::OutputClosed | Why::OutputFailed(_)) | None => 130,
            }
        }
        Finished::Spent(spent) => {
            note(&format!("${spent:.4} spent (--max-cost); {go_on}: the same command goes on from there"));
            LIMIT
        }
        Finished::Void(why) => {
            return Err(CliError::failed(format!("three runs in a row say nothing, the last as {why}"))
                .hint(format!("{go_on}: the same command goes on from there")));
        }
    };
    Ok((Bench { base, series, entries, which }, code))
}

/// Every model under every harness, and under every external agent.
fn subjects(harnesses: &[String], flags: &Flags, session: &SessionFlags) -> Result<Vec<Subject>, CliError> {
    let models: Vec<Option<String>> = match flags.models.as_slice() {
        [] => vec![session.model.clone()],
        models => models.iter().cloned().map(Some).collect(),
    };
    let external = |name: &String| flags.external.iter().any(|(known, _)| known == name);
    let own: Vec<Option<String>> = match harnesses {
        [] => vec![session.harness.clone()],
        harnesses => harnesses.iter().filter(|name| !external(name)).cloned().map(Some).collect(),
    };
    let max_cost = flags.max_cost.or(session.max_cost);
    let mut subjects: Vec<Subject> = Vec::new();
    let mut told = Vec::new();
    for model in &models {
        for harness in &own {
            let flags =
                SessionFlags { model: model.clone(), harness: harness.clone(), max_cost, ..session.clone() };
            let (subject, warnings) = own_subject(&flags)?;
            told.extend(warnings);
            subjects.push(subject);
        }
        for (name, agent) in &flags.external {
            if max_cost.is_some() {
                return Err(CliError::usage(format!(
                    "--max-cost cannot hold: nobody counts what {name} spends"
                )));
            }
            let flags = SessionFlags { model: model.clone(), ..session.clone() };
            let mut base = setup::base(&flags)?;
            base.use_local(&flags)?;
            base.learn(Ask::Never, None)?;
            let (model, provider) = base.model()?;
            let surface = agent.surface();
            let player = Player::External(agent.clone());
            subjects.push(Subject { model, name: name.clone(), surface, player, provider });
        }
    }
    let mut seen = Vec::new();
    subjects.retain(|one| {
        let id = (one.model_id(), one.name.clone());
        let fresh = !seen.contains(&id);
        seen.push(id);
        fresh
    });
    let local = subjects.iter().any(|one| one.model.local);
    if flags.parallel > 1 && local {
        told.push(
            "--parallel on a local server: runs share its speed, and so the figures for time".to_owned(),
        );
    }
    told.sort();
    told.dedup();
    told.iter().for_each(|warning| note(warning));
    Ok(subjects)
}

fn own_subject(flags: &SessionFlags) -> Result<(Subject, Vec<String>), CliError> {
    let mut base = setup::base(flags)?;
    base.use_local(flags)?;
    base.learn(Ask::ForAuto, None)?;
    let chosen = base.priced(flags)?;
    let (client, holds) = (chosen.client()?, chosen.holds());
    let name = chosen.harness.id().to_owned();
    let mut surface = base.library.hash(&name).map_err(|error| CliError::usage(error.to_string()))?;
    // A harness may have a form for each outcome of the probe.
    if let Some(probed) = &chosen.model.probed {
        surface += &format!("-{:?}", probed.calls).to_ascii_lowercase();
    }
    let compact_at = base.config.model_auto_compact_token_limit;
    let player = Player::Harness(Own { client, harness: chosen.harness, holds, compact_at });
    let subject = Subject { model: chosen.model, name, surface, player, provider: chosen.provider };
    Ok((subject, base.warnings.into_iter().chain(chosen.tight).collect()))
}

/// The tasks, and what to call them.
fn tasks(base: &Base, flags: &Flags) -> Result<(Vec<Task>, String), CliError> {
    let dir = tasks_dir(base, flags)?;
    let mut tasks = Vec::new();
    for task in Task::all(&dir) {
        tasks.push(task.map_err(|error| CliError::usage(format!("task {error}")))?);
    }
    let half = match (flags.kept, flags.tuning) {
        (true, _) => Some("kept half"),
        (_, true) => Some("tuning half"),
        (false, false) => None,
    };
    tasks.retain(|task| (!flags.kept || task.kept) && !(flags.tuning && task.kept));
    for wanted in &flags.only {
        let named = |task: &Task| task.name == *wanted || task.tags.contains(wanted);
        if !tasks.iter().any(named) {
            let names =
                tasks.iter().flat_map(|task| task.tags.iter().chain([&task.name])).map(String::as_str);
            let near = config::near(wanted, names);
            let hint = match near.first() {
                Some(near) => format!("did you mean {near}?"),
                None => "--only takes names and tags of tasks".to_owned(),
            };
            return Err(CliError::usage(format!("no task is called or tagged {wanted}")).hint(hint));
        }
    }
    let wanted =
        |task: &Task| flags.only.iter().any(|wanted| task.name == *wanted || task.tags.contains(wanted));
    tasks.retain(|task| flags.only.is_empty() || wanted(task));
    let path = std::env::var_os("PATH").unwrap_or_default();
    tasks.retain(|task| match task.lacks(&path) {
        Some(program) => {
            note(&format!("task {} is left out: there is no {program} here", task.name));
            false
        }
        None => true,
    });
    if tasks.is_empty() {
        return Err(
            CliError::usage("no task is left to run").hint("look at --tasks, --only, --kept and --tuning")
        );
    }
    let which: Vec<&str> = half.into_iter().chain(flags.only.iter().map(String::as_str)).collect();
    let which = if which.is_empty() { "all".to_owned() } else { which.join(", ") };
    let count = print::count(u32::try_from(tasks.len()).unwrap_or(u32::MAX), "task");
    Ok((tasks, format!("{count} ({which})")))
}

fn tasks_dir(base: &Base, flags: &Flags) -> Result<PathBuf, CliError> {
    match &flags.tasks {
        Some(dir) => dir.canonicalize().map_err(|error| {
            CliError::usage(format!("the folder of tasks {} cannot be used: {error}", dir.display()))
        }),
        None => Task::embedded(&cache(base)?).map_err(|error| {
            CliError::failed(format!("the tasks cannot be written out: {error}"))
                .hint("make room, or name a folder with --tasks")
        }),
    }
}

fn cache(base: &Base) -> Result<PathBuf, CliError> {
    let cache = base.dirs.cache.as_ref().map(|cache| cache.join("bench"));
    cache.ok_or_else(|| CliError::usage("there is no folder for the bench: set HOME or TACK_HOME"))
}

fn results(base: &Base, flags: &Flags) -> Result<Results, CliError> {
    let path = match &flags.out {
        Some(path) => std::path::absolute(path)?,
        None => {
            let data = base.dirs.data.as_ref();
            let missing =
                || CliError::usage("no place for the results: set HOME or TACK_HOME, or name one with --out");
            data.ok_or_else(missing)?.join("bench/results.jsonl")
        }
    };
    let mut results = Results::open(&path).map_err(|error| {
        CliError::usage(format!("the results file {} cannot be read: {error}", path.display()))
    })?;
    results.reach().map_err(|error| {
        CliError::failed(format!("the results file {} cannot be written: {error}", path.display()))
            .hint("name another with --out")
    })?;
    if results.unread > 0 {
        note(&format!("{} lines of {} are no entries and are passed over", results.unread, path.display()));
    }
    if flags.fresh {
        results.forget();
    }
    Ok(results)
}

fn runner(
    base: &Base,
    flags: &Flags,
    results: &Results,
    tasks: &[Task],
    stopper: &Stopper,
) -> Result<Runner, CliError> {
    let sessions = results.sessions();
    // Neither how it is judged nor how others did it.
    let mut hide: Vec<PathBuf> = tasks.iter().map(|task| task.dir.clone()).collect();
    hide.push(sessions.clone());
    hide.extend(base.config.sandbox.hide.iter().cloned());
    let dirs = [&base.dirs.config, &base.dirs.data, &base.dirs.state];
    let wish = Wish {
        hide,
        reveal: base.config.sandbox.reveal.clone(),
        home: base.dirs.home.clone(),
        config_dirs: dirs.into_iter().flatten().cloned().collect(),
        ..Wish::new(Mode::WorkspaceWrite, &base.cwd)
    };
    let mut places: Vec<PathBuf> = base.dirs.cache.iter().map(|cache| cache.join("bench/runs")).collect();
    places.push(PathBuf::from("/var/tmp/tack-bench"));
    Ok(Runner {
        sandbox: crate::sandbox::system().into(),
        wish,
        vars: std::env::vars_os().collect(),
        places,
        sessions,
        keep: flags.keep.then(|| results.path().with_extension("kept")),
        cancel: stopper.token(),
    })
}

/// Writes the recommended harness into the user's configuration, for each model that has one.
fn store(base: &Base, recommended: &[Recommended]) -> Result<(), CliError> {
    let Some(path) = base.dirs.config_file() else {
        return Err(CliError::usage("there is no configuration to store it in: set HOME or TACK_HOME"));
    };
    if recommended.is_empty() {
        return Err(CliError::usage("nothing to store: no model solved anything under one of two harnesses"));
    }
    for one in recommended {
        if base.library.get(&one.harness).is_err() {
            note(&format!("not stored: {} is no harness of tack's", one.harness));
            continue;
        }
        config::keep_harness(&path, &one.model, &one.harness)?;
        note(&format!("stored in {}: {} for {}", path.display(), one.harness, one.model));
    }
    Ok(())
}

fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
