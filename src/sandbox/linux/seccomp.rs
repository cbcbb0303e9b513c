//! The system calls a command may not make: everything else is allowed.
//!
//! Calls that reach the kernel's less tried parts, other processes or new namespaces. `bind`,
//! `listen` and `connect` are free: the namespace has nothing to reach.

use std::collections::BTreeMap;
use std::io;

use libc as c;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use super::order::Order;
use crate::sandbox::{Net, Tier};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever the arguments are.
const REFUSED: &[i64] = &[
    // other processes
    c::SYS_ptrace,
    c::SYS_process_vm_readv,
    c::SYS_process_vm_writev,
    c::SYS_pidfd_getfd,
    c::SYS_kcmp,
    // large attack surface
    c::SYS_io_uring_setup,
    c::SYS_io_uring_enter,
    c::SYS_io_uring_register,
    c::SYS_bpf,
    c::SYS_perf_event_open,
    c::SYS_userfaultfd,
    c::SYS_keyctl,
    c::SYS_add_key,
    c::SYS_request_key,
    c::SYS_fanotify_init,
    c::SYS_mbind,
    c::SYS_set_mempolicy,
    c::SYS_migrate_pages,
    c::SYS_move_pages,
    // the view of the disk
    c::SYS_mount,
    c::SYS_umount2,
    c::SYS_fsopen,
    c::SYS_fsconfig,
    c::SYS_fsmount,
    c::SYS_fspick,
    c::SYS_open_tree,
    c::SYS_move_mount,
    c::SYS_mount_setattr,
    c::SYS_pivot_root,
    c::SYS_chroot,
    c::SYS_open_by_handle_at,
    // namespaces
    c::SYS_setns,
    c::SYS_unshare,
    // the machine
    c::SYS_init_module,
    c::SYS_finit_module,
    c::SYS_delete_module,
    c::SYS_kexec_load,
    c::SYS_kexec_file_load,
    c::SYS_reboot,
    c::SYS_swapon,
    c::SYS_swapoff,
    c::SYS_acct,
    c::SYS_quotactl,
    c::SYS_quotactl_fd,
    c::SYS_syslog,
    c::SYS_settimeofday,
    c::SYS_clock_settime,
    c::SYS_clock_adjtime,
    c::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    c::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    c::SYS_ioperm,
];

/// Put characters into, or take over, a terminal: TIOCSTI, TIOCLINUX and TIOCSETD, whose type in `libc`
/// is another for each C library.
const TERMINAL: &[u64] = &[0x5412, 0x541c, 0x5423];

/// The old way to raw packets, see packet(7).
const SOCK_PACKET: c::c_int = 10;

const NAMESPACES: &[c::c_int] = &[
    c::CLONE_NEWNS,
    c::CLONE_NEWCGROUP,
    c::CLONE_NEWUTS,
    c::CLONE_NEWIPC,
    c::CLONE_NEWUSER,
    c::CLONE_NEWPID,
    c::CLONE_NEWNET,
];

/// Installs the filters. The caller has set no_new_privs.
pub(super) fn apply(order: &Order) -> io::Result<()> {
    // libc falls back to `clone`, whose flags are a register and can be seen.
    let unknown = Rules::from([(c::SYS_clone3, Vec::new())]);
    install(&compile(unknown, c::ENOSYS)?)?;
    #[cfg(target_arch = "x86_64")]
    install(&no_x32())?;
    install(&compile(refused(order).map_err(io::Error::other)?, c::EPERM)?)
}

fn refused(order: &Order) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let ioctls = TERMINAL.iter().map(|request| one(word(1, SeccompCmpOp::Eq, *request)?));
    rules.insert(c::SYS_ioctl, ioctls.collect::<Result<_, _>>()?);
    let flags = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        one(SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?)
    });
    rules.insert(c::SYS_clone, flags.collect::<Result<_, _>>()?);
    rules.insert(c::SYS_socket, sockets(order)?);
    Ok(rules)
}

fn sockets(order: &Order) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let family = |op, family: c::c_int| word(0, op, u64::from(family.cast_unsigned()));
    let is = |f| family(SeccompCmpOp::Eq, f);
    let kind = |kind: c::c_int| word(1, SeccompCmpOp::MaskedEq(0xf), u64::from(kind.cast_unsigned()));
    let mut rules = Vec::new();
    // Without a network namespace the families themselves are the network.
    let closed = order.tier == Tier::Landlock && order.net == Net::Off;
    let open: &[c::c_int] =
        if closed { &[c::AF_NETLINK] } else { &[c::AF_UNIX, c::AF_INET, c::AF_INET6, c::AF_NETLINK] };
    let others = open.iter().map(|f| family(SeccompCmpOp::Ne, *f));
    rules.push(SeccompRule::new(others.collect::<Result<_, _>>()?)?);
    let route = u64::from(c::NETLINK_ROUTE.cast_unsigned());
    rules.push(SeccompRule::new(vec![is(c::AF_NETLINK)?, word(2, SeccompCmpOp::Ne, route)?])?);
    for inet in [c::AF_INET, c::AF_INET6] {
        for raw in [c::SOCK_RAW, SOCK_PACKET] {
            rules.push(SeccompRule::new(vec![is(inet)?, kind(raw)?])?);
        }
    }
    Ok(rules)
}

fn word(index: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value)
}

fn one(condition: SeccompCondition) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition])
}

/// Also ends the process on a call of another architecture, such as a 32-bit entry.
fn compile(rules: Rules, errno: c::c_int) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(io::Error::other)?;
    filter.try_into().map_err(|e: seccompiler::BackendError| io::Error::other(e))
}

/// x32 calls carry the architecture of x86-64 and numbers of their own above this bit.
#[cfg(target_arch = "x86_64")]
fn no_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let op = |code: u32, jt, jf, k| sock_filter { code: u16::try_from(code).unwrap_or(0), jt, jf, k };
    vec![
        op(c::BPF_LD | c::BPF_W | c::BPF_ABS, 0, 0, 0),
        op(c::BPF_JMP | c::BPF_JGE | c::BPF_K, 0, 1, X32),
        op(c::BPF_RET | c::BPF_K, 0, 0, c::SECCOMP_RET_ERRNO | c::ENOSYS.cast_unsigned()),
        op(c::BPF_RET | c::BPF_K, 0, 0, c::SECCOMP_RET_ALLOW),
    ]
}

fn install(program: &BpfProgram) -> io::Result<()> {
    seccompiler::apply_filter(program).map_err(|e| match e {
        seccompiler::Error::Prctl(source) | seccompiler::Error::Seccomp(source) => source,
        other => io::Error::other(other),
    })
}
