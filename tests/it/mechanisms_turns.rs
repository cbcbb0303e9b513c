//! What reads, corrects, ends and shortens a turn, under every harness.

use serde_json::{Value, json};
use tack::agent::End;
use tack::model::{Action, Calls, Probed, WireKind};

use crate::mechanism_kit::{
    Mechanism, RULE, Seen, Step, Surface, all_work_in_every_harness, look, mechanism, shell,
};
use crate::server::{Frame, done, end, thought, txt, usage};
use crate::tools_kit;

const TALK: &str = "I would rather talk about it.";

fn calls(surface: &Surface) -> Result<(), &'static str> {
    match surface.kind() {
        "calls" => Ok(()),
        _ => Err("its calls are text"),
    }
}

fn seen_reading(surface: &Surface) -> Result<(), &'static str> {
    surface.does(&["shell", "read"]).then_some(()).ok_or("nobody knows what typing does")
}

fn hands_in(surface: &Surface) -> Result<(), &'static str> {
    let any = surface.does(&["submit"]) || !surface.key("submit.first_line").is_empty();
    any.then_some(()).ok_or("nothing hands in")
}

fn edits(surface: &Surface) -> Result<(), &'static str> {
    surface.does(&["edit", "patch", "diff"]).then_some(()).ok_or("no tool changes a part of a file")
}

fn commands(surface: &Surface) -> Result<(), &'static str> {
    if !surface.does(&["shell"]) {
        return Err("no tool runs a command");
    }
    let goes_on = surface.doing(&["shell"]).any(|tool| tool.fills("yield_after"));
    if goes_on { Err("its commands go on as jobs") } else { Ok(()) }
}

fn made(seen: &Seen) -> bool {
    seen.exists("made.txt")
}

fn touch() -> Step {
    shell("touch made.txt")
}

fn written(form: fn(&str, &Value) -> String) -> Vec<Step> {
    vec![Step::Writes(tools_kit::shell("touch made.txt"), form)]
}

/// A reply of these frames.
fn streams(frames: impl IntoIterator<Item = Frame>) -> Step {
    Step::Streams(frames.into_iter().chain([end("stop"), usage(10, 5), done()]).collect())
}

fn salvage(name: &'static str, on: &'static str, script: fn(&Surface) -> Vec<Step>) -> Mechanism {
    Mechanism { fits: calls, ..mechanism(name, on, script, made) }
}

fn json_call(name: &str, args: &Value) -> String {
    json!({ "name": name, "arguments": args }).to_string()
}

