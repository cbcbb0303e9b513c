//! What a console tells its programs, as the signals that are meant by it. Type-checked only.

use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff,
    ctrl_shutdown,
};

use super::Said;

/// Numbers that the exit codes are made of, as elsewhere.
const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

#[derive(Debug)]
pub struct Signals {
    c: CtrlC,
    broken: CtrlBreak,
    closed: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

impl Signals {
    /// # Errors
    /// If the system lets tack have no handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            c: ctrl_c()?,
            broken: ctrl_break()?,
            closed: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// The next one. Cancel-safe.
    pub async fn next(&mut self) -> Said {
        tokio::select! {
            _ = self.c.recv() => Said::End(INTERRUPT),
            _ = self.broken.recv() => Said::End(INTERRUPT),
            _ = self.closed.recv() => Said::End(HANGUP),
            _ = self.logoff.recv() => Said::End(TERMINATE),
            _ = self.shutdown.recv() => Said::End(TERMINATE),
        }
    }
}
