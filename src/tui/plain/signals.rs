//! What the system says to a session by lines. Ctrl+C is no key here: it comes as a signal, too.

use std::io;

#[cfg(unix)]
pub(super) struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    /// # Errors
    /// If the system lets tack have no handler.
    pub(super) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    /// The code to leave with; None: what runs is to stop. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<i32> {
        let Self([interrupt, terminate, hangup]) = self;
        tokio::select! {
            biased;
            _ = terminate.recv() => Some(143),
            _ = hangup.recv() => Some(129),
            _ = interrupt.recv() => None,
        }
    }
}

#[cfg(windows)]
pub(super) struct Signals(tokio::signal::windows::CtrlC, tokio::signal::windows::CtrlClose);

#[cfg(windows)]
impl Signals {
    /// # Errors
    /// If the system lets tack have no handler.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?, tokio::signal::windows::ctrl_close()?))
    }

    /// The code to leave with; None: what runs is to stop. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<i32> {
        tokio::select! {
            biased;
            _ = self.1.recv() => Some(129),
            _ = self.0.recv() => None,
        }
    }
}
