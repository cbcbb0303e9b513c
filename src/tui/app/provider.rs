//! Providers: the list of them, a server of the person's own, and what asking one showed.

use super::{App, Want};
use crate::tui::args::{self, Providers};
use crate::tui::cell::Tone;
use crate::tui::host::{Host, NewProvider};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::key::KeyEntry;
use crate::tui::overlay::model::Purpose;
use crate::tui::overlay::provider::{Did, ProviderPicker};
use crate::tui::overlay::server::ServerForm;

impl App {
    pub(super) fn provider_command(&mut self, written: &str) -> Want {
        match args::providers(written) {
            Ok(Providers::List) => self.list_providers(),
            Ok(Providers::Test(id)) => {
                self.tell(Tone::Dim, format!("asking {id} what it has …"));
                self.tell_of(move |host| host.try_provider(&id).map(|said| vec![said]));
                Want::Frame
            }
            Ok(Providers::Add(new)) => {
                self.tell(Tone::Dim, format!("asking what is at {} …", new.url));
                self.tell_of(move |host| host.add_provider(&new));
                Want::Frame
            }
            Ok(Providers::Remove(id)) => self.remove_provider(id),
            Err(how) => self.refuse(how),
        }
    }

    pub(super) fn list_providers(&mut self) -> Want {
        self.choose_from(
            "providers",
            |host| Ok(host.providers()),
            |_, rows| Overlay::Provider(ProviderPicker::new(rows)),
        )
    }

    pub(super) fn provider_did(&mut self, did: Did) -> Want {
        match did {
            Did::Nothing => Want::Nothing,
            Did::Redraw => Want::Frame,
            Did::Left => self.close_overlay(),
            Did::Test(id) => self.try_provider(id),
            Did::Add => self.add_server(),
            Did::Key(id) => {
                self.overlay = Some(Overlay::Key(KeyEntry::new(id)));
                Want::Frame
            }
            Did::Remove(id) => {
                self.overlay = None;
                self.remove_provider(id)
            }
            Did::Forget(id) => {
                self.overlay = None;
                self.logout_command(&id)
            }
        }
    }

    pub(super) fn add_server(&mut self) -> Want {
        self.overlay = Some(Overlay::Server(ServerForm::default()));
        Want::Frame
    }

    /// What asking showed stands in the list, while that is open.
    pub(super) fn try_provider(&mut self, id: String) -> Want {
        self.aside(
            move |host| (host.try_provider(&id), id),
            |app, (came, id)| {
                if let Some(Overlay::Provider(picker)) = &mut app.overlay {
                    picker.tried(&id, came);
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    /// Adds it; where that fails, the form still stands. Who left it hears of it all the same.
    pub(super) fn add_provider(&mut self, new: NewProvider) -> Want {
        self.aside(
            move |host| host.add_provider(&new),
            |app, came| {
                let open = matches!(app.overlay, Some(Overlay::Server(_)));
                match (came, &mut app.overlay) {
                    (Err(why), Some(Overlay::Server(form))) => form.failed(why),
                    (Err(why), _) => app.tell(Tone::Error, why),
                    (Ok(said), _) => {
                        if open {
                            app.overlay = None;
                        }
                        said.into_iter().for_each(|line| app.tell(Tone::Dim, line));
                        if open && app.facts.mute {
                            return app.pick_model(Purpose::First);
                        }
                    }
                }
                Want::Frame
            },
        );
        Want::Frame
    }

    pub(super) fn remove_provider(&mut self, id: String) -> Want {
        if id == self.facts.speaks.model.provider {
            return self.refuse(args::in_use(&id));
        }
        self.tell_of(move |host| host.remove_provider(&id).map(|said| vec![said]));
        Want::Frame
    }

    /// Does it aside, and tells what came of it.
    fn tell_of(&mut self, work: impl FnOnce(&dyn Host) -> Result<Vec<String>, String> + Send + 'static) {
        self.aside(
            move |host| work(&*host),
            |app, came| {
                match came {
                    Ok(said) => said.into_iter().for_each(|line| app.tell(Tone::Dim, line)),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
    }
}
