//! Stored keys: where they go, who can see them, and what is said when they cannot be had.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::json;

use crate::bad::row;
use crate::kit::{Tack, wait_for};
use crate::server::*;

const KEY: &str = "sk-very-secret-0123456789";

/// Plays libsecret's program as it was seen to behave; `mode` is ok, absent or locked.
const TOOL: &str = r#"#!/bin/sh
dir=$(dirname "$0")
echo "$*" >> "$dir/argv"
mode=$(cat "$dir/mode")
for last; do :; done
item="$dir/item-$last"
if [ "$mode" = absent ]; then
    echo 'secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY' >&2
    exit 1
fi
case $1-$mode in
    store-ok) cat > "$item" ;;
    store-locked) echo 'secret-tool: Cannot create an item in a locked collection' >&2; exit 1 ;;
    lookup-ok) [ -f "$item" ] && cat "$item" ;;
    clear-ok) [ -f "$item" ] && rm "$item" ;;
    lookup-locked | clear-locked) exit 1 ;;
    search-*)
        [ -f "$item" ] || exit 0
        [ "$mode" = ok ] || echo 'secret-tool: Cannot get secret of a locked object' >&2
        printf '[/1]\nlabel = x\n'
        echo "attribute.provider = $last" >&2 ;;
esac
"#;

struct Chain {
    tack: Tack,
    dir: PathBuf,
}

/// A home with a provider `acme` at this server, and a keychain in this mode.
fn chain(server: &Server, mode: &str) -> Chain {
    let tack = Tack::bare();
    let dir = tack.dir.path().join("chain");
    std::fs::create_dir(&dir).unwrap();
    let tool = dir.join("secret-tool");
    std::fs::write(&tool, TOOL).unwrap();
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    tack.config(&format!(
        "model = \"m\"\nmodel_provider = \"acme\"\nharness = \"minimal\"\n\
         [model_providers.acme]\nname = \"Acme\"\nbase_url = \"{}\"\nenv_key = \"ACME_API_KEY\"\n",
        server.url()
    ));
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
    let chain = Chain { tack: tack.env("PATH", &path), dir };
    chain.mode(mode);
    chain
}

impl Chain {
    fn mode(&self, mode: &str) {
        std::fs::write(self.dir.join("mode"), mode).unwrap();
    }

    /// The command lines that the keychain's program was run with.
    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.join("argv")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.tack.home().join("auth/keys.json")).unwrap_or_default()
    }

    fn sent(server: &Server) -> Vec<Option<String>> {
        server.requests().iter().map(|request| request.header("authorization").map(str::to_owned)).collect()
    }
}

#[test]
fn a_key_in_the_keychain_is_used_when_no_variable_has_one() {
    let server = Server::start(vec![]);
    let chain = chain(&server, "ok");
    let ran = chain.tack.run_with_stdin(["login"], format!("{KEY}\n")).code(0);
    assert_eq!(ran.stdout, "The key for Acme is in the keychain (Secret Service).\n");
    assert!(!chain.file().contains(KEY));
    assert!(chain.calls().iter().all(|call| !call.contains(KEY)), "a secret in an argument list is public");
    chain.tack.run(["-p", "hi"]).code(0);
    assert_eq!(Chain::sent(&server), [Some(format!("Bearer {KEY}"))]);

    let before = chain.calls().len();
    chain.tack.run(["providers"]).code(0);
    chain.tack.run(["-p", "hi", "--provider", "ollama", "-m", "x"]);
    let with_variable = chain.tack.command(["-p", "hi"]).env("ACME_API_KEY", "sk-other").output().unwrap();
    assert!(with_variable.status.success());
    assert_eq!(chain.calls().len(), before, "the keychain is asked only for a key that is needed");
    assert_eq!(Chain::sent(&server)[1], Some("Bearer sk-other".to_owned()));

    let ran = chain.tack.run(["logout"]).code(0);
    assert_eq!(ran.stdout, "The key for Acme is gone from the keychain (Secret Service).\n");
    let ran = chain.tack.run(["-p", "hi"]).code(2);
    assert!(ran.stderr.contains("tack login acme"), "{}", ran.stderr);
}

#[test]
fn without_a_keychain_a_file_keeps_it_and_commands_cannot_see_it() {
    let look = "cat \"$HOME\"/auth/* \"$TACK_HOME\"/auth/* $KEYS; ls \"$HOME\"/auth; env; secret-tool lookup service tack; true";
    let server = Server::start(vec![calls("a", "bash", &json!({"command": look})), says("done")]);
    let chain = chain(&server, "absent");
    let ran = chain.tack.run_with_stdin(["login", "acme"], KEY).code(0);
    assert!(
        ran.stdout.contains("There is no keychain here") && ran.stdout.contains("auth/keys.json"),
        "{}",
        ran.stdout
    );
    assert!(chain.file().contains(KEY));
    let file = chain.tack.home().join("auth/keys.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let path = chain.tack.home().canonicalize().unwrap().join("auth/keys.json");
    let mut command =
        chain.tack.command(["exec", "--json=full", "look", "-c", "sandbox.env_pass=[\"KEYS\"]"]);
    command.env("KEYS", &path).env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus");
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("PATH="), "{text}");
    assert!(!text.contains(KEY) && !text.contains("DBUS_SESSION_BUS_ADDRESS="), "{text}");
    let sent = format!("Bearer {KEY}");
    assert!(Chain::sent(&server).iter().all(|header| header.as_deref() == Some(sent.as_str())));
    for request in server.requests() {
        assert!(!request.body.to_string().contains(KEY), "the model read the key");
    }
}

