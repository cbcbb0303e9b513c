//! One-shot runs of the real binary against a scripted server: the way of a prompt from the command
//! line to a finished change, and what happens when something on the way is wrong.

use std::process::Stdio;

use serde_json::json;

use crate::kit::{Tack, alive, finish, on_every_wire};
use crate::server::*;

on_every_wire! {
    a_prompt_becomes_a_finished_change,
    json_events_follow_the_exec_protocol,
    full_json_adds_only_types_of_its_own,
    a_session_goes_on_by_id_and_by_last,
    what_was_sent_stays_a_prefix_of_what_is_sent,
    another_harness_goes_on_with_a_valid_history_both_ways,
    a_model_that_repeats_itself_is_told_and_then_stopped,
    a_limit_of_requests_ends_the_turn_with_its_own_code,
    a_time_limit_ends_the_turn_while_a_command_runs,
    a_money_limit_needs_a_price_and_holds,
    a_context_that_does_not_fit_is_summarised_once_and_the_work_goes_on,
    a_window_that_fills_up_after_every_summary_ends_the_turn,
    a_small_local_window_is_said_and_gets_the_small_surface,
    a_prompt_that_can_never_fit_ends_the_run_with_the_servers_words,
    a_reader_that_goes_away_ends_the_run_quietly,
    a_silent_open_stdin_does_not_hold_up_a_run_with_a_prompt,
    the_last_message_also_goes_where_it_is_asked_for,
    an_ephemeral_run_leaves_no_session,
    images_go_along_and_a_model_that_takes_none_is_asked_again_without,
    project_notes_reach_the_model_and_odd_files_do_not_stop_it,
    nothing_of_a_run_is_left_running,
}

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

/// The text of the last message of a request.
fn last_text(request: &Request) -> String {
    let messages = request.chat()["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap_or_default().to_owned()
}

fn a_prompt_becomes_a_finished_change() {
    let server = Server::start(vec![
        shell("a", "cat sum.sh"),
        calls("b", "edit", &json!({"path": "sum.sh", "oldText": "1 - 1", "newText": "1 + 1"})),
        shell("c", "sh sum.sh"),
        says("Fixed: it adds now."),
    ]);
    let tack = Tack::new(&server);
    tack.file("sum.sh", "echo $((1 - 1))\n");
    let ran = tack.run(["-p", "fix the sum"]).code(0);

    assert_eq!(ran.stdout, "Fixed: it adds now.\n");
    assert_eq!(tack.read("sum.sh"), "echo $((1 + 1))\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        valid_history(&request.chat()).unwrap();
    }
    assert!(last_text(&requests[1]).contains("echo $((1 - 1))"));
    assert!(last_text(&requests[3]).contains('2'), "{}", last_text(&requests[3]));
    let kinds: Vec<_> = tack.log().iter().map(|line| line["is"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "assistant").count(), 4);
    assert_eq!(kinds.iter().filter(|kind| *kind == "result").count(), 3);
    assert_eq!(kinds.first().map(String::as_str), Some("header"));
}

fn json_events_follow_the_exec_protocol() {
    let server = Server::start(vec![
        sse([
            txt("Looking."),
            call(0, "a", "bash", "{\"command\":\"echo hi; exit 3\"}"),
            end("tool_calls"),
            usage(100, 10),
            done(),
        ]),
        calls("b", "write", &json!({"path": "new.txt", "content": "x\n"})),
        sse([txt("done"), end("stop"), usage(200, 5), done()]),
    ]);
    let tack = Tack::new(&server);
    let ran = tack.run(["exec", "--json", "do it"]).code(0);
    let events = ran.events();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "thread.started",
            "turn.started",
            "item.completed",
            "item.started",
            "item.completed",
            "item.started",
            "item.completed",
            "item.completed",
            "turn.completed"
        ]
    );
    assert_eq!(events[0]["thread_id"], tack.session_id());
    assert_eq!(events[2]["item"], json!({"id": "item_0", "type": "agent_message", "text": "Looking."}));
    let command = &events[4]["item"];
    assert_eq!(command["type"], "command_execution");
    assert_eq!((&command["exit_code"], &command["status"]), (&json!(3), &json!("failed")));
    assert!(command["aggregated_output"].as_str().unwrap().contains("hi"));
    assert_eq!(events[3]["item"]["id"], command["id"]);
    let path = tack.work().canonicalize().unwrap().join("new.txt");
    let change = &events[6]["item"];
    assert_eq!(change["changes"], json!([{"path": path.to_str().unwrap(), "kind": "add"}]));
    assert_eq!(events[7]["item"]["text"], "done");
    assert_eq!(events[8]["usage"]["input_tokens"], 300);
    assert_eq!(events[8]["usage"]["output_tokens"], 15);
}

