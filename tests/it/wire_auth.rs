//! Keys that a command prints, and keys that cannot be sent.

use std::path::Path;
use std::time::Duration;

use tack::wire::client::HttpClient;
use tack::wire::prompt::{Message, Prompt, Role};
use tack::wire::provider::{Auth, Provider};
use tack::wire::{Client, Failure};
use tokio_util::sync::CancellationToken;

use super::kit::Tack;
use super::server::*;
use super::wire_encode::model;

/// A client whose key is printed by this shell script, run in `dir`.
fn client(server: &Server, dir: &Path, script: &str, refresh: Option<u64>) -> HttpClient {
    let auth = Auth {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        refresh: refresh.map(Duration::from_secs),
        timeout: Duration::from_secs(20),
        cwd: Some(dir.to_owned()),
    };
    let plain = Provider::new("acme", server.url());
    HttpClient::new(Provider { auth: Some(auth), needs_key: true, request_retries: 0, ..plain }).unwrap()
}

async fn ask(client: &HttpClient) -> Result<(), Failure> {
    let prompt = Prompt { messages: vec![Message::text(Role::User, "hi")], ..Prompt::default() };
    client.ask(&model(), &prompt, &mut |_| {}, &CancellationToken::new()).await.map(drop)
}

/// Prints another key at each run, with white space around it.
const COUNTING: &str = "echo x >> runs; printf ' \\n key-%s \\n' \"$(wc -l < runs | tr -d ' ')\"";

fn keys(server: &Server) -> Vec<String> {
    let requests = server.requests();
    requests.iter().map(|r| r.header("authorization").unwrap_or("none").to_owned()).collect()
}

fn runs(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("runs")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_key_is_fetched_with_the_first_request_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new());
    let client = client(&server, dir.path(), COUNTING, Some(3600));
    assert_eq!(runs(dir.path()), 0);
    ask(&client).await.unwrap();
    ask(&client).await.unwrap();
    assert_eq!(keys(&server), ["Bearer key-1", "Bearer key-1"]);
}

#[tokio::test]
async fn a_key_that_is_too_old_is_fetched_anew() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new());
    let client = client(&server, dir.path(), COUNTING, Some(0));
    ask(&client).await.unwrap();
    ask(&client).await.unwrap();
    assert_eq!(keys(&server), ["Bearer key-1", "Bearer key-2"]);
}

#[tokio::test]
async fn a_refused_key_is_fetched_anew_once() {
    let dir = tempfile::tempdir().unwrap();
    let server =
        Server::start(vec![error(401, "expired"), says("ok"), error(401, "no"), error(401, "never")]);
    let client = client(&server, dir.path(), COUNTING, None);
    ask(&client).await.unwrap();
    assert_eq!(keys(&server), ["Bearer key-1", "Bearer key-2"]);
    let failure = ask(&client).await.unwrap_err().to_string();
    assert_eq!(keys(&server)[2..], ["Bearer key-2", "Bearer key-3"]);
    assert!(failure.contains("never") && failure.contains("check the output of sh"), "{failure}");
    assert!(!failure.contains("key-3"), "{failure}");
}

#[tokio::test]
async fn a_command_that_fails_is_named_and_its_output_never() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new());
    let cases = [
        ("echo secret-123; echo first >&2; echo 'the vault is locked' >&2; exit 3", "the vault is locked"),
        ("echo secret-123; exit 4", "exit status: 4"),
        ("printf '  \\n'", "it printed nothing"),
        ("printf '\\377secret-123'", "not UTF-8"),
        ("printf 'secret\\n-123'", "cannot be sent, such as a line break"),
        (
            "echo secret-123; echo 'secret-123 has expired' >&2; exit 3",
            "exit status: 3: [secret] has expired",
        ),
        ("head -c 5000000 /dev/zero | tr '\\0' x", "it printed more than 64 KB"),
    ];
    for (script, expected) in cases {
        let failure = ask(&client(&server, dir.path(), script, None)).await.unwrap_err().to_string();
        assert!(failure.contains(expected) && failure.contains("sh"), "{script}: {failure}");
        assert!(!failure.contains("secret-123") && !failure.contains("first"), "{failure}");
    }
    assert!(server.requests().is_empty(), "nothing is sent without a key");
}

