//! `tack exec`, `tack -p`, `tack exec resume`: one prompt without a screen.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;

use super::args::{Color, ExecFlags, JsonDetail, SessionFlags};
use super::error::CliError;
use super::runtime;
use super::setup::{self, Ready, Which};
use crate::agent::{Agent, Schema, Stopper, Why, events};
use crate::exec::{self, Format, Output, stdin};
use crate::model::{Image, Said};

/// How long the frontend may take to write what is left once a run was stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Largest image that is sent, in bytes.
const IMAGE_BYTES: u64 = 10 << 20;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The prompt; `-` or none: standard input is the prompt
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,

    #[command(flatten)]
    session: SessionFlags,

    #[command(flatten)]
    exec: ExecFlags,

    #[command(subcommand)]
    command: Option<ExecCommand>,
}

#[derive(Subcommand, Debug)]
enum ExecCommand {
    /// Go on with an earlier session
    Resume(ResumeArgs),
}

#[derive(clap::Args, Debug)]
struct ResumeArgs {
    /// Id of the session, or the beginning of it; with --last, the prompt
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// The prompt; `-` or none: standard input is the prompt
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,

    /// The latest session, of this folder before all others
    #[arg(long)]
    last: bool,

    #[command(flatten)]
    session: SessionFlags,

    #[command(flatten)]
    exec: ExecFlags,
}

/// What the command line asks for.
pub(super) struct Parsed {
    pub(super) which: Which,
    pub(super) prompt: Option<String>,
    pub(super) session: SessionFlags,
    pub(super) exec: ExecFlags,
}

pub(super) fn run(args: Args, session: SessionFlags, exec: ExecFlags) -> Result<i32, CliError> {
    let Parsed { which, prompt, session, exec } = parsed(args, session, exec)?;
    start(prompt.as_deref(), &session, &exec, &which)
}

/// Puts together the flags that stand before and after each word.
pub(super) fn parsed(args: Args, session: SessionFlags, exec: ExecFlags) -> Result<Parsed, CliError> {
    let session = session.merge(args.session);
    let exec = exec.merge(args.exec);
    let Some(ExecCommand::Resume(resume)) = args.command else {
        let which = new_session(&exec);
        return Ok(Parsed { which, prompt: args.prompt, session, exec });
    };
    let session = session.merge(resume.session);
    let exec = exec.merge(resume.exec);
    let (which, prompt) = match (resume.last, resume.id, resume.prompt) {
        (true, prompt, None) => (Which::Last, prompt),
        (true, Some(_), Some(_)) => return Err(CliError::usage("give an id or --last, not both")),
        (false, Some(id), prompt) => (Which::Id(id), prompt),
        (true | false, None, _) => {
            return Err(CliError::usage("which session? give its id, or --last")
                .hint("tack sessions list shows them"));
        }
    };
    Ok(Parsed { which, prompt, session, exec })
}

fn new_session(exec: &ExecFlags) -> Which {
    if exec.ephemeral { Which::Ephemeral } else { Which::New }
}

/// A new session for this prompt.
pub(super) fn run_prompt(
    prompt: Option<&str>,
    session: &SessionFlags,
    exec: &ExecFlags,
) -> Result<i32, CliError> {
    start(prompt, session, exec, &new_session(exec))
}

fn start(
    prompt: Option<&str>,
    flags: &SessionFlags,
    exec: &ExecFlags,
    which: &Which,
) -> Result<i32, CliError> {
    let on_stdin = matches!(prompt, None | Some("-")) && !flags.no_stdin;
    let (schema, ready) = prepare(flags, exec, which).inspect_err(|_| {
        if on_stdin {
            stdin::drain();
        }
    })?;
    let text = read_prompt(prompt, flags)?;
    let images = images(&flags.image, &ready)?;
    let turn =
        Turn { said: Said { text, images }, schema, timeout: flags.timeout, nobody: setup::approvals(flags) };
    run_ready(ready, turn, &output(exec))
}

