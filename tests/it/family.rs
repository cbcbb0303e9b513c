//! Which harness speaks for a model: what the person set, for whom, and what goes before what.

use crate::kit::Tack;
use crate::server::*;

/// A service of one's own, where nothing is known beforehand of a model.
fn tack(server: &Server, more: &str) -> Tack {
    let tack = Tack::bare();
    let url = server.url();
    tack.config(&format!(
        "model_provider = \"mock\"\n{more}\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{url}\"\n\
         wire_api = \"chat\"\n"
    ));
    tack
}

fn spoken(tack: &Tack) -> String {
    let log = std::fs::read_to_string(tack.logs().last().unwrap()).unwrap();
    let at = log.find("\"harness\":\"").unwrap() + 11;
    log[at..].split('"').next().unwrap().to_owned()
}

const FAMILY: &str = "[families.\"kimi-*\"]\nharness = \"pi\"\n";
const MODEL: &str = "[models.\"mock/kimi-k3\"]\nharness = \"opencode\"\n";

#[test]
fn the_closest_word_counts() {
    let server = Server::start((0..20).map(|_| says("hi")).collect());
    let closer = format!("{FAMILY}[families.\"kimi-k3*\"]\nharness = \"qwen-code\"\n");
    let all = |more: &str| format!("harness = \"native\"\n{more}");
    for (settings, flags, model, want) in [
        // What its manifest claims, where nobody says more.
        (String::new(), vec![], "kimi-k3", "kimi-code"),
        (FAMILY.to_owned(), vec![], "kimi-k3", "pi"),
        (FAMILY.to_owned(), vec!["--harness", "auto"], "kimi-k3", "pi"),
        // Whoever made it, the family is the same.
        (FAMILY.to_owned(), vec![], "moonshotai/Kimi-K2.5", "pi"),
        (FAMILY.to_owned(), vec![], "qwen3-coder", "qwen-code"),
        (closer.clone(), vec![], "kimi-k3", "qwen-code"),
        (closer, vec![], "kimi-k2", "pi"),
        (format!("{FAMILY}{MODEL}"), vec![], "kimi-k3", "opencode"),
        (format!("{FAMILY}{MODEL}"), vec!["--harness", "minimal"], "kimi-k3", "minimal"),
        // The word for all models is the weakest of the person's own.
        (all(FAMILY), vec![], "kimi-k3", "pi"),
        (all(FAMILY), vec![], "mock", "native"),
        // `auto` takes a word back.
        ("[families.\"kimi-*\"]\nharness = \"auto\"\n".to_owned(), vec![], "kimi-k3", "kimi-code"),
    ] {
        let tack = tack(&server, &settings);
        let run = ["-p", "hi", "--provider", "mock", "-m", model].into_iter().chain(flags.iter().copied());
        tack.run(run).code(0);
        assert_eq!(spoken(&tack), want, "{settings:?} {flags:?} {model}");
    }
}

#[test]
fn a_pattern_that_means_nothing_is_named() {
    let server = Server::start(vec![says("hi")]);
    let tack = tack(&server, "[families.\"[\"]\nharness = \"pi\"\n");
    let ran = tack.run(["-p", "hi", "-m", "kimi-k3"]).code(0);
    assert!(ran.stderr.contains("families: `[` is no pattern"), "{}", ran.stderr);
    assert_eq!(spoken(&tack), "kimi-code");
}

#[test]
fn a_default_for_a_family_takes_the_place_of_the_models_own() {
    let tack = Tack::bare();
    tack.config(&format!("# mine\n{MODEL}class = \"L\"\n"));
    let path = tack.home().join("config.toml");
    tack::config::keep_family(&path, ("kimi-*", "mock/kimi-k3"), "pi").unwrap();
    tack::config::keep_family(&path, ("kimi-*", "mock/kimi-k3"), "qwen-code").unwrap();
    insta::assert_snapshot!(std::fs::read_to_string(&path).unwrap());
}

#[test]
fn doctor_says_why_a_harness_was_chosen() {
    let server = Server::start(vec![]);
    for (settings, flags, want) in [
        (FAMILY, vec![], "pi, over the chat wire (your default for kimi-*)"),
        (MODEL, vec![], "opencode, over the chat wire (your default for this model)"),
        ("", vec![], "kimi-code, over the chat wire (auto: made for kimi*)"),
        ("", vec!["--harness", "pi"], "pi, over the chat wire (named for this session)"),
    ] {
        let tack = tack(&server, settings);
        let run = ["doctor", "-m", "kimi-k3"].into_iter().chain(flags);
        let ran = tack.run(run);
        assert!(ran.stdout.contains(want), "{settings}: {}", ran.stdout);
    }
}
