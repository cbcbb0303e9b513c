//! Who belongs to a command's process tree, read from `/proc`.
//!
//! A process belongs to a tree when its ancestors lead to the root, when it lives in a session of
//! the tree, or when it was orphaned to us (we are a subreaper) and still carries the tree's tag in
//! its environment. The last finds what did a double fork and a `setsid`. Knows nothing of policy.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;

/// One line of the census.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) zombie: bool,
    /// Clock ticks after boot: tells a reused pid from the process it was.
    pub(super) start: u64,
}

/// Every process that can be seen; none where there is no `/proc`. Those that vanish while we look are left out.
pub(super) fn everyone() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(process)
        .collect()
}

fn process(pid: i32) -> Option<Process> {
    // One read has it all, and there may be thousands of them.
    let mut stat = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut stat).ok()?;
    parse(&stat[..length])
}

/// `pid (comm) state ppid pgrp session ...`, see proc_pid_stat(5). The name may hold spaces and
/// brackets, so fields are counted from the last bracket.
fn parse(stat: &[u8]) -> Option<Process> {
    let text = String::from_utf8_lossy(stat);
    let (head, tail) = text.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        start: fields.get(19)?.parse().ok()?,
    })
}

/// The living members of the tree below `root`, the root among them if it lives. `root` is None
/// once it was reaped, when its pid may be another's; `session` is the root's all the same.
pub(super) fn members(everyone: &[Process], root: Option<i32>, session: i32, tag: &[u8]) -> Vec<Process> {
    let me = std::process::id().cast_signed();
    let ours = |p: &Process| {
        Some(p.pid) == root || p.parent == me && !p.zombie && (p.session == session || carries(p.pid, tag))
    };
    let mut pids: HashSet<i32> = everyone.iter().filter(|p| ours(p)).map(|p| p.pid).collect();
    loop {
        let before = pids.len();
        for p in everyone {
            if p.pid != me && (pids.contains(&p.parent) || pids.contains(&p.session)) {
                pids.insert(p.pid);
            }
        }
        if pids.len() == before {
            break;
        }
    }
    everyone.iter().filter(|p| pids.contains(&p.pid) && !p.zombie).copied().collect()
}

/// Whether a dead process's parent died while we looked: it comes to us only now, to be reaped.
pub(super) fn still_falling(everyone: &[Process]) -> bool {
    let dead: HashSet<i32> = everyone.iter().filter(|p| p.zombie).map(|p| p.pid).collect();
    everyone.iter().any(|p| p.zombie && dead.contains(&p.parent))
}

/// The living descendants of `root`, without itself.
#[cfg(target_os = "linux")]
pub(super) fn below(everyone: &[Process], root: i32) -> Vec<Process> {
    let mut pids = HashSet::from([root]);
    loop {
        let before = pids.len();
        pids.extend(everyone.iter().filter(|p| pids.contains(&p.parent)).map(|p| p.pid).collect::<Vec<_>>());
        if pids.len() == before {
            break;
        }
    }
    everyone.iter().filter(|p| pids.contains(&p.pid) && p.pid != root && !p.zombie).copied().collect()
}

fn carries(pid: i32, tag: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| env.split(|b| *b == 0).any(|line| line == tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = b"42 (a) b (c) S 7 42 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9001 0 0";
        let expected = Process { pid: 42, parent: 7, session: 40, zombie: false, start: 9001 };
        assert_eq!(parse(stat), Some(expected));
        assert_eq!(parse(b"nonsense"), None);
    }

    #[test]
    fn a_tree_is_found_by_parent_and_by_session() {
        let p = |pid, parent, session| Process { pid, parent, session, zombie: false, start: 1 };
        let all = [p(1, 0, 1), p(10, 1, 10), p(11, 10, 10), p(12, 1, 10), p(13, 11, 13), p(99, 1, 99)];
        let found: Vec<i32> = members(&all, Some(10), 10, b"T=1").iter().map(|p| p.pid).collect();
        assert_eq!(found, [10, 11, 12, 13]);
    }

    #[test]
    fn a_dead_child_of_a_dead_parent_is_still_on_its_way_to_us() {
        let p = |pid, parent, zombie| Process { pid, parent, session: 10, zombie, start: 1 };
        assert!(still_falling(&[p(10, 1, true), p(11, 10, true)]));
        assert!(!still_falling(&[p(10, 1, false), p(11, 10, true)]));
        assert!(!still_falling(&[p(10, 1, true), p(11, 10, false)]));
    }
}
