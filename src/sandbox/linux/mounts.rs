//! What the command sees of the disk: steps 5 to 8 of tier A.
//!
//! Everything becomes read-only, then detached copies taken before that are put on top, from the
//! shallow path to the deep: writable roots, read-only carve-outs, empty covers. Paths are opened
//! without following links: a link that appeared since the policy was made ends the setup.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
};

use super::helper::{Fault, Step};
use super::order::Order;
use crate::sandbox::Net;

const RDONLY: u64 = 0x1;
const NOSUID: u64 = 0x2;
const NODEV: u64 = 0x4;

/// Host devices that commands get; everything else below `/dev` is gone.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
/// Read-only in the fresh `/proc`, as they act on the whole machine.
const SEALED: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"];
const BLANKED: &[&str] = &["kcore", "keys", "kmsg", "timer_list"];
/// Below `/run`, kept although the rest of it is private: systems whose programs lie there.
const RUN_KEPT: &[&str] =
    &["/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers"];

/// Something to be put on top of a path.
struct Layer {
    target: PathBuf,
    mount: OwnedFd,
}

/// Builds the view and changes into it.
pub(super) fn build(order: &Order, sockets: &[PathBuf]) -> Result<(), Fault> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).step("propagation")?;
    let mut layers = Vec::new();
    for root in order.write() {
        layers.extend(layer(root, NOSUID | NODEV).step("write-roots")?);
    }
    if let Some(layer) = put_back(order).step("cwd")? {
        layers.push(layer);
    }
    // Nothing can be mounted on a link; the parent compares those afterwards.
    for path in order.protect().filter(|p| !p.is_symlink()) {
        layers.extend(layer(path, RDONLY | NOSUID | NODEV).step("protect")?);
    }
    for path in order.hide().chain(sockets.iter().map(PathBuf::as_path)) {
        layers.extend(cover(path).step("hide")?);
    }
    layers.extend(run_kept(order).step("run")?);
    let tmp = order.tmp().map(clone).transpose().step("tmp")?;
    let devices = devices().step("dev")?;
    set(CWD.as_raw_fd(), c"/", RDONLY | NOSUID).step("read-only")?;
    fresh(tmp, devices)?;
    // Stable: of two layers on one path the later kind wins, so hide covers protect covers write.
    layers.sort_by_key(|layer| layer.target.components().count());
    for layer in layers {
        put(&layer).step("layers")?;
    }
    fresh_proc().step("proc")
}

/// `/tmp`, `/run`, `/dev`: before the layers, some of which lie below them.
fn fresh(tmp: Option<OwnedFd>, devices: Vec<(&str, OwnedFd)>) -> Result<(), Fault> {
    let tmp = match tmp {
        Some(tmp) => set(tmp.as_raw_fd(), c"", NOSUID | NODEV).map(|()| tmp),
        None => tmpfs("1777", "1g", NOSUID | NODEV),
    };
    attach(&tmp.step("tmp")?, Path::new("/tmp")).step("tmp")?;
    if Path::new("/run").is_dir() {
        let run = tmpfs("755", "16m", NOSUID | NODEV).step("run")?;
        attach(&run, Path::new("/run")).step("run")?;
    }
    let dev = tmpfs("755", "1m", NOSUID).step("dev")?;
    attach(&dev, Path::new("/dev")).step("dev")?;
    fill_dev(devices).step("dev")
}

fn fill_dev(devices: Vec<(&str, OwnedFd)>) -> io::Result<()> {
    for (name, mount) in devices {
        let target = Path::new("/dev").join(name);
        fs::write(&target, "")?;
        attach(&mount, &target)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, Path::new("/dev").join(name))?;
    }
    fs::create_dir("/dev/pts")?;
    let pts = filesystem("devpts", &[("ptmxmode", "666"), ("mode", "620")], NOSUID)?;
    attach(&pts, Path::new("/dev/pts"))?;
    fs::create_dir("/dev/shm")?;
    attach(&tmpfs("1777", "50%", NOSUID | NODEV)?, Path::new("/dev/shm"))
}

