//! Stopping: one token for everything that waits, and the reason it was pulled.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Why a run is being stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A person pressed a key, or SIGINT came.
    Person,
    /// SIGTERM or SIGHUP.
    Signal(i32),
    /// The run's time limit, in seconds.
    Time(u64),
    /// Nobody reads the output any more.
    OutputClosed,
    /// The output cannot be written.
    OutputFailed(String),
}

/// Clones share one token. The first reason wins.
#[derive(Clone, Default)]
pub struct Stopper {
    token: CancellationToken,
    why: Arc<OnceLock<Why>>,
}

impl Stopper {
    pub fn stop(&self, why: Why) {
        let _ = self.why.set(why);
        self.token.cancel();
    }

    pub fn why(&self) -> Option<&Why> {
        self.why.get()
    }

    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub fn stopped(&self) -> bool {
        self.token.is_cancelled()
    }
}
