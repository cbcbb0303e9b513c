//! Whom to speak to and under which harness, from the next request on.

use std::time::Instant;

use crate::agent::Aside;

use super::{App, Want};
use crate::model::Model;
use crate::tui::cell::Tone;
use crate::tui::host::{self, Because, Host, Lasts, Speaks, Spoken, Wish};

/// Whom the person wants to speak to, while that is on its way: what is chosen meanwhile is chosen on top.
#[derive(Clone)]
pub(super) struct Aim {
    wish: Wish,
    /// The model as it was typed, and the provider in use then: whether there is one is still to be found out.
    typed: Option<(String, String)>,
    /// A model was chosen, for so long.
    chosen: Option<Lasts>,
}

impl App {
    pub(super) fn switch_harness(&mut self, id: &str, lasts: Lasts) -> Want {
        let aim = self.aimed();
        self.aim_at(Aim { wish: Wish { harness: Some(id.to_owned()), lasts, ..aim.wish }, ..aim })
    }

    /// Goes on with a model. Where that is not only for this session, tack starts with it from now on.
    pub(super) fn use_model(&mut self, wish: Wish) -> Want {
        let harness = wish.harness.clone().or_else(|| self.aimed().wish.harness);
        let chosen = Some(wish.lasts);
        self.aim_at(Aim { wish: Wish { harness, ..wish }, typed: None, chosen })
    }

    /// The same with a model by the name that was typed.
    pub(super) fn use_typed(&mut self, typed: &str, lasts: Lasts) -> Want {
        let Aim { wish, .. } = self.aimed();
        let at = wish.model.map(|(provider, _)| provider).unwrap_or_default();
        let wish = Wish { harness: wish.harness, lasts, ..Wish::default() };
        self.aim_at(Aim { wish, typed: Some((typed.to_owned(), at)), chosen: Some(lasts) })
    }

    /// Goes on with the same, made anew: something that they are made with changed.
    pub(super) fn speak_anew(&mut self) -> Want {
        let aim = self.aimed();
        self.aim_at(aim)
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
        let aim = self.aimed();
        self.aim_at(Aim { wish: Wish { effort: Some(args.to_owned()), ..aim.wish }, ..aim })
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
            harness: self.named(),
            ..Wish::default()
        }
    }

    /// What is on its way, else who is due.
    fn aimed(&self) -> Aim {
        self.aim.clone().unwrap_or_else(|| Aim { wish: self.same(), typed: None, chosen: None })
    }

    /// Goes on with others, from the next request on.
    fn aim_at(&mut self, aim: Aim) -> Want {
        let nth = self.next_wish();
        self.aim = Some(aim.clone());
        self.aside(
            move |host| found(&*host, aim),
            move |app, came| {
                if nth != app.wishes {
                    return Want::Nothing;
                }
                app.aim = None;
                match came {
                    Ok(Found { spoken, aim, doubt }) => {
                        if let Some(doubt) = doubt {
                            app.tell(Tone::Warning, doubt);
                        }
                        app.host.keep(&aim.wish);
                        app.spoken(spoken);
                        if let Some(lasts) = aim.chosen {
                            app.chosen(Wish { lasts, ..aim.wish });
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
        let wish = self.same();
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
            let Model { name, provider, .. } = &speaks.model;
            let said = format!("{name} @ {provider} under {} from the next request on", speaks.harness);
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

/// Who was aimed at.
struct Found {
    spoken: Spoken,
    aim: Aim,
    /// Nobody here can tell whether the model is there.
    doubt: Option<String>,
}

fn found(host: &dyn Host, mut aim: Aim) -> Result<Found, String> {
    let mut doubt = None;
    if let Some((typed, at)) = aim.typed.take() {
        let meant = host.meant(&typed, &at)?;
        aim.wish.model = Some((meant.provider, meant.name));
        doubt = meant.doubt;
    }
    Ok(Found { spoken: host.speaker(&aim.wish)?, aim, doubt })
}
