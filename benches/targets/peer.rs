//! The same rows of another agent, `-- --peer=PATH` of a pi (npm: @mariozechner/pi-coding-agent, 0.73): what
//! its figures are on this machine, in this run. They are told, not judged.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Bench, Figure, Row, mb, ms};
use crate::pty::Pty;
use crate::screen::{IDLE, LINES, PACED, echoes, percentile};
use crate::server::Script;
use crate::text::Text;

/// What stands under its composer from the first frame with one on: how full the window is.
const READY: &str = "0.0%/";
/// It goes on working after that: how long it is given.
const START: std::time::Duration = std::time::Duration::from_secs(4);

impl Bench {
    pub(super) fn peer(&self) -> Result<Vec<Row>> {
        let Some(program) = &self.peer else { return Ok(Vec::new()) };
        let (mut times, mut cpus) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let peer = Pty::start(&self.peer_command(program)?)?;
            times.push(ms(peer.wait(&[READY], 0)? - peer.started));
            std::thread::sleep(START);
            cpus.push(ms(peer.cost().cpu));
        }
        let mut rows = vec![told("spawn to a prompt", times), told("spawn to a prompt: CPU", cpus)];
        let peer = Pty::start(&self.peer_command(program)?)?;
        peer.wait(&[READY], 0)?;
        std::thread::sleep(START);
        let before = peer.cost();
        std::thread::sleep(IDLE);
        let after = peer.cost();
        rows.push(told("idle for 10 s: CPU", vec![ms(after.cpu - before.cpu)]));
        rows.push(told("idle: memory of all processes", vec![mb(after.memory)]));
        self.peer_speaks(&peer, &mut rows)?;
        Ok(rows)
    }

    fn peer_speaks(&self, peer: &Pty, rows: &mut Vec<Row>) -> Result<()> {
        let mut keys = |after: &str| -> Result<()> {
            let times = echoes(peer)?;
            rows.push(told(&format!("key to echo, median{after}"), vec![percentile(&times, 0.5)]));
            rows.push(told(&format!("key to echo, p95{after}"), vec![percentile(&times, 0.95)]));
            Ok(())
        };
        keys("")?;
        let characters: usize = Text::Prose.lines(LINES).iter().map(String::len).sum();
        let many = self.say(peer, Script::Lines(Text::Prose, LINES))?;
        keys(", after 5,000 lines")?;
        let slow = self.say(peer, PACED)?;
        let code = self.say(peer, Script::Lines(Text::Code, LINES))?;
        rows.extend([
            told("5,000 lines of prose: CPU", vec![many.cpu]),
            told("5,000 lines of prose: memory growth", vec![many.memory]),
            told("5,000 lines: bytes a character", vec![many.bytes as f64 / characters as f64]),
            told("50 deltas a second, 10 s, after them: CPU", vec![slow.cpu]),
            told("5,000 lines of code: CPU", vec![code.cpu]),
        ]);
        Ok(())
    }

    fn peer_command(&self, program: &Path) -> Result<Command> {
        let home = self.dir.path().join("peer");
        std::fs::create_dir_all(home.join(".pi/agent"))?;
        let models = serde_json::json!({"providers": {"bench": {
            "baseUrl": self.server.url, "api": "openai-completions", "apiKey": "key", "models": [{"id": "m"}],
        }}});
        std::fs::write(home.join(".pi/agent/models.json"), models.to_string())?;
        let mut command = self.command(program, &["--offline", "--provider", "bench", "--model", "m"]);
        command.env("HOME", &home).env("PI_OFFLINE", "1");
        Ok(command)
    }
}

fn told(name: &str, values: Vec<f64>) -> Row {
    Row {
        name: format!("peer: {name}"),
        floor: None,
        tack: Figure::from(values),
        target: None,
        set_with: None,
    }
}
