//! Landlock: the second line of tier A and the first of tier B.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};

use super::order::Order;
use crate::sandbox::Net;

/// The newest the crate names; what the kernel does not know is left out, down to `LEAST`.
const NEWEST: ABI = ABI::V9;
/// Without 3 a command could truncate what it may not write.
pub(super) const LEAST: i32 = 3;
/// Writable in tier B beside the roots: they hold nothing.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"];

/// The kernel's version of Landlock; 0 if it has none.
#[allow(unsafe_code)]
pub(super) fn abi() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel only returns a number.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    i32::try_from(abi).unwrap_or(0).max(0)
}

/// Behind the mounts: reading everywhere, writing where the mounts let it.
pub(super) fn confine_namespaced(order: &Order) -> io::Result<()> {
    let own = ["/tmp", "/dev", "/proc", "/run"].map(PathBuf::from);
    let write = order.write().map(Path::to_path_buf).chain(own).collect();
    // No TCP rules: the namespace has no way out, and local servers must work.
    restrict(vec![PathBuf::from("/")], write, Net::Full)
}

/// On its own: reading everywhere but in what is hidden, writing in the roots.
pub(super) fn confine_reduced(order: &Order) -> io::Result<()> {
    let hide: Vec<&Path> = order.hide().collect();
    let mut read = Vec::new();
    around(Path::new("/"), &hide, &mut read);
    let devices = DEVICES.iter().map(PathBuf::from);
    let write = order.write().chain(order.tmp()).map(Path::to_path_buf).chain(devices).collect();
    restrict(read, write, order.net)
}

/// A rule cannot take back what a folder above grants. So a folder with something hidden below it
/// is not granted itself, but everything else in it is.
fn around(dir: &Path, hide: &[&Path], grants: &mut Vec<PathBuf>) {
    if hide.contains(&dir) {
        return;
    }
    if !hide.iter().any(|h| h.starts_with(dir)) {
        grants.push(dir.to_path_buf());
        return;
    }
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        // A link is resolved by the kernel before it asks; its target has a rule of its own.
        if entry.file_type().is_ok_and(|t| !t.is_symlink()) {
            around(&entry.path(), hide, grants);
        }
    }
}

fn restrict(read: Vec<PathBuf>, write: Vec<PathBuf>, net: Net) -> io::Result<()> {
    if abi() < LEAST {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let all = AccessFs::from_all(NEWEST);
    // A device node would be the disk itself; root could make one where there is no user namespace.
    let filled = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    // Names of folders are shown everywhere: without that even a working folder cannot be listed.
    let names = BitFlags::from(AccessFs::ReadDir);
    let build = || -> Result<_, landlock::RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            .scope(Scope::from_all(NEWEST))?;
        if net == Net::Off {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        ruleset
            .create()?
            .add_rules(path_beneath_rules(["/"], names))?
            .add_rules(path_beneath_rules(read, AccessFs::from_read(NEWEST)))?
            .add_rules(path_beneath_rules(write, filled))?
            .restrict_self()
    };
    build().map_err(io::Error::other)?;
    Ok(())
}
