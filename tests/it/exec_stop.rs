//! One-shot runs that are killed, stopped by a signal or left in the middle of a reply: what was done
//! is kept, and the session goes on with a valid history.

use serde_json::json;

use crate::kit::{Tack, finish, on_every_wire, wait_for};
use crate::server::*;

on_every_wire! {
    a_run_killed_in_the_middle_of_a_call_can_be_resumed,
    a_signal_stops_the_command_and_leaves_a_valid_history,
    a_stop_while_the_reply_streams_closes_the_connection,
}

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

fn a_run_killed_in_the_middle_of_a_call_can_be_resumed() {
    let server = Server::start(vec![
        sse([
            call(0, "a", "bash", "{\"command\":\"touch ran; sleep 100\"}"),
            call(1, "b", "bash", "{\"command\":\"echo second\"}"),
            end("tool_calls"),
            done(),
        ]),
        says("resumed"),
    ]);
    let tack = Tack::new(&server);
    let mut child = tack.command(["-p", "x"]).spawn().unwrap();
    wait_for("the command", || tack.work().join("ran").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = tack.run(["exec", "resume", "--last", "go on"]).code(0);
    assert_eq!(ran.stdout, "resumed\n");
    valid_history(&server.requests()[1].chat()).unwrap();
}

fn a_signal_stops_the_command_and_leaves_a_valid_history() {
    for (signal, code) in [(libc_signal("INT"), 130), (libc_signal("TERM"), 143)] {
        let server =
            Server::start(vec![shell("a", "echo $$ > pid; touch ran; sleep 300 & sleep 300"), says("after")]);
        let tack = Tack::new(&server);
        let child = tack.command(["exec", "--json", "x"]).spawn().unwrap();
        wait_for("the command", || tack.work().join("ran").exists());
        send(child.id(), signal);
        let ran = finish(child, None).code(code);
        assert_eq!(ran.events().pop().unwrap()["type"], "turn.failed");
        let text = tack.logs().iter().map(|log| std::fs::read_to_string(log).unwrap()).collect::<String>();
        assert!(text.contains("interrupted"), "{text}");
        tack.run(["exec", "resume", "--last", "go on"]).code(0);
        valid_history(&server.requests()[1].chat()).unwrap();
    }
}

fn libc_signal(name: &str) -> &'static str {
    match name {
        "INT" => "-INT",
        "TERM" => "-TERM",
        other => panic!("{other}"),
    }
}

fn send(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

fn a_stop_while_the_reply_streams_closes_the_connection() {
    let server = Server::start(vec![sse([txt("beginning"), Frame::Hang])]);
    let tack = Tack::new(&server);
    let child = tack.command(["exec", "--json=full", "x"]).spawn().unwrap();
    server.wait(|requests| requests.len() == 1);
    wait_for("the session file", || !tack.logs().is_empty());
    send(child.id(), "-INT");
    finish(child, None).code(130);
    server.wait(|requests| requests[0].closed_early);
}
