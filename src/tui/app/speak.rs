//! Whom to speak to and under which harness, from the next request on.

use std::time::Instant;

use crate::agent::Aside;

use super::{App, Want};
use crate::tui::cell::Tone;
use crate::tui::host::{self, Because, Lasts, Speaks, Spoken, Wish};

/// What follows once somebody speaks.
enum After {
    Nothing,
    /// A model was chosen.
    Model(Wish),
}

impl App {
    pub(super) fn switch_harness(&mut self, id: &str, lasts: Lasts) -> Want {
        self.speak(Wish { harness: Some(id.to_owned()), lasts, ..self.same() })
    }

    /// Goes on with a model. Where that is not only for this session, tack starts with it from now on.
    pub(super) fn use_model(&mut self, wish: Wish) -> Want {
        self.models += 1;
        let harness = wish.harness.clone().or_else(|| self.named());
        let after = After::Model(wish.clone());
        self.speak_and(Wish { harness, ..wish }, after)
    }

    /// A model was chosen: unless that is for this session alone it is the one that tack starts with. The
    /// first choice of all is tried out.
    fn chosen(&mut self, wish: Wish) {
        let first = std::mem::take(&mut self.facts.mute);
        if wish.lasts == Lasts::Session {
            return;
        }
        self.aside(
            move |host| {
                let kept = host.make_first(&wish);
                let (provider, name) = wish.model.unwrap_or_default();
                let tried = first.then(|| host.try_model(&provider, &name));
                [Some(kept), tried]
            },
            |app, came| {
                for came in came.into_iter().flatten() {
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
            let now = self.due().model.effort.as_deref().unwrap_or("the model's own");
            self.tell(Tone::Dim, format!("effort: {now}; /effort none, low, medium, high sets it"));
            return Want::Frame;
        }
        if let Err(why) = host::effort(args) {
            self.tell(Tone::Error, why);
            return Want::Frame;
        }
        self.speak(Wish { effort: Some(args.to_owned()), harness: self.named(), ..self.same() })
    }

    /// The harness, where somebody named it: whatever model is chosen, it stays.
    fn named(&self) -> Option<String> {
        let speaks = self.due();
        (speaks.because == Because::Named).then(|| speaks.harness.clone())
    }

    /// Who speaks from the next request on.
    pub(super) fn due(&self) -> &Speaks {
        self.next.as_ref().unwrap_or(&self.facts.speaks)
    }

    /// The model that is due.
    fn same(&self) -> Wish {
        let model = &self.due().model;
        Wish {
            model: Some((model.provider.clone(), model.name.clone())),
            effort: model.effort.clone(),
            ..Wish::default()
        }
    }

    /// Goes on with others, from the next request on.
    fn speak(&mut self, wish: Wish) -> Want {
        self.speak_and(wish, After::Nothing)
    }

    fn speak_and(&mut self, wish: Wish, after: After) -> Want {
        let nth = self.next_wish();
        self.aside(
            move |host| (host.speaker(&wish), wish),
            move |app, (came, wish)| {
                if nth != app.wishes {
                    return Want::Nothing;
                }
                match came {
                    Ok(spoken) => {
                        app.host.keep(&wish);
                        app.spoken(spoken);
                        if let After::Model(wish) = after {
                            app.chosen(wish);
                        }
                    }
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
        let wish = Wish { harness: self.named(), ..self.same() };
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
        let now = self.due().harness.clone();
        if now != speaks.harness {
            self.before = Some(now);
        }
        if self.working() {
            let said = format!("{} under {} from the next request on", speaks.model.name, speaks.harness);
            self.tell(Tone::Dim, said);
        }
        self.next = Some(speaks.clone());
    }

    /// Makes a harness the usual one of a model's family, and goes on under it. `wish`: of whom, where that is
    /// not who is spoken to now.
    pub(super) fn make_usual(&mut self, id: &str, wish: Wish) -> Want {
        let harness = id.to_owned();
        let now = self.due().model.clone();
        let named = wish.model.clone();
        self.aside(
            move |host| {
                let model = match named {
                    Some((provider, name)) => host.model(&provider, &name)?,
                    None => now,
                };
                host.make_usual(&model, &harness)
            },
            |app, came| {
                match came {
                    Ok(said) => app.tell(Tone::Dim, said),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        match wish.model {
            Some(_) => self.use_model(Wish { harness: Some(id.to_owned()), ..wish }),
            None => self.switch_harness(id, Lasts::Run),
        }
    }
}