fn full_json_adds_only_types_of_its_own() {
    let server = Server::start(vec![sse([txt("a"), txt("b"), end("stop"), done()])]);
    let ran = Tack::new(&server).run(["exec", "--json=full", "x"]).code(0);
    let text: String = ran
        .events()
        .iter()
        .filter(|event| event["type"] == "tack.text")
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(text, "ab");
    let known = ["thread.", "turn.", "item.", "error", "tack."];
    for event in ran.events() {
        let kind = event["type"].as_str().unwrap().to_owned();
        assert!(known.iter().any(|known| kind.starts_with(known)), "{kind}");
    }
}

fn a_session_goes_on_by_id_and_by_last() {
    let server = Server::start(vec![says("one"), says("two"), says("three")]);
    let tack = Tack::new(&server);
    tack.run(["-p", "first"]).code(0);
    let id = tack.session_id();
    let by_id = tack.run(["exec", "--json", "resume", &id, "second"]).code(0);
    assert_eq!(by_id.events()[0]["thread_id"], id);
    tack.run(["exec", "resume", "--last", "third"]).code(0);
    let last = server.requests().pop().unwrap();
    let said: Vec<_> = last.chat()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] != "system")
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(said, ["first", "one", "second", "two", "third"]);
    assert_eq!(tack.logs().len(), 1);
}

fn what_was_sent_stays_a_prefix_of_what_is_sent() {
    let server = Server::start(vec![shell("a", "echo 1"), shell("b", "echo 2"), says("ok"), says("more")]);
    let tack = Tack::new(&server);
    tack.run(["-p", "go"]).code(0);
    tack.run(["exec", "resume", "--last", "again"]).code(0);
    let requests = server.requests();
    for pair in requests.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|r| r.chat()["messages"].as_array().unwrap().clone());
        assert_eq!(before[..], after[..before.len()]);
        assert_eq!(pair[0].chat()["tools"], pair[1].chat()["tools"]);
    }
}

fn another_harness_goes_on_with_a_valid_history_both_ways() {
    for (first, second) in [("minimal", "swe-agent"), ("swe-agent", "minimal"), ("qwen-code", "pi")] {
        let go = |harness: &str| match harness {
            "swe-agent" => says("DISCUSSION\nLook.\n\n```\necho seen-it\n```"),
            "qwen-code" => calls("a", "run_shell_command", &json!({"command": "echo seen-it"})),
            _ => shell("a", "echo seen-it"),
        };
        let submit = || says("DISCUSSION\nDone.\n\n```\nsubmit\n```");
        let mut script = vec![go(first)];
        script.extend(if first == "swe-agent" { vec![submit(), submit()] } else { vec![says("first done")] });
        script.extend(if second == "swe-agent" {
            vec![submit(), submit()]
        } else {
            vec![says("second done")]
        });
        let server = Server::start(script);
        let tack = Tack::new(&server);
        tack.run(["-p", "one", "--harness", first]).code(0);
        tack.run(["exec", "resume", "--last", "--harness", second, "two"]).code(0);
        for request in server.requests() {
            valid_history(&request.chat()).unwrap_or_else(|error| panic!("{first} to {second}: {error}"));
        }
        let last = server.requests().pop().unwrap();
        assert!(last.chat()["messages"].to_string().contains("seen-it"), "{first} to {second}");
        // The messages API wants calls of the past declared also where none is offered.
        let offers = last.body["tools"].is_array() && last.body["tool_choice"]["type"] != "none";
        assert_eq!(offers, second != "swe-agent");
    }
}

