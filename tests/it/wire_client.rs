//! The client against a scripted server: retries, limits, cancelling, hostile replies.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tack::model::{Model, Stop, WireKind};
use tack::wire::client::{HttpClient, Sleep};
use tack::wire::prompt::{Message, Prompt, Role};
use tack::wire::provider::{Provider, Secret};
use tack::wire::{Answer, AnswerPart, Client, Failure, Progress};
use tokio_util::sync::CancellationToken;

use super::kit::{on_every_wire, wire};
use super::server::*;
use super::wire_encode::model;

on_every_wire! {
    async: asks_and_hears_the_reply,
    text_cut_at_every_byte_arrives_whole,
    a_missing_end_mark_is_no_failure,
    a_broken_stream_is_asked_for_again,
    a_stream_cut_after_any_event_is_asked_for_again,
    odd_streams_give_the_same_reply,
    half_a_call_is_never_handed_out,
    a_short_limit_is_waited_for,
    a_long_limit_is_a_stop_that_says_when,
    mistakes_are_not_repeated,
    passing_troubles_are_waited_out_with_growing_gaps,
    a_connection_that_closes_without_a_word_is_tried_again,
    silence_before_the_first_byte_is_tried_again_only_elsewhere,
    a_limit_that_stays_says_when_to_come_back,
    a_loading_server_is_polled_without_spending_tries,
    silence_ends_at_every_stage,
    any_byte_keeps_a_slow_stream_alive,
    hostile_replies_end_in_a_sentence,
    cancelling_between_attempts_stops_the_wait,
    headers_and_queries_of_the_config_are_sent,
}

const KEY: &str = "sk-test-0123456789";

fn provider(url: &str) -> Provider {
    Provider {
        key: Some(Secret::new(KEY)),
        env_key: Some("TEST_API_KEY".into()),
        ..Provider::new("test", url)
    }
}

/// On the wire of the test.
fn asked() -> Model {
    Model { wire: wire(), ..model() }
}

fn prompt() -> Prompt {
    Prompt { messages: vec![Message::text(Role::User, "hi")], stream: true, ..Prompt::default() }
}

/// What came of one request, and what was heard and waited meanwhile.
struct Run {
    answer: Result<Answer, Failure>,
    heard: Vec<Progress>,
    waits: Vec<Duration>,
}

impl Run {
    fn text(&self) -> String {
        let parts = &self.answer.as_ref().unwrap().parts;
        parts
            .iter()
            .filter_map(|p| if let AnswerPart::Text(t) = p { Some(t.as_str()) } else { None })
            .collect()
    }

    fn error(&self) -> String {
        self.answer.as_ref().unwrap_err().to_string()
    }

    fn again(&self) -> usize {
        self.heard.iter().filter(|p| matches!(p, Progress::Again { .. })).count()
    }
}

/// Asks once; waits between attempts take no time but are noted.
async fn ask(provider: Provider) -> Run {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let noted = waits.clone();
    let sleep: Sleep = Arc::new(move |time| {
        noted.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    });
    let client = HttpClient::new(provider).unwrap().with_sleep(sleep);
    let mut heard = Vec::new();
    let mut hear = |progress| heard.push(progress);
    let answer = client.ask(&asked(), &prompt(), &mut hear, &CancellationToken::new()).await;
    let waits = waits.lock().unwrap().clone();
    Run { answer, heard, waits }
}

/// Runs the script against default settings.
async fn run(script: Vec<Reply>) -> (Run, Server) {
    let server = Server::start(script);
    (ask(provider(server.url())).await, server)
}

/// A provider that gives up soon and at once.
fn hasty(url: &str) -> Provider {
    let soon = Duration::from_millis(100);
    Provider {
        request_retries: 0,
        stream_retries: 0,
        first_byte_timeout: soon,
        idle_timeout: soon,
        ..provider(url)
    }
}

