//! Shells that last from command to command, and the harness's rules for commands.

use tack::model::{Action, Outcome, ShellRules, State, Within};
use tack::sandbox::Tier;

use crate::cell::block_on;
use crate::tools_cell::bench_in;
use crate::tools_kit::{Bench, shell};

fn session(command: &str, fresh: bool) -> Action {
    match shell(command) {
        Action::Shell { command, background, yield_after, cwd, about, .. } => {
            let within = Within { session: Some("main".into()), fresh, ..Within::default() };
            Action::Shell { command, timeout: Some(2_000), background, yield_after, cwd, about, within }
        }
        other => other,
    }
}

async fn run(bench: &Bench, command: &str) -> Outcome {
    bench.run(&session(command, false)).await
}

#[test]
fn folder_variables_and_functions_last_whatever_a_command_does() {
    let mut benches = vec![("plain", Bench::new(), None)];
    for (name, tier) in [("namespaces", Tier::Namespaces), ("landlock", Tier::Landlock)] {
        benches.extend(bench_in(tier).map(|(bench, scratch)| (name, bench, Some(scratch))));
    }
    block_on(async {
        for (name, bench, _scratch) in benches {
            let cwd = bench.cwd.to_string_lossy().into_owned();
            // command, exit, text, folder below the working folder
            let table: [(&str, Option<i32>, &str, &str); 18] = [
                ("mkdir -p 'a b/c'; cd 'a b'", Some(0), "", "/a b"),
                ("export X='1 \"2\"\n$3' Y=é; f() { echo f:$1; }", Some(0), "", "/a b"),
                (
                    "pwd; echo \"$X\"; f $Y; echo $0 $#",
                    Some(0),
                    "<cwd>/a b\n1 \"2\"\n$3\nf:é\nbash 0\n",
                    "/a b",
                ),
                ("cd c && exit 3", Some(3), "", "/a b/c"),
                ("false", Some(1), "", "/a b/c"),
                ("set -eu; set -C; cd ..; false; echo never", Some(1), "", "/a b"),
                ("echo ${NO_SUCH-unset}; echo $X | head -1", Some(0), "unset\n1 \"2\" $3\n", "/a b"),
                ("cd /; kill -9 $$", Some(137), "", "/a b"),
                ("trap 'echo bye' EXIT; cd c; export Z=5", Some(0), "bye\n", "/a b/c"),
                ("echo $Z; cd -", Some(0), "5\n<cwd>/a b\n", "/a b"),
                ("unset X; echo here > f; cat <<'E'\nquoted $X\nE\n", Some(0), "quoted $X\n", "/a b"),
                ("echo ${X-gone}; exec true", Some(0), "gone\n", "/a b"),
                ("set -x; cd c", Some(0), "++ cd c\n", "/a b/c"),
                ("cd ..; rm -r c", Some(0), "", "/a b"),
                ("(cd /; exit 2)", Some(2), "", "/a b"),
                ("echo $SHLVL; pwd", Some(0), "1\n<cwd>/a b\n", "/a b"),
                // A pipe in place of the file would hold up every command that follows.
                ("rm \"$__tack_state.env\"; mkfifo \"$__tack_state.env\"; kill -9 $$", Some(137), "", "/a b"),
                ("export Y=é; echo on", Some(0), "on\n", "/a b"),
            ];
            for (command, exit, text, folder) in table {
                let ran = run(&bench, command).await;
                assert_eq!(
                    (ran.exit, ran.text.replace(&cwd, "<cwd>").as_str()),
                    (exit, text),
                    "{name}: {command}"
                );
                assert_eq!(ran.data["cwd"], format!("{cwd}{folder}"), "{name}: {command}");
            }
            let slow = run(&bench, "cd /; sleep 100").await;
            assert_eq!(slow.state, State::TimedOut, "{name}");
            assert!(run(&bench, "pwd").await.exit == Some(0), "{name}: a stop spoils nothing");
            run(&bench, &format!("cd '{cwd}/a b'")).await;
            std::fs::remove_dir_all(bench.cwd.join("a b")).unwrap();
            let back = run(&bench, "pwd; echo $Y").await;
            let text = back.text.replace(&cwd, "<cwd>");
            assert_eq!(text, "<cwd>\né\n[<cwd>/a b is gone, so the shell is back in <cwd>]", "{name}");
            assert_eq!(
                bench.shell("echo ${Y-none}").await.text,
                "none\n",
                "{name}: others have no part in it"
            );
            let fresh = bench.run(&session("pwd; echo ${Y-none}", true)).await;
            assert_eq!(fresh.text.replace(&cwd, "<cwd>"), "<cwd>\nnone\n", "{name}");
        }
    });
}

