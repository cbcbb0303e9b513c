//! `install.sh` when something is wrong: it says so, and leaves everything as it was.

use std::process::{Command, Stdio};

use crate::install::{
    Machine, Member, SCRIPT, SHELLS, archive, file, gzip, line, list, machine_dir, name, packed, release,
    serve, tack,
};
use crate::server::{Frame, Reply, Server, hangs_up, raw, silent, sse, text_body};

/// Runs it where an older tack is installed and where none is: nothing may change.
fn refuses(server: &Server, fetcher: &str, why: &str) {
    for old in [true, false] {
        let machine = Machine::at(server).fetcher(fetcher);
        if old {
            machine.program("home/.local/bin/tack", &tack("1.0.0"));
        }
        let before = machine.files();
        let ran = machine.run(&[]);
        let what = format!("{fetcher}, {why:?}: {} {} {}", ran.code, ran.stdout, ran.stderr);
        assert!(ran.code == 1 && ran.stderr.contains(why), "{what}");
        assert!(!ran.stdout.contains("installed") && !ran.stdout.contains("replaced"), "{what}");
        assert_eq!(machine.files(), before, "{what}");
    }
}

/// A server whose list names the archive as it should be, and which sends this one.
fn sends(reply: Reply) -> Server {
    serve(vec![list(&line("1.2.3", &archive("1.2.3"))), (name("1.2.3"), reply)])
}

/// A server whose list is right about these bytes.
fn lists(bytes: &[u8]) -> Server {
    serve(vec![list(&line("1.2.3", bytes)), (name("1.2.3"), file(bytes))])
}

#[test]
fn what_does_not_arrive_whole_is_refused() {
    let good = archive("1.2.3");
    let cut = sse([raw(&good[..good.len() / 2]), Frame::Cut]);
    let short = file(&good[..good.len() - 1]);
    let gone = format!("{} could not be fetched", name("1.2.3"));
    let differs = format!("{} is not what SHA256SUMS lists", name("1.2.3"));
    for fetcher in ["curl", "wget", "busybox wget"] {
        refuses(&sends(file(&archive("1.2.4"))), fetcher, &differs);
        refuses(&sends(short.clone()), fetcher, &differs);
        refuses(&sends(file(b"")), fetcher, &differs);
        refuses(&sends(text_body(404, "text/html", "<h1>no</h1>")), fetcher, &gone);
        refuses(&serve(vec![]), fetcher, "SHA256SUMS could not be fetched");
    }
    // These are tried again, so once is enough.
    refuses(&sends(cut), "curl", &gone);
    refuses(&sends(text_body(500, "text/plain", "x")), "curl", &gone);
    refuses(&sends(text_body(500, "text/plain", "x")), "wget", &gone);
    refuses(&serve(vec![("SHA256SUMS".into(), hangs_up())]), "curl", "SHA256SUMS could not be fetched");
}

#[test]
fn a_list_that_does_not_name_one_archive_is_refused() {
    let good = archive("1.2.3");
    let right = line("1.2.3", &good);
    let other = line("1.2.3", b"other");
    let none = "lists no archive of tack for ";
    let huge = format!("{right}{}", "#\n".repeat(1 << 20));
    for (text, why) in [
        ("", none),
        ("<html>hello</html>", none),
        (&right.replace("-linux", "-plan9"), none),
        (&right[1..], none),
        (&right.replace("1.2.3", "1.2"), none),
        (&right.replace("  ", " "), "could not be fetched"), // named, but not there
        (&format!("{right}{other}"), "lists two sums for tack 1.2.3"),
        (&huge, "SHA256SUMS could not be fetched"),
    ] {
        refuses(&serve(vec![list(text)]), "curl", why);
    }
    refuses(&serve(vec![list(&huge)]), "wget", "SHA256SUMS could not be fetched");
}

#[test]
fn an_archive_with_anything_else_in_it_is_refused() {
    let tack = tack("1.2.3");
    let licence: Member = ("LICENSE", b'0', "l");
    let readme: Member = ("README.md", b'0', "r");
    let file: Member = ("tack", b'0', &tack);
    let other = "holds other files than";
    let broken = "does not run here";
    let rows: [(Vec<u8>, &str); 13] = [
        (packed(&[licence, readme]), other),
        (packed(&[licence, readme, file, ("more", b'0', "x")]), other),
        (packed(&[licence, readme, file, file]), other),
        (packed(&[licence, readme, ("/tmp/tack", b'0', &tack)]), other),
        (packed(&[licence, readme, ("../tack", b'0', &tack)]), other),
        (packed(&[licence, readme, ("tack/", b'5', "")]), other),
        (packed(&vec![file; 5000]), other),
        (packed(&[licence, readme, ("tack", b'2', "/bin/true")]), broken),
        (packed(&[licence, readme, ("tack", b'1', "README.md")]), broken),
        (packed(&[licence, readme, ("tack", b'0', "\x7fELF of another system")]), broken),
        (packed(&[licence, readme, ("tack", b'0', "#!/bin/sh\necho tack 9.9.9\n")]), broken),
        (b"no archive at all".to_vec(), "cannot be unpacked"),
        (gzip(b"no archive at all"), other),
    ];
    for (bytes, why) in rows {
        refuses(&lists(&bytes), "curl", why);
    }
}

