//! The environment commands get: built whole in the parent, nothing is inherited.
//!
//! Names on a list pass; whatever looks like a secret or changes how programs load code is dropped,
//! unless the user passes it by name. No program may wait for an editor or a pager. Works on raw
//! bytes: a variable that is no UTF-8 is passed or dropped like any other.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Mode, Net, Op, Policy, Verdict};

type Vars = Vec<(OsString, OsString)>;

const PASSED: &str = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TZ TMPDIR HOSTNAME CI \
    GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL \
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN CARGO_TARGET_DIR RUSTFLAGS RUST_BACKTRACE RUST_LOG \
    GOPATH GOROOT GOFLAGS GOPROXY GOCACHE GOMODCACHE GOTOOLCHAIN \
    JAVA_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME SDKMAN_DIR \
    NVM_DIR NVM_BIN FNM_DIR VOLTA_HOME NODE_PATH PNPM_HOME BUN_INSTALL DENO_DIR \
    PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONPATH PIPX_HOME POETRY_HOME \
    UV_CACHE_DIR PIP_CACHE_DIR RBENV_ROOT GEM_HOME GEM_PATH BUNDLE_PATH DOTNET_ROOT NUGET_PACKAGES \
    ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR NIX_PATH NIX_PROFILES PKG_CONFIG_PATH CPATH LIBRARY_PATH \
    C_INCLUDE_PATH CPLUS_INCLUDE_PATH CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS CMAKE_PREFIX_PATH \
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE \
    XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_DATA_DIRS XDG_CONFIG_DIRS";
/// Dropped although the list or a prefix lets it through, unless passed by name.
const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"];
/// Changes what programs load or talk to; dropped even under full access, unless passed by name.
const LOADERS: &str = "BASH_ENV ENV PROMPT_COMMAND GIT_SSH_COMMAND PYTHONSTARTUP NODE_OPTIONS SSH_AUTH_SOCK \
    XDG_RUNTIME_DIR DOCKER_HOST";
