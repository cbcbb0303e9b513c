//! Work that takes its time: done on a thread of its own, its end applied here, so that state has one
//! owner.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{App, Want};
use crate::tui::cell::Tone;
use crate::tui::host::Host;
use crate::tui::term::clipboard::{self, Clip};

/// What is done to the app once the work is over.
pub type Done = Box<dyn FnOnce(&mut App) -> Want + Send>;

/// Work under way. What it does is dropped with it; threads that hang are not waited for.
#[derive(Default)]
pub struct Jobs(JoinSet<Done>);

impl Jobs {
    /// The end of some work; waits for ever when there is none.
    pub async fn next(&mut self) -> Done {
        loop {
            match self.0.join_next().await {
                Some(Ok(done)) => return done,
                Some(Err(error)) => {
                    let said = format!("something went wrong in tack itself: {error}");
                    return Box::new(move |app| {
                        app.tell(Tone::Error, said);
                        Want::Frame
                    });
                }
                None => std::future::pending().await,
            }
        }
    }
}

impl App {
    /// Does `work` aside, and `then` with what came of it.
    pub(super) fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(Arc<dyn Host>) -> T + Send + 'static,
        then: impl FnOnce(&mut Self, T) -> Want + Send + 'static,
    ) {
        let host = self.host.clone();
        self.jobs.0.spawn_blocking(move || {
            let came = work(host);
            Box::new(move |app: &mut App| then(app, came)) as Done
        });
    }

    /// Puts what the clipboard holds where the cursor is.
    pub fn paste_clipboard(&mut self, env: fn(&str) -> Option<String>) {
        self.jobs.0.spawn(async move {
            let came = clipboard::read(env).await;
            Box::new(move |app: &mut App| {
                match came {
                    Ok(Clip::Text(text)) => drop(app.composer.paste(&text)),
                    Ok(Clip::Image(bytes)) => drop(app.composer.paste_image(bytes)),
                    Err(why) => app.note(&why.to_string()),
                }
                Want::Frame
            }) as Done
        });
    }

    /// Puts a text into the desktop's clipboard; says `otherwise` if that cannot be done.
    pub fn copy_to_desktop(
        &mut self,
        text: String,
        env: fn(&str) -> Option<String>,
        otherwise: Option<&'static str>,
    ) {
        self.jobs.0.spawn(async move {
            let copied = clipboard::write(text, env).await;
            Box::new(move |app: &mut App| {
                let Some(note) = otherwise.filter(|_| !copied) else { return Want::Nothing };
                app.note(note);
                Want::Frame
            }) as Done
        });
    }

    /// Waits for an answer of the agent's.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        answer: tokio::sync::oneshot::Receiver<T>,
        then: impl FnOnce(&mut Self, T) -> Want + Send + 'static,
    ) {
        self.jobs.0.spawn(async move {
            let came = answer.await;
            Box::new(move |app: &mut App| match came {
                Ok(came) => then(app, came),
                Err(_) => Want::Nothing,
            }) as Done
        });
    }
}
