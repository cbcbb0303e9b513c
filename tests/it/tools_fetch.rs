//! Fetching pages: what is shown of them, and that the policy for commands is the policy for pages.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tack::model::{Action, FetchForm, Outcome, State};
use tack::sandbox::{Mode, Net};
use tack::tools::{Elsewhere, web_host};

use super::tools_kit::Bench;

/// Answers each connection by its request's path with raw bytes; remembers the requests.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    serving: Option<JoinHandle<()>>,
}

impl Site {
    fn new(answer: impl Fn(&str, u16) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = head(&mut stream);
                let Some(path) = request.split_whitespace().nth(1).map(str::to_owned) else { return };
                if path == "/stop" {
                    return;
                }
                seen.lock().unwrap().push(request);
                // The other side may have had enough.
                let _ = stream.write_all(&answer(&path, port));
                if path == "/slow" {
                    // Held open until the other side gives up.
                    let _ = stream.set_read_timeout(Some(std::time::Duration::from_secs(20)));
                    let _ = stream.read(&mut [0; 16]);
                }
            }
        });
        Self { port, asked, serving: Some(serving) }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.write_all(b"GET /stop HTTP/1.1\r\n\r\n");
        }
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

fn head(stream: &mut TcpStream) -> String {
    let (mut got, mut byte) = (Vec::new(), [0]);
    while !got.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
        got.push(byte[0]);
    }
    String::from_utf8_lossy(&got).into_owned()
}