const LOADER_PREFIXES: &[&str] = &["LD_", "DYLD_", "DBUS_"];
const PROXIES: &[&str] = &["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
const EDITORS: &[&str] = &["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];
/// git runs it through a shell, with the file as an argument.
const NO_EDITOR: &str = "sh -c 'echo \"no editor is available here: give the text on the command line, as in git commit -m\" >&2; exit 1'";
/// Variable, usual place below the home folder, place below the private one.
const CACHES: &[(&str, &str, &str)] = &[
    ("GOCACHE", ".cache/go-build", "go-build"),
    ("npm_config_cache", ".npm", "npm"),
    ("YARN_CACHE_FOLDER", ".cache/yarn", "yarn"),
    ("PIP_CACHE_DIR", ".cache/pip", "pip"),
    ("UV_CACHE_DIR", ".cache/uv", "uv"),
    ("CCACHE_DIR", ".cache/ccache", "ccache"),
    ("GRADLE_USER_HOME", ".gradle", "gradle"),
];

/// Those read-only serve well as long as nothing was fetched elsewhere.
const ONLINE_CACHES: &[(&str, &str, &str)] =
    &[("CARGO_HOME", ".cargo", "cargo"), ("GOMODCACHE", "go/pkg/mod", "go-mod")];

/// Where the environment of commands comes from.
#[derive(Clone, Debug, Default)]
pub struct EnvWish {
    /// tack's own environment.
    pub vars: Vars,
    /// Names to pass although the rules would drop them.
    pub pass: Vec<OsString>,
    /// The project's private cache folder, as in [`super::Wish::caches`].
    pub caches: Option<PathBuf>,
}

/// Without a network package tools would go on trying, npm for more than a minute. One retry for
/// pip: without any it does not say why it failed.
const NO_RETRIES: &[(&str, &str)] =
    &[("npm_config_fetch_retries", "0"), ("PIP_RETRIES", "1"), ("CARGO_NET_RETRY", "0")];

impl EnvWish {
    /// The same for commands that the network is lifted for: with the person's proxies, and with folders
    /// where what is fetched can be kept.
    pub fn online(&self, policy: &Policy) -> Vars {
        self.build(&Policy { net: Net::Full, ..policy.clone() })
    }

    /// The complete environment for commands under `policy`.
    pub fn build(&self, policy: &Policy) -> Vars {
        let full = policy.mode == Mode::DangerFullAccess;
        let passes = |name: &OsStr| {
            self.pass.iter().any(|p| p == name) || (full && !loads_code(name)) || listed(name, policy)
        };
        let mut vars: BTreeMap<OsString, OsString> =
            self.vars.iter().filter(|(name, _)| passes(name)).cloned().collect();
        let mut set = |name: &str, value: &OsStr| vars.insert(name.into(), value.into());
        for name in EDITORS {
            set(name, NO_EDITOR.as_ref());
        }
        for name in ["PAGER", "GIT_PAGER", "MANPAGER"] {
            set(name, "cat".as_ref());
        }
        set("LESS", "-FRX".as_ref());
        set("GIT_TERMINAL_PROMPT", "0".as_ref());
        set("PWD", policy.cwd.as_os_str());
        if !full {
            set("TACK_SANDBOX", "1".as_ref());
            let net = match policy.net {
                Net::Off => "off",
                Net::Full => "full",
            };
            set("TACK_SANDBOX_NETWORK", net.as_ref());
            if policy.net == Net::Off {
                for (name, value) in NO_RETRIES {
                    set(name, value.as_ref());
                }
            }
        }
        if policy.tmp.is_some() {
            set("TMPDIR", "/tmp".as_ref());
        }
        if !full {
            self.place_caches(policy, &mut vars);
        }
        vars.into_iter().collect()
    }

    /// Caches of build tools that could not be written where they are go to the private folder.
    fn place_caches(&self, policy: &Policy, vars: &mut BTreeMap<OsString, OsString>) {
        let private = match policy.mode {
            Mode::WorkspaceWrite => self.caches.clone().unwrap_or_else(|| PathBuf::from("/tmp/.cache")),
            Mode::ReadOnly | Mode::DangerFullAccess => PathBuf::from("/tmp/.cache"),
        };
        let home = vars.get(OsStr::new("HOME")).map(PathBuf::from);
        let writable =
            |path: &Path| policy.explain(&super::policy::real(path), Op::Write) == Verdict::Allowed;
        let fetched = |folder: &str| policy.net == Net::Full || private.join(folder).exists();
        let online = ONLINE_CACHES.iter().filter(|(_, _, folder)| fetched(folder));
        for (name, usual, folder) in CACHES.iter().chain(online) {
            let place = match (vars.get(OsStr::new(name)), &home) {
                (Some(set), _) => Some(PathBuf::from(set)),
                (None, Some(home)) => Some(home.join(usual)),
                (None, None) => None,
            };
            if !place.is_some_and(|p| writable(&p)) {
                vars.insert(name.into(), private.join(folder).into());
            }
        }
    }
}

/// The environment of one command that something was lifted for, so that `policy` holds: that of all commands
/// is `vars`, that of those with the network `online`.
pub fn under(vars: &[(OsString, OsString)], online: &[(OsString, OsString)], policy: &Policy) -> Vars {
    match (policy.mode, policy.net) {
        (Mode::DangerFullAccess, Net::Off | Net::Full) => {
            let ours =
                |name: &OsStr| name == "TACK_SANDBOX" || name == "TACK_SANDBOX_NETWORK" || name == "TMPDIR";
            let waits = |name: &OsStr| NO_RETRIES.iter().any(|(known, _)| name == *known);
            // Their own caches: there they may hold keys that a command needs.
            let own = vars.iter().filter(|(name, _)| !ours(name) && !waits(name));
            own.chain(online.iter().filter(|(name, _)| is_proxy(name))).cloned().collect()
        }
        (Mode::ReadOnly | Mode::WorkspaceWrite, Net::Full) => online.to_vec(),
        (Mode::ReadOnly | Mode::WorkspaceWrite, Net::Off) => vars.to_vec(),
    }
}

/// Takes up, once a command with the network fetched something, where that lies: what comes after it, without
/// the network, has to find it.
pub fn keep_fetched(vars: &mut Vars, online: &[(OsString, OsString)]) {
    let cache = |name: &OsStr| ONLINE_CACHES.iter().any(|(known, _, _)| name == *known);
    for (name, place) in online.iter().filter(|(name, place)| cache(name) && Path::new(place).exists()) {
        vars.retain(|(known, _)| known != name);
        vars.push((name.clone(), place.clone()));
    }
}

fn is_proxy(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PROXIES.contains(&name.to_ascii_lowercase().as_str()))
}

fn listed(name: &OsStr, policy: &Policy) -> bool {
    let Some(text) = name.to_str() else { return false };
    let upper = text.to_ascii_uppercase();
    let secret = SECRET.iter().any(|part| upper.contains(part));
    let proxy = policy.net == Net::Full && is_proxy(name);
    (PASSED.split_ascii_whitespace().any(|n| n == text) || text.starts_with("LC_") || proxy)
        && !secret
        && !loads_code(name)
}

/// Whether a harness may set it: nothing that changes how programs load code or that tack itself uses.
pub fn may_be_set(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['=', '\0'])
        && !loads_code(name.as_ref())
        && !name.starts_with("TACK_")
}