async fn asks_and_hears_the_reply() {
    let reply = sse([txt("hel"), txt("lo"), end("stop"), usage(11, 2), done()]);
    let (run, server) = run(vec![reply]).await;
    assert_eq!(run.text(), "hello");
    let answer = run.answer.unwrap();
    assert_eq!(
        (answer.stop, answer.usage.input, answer.usage.output, answer.requests),
        (Stop::Done, 11, 2, 1)
    );
    assert_eq!(run.heard, [Progress::Text("hel".into()), Progress::Text("lo".into())]);
    let requests = server.requests();
    let request = &requests[0];
    let path = match wire() {
        WireKind::Chat => "/v1/chat/completions",
        WireKind::Responses => "/v1/responses",
        WireKind::Messages => "/v1/messages",
    };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(request.header("user-agent").unwrap().starts_with("tack/"));
    assert_eq!(request.body["model"], "acme-coder");
    assert_eq!(request.body["stream"], true);
    assert_eq!(request.body["stream_options"]["include_usage"] == true, wire() == WireKind::Chat);
    assert_eq!(request.header("anthropic-version").is_some(), wire() == WireKind::Messages);
}

/// G01: characters cut between network reads.
async fn text_cut_at_every_byte_arrives_whole() {
    let text = "修复方法 👩‍💻 naïve";
    let args = json!({"path": "a.txt", "text": "修👩‍💻"}).to_string();
    let reply = sse([txt(text), call(0, "a", "write", &args), end("tool_calls"), done()]).flush(1);
    let (run, _server) = run(vec![reply]).await;
    assert_eq!(run.text(), text);
    let called = AnswerPart::Call { id: Some("a".into()), name: "write".into(), args };
    assert_eq!(run.answer.unwrap().parts[1], called);
}

/// G04 a: the finish reason was there, only the end mark is missing.
async fn a_missing_end_mark_is_no_failure() {
    let (run, server) = run(vec![sse([txt("hi"), end("stop")])]).await;
    assert_eq!((run.text().as_str(), server.requests().len(), run.again()), ("hi", 1, 0));
}

/// G04 b: what was heard before is void, and not in the answer.
async fn a_broken_stream_is_asked_for_again() {
    for broken in [sse([txt("par")]), sse([txt("par"), Frame::Cut])] {
        let (run, server) = run(vec![broken, says("all of it")]).await;
        assert_eq!((run.text().as_str(), server.requests().len()), ("all of it", 2));
        assert_eq!(run.answer.as_ref().unwrap().requests, 2);
        assert_eq!(run.heard[0], Progress::Text("par".into()));
        assert!(matches!(run.heard[1], Progress::Again { attempt: 1, of: 5, .. }), "{:?}", run.heard[1]);
    }
}

/// After every frame but the last two the connection breaks: nothing of what came before is kept.
async fn a_stream_cut_after_any_event_is_asked_for_again() {
    let whole = || {
        let more =
            |text: &str| delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}));
        vec![
            thought("hm"),
            thought(" hm"),
            txt("I "),
            txt("look."),
            call(0, "a", "bash", "{\"command\":"),
            more("\"ls\"}"),
            call(1, "b", "bash", "{}"),
            end("tool_calls"),
            done(),
        ]
    };
    let parts = |run: &Run| {
        let parts = run.answer.as_ref().unwrap().parts.iter();
        // Each reply is sealed anew where reasoning is.
        parts.filter(|part| !matches!(part, AnswerPart::Thinking { .. })).cloned().collect::<Vec<_>>()
    };
    let (complete, _server) = run(vec![sse(whole())]).await;
    assert_eq!(parts(&complete).len(), 3);
    for kept in 0..whole().len() - 2 {
        let cut = whole().into_iter().take(kept).chain([Frame::Cut]);
        let (run, server) = run(vec![sse(cut), sse(whole())]).await;
        assert_eq!((server.requests().len(), run.again()), (2, 1), "{kept} frames");
        assert_eq!(parts(&run), parts(&complete), "{kept} frames");
    }
}

