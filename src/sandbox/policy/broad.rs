//! Folders that are too much to be made writable by a word: more lies there than anybody who is asked has in
//! mind.

use std::path::Path;

/// What the system itself runs or starts from.
const MACHINE: &[&str] = &[
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/boot",
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/var/lib",
    "/var/spool",
    "/var/log",
    "/System",
    "/Library",
];

/// Where folders of many, or of other people, lie.
const SHARED: &[&str] = &[
    "/home",
    "/root",
    "/Users",
    "/Applications",
    "/opt",
    "/srv",
    "/mnt",
    "/media",
    "/Volumes",
    "/tmp",
    "/var/tmp",
];

/// Why `folder` (absolute and canonical) is one of them. None: it is not.
pub fn broad(folder: &Path, home: Option<&Path>) -> Option<&'static str> {
    if folder.parent().is_none() {
        return Some("name a folder below it");
    }
    if home.is_some_and(|home| home.starts_with(folder)) {
        return Some("the start-up files of all your programs lie there; name a folder below it");
    }
    if MACHINE.iter().any(|own| folder.starts_with(own) || Path::new(own).starts_with(folder)) {
        return Some("it is the machine's own");
    }
    let shared = SHARED.iter().any(|all| folder == Path::new(all));
    shared.then_some("too much lies there; name a folder below it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_machines_or_everybodys_is_too_much() {
        let home = Path::new("/home/me");
        for folder in [
            "/",
            "/usr",
            "/usr/lib/x",
            "/lib",
            "/var",
            "/var/spool/cron",
            "/etc",
            "/home",
            "/home/me",
            "/opt",
        ] {
            assert!(broad(Path::new(folder), Some(home)).is_some(), "{folder}");
        }
        for folder in ["/home/me/other", "/opt/mine", "/var/tmp/x", "/mnt/data", "/srv/www", "/library"] {
            assert_eq!(broad(Path::new(folder), Some(home)), None, "{folder}");
        }
    }
}
