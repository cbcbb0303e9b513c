//! Models, harnesses and earlier sessions by lines: what there is, and what is chosen by name.

use super::Plain;
use crate::tui::app::{behind, compared};
use crate::tui::cell::{self, Cell, Tone};
use crate::tui::host::{
    self, Because, Fit, HarnessRow, Lasts, Meant, ModelRow, Reach, SessionRow, Which, Wish,
};
use crate::tui::overlay::compare;
use crate::tui::overlay::harness::{History, effect, tokens};
use crate::tui::overlay::sessions::age;

/// Columns on which two harnesses stand one under the other.
const NARROW: usize = 58;
/// Cells of a session that are shown of it.
const SHOWN: usize = 10;

impl Plain {
    pub(super) fn model_command(&mut self, args: &str) {
        let (name, word) = behind(args, &["session", "test"]);
        if name.is_empty() {
            return self.list_models();
        }
        let (name, word) = (name.to_owned(), word.map(str::to_owned));
        let at = self.facts.speaks.model.provider.clone();
        self.work(
            move |host| host.meant(&name, &at),
            move |plain, came| match came {
                Ok(meant) => plain.use_meant(meant, word.as_deref()),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    /// Goes on with a model that was typed, or does what the word behind it says.
    fn use_meant(&mut self, meant: Meant, word: Option<&str>) {
        let Meant { provider, name, doubt } = meant;
        if let Some(doubt) = doubt {
            self.tell(Tone::Warning, doubt);
        }
        let lasts = match word {
            None => Lasts::Run,
            Some("session") => Lasts::Session,
            Some(_) => return self.test_model(provider, name),
        };
        let wish = Wish { model: Some((provider, name)), harness: self.named(), lasts, effort: None };
        self.speak_and(wish, Self::chosen);
    }

    fn list_models(&mut self) {
        self.work(
            |host| host.models(),
            |plain, models| {
                let now = plain.facts.speaks.model.clone();
                let row = |model: &ModelRow| {
                    let here = (&model.provider, &model.name) == (&now.provider, &now.name);
                    model_row(model) + if here { ", in use" } else { "" }
                };
                plain.rows(models.iter().map(row));
                plain.rows([
                    "/model PROVIDER/NAME uses one, also next time; with session behind it only in \
                     this session; with test behind it that one makes one call"
                        .to_owned(),
                ]);
            },
        );
    }

    fn test_model(&mut self, provider: String, name: String) {
        self.tell(Tone::Dim, format!("asking {name} to make one call"));
        self.work(
            move |host| host.try_model(&provider, &name).map(|said| format!("{name}: {said}")),
            |plain, came| match came {
                Ok(said) => plain.tell(Tone::Dim, said),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    pub(super) fn harness_command(&mut self, args: &str) {
        match behind(args, &["session", "default", "compare"]) {
            ("", _) => self.list_harnesses(),
            ("-", _) => match self.before.clone() {
                Some(before) => self.switch_harness(before, Lasts::Run),
                None => self.tell(Tone::Dim, "there was no other harness in this session"),
            },
            (id, Some("compare")) => self.compare(id.to_owned()),
            (id, Some("default")) => self.make_usual(id.to_owned()),
            (id, Some(_)) => self.switch_harness(id.to_owned(), Lasts::Session),
            (id, None) => self.switch_harness(id.to_owned(), Lasts::Run),
        }
    }

    fn list_harnesses(&mut self) {
        let model = self.facts.speaks.model.clone();
        self.work(
            move |host| host.harnesses(&model),
            |plain, rows| {
                let now = plain.facts.speaks.harness.clone();
                let row = |row: &HarnessRow| harness_row(row) + if row.id == now { ", in use" } else { "" };
                plain.rows(rows.iter().map(row));
                plain.rows([
                    "/harness ID changes it, /harness - goes back; with session behind it only in this \
                     session, with default it is what this model's family gets, with compare both are told"
                        .to_owned(),
                ]);
            },
        );
    }

    fn compare(&mut self, id: String) {
        let speaks = self.facts.speaks.clone();
        self.work(
            move |host| compared(&host.harnesses(&speaks.model), &speaks.harness, &id),
            |plain, came| match came {
                // One under the other, whatever the width: columns are hard to hear.
                Ok((now, other)) => {
                    let rows = compare::lines(&now, &other, NARROW, &plain.palette);
                    plain.show(&Cell::Board(rows));
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    fn make_usual(&mut self, id: String) {
        let (model, harness) = (self.facts.speaks.model.clone(), id.clone());
        self.work(
            move |host| host.make_usual(&model, &harness),
            |plain, came| match came {
                Ok(said) => plain.tell(Tone::Dim, said),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
        self.switch_harness(id, Lasts::Run);
    }

    fn switch_harness(&mut self, id: String, lasts: Lasts) {
        self.speak(Wish { harness: Some(id), lasts, ..self.same() });
    }

    pub(super) fn effort(&mut self, args: &str) {
        if args.is_empty() {
            let now = self.facts.speaks.model.effort.as_deref().unwrap_or("the model's own");
            return self.tell(Tone::Dim, format!("effort: {now}; /effort none, low, medium, high sets it"));
        }
        if let Err(why) = host::effort(args) {
            return self.tell(Tone::Error, why);
        }
        self.speak(Wish { effort: Some(args.to_owned()), harness: self.named(), ..self.same() });
    }

    /// The harness, where somebody named it: whatever model is chosen, it stays.
    pub(super) fn named(&self) -> Option<String> {
        let speaks = &self.facts.speaks;
        (speaks.because == Because::Named).then(|| speaks.harness.clone())
    }

    /// The model that is spoken to now.
    pub(super) fn same(&self) -> Wish {
        let model = &self.facts.speaks.model;
        let named = Some((model.provider.clone(), model.name.clone()));
        Wish { model: named, effort: model.effort.clone(), ..Wish::default() }
    }

    /// Goes on with others, from the next request on, and says what that does to the session.
    fn speak(&mut self, wish: Wish) {
        self.speak_and(wish, |_, _| {});
    }

    fn speak_and(&mut self, wish: Wish, then: fn(&mut Self, Wish)) {
        let session = self.facts.session.clone();
        self.work(
            move |host| {
                let spoken = host.speaker(&wish)?;
                let carried = host.carried(&spoken.speaks.model, &session);
                let carried = carried.into_iter().find(|(id, _)| *id == spoken.speaks.harness);
                Ok((spoken, carried, wish))
            },
            move |plain, came: Result<_, String>| match came {
                Ok((spoken, carried, wish)) => {
                    let before = plain.facts.speaks.harness.clone();
                    let next = spoken.speaks.harness.clone();
                    if before != next {
                        plain.before = Some(before.clone());
                    }
                    plain.host.keep(&wish);
                    plain.spoken(spoken);
                    plain.tell(Tone::Dim, format!("{} from the next request on", plain.who()));
                    if let Some((_, carried)) = carried.filter(|(_, carried)| carried.messages > 0) {
                        let cached = plain.spent.context;
                        let history = History { messages: carried.messages, calls: carried.calls, cached };
                        let said = effect((&before, &next), &history, Some(Some(&carried)));
                        plain.tell(Tone::Dim, said);
                    }
                    then(plain, wish);
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    /// A model was chosen: unless that is for this session alone it is the one that tack starts with. The
    /// first choice of all is tried out.
    fn chosen(&mut self, wish: Wish) {
        let first = std::mem::take(&mut self.facts.mute);
        if wish.lasts == Lasts::Session {
            return;
        }
        self.work(
            move |host| {
                let kept = host.make_first(&wish);
                let (provider, name) = wish.model.unwrap_or_default();
                [Some(kept), first.then(|| host.try_model(&provider, &name))]
            },
            |plain, came| {
                for came in came.into_iter().flatten() {
                    match came {
                        Ok(said) => plain.tell(Tone::Dim, said),
                        Err(why) => plain.tell(Tone::Warning, why),
                    }
                }
            },
        );
    }

    pub(super) fn list_sessions(&mut self, reach: Reach) {
        let open = self.facts.session.clone();
        self.work(
            move |host| host.sessions(reach),
            move |plain, mut rows| {
                rows.retain(|row| row.id != open);
                if rows.is_empty() {
                    return plain.tell(Tone::Dim, "there is no session yet");
                }
                plain.rows(rows.iter().map(session_row));
                plain.rows([
                    "/resume ID goes on with one; with show behind it its end is told, with delete it \
                     is deleted"
                        .to_owned(),
                ]);
            },
        );
    }

    pub(super) fn resume_command(&mut self, args: &str) {
        match behind(args, &["show", "delete", "yes"]) {
            (id, Some("show")) => self.show_session(id.to_owned()),
            (id, Some("delete")) => {
                let how = format!("/resume {id} delete yes does it");
                self.tell(Tone::Warning, format!("delete {id} and all that belongs to it? {how}"));
            }
            (rest, Some("yes")) => match behind(rest, &["delete"]) {
                (id, Some(_)) => self.forget_session(id.to_owned()),
                _ => self.open(Which::Id(args.to_owned())),
            },
            (id, _) => self.open(Which::Id(id.to_owned())),
        }
    }

    fn show_session(&mut self, id: String) {
        self.work(
            move |host| host.items(&id),
            |plain, came| match came {
                Ok(items) => {
                    let cells = cell::of_items(items);
                    cells[cells.len().saturating_sub(SHOWN)..].iter().for_each(|cell| plain.show(cell));
                }
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }

    fn forget_session(&mut self, id: String) {
        if id == self.facts.session {
            return self.tell(Tone::Error, "this session is open; /new begins another one");
        }
        self.work(
            move |host| host.forget_session(&id).map(|()| id),
            |plain, came| match came {
                Ok(id) => plain.tell(Tone::Dim, format!("{id} is deleted")),
                Err(why) => plain.tell(Tone::Error, why),
            },
        );
    }
}

fn model_row(model: &ModelRow) -> String {
    if model.name.is_empty() {
        return format!("{}, no key: tack login {}", model.provider, model.provider);
    }
    let mut facts = vec![format!("{}/{}", model.provider, model.name), model.key.clone()];
    facts.push(model.window.map_or("window ?".to_owned(), |window| format!("{} window", tokens(window))));
    facts.extend(model.tools.map(|tools| if tools { "tools" } else { "no tools" }.to_owned()));
    facts.extend(model.prices.as_ref().map(|p| {
        let cached = p.cached_input.map(|price| format!(", ${price:.2} cached")).unwrap_or_default();
        format!("${:.2} in, ${:.2} out{cached}, {}", p.input, p.output, model.priced)
    }));
    facts.extend(Some(model.remark.clone()).filter(|remark| !remark.is_empty()));
    facts.join(", ")
}

fn harness_row(row: &HarnessRow) -> String {
    let fit = match &row.fit {
        Fit::Fits => "fits",
        Fit::Works => "works",
        Fit::Weak => "weak",
        Fit::Cannot(why) => return format!("{}, cannot be used: {why}", row.id),
    };
    let auto = row.auto.as_ref().map(|because| format!(", {}", because.words())).unwrap_or_default();
    let tools = if row.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", row.tools) };
    format!("{}, {fit}, {tools}, {} tokens a turn{auto}", row.id, tokens(row.tokens as u64))
}

fn session_row(row: &SessionRow) -> String {
    let turns = if row.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", row.turns) };
    let mut facts = vec![format!("{}: {}", row.id, row.title), age(row.age), turns];
    facts.extend([&row.branch, &row.speaks].into_iter().filter(|fact| !fact.is_empty()).cloned());
    facts.join(", ")
}
