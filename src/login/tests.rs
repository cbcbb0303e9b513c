//! Keys go where they should, and errors never repeat them.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use super::*;

/// A keychain in memory, in one of the states that real ones have.
#[derive(Clone, Default)]
struct Fake {
    held: Arc<Mutex<std::collections::BTreeMap<String, String>>>,
    trouble: Arc<Mutex<Option<Trouble>>>,
}

impl Fake {
    fn fails(&self, trouble: Option<Trouble>) {
        *self.trouble.lock().unwrap() = trouble;
    }

    fn state(&self) -> Result<(), Trouble> {
        self.trouble.lock().unwrap().clone().map_or(Ok(()), Err)
    }
}

impl Keychain for Fake {
    fn name(&self) -> &'static str {
        "the keychain"
    }

    fn store(&self, provider: &str, key: &Secret) -> Result<(), Trouble> {
        self.state()?;
        self.held.lock().unwrap().insert(provider.to_owned(), key.reveal().to_owned());
        Ok(())
    }

    fn load(&self, provider: &str) -> Result<Option<Secret>, Trouble> {
        self.state()?;
        Ok(self.held.lock().unwrap().get(provider).map(Secret::new))
    }

    fn remove(&self, provider: &str) -> Result<(), Trouble> {
        self.state()?;
        self.held.lock().unwrap().remove(provider);
        Ok(())
    }
}

fn keys() -> (tempfile::TempDir, Fake, Keys) {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let keys = Keys::new(dir.path(), Box::new(fake.clone()));
    (dir, fake, keys)
}

fn text(key: Option<Secret>) -> Option<String> {
    key.map(|key| key.reveal().to_owned())
}

#[test]
fn a_key_goes_to_the_keychain_and_comes_back() {
    let (_dir, fake, keys) = keys();
    assert_eq!(text(keys.load("acme").unwrap()), None);
    let stored = keys.save("acme", &Secret::new("sk-1"), Wish::Keychain).unwrap();
    assert_eq!(stored, Stored { place: Place::Keychain, why: None });
    assert!(!std::fs::read_to_string(keys.file()).unwrap().contains("sk-1"));
    assert_eq!(text(keys.load("acme").unwrap()).as_deref(), Some("sk-1"));
    keys.save("acme", &Secret::new("sk-2"), Wish::Keychain).unwrap();
    assert_eq!(text(keys.load("acme").unwrap()).as_deref(), Some("sk-2"));
    // Kept in a file from now on: the keychain's copy goes.
    keys.save("acme", &Secret::new("sk-3"), Wish::File).unwrap();
    assert!(fake.held.lock().unwrap().is_empty());
    assert_eq!(text(keys.load("acme").unwrap()).as_deref(), Some("sk-3"));
    assert_eq!(keys.remove("acme").unwrap(), Some(Place::File));
    assert_eq!(keys.remove("acme").unwrap(), None);
    assert_eq!(keys.place("acme").unwrap(), None);
}

#[test]
fn only_without_a_keychain_a_file_takes_its_place() {
    let (dir, fake, keys) = keys();
    for trouble in [Trouble::Locked, Trouble::Silent(Duration::from_secs(60)), Trouble::Failed("odd".into())]
    {
        fake.fails(Some(trouble));
        let error = keys.save("acme", &Secret::new("sk-1"), Wish::Keychain).unwrap_err();
        assert!(error.hint.unwrap().contains("tack login --file acme"));
        assert!(!keys.file().exists());
    }
    fake.fails(Some(Trouble::Absent("no bus".into())));
    let stored = keys.save("acme", &Secret::new("sk-1"), Wish::Keychain).unwrap();
    assert_eq!(stored, Stored { place: Place::File, why: Some("no bus".to_owned()) });
    for (path, mode) in [(keys.file(), 0o600), (dir.path().join("auth"), 0o700)] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
    }
    assert_eq!(text(keys.load("acme").unwrap()).as_deref(), Some("sk-1"));
}

#[test]
fn a_keychain_that_does_not_serve_is_an_error_and_no_missing_key() {
    let (_dir, fake, keys) = keys();
    keys.save("acme", &Secret::new("sk-1"), Wish::Keychain).unwrap();
    for trouble in [Trouble::Locked, Trouble::Absent("no bus".into())] {
        fake.fails(Some(trouble));
        assert!(keys.load("acme").is_err());
        assert!(keys.remove("acme").is_err());
        assert_eq!(keys.place("acme").unwrap(), Some(Place::Keychain));
    }
    fake.fails(None);
    fake.held.lock().unwrap().clear();
    let error = keys.load("acme").err().unwrap();
    assert!(error.message.contains("no longer in the keychain"), "{error}");
    assert_eq!(keys.remove("acme").unwrap(), Some(Place::Keychain));
}

#[test]
fn a_file_that_is_open_to_others_or_damaged_is_refused_and_its_keys_not_repeated() {
    let (_dir, _, keys) = keys();
    keys.save("acme", &Secret::new("sk-secret"), Wish::File).unwrap();
    std::fs::set_permissions(keys.file(), PermissionsExt::from_mode(0o644)).unwrap();
    let error = keys.load("acme").err().unwrap();
    assert!(error.message.contains("others may read it (mode 644)"), "{error}");
    assert!(keys.save("other", &Secret::new("sk-2"), Wish::File).is_err());
    std::fs::set_permissions(keys.file(), PermissionsExt::from_mode(0o600)).unwrap();
    assert!(keys.load("acme").unwrap().is_some());
    std::fs::write(keys.file(), "{\"acme\": \"sk-secret\"}").unwrap();
    let error = keys.load("acme").err().unwrap();
    assert!(error.message.contains("damaged in line 1") && !error.message.contains("sk-secret"), "{error}");
}

#[test]
fn a_key_is_one_line_without_odd_characters() {
    for (given, want) in
        [("sk-1", "sk-1"), (" sk-1 \r\n", "sk-1"), ("\u{feff}sk-1\n\n", "sk-1"), ("a b", "a b")]
    {
        assert_eq!(parse(given).unwrap().reveal(), want, "{given:?}");
    }
    let long = "x".repeat(LONGEST + 1);
    for given in ["", " \n", "sk\n1", "sk\r1", "sk-\u{1b}[A1", "sk\0", "sk\t1", &long] {
        let error = parse(given).unwrap_err();
        assert!(error.message.starts_with("that is no key"), "{error}");
        assert!(!error.message.contains("sk"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_hangs_or_is_not_there_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("secret-tool");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let limit = Duration::from_millis(50);
    let tool = SecretTool { program: program.into(), limit };
    assert_eq!(tool.load("acme"), Err(Trouble::Silent(limit)));
    assert_eq!(tool.store("acme", &Secret::new("sk-1")), Err(Trouble::Silent(limit)));
    let none = SecretTool { program: dir.path().join("none").into(), limit };
    assert!(matches!(none.load("acme"), Err(Trouble::Absent(_))));
}
