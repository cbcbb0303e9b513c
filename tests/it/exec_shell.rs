//! How a harness has commands run, through a whole turn of the program.

use crate::kit::Tack;
use crate::server::*;

fn does(command: &str) -> Reply {
    says(&format!("DISCUSSION\nNext.\n\n```\n{command}\n```"))
}

#[test]
fn one_shell_lasts_and_what_would_wait_or_does_not_parse_is_answered() {
    let commands = [
        "cd sub && export WHO=me",
        "echo \"$WHO in ${PWD##*/}, pager $GIT_PAGER\"",
        "vim file",
        "python3",
        "echo 'open",
        "true",
        "submit",
        "submit",
    ];
    let server = Server::start(commands.map(does).to_vec());
    let tack = Tack::new(&server);
    tack.file("sub/file", "");
    tack.run(["-p", "go", "--harness", "swe-agent", "--yolo"]).code(0);
    let last =
        |at: usize| server.requests()[at].chat()["messages"].as_array().unwrap().last().unwrap().clone();
    let told: Vec<String> =
        (1..commands.len()).map(|at| last(at)["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(told[0], "The command ran and printed nothing.");
    assert_eq!(told[1], "OBSERVATION:\nme in sub, pager cat");
    assert!(told[2].starts_with("OBSERVATION:\nThe command 'vim file' cannot be used here"), "{}", told[2]);
    assert!(told[3].starts_with("OBSERVATION:\nThe command 'python3' cannot be used here"), "{}", told[3]);
    assert!(told[4].starts_with("OBSERVATION:\nNothing was run, for the command has a syntax error:\n"));
    assert!(told[6].contains("<diff>"), "{}", told[6]);
}

#[test]
fn commands_that_all_take_too_long_end_the_turn() {
    let shell = |id: &str, command: &str| calls(id, "bash", &serde_json::json!({ "command": command }));
    let server = Server::start(vec![shell("a", "sleep 60"), shell("b", "sleep 61"), says("never asked for")]);
    let tack = Tack::new(&server);
    tack.harness("slow", "[timeouts]\nshell = 1\n[loop]\ntimeouts = 2\n");
    let ran = tack.run(["exec", "--json", "--yolo", "--harness", "slow", "go"]);
    assert_eq!(server.requests().len(), 2);
    assert!(ran.stdout.contains("2 commands in a row ran into their time limit"), "{}", ran.stdout);
}