/// What is no part of the API, or comes in between, changes nothing.
async fn odd_streams_give_the_same_reply() {
    let frames = [txt("hel"), txt("lo"), end("stop"), usage(11, 2), done()];
    let noise = [
        raw(": still here\n\n"),
        raw("event: something.new\ndata: {\"type\":\"something.new\",\"x\":[1]}\n\n"),
        raw("garbage without a field\n\n"),
        raw("id: 7\nretry: 10\n\n"),
        raw("\r\n\r\n"),
    ];
    for odd in noise {
        let mixed = frames.iter().flat_map(|frame| [odd.clone(), frame.clone()]);
        for flush in [0, 1, 7] {
            let (run, server) = run(vec![sse(mixed.clone()).flush(flush)]).await;
            assert_eq!((run.text().as_str(), server.requests().len()), ("hello", 1), "{odd:?}");
            assert_eq!(run.answer.unwrap().usage.input, 11, "{odd:?}");
        }
    }
    let marked = [raw(b"\xef\xbb\xbf")].into_iter().chain(frames);
    assert_eq!(run(vec![sse(marked)]).await.0.text(), "hello");
}

/// G04 c: half a call is never handed out, and the trying ends.
async fn half_a_call_is_never_handed_out() {
    let half = || sse([txt("I will"), call(0, "a", "bash", "{\"command\":\"touch BAD")]);
    let (run, server) = run((0..20).map(|_| half()).collect()).await;
    let Err(Failure::Failed { message, partial, .. }) = &run.answer else { panic!("{:?}", run.answer) };
    assert_eq!(partial, "I will");
    assert!(message.contains("before a finish reason (after 6 requests)"), "{message}");
    assert_eq!((server.requests().len(), run.again()), (6, 5));
}

/// G16 a, c: the server's wait is a lower bound.
async fn a_short_limit_is_waited_for() {
    let soon = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(5));
    for (name, value, least) in
        [("retry-after", "2", 2.0), ("retry-after-ms", "1500", 1.5), ("retry-after", soon.as_str(), 2.0)]
    {
        let (run, server) = run(vec![error(429, "slow down").header(name, value)]).await;
        assert_eq!((run.text().as_str(), server.requests().len()), ("ok", 2), "{name}");
        assert!(run.waits[0] >= Duration::from_secs_f64(least), "{name}: {:?}", run.waits);
    }
}

/// G16 b: hours are not waited for.
async fn a_long_limit_is_a_stop_that_says_when() {
    let (run, server) = run(vec![error(429, "slow down").header("retry-after", "11180")]).await;
    let Err(Failure::Limited { message, retry_at: Some(_), .. }) = &run.answer else {
        panic!("{:?}", run.answer)
    };
    assert!(message.contains("slow down; it resets at 2"), "{message}");
    assert_eq!((server.requests().len(), run.waits.len()), (1, 0));
}

/// G16 d: what another try cannot change gets none.
async fn mistakes_are_not_repeated() {
    for status in [400, 401, 402, 403, 404, 405, 422] {
        let (run, server) = run(vec![error(status, "no, says the server")]).await;
        assert!(run.error().contains("no, says the server"), "{}", run.error());
        assert_eq!(server.requests().len(), 1, "{status}");
    }
    let quota = json_body(429, &json!({"error": {"message": "no money", "code": "insufficient_quota"}}));
    let (run, server) = run(vec![quota]).await;
    assert!(matches!(run.answer, Err(Failure::Limited { retry_at: None, .. })));
    assert_eq!(server.requests().len(), 1);
}

/// G16 e: gaps grow.
async fn passing_troubles_are_waited_out_with_growing_gaps() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        let (run, server) = run((0..3).map(|_| error(status, "busy")).collect()).await;
        assert_eq!((run.text().as_str(), server.requests().len()), ("ok", 4), "{status}");
        assert!(run.waits.is_sorted_by(|a, b| a < b), "{:?}", run.waits);
    }
    let (run, server) = run((0..20).map(|_| error(503, "busy")).collect()).await;
    assert!(run.error().contains("busy (after 5 requests)"), "{}", run.error());
    assert_eq!(server.requests().len(), 5);
}

