//! Sessions on disk: what is written is read back, whatever happened in between.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use tack::harness::sample_scene;
use tack::model::{
    Action, Body, CallId, Git, Item, ItemId, JobOp, Mark, Origin, Outcome, Part, Read, Reply, Said, Scene,
    Stop, ToolCall, ToolResult, Usage, WireKind,
};
use tack::store::{Session, Sessions, StoreError, Summary, unanswered};
use tempfile::TempDir;

fn item(id: u64, turn: u32, body: Body) -> Item {
    Item { id: ItemId(id), turn, at: jiff::Timestamp::from_second(1_790_000_000 + id as i64).unwrap(), body }
}

fn user(id: u64, text: &str) -> Item {
    item(id, id as u32, Body::User(Said { text: text.into(), images: Vec::new() }))
}

fn call(id: &str) -> Part {
    Part::Call(ToolCall {
        id: CallId(id.into()),
        given: None,
        name: "bash".into(),
        args: "{}".into(),
        action: Action::Unknown { name: "bash".into(), why: "a test".into() },
        span: None,
        recovered: false,
    })
}

fn reply(id: u64, parts: Vec<Part>) -> Item {
    let origin = Origin {
        provider: "acme".into(),
        model: "coder".into(),
        wire: WireKind::Chat,
        harness: "minimal".into(),
        surface: u64::MAX,
    };
    item(id, 1, Body::Assistant(Reply::new(origin, parts, Usage::default(), Stop::Calls)))
}

fn result(id: u64, call: &str) -> Item {
    let body = ToolResult { call: CallId(call.into()), outcome: Outcome::ok("fine"), shown: Vec::new() };
    item(id, 1, Body::Result(body))
}

/// A session with a bit of everything, every call answered.
fn story() -> Vec<Item> {
    vec![
        user(1, "mend it\nand say what was wrong, naïvely: 修复 👩‍💻"),
        reply(2, vec![Part::Text { text: "I look.".into() }, call("call_2_0"), call("call_2_1")]),
        result(3, "call_2_0"),
        result(4, "call_2_1"),
        item(5, 1, Body::Mark(Mark::Completed { usage: Usage::default() })),
        user(6, "thanks"),
    ]
}

struct Kit {
    dir: TempDir,
    sessions: Sessions,
}

