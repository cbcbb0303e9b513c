//! Proxies from the environment: used, and named without their password when they refuse.

use super::kit::Tack;
use super::server::*;

fn through(server: &Server, variable: &str, base_url: &str) -> Tack {
    let tack = Tack::bare();
    tack.config(&format!(
        "model = \"m\"\nmodel_provider = \"acme\"\nharness = \"minimal\"\n\
         [model_providers.acme]\nname = \"Acme\"\nbase_url = \"{base_url}\"\nrequest_max_retries = 0\n"
    ));
    let proxy = server.url().replace("http://", "http://user:pass-word-123@");
    tack.env(variable, proxy.trim_end_matches("/v1"))
}

#[test]
fn a_proxy_that_wants_a_password_is_named_by_its_variable() {
    let mut said = String::new();
    for (variable, base_url) in [
        ("HTTP_PROXY", "http://api.acme.example/v1"),
        ("HTTPS_PROXY", "https://api.acme.example/v1"),
        ("ALL_PROXY", "https://api.acme.example/v1"),
    ] {
        let server = Server::with(Vec::new(), |_| Some(text_body(407, "text/html", "<html>who are you?")));
        let ran = through(&server, variable, base_url).run(["-p", "hi"]);
        assert_ne!(ran.code, 0);
        assert!(!ran.stderr.contains("pass-word-123"), "{}", ran.stderr);
        let line = ran.stderr.lines().find(|line| line.contains("proxy")).unwrap_or(&ran.stderr);
        said += &format!("{variable}: {line}\n");
        assert_eq!(server.requests().len(), 1, "nothing is tried again");
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_proxy_is_used_with_its_name_and_password_but_not_for_this_machine() {
    let server = Server::start(vec![says("through")]);
    let ran = through(&server, "HTTP_PROXY", "http://api.acme.example/v1").run(["-p", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "through\n"), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests[0].path, "http://api.acme.example/v1/chat/completions");
    assert!(requests[0].header("proxy-authorization").unwrap().starts_with("Basic "));

    let local = Server::start(vec![says("straight")]);
    let proxy = Server::start(Vec::new());
    let ran = through(&proxy, "HTTP_PROXY", local.url()).run(["-p", "hi"]);
    assert_eq!(ran.stdout, "straight\n", "{}", ran.stderr);
    assert!(proxy.requests().is_empty());
}