fn loads_code(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    LOADERS.split_ascii_whitespace().any(|n| n == name) || LOADER_PREFIXES.iter().any(|p| name.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Wish;

    fn built(mode: Mode, vars: &[(&str, &str)], pass: &[&str]) -> BTreeMap<OsString, OsString> {
        let policy = Wish::new(mode, ".").settle().unwrap().policy;
        let wish = EnvWish {
            vars: vars.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            pass: pass.iter().map(Into::into).collect(),
            caches: None,
        };
        wish.build(&policy).into_iter().collect()
    }

    #[test]
    fn names_pass_or_drop_by_rule() {
        let passes = ["PATH", "HOME", "LC_ALL", "CARGO_HOME", "TERM", "LANG"];
        let drops = [
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "LD_PRELOAD",
            "BASH_ENV",
            "LC_TOKEN",
            "DBUS_X",
            "FOO",
        ];
        for name in passes.iter().chain(&drops) {
            let vars = built(Mode::WorkspaceWrite, &[(name, "x")], &[]);
            assert_eq!(vars.contains_key(OsStr::new(name)), passes.contains(name), "{name}");
            let asked = built(Mode::WorkspaceWrite, &[(name, "x")], &[name]);
            assert!(asked.contains_key(OsStr::new(name)), "{name} was passed by name");
        }
    }

    #[test]
    fn nothing_is_tried_for_long_without_a_network() {
        let mut policy = Wish::new(Mode::ReadOnly, ".").settle().unwrap().policy;
        let retries = |policy: &Policy| {
            let vars = EnvWish::default().build(policy);
            vars.into_iter().find(|(name, _)| name == "npm_config_fetch_retries").map(|(_, value)| value)
        };
        assert_eq!(retries(&policy), Some("0".into()));
        policy.net = Net::Full;
        assert_eq!(retries(&policy), None);
    }

    #[test]
    fn with_the_network_lifted_there_are_proxies_and_folders_for_what_is_fetched() {
        let policy = Wish::new(Mode::WorkspaceWrite, ".").settle().unwrap().policy;
        let vars = [("https_proxy", "http://p:1"), ("NO_PROXY", "a"), ("HOME", "/nowhere"), ("PATH", "/bin")];
        let vars = vars.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let wish = EnvWish { vars, ..EnvWish::default() };
        let (off, online) = (wish.build(&policy), wish.online(&policy));
        let full = Policy { net: Net::Full, ..policy.clone() };
        let open = Policy { mode: Mode::DangerFullAccess, ..full.clone() };
        let names =
            ["https_proxy", "NO_PROXY", "CARGO_HOME", "CARGO_NET_RETRY", "TACK_SANDBOX_NETWORK", "PATH"];
        for (policy, want) in [
            (&policy, "CARGO_NET_RETRY=0 TACK_SANDBOX_NETWORK=off PATH=/bin"),
            (
                &full,
                "https_proxy=http://p:1 NO_PROXY=a CARGO_HOME=/tmp/.cache/cargo TACK_SANDBOX_NETWORK=full PATH=/bin",
            ),
            (&open, "https_proxy=http://p:1 NO_PROXY=a PATH=/bin"),
        ] {
            let vars: BTreeMap<OsString, OsString> = under(&off, &online, policy).into_iter().collect();
            let said = names
                .iter()
                .filter_map(|name| Some(format!("{name}={}", vars.get(OsStr::new(name))?.display())));
            assert_eq!(said.collect::<Vec<_>>().join(" "), want);
        }
    }

    #[test]
    fn what_was_fetched_is_found_without_the_network_too() {
        let top = tempfile::tempdir().unwrap();
        let policy = Wish::new(Mode::WorkspaceWrite, ".").settle().unwrap().policy;
        let vars = vec![("HOME".into(), "/nowhere".into())];
        let wish = EnvWish { vars, caches: Some(top.path().to_owned()), ..EnvWish::default() };
        let cargo =
            |vars: &Vars| vars.iter().find(|(name, _)| name == "CARGO_HOME").map(|(_, at)| at.clone());
        let (mut off, online) = (wish.build(&policy), wish.online(&policy));
        keep_fetched(&mut off, &online);
        assert_eq!(cargo(&off), None);
        let place = top.path().join("cargo");
        std::fs::create_dir(&place).unwrap();
        keep_fetched(&mut off, &online);
        assert_eq!(
            (cargo(&off), cargo(&wish.build(&policy))),
            (Some(place.clone().into()), Some(place.into()))
        );
    }

    #[test]
    fn full_access_keeps_the_rest_but_not_what_loads_code() {
        let vars =
            built(Mode::DangerFullAccess, &[("FOO", "x"), ("LD_PRELOAD", "x"), ("EDITOR", "vim")], &[]);
        assert_eq!(vars[OsStr::new("FOO")], "x");
        assert!(!vars.contains_key(OsStr::new("LD_PRELOAD")));
        assert!(vars[OsStr::new("EDITOR")].to_string_lossy().contains("no editor is available"));
        assert!(!vars.contains_key(OsStr::new("TACK_SANDBOX")));
    }

    #[test]
    fn caches_move_only_when_they_could_not_be_written() {
        let here = std::env::current_dir().unwrap();
        let inside = here.join("go-cache");
        let kept = built(Mode::WorkspaceWrite, &[("GOCACHE", inside.to_str().unwrap())], &[]);
        assert_eq!(kept[OsStr::new("GOCACHE")], inside);
        let moved = built(Mode::WorkspaceWrite, &[("GOCACHE", "/usr/go-cache")], &[]);
        assert_eq!(moved[OsStr::new("GOCACHE")], "/tmp/.cache/go-build");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_utf8_is_passed_like_any_other() {
        use std::os::unix::ffi::OsStringExt;
        let odd = || OsString::from_vec(b"/bin:/x\xff".to_vec());
        let policy = Wish::new(Mode::WorkspaceWrite, ".").settle().unwrap().policy;
        let vars = vec![("PATH".into(), odd()), (odd(), "x".into())];
        let built = EnvWish { vars, ..EnvWish::default() }.build(&policy);
        assert!(built.contains(&("PATH".into(), odd())));
        assert!(!built.iter().any(|(name, _)| *name == odd()));
    }
}