fn ok(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn leads_to(place: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

fn fetch(url: impl Into<String>) -> Action {
    Action::Fetch { url: url.into(), form: FetchForm::Markdown, limit: None, timeout: None }
}

async fn gets(bench: &Bench, url: String) -> Outcome {
    bench.run(&fetch(url)).await
}

fn site() -> Site {
    Site::new(|path, port| match path {
        "/page" => ok(
            "text/html; charset=utf-8",
            b"<title>T</title><h1>Hi</h1><p>See <a href='next'>this</a>.<script>x</script>",
        ),
        "/old" => ok("text/html; charset=utf-8", b"<p>caf\xe9"),
        "/json" => ok("application/json", br#"{"a": 1}"#),
        "/image" => ok("image/png", b"\x89PNG\r\n\x1a\n\0\0"),
        "/blob" => ok("application/octet-stream", b"\0\x01\x02"),
        "/hop" => leads_to("/page"),
        "/loop" => leads_to("/loop"),
        "/far" => leads_to(&format!("/?{}", "x".repeat(60_000))),
        "/named" => ok(&format!("{0}/x; charset={0}", "x".repeat(30_000)), b"caf\xe9"),
        "/file" => leads_to("file:///etc/passwd"),
        "/user" => leads_to(&format!("http://me:secret@127.0.0.1:{port}/page")),
        "/huge" => ok("text/plain", &b"0123456789\n".repeat(900_000)),
        "/long" => ok("text/plain", &b"0123456789\n".repeat(9_000)),
        "/packed" => {
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b".to_vec()
        }
        "/short" => b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\nconnection: close\r\n\r\nhalf".to_vec(),
        "/slow" => b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf".to_vec(),
        "/empty" => ok("text/html", b""),
        _ => {
            b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 7\r\n\r\nno page".to_vec()
        }
    })
}

#[tokio::test]
async fn what_a_model_sees_of_pages() {
    let (bench, site) = (Bench::new(), site());
    let mut said = String::new();
    for path in [
        "/page", "/hop", "/old", "/json", "/image", "/blob", "/loop", "/file", "/user", "/packed", "/short",
        "/none", "/empty",
    ] {
        let outcome = gets(&bench, site.url(path)).await;
        let state = serde_json::to_value(outcome.state).unwrap();
        said +=
            &format!("{path}: {} {}\n{}\n\n", state.as_str().unwrap(), outcome.data["error"], outcome.text);
    }
    insta::assert_snapshot!(said.replace(&site.port.to_string(), "PORT"));
}

#[tokio::test]
async fn forms_and_facts() {
    let (bench, site) = (Bench::new(), site());
    let form = |form| Action::Fetch { url: site.url("/page"), form, limit: None, timeout: None };
    assert_eq!(bench.run(&form(FetchForm::Text)).await.text, "Hi\n\nSee this.");
    assert!(bench.run(&form(FetchForm::Raw)).await.text.contains("<script>"));
    let outcome = gets(&bench, site.url("/hop")).await;
    assert_eq!(outcome.data["title"], "T");
    assert_eq!(outcome.data["url"], site.url("/page"));
    assert_eq!(outcome.data["type"], "text/html");
}

#[tokio::test]
async fn nothing_of_the_person_goes_along() {
    let (bench, site) = (Bench::new(), site());
    gets(&bench, site.url("/hop")).await;
    for request in site.asked() {
        let mut names: Vec<&str> =
            request.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"], "{request}");
    }
}

#[tokio::test]
async fn long_pages_are_cut_and_kept_and_huge_ones_not_read_to_the_end() {
    let (bench, site) = (Bench::new(), site());
    let long = gets(&bench, site.url("/long")).await;
    let cut = long.cut.expect("a cut");
    assert!(long.text.len() < 17_000 && long.text.contains("left out; all of it: "));
    assert_eq!(std::fs::read(cut.spill.unwrap()).unwrap(), b"0123456789\n".repeat(9_000));
    let huge = gets(&bench, site.url("/huge")).await;
    assert_eq!((huge.state, &huge.data["more"]), (State::Ok, &true.into()));
    assert_eq!(huge.data["bytes"], 4 * 1024 * 1024);
    let little =
        Action::Fetch { url: site.url("/long"), form: FetchForm::Raw, limit: Some(22), timeout: None };
    let little = bench.run(&little).await;
    assert_eq!(
        little.text,
        "0123456789\n0123456789\n\n[the page goes on; the first 22 bytes of it were read]"
    );
}

// With threads of its own the runtime closes connections while the end of the test waits for the site.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_page_is_given_up_and_a_stop_is_obeyed() {
    let (bench, site) = (Bench::new(), site());
    let slow = Action::Fetch { url: site.url("/slow"), form: FetchForm::Raw, limit: None, timeout: Some(50) };
    assert_eq!(bench.run(&slow).await.state, State::TimedOut);
    // A site of its own: the first request may not have come as far as to be counted.
    let site = self::site();
    let cancel = bench.cancel.clone();
    let (outcome, ()) = tokio::join!(gets(&bench, site.url("/slow")), async {
        while site.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert_eq!(outcome.state, State::Interrupted);
}

#[tokio::test]
async fn with_the_network_off_for_commands_no_page_is_asked_for() {
    let site = site();
    for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
        let mut bench = Bench::new();
        bench.policy.mode = mode;
        bench.policy.net = Net::Off;
        for url in [
            site.url("/page"),
            site.url("/page").replace("127.0.0.1", "localhost"),
            "https://example.org".into(),
        ] {
            let outcome = gets(&bench, url.clone()).await;
            assert_eq!((outcome.state, &outcome.data["error"]), (State::Refused, &"denied".into()), "{url}");
            let words = "[sandbox] blocked: network (off for commands)\n[sandbox] only the user can lift this, with a flag of tack: -c sandbox_workspace_write.network_access=true or -s danger-full-access";
            assert!(outcome.text.ends_with(words), "{}", outcome.text);
        }
        bench.policy.net = Net::Full;
        assert_eq!(gets(&bench, site.url("/page")).await.state, State::Ok);
    }
    assert_eq!(site.asked().len(), 2);
}

#[tokio::test]
async fn a_server_cannot_fill_the_result_with_names() {
    let (bench, site) = (Bench::new(), site());
    let far = gets(&bench, site.url("/far")).await;
    assert_eq!((far.state, &far.data["error"]), (State::Failed, &"bad_url".into()), "{}", far.text.len());
    assert_eq!(site.asked().len(), 1);
    let named = gets(&bench, site.url("/named")).await;
    assert!(named.text.contains("[the page is in xxx") && named.text.len() < 1_000, "{}", named.text.len());
}

/// With the network on for commands, what is on this machine is reached as a command would reach it.
#[tokio::test]
async fn a_redirect_to_this_machine_goes_where_the_network_is_on() {
    let (bench, site, other) = (Bench::new(), site(), site());
    let place = other.url("/page").replace("127.0.0.1", "localhost");
    let leads = Site::new(move |_, _| leads_to(&place));
    assert_eq!(gets(&bench, leads.url("/")).await.data["status"], 200);
    assert_eq!((leads.asked().len(), other.asked().len(), site.asked().len()), (1, 1, 0));
}

/// Where only one host was allowed, another one has to be asked for by itself.
#[tokio::test]
async fn where_one_host_is_allowed_a_page_that_leads_elsewhere_is_told_and_not_followed() {
    let (mut bench, other) = (Bench::new(), site());
    bench.elsewhere = Elsewhere::Told;
    for place in [other.url("/page").replace("127.0.0.1", "localhost"), other.url("/page")] {
        let lead = place.clone();
        let leads = Site::new(move |_, _| leads_to(&lead));
        let outcome = gets(&bench, leads.url("/")).await;
        assert_eq!((outcome.state, &outcome.data["error"]), (State::Failed, &"elsewhere".into()));
        assert!(outcome.text.contains(&place), "{}", outcome.text);
    }
    assert_eq!(other.asked().len(), 0);
    // On the same host it is followed.
    let same = Site::new(|path, _| if path == "/" { leads_to("/there") } else { leads_to("/there/") });
    let outcome = gets(&bench, same.url("/")).await;
    assert_eq!(outcome.data["error"], "redirects", "{}", outcome.text);
}

#[test]
fn the_host_is_the_one_that_is_asked() {
    for (url, want) in [
        ("https://docs.example/guide?x=http://b.example/", Some("docs.example")),
        ("http:/evil.example/?://good.example/", Some("evil.example")),
        ("https:\\\\evil.example\\x://good", Some("evil.example")),
        ("https://e\tvil.example/", Some("evil.example")),
        ("HTTPS://Good.Example:443/", Some("good.example")),
        ("https://good.example:8443/", Some("good.example:8443")),
        ("good.example/page", Some("good.example")),
        ("https://good.example@evil.example/", Some("evil.example")),
        ("", None),
        ("http://", None),
    ] {
        assert_eq!(web_host(url).as_deref(), want, "{url}");
    }
}

#[tokio::test]
async fn only_web_addresses_are_fetched() {
    let bench = Bench::new();
    for url in [
        "file:///etc/passwd",
        "ftp://example.org/x",
        "",
        "http://",
        "https://me:pw@example.org",
        "data:text/plain,hi",
    ] {
        let outcome = gets(&bench, url.to_owned()).await;
        assert_eq!((outcome.state, &outcome.data["error"]), (State::Failed, &"bad_url".into()), "{url}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = gets(&bench, format!("http://{closed}/")).await;
    assert_eq!(outcome.data["error"], "unreachable", "{}", outcome.text);
}
