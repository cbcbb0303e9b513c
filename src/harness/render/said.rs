//! What the person typed, in the harness's words around and beside it.
//!
//! Each prompt is said with the facts of its own time: the scene that was in force, and its own day. So
//! what was sent once stays as it was when the day or the scene changes.

use std::collections::BTreeMap;

use crate::harness::View;
use crate::harness::kit::Kit;
use crate::harness::manifest::{Beside, More, Often};
use crate::harness::template::Values;
use crate::model::{Body, Item, Said, Scene};
use crate::wire::prompt::{Form, Piece, Role};

use super::piece_of_image;
use super::thread::Thread;

pub(super) struct Sayer<'a> {
    kit: &'a Kit,
    view: &'a View<'a>,
    first: bool,
    /// What each changing text was when it was last said.
    last: BTreeMap<&'a str, String>,
}

impl<'a> Sayer<'a> {
    pub fn new(kit: &'a Kit, view: &'a View<'a>) -> Self {
        Self { kit, view, first: true, last: BTreeMap::new() }
    }

    /// Nothing has been said yet.
    pub fn is_first(&self) -> bool {
        self.first
    }

    pub fn said(&mut self, thread: &mut Thread, item: &Item, said: &Said) -> anyhow::Result<()> {
        let images = said.images.iter().map(|image| piece_of_image(self.kit, self.view, image));
        self.say(thread, item, (&said.text, images.collect()))
    }

    /// Adds the prompt of `item`, or whatever else stands in the place of one.
    pub fn say(
        &mut self,
        thread: &mut Thread,
        item: &Item,
        (text, images): (&str, Vec<Piece>),
    ) -> anyhow::Result<()> {
        let user = &self.kit.manifest.user;
        let first = std::mem::replace(&mut self.first, false);
        let around = if first { user.first.as_ref().or(user.each.as_ref()) } else { user.each.as_ref() };
        let facts = first && self.kit.manifest.context.facts > 0 && !self.kit.shows.facts;
        if around.is_none() && user.more.is_empty() && !facts {
            let text = Piece::Text(text.to_owned());
            thread.push(Role::User, std::iter::once(text).chain(images).collect());
            return Ok(());
        }
        let values = self.values(item);
        let said = match around {
            Some(file) => self.kit.render(file, &values.clone().with("text", text))?,
            None => text.to_owned(),
        };
        let facts = Some(values.text("facts")).filter(|text| facts && !text.is_empty());
        let mut parts: Vec<Vec<Piece>> =
            facts.map(|text| vec![Piece::Text(text.to_owned())]).into_iter().collect();
        parts.extend(self.beside(Beside::Before, first, &values)?);
        parts.push(std::iter::once(Piece::Text(said)).chain(images).collect());
        parts.extend(self.beside(Beside::After, first, &values)?);
        let messages = &self.kit.manifest.messages;
        match messages.merge || messages.user == Form::Parts {
            true => thread.push_parts(Role::User, parts.concat()),
            false => parts.into_iter().for_each(|part| thread.push(Role::User, part)),
        }
        Ok(())
    }

    fn beside(&mut self, place: Beside, first: bool, values: &Values) -> anyhow::Result<Vec<Vec<Piece>>> {
        let mut out = Vec::new();
        for More { file, when, .. } in self.kit.manifest.user.more.iter().filter(|more| more.place == place) {
            if *when == Often::First && !first {
                continue;
            }
            let text = self.kit.render(file, values)?;
            let changed = self.last.insert(file, text.clone()).is_none_or(|last| last != text);
            let due = match when {
                Often::First | Often::Each => true,
                Often::Changed => changed || first,
                Often::Later => changed && !first,
            };
            if due && !text.trim().is_empty() {
                out.push(vec![Piece::Text(text)]);
            }
        }
        Ok(out)
    }

    fn values(&self, item: &Item) -> Values {
        let before = self.view.items.iter().take_while(|other| other.id <= item.id);
        let scene = before.filter_map(|other| match &other.body {
            Body::Scene(scene) => Some(&**scene),
            _ => None,
        });
        let scene = scene.last().unwrap_or(self.view.scene);
        let scene = Scene { time: later(&scene.time, item.at), ..scene.clone() };
        self.kit.values(&View { scene: &scene, ..*self.view })
    }
}

/// The time of the item in the scene's zone; the scene's own where that is later.
fn later(scene: &str, item: jiff::Timestamp) -> String {
    match scene.parse::<jiff::ZonedDateTime>() {
        Ok(time) if time.timestamp() < item => {
            let time = item.to_zoned_datetime(time.time_zone().clone());
            time.strftime("%Y-%m-%dT%H:%M:%S%:z[%Q]").to_string()
        }
        Ok(_) | Err(_) => scene.to_owned(),
    }
}
