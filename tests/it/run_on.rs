//! Replies that would never end: line breaks, the same lines, thoughts without a point.

use serde_json::json;
use tack::model::WireKind;

use crate::kit::{Tack, on_every_wire, wire};
use crate::server::{Frame, Reply, Server, call, calls, done, end, says, sse, thought, txt};

on_every_wire! {
    line_breaks_without_end_are_cut_and_what_was_said_counts,
    a_whole_call_before_them_is_run,
    half_a_call_before_them_is_not,
    the_same_lines_again_and_again_are_cut_and_not_taken_for_an_answer,
    thoughts_without_end_are_cut_and_the_model_acts_on_them,
    a_reply_that_ends_by_itself_is_left_alone,
}

const GAP: &str = "\n\n \n\n\n\n\n \n\n\n\n";

const CUTS: &str = "[stream]\nblank_lines = 8\nsame_lines = 4\n[thinking]\nmost = 50\n";

/// Says this and then waits for the client to go away.
fn for_ever(frames: impl IntoIterator<Item = Frame>) -> Reply {
    sse(frames.into_iter().chain([Frame::Hang]))
}

fn tack(server: &Server) -> Tack {
    let tack = Tack::new(server);
    tack.harness("watchful", CUTS);
    tack.configure("model_reasoning_effort = \"medium\"");
    tack
}

fn line_breaks_without_end_are_cut_and_what_was_said_counts() {
    let server = Server::start(vec![for_ever([txt("All done."), txt("\n\n\n\n\n\n"), txt("\n\n\n\n\n\n")])]);
    let ran = tack(&server).run(["--harness", "watchful", "-p", "x"]).code(0);
    assert_eq!(ran.stdout, "All done.\n");
    server.wait(|requests| requests[0].closed_early);
}

fn a_whole_call_before_them_is_run() {
    let args = json!({"command": "echo ran > it.txt"}).to_string();
    let server = Server::start(vec![for_ever([call(0, "a", "bash", &(args + GAP))]), says("done")]);
    let tack = tack(&server);
    tack.run(["--harness", "watchful", "-p", "x"]).code(0);
    assert!(tack.work().join("it.txt").exists());
    assert_eq!(server.requests().len(), 2);
}

fn half_a_call_before_them_is_not() {
    let args = "{\"command\": \"echo ran > it.txt\",".to_owned();
    let half = for_ever([call(0, "a", "bash", &(args + GAP))]);
    let server = Server::start(vec![half, says("done")]);
    let tack = tack(&server);
    tack.run(["--harness", "watchful", "-p", "x"]).code(0);
    assert!(!tack.work().join("it.txt").exists());
    assert!(server.requests()[1].said().contains("cut off"), "{}", server.requests()[1].said());
}

fn the_same_lines_again_and_again_are_cut_and_not_taken_for_an_answer() {
    let again = (0..9).map(|_| txt("Let me look at that.\n"));
    let server = Server::start(vec![for_ever(again), says("done")]);
    let ran = tack(&server).run(["--harness", "watchful", "-p", "x"]).code(0);
    assert_eq!(ran.stdout, "done\n");
    let requests = server.requests();
    assert!(requests[0].closed_early);
    assert!(requests[1].said().contains("one short reply"), "{}", requests[1].said());
}

fn thoughts_without_end_are_cut_and_the_model_acts_on_them() {
    let thinks = for_ever([thought(&"maybe this, maybe that; ".repeat(20))]);
    let server = Server::start(vec![thinks, calls("a", "bash", &json!({"command": "true"})), says("done")]);
    let ran = tack(&server).run(["--harness", "watchful", "-p", "x"]).code(0);
    assert_eq!(ran.stdout, "done\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    let said = requests[1].said();
    assert!(said.contains("Act on it now") && said.contains("maybe this, maybe that"), "{said}");
    // Without thinking this once, and as the user set it from then on.
    if wire() == WireKind::Chat {
        let effort = |n: usize| requests[n].body["reasoning_effort"].clone();
        assert_eq!((effort(0), effort(1), effort(2)), (json!("medium"), json!("none"), json!("medium")));
    }
}

fn a_reply_that_ends_by_itself_is_left_alone() {
    let text = "one\n\n\n\ntwo\n}\n}\n}\n}\n}\nthree";
    let server = Server::start(vec![sse([thought("short"), txt(text), end("stop"), done()])]);
    let ran = tack(&server).run(["--harness", "watchful", "-p", "x"]).code(0);
    assert_eq!(ran.stdout.trim_end(), text);
}