async fn a_connection_that_closes_without_a_word_is_tried_again() {
    let (run, server) = run(vec![hangs_up(), hangs_up()]).await;
    assert_eq!((run.text().as_str(), server.requests().len()), ("ok", 3));
    assert!(matches!(run.heard[0], Progress::Again { attempt: 1, of: 4, .. }), "{:?}", run.heard[0]);
}

/// A hosted service may have lost the request; a slow machine would only start anew.
async fn silence_before_the_first_byte_is_tried_again_only_elsewhere() {
    for (local, requests) in [(true, 1), (false, 3)] {
        let server = Server::start((0..9).map(|_| silent()).collect());
        let run = ask(Provider { local, request_retries: 2, ..hasty(server.url()) }).await;
        assert!(run.error().contains("sent nothing"), "{}", run.error());
        assert_eq!(server.requests().len(), requests);
    }
}

async fn a_limit_that_stays_says_when_to_come_back() {
    let (run, _server) =
        run((0..9).map(|_| error(429, "slow down").header("retry-after", "60")).collect()).await;
    assert!(matches!(run.answer, Err(Failure::Limited { retry_at: Some(_), .. })), "{:?}", run.answer);
    assert_eq!(run.waits, [Duration::from_secs(60); 4]);
}

async fn a_loading_server_is_polled_without_spending_tries() {
    let server = Server::start((0..8).map(|_| error(503, "Loading model")).collect());
    let provider = Provider { request_retries: 0, ..provider(server.url()) };
    let first = ask(provider.clone()).await;
    assert_eq!((first.text().as_str(), first.waits.len(), first.again()), ("ok", 8, 0));
    assert_eq!(first.heard[0], Progress::Waiting("test is loading the model".into()));
    // But not for ever.
    let server = Server::with(vec![], |_| Some(error(503, "Loading model")));
    let provider =
        Provider { first_byte_timeout: Duration::from_secs(4), base_url: server.url().into(), ..provider };
    assert!(ask(provider).await.error().contains("Loading model"));
    assert_eq!(server.requests().len(), 5);
}

async fn silence_ends_at_every_stage() {
    let said = "a reply";
    for (what, reply, expected) in [
        ("no headers", silent(), "sent nothing for 0.1 s"),
        ("no body", sse([Frame::Hang]), "sent nothing for 0.1 s"),
        ("only white space", sse([raw("\n\n"), Frame::Hang]), "went silent"),
        ("in the middle", sse([txt(said), Frame::Hang]), "went silent"),
        ("in a line", sse([raw("data: {\"cho"), Frame::Hang]), "went silent"),
        ("in an error", sse([raw("{\"error\":"), Frame::Hang]), "went silent"),
    ] {
        let server = Server::start(vec![reply]);
        let run = ask(hasty(server.url())).await;
        assert!(run.error().contains(expected), "{what}: {}", run.error());
        assert_eq!(server.requests().len(), 1, "{what}");
    }
    for complete in
        [sse([txt(said), end("stop"), Frame::Hang]), sse([txt(said), end("stop"), done(), Frame::Hang])]
    {
        let server = Server::start(vec![complete]);
        assert_eq!(ask(hasty(server.url())).await.text(), said);
    }
}

async fn any_byte_keeps_a_slow_stream_alive() {
    let tick = || [raw(": still here\n\n"), Frame::Pause(Duration::from_millis(300))];
    let frames = (0..4).flat_map(|_| tick()).chain([txt("at last"), end("stop"), done()]);
    let server = Server::start(vec![sse(frames)]);
    let idle_timeout = Duration::from_secs(1);
    assert_eq!(ask(Provider { idle_timeout, ..hasty(server.url()) }).await.text(), "at last");
}

