//! Whom to speak to, under which harness, and in which session: the lists to choose from, and what
//! follows from a choice.

use std::time::Instant;

use crate::agent::Aside;

use super::{App, Want};
use crate::tui::cell::Tone;
use crate::tui::host::{self, Host, Meant, Reach, Speaks, Spoken, Which, Wish};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::coming::Coming;
use crate::tui::overlay::harness::HarnessPicker;
use crate::tui::overlay::model::{ModelPicker, Purpose};
use crate::tui::overlay::sessions::SessionPicker;

impl App {
    /// Opens a list at once and fills it when its rows are there: what comes late takes no keys from
    /// somebody who went on. What is typed before is its filter.
    fn choose_from<T: Send + 'static>(
        &mut self,
        what: &'static str,
        rows: impl FnOnce(&dyn Host) -> T + Send + 'static,
        list: impl FnOnce(&mut Self, T) -> Overlay + Send + 'static,
    ) -> Want {
        self.overlay = Some(Overlay::Coming(Coming::new(what)));
        self.aside(
            move |host| rows(&*host),
            move |app, rows| {
                let typed = match &mut app.overlay {
                    Some(Overlay::Coming(coming)) if coming.what() == what => coming.typed(),
                    _ => return Want::Nothing,
                };
                app.overlay = Some(list(app, rows));
                for key in typed {
                    app.overlay_key(key);
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn model_command(&mut self, args: &str) -> Want {
        if !args.is_empty() {
            return self.model_named(args.to_owned());
        }
        self.pick_model(if self.facts.mute { Purpose::First } else { Purpose::Switch })
    }

    /// Goes on with a model that was typed, if there is one of that name.
    fn model_named(&mut self, typed: String) -> Want {
        let at = self.facts.speaks.model.provider.clone();
        self.aside(
            move |host| host.meant(&typed, &at),
            |app, came| match came {
                Ok(Meant { provider, name, doubt }) => {
                    if let Some(doubt) = doubt {
                        app.tell(Tone::Warning, doubt);
                    }
                    app.switch_model(provider, name);
                    Want::Frame
                }
                Err(why) => {
                    app.tell(Tone::Error, why);
                    Want::Frame
                }
            },
        );
        Want::Nothing
    }

    pub(super) fn pick_model(&mut self, purpose: Purpose) -> Want {
        self.choose_from(
            "models",
            |host| host.models(),
            move |app, models| {
                Overlay::Model(ModelPicker::new(purpose, &app.facts.speaks, app.history.cached, models))
            },
        )
    }

    /// Stores a key, and goes back to the list in which its models now are.
    pub(super) fn login(&mut self, provider: String, key: String) -> Want {
        self.aside(
            move |host| host.login(&provider, &key),
            |app, came| match came {
                Ok(said) => {
                    app.tell(Tone::Dim, said);
                    app.model_command("");
                    Want::Frame
                }
                Err(why) => {
                    app.tell(Tone::Error, why);
                    Want::Frame
                }
            },
        );
        Want::Nothing
    }

    pub(super) fn harness_command(&mut self, args: &str) -> Want {
        match args {
            "" => {
                let model = self.facts.speaks.model.clone();
                self.choose_from(
                    "harnesses",
                    move |host| host.harnesses(&model),
                    |app, rows| Overlay::Harness(HarnessPicker::new(&app.facts.speaks, app.history, rows)),
                )
            }
            "-" => match self.before.clone() {
                Some(before) => self.switch_harness(&before),
                None => {
                    self.tell(Tone::Dim, "there was no other harness in this session");
                    Want::Frame
                }
            },
            id => self.switch_harness(id),
        }
    }

    pub(super) fn switch_harness(&mut self, id: &str) -> Want {
        self.speak(Wish { harness: Some(id.to_owned()), ..self.same() })
    }

    pub(super) fn switch_model(&mut self, provider: String, name: String) -> Want {
        if std::mem::take(&mut self.facts.mute) {
            self.first_model(provider.clone(), name.clone());
        }
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        self.speak(Wish { model: Some((provider, name)), harness, effort: None })
    }

    /// The first choice of all is kept, so that tack starts with it, and tried out.
    fn first_model(&mut self, provider: String, name: String) {
        self.aside(
            move |host| {
                let kept = host.make_first(&provider, &name);
                (kept, host.try_model(&provider, &name))
            },
            |app, (kept, tried)| {
                for came in [kept, tried] {
                    match came {
                        Ok(said) => app.tell(Tone::Dim, said),
                        Err(why) => app.tell(Tone::Warning, why),
                    }
                }
                Want::Frame
            },
        );
    }

    pub(super) fn effort(&mut self, args: &str) -> Want {
        if args.is_empty() {
            let now = self.facts.speaks.model.effort.as_deref().unwrap_or("the model's own");
            self.tell(Tone::Dim, format!("effort: {now}; /effort none, low, medium, high sets it"));
            return Want::Frame;
        }
        if let Err(why) = host::effort(args) {
            self.tell(Tone::Error, why);
            return Want::Frame;
        }
        let harness = (!self.facts.speaks.auto).then(|| self.facts.speaks.harness.clone());
        self.speak(Wish { effort: Some(args.to_owned()), harness, ..self.same() })
    }

    /// The model that is spoken to now.
    fn same(&self) -> Wish {
        let model = &self.facts.speaks.model;
        Wish {
            model: Some((model.provider.clone(), model.name.clone())),
            harness: None,
            effort: model.effort.clone(),
        }
    }

    /// Goes on with others, from the next request on.
    fn speak(&mut self, wish: Wish) -> Want {
        let nth = self.next_wish();
        self.aside(
            move |host| host.speaker(&wish),
            move |app, came| {
                if nth != app.wishes {
                    return Want::Nothing;
                }
                match came {
                    Ok(spoken) => app.spoken(spoken),
                    Err(why) => app.tell(Tone::Error, why),
                }
                // What was said while the model was being learnt of waited for this as well.
                if app.learning.take().is_some() {
                    app.send_next(Instant::now());
                }
                Want::Frame
            },
        );
        Want::Nothing
    }

    /// Counts a wish to speak to somebody. Several may be on their way, and come in any order: the newest
    /// is what the person wants.
    fn next_wish(&mut self) -> u64 {
        self.wishes += 1;
        self.wishes
    }

    fn spoken(&mut self, spoken: Spoken) {
        let Spoken { speaker, speaks, warnings, notes } = spoken;
        for note in notes {
            self.tell(Tone::Dim, note);
        }
        for warning in warnings {
            self.tell(Tone::Warning, warning);
        }
        self.told_of(&speaks);
        self.link.desk.lay(Aside::Speak(speaker));
    }

    /// Learns of the model on this machine what its server tells, and once how it calls. What is said
    /// meanwhile waits for it.
    pub(super) fn learn(&mut self) {
        self.learning = Some(Instant::now());
        let nth = self.next_wish();
        let auto = self.facts.speaks.auto;
        let harness = (!auto).then(|| self.facts.speaks.harness.clone());
        let wish = Wish { harness, ..self.same() };
        self.aside(
            move |host| host.speaker(&wish),
            move |app, came| {
                if nth != app.wishes {
                    return Want::Nothing;
                }
                app.learning = None;
                let before = app.facts.speaks.clone();
                match came {
                    // Nothing was said yet: it is simply so.
                    Ok(spoken) => {
                        (app.facts.speaks.model, app.facts.speaks.harness) =
                            (spoken.speaks.model.clone(), spoken.speaks.harness.clone());
                        app.quiet_switch = true;
                        app.spoken(spoken);
                    }
                    Err(why) => app.tell(Tone::Warning, why),
                }
                if before.harness != app.facts.speaks.harness {
                    let (name, harness) = (&app.facts.speaks.model.name, &app.facts.speaks.harness);
                    app.tell(Tone::Dim, format!("{name} is spoken to under {harness}"));
                }
                app.send_next(Instant::now());
                Want::Frame
            },
        );
    }

    /// Until the agent says that it is so, the person hears when it will be.
    fn told_of(&mut self, speaks: &Speaks) {
        if self.facts.speaks.harness != speaks.harness {
            self.before = Some(self.facts.speaks.harness.clone());
        }
        if self.working() {
            let said = format!("{} under {} from the next request on", speaks.model.name, speaks.harness);
            self.tell(Tone::Dim, said);
        }
        self.facts.speaks.auto = speaks.auto;
        self.facts.speaks.speech = speaks.speech;
    }

    pub(super) fn make_usual(&mut self, id: &str) -> Want {
        let (model, harness) = (self.facts.speaks.model.clone(), id.to_owned());
        self.aside(
            move |host| host.make_usual(&model, &harness),
            |app, came| {
                match came {
                    Ok(said) => app.tell(Tone::Dim, said),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        self.switch_harness(id)
    }

    pub(super) fn try_model(&mut self, row: usize, provider: String, name: String) -> Want {
        self.aside(
            move |host| host.try_model(&provider, &name),
            move |app, came| {
                if let Some(Overlay::Model(picker)) = &mut app.overlay {
                    picker.tried(row, came);
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn list_sessions(&mut self, reach: Reach) -> Want {
        self.choose_from(
            "sessions",
            move |host| host.sessions(reach),
            move |app, mut rows| {
                rows.retain(|row| row.id != app.facts.session);
                Overlay::Sessions(SessionPicker::new(reach, rows))
            },
        )
    }

    pub(super) fn widen_sessions(&mut self) -> Want {
        let Some(Overlay::Sessions(picker)) = &self.overlay else { return Want::Nothing };
        let reach = match picker.reach() {
            Reach::Folder => Reach::All,
            Reach::All => Reach::Folder,
        };
        self.list_sessions(reach)
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
