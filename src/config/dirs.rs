//! The folders tack keeps its things in.

use std::path::{Path, PathBuf};

use super::Env;

/// None where the environment names no place: then nothing is read from there and nothing kept.
/// None of them need exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirs {
    pub home: Option<PathBuf>,
    pub config: Option<PathBuf>,
    pub data: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub cache: Option<PathBuf>,
}

impl Dirs {
    /// `TACK_HOME` for everything; else the XDG folders on Linux, the system's own elsewhere.
    /// The password file is not asked: who clears `HOME` wants nothing of it.
    pub fn find(env: &Env) -> Self {
        let home = path(env, "HOME").or_else(|| path(env, "USERPROFILE"));
        if let Some(all) = env.get("TACK_HOME").and_then(|path| std::path::absolute(path).ok()) {
            let all = Some(all);
            return Self { home, config: all.clone(), data: all.clone(), state: all.clone(), cache: all };
        }
        let in_home = |below: &str| home.as_ref().map(|home| home.join(below));
        let place = |variable: &str, below: &str| {
            let dir = path(env, variable).or_else(|| in_home(below));
            dir.map(|dir| dir.join("tack"))
        };
        if cfg!(target_os = "macos") {
            let support = in_home("Library/Application Support/tack");
            let cache = in_home("Library/Caches/tack");
            return Self { home, config: support.clone(), data: support.clone(), state: support, cache };
        }
        if cfg!(windows) {
            let local = place("LOCALAPPDATA", "AppData/Local");
            let config = place("APPDATA", "AppData/Roaming");
            return Self { home, config, data: local.clone(), state: local.clone(), cache: local };
        }
        Self {
            config: place("XDG_CONFIG_HOME", ".config"),
            data: place("XDG_DATA_HOME", ".local/share"),
            state: place("XDG_STATE_HOME", ".local/state"),
            cache: place("XDG_CACHE_HOME", ".cache"),
            home,
        }
    }

    /// What to tell the person when there is no place for anything.
    pub fn missing(&self) -> Option<&'static str> {
        let none = self.config.is_none() && self.data.is_none();
        none.then_some(
            "HOME is not set, so no configuration is read and the session is not recorded; set HOME or TACK_HOME",
        )
    }

    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|dir| dir.join("config.toml"))
    }

    /// The user's own harnesses.
    pub fn harnesses(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|dir| dir.join("harnesses"))
    }

    pub fn sessions(&self) -> Option<PathBuf> {
        self.data.as_ref().map(|dir| dir.join("sessions"))
    }

    pub fn log(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|dir| dir.join("log"))
    }

    pub fn trust_file(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|dir| dir.join("trust.toml"))
    }

    /// The path with a leading `~` made the home folder.
    pub(crate) fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            (Ok(_) | Err(_), _) => path.to_path_buf(),
        }
    }
}

/// Relative folders are no folders: the XDG rules say to ignore them.
fn path(env: &Env, variable: &str) -> Option<PathBuf> {
    env.get(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