/// Settings come first: who has none should not have to type a prompt to learn it.
fn prepare(
    flags: &SessionFlags,
    exec: &ExecFlags,
    which: &Which,
) -> Result<(Option<Schema>, Ready), CliError> {
    let schema = exec.output_schema.as_deref().map(schema).transpose()?;
    if let Some(path) = &exec.output_last_message {
        writable(path)?;
    }
    Ok((schema, setup::base(flags)?.ready(flags, which, Stopper::default())?))
}

/// Largest schema that is read, in bytes.
const SCHEMA_BYTES: u64 = 1 << 20;

fn schema(path: &Path) -> Result<Schema, CliError> {
    let trouble = |what: String| {
        CliError::usage(format!("the output schema {} {what}", path.display()))
            .hint("--output-schema names a file with one JSON Schema")
    };
    let about = path.metadata().map_err(|error| trouble(format!("cannot be read: {error}")))?;
    if !about.is_file() {
        return Err(trouble("is no file".to_owned()));
    }
    if about.len() > SCHEMA_BYTES {
        return Err(trouble(format!("is larger than {} MB", SCHEMA_BYTES >> 20)));
    }
    let text = std::fs::read_to_string(path).map_err(|error| trouble(format!("cannot be read: {error}")))?;
    Schema::parse(text.trim_start_matches('\u{feff}')).map_err(trouble)
}

/// Says before the work, not after it, that there is no place for the last message.
fn writable(path: &Path) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let what = match (path.is_dir(), folder.is_dir()) {
        (true, _) => "is a folder",
        (false, false) => "is in no folder that exists",
        (false, true) => return Ok(()),
    };
    Err(CliError::usage(format!("{} {what}", path.display())).hint("name another file with -o"))
}

fn read_prompt(prompt: Option<&str>, flags: &SessionFlags) -> Result<String, CliError> {
    let usage = |error: anyhow::Error| CliError::usage(format!("{error:#}"));
    match prompt {
        None | Some("-") if flags.no_stdin => {
            Err(CliError::usage("no prompt, and --no-stdin forbids to read one; give it as an argument"))
        }
        None | Some("-") => stdin::prompt().map_err(usage),
        Some("") => Err(CliError::usage("the prompt is empty; say what is to be done")),
        Some(prompt) if flags.no_stdin => Ok(prompt.to_owned()),
        Some(prompt) => match stdin::beside_prompt().map_err(usage)? {
            Some(more) => Ok(stdin::join(prompt, &more)),
            None => Ok(prompt.to_owned()),
        },
    }
}

pub(super) fn output(exec: &ExecFlags) -> Output {
    let format = match exec.json {
        None => Format::Text,
        Some(JsonDetail::Codex) => Format::Json,
        Some(JsonDetail::Full) => Format::JsonFull,
    };
    let color = match exec.color.unwrap_or_default() {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none()
                && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
        }
    };
    Output { format, last_message: exec.output_last_message.clone(), color }
}

/// What one run does.
pub(super) struct Turn {
    pub(super) said: Said,
    /// What the last message has to fit.
    pub(super) schema: Option<Schema>,
    /// Seconds it may take.
    pub(super) timeout: Option<u64>,
    /// Said where a flag expects that somebody can be asked.
    pub(super) nobody: Option<String>,
}