// Limits and circles.

fn a_model_that_repeats_itself_is_told_and_then_stopped() {
    let server = Server::start((0..9).map(|n| shell(&format!("c{n}"), "echo same")).collect());
    let ran = Tack::new(&server).run(["exec", "--json", "x"]).code(3);
    assert_eq!(server.requests().len(), 5);
    assert_eq!(ran.events().pop().unwrap()["type"], "turn.failed");
    for request in server.requests() {
        valid_history(&request.chat()).unwrap();
    }
}

fn a_limit_of_requests_ends_the_turn_with_its_own_code() {
    let server = Server::start((0..9).map(|n| shell(&format!("c{n}"), &format!("echo {n}"))).collect());
    let tack = Tack::new(&server);
    let ran = tack.run(["-p", "x", "--max-turns", "2"]).code(3);
    assert_eq!(server.requests().len(), 2);
    assert!(ran.stderr.contains("--max-turns"), "{}", ran.stderr);
    tack.run(["exec", "resume", "--last", "go on", "--max-turns", "1"]).code(3);
    valid_history(&server.requests()[2].chat()).unwrap();
}

fn a_time_limit_ends_the_turn_while_a_command_runs() {
    let server = Server::start(vec![shell("a", "sleep 300")]);
    let ran = Tack::new(&server).run(["-p", "x", "--timeout", "1"]).code(3);
    assert!(ran.stderr.contains("time limit"), "{}", ran.stderr);
}

fn a_money_limit_needs_a_price_and_holds() {
    let server = Server::start(
        (0..9)
            .map(|n| {
                sse([
                    call(0, &format!("c{n}"), "bash", &format!("{{\"command\":\"echo {n}\"}}")),
                    end("tool_calls"),
                    usage(1_000_000, 0),
                    done(),
                ])
            })
            .collect(),
    );
    let hosted = Tack::bare();
    hosted.config("model = \"m\"\nmodel_provider = \"far\"\n[model_providers.far]\nbase_url = \"https://far.invalid/v1\"\n");
    let ran = hosted.run(["-p", "x", "--max-cost", "2"]).code(2);
    assert!(ran.stderr.contains("prices"), "{}", ran.stderr);
    let tack = Tack::new(&server);
    let path = tack.home().join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    tack.config(&format!("{text}\n[prices.\"mock/mock\"]\ninput = 1.5\noutput = 1.0\n"));
    tack.run(["-p", "x", "--max-cost", "2"]).code(3);
    assert_eq!(server.requests().len(), 2);
}

fn a_context_that_does_not_fit_is_summarised_once_and_the_work_goes_on() {
    let server = Server::with(
        vec![
            shell("a", "head -c 20000 /dev/zero | tr '\\0' x"),
            says("SUMMARY: looked at x"),
            says("all done"),
        ],
        |request| {
            let long = request.said().len() > 15_000;
            long.then(|| too_long(9000, 4096))
        },
    );
    let tack = Tack::new(&server);
    let ran = tack.run(["-p", "look at x"]).code(0);
    assert_eq!(ran.stdout, "all done\n");
    let last = server.requests().pop().unwrap();
    let text = last.chat()["messages"].to_string();
    assert!(text.contains("SUMMARY: looked at x") && text.contains("look at x"), "{text}");
    valid_history(&last.chat()).unwrap();
}

