//! A thread that reads the console by lines. It cannot be woken while it reads, so it ends with the program.
//! Type-checked only.

use std::io;
use std::thread;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{BURST, MOST, ROOM};

pub(in super::super) struct Lines {
    lines: mpsc::Receiver<String>,
    /// What came of a message that may go on.
    message: Option<String>,
}

impl Lines {
    /// Reads the console that stdin is.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(in super::super) fn start() -> io::Result<Self> {
        let (tell, lines) = mpsc::channel(ROOM);
        let body = move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                if tell.blocking_send(line).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("input".into()).spawn(body)?;
        Ok(Self { lines, message: None })
    }

    /// What comes next, without its last line break; None at the end of the input. Cancel-safe.
    pub(in super::super) async fn next(&mut self) -> Option<String> {
        loop {
            let Some(message) = &mut self.message else {
                self.message = Some(self.lines.recv().await?);
                continue;
            };
            if message.len() < MOST
                && let Ok(Some(line)) = timeout(BURST, self.lines.recv()).await
            {
                message.push('\n');
                message.push_str(&line);
            } else {
                return self.message.take();
            }
        }
    }

    /// What is half typed cannot be taken back from the thread that reads it.
    pub(in super::super) fn drain(&self) {}
}
