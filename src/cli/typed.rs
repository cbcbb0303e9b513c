//! One line from the terminal that is not shown while it is typed.

use super::error::CliError;

#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is typed there yet"))]
pub(super) enum Typed {
    Line(String),
    /// A signal ended it; the exit code for that.
    Stopped(i32),
}

/// Asks on stderr and reads a line. The terminal is as before when this returns.
#[cfg(unix)]
pub(super) fn ask(question: &str) -> Result<Typed, CliError> {
    use std::io::Write;

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let failed = |error: &dyn std::fmt::Display| {
        CliError::usage(format!("the terminal cannot be asked: {error}"))
            .hint("pipe the key in: tack login PROVIDER < FILE")
    };
    let before = tcgetattr(std::io::stdin()).map_err(|error| failed(&error))?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    let runtime = super::runtime()?;
    let line = runtime.block_on(async {
        // Before the echo goes, so that no signal can leave the terminal without it.
        let stop = stopped().map_err(|error| failed(&error))?;
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden).map_err(|error| failed(&error))?;
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
        tokio::select! {
            code = stop => Ok(Typed::Stopped(code)),
            line = tokio::task::spawn_blocking(read_line) => match line {
                Ok(Ok(line)) => Ok(Typed::Line(line)),
                Ok(Err(error)) => Err(failed(&error)),
                Err(error) => Err(failed(&error)),
            },
        }
    });
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &before);
    let _ = writeln!(std::io::stderr());
    // The thread that reads cannot be woken; the process ends soon.
    runtime.shutdown_background();
    line
}

#[cfg(unix)]
fn read_line() -> std::io::Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line)
}

/// The exit code of the first signal that would end the process.
#[cfg(unix)]
fn stopped() -> std::io::Result<impl Future<Output = i32>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut int = signal(SignalKind::interrupt())?;
    let mut term = signal(SignalKind::terminate())?;
    let mut hup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = int.recv() => 130,
            _ = term.recv() => 143,
            _ = hup.recv() => 129,
        }
    })
}

#[cfg(not(unix))]
pub(super) fn ask(_: &str) -> Result<Typed, CliError> {
    Err(CliError::usage("tack cannot ask for a key on this system's terminals yet")
        .hint("pipe the key in: tack login PROVIDER < FILE"))
}