/// A `/proc` of the new namespace: other processes are not in it. Refused by the kernel in some
/// containers; sharing the old one is no way out.
fn fresh_proc() -> io::Result<()> {
    let proc = filesystem("proc", &[], NOSUID | NODEV | 0x8)?;
    attach(&proc, Path::new("/proc"))
}

/// To be called when the namespace's own settings in `/proc/sys` are made.
pub(super) fn seal_proc() -> Result<(), Fault> {
    for name in SEALED {
        let path = Path::new("/proc").join(name);
        if let Some(layer) = layer(&path, RDONLY | NOSUID | NODEV).step("proc")? {
            put(&layer).step("proc")?;
        }
    }
    for name in BLANKED {
        let path = Path::new("/proc").join(name);
        if fs::symlink_metadata(&path).is_ok() {
            attach(&device(Path::new("/dev/null")).step("proc")?, &path).step("proc")?;
        }
    }
    Ok(())
}

fn devices() -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let there = DEVICES.iter().filter(|name| Path::new("/dev").join(name).exists());
    there.map(|name| Ok((*name, device(&Path::new("/dev").join(name))?))).collect()
}

/// A device of the machine. It can be written to on a read-only mount, but its mode, which is the
/// machine's too and which root owns, cannot be changed.
fn device(path: &Path) -> io::Result<OwnedFd> {
    let mount = clone(path)?;
    set(mount.as_raw_fd(), c"", RDONLY | NOSUID)?;
    Ok(mount)
}

