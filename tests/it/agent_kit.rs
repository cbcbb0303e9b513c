//! Runs the real loop in this process, so that a test can say what is known of the model.

use std::sync::Arc;

use tack::agent::{Agent, Bounds, End, Event, Holds, Schema, Setup, Stopper, events};
use tack::config::CheckKeys;
use tack::harness::{Harness, NoPrograms};
use tack::model::{Model, Said};
use tack::sandbox::Plain;
use tack::store::Session;
use tack::wire::client::HttpClient;
use tack::wire::provider::Provider;

use crate::server::Server;
use crate::tools_kit::Bench;

/// An agent in the bench's folder, at a scripted server.
pub struct Run<'a> {
    pub bench: &'a Bench,
    pub server: &'a Server,
    pub harness: Arc<dyn Harness>,
    pub model: Model,
    pub check: CheckKeys,
}

impl Run<'_> {
    /// Runs the prompts, each to the end of its turn and with a schema for its last message; gives the last one's
    /// end and all that was warned of.
    pub async fn turns(self, prompts: &[(&str, Option<&str>)]) -> (End, Vec<String>) {
        let Self { bench, server, harness, model, check } = self;
        let provider =
            Provider { stream_retries: 0, request_retries: 0, ..Provider::new("mock", server.url()) };
        let stopper = Stopper::default();
        let (out, mut heard) = events(stopper.token().clone());
        let setup = Setup {
            model,
            client: Arc::new(HttpClient::new(provider).unwrap()),
            harness,
            live: None,
            programs: Arc::new(NoPrograms),
            policy: bench.policy.clone(),
            sandbox: Arc::new(Plain),
            env: bench.env.clone(),
            online: bench.env.clone(),
            session: Session::ephemeral(),
            loaded: None,
            config_dir: None,
            check,
            bounds: Bounds { steps: Some(40), ..Bounds::default() },
            unattended: true,
            permit: Default::default(),
            desk: tack::agent::Desk::default(),
            holds: Holds::Alone,
            stopper,
        };
        let run = async {
            let mut agent = Agent::new(setup, out);
            agent.open(Vec::new()).await.unwrap();
            let mut end = End::Interrupted;
            for (prompt, form) in prompts {
                let said = Said { text: (*prompt).to_owned(), images: Vec::new() };
                end = agent.turn(said, form.map(|form| Schema::parse(form).unwrap())).await;
            }
            agent.close().await;
            end
        };
        let hear = async {
            let mut warned = Vec::new();
            while let Some(event) = heard.recv().await {
                if let Event::Warning(text) = event {
                    warned.push(text);
                }
            }
            warned
        };
        tokio::join!(run, hear)
    }
}
