//! Edits of the harness, taken between turns.

use super::Agent;
use crate::harness::Look;
use crate::model::Body;

impl Agent {
    /// Goes on with the harness as its files now are; with the one from before while they are broken.
    pub(super) async fn look_at_harness(&mut self) {
        let Some(live) = &mut self.live else { return };
        match live.look(&self.model) {
            Look::Same => {}
            Look::New(harness) => {
                let harness = harness.fresh().unwrap_or(harness);
                let before = std::mem::replace(&mut self.harness, harness);
                before.close().await;
                self.see_more().await;
            }
            Look::Broken(fault) => {
                let id = self.harness.id();
                self.warn(format!("harness {id} was edited and is broken, so it stays as it was: {fault}"))
                    .await;
            }
        }
    }

    /// A scene was frozen without what only some harnesses ask for.
    pub(super) async fn see_more(&mut self) {
        if self.scene.project.is_none() && self.harness.rules(&self.model).facts {
            let now = self.look_around().await;
            self.scene = now.clone();
            self.push(Body::Scene(Box::new(now))).await;
        }
    }
}