/// An open `/dev/null` still belongs to the mount it was opened on, which is the machine's.
pub(super) fn reopen_null() -> io::Result<()> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let wanted = rustix::fs::fstat(&null)?;
    for number in 0..=2 {
        // SAFETY: only looked at, here and now; a closed one is an error and stays closed.
        let open = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let same =
            rustix::fs::fstat(open).is_ok_and(|s| (s.st_ino, s.st_dev) == (wanted.st_ino, wanted.st_dev));
        // SAFETY: both are open; what was the host's file at this number is given up.
        if same && unsafe { libc::dup2(null.as_raw_fd(), number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The user's folder, read-only, when `/tmp` or `/run` would cover it. Never the one a call names:
/// that would show a command whatever of the two it asks for.
fn put_back(order: &Order) -> io::Result<Option<Layer>> {
    let cwd = order.folder();
    let covered = cwd.starts_with("/tmp") || cwd.starts_with("/run");
    let inside_tmp = order.tmp().is_some_and(|tmp| !cwd.starts_with(tmp)) && !cwd.is_dir();
    if !covered || cwd == Path::new("/tmp") || inside_tmp || order.write().any(|root| cwd.starts_with(root)) {
        return Ok(None);
    }
    layer(cwd, RDONLY | NOSUID | NODEV)
}

/// Named sockets that programs of the machine hold now. A read-only mount does not keep anybody from
/// connecting, and Landlock only from version 9 on; so they are covered like hidden files. Those
/// below the private folders are out of sight anyway. To be read before leaving the network.
pub(super) fn sockets(order: &Order) -> Vec<PathBuf> {
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let names = table.split(|b| *b == b'\n').filter_map(|line| {
        let start = line.iter().position(|b| *b == b'/')?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(&line[start..])))
    });
    let in_sight = |path: &PathBuf| {
        let private = ["/tmp", "/run", "/dev"].iter().any(|dir| path.starts_with(dir));
        !private || order.write().chain([order.folder()]).any(|root| path.starts_with(root))
    };
    let mut found: Vec<PathBuf> = names.filter(in_sight).filter_map(|p| p.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

fn run_kept(order: &Order) -> io::Result<Vec<Layer>> {
    let mut kept: Vec<PathBuf> = RUN_KEPT.iter().map(PathBuf::from).collect();
    if order.net == Net::Full {
        kept.push("/run/systemd/resolve".into());
        let resolver = fs::canonicalize("/etc/resolv.conf").ok();
        kept.extend(resolver.filter(|p| p.starts_with("/run")).and_then(|p| Some(p.parent()?.to_path_buf())));
        kept.sort();
        kept.dedup();
    }
    let links = |path: &PathBuf| fs::read_link(path).ok();
    let mut layers = Vec::new();
    for path in kept.iter().filter(|p| links(p).is_none() && p.as_path() != Path::new("/run")) {
        layers.extend(layer(path, RDONLY | NOSUID | NODEV)?);
    }
    Ok(layers)
}

/// What hides a path: an empty folder nobody may enter, or an empty file. None if nothing is there.
fn cover(path: &Path) -> io::Result<Option<Layer>> {
    let Some(there) = open(path)? else { return Ok(None) };
    let dir = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&there)?.st_mode).is_dir();
    let mount = match dir {
        true => tmpfs("000", "4k", RDONLY | NOSUID | NODEV)?,
        false => device(Path::new("/dev/null"))?,
    };
    Ok(Some(Layer { target: path.to_path_buf(), mount }))
}

/// A detached copy of what is at `path`; None if nothing is.
fn layer(path: &Path, attributes: u64) -> io::Result<Option<Layer>> {
    let Some(mount) = clone_if_there(path)? else { return Ok(None) };
    set(mount.as_raw_fd(), c"", attributes)?;
    Ok(Some(Layer { target: path.to_path_buf(), mount }))
}

fn clone_if_there(path: &Path) -> io::Result<Option<OwnedFd>> {
    let Some(there) = open(path)? else { return Ok(None) };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(Some(rustix::mount::open_tree(&there, "", flags)?))
}

fn clone(path: &Path) -> io::Result<OwnedFd> {
    clone_if_there(path)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// A handle on a path that has no link in it.
fn open(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(fd) => Ok(Some(fd)),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        // Not even we may look there, so the command may not either: nothing to put on top.
        Err(rustix::io::Errno::ACCESS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn put(layer: &Layer) -> io::Result<()> {
    let Layer { target, mount } = layer;
    if open(target)?.is_none() {
        if !target.starts_with("/tmp") && !target.starts_with("/run") {
            // It went away since it was looked at: nothing is there to be covered.
            return Ok(());
        }
        let dir = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(mount)?.st_mode).is_dir();
        let below = if dir { Some(target.as_path()) } else { target.parent() };
        fs::create_dir_all(below.unwrap_or(target))?;
        if !dir {
            fs::write(target, "")?;
        }
    }
    attach(mount, target)
}

fn attach(mount: &OwnedFd, target: &Path) -> io::Result<()> {
    let there = open(target)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
    let empty = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", there.as_fd(), "", empty)?;
    Ok(())
}

fn tmpfs(mode: &str, size: &str, attributes: u64) -> io::Result<OwnedFd> {
    filesystem("tmpfs", &[("mode", mode), ("size", size)], attributes)
}

fn filesystem(kind: &str, options: &[(&str, &str)], attributes: u64) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        rustix::mount::fsconfig_set_string(&context, *key, *value)?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::from_bits_retain(u32::try_from(attributes).unwrap_or(0));
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// `mount_setattr(2)`, recursive; rustix has no call for it. An empty path means the descriptor.
fn set(fd: i32, path: &std::ffi::CStr, attributes: u64) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    let attr = MountAttr { set: attributes, clear: 0, propagation: 0, userns: 0 };
    let flags = libc::AT_RECURSIVE | libc::AT_EMPTY_PATH;
    let size = std::mem::size_of::<MountAttr>();
    // SAFETY: the struct has the kernel's layout, its size is passed, and it outlives the call.
    let done =
        unsafe { libc::syscall(libc::SYS_mount_setattr, fd, path.as_ptr(), flags, &raw const attr, size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