#[test]
fn a_resumed_session_finds_its_folder_and_is_told_what_is_gone() {
    let Some((bench, _scratch)) = bench_in(Tier::Namespaces) else { return };
    block_on(async {
        bench.put("sub/f", "x");
        let sub = bench.cwd.join("sub");
        bench.toolbox.restore_shell("main", &sub);
        let ran = run(&bench, "ls").await;
        assert_eq!(ran.text, "f\n[this shell is new: variables that were set in the one before are gone]");
        assert_eq!(run(&bench, "ls").await.text, "f\n", "said once");
    });
}

#[test]
fn what_a_command_leaves_for_the_shell_leads_nowhere() {
    let Some((bench, _scratch)) = bench_in(Tier::Namespaces) else { return };
    block_on(async {
        run(&bench, "true").await;
        let base = bench.cwd.parent().unwrap().display().to_string();
        let state = "/tmp/.tack-shell-main";
        for trick in [
            format!("trap - EXIT; rm {state}.cwd; ln -s /etc/passwd {state}.cwd; kill -9 $$"),
            format!("rm {state}.cwd; mkfifo {state}.cwd; kill -9 $$"),
            format!("rm {state}.cwd; echo {base}/cache > {state}.cwd; kill -9 $$"),
            format!("rm {state}.cwd; head -c 100000 /dev/zero > {state}.cwd; kill -9 $$"),
        ] {
            run(&bench, &trick).await;
            let ran = run(&bench, "pwd").await;
            assert_eq!(ran.state, State::Ok, "{trick}: {}", ran.text);
        }
    });
}

#[test]
fn no_function_and_no_state_spoils_the_commands_that_follow() {
    let mut benches = vec![(Bench::new(), None)];
    benches.extend(bench_in(Tier::Namespaces).map(|(bench, scratch)| (bench, Some(scratch))));
    block_on(async {
        for (bench, _scratch) in benches {
            for word in
                ["exit", "trap", "eval", "set", "unset", "export", "command", "declare", "pwd", "true"]
            {
                run(&bench, &format!("export A={word}; {word}() {{ kill -9 $$; }}")).await;
                let next = run(&bench, "exit 3").await;
                assert_eq!(next.exit, Some(3), "{word}: {}", next.text);
                assert_eq!(run(&bench, "echo $A").await.text, format!("{word}\n"));
            }
            for state in ["exit 7", "kill -9 $$", "while :; do sleep 0.1; done", "set -e; false"] {
                run(&bench, &format!("trap - EXIT; echo '{state}' > \"$__tack_state.env\"; kill -9 $$"))
                    .await;
                let spoilt = run(&bench, "echo ran").await;
                assert!(spoilt.text.contains("send the command again"), "{state}: {}", spoilt.text);
                let after = run(&bench, "echo ran").await;
                assert_eq!((after.exit, after.text.as_str()), (Some(0), "ran\n"), "{state}");
            }
            run(&bench, "set -a; B=1; IFS=0123").await;
            let split = run(&bench, "[[ -o posix ]] && echo posix; (exit 12)").await;
            assert_eq!((split.exit, split.text.as_str()), (Some(12), ""));
        }
    });
}

#[test]
fn a_harness_says_how_commands_run() {
    block_on(async {
        let mut bench = Bench::new();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        bench.shell = ShellRules {
            env: vec![set("PAGER", "cat"), set("LD_PRELOAD", "/x.so"), set("TACK_TREE", "x")],
            refuse: vec!["vi".into(), "tail -f".into()],
            refuse_alone: vec!["python".into()],
            syntax: true,
            lasting: true,
        };
        let table = [
            ("echo $PAGER ${LD_PRELOAD-none}; cd /", State::Ok, "cat none\n"),
            ("pwd", State::Ok, "/\n"),
            ("vi f", State::Refused, "`vi` is not run here; nothing was done"),
            ("  tail   -f x", State::Refused, "`tail -f` is not run here; nothing was done"),
            ("python", State::Refused, "`python` is not run here; nothing was done"),
            ("vile() { echo fine; }; vile", State::Ok, "fine\n"),
            ("echo python", State::Ok, "python\n"),
        ];
        for (command, state, text) in table {
            let ran = bench.shell(command).await;
            assert_eq!((ran.state, ran.text.as_str()), (state, text), "{command}");
        }
        let bad = bench.shell("touch made; if true; then echo 'x").await;
        assert_eq!((bad.state, &bad.data["error"]), (State::Failed, &"syntax".into()), "{}", bad.text);
        assert!(bad.text.contains("unexpected EOF"), "{}", bad.text);
        assert!(!std::path::Path::new("/made").exists() && !bench.exists("made"));
    });
}