/// Runs one turn with its frontend, watches for signals, and gives the exit code.
pub(super) fn run_ready(ready: Ready, turn: Turn, output: &Output) -> Result<i32, CliError> {
    let Turn { said, schema, timeout, nobody } = turn;
    let Ready { setup, mut warnings, _scratch, .. } = ready;
    warnings.extend(nobody);
    let stopper = setup.stopper.clone();
    let (out, heard) = events(stopper.token());
    let out = match output.format {
        Format::JsonFull => out,
        Format::Text | Format::Json => out.whole_replies(),
    };
    let (shown_at, shown) = std::sync::mpsc::sync_channel(1);
    let frontend = {
        let (output, stopper) = (output.clone(), stopper.clone());
        move || {
            let _ = shown_at.send(exec::show(heard, &output, &stopper));
        }
    };
    let runtime = runtime()?;
    thread("frontend", frontend)?;
    let watched = stopper.clone();
    thread("reader", move || exec::watch_reader(&watched))?;
    let opened = runtime.block_on(async {
        let mut agent = Agent::new(setup, out);
        let watch = async {
            tokio::join!(signals(&stopper), time_limit(timeout, &stopper));
        };
        let work = async {
            let opened = agent.open(warnings).await;
            if opened.is_ok() {
                agent.turn(said, schema).await;
            }
            agent.close().await;
            opened
        };
        tokio::select! {
            opened = work => opened,
            () = watch => Ok(()),
        }
    });
    // Tasks that hang in a blocking read are not waited for.
    runtime.shutdown_background();
    let ended = if stopper.stopped() { shown.recv_timeout(LAST_WORDS).ok() } else { shown.recv().ok() };
    opened?;
    let code = exec::exit_code(ended.flatten().as_ref(), stopper.why().as_ref());
    if let Some(Why::OutputFailed(error)) = stopper.why() {
        return Err(CliError::unwritten(&error));
    }
    Ok(code)
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| CliError::failed(format!("cannot start: {error}")))
}

async fn time_limit(seconds: Option<u64>, stopper: &Stopper) {
    match seconds {
        Some(seconds) => {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            stopper.stop(Why::Time(seconds));
        }
        None => std::future::pending().await,
    }
    std::future::pending::<()>().await;
}

/// Pulls the stopper at the first signal; a second one ends the run at once.
#[cfg(unix)]
pub(super) async fn signals(stopper: &Stopper) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let Ok(mut signals) = kinds.map(signal).into_iter().collect::<Result<Vec<_>, _>>() else {
        return std::future::pending().await;
    };
    let [interrupt, terminate, hangup] = &mut signals[..] else {
        return std::future::pending().await;
    };
    for round in 0..2 {
        let why = tokio::select! {
            _ = interrupt.recv() => Why::Person,
            _ = terminate.recv() => Why::Signal(SignalKind::terminate().as_raw_value()),
            _ = hangup.recv() => Why::Signal(SignalKind::hangup().as_raw_value()),
        };
        if round == 0 {
            stopper.stop(why);
        }
    }
}

#[cfg(not(unix))]
pub(super) async fn signals(stopper: &Stopper) {
    for _ in 0..2 {
        if tokio::signal::ctrl_c().await.is_err() {
            return std::future::pending().await;
        }
        stopper.stop(Why::Person);
    }
}

/// Reads the images of the flags. A value is one file's name if there is such a file, else names
/// separated by commas.
fn images(flags: &[String], ready: &Ready) -> Result<Vec<Image>, CliError> {
    let mut images = Vec::new();
    for value in flags {
        let whole = Path::new(value);
        let paths: Vec<PathBuf> = if whole.exists() {
            vec![whole.to_path_buf()]
        } else {
            value.split(',').map(|name| PathBuf::from(name.trim())).collect()
        };
        for path in paths {
            images.push(image(&path, ready)?);
        }
    }
    if !images.is_empty() && ready.setup.model.vision == Some(false) {
        return Err(CliError::usage(format!("{} takes no images", ready.setup.model.name))
            .hint("leave out --image, or choose a model that sees"));
    }
    Ok(images)
}

fn image(path: &Path, ready: &Ready) -> Result<Image, CliError> {
    let trouble = |what: String| CliError::usage(format!("image {}: {what}", path.display()));
    let about = path.metadata().map_err(|error| trouble(error.to_string()))?;
    if !about.is_file() {
        return Err(trouble("not a file".to_owned()));
    }
    if about.len() > IMAGE_BYTES {
        return Err(trouble(format!("larger than the {} MB that can be sent", IMAGE_BYTES >> 20)));
    }
    let bytes = std::fs::read(path).map_err(|error| trouble(error.to_string()))?;
    let mime = crate::tools::image_type(&bytes)
        .ok_or_else(|| trouble("not a PNG, JPEG, GIF or WebP image".to_owned()))?;
    let blob = ready.setup.session.blobs().keep(&bytes);
    Ok(Image { mime: mime.to_owned(), blob })
}
