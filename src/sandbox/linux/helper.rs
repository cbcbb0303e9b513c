//! The helper's side: from a fresh image of tack to the command, step by step.
//!
//! One thread, no runtime. Each step either succeeds or is reported by name and ends the helper
//! before anything of the command ran. Knows the order, not the policy it came from.
#![allow(unsafe_code)]

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use rustix::thread::UnshareFlags;

use super::order::{NET_FD, Order, STATUS_FD, USER_FD, VERB, Word};
use super::{init, landlock, mounts, seccomp};
use crate::sandbox::{Net, Tier};

/// A failed step.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) step: &'static str,
    pub(super) errno: i32,
}

/// Names the step an error belongs to.
pub(super) trait Step<T> {
    fn step(self, step: &'static str) -> Result<T, Fault>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &'static str) -> Result<T, Fault> {
        self.map_err(|e| Fault { step, errno: e.into().raw_os_error().unwrap_or(libc::EIO) })
    }
}

/// The command line to execute, ready for the kernel.
pub(super) struct Program {
    name: CString,
    args: Vec<CString>,
}

/// Runs the helper if the command line asks for it. To be called before anything else in `main`.
pub fn intercept() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != VERB {
        return None;
    }
    Some(match prepare(args) {
        Ok((order, program)) => run(&order, &program),
        Err(fault) => fail(&fault),
    })
}

fn run(order: &Order, program: &Program) -> ExitCode {
    let ended = match order.tier {
        Tier::Namespaces => namespaces(order, program),
        Tier::Landlock => reduced(order, program),
        Tier::Seatbelt | Tier::WindowsToken | Tier::None => Err(Fault { step: "tier", errno: libc::EINVAL }),
    };
    ended.unwrap_or_else(|fault| fail(&fault))
}

fn fail(fault: &Fault) -> ExitCode {
    say(&Word::Step(fault.step.into(), fault.errno));
    ExitCode::from(125)
}

/// Tells the parent. If it is gone nobody needs to know.
pub(super) fn say(word: &Word) {
    // SAFETY: the helper owns this descriptor from `prepare` on; it is never closed.
    let mut status = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(STATUS_FD) });
    let _ = status.write_all(word.line().as_bytes());
}

/// `ORDER_FD STATUS_FD USER_FD NET_FD PROGRAM ARGS...`. Reads the order, puts the others (the last two
/// may be the first again, see [`Order::join`]) where they belong, and closes everything else.
fn prepare(mut args: impl Iterator<Item = OsString>) -> Result<(Order, Program), Fault> {
    let invalid = || Fault { step: "arguments", errno: libc::EINVAL };
    let mut number =
        || args.next().and_then(|a| a.to_str()?.parse::<i32>().ok()).filter(|n| *n > 2).ok_or_else(invalid);
    let (order, others) = (number()?, [number()?, number()?, number()?]);
    // SAFETY: the parent hands this number over for us to own.
    let mut order = unsafe { File::from_raw_fd(order) };
    let mut json = Vec::new();
    order.read_to_end(&mut json).step("order")?;
    drop(order);
    place(others).step("descriptors")?;
    let order: Order = serde_json::from_slice(&json).map_err(io::Error::other).step("order")?;
    let args: Vec<CString> = args
        .map(|a| CString::new(a.into_vec()).map_err(io::Error::from))
        .collect::<Result<_, _>>()
        .step("arguments")?;
    let name = args.first().cloned().ok_or_else(invalid)?;
    let _ = rustix::process::setsid();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).step("limits")?;
    let _ = setrlimit(Resource::Nice, none);
    if let Some(bytes) = order.limits.address_space {
        limit(Resource::As, bytes).step("limits")?;
    }
    Ok((order, Program { name, args }))
}