fn texts() -> Vec<Mechanism> {
    vec![
        salvage("a call as JSON", r#"dialect.salvage = ["json"]"#, |_| written(json_call)),
        salvage("a call in tags", r#"dialect.salvage = ["hermes"]"#, |_| {
            written(|name, args| format!("<tool_call>\n{}\n</tool_call>", json_call(name, args)))
        }),
        salvage("a call as XML", r#"dialect.salvage = ["xml"]"#, |_| {
            written(|name, args| {
                let one = |(key, value): (&String, &Value)| {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    format!("<parameter={key}>\n{text}\n</parameter>\n")
                };
                let params: String = args.as_object().unwrap().iter().map(one).collect();
                format!("<function={name}>\n{params}</function>")
            })
        }),
        salvage("a call by special tokens", r#"dialect.salvage = ["markers"]"#, |_| {
            written(|name, args| format!("[TOOL_CALLS][{}]", json_call(name, args)))
        }),
        salvage("a call as Python", r#"dialect.salvage = ["pythonic"]"#, |_| {
            written(|name, args| {
                let python = |value: &Value| match value {
                    Value::Bool(true) => "True".to_owned(),
                    Value::Bool(false) => "False".to_owned(),
                    other => other.to_string(),
                };
                let args =
                    args.as_object().unwrap().iter().map(|(key, value)| format!("{key}={}", python(value)));
                let args: Vec<String> = args.collect();
                format!("<|tool_call_start|>[{name}({})]<|tool_call_end|>", args.join(", "))
            })
        }),
        salvage("a block of shell", r#"dialect.salvage = ["shell"]"#, |_| {
            vec![Step::Says("```bash\ntouch made.txt\n```")]
        }),
        salvage("a call within words", r#"dialect.salvage = ["json", "within"]"#, |_| {
            written(|name, args| format!("I do it now.\n\n{}\n\nIt worked.", json_call(name, args)))
        }),
        Mechanism {
            tools: "[file]\ndoes = \"rewrite\"\nwire = false\nabout = \"a block under a path\"\n[file.params]\n\
                    path = { type = \"string\", required = true, to = \"path\" }\n\
                    text = { type = \"string\", required = true, to = \"text\" }\n",
            ..salvage(
                "a file as a block",
                "dialect.salvage = [\"file\"]\ntools = { keep = [], drop = [] }",
                |_| vec![Step::Says("made.txt\n```\nmade\n```")],
            )
        },
        Mechanism {
            fits: calls,
            ..mechanism(
                "tools are listed in the prompt",
                "dialect.offer = \"prompt\"\ndialect.salvage = [\"json\"]",
                |_| written(json_call),
                |seen| {
                    let offered = seen.requests[0].body.get("tools").is_some();
                    made(seen) && !offered && seen.sent(0).contains("arguments")
                },
            )
        },
        Mechanism {
            fits: calls,
            tools: "[find_more]\ndoes = \"tools\"\nabout = \"Find more tools.\"\n[find_more.params]\n\
                    query = { type = \"string\", required = true, to = \"query\" }\n\
                    [count_words]\ndoes = \"shell\"\nabout = \"Count words.\"\ndefer = true\n\
                    fill = { command = \"wc -w {{ path }}\" }\n[count_words.params]\n\
                    path = { type = \"string\", required = true }\n",
            only_on: true,
            ..mechanism(
                "tools that wait until they are asked for",
                "tools.keep = []",
                |_| vec![Step::Calls("find_more", json!({"query": "count"}))],
                |seen| {
                    let tools = |nth: usize| seen.requests[nth].body["tools"].to_string();
                    !tools(0).contains("count_words") && tools(1).contains("count_words")
                },
            )
        },
        Mechanism {
            fits: calls,
            ..mechanism(
                "an error in other words",
                r#"errors.unknown_tool = "No {{ name }} anywhere.""#,
                |_| vec![Step::Calls("nonsense", json!({}))],
                |seen| seen.last().contains("No nonsense anywhere."),
            )
        },
        Mechanism {
            fits: calls,
            ..mechanism(
                "a bad call is corrected",
                r#"loop.bad_calls = "retry""#,
                |_| vec![Step::Calls("nonsense", json!({}))],
                |seen| seen.requests.len() == 2 && !seen.requests[1].said().contains("\"tool_calls\""),
            )
        },
    ]
}

