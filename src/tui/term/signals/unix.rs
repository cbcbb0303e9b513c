//! Signals, heard by a thread.
//!
//! If the loop does not take the first signal to end within `HEARD`, or a second one comes, the thread gives
//! the terminal back and ends the program with 128 + the signal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use signal_hook::consts::signal::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals as Iter};
use tokio::sync::mpsc;

use super::super::guard;
use super::Said;

/// How long the loop may take to take a signal.
const HEARD: Duration = Duration::from_secs(2);

/// The signals, until it is dropped.
#[derive(Debug)]
pub struct Signals {
    said: mpsc::Receiver<Said>,
    heard: Arc<AtomicBool>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Signals {
    /// # Errors
    /// If the system lets tack have no handler or no thread.
    pub fn listen() -> io::Result<Self> {
        let signals = Iter::new([SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT])?;
        let handle = signals.handle();
        let (tell, said) = mpsc::channel(16);
        let heard = Arc::new(AtomicBool::new(false));
        let ear = heard.clone();
        let thread =
            thread::Builder::new().name("signals".into()).spawn(move || hear(signals, &tell, &ear))?;
        Ok(Self { said, heard, handle, thread: Some(thread) })
    }

    /// The next signal. Cancel-safe. Waits for ever if there is none.
    pub async fn next(&mut self) -> Said {
        let Some(said) = self.said.recv().await else { return std::future::pending().await };
        if matches!(said, Said::End(_)) {
            self.heard.store(true, Ordering::SeqCst);
        }
        said
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn hear(mut signals: Iter, tell: &mpsc::Sender<Said>, heard: &Arc<AtomicBool>) {
    let mut first = true;
    for signal in signals.forever() {
        // A full channel is a loop that is dead or busy: no signal but those to end matters then.
        match signal {
            // The loop waits for a program of the person's own, which stopped: tack stops with it, and the
            // shell has the terminal.
            SIGTSTP if guard::is_lent() => {
                let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
            }
            SIGTSTP => drop(tell.try_send(Said::Stop)),
            SIGCONT => drop(tell.try_send(Said::Continue)),
            end if first && tell.try_send(Said::End(end)).is_ok() => {
                first = false;
                let heard = heard.clone();
                // Ends with the program, which is at hand.
                let watch = thread::Builder::new().spawn(move || {
                    thread::sleep(HEARD);
                    if !heard.load(Ordering::SeqCst) {
                        end_at_once(end);
                    }
                });
                if watch.is_err() {
                    end_at_once(end);
                }
            }
            end => end_at_once(end),
        }
    }
}

fn end_at_once(signal: i32) -> ! {
    guard::restore_at_once();
    std::process::exit(Said::code(signal).into())
}