/// Moves descriptors to their fixed places, first out of each other's way, and closes the rest.
fn place(numbers: [i32; 3]) -> io::Result<()> {
    const PLACES: [i32; 3] = [STATUS_FD, USER_FD, NET_FD];
    let first_free = NET_FD + 1;
    // SAFETY: plain system calls on numbers; this process has one thread and owns none of them yet.
    unsafe {
        let moved = numbers.map(|fd| libc::fcntl(fd, libc::F_DUPFD, first_free));
        let placed = moved.iter().zip(PLACES).all(|(fd, to)| libc::dup3(*fd, to, libc::O_CLOEXEC) == to);
        if !placed || close_range(first_free, -1) < 0 {
            return Err(io::Error::last_os_error());
        }
        // Waits for nothing and cannot be waited for: the helper blocks where the parent must not.
        libc::fcntl(STATUS_FD, libc::F_SETFL, 0);
    }
    Ok(())
}

/// Closes the descriptors from `first` to `last`; -1 is the highest there can be. By number, for not
/// every C library has the function.
///
/// # Safety
/// Nobody may own one of them.
unsafe fn close_range(first: i32, last: i32) -> libc::c_long {
    // SAFETY: a plain system call on numbers; the caller answers for the descriptors.
    unsafe { libc::syscall(libc::SYS_close_range, first.cast_unsigned(), last.cast_unsigned(), 0) }
}

/// A user namespace to be somebody in, and a network with nothing but a loopback: those of the
/// session's earlier commands, so that what they serve can be reached, or new ones.
fn enter_network(order: &Order) -> Result<(), Fault> {
    // SAFETY: only borrowed, and open since `place`.
    let [user, net] = [USER_FD, NET_FD].map(|fd| unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) });
    if order.join {
        use rustix::thread::{LinkNameSpaceType as Kind, move_into_link_name_space as enter};
        enter(user, Some(Kind::User)).step("join")?;
        return enter(net, Some(Kind::Network)).step("join");
    }
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let net = if order.net == Net::Off { UnshareFlags::NEWNET } else { UnshareFlags::empty() };
    // SAFETY: the helper has one thread and no signal handlers; descriptor tables are not unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | net) }.step("unshare")?;
    fs::write("/proc/self/setgroups", "deny").step("id-map")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).step("id-map")?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).step("id-map")?;
    if order.net == Net::Off {
        loopback_up().step("loopback")?;
    }
    Ok(())
}

/// Tier A: everything in namespaces of its own.
fn namespaces(order: &Order, program: &Program) -> Result<ExitCode, Fault> {
    let parent = rustix::process::getppid();
    let sockets = mounts::sockets(order);
    enter_network(order)?;
    let flags = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    // SAFETY: the helper has one thread and no signal handlers; descriptor tables are not unshared.
    unsafe { rustix::thread::unshare_unsafe(flags) }.step("unshare")?;
    // SAFETY: nobody owns these two; the command must not inherit a way to enter them.
    unsafe { close_range(USER_FD, NET_FD) };
    // The change of user namespace may have cleared it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).step("parent")?;
    if rustix::process::getppid() != parent {
        return Err(Fault { step: "parent", errno: libc::ESRCH });
    }
    let (alive, life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).step("fork")?;
    match init::fork().step("fork")? {
        Some(inner) => {
            drop(alive);
            Ok(init::outer(inner, life))
        }
        None => {
            drop(life);
            let done = inner(order, program, (&alive, &sockets));
            // pid 1 ends here, and with it everything in the namespace.
            init::leave(done.unwrap_or_else(|fault| {
                say(&Word::Step(fault.step.into(), fault.errno));
                125
            }))
        }
    }
}

