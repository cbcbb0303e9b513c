//! Tests of the file gate, links and races among them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{FileError, Kind, list, open, remove, replace, resolve};
use crate::sandbox::{Mode, Policy, Wish};

struct Project {
    _top: tempfile::TempDir,
    home: PathBuf,
    proj: PathBuf,
    policy: Policy,
}

fn project(mode: Mode) -> Project {
    // Not below /tmp, which the policy maps to another folder.
    let top = tempfile::tempdir_in("/var/tmp").unwrap();
    let home = top.path().canonicalize().unwrap().join("home");
    let proj = home.join("proj");
    for dir in ["proj/.git/hooks", "proj/sub", ".ssh", "tmp"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    fs::write(home.join(".ssh/id"), "private").unwrap();
    fs::write(home.join("outside"), "outside").unwrap();
    fs::write(proj.join("a"), "a").unwrap();
    let wish = Wish { home: Some(home.clone()), tmp: Some(home.join("tmp")), ..Wish::new(mode, &proj) };
    Project { policy: wish.settle().unwrap().policy, _top: top, home, proj }
}

fn read(policy: &Policy, path: &Path) -> Result<String, FileError> {
    let mut text = String::new();
    open(policy, path)?.file.read_to_string(&mut text).unwrap();
    Ok(text)
}

fn denied<T>(result: Result<T, FileError>) -> bool {
    result.is_err_and(|e| matches!(e, FileError::Denied { .. }))
}

#[test]
fn writing_is_held_to_the_roots_wherever_a_link_leads() {
    let p = project(Mode::WorkspaceWrite);
    symlink(p.home.join("outside"), p.proj.join("link")).unwrap();
    symlink("../outside", p.proj.join("relative")).unwrap();
    symlink(&p.home, p.proj.join("up")).unwrap();
    symlink(p.home.join("new"), p.proj.join("dangling")).unwrap();
    for path in [
        "link",
        "relative",
        "up/x",
        "dangling",
        "../x",
        "up/made/x",
        "sub/../../y",
        ".git/hooks/h",
        ".git/config",
    ] {
        assert!(denied(replace(&p.policy, &p.proj.join(path), b"x")), "{path}");
    }
    assert_eq!(fs::read_to_string(p.home.join("outside")).unwrap(), "outside");
    assert!(!p.home.join("new").exists() && !p.home.join("made").exists());
    assert!(denied(remove(&p.policy, &p.proj.join("up/outside"))));
}

#[test]
fn a_link_inside_the_roots_is_followed_and_kept() {
    let p = project(Mode::WorkspaceWrite);
    symlink("a", p.proj.join("link")).unwrap();
    let written = replace(&p.policy, &p.proj.join("link"), b"new").unwrap();
    assert_eq!((written.real, written.created), (p.proj.join("a"), false));
    assert!(p.proj.join("link").is_symlink());
    assert_eq!(read(&p.policy, &p.proj.join("link")).unwrap(), "new");
}

#[test]
fn the_mode_is_kept_and_missing_folders_are_made() {
    let p = project(Mode::WorkspaceWrite);
    fs::set_permissions(p.proj.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    replace(&p.policy, &p.proj.join("a"), b"x").unwrap();
    assert_eq!(fs::metadata(p.proj.join("a")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(replace(&p.policy, &p.proj.join("n/e/w"), b"x").unwrap().created);
    assert_eq!(fs::read_dir(p.proj.join("n/e")).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn hidden_files_cannot_be_read_by_any_name() {
    let p = project(Mode::WorkspaceWrite);
    symlink(p.home.join(".ssh"), p.proj.join("keys")).unwrap();
    for path in [p.home.join(".ssh/id"), p.proj.join("keys/id"), p.proj.join("../.ssh/id")] {
        assert!(denied(open(&p.policy, &path)), "{}", path.display());
        assert!(denied(resolve(&p.policy, &path)), "{}", path.display());
    }
    assert!(denied(list(&p.policy, &p.home.join(".ssh"))));
    let names: Vec<_> = list(&p.policy, &p.home).unwrap().1.into_iter().map(|e| e.name).collect();
    assert_eq!(names, ["outside", "proj", "tmp"]);
    assert_eq!(read(&p.policy, &p.home.join("outside")).unwrap(), "outside");
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let p = project(Mode::WorkspaceWrite);
    let fifo = p.proj.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(p.proj.join("socket")).unwrap();
    for path in [fifo, p.proj.join("socket"), p.proj.clone()] {
        assert!(matches!(open(&p.policy, &path), Err(FileError::WrongKind { .. })), "{}", path.display());
    }
    assert!(denied(open(&p.policy, Path::new("/dev/zero"))));
    for path in ["fifo", "sub"] {
        let written = replace(&p.policy, &p.proj.join(path), b"x");
        assert!(matches!(written, Err(FileError::WrongKind { .. })), "{path}");
    }
    assert!(matches!(remove(&p.policy, &p.proj.join("sub")), Err(FileError::WrongKind { .. })));
    assert!(matches!(open(&p.policy, &p.proj.join("none")), Err(FileError::NotFound(_))));
    let kinds: Vec<_> = list(&p.policy, &p.proj).unwrap().1.into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [Kind::Dir, Kind::File, Kind::Other, Kind::Other, Kind::Dir]);
}

#[test]
fn tmp_is_the_session_folder_also_behind_a_link() {
    let p = project(Mode::ReadOnly);
    let name = Path::new("/tmp/tack-test-nowhere/x");
    replace(&p.policy, name, b"t").unwrap();
    assert_eq!(fs::read_to_string(p.home.join("tmp/tack-test-nowhere/x")).unwrap(), "t");
    assert!(!name.exists());
    symlink("/tmp/tack-test-nowhere", p.proj.join("t")).unwrap();
    assert!(matches!(open(&p.policy, &p.proj.join("t/x")), Err(FileError::NotFound(_))), "the host has none");
    assert_eq!(p.policy.seen(&p.home.join("tmp/tack-test-nowhere/x")), name);
    assert!(denied(replace(&p.policy, &p.proj.join("a"), b"x")), "read-only");
}

#[test]
fn a_swapped_link_never_widens_the_grant() {
    let p = project(Mode::WorkspaceWrite);
    let (inside, outside) = (p.proj.join("sub"), p.home.join("target"));
    fs::create_dir(&outside).unwrap();
    let door = p.proj.join("door");
    symlink(&inside, &door).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for target in [&inside, &outside] {
                    let next = p.proj.join("next");
                    symlink(target, &next).unwrap();
                    fs::rename(&next, &door).unwrap();
                }
            }
        });
        for n in 0..2000 {
            let _ = replace(&p.policy, &door.join(format!("f{}", n % 7)), b"x");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}