#[test]
fn a_signal_stops_it_at_once_and_nothing_stays() {
    for shell in SHELLS {
        let server = sends(silent());
        let mut machine = Machine::at(&server);
        machine.shell = shell;
        machine.program("install.sh", SCRIPT);
        let script = machine_dir(&machine, "install.sh");
        // No pipes: a fetcher that outlives the script would hold them open.
        let mut command = machine.command(&[&script]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        server.wait(|requests| requests.len() == 2);
        assert!(machine.files().len() > 2, "the folder to work in is there: {:?}", machine.files());
        let killed = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(143), "{shell:?}");
        assert_eq!(machine.files(), [""; 0], "{shell:?}");
        // The fetcher has ended too.
        server.wait(|requests| requests[1].closed_early);
    }
}

#[test]
fn a_script_cut_off_anywhere_does_nothing() {
    let server = release("1.2.3");
    let whole = SCRIPT.trim_end();
    assert!(whole.ends_with('}'), "the brace that makes it whole comes last");
    // The last line, the first lines and each end of a line for every shell; every byte for one.
    let lines = whole.match_indices('\n').map(|(at, _)| at);
    let some: Vec<usize> = (0..40).chain(whole.len() - 40..whole.len()).chain(lines).collect();
    for shell in SHELLS {
        let mut machine = Machine::at(&server);
        machine.shell = shell;
        let cuts = if shell == SHELLS[0] { (0..whole.len()).collect() } else { some.clone() };
        for cut in cuts {
            let ran = machine.pipe(&whole.as_bytes()[..cut], &[]);
            let quiet = ran.stdout.is_empty() && !ran.stderr.contains("install.sh: ");
            assert!(quiet, "{shell:?} cut at {cut}: {} {}", ran.stdout, ran.stderr);
        }
        assert_eq!(machine.files(), [""; 0], "{shell:?}");
        assert!(server.requests().is_empty(), "{shell:?}");
    }
    assert_eq!(Machine::at(&server).pipe(whole.as_bytes(), &[]).code, 0, "the whole does");
}

#[test]
fn what_is_missing_here_is_named() {
    let server = release("1.2.3");
    let at = || Machine::at(&server);
    let uname = |machine: Machine, system: &str, cpu: &str| {
        machine.program("bin/uname", &format!("#!/bin/sh\n[ $1 = -m ] && echo {cpu} || echo {system}\n"));
        machine
    };
    let no_fetcher = at();
    no_fetcher.unlink("curl");
    let folder = at();
    folder.program("home/.local/bin/tack/x", "");
    let blocked = at();
    blocked.program("home/.local", "a file");
    let rows = [
        (at().without("TACK_RELEASE_URL"), "set TACK_RELEASE_URL"),
        (at().env("TACK_RELEASE_URL", "file:///etc"), "has to start with https://"),
        (at().env("TACK_RELEASE_URL", "-o /x"), "has to start with https://"),
        (no_fetcher, "neither curl nor wget is there"),
        (uname(at(), "MINGW64_NT", "x86_64"), "no archives for MINGW64_NT: get the source"),
        (uname(at(), "Linux", "armv7l"), "no archives for Linux armv7l: get the source"),
        (uname(at(), "Darwin", "arm64"), "lists no archive of tack for aarch64 Darwin"),
        (folder, "is a folder"),
        (blocked, "cannot be made: set TACK_INSTALL_DIR"),
        // Not even root can write there.
        (at().env("TACK_INSTALL_DIR", "/proc"), "/proc cannot be written: set TACK_INSTALL_DIR"),
    ];
    for (machine, why) in rows {
        let before = machine.files();
        let ran = machine.run(&[]);
        assert!(ran.code == 1 && ran.stderr.contains(why), "{why}: {} {}", ran.code, ran.stderr);
        assert_eq!(machine.files(), before, "{why}");
    }
    let ran = at().run(&["--help"]);
    assert!(ran.code == 1 && ran.stderr.contains("unknown option --help"), "{}", ran.stderr);
}

#[test]
fn a_shell_that_is_translated_on_apple_silicon_asks_for_the_native_binary() {
    let server = serve(vec![list("")]);
    for (translated, cpu) in [("1", "aarch64"), ("0", "x86_64")] {
        let machine = Machine::at(&server);
        machine.program("bin/uname", "#!/bin/sh\n[ $1 = -m ] && echo x86_64 || echo Darwin\n");
        machine.program("bin/sysctl", &format!("#!/bin/sh\necho {translated}\n"));
        let ran = machine.run(&[]);
        assert!(ran.stderr.contains(&format!("for {cpu} Darwin")), "{}", ran.stderr);
    }
}
