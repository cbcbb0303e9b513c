//! The lists of models and harnesses to choose from, and what follows from a choice in them.

use crossterm::event::KeyEvent;

use super::{App, Want};
use crate::model::Model;
use crate::tui::cell::{Cell, Tone};
use crate::tui::host::{HarnessRow, Host, Lasts, Meant, Wish};
use crate::tui::overlay::coming::Coming;
use crate::tui::overlay::compare;
use crate::tui::overlay::harness::{self, HarnessPicker};
use crate::tui::overlay::model::{self, ModelPicker, Purpose};
use crate::tui::overlay::{Overlay, key::KeyEntry};

#[cfg(test)]
mod tests;

impl App {
    /// Opens a list at once and fills it when its rows are there: what comes late takes no keys from
    /// somebody who went on. What is typed before is its filter. Err: there is no list, and why.
    pub(super) fn choose_from<T: Send + 'static>(
        &mut self,
        what: &'static str,
        rows: impl FnOnce(&dyn Host) -> Result<T, String> + Send + 'static,
        list: impl FnOnce(&mut Self, T) -> Overlay + Send + 'static,
    ) -> Want {
        self.listed += 1;
        let nth = self.listed;
        self.overlay = Some(Overlay::Coming(Coming::new(what)));
        self.aside(
            move |host| rows(&*host),
            move |app, rows| {
                let typed = match &mut app.overlay {
                    Some(Overlay::Coming(coming)) if nth == app.listed => coming.typed(),
                    _ => return Want::Nothing,
                };
                match rows {
                    Ok(rows) => app.overlay = Some(list(app, rows)),
                    Err(why) => {
                        app.overlay = None;
                        app.tell(Tone::Error, why);
                    }
                }
                if app.overlay.is_some() {
                    typed.into_iter().for_each(|key| drop(app.overlay_key(key)));
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn model_command(&mut self, args: &str) -> Want {
        let (name, word) = behind(args, &["session", "test"]);
        if name.is_empty() {
            return self.pick_model(if self.facts.mute { Purpose::First } else { Purpose::Switch });
        }
        match word {
            None => self.use_typed(name, Lasts::Run),
            Some("session") => self.use_typed(name, Lasts::Session),
            Some(_) => self.test_model(name.to_owned()),
        }
    }

    fn test_model(&mut self, typed: String) -> Want {
        self.note(&format!("asking {typed} to make one call …"));
        let at = self.due().model.provider.clone();
        self.aside(
            move |host| {
                let Meant { provider, name, .. } = host.meant(&typed, &at)?;
                host.try_model(&provider, &name).map(|said| format!("{name}: {said}"))
            },
            |app, came| {
                match came {
                    Ok(said) => app.tell(Tone::Dim, said),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn pick_model(&mut self, purpose: Purpose) -> Want {
        self.choose_from(
            "models",
            |host| Ok(host.models()),
            move |app, models| {
                Overlay::Model(ModelPicker::new(purpose, app.due(), app.history.cached, models))
            },
        )
    }

    pub(super) fn model_key(&mut self, key: KeyEvent) -> Want {
        let Some(Overlay::Model(picker)) = &mut self.overlay else { return Want::Nothing };
        match picker.key(key) {
            model::Did::Nothing => Want::Nothing,
            model::Did::Redraw => Want::Frame,
            model::Did::Left => self.close_overlay(),
            model::Did::Switch { provider, name, effort, lasts } => {
                self.overlay = None;
                self.use_model(Wish { model: Some((provider, name)), effort, lasts, harness: None })
            }
            model::Did::Harness { provider, name, effort } => self.pick_harness_for((provider, name), effort),
            model::Did::Key(provider) => {
                self.overlay = Some(Overlay::Key(KeyEntry::new(provider)));
                Want::Frame
            }
            model::Did::Try { row, provider, name } => self.try_model(row, provider, name),
            model::Did::Providers => self.list_providers(),
            model::Did::Address => self.add_server(),
        }
    }

    /// Stores a key, and goes back to the list in which its models now are.
    pub(super) fn login(&mut self, provider: String, key: String) -> Want {
        let id = provider.clone();
        self.aside(
            move |host| host.login(&provider, &key),
            move |app, came| match came {
                Ok(said) => {
                    app.tell(Tone::Dim, said);
                    // Who speaks goes on with the new key.
                    match app.facts.mute || app.due().model.provider != id {
                        true => app.model_command(""),
                        false => app.speak_anew(),
                    }
                }
                Err(why) => {
                    app.tell(Tone::Error, why);
                    Want::Frame
                }
            },
        );
        Want::Nothing
    }

    fn try_model(&mut self, row: usize, provider: String, name: String) -> Want {
        let nth = self.listed;
        self.aside(
            move |host| host.try_model(&provider, &name),
            move |app, came| {
                if let Some(Overlay::Model(picker)) = app.overlay.as_mut().filter(|_| nth == app.listed) {
                    picker.tried(row, came);
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn harness_command(&mut self, args: &str) -> Want {
        match behind(args, &["session", "default", "compare"]) {
            ("", _) => {
                let model = self.due().model.clone();
                self.pick_harness(move |_| Ok(model))
            }
            ("-", _) => match self.before.clone() {
                Some(before) => self.switch_harness(&before, Lasts::Run),
                None => {
                    self.tell(Tone::Dim, "there was no other harness in this session");
                    Want::Frame
                }
            },
            (id, Some("default")) => self.make_usual(id, Wish::default()),
            (id, Some("compare")) => self.compare(id.to_owned()),
            (id, Some(_)) => self.switch_harness(id, Lasts::Session),
            (id, None) => self.switch_harness(id, Lasts::Run),
        }
    }

    /// The harness in use and another, side by side.
    fn compare(&mut self, id: String) -> Want {
        let speaks = self.due().clone();
        self.aside(
            move |host| compared(&host.harnesses(&speaks.model), &speaks.harness, &id),
            |app, came| {
                match came {
                    Ok((now, other)) => {
                        let width = usize::from(app.size.width);
                        let rows = compare::lines(&now, &other, width, &app.palette);
                        app.show(Cell::Board(rows));
                    }
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    /// The harness for a model that is not spoken to yet.
    fn pick_harness_for(&mut self, (provider, name): (String, String), effort: Option<String>) -> Want {
        self.pick_harness(move |host| {
            let model = host.model(&provider, &name)?;
            Ok(Model { effort: effort.or(model.effort), ..model })
        })
    }

    fn pick_harness(
        &mut self,
        model: impl FnOnce(&dyn Host) -> Result<Model, String> + Send + 'static,
    ) -> Want {
        self.choose_from(
            "harnesses",
            move |host| {
                let model = model(host)?;
                Ok((host.harnesses(&model), model))
            },
            |app, (rows, model)| {
                if app.history.messages > 0 {
                    app.count_carried(model.clone());
                }
                Overlay::Harness(HarnessPicker::new(app.due(), model, app.history, rows))
            },
        )
    }

    /// Renders the session's history for each harness, to tell what a switch would do to it.
    fn count_carried(&mut self, model: Model) {
        let (nth, session) = (self.listed, self.facts.session.clone());
        self.aside(
            move |host| host.carried(&model, &session),
            move |app, carried| {
                if let Some(Overlay::Harness(picker)) = app.overlay.as_mut().filter(|_| nth == app.listed) {
                    picker.carried(carried);
                }
                Want::Frame
            },
        );
    }

    pub(super) fn harness_key(&mut self, key: KeyEvent) -> Want {
        let Some(Overlay::Harness(picker)) = &mut self.overlay else { return Want::Nothing };
        let did = picker.key(key);
        let Model { provider, name, effort, .. } = picker.model().clone();
        let due = &self.due().model;
        let moves = (&provider, &name) != (&due.provider, &due.name);
        let effort = effort.filter(|_| moves);
        let wish = Wish { model: moves.then_some((provider, name)), effort, ..Wish::default() };
        match did {
            harness::Did::Nothing => Want::Nothing,
            harness::Did::Redraw => Want::Frame,
            harness::Did::Left => self.close_overlay(),
            harness::Did::Switch(id, lasts) => {
                self.overlay = None;
                match wish.model {
                    Some(_) => self.use_model(Wish { harness: Some(id), lasts, ..wish }),
                    None => self.switch_harness(&id, lasts),
                }
            }
            harness::Did::Usual(id) => {
                self.overlay = None;
                self.make_usual(&id, wish)
            }
        }
    }
}

/// The rows of the one in use and of another.
pub(crate) fn compared(
    rows: &[HarnessRow],
    now: &str,
    other: &str,
) -> Result<(HarnessRow, HarnessRow), String> {
    let find = |id: &str| {
        let found = rows.iter().find(|row| row.id == id).cloned();
        found.ok_or_else(|| format!("there is no harness {id}; /harness lists them"))
    };
    Ok((find(now)?, find(other)?))
}

/// The first word of a command's arguments, and the one behind it where it is one of these. Anything else
/// is part of the first.
pub(crate) fn behind<'a>(args: &'a str, words: &[&str]) -> (&'a str, Option<&'a str>) {
    match args.rsplit_once(char::is_whitespace) {
        Some((first, word)) if words.contains(&word) => (first.trim_end(), Some(word)),
        _ => (args, None),
    }
}