impl Kit {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(dir.path().join("data/sessions"));
        Self { dir, sessions }
    }

    fn write(&self, items: &[Item]) -> Session {
        let mut session = self.sessions.create(Path::new("/projects/acme"));
        for item in items {
            session.append(item).unwrap();
        }
        session
    }

    /// Everything below the data folder.
    fn files(&self) -> Vec<PathBuf> {
        walk(&self.dir.path().join("data"))
    }

    fn log(&self) -> PathBuf {
        self.files().into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap()
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn what_was_appended_is_read_back() {
    let kit = Kit::new();
    let session = kit.write(&story());
    let sync = session.settle();
    sync().unwrap();
    assert!(session.recording());
    let id = session.id().clone();
    drop(session);

    let loaded = kit.sessions.read(&id).unwrap();
    assert_eq!(loaded.items, story());
    assert_eq!((loaded.header.id, loaded.header.cwd.as_str()), (id.clone(), "/projects/acme"));
    assert_eq!(loaded.warnings, [""; 0]);

    let (mut session, loaded) = kit.sessions.open(&id).unwrap();
    assert_eq!(loaded.next(), ItemId(7));
    session.append(&user(7, "more")).unwrap();
    assert_eq!(kit.sessions.read(&id).unwrap().items.len(), 7);
}

#[test]
fn every_line_says_its_version_and_kind() {
    let kit = Kit::new();
    drop(kit.write(&story()));
    let text = fs::read_to_string(kit.log()).unwrap();
    assert!(text.ends_with('\n'));
    let kinds: Vec<String> = text
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["v"], 1, "{line}");
            value["is"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(kinds, ["header", "user", "assistant", "result", "result", "mark", "user"]);
}

/// As 0.1.0 wrote them before commands could go on as jobs, patches had a folder and models were blind.
const EARLIER: &str = r#"{"v":1,"is":"header","id":"ID","cwd":"/p","created":"2026-09-30T08:00:00Z","tack":"0.1.0"}
{"v":1,"id":1,"turn":0,"at":"2026-09-30T08:00:00Z","is":"scene","time":"2026-09-30T08:00:00+00:00[UTC]","cwd":"/p","os":"linux","os_version":"6","arch":"x86_64","shell":"bash","sandbox":"read-only","network":false,"unattended":true}
{"v":1,"id":2,"turn":1,"at":"2026-09-30T08:00:01Z","is":"user","text":"go"}
{"v":1,"id":3,"turn":1,"at":"2026-09-30T08:00:02Z","is":"assistant","origin":{"provider":"acme","model":"coder","wire":"chat","harness":"minimal","surface":9075457578098872607},"parts":[{"part":"thinking","text":"hm","field":"reasoning_content"},{"part":"call","id":"call_3_0","name":"bash","args":"{}","action":{"do":"shell","command":"ls","background":true}},{"part":"call","id":"call_3_1","name":"job","args":"{}","action":{"do":"job","op":"output","id":"job1"}},{"part":"call","id":"call_3_2","name":"read","args":"{}","action":{"do":"read","path":"a"}},{"part":"call","id":"call_3_3","name":"patch","args":"{}","action":{"do":"patch","text":"*** Begin Patch"}}],"usage":{"input":9,"cached":1,"output":2},"stop":"calls"}
{"v":1,"id":4,"turn":1,"at":"2026-09-30T08:00:03Z","is":"result","call":"call_3_0","outcome":{"state":"ok","text":""},"shown":[]}
{"v":1,"id":5,"turn":1,"at":"2026-09-30T08:00:03Z","is":"result","call":"call_3_1","outcome":{"state":"ok","text":""},"shown":[]}
{"v":1,"id":6,"turn":1,"at":"2026-09-30T08:00:03Z","is":"result","call":"call_3_2","outcome":{"state":"ok","text":""},"shown":[]}
{"v":1,"id":7,"turn":1,"at":"2026-09-30T08:00:03Z","is":"result","call":"call_3_3","outcome":{"state":"ok","text":""},"shown":[]}
{"v":1,"id":8,"turn":1,"at":"2026-09-30T08:00:04Z","is":"mark","mark":"switched","harness":"minimal","provider":"acme","model":"coder"}
{"v":1,"id":9,"turn":1,"at":"2026-09-30T08:00:04Z","is":"mark","mark":"completed","usage":{"input":9,"cached":1,"output":2}}
"#;

#[test]
fn an_earlier_log_is_read_and_gone_on_with() {
    let kit = Kit::new();
    let id = kit.write(&story()).id().clone();
    fs::write(kit.log(), EARLIER.replace("ID", &id.0)).unwrap();
    let (mut session, loaded) = kit.sessions.open(&id).unwrap();
    assert_eq!((loaded.items.len(), loaded.warnings.as_slice()), (9, &[][..]));
    let Body::Assistant(reply) = &loaded.items[2].body else { panic!() };
    let actions: Vec<&Action> = reply
        .parts
        .iter()
        .filter_map(|part| if let Part::Call(call) = part { Some(&call.action) } else { None })
        .collect();
    let (command, text) = ("ls".into(), "*** Begin Patch".into());
    let shell = Action::Shell {
        command,
        timeout: None,
        background: true,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    };
    let job =
        Action::Job { op: JobOp::Output, id: "job1".into(), wait: None, input: None, close_stdin: false };
    let read = Action::Read(Read { path: "a".into(), ..Read::default() });
    assert_eq!(actions, [&shell, &job, &read, &Action::Patch { text, cwd: None }]);
    session.append(&user(10, "more")).unwrap();
    assert_eq!(kit.sessions.read(&id).unwrap().items.len(), 10);
}

#[test]
fn a_session_without_items_leaves_nothing_behind() {
    let kit = Kit::new();
    let session = kit.sessions.create(Path::new("/"));
    session.blobs().keep(b"an image that was never sent");
    drop(session);
    assert!(kit.files().iter().all(|path| path.is_dir() && !path.join("spill").exists()));
    assert!(kit.sessions.list().is_empty());

    let session = Session::ephemeral();
    let folder = session.spill_dir().parent().unwrap().to_owned();
    let blob = session.blobs().keep(b"png");
    assert_eq!(session.blobs().base64(&blob).as_deref(), Some("cG5n"));
    assert!(folder.is_dir() && !session.recording());
    drop(session);
    assert!(!folder.exists());
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_session() {
    use std::os::unix::fs::PermissionsExt;
    let kit = Kit::new();
    let session = kit.write(&story());
    session.blobs().keep(b"png");
    for path in kit.files() {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

#[test]
fn a_blob_is_found_again_and_a_forged_id_is_not() {
    let kit = Kit::new();
    let session = kit.write(&story());
    let id = session.id().clone();
    let blob = session.blobs().keep(b"png");
    drop(session);
    let (session, _) = kit.sessions.open(&id).unwrap();
    assert_eq!(session.blobs().base64(&blob).as_deref(), Some("cG5n"));
    for forged in ["../../../../../../etc/passwd", "", &"0".repeat(64)] {
        assert_eq!(session.blobs().base64(&tack::model::BlobId(forged.into())), None, "{forged}");
    }
    drop(session);
    fs::write(kit.log().with_extension("").join(&blob.0), b"pnX").unwrap();
    let (session, _) = kit.sessions.open(&id).unwrap();
    assert_eq!(session.blobs().base64(&blob), None, "a blob that was changed is not shown as what it was");
}

#[test]
fn a_second_opener_is_refused_and_told_by_whom() {
    let kit = Kit::new();
    let session = kit.write(&story());
    let id = session.id().clone();
    let Err(StoreError::Busy { pid, .. }) = kit.sessions.open(&id) else { panic!("opened twice") };
    assert_eq!(pid, Some(std::process::id()));
    assert!(matches!(kit.sessions.remove(&id), Err(StoreError::Busy { .. })));
    assert_eq!(kit.sessions.read(&id).unwrap().items, story(), "reading needs no lock");
    drop(session);
    drop(kit.sessions.open(&id).unwrap());
    kit.sessions.remove(&id).unwrap();
    assert!(kit.files().iter().all(|path| path.is_dir()), "{:?}", kit.files());
    assert!(matches!(kit.sessions.open(&id), Err(StoreError::NotFound(_))));
}

/// The lock file goes with its holder, and yet two never hold it.
#[test]
fn openers_at_once_take_turns() {
    let kit = Kit::new();
    let session = kit.write(&[user(1, "first")]);
    let id = session.id().clone();
    drop(session);
    let one = |text: &str| {
        loop {
            match kit.sessions.open(&id) {
                Ok((mut session, loaded)) => return session.append(&user(loaded.next().0, text)).unwrap(),
                Err(StoreError::Busy { .. }) => std::thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| (0..15).for_each(|_| one("more")));
        }
    });
    let loaded = kit.sessions.read(&id).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    let ids: Vec<u64> = loaded.items.iter().map(|item| item.id.0).collect();
    assert_eq!(ids, (1..=91).collect::<Vec<_>>());
}

#[test]
fn a_session_is_found_by_the_start_of_its_id() {
    let kit = Kit::new();
    let (one, two) = (kit.write(&story()), kit.write(&story()));
    assert_eq!(kit.sessions.find(&one.id().0).unwrap(), *one.id());
    assert_eq!(kit.sessions.find(&two.id().0[..35].to_uppercase()).unwrap(), *two.id());
    for (prefix, want) in [
        ("0", "several sessions begin with 0: [id], [id]; give more of the id"),
        ("", "several sessions begin with : [id], [id]; give more of the id"),
        ("ffff", "there is no session ffff; `tack sessions list` shows those there are"),
        ("../x", "there is no session ../x; `tack sessions list` shows those there are"),
    ] {
        let said = kit.sessions.find(prefix).unwrap_err().to_string();
        assert_eq!(said.replace(&one.id().0, "[id]").replace(&two.id().0, "[id]"), want);
    }
}

#[test]
fn the_list_and_the_last_session() {
    let kit = Kit::new();
    let first = kit.write(&story());
    let mut other = kit.sessions.create(Path::new("/elsewhere"));
    // A scene larger than the tail that is looked at first.
    other.append(&user(1, "hello")).unwrap();
    other.append(&user(9, &"x".repeat(200_000))).unwrap();
    let list = kit.sessions.list();
    let shown: Vec<_> = list.iter().map(|s| (s.title.as_str(), s.turns, s.cwd.as_str())).collect();
    assert_eq!(shown, [("hello", 9, "/elsewhere"), ("mend it", 6, "/projects/acme")]);
    assert_eq!(kit.sessions.last(Some(Path::new("/projects/acme"))), Some(first.id().clone()));
    assert_eq!(kit.sessions.last(Some(Path::new("/nowhere"))), None);
    let newest = kit.sessions.last(None).unwrap();
    assert_eq!(newest, *other.id());

    // Who answered last, and on which branch it was begun.
    let scene = Scene { git: Some(Git { root: "/w".into(), branch: "main".into() }), ..sample_scene() };
    let quiet = kit.write(&[item(1, 0, Body::Scene(Box::new(scene)))]);
    let told = |s: &Summary| (s.branch.clone(), s.origin.as_ref().map(|origin| origin.harness.clone()));
    let list = kit.sessions.list();
    let one = |session: &Session| told(list.iter().find(|s| s.id == *session.id()).unwrap());
    assert_eq!(one(&quiet), (Some("main".into()), None));
    assert_eq!(one(&first), (None, Some("minimal".into())));
    // One that was only looked at is gone back to where there is no other.
    assert_eq!(kit.sessions.last(Some(Path::new("/projects/acme"))), Some(first.id().clone()));
    let alone = Kit::new();
    let quiet = alone.write(&[item(1, 0, Body::Scene(Box::new(sample_scene())))]);
    assert_eq!(alone.sessions.last(None), Some(quiet.id().clone()));
}

#[test]
fn unanswered_calls_are_named() {
    let mut items = story();
    assert!(unanswered(&items).is_empty());
    items.remove(2);
    let open: Vec<_> = unanswered(&items).into_iter().map(|call| call.id.0.as_str()).collect();
    assert_eq!(open, ["call_2_0"]);
}

/// What a log may look like after bad days: (the log, ids that are read, warnings).
#[test]
fn damage_costs_only_what_is_damaged() {
    let whole = {
        let kit = Kit::new();
        drop(kit.write(&story()));
        fs::read_to_string(kit.log()).unwrap()
    };
    let lines: Vec<&str> = whole.lines().collect();
    let join = |lines: &[&str]| lines.join("\n") + "\n";
    let future = r#"{"v":1,"is":"dream","id":7,"turn":2,"at":"2026-01-01T00:00:00Z","of":"sheep"}"#;
    let later = r#"{"v":2,"is":"user","id":7,"text":7}"#;
    let added = lines[6].replace("\"is\"", "\"mood\":\"good\",\"is\"");
    let table: Vec<(&str, String, &[u64])> = vec![
        ("byte-order mark", format!("\u{feff}{whole}"), &[1, 2, 3, 4, 5, 6]),
        ("CRLF", whole.replace('\n', "\r\n"), &[1, 2, 3, 4, 5, 6]),
        ("empty lines", whole.replace('\n', "\n\n"), &[1, 2, 3, 4, 5, 6]),
        ("unknown kind", join(&[&lines[..], &[future, later]].concat()), &[1, 2, 3, 4, 5, 6]),
        ("unknown field", join(&[&lines[..6], &[&added]].concat()), &[1, 2, 3, 4, 5, 6]),
        ("NULs in front", whole.replacen("\n{", "\n\0\0\0{", 2), &[1, 2, 3, 4, 5, 6]),
        ("a line of NULs", whole.replace(lines[5], "\0\0\0\0"), &[1, 2, 3, 4, 6]),
        ("half a line", whole.replace(lines[5], &lines[5][..20]), &[1, 2, 3, 4, 6]),
        ("no header", join(&lines[1..]), &[1, 2, 3, 4, 5, 6]),
        ("a line twice", join(&[&lines[..3], &lines[2..]].concat()), &[1, 2, 3, 4, 5, 6]),
        ("a number twice", whole.replace("\"id\":6", "\"id\":5"), &[1, 2, 3, 4, 5, 6]),
        ("a lost call", whole.replace(lines[2], "{"), &[1, 5, 6]),
        ("not a log", "\u{1b}[31mhello\n".into(), &[]),
        ("empty", String::new(), &[]),
    ];
    let mut said = String::new();
    for (name, text, want) in table {
        let kit = Kit::new();
        let session = kit.write(&story());
        let id = session.id().clone();
        drop(session);
        fs::write(kit.log(), &text).unwrap();

        let (mut session, loaded) = kit.sessions.open(&id).unwrap();
        let ids: Vec<u64> = loaded.items.iter().map(|item| item.id.0).collect();
        assert_eq!(ids, want, "{name}");
        let more = user(loaded.next().0, "more");
        session.append(&more).unwrap();
        assert!(session.recording(), "{name}");
        drop(session);

        let again = kit.sessions.read(&id).unwrap();
        assert_eq!(again.items.split_last().unwrap(), (&more, &loaded.items[..]), "{name}");
        let kept = fs::read_to_string(kit.log()).unwrap();
        assert!(kept.starts_with(&text), "{name}: lines that were whole stay in the file");
        said += &format!("{name}: {}\n", loaded.warnings.join("; "));
    }
    insta::assert_snapshot!(said);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_span_leaves_the_other_items(at in 0.0..1.0f64, len in 1usize..400, with in prop::sample::select(vec![0u8, 0xff, 0x7b, b'\n'])) {
        let kit = Kit::new();
        let session = kit.write(&story());
        let id = session.id().clone();
        drop(session);
        let mut bytes = fs::read(kit.log()).unwrap();
        let start = (at * bytes.len() as f64) as usize;
        let end = (start + len).min(bytes.len());
        bytes[start..end].fill(with);
        fs::write(kit.log(), bytes).unwrap();

        let (mut session, loaded) = kit.sessions.open(&id).unwrap();
        let story = story();
        // Braces may fall into a text and change it; the other bytes are no part of any text.
        let known = loaded.items.iter().all(|item| with == 0x7b || story.contains(item));
        prop_assert!(known, "{:?}", loaded.items);
        let more = user(loaded.next().0, "more");
        session.append(&more).unwrap();
        let again = kit.sessions.read(&id).unwrap();
        prop_assert_eq!(again.items.split_last().unwrap(), (&more, &loaded.items[..]));
    }
}

#[test]
fn a_log_cut_at_any_byte_gives_a_beginning_and_takes_more() {
    let kit = Kit::new();
    let session = kit.write(&story());
    let id = session.id().clone();
    drop(session);
    let whole = fs::read(kit.log()).unwrap();
    let log = kit.log();
    for cut in 0..whole.len() {
        fs::write(&log, &whole[..cut]).unwrap();
        let (mut session, loaded) = kit.sessions.open(&id).unwrap();
        assert!(story().starts_with(&loaded.items), "cut at {cut}");
        let lines = whole[..cut].iter().filter(|&&b| b == b'\n').count();
        assert!(loaded.items.len() + 1 >= lines, "cut at {cut}: whole lines are all read");
        let more = user(loaded.next().0, "more");
        session.append(&more).unwrap();
        drop(session);
        let again = kit.sessions.read(&id).unwrap();
        assert_eq!(again.items.split_last().unwrap(), (&more, &loaded.items[..]), "cut at {cut}");
        assert_eq!(again.warnings, [""; 0], "cut at {cut}: the torn end is gone");
    }
}

const CHILD: &str = "TACK_TEST_CHILD";

/// This test binary again, running only `test`, which sees `CHILD` and plays the other part.
#[cfg(unix)]
fn child(test: &str, dir: &Path, before: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = format!("{before}exec \"$0\" --exact --nocapture \"$1\"");
    command.args(["-c", &script]).arg(std::env::current_exe().unwrap()).arg(format!("store::{test}"));
    command.env(CHILD, dir);
    command
}

#[cfg(unix)]
#[test]
fn a_killed_writer_loses_no_whole_item_and_its_lock() {
    if let Some(dir) = std::env::var_os(CHILD) {
        let mut session = Sessions::new(dir.into()).create(Path::new("/killed"));
        for n in 1..20_000 {
            session.append(&user(n, &"some text ".repeat(n as usize % 50))).unwrap();
            if n == 200 {
                eprintln!("ready {}", session.id());
            }
        }
        // Until it is killed, or the test that would kill it is gone.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    let kit = Kit::new();
    let root = kit.dir.path().join("data/sessions");
    let mut child = child("a_killed_writer_loses_no_whole_item_and_its_lock", &root, "")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let id =
        lines.map(|line| line.unwrap()).find_map(|l| l.strip_prefix("ready ").map(str::to_owned)).unwrap();
    let id = kit.sessions.find(&id).unwrap();
    let Err(StoreError::Busy { pid, .. }) = kit.sessions.open(&id) else { panic!("opened twice") };
    assert_eq!(pid, Some(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();

    let (mut session, loaded) = kit.sessions.open(&id).unwrap();
    assert!(loaded.items.len() >= 200);
    assert_eq!(loaded.next().0, loaded.items.len() as u64 + 1, "no item is missing");
    session.append(&user(loaded.next().0, "more")).unwrap();
    assert!(session.recording());
}

/// Appends where there is room for a few items only, then again after `free` has made room.
#[cfg(unix)]
fn write_until_full_then(root: &Path, free: impl FnOnce()) {
    let sessions = Sessions::new(root.into());
    let mut session = sessions.create(Path::new("/full"));
    let id = session.id().clone();
    let text = "some text ".repeat(300);
    let told: Vec<String> =
        (1..=20).filter_map(|n| session.append(&user(n, &text)).err()).map(|e| e.to_string()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("this session is not being recorded: cannot write "), "{told:?}");
    assert!(told[0].contains(&id.0) && !session.recording(), "{told:?}");
    let meanwhile = sessions.read(&id).unwrap();
    assert_eq!(meanwhile.warnings, [""; 0], "no half line is left in the file");
    assert!((1..20).contains(&meanwhile.items.len()));
    let blob = session.blobs().keep(&[7; 100_000]);
    assert!(session.blobs().base64(&blob).is_some());

    free();
    session.append(&user(21, "space again")).unwrap();
    assert!(session.recording());
    drop(session);
    let (session, loaded) = sessions.open(&id).unwrap();
    assert_eq!(loaded.items.len(), 21);
    assert!(session.blobs().base64(&blob).is_some());
}

#[cfg(unix)]
fn passed(mut child: Command) {
    let out = child.output().unwrap();
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

/// Writes stop half way through a line and then fail.
#[cfg(unix)]
#[test]
fn a_file_size_limit_is_said_once_and_made_up_for() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if let Some(root) = std::env::var_os(CHILD) {
        return write_until_full_then(root.as_ref(), || {
            let maximum = getrlimit(Resource::Fsize).maximum;
            setrlimit(Resource::Fsize, Rlimit { current: maximum, maximum }).unwrap();
        });
    }
    let kit = Kit::new();
    let root = kit.dir.path().join("data/sessions");
    let before = "trap '' XFSZ; ulimit -S -f 24; ";
    passed(child("a_file_size_limit_is_said_once_and_made_up_for", &root, before));
}

/// A real full disk, in a mount namespace that ends with the child.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_once_and_made_up_for() {
    if let Some(root) = std::env::var_os(CHILD) {
        let filler = Path::new(&root).join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        while file.write(&[0; 4096]).is_ok_and(|n| n > 0) {}
        file.set_len(file.metadata().unwrap().len() - 32 * 1024).unwrap();
        // Open, it would keep its room when it is removed.
        drop(file);
        return write_until_full_then(root.as_ref(), || fs::remove_file(filler).unwrap());
    }
    let kit = Kit::new();
    let mount = "mount -t tmpfs -o size=1m tmpfs \"$TACK_TEST_CHILD\"";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "/bin/sh", "-c", script]).env(CHILD, kit.dir.path());
        command
    };
    if !unshare(mount).output().is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: this machine lets no test mount a file system");
        return;
    }
    let mut command = unshare(&format!("{mount} && exec \"$0\" --exact --nocapture \"$1\""));
    command.arg(std::env::current_exe().unwrap()).arg("store::a_full_disk_is_said_once_and_made_up_for");
    passed(command);
}

#[test]
fn where_nothing_can_be_written_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let sessions = Sessions::new(dir.path().join("file/sessions"));
    let mut session = sessions.create(Path::new("/"));
    assert!(matches!(session.append(&user(1, "a")), Err(StoreError::NotRecorded { .. })));
    session.append(&user(2, "b")).unwrap();
    assert!(!session.recording());
    let blob = session.blobs().keep(b"png");
    assert_eq!(session.blobs().base64(&blob).as_deref(), Some("cG5n"));
    drop(session);
    assert_eq!(sessions.last(None), None);
}
