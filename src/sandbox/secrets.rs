//! What is hidden from commands unless the user reveals it. A table; no logic but joining paths.

use std::path::{Path, PathBuf};

/// Below the home folder.
const HOME: &[&str] = &[
    // keys and tokens of tools
    ".ssh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/rclone",
    ".config/sops",
    ".docker",
    ".kube",
    ".gnupg",
    ".password-store",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".local/share/keyrings",
    // browsers
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.firefox",
    ".var/app/com.google.Chrome",
    // histories hold what was typed by mistake
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    // other agents
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".kimi/credentials",
    ".local/share/opencode/auth.json",
    ".config/github-copilot",
];

const SYSTEM: &[&str] =
    &["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/etc/sudoers", "/etc/sudoers.d"];

/// tack's own, in each of its folders: keys, and the file whose headers and commands may hold some.
const OWN: &[&str] = &["auth", "config.toml"];

pub(super) fn defaults(home: Option<&Path>, config_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let below = |dir: &Path, names: &[&str]| -> Vec<PathBuf> { names.iter().map(|n| dir.join(n)).collect() };
    let mut all: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    all.extend(home.map(|home| below(home, HOME)).unwrap_or_default());
    all.extend(config_dirs.iter().flat_map(|dir| below(dir, OWN)));
    all
}