/// pid 1 of the new namespace.
fn inner(order: &Order, program: &Program, outside: (&OwnedFd, &[PathBuf])) -> Result<i32, Fault> {
    let (alive, sockets) = outside;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).step("parent")?;
    // The outer half never writes: only its death makes this readable.
    let mut fds = [rustix::event::PollFd::new(alive, rustix::event::PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    if rustix::event::poll(&mut fds, Some(&now)).step("parent")? > 0 {
        return Err(Fault { step: "parent", errno: libc::ESRCH });
    }
    mounts::build(order, sockets)?;
    mounts::reopen_null().step("dev")?;
    limit_processes(order)?;
    std::env::set_current_dir(order.cwd()).step("cwd")?;
    drop_privileges().step("capabilities")?;
    landlock::confine_namespaced(order).step("landlock")?;
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .step("dumpable")?;
    init::first(program, order)
}

/// Tier B: Landlock and seccomp alone.
fn reduced(order: &Order, program: &Program) -> Result<ExitCode, Fault> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).step("subreaper")?;
    std::env::set_current_dir(order.cwd()).step("cwd")?;
    // The helper itself stays free, so that it can end what the command leaves behind.
    init::nurse(program, order)
}

/// For the command's own process in tier B.
pub(super) fn confine_reduced(order: &Order) -> Result<(), Fault> {
    rustix::thread::set_no_new_privs(true).step("no-new-privs")?;
    // Root keeps what it needs for files of others in the project; ordinary users have nothing to lose.
    limit_capabilities(&FOR_FILES);
    landlock::confine_reduced(order).step("landlock")
}

/// From kernel 6.14 on the limit belongs to the pid namespace and stops a fork storm whoever the
/// user is. Before, the file is the whole machine's, and must not be touched.
fn limit_processes(order: &Order) -> Result<(), Fault> {
    let most = order.limits.processes.max(301);
    limit(Resource::Nproc, most).step("limits")?;
    if kernel() >= (6, 14) {
        fs::write("/proc/sys/kernel/pid_max", most.to_string()).step("limits")?;
    }
    mounts::seal_proc()
}

/// Never above what the user has: raising that is not ours.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = rustix::process::getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

fn kernel() -> (u32, u32) {
    let name = rustix::system::uname();
    let text = name.release().to_string_lossy();
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: ifreq is plain bytes; all zeroes is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    let up = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(libc::IFF_UP as i16);
    request.ifr_ifru.ifru_flags = up;
    // SAFETY: the request outlives the call and has the layout SIOCSIFFLAGS expects.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER and CAP_FSETID, see capabilities(7).
const FOR_FILES: [i32; 4] = [0, 1, 3, 4];

/// What a program started from here on can have at most, whoever owns it.
fn limit_capabilities(kept: &[i32]) {
    for capability in (0..64).filter(|c| !kept.contains(c)) {
        // SAFETY: numbers only. Fails for those the kernel does not know, and for ordinary users.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } < 0 {
            break;
        }
    }
}

/// No capability is left, and none can come back: uid 0 means nothing to the kernel from here on.
fn drop_privileges() -> io::Result<()> {
    use rustix::thread::{CapabilitiesSecureBits as Bits, CapabilitySet, CapabilitySets};
    rustix::thread::set_no_new_privs(true)?;
    rustix::thread::clear_ambient_capability_set()?;
    limit_capabilities(&[]);
    let locked = Bits::NO_ROOT
        | Bits::NO_ROOT_LOCKED
        | Bits::NO_SETUID_FIXUP
        | Bits::NO_SETUID_FIXUP_LOCKED
        | Bits::KEEP_CAPS_LOCKED
        | Bits::NO_CAP_AMBIENT_RAISE
        | Bits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked)?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    Ok(())
}

impl Program {
    /// Seccomp, then the command. Comes back only with an error number.
    pub(super) fn execute(&self, order: &Order) -> i32 {
        init::default_signals();
        if let Err(error) = seccomp::apply(order) {
            return error.raw_os_error().unwrap_or(libc::EIO);
        }
        let mut argv: Vec<*const libc::c_char> = self.args.iter().map(|a| a.as_ptr()).collect();
        argv.push(std::ptr::null());
        // SAFETY: both are terminated and live until the call replaces the image or fails.
        unsafe { libc::execvp(self.name.as_ptr(), argv.as_ptr()) };
        io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
    }
}