async fn hostile_replies_end_in_a_sentence() {
    let long = "x".repeat(17 << 20);
    // Responses has no mark of its own for the end, messages gives the reason apart.
    let nothing = match wire() {
        WireKind::Chat => "without a reply",
        WireKind::Responses => "before a finish reason",
        WireKind::Messages => "without a reason for its end",
    };
    for (what, reply, expected) in [
        ("endless line", sse([raw(format!("data: {long}"))]), "larger than 16777216 bytes"),
        ("garbage", sse([raw("data: {\"a\n\ndata: ]\n\n")]), "2 events were not readable"),
        ("plain text", text_body(200, "text/plain", "hello\n"), "before a finish reason"),
        ("a page", text_body(200, "text/html", "<!doctype html><p>hi"), "web page"),
        ("no body", text_body(200, "application/json", ""), "the body is empty"),
        ("half a body", text_body(200, "application/json", "{\"choices\":["), "not JSON"),
        (
            "error as JSON",
            json_body(200, &json!({"error": {"message": "it broke", "code": 500}})),
            "it broke",
        ),
        ("error in the stream", sse([txt("a"), fails("it broke")]), "it broke"),
        ("error in the stream, bare", sse([txt("a"), raw("data: {\"error\":\"it broke\"}\n\n")]), "it broke"),
        ("bare error", sse([txt("a"), raw("{\"error\":{\"message\":\"it broke\"}}\n")]), "it broke"),
        ("only the end", sse([done()]), nothing),
        ("large error", text_body(500, "text/plain", &long), "xxx…"),
    ] {
        let server = Server::start(vec![reply]);
        let patient = Duration::from_secs(30);
        let run =
            ask(Provider { first_byte_timeout: patient, idle_timeout: patient, ..hasty(server.url()) }).await;
        let text = run.error();
        assert!(text.contains(expected) && text.contains("(model acme-coder)"), "{what}: {text}");
        assert!(text.len() < 1000, "{what}");
        assert_eq!(server.requests().len(), 1, "{what}");
    }
}

#[tokio::test]
async fn a_server_that_is_overloaded_in_a_good_status_is_asked_again() {
    let anthropic = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let openai =
        json!({"error": {"message": "busy", "type": "server_error", "code": "server_is_overloaded"}});
    let named = raw(format!("event: error\ndata: {anthropic}\n\n"));
    for reply in [
        json_body(200, &anthropic),
        json_body(200, &openai),
        sse([txt("half"), named]),
        sse([txt("half"), event(&openai)]),
        json_body(529, &anthropic),
        json_body(503, &openai),
    ] {
        let (run, server) = run(vec![reply, says("better")]).await;
        assert_eq!((run.text().as_str(), run.again(), server.requests().len()), ("better", 1, 2));
    }
}

#[tokio::test]
async fn the_wait_that_a_sentence_names_is_kept() {
    let limited = error(429, "Rate limit reached. Please try again in 7.5s.");
    let (run, _server) = run(vec![limited, says("later")]).await;
    assert_eq!((run.text().as_str(), run.waits), ("later", vec![Duration::from_secs_f64(7.5)]));
}