fn corrections() -> Vec<Mechanism> {
    vec![
        mechanism(
            "words are no end",
            r#"loop.calls = "required""#,
            |_| vec![Step::Says(TALK), touch()],
            |seen| made(seen) && seen.sent(2).contains(TALK),
        ),
        mechanism(
            "what was corrected leaves",
            "loop.calls = \"required\"\nloop.forget = \"corrected\"",
            |_| vec![Step::Says(TALK), touch()],
            |seen| made(seen) && seen.sent(1).contains(TALK) && !seen.sent(2).contains(TALK),
        ),
        mechanism(
            "a bad reply leaves at once",
            "loop.ends = \"submit\"\nloop.forget = \"reply\"",
            |_| vec![Step::Says(TALK), touch()],
            |seen| made(seen) && !seen.sent(1).contains(TALK),
        ),
        mechanism(
            "a correction in other words",
            "loop.calls = \"required\"\nloop.retry = \"mine.md\"",
            |_| vec![Step::Says(TALK)],
            |seen| seen.sent(1).contains("Say it as a call."),
        ),
        mechanism(
            "so many corrections",
            "loop.calls = \"required\"\nloop.retries = 1",
            |_| vec![Step::Says(TALK), Step::Says(TALK), Step::Says(TALK)],
            |seen| seen.requests.len() == 2 && matches!(seen.end, End::Failed { .. }),
        ),
        mechanism(
            "an empty reply is asked for again",
            r#"loop.empty = "retry""#,
            |_| vec![streams([])],
            |seen| seen.sent(1).contains("reply was empty"),
        ),
        Mechanism {
            fits: edits,
            ..mechanism(
                "a change that was not made leaves",
                r#"loop.vain = "told""#,
                |_| {
                    let patch = "*** Begin Patch\n*** Update File: calc.py\n@@\n-nowhere\n+elsewhere77\n*** End Patch";
                    let patch = Action::Patch { text: patch.to_owned(), cwd: None };
                    let edit = tools_kit::edit("calc.py", "nowhere", "elsewhere77");
                    vec![look("calc.py"), Step::Does(vec![edit, patch])]
                },
                |seen| seen.requests.len() == 3 && !seen.last().contains("elsewhere77"),
            )
        },
        mechanism(
            "conditions change after a bad reply",
            "loop.calls = \"required\"\nagain = [{ body = { temperature = 0.45 } }]",
            |_| vec![Step::Says(TALK), touch()],
            |seen| {
                let temperature = |nth: usize| seen.requests[nth].body["temperature"] == 0.45;
                seen.requests.len() > 2 && !temperature(0) && temperature(1) && !temperature(2)
            },
        ),
        Mechanism {
            wire: Some(WireKind::Chat),
            probed: Some(Probed { calls: Calls::Wire, form: None, schema: true, thinking: None }),
            ..mechanism(
                "a reply is held to a schema",
                "loop.calls = \"required\"\nagain = [{ schema = true }]",
                |surface| match surface.kind() {
                    "calls" => [vec![Step::Says(TALK)], written(json_call)].concat(),
                    "fenced" => vec![
                        Step::Says(TALK),
                        Step::Says(r#"{"name": "bash", "arguments": {"command": "touch made.txt"}}"#),
                    ],
                    _ => vec![Step::Says(TALK), touch()],
                },
                |seen| {
                    let body = |nth: usize| &seen.requests[nth].body;
                    made(seen) && body(1).get("response_format").is_some() && body(1).get("tools").is_none()
                },
            )
        },
    ]
}

fn turns() -> Vec<Mechanism> {
    vec![
        mechanism(
            "a repeated call is not run",
            r#"loop.repeats = "refused""#,
            |_| vec![shell("echo x >> ran"), shell("echo x >> ran")],
            |seen| seen.file("ran") == "x\n" && seen.last().contains("same call as before"),
        ),
        Mechanism {
            fits: seen_reading,
            ..mechanism(
                "who only reads is told to act",
                "loop.reads = 2",
                |_| vec![look("calc.py"), look("a.txt")],
                |seen| seen.last().contains("Make the edit now"),
            )
        },
        mechanism(
            "a turn has so many steps",
            "loop.steps = 4",
            |_| (0..6).map(|_| shell("echo $RANDOM")).collect(),
            |seen| seen.requests.len() == 4 && seen.sent(1).contains("3 more replies"),
        ),
        Mechanism {
            fits: commands,
            only_on: true,
            ..mechanism(
                "a turn has so many timeouts",
                "loop.timeouts = 1\ntimeouts = { shell = 1, shell_most = 1 }",
                |_| vec![shell("sleep 30")],
                |seen| matches!(seen.end, End::Limit { .. }),
            )
        },
        mechanism(
            "words before any action are no end",
            r#"submit.early = "refused""#,
            |_| vec![Step::Says("It is changed."), touch()],
            made,
        ),
        Mechanism {
            fits: hands_in,
            ..mechanism(
                "nothing is handed in before any action",
                r#"submit.early = "refused""#,
                |surface| vec![hand_in(surface)],
                |seen| seen.sent(1).contains("So far nothing was run"),
            )
        },
        Mechanism {
            fits: hands_in,
            ..mechanism(
                "it is refused once",
                r#"submit.early = "refused""#,
                |surface| (0..3).map(|_| hand_in(surface)).collect(),
                |seen| {
                    seen.sent(1).contains("So far nothing was run")
                        && seen.requests.len() <= 3
                        && matches!(seen.end, End::Completed { .. })
                },
            )
        },
        Mechanism {
            check: Some("grep -q good a.txt || { echo FAIL: a.txt is not good; exit 1; }"),
            ..mechanism(
                "the check goes back",
                "check.rounds = 1",
                |_| vec![shell("echo bad > a.txt"), Step::Says("done"), shell("echo good > a.txt")],
                |seen| seen.sent(2).contains("FAIL: a.txt is not good") && seen.file("a.txt") == "good\n",
            )
        },
        mechanism(
            "line breaks without end are cut",
            "stream.blank_lines = 8",
            |_| vec![streams([txt("All done."), txt(&"\n".repeat(12)), txt("And more.")])],
            |seen| matches!(&seen.end, End::Completed { message: Some(text) } if text.trim() == "All done."),
        ),
        mechanism(
            "the same lines are cut",
            "stream.same_lines = 4",
            |_| vec![streams((0..9).map(|_| txt("Let me look at that.\n")))],
            |seen| seen.sent(1).contains("one short reply"),
        ),
        mechanism(
            "thoughts without end are cut",
            "thinking.most = 50",
            |_| vec![streams([thought(&"maybe this, maybe that; ".repeat(20)), txt("Hm.")])],
            |seen| seen.sent(1).contains("Act on it now"),
        ),
        Mechanism {
            wire: Some(WireKind::Chat),
            probed: Some(Probed { thinking: Some("reasoning".to_owned()), ..WIRE }),
            ..mechanism(
                "how hard to think",
                "thinking = { effort = \"off\", effort_first = \"high\" }",
                |_| vec![touch()],
                |seen| {
                    let effort = |nth: usize| seen.requests[nth].body["reasoning_effort"].clone();
                    (effort(0), effort(1)) == (json!("high"), json!("none"))
                },
            )
        },
    ]
}

const WIRE: Probed = Probed { calls: Calls::Wire, form: None, schema: false, thinking: None };

/// Hands the work in, by a tool or by what a command prints.
fn hand_in(surface: &Surface) -> Step {
    let submit = Action::Submit { text: String::new() };
    let said = Action::Submit { text: "It is changed.".to_owned() };
    let line = tools_kit::shell(&format!("echo {}", surface.key("submit.first_line")));
    Step::Does(vec![said, submit, line])
}

fn contexts() -> Vec<Mechanism> {
    vec![
        mechanism(
            "old results become a line",
            "context.results = 1\ncontext.block = 1",
            |_| vec![shell("seq 1001 1060"), shell("seq 2001 2060"), shell("seq 3001 3060")],
            |seen| seen.last().contains("no longer shown") && !seen.last().contains("1030"),
        ),
        mechanism(
            "a long session is summed up",
            "context.tokens = 500",
            |_| {
                let sum = || streams([txt("THE SUMMARY")]);
                vec![Step::Counts(tools_kit::shell("touch made.txt"), 5000), sum(), sum(), sum()]
            },
            |seen| made(seen) && seen.requests.len() > 2 && seen.last().contains("THE SUMMARY"),
        ),
        mechanism(
            "facts stand ahead",
            "context.facts = 300",
            |_| vec![],
            |seen| seen.sent(0).contains("Known at "),
        ),
        Mechanism {
            fits: |surface| {
                let any = surface.texts("instructions") || surface.texts("agents_md");
                any.then_some(()).ok_or("it does not show AGENTS.md")
            },
            ..mechanism(
                "the project's instructions have a limit",
                "context.instructions = 0",
                |_| vec![],
                |seen| !seen.sent(0).contains(RULE),
            )
        },
        Mechanism {
            prompt: "Fix add in calc.py.",
            ..mechanism(
                "a named file is shown",
                "context.named = 80",
                |_| vec![],
                |seen| seen.sent(0).contains("return a - b"),
            )
        },
    ]
}

#[tokio::test]
async fn calls_in_texts_are_read_in_every_harness() {
    all_work_in_every_harness(&texts()).await;
}

#[tokio::test]
async fn what_corrects_a_model_works_in_every_harness() {
    all_work_in_every_harness(&corrections()).await;
}

#[tokio::test]
async fn what_steers_a_turn_works_in_every_harness() {
    all_work_in_every_harness(&turns()).await;
}

#[tokio::test]
async fn what_shortens_the_context_works_in_every_harness() {
    all_work_in_every_harness(&contexts()).await;
}
