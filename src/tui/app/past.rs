//! Earlier sessions: the list of them, and going on with one.

use crossterm::event::KeyEvent;

use super::{App, Want};
use crate::tui::cell::{self, Tone};
use crate::tui::host::{Reach, Which};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::sessions::{Did, SessionPicker};

/// Cells of a session that its preview shows, at most.
const SHOWN: usize = 12;

impl App {
    pub(super) fn list_sessions(&mut self, reach: Reach) -> Want {
        self.choose_from(
            "sessions",
            move |host| Ok(host.sessions(reach)),
            move |app, mut rows| {
                rows.retain(|row| row.id != app.facts.session);
                Overlay::Sessions(SessionPicker::new(reach, rows))
            },
        )
    }

    pub(super) fn sessions_key(&mut self, key: KeyEvent) -> Want {
        let Some(Overlay::Sessions(picker)) = &mut self.overlay else { return Want::Nothing };
        match picker.key(key) {
            Did::Nothing => Want::Nothing,
            Did::Redraw => Want::Frame,
            Did::Left => self.close_overlay(),
            Did::Open(id) => {
                self.overlay = None;
                self.resume(id)
            }
            Did::Widen => {
                let reach = match picker.reach() {
                    Reach::Folder => Reach::All,
                    Reach::All => Reach::Folder,
                };
                self.list_sessions(reach)
            }
            Did::Preview(id) => self.preview(id),
            Did::Delete(id) => self.forget_session(id),
        }
    }

    fn preview(&mut self, id: String) -> Want {
        self.aside(
            move |host| {
                let cells = host.items(&id).map(cell::of_items).map(|mut cells| {
                    cells.drain(..cells.len().saturating_sub(SHOWN));
                    cells
                });
                (id, cells)
            },
            |app, (id, cells)| {
                if let Some(Overlay::Sessions(picker)) = &mut app.overlay {
                    picker.previewed(&id, cells);
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    /// The one that is open is not in the list.
    fn forget_session(&mut self, id: String) -> Want {
        if id == self.facts.session {
            return Want::Nothing;
        }
        self.aside(
            move |host| host.forget_session(&id).map(|()| id),
            |app, came| {
                match (came, &mut app.overlay) {
                    (Ok(id), Some(Overlay::Sessions(picker))) => picker.gone(&id),
                    (Ok(_), _) => {}
                    (Err(why), _) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn resume(&mut self, id: String) -> Want {
        self.open(Which::Id(id))
    }

    pub(super) fn open(&mut self, which: Which) -> Want {
        self.aside(
            move |host| host.open(&which),
            |app, came| {
                match came {
                    Ok(opened) => app.change_session(opened),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }
}