#[tokio::test]
async fn a_key_is_there_when_its_command_has_ended_whatever_goes_on_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new());
    let script = "sleep 600 & echo $! > pid; printf '\\357\\273\\277key-1'";
    let answer = ask(&client(&server, dir.path(), script, None)).await;
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    answer.unwrap();
    assert_eq!(keys(&server), ["Bearer key-1"]);
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new());
    let mut provider =
        client(&server, dir.path(), "sleep 600 & echo $! > pid; wait", None).provider().clone();
    provider.auth.as_mut().unwrap().timeout = Duration::from_millis(300);
    let failure = ask(&HttpClient::new(provider).unwrap()).await.unwrap_err().to_string();
    assert!(failure.contains("no key within 0.3 s"), "{failure}");
    if let Ok(pid) = std::fs::read_to_string(dir.path().join("pid")) {
        let pid: u32 = pid.trim().parse().unwrap();
        super::kit::wait_for("the end of the command's child", || !super::kit::alive(pid));
    }
}

#[tokio::test]
async fn a_key_is_taken_from_a_command_that_leaves_something_running() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new());
    let mut provider =
        client(&server, dir.path(), "sleep 600 & echo $! > pid; echo key-1", None).provider().clone();
    provider.auth.as_mut().unwrap().timeout = Duration::from_secs(10);
    let asked = ask(&HttpClient::new(provider).unwrap()).await;
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    asked.unwrap();
    assert_eq!(keys(&server), ["Bearer key-1"]);
}

#[test]
fn the_configuration_names_the_command() {
    let server = Server::start(vec![says("in")]);
    let tack = Tack::bare();
    let set = |auth: &str| {
        tack.config(&format!(
            "model = \"m\"\nmodel_provider = \"acme\"\nharness = \"minimal\"\n\
             [model_providers.acme]\nbase_url = \"{}\"\n{auth}\n",
            server.url()
        ));
    };
    set("auth = { command = \"printf\", args = [\" from-%s \", \"config\"], refresh_interval_ms = 0 }");
    let ran = tack.run(["-p", "hi"]).code(0);
    assert_eq!((ran.stdout.as_str(), keys(&server)), ("in\n", vec!["Bearer from-config".to_owned()]));

    set("auth = { command = \"/nowhere/vault\" }");
    let ran = tack.run(["-p", "hi"]).code(1);
    assert!(ran.stderr.contains("the key command of provider acme failed: /nowhere/vault"), "{}", ran.stderr);
    for wrong in ["auth = { args = [] }", "env_key = \"X\"\nauth = { command = \"true\" }"] {
        set(wrong);
        let ran = tack.run(["-p", "hi"]).code(2);
        assert!(ran.stderr.contains("acme") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
}

#[test]
fn a_key_with_a_line_break_is_named_by_its_variable_before_anything_is_sent() {
    let server = Server::start(Vec::new());
    let base = format!("openai_base_url=\"{}\"", server.url());
    for variable in ["OPENAI_API_KEY", "CODEX_API_KEY"] {
        let tack = Tack::bare().env(variable, "sk-secret\nsecond");
        let ran = tack.run(["-p", "hi", "-m", "openai/gpt-5", "-c", &base]).code(2);
        assert!(ran.stderr.contains(variable) && ran.stderr.contains("line break"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("sk-secret"), "{}", ran.stderr);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_program_made_for_codex_may_name_no_model() {
    let server = Server::start(vec![says("usual")]);
    let base = format!("openai_base_url=\"{}\"", server.url());
    let chat = "model_providers.openai.wire_api=chat";
    let tack = Tack::bare().env("CODEX_API_KEY", "sk-codex");
    let ran = tack.run(["-p", "hi", "-c", &base, "-c", chat]).code(0);
    assert_eq!(ran.stdout, "usual\n");
    let requests = server.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-codex"));
    assert_eq!(requests[0].body["model"], "gpt-5.6-sol");
}