#[test]
fn the_session_bus_cannot_be_reached_from_commands() {
    let chain = chain(&Server::start(vec![]), "absent");
    let look = "ls /run/user; test -z \"$DBUS_SESSION_BUS_ADDRESS$XDG_RUNTIME_DIR\" && echo closed";
    let mut command = chain.tack.command(["sandbox", "run", "--", "sh", "-c", look]);
    command
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus")
        .env("XDG_RUNTIME_DIR", "/run/user/0");
    let out = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "closed\n");
}

#[test]
fn what_goes_wrong_is_said_with_the_way_out() {
    let server = Server::start(vec![]);
    let mut text = String::new();
    let mut run = |what: &str, chain: &Chain, args: &[&str], stdin: &str, want: i32| {
        let ran = chain.tack.run_with_stdin(args, stdin).code(want);
        assert!(!ran.stderr.contains("sk-"), "{what}: {}", ran.stderr);
        text += &row(what, &chain.tack, &ran);
    };
    let one = chain(&server, "ok");
    one.tack.run_with_stdin(["login"], KEY).code(0);
    one.mode("locked");
    run("locked, a run", &one, &["-p", "hi", "--no-stdin"], "", 2);
    run("locked, store", &one, &["login"], "sk-2", 2);
    run("locked, remove", &one, &["logout"], "", 2);
    one.mode("absent");
    run("gone, a run", &one, &["-p", "hi", "--no-stdin"], "", 2);
    one.mode("ok");
    std::fs::remove_file(one.dir.join("item-acme")).unwrap();
    run("removed by others", &one, &["-p", "hi", "--no-stdin"], "", 2);
    let two = chain(&server, "absent");
    run("two lines", &two, &["login"], "sk-1\nsk-2\n", 2);
    run("a control character", &two, &["login"], "sk-\u{1b}[A\n", 2);
    run("nothing", &two, &["login"], "\n", 2);
    run("nobody of that name", &two, &["login", "opnrouter"], "sk-1", 2);
    two.tack.run_with_stdin(["login"], KEY).code(0);
    let file = two.tack.home().join("auth/keys.json");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    run("open to others", &two, &["-p", "hi", "--no-stdin"], "", 2);
    std::fs::write(&file, KEY).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    run("damaged", &two, &["-p", "hi", "--no-stdin"], "", 2);
    let bare = Tack::bare();
    text += &row("which", &bare, &bare.run_with_stdin(["login"], "sk-1").code(2));
    insta::assert_snapshot!(text);
    assert_eq!(server.requests().len(), 0);
}

/// Runs `tack login` on a terminal, types, and gives the exit code and what the terminal showed.
fn on_terminal(chain: &Chain, typed: &[u8]) -> (u32, String) {
    let pty = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tack"));
    command.arg("login");
    command.cwd(chain.tack.work());
    command.env_clear();
    for (name, value) in chain.tack.command(["login"]).get_envs() {
        command.env(name, value.unwrap());
    }
    let mut child = pty.slave.spawn_command(command).unwrap();
    let mut reader = pty.master.try_clone_reader().unwrap();
    let shown = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let copy = shown.clone();
    let drain = std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            copy.lock().unwrap().extend_from_slice(&buffer[..read]);
        }
    });
    let text = || String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
    wait_for("the question", || text().contains("(not shown)"));
    let mut writer = pty.master.take_writer().unwrap();
    writer.write_all(typed).unwrap();
    let code = child.wait().unwrap().exit_code();
    // The echo is back for whoever types next.
    let modes =
        rustix::termios::tcgetattr(std::fs::File::open(pty.master.tty_name().unwrap()).unwrap()).unwrap();
    assert!(
        modes.local_modes.contains(rustix::termios::LocalModes::ECHO),
        "the terminal was left without echo"
    );
    drop((writer, pty.slave, pty.master));
    drain.join().unwrap();
    (code, text())
}

#[test]
fn a_typed_key_is_not_shown_and_the_terminal_is_put_back() {
    let chain = chain(&Server::start(vec![]), "ok");
    let (code, shown) = on_terminal(&chain, format!("{KEY}\n").as_bytes());
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("sk-") && shown.contains("The key for Acme is in the keychain"), "{shown}");
    assert_eq!(std::fs::read_to_string(chain.dir.join("item-acme")).unwrap(), KEY);
    let (code, _) = on_terminal(&chain, b"half a k\x03");
    assert_eq!(code, 130);
    assert_eq!(std::fs::read_to_string(chain.dir.join("item-acme")).unwrap(), KEY);
}
