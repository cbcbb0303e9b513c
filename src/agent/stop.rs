//! Stopping: one token for everything that waits, and the reason it was pulled.

use std::sync::{Arc, Mutex, PoisonError};

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
pub struct Stopper(Arc<Mutex<Pull>>);

#[derive(Default)]
struct Pull {
    token: CancellationToken,
    why: Option<Why>,
}

impl Stopper {
    pub fn stop(&self, why: Why) {
        let mut pull = self.pull();
        pull.why.get_or_insert(why);
        pull.token.cancel();
    }

    /// Makes it as new, for the next turn of a session that a person goes on with. Only between turns:
    /// what waits on the old token would not hear of a later stop.
    pub fn rearm(&self) {
        *self.pull() = Pull::default();
    }

    pub fn why(&self) -> Option<Why> {
        self.pull().why.clone()
    }

    pub fn token(&self) -> CancellationToken {
        self.pull().token.clone()
    }

    pub fn stopped(&self) -> bool {
        self.pull().token.is_cancelled()
    }

    fn pull(&self) -> std::sync::MutexGuard<'_, Pull> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