#[tokio::test]
async fn a_json_body_serves_as_well_as_a_stream() {
    let body = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    for mime in ["application/json", "text/event-stream"] {
        let (run, _server) = run(vec![text_body(200, mime, &body.to_string())]).await;
        assert_eq!(run.text(), "hi");
        assert_eq!(run.heard, [Progress::Text("hi".into())]);
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_said_once() {
    let bad = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb\"}}]}\n\n";
    let (run, _server) = run(vec![sse([raw(bad), raw(bad), end("stop"), done()])]).await;
    assert_eq!(run.text(), "a\u{FFFD}ba\u{FFFD}b");
    let notes = run.heard.iter().filter(|p| matches!(p, Progress::Waiting(_))).count();
    assert_eq!(notes, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_in_the_middle_closes_the_connection() {
    let server = Server::start(vec![sse([txt("a"), Frame::Hang])]);
    let client = HttpClient::new(provider(server.url())).unwrap();
    let cancel = CancellationToken::new();
    let answer = client.ask(&asked(), &prompt(), &mut |_| cancel.cancel(), &cancel).await;
    assert_eq!(answer, Err(Failure::Cancelled));
    // The client is still there: it is the request that closed its connection.
    tokio::task::spawn_blocking(move || server.wait(|requests| requests[0].closed_early)).await.unwrap();
    drop(client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_before_the_headers_closes_the_connection() {
    let server = Arc::new(Server::start(vec![silent()]));
    let client = HttpClient::new(provider(server.url())).unwrap();
    let cancel = CancellationToken::new();
    let arrived = server.clone();
    let stop = cancel.clone();
    let waiter = tokio::task::spawn_blocking(move || {
        arrived.wait(|requests| requests.len() == 1);
        stop.cancel();
    });
    let answer = client.ask(&asked(), &prompt(), &mut |_| {}, &cancel).await;
    assert_eq!(answer, Err(Failure::Cancelled));
    waiter.await.unwrap();
    tokio::task::spawn_blocking(move || server.wait(|requests| requests[0].closed_early)).await.unwrap();
}

async fn cancelling_between_attempts_stops_the_wait() {
    let server = Server::start(vec![error(429, "slow down").header("retry-after", "200")]);
    let client = HttpClient::new(provider(server.url())).unwrap();
    let cancel = CancellationToken::new();
    let mut hear = |progress| {
        assert!(matches!(progress, Progress::Again { wait_ms: 200_000.., .. }));
        cancel.cancel();
    };
    assert_eq!(client.ask(&asked(), &prompt(), &mut hear, &cancel).await, Err(Failure::Cancelled));
    assert_eq!(server.requests().len(), 1);
}

/// An address on loopback where nothing listens.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_its_start() {
    let known = tack::wire::provider::builtin("llamacpp").unwrap();
    let run = ask(Provider { base_url: nowhere(), ..known }).await;
    assert!(matches!(run.answer, Err(Failure::Setup { .. })));
    let text = run.error();
    assert!(text.contains("nothing listens at http://127.0.0.1:") && text.contains("llama-server"), "{text}");
    // Elsewhere it may be a passing fault.
    let run = ask(Provider { base_url: nowhere(), local: false, ..provider("") }).await;
    assert_eq!(run.again(), 4);
    assert!(run.error().contains("refused"), "{}", run.error());
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_away() {
    let other = Server::start(vec![]);
    let target = format!("{}/chat/completions", other.url());
    for status in [301, 307, 308] {
        let (run, _server) = run(vec![text_body(status, "text/plain", "").header("location", &target)]).await;
        assert!(run.error().contains("check the base_url"), "{}", run.error());
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let server = Server::start(vec![]);
    for key in [None, Some(Secret::new(" \n"))] {
        let run = ask(Provider { key, needs_key: true, ..provider(server.url()) }).await;
        assert_eq!(run.error(), "test (model acme-coder) needs a key: set TEST_API_KEY");
    }
    assert!(server.requests().is_empty());
}

async fn headers_and_queries_of_the_config_are_sent() {
    let server = Server::start(vec![]);
    let mut provider = provider(server.url());
    provider.headers = vec![("X-Team".into(), Secret::new("blue"))];
    provider.query = vec![("api-version".into(), tack::wire::provider::Secret::new("2"))];
    ask(provider).await.answer.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.header("x-team"), Some("blue"));
    assert!(request.path.ends_with("?api-version=2"), "{}", request.path);
}

#[tokio::test]
async fn a_provider_that_cannot_be_used_says_so_before_anything_is_sent() {
    let setup = |provider| match HttpClient::new(provider) {
        Err(Failure::Setup { message: text, .. }) => text,
        other => panic!("{:?}", other.err()),
    };
    assert!(setup(provider("ftp://h.example")).contains("base_url of provider test"));
    let key = Some(Secret::new("line\nbreak"));
    assert!(setup(Provider { key, ..provider("http://127.0.0.1") }).contains("TEST_API_KEY"));
    let headers = vec![("bad name".into(), Secret::new("x"))];
    assert!(setup(Provider { headers, ..provider("http://127.0.0.1") }).contains("bad name"));
    let ca_file = Some("/nowhere/ca.pem".into());
    let run = ask(Provider { ca_file, ..provider("https://127.0.0.1:9") }).await;
    assert!(run.error().contains("/nowhere/ca.pem"), "{}", run.error());
}