fn a_window_that_fills_up_after_every_summary_ends_the_turn() {
    // The model reads the same long file whatever it is told, and every summary is taken.
    let server = Server::with(vec![], |request| {
        let text = request.chat()["messages"].to_string();
        let sums_up = request.body["tools"].is_null() || request.body["tool_choice"]["type"] == "none";
        Some(match (text.len() > 15_000, sums_up) {
            (true, _) => json_body(
                400,
                &json!({"error": {"code": 400, "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}),
            ),
            (false, true) => says("SUMMARY"),
            (false, false) => shell("", "head -c 20000 /dev/zero | tr '\\0' x"),
        })
    });
    let ran = Tack::new(&server).run(["-p", "read it"]).code(1);
    assert!(ran.stderr.contains("too small"), "{}", ran.stderr);
    assert!(server.requests().len() < 30, "{} requests", server.requests().len());
}

fn a_small_local_window_is_said_and_gets_the_small_surface() {
    let server = Server::start(vec![says("ok"), says("ok"), says("ok")]);
    let tack = Tack::new(&server);
    let window = |tokens: &str| format!("model_context_window={tokens}");
    let ran = tack.run(["-p", "x", "--harness", "auto", "-c", &window("1000")]).code(0);
    assert!(ran.stderr.contains("has 1000 tokens"), "{}", ran.stderr);
    let ran = tack.run(["-p", "x", "--harness", "auto", "-c", &window("200000")]).code(0);
    assert!(!ran.stderr.contains("tokens, and harness"), "{}", ran.stderr);
    let insists = tack.run(["-p", "x", "--harness", "minimal", "-c", &window("1000")]).code(0);
    assert!(insists.stderr.contains("has 1000 tokens"), "{}", insists.stderr);
    let posts = server.requests().into_iter().filter(|request| request.method == "POST");
    // The first two are the probe's.
    let size: Vec<_> = posts.skip(2).map(|request| request.chat().to_string().len()).collect();
    assert!(size[0] < size[1] && size[2] > 0, "{size:?}");
}

fn a_prompt_that_can_never_fit_ends_the_run_with_the_servers_words() {
    let server = Server::with(vec![], |_| {
        Some(json_body(
            400,
            &json!({"error": {"code": 400, "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}),
        ))
    });
    let ran = Tack::new(&server).run(["-p", "x"]).code(1);
    assert!(ran.stderr.contains("4096"), "{}", ran.stderr);
    assert!(server.requests().len() <= 2);
}

// Output and input.

fn a_reader_that_goes_away_ends_the_run_quietly() {
    let mut frames: Vec<Frame> =
        (0..2_000).flat_map(|_| [txt("x"), Frame::Pause(std::time::Duration::from_millis(5))]).collect();
    frames.extend([end("stop"), done()]);
    let server = Server::start(vec![sse(frames)]);
    let tack = Tack::new(&server);
    let mut child = tack.command(["exec", "--json=full", "x"]).spawn().unwrap();
    let mut first = [0; 1_000];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let ran = finish(child, None);
    assert_eq!(ran.code, 141, "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    server.wait(|requests| requests[0].closed_early);
    assert_eq!(tack.logs().len(), 1);
}

#[test]
fn a_full_output_device_is_an_error_and_a_closed_stderr_is_none() {
    let server = Server::start(vec![says("one"), says("one")]);
    let tack = Tack::new(&server);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = finish(tack.command(["exec", "--json", "x"]).stdout(full).spawn().unwrap(), None);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let script = format!("exec '{}' -p x 2>&-", env!("CARGO_BIN_EXE_tack"));
    let mut sh = tack.command(["unused"]);
    let envs: Vec<_> = sh.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
    sh = std::process::Command::new("sh");
    sh.args(["-c", &script]).env_clear().envs(envs).current_dir(tack.work());
    sh.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(sh.spawn().unwrap(), None).code(0);
    // Whether the first run still asked before it noticed is open.
    assert_eq!(ran.stdout, "one\n");
}

fn a_silent_open_stdin_does_not_hold_up_a_run_with_a_prompt() {
    let server = Server::start(vec![says("ok"), says("ok"), says("ok"), says("ok")]);
    let tack = Tack::new(&server);
    // The pipe's writing end stays open in this process, and silent.
    let mut silent = tack.command(["exec", "say ok"]).stdin(Stdio::piped()).spawn().unwrap();
    let hold = silent.stdin.take();
    let ran = finish(silent, None).code(0);
    drop(hold);
    assert!(ran.stderr.contains("standard input"), "{}", ran.stderr);

    tack.run_with_stdin(["exec", "p"], "extra\n").code(0);
    tack.run_with_stdin(["exec", "-"], "from stdin\n").code(0);
    tack.run_with_stdin(["exec"], "from stdin too\n").code(0);
    let said: Vec<_> = server.requests().iter().map(last_text).collect();
    assert_eq!(said[0], "say ok");
    assert_eq!(said[1], "p\n\n<stdin>\nextra\n</stdin>");
    assert_eq!(said[2].trim_end(), "from stdin");
    assert_eq!(said[3].trim_end(), "from stdin too");
}

fn the_last_message_also_goes_where_it_is_asked_for() {
    let server = Server::start(vec![says("the end")]);
    let tack = Tack::new(&server);
    let ran = tack.run(["exec", "-o", "last.txt", "x"]).code(0);
    assert_eq!((ran.stdout.as_str(), tack.read("last.txt").as_str()), ("the end\n", "the end"));
}

fn an_ephemeral_run_leaves_no_session() {
    let server = Server::start(vec![shell("a", "echo hi"), says("ok")]);
    let tack = Tack::new(&server);
    let ran = tack.run(["exec", "--ephemeral", "x"]).code(0);
    assert!(tack.logs().is_empty());
    assert!(!ran.stderr.contains("resume"), "{}", ran.stderr);
}

fn images_go_along_and_a_model_that_takes_none_is_asked_again_without() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    let refuses = |request: &Request| request.has_image().then(no_images);
    let server = Server::with(vec![says("seen"), says("hi")], refuses);
    let tack = Tack::new(&server);
    tack.file("a, b.png", png);
    let ran = tack.run(["-p", "what is this?", "-i", "a, b.png"]).code(0);
    assert_eq!(ran.stdout, "seen\n");
    assert_eq!(ran.stderr.matches("images are left out").count(), 1, "{}", ran.stderr);
    let requests = server.requests();
    assert!(requests[0].has_image() && !requests[1].has_image());

    let sees = Server::start(vec![says("a dot")]);
    let tack = Tack::new(&sees);
    tack.file("dot.png", png);
    tack.run(["exec", "--image", "dot.png", "what?"]).code(0);
    assert!(sees.requests()[0].said().contains("data:image/png;base64,iVBOR"));
}

fn project_notes_reach_the_model_and_odd_files_do_not_stop_it() {
    let server = Server::start(vec![says("ok")]);
    let tack = Tack::new(&server);
    tack.file(".git/HEAD", "ref: refs/heads/main\n");
    tack.file("AGENTS.md", "root rule");
    tack.file("sub/CLAUDE.md", "sub rule");
    std::fs::create_dir_all(tack.work().join("sub/deep")).unwrap();
    let fifo = tack.work().join("sub/deep/AGENTS.md");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::os::unix::fs::symlink("loop", tack.work().join("sub/deep/loop")).unwrap();
    let ran = tack.run(["-p", "x", "-C", "sub/deep"]).code(0);
    let text = server.requests()[0].said();
    let at = |rule: &str| text.find(rule).unwrap_or_else(|| panic!("{rule} in {text}"));
    assert!(at("root rule") < at("sub rule"));
    assert!(ran.stderr.contains("AGENTS.md"), "{}", ran.stderr);
}

fn nothing_of_a_run_is_left_running() {
    // Nobody else sleeps as long.
    let sleep = format!("sleep 7{}", std::process::id());
    let command = format!("echo $PPID > ppid; {sleep}");
    let server = Server::start(vec![
        calls("a", "bash", &json!({"command": command, "background": true})),
        says("started"),
    ]);
    let tack = Tack::new(&server);
    let child = tack.command(["-p", "x"]).spawn().unwrap();
    let pid = child.id();
    finish(child, None).code(0);
    assert!(!alive(pid));
    let left = std::process::Command::new("pgrep").args(["-f", &format!("^{sleep}$")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}
