//! What somebody tries first who comes from another agent, or has just written a file of settings.

use tack::config::{self, Config, Inputs, Override};

use super::kit::Tack;
use super::server::*;

/// `model` and `model_provider` of a file, and `-m`.
fn chosen(file: &str, flag: &str) -> String {
    let tack = Tack::bare();
    let own =
        "[model_providers.acme]\nbase_url = \"http://a\"\n[model_providers.other]\nbase_url = \"http://o\"\n";
    tack.config(&format!("{file}\n{own}"));
    let dirs = config::Dirs::find(&[("TACK_HOME", tack.home())].into_iter().collect());
    let flags = if flag.is_empty() { vec![] } else { vec![Override::text("model", flag)] };
    let config: Config = config::load(Inputs { dirs, overrides: flags, ..Inputs::default() }).unwrap().config;
    let choice = config::choose(&config, &config::known(&config), |_, _| None).unwrap();
    format!("{} {}", choice.provider, choice.model)
}

#[test]
fn a_provider_in_the_flag_wins_over_the_one_in_the_file() {
    let table = [
        ("model_provider = \"acme\"", "ollama/qwen3:4b", "ollama qwen3:4b"),
        ("model_provider = \"acme\"\nmodel = \"coder\"", "other/x", "other x"),
        ("model_provider = \"acme\"\nmodel = \"coder\"", "anthropic/claude", "anthropic claude"),
        ("model_provider = \"acme\"", "maker/coder", "acme maker/coder"),
        ("model_provider = \"acme\"", "acme/coder", "acme coder"),
        // One file says both: a gateway's models may be called so.
        ("model_provider = \"acme\"\nmodel = \"anthropic/claude\"", "", "acme anthropic/claude"),
        // A router's models are called after their makers, and no maker is called after a server.
        ("model_provider = \"openrouter\"", "anthropic/claude", "openrouter anthropic/claude"),
        ("model_provider = \"lmstudio\"", "openai/gpt-oss-20b", "lmstudio openai/gpt-oss-20b"),
        ("model_provider = \"openrouter\"", "ollama/qwen3:4b", "ollama qwen3:4b"),
        ("model_provider = \"openrouter\"", "other/x", "other x"),
        ("model_provider = \"ollama\"", "openai/gpt-5.5", "openai gpt-5.5"),
    ];
    for (file, flag, want) in table {
        assert_eq!(chosen(file, flag), want, "{file}, -m {flag}");
    }
}

#[test]
fn a_session_goes_on_with_the_model_it_had() {
    let server = Server::start(vec![says("one"), says("two"), says("three"), says("four")]);
    let tack = Tack::bare();
    let own = format!("[model_providers.mine]\nbase_url = \"{}\"\n", server.url());
    tack.config(&own);
    tack.run(["-p", "hi", "-m", "mine/coder", "--harness", "pi"]).code(0);
    // As the line at the end of the first run has it.
    tack.run(["exec", "resume", &tack.session_id(), "on"]).code(0);
    tack.config(&format!("model = \"mine/other\"\n{own}[models.\"mine/other\"]\nharness = \"minimal\"\n"));
    tack.run(["exec", "resume", "--last", "on"]).code(0);
    tack.run(["exec", "resume", "--last", "on", "-m", "mine/other"]).code(0);
    let models: Vec<_> = server.requests().iter().map(|request| request.chat()["model"].clone()).collect();
    assert_eq!(models, ["coder", "coder", "coder", "other"]);
    let tools = |n: usize| server.requests()[n].chat()["tools"].clone();
    assert_eq!((tools(1), tools(2)), (tools(0), tools(0)), "the harness it had, too");
    assert_ne!(tools(3), tools(0));
}

#[test]
fn the_addresses_that_vendors_clients_read_count_below_the_file() {
    let server = Server::start(vec![says("here"), says("here")]);
    let base = format!("{}/v1", server.url());
    let tack = Tack::bare().env("OPENAI_BASE_URL", &base).env("OPENAI_API_KEY", "sk-openai");
    let run = ["-p", "hi", "-m", "openai/gpt-5.5", "-c", "model_providers.openai.wire_api=chat"];
    assert_eq!(tack.run(run).code(0).stdout, "here\n");
    tack.config("openai_base_url = \"http://127.0.0.1:1/v1\"\n");
    let elsewhere = tack.run(run).code(1);
    assert!(elsewhere.stderr.contains("nothing listens at http://127.0.0.1:1/v1"), "{}", elsewhere.stderr);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn what_others_call_differently_is_said() {
    let tack = Tack::bare();
    let mut said = String::new();
    for args in [
        &["exec", "--full-auto", "hi"][..],
        &["-p", "hi", "--dangerously-skip-permissions"],
        &["-p", "hi", "--output-format", "json"],
        &["--continue"],
        &["run", "hi"],
        &["logout"],
        &["-p", "hi", "--provider", "groq"],
        &["-p", "hi", "-m", "claude-sonnet-4-6"],
        &["-p", "hi", "-m", "qwen3-coder:30b"],
        &["-p", "hi", "-m", "gpt-5.5"],
    ] {
        said += &format!("$ tack {}\n{}\n", args.join(" "), tack.run(args).code(2).stderr);
    }
    insta::assert_snapshot!(said);
}

#[test]
fn what_a_proxy_on_this_machine_costs_is_not_made_up() {
    let cost = |keys: &str, env: (&str, &str)| {
        let server = Server::start(vec![says("done")]);
        let tack = Tack::bare().env(env.0, env.1);
        tack.config(&format!("[model_providers.mine]\nbase_url = \"{}\"\n{keys}", server.url()));
        let ran = tack.run(["-p", "hi", "--json", "-m", "mine/coder"]).code(0);
        ran.events().pop().unwrap().get("cost_usd").cloned()
    };
    assert_eq!(cost("", ("A", "b")), Some(serde_json::json!(0.0)), "a server of one's own");
    assert_eq!(cost("env_key = \"MINE_KEY\"\n", ("MINE_KEY", "k")), None);
}
