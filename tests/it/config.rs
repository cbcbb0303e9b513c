//! Configuration: what is read, what wins, and what is said about mistakes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tack::config::{
    ApprovalPolicy, Change, Config, ConfigError, Dirs, Env, Inputs, Loaded, Override, Strictness, Warning,
    Weight, apply, choose, keep_harness, known, load, resolve,
};
use tack::model::WireKind;
use tack::sandbox::Mode;
use tack::wire::provider::{Provider, Secret};
use tempfile::TempDir;

struct Kit {
    dir: TempDir,
}

impl Kit {
    fn new() -> Self {
        let kit = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(kit.project().join(".tack")).unwrap();
        fs::create_dir_all(kit.dir.path().join("home")).unwrap();
        kit
    }

    fn project(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    fn dirs(&self) -> Dirs {
        Dirs::find(&[("TACK_HOME", self.dir.path().join("home"))].into_iter().collect())
    }

    fn user(self, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.dirs().config_file().unwrap(), text).unwrap();
        self
    }

    fn project_file(self, text: &str) -> Self {
        fs::write(self.project().join(".tack/config.toml"), text).unwrap();
        self
    }

    fn trusted(self) -> Self {
        let text = format!("[projects.{:?}]\ntrusted = true\n", self.project().display().to_string());
        fs::write(self.dirs().trust_file().unwrap(), text).unwrap();
        self
    }

    fn inputs(&self) -> Inputs {
        Inputs { dirs: self.dirs(), project: Some(self.project()), ..Inputs::default() }
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        load(self.inputs())
    }

    /// What a person reads of it, machine paths taken out.
    fn said(&self, outcome: &Result<Loaded, ConfigError>) -> String {
        let text = match outcome {
            Ok(loaded) => loaded.warnings.iter().map(|w| format!("warning: {w}\n")).collect(),
            Err(e) => format!("error: {e}\nhint: {}\n", e.hint.as_deref().unwrap_or("none")),
        };
        let real = self.dir.path().canonicalize().unwrap();
        text.replace(real.to_str().unwrap(), "[dir]").replace(self.dir.path().to_str().unwrap(), "[dir]")
    }
}

fn overrides(texts: &[&str]) -> Vec<Override> {
    texts.iter().map(|text| Override::parse(text).unwrap()).collect()
}

#[test]
fn every_key_of_the_contract_is_read() {
    let kit = Kit::new().user(
        r#"
        model = "qwen3-coder-30b"
        model_provider = "ollama"
        harness = "pi"
        model_reasoning_effort = "medium"
        model_context_window = 32768
        model_auto_compact_token_limit = 28000
        approval_policy = "on-failure"
        sandbox_mode = "workspace-write"
        openai_base_url = "http://127.0.0.1:1/v1"
        check_for_update_on_startup = true
        [sandbox_workspace_write]
        network_access = true
        writable_roots = ["/srv"]
        [sandbox]
        git = "commit"
        hide = ["~/a"]
        reveal = ["~/.netrc"]
        env_pass = ["CI"]
        launcher = "bwrap"
        [model_providers.acme]
        name = "Acme"
        base_url = "https://api.acme.example/v1"
        wire_api = "messages"
        env_key = "ACME_API_KEY"
        http_headers = { a = "b" }
        env_http_headers = { c = "D" }
        query_params = { e = "f" }
        request_max_retries = 1
        stream_max_retries = 2
        stream_idle_timeout_ms = 3
        ca_certificate = "/ca.pem"
        [profiles.review]
        sandbox_mode = "read-only"
        [prices."acme/acme-coder"]
        input = 1
        output = 1.2
        [features]
        anything = { at = ["all"] }
        [tui]
        theme = 3
        [tui.keys]
        steer = "f5 ctrl+x"
        "#,
    );
    let loaded = kit.load().unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let config = loaded.config;
    assert_eq!(config.approval_policy, Some(ApprovalPolicy::OnRequest));
    assert_eq!(config.sandbox_mode, Some(Mode::WorkspaceWrite));
    assert_eq!(config.sandbox_workspace_write.writable_roots, [PathBuf::from("/srv")]);
    assert_eq!(config.model_context_window, Some(32768));
    assert_eq!(config.prices["acme/acme-coder"].input, 1.0);
    assert_eq!(config.tui.keys["steer"], "f5 ctrl+x");
    assert_eq!(config.model_providers["acme"].wire_api, Some(WireKind::Messages));
    assert!(config.check_for_update_on_startup && config.sandbox_workspace_write.network_access);
}

#[test]
fn higher_layers_win() {
    let kit = Kit::new()
        .user(
            "model = \"user\"\nmodel_provider = \"user\"\nharness = \"user\"\nsandbox_mode = \"read-only\"\n\
             [sandbox]\nhide = [\"/user\"]\n[profiles.p]\nharness = \"profile\"\nmodel = \"profile\"\n",
        )
        .project_file("model = \"project\"\nmodel_provider = \"project\"\n[sandbox]\nhide = [\"/project\"]\n")
        .trusted();
    let show = |inputs: Inputs| {
        let config = load(inputs).unwrap().config;
        [config.model, config.model_provider, config.harness].map(Option::unwrap).join(" ")
    };
    assert_eq!(show(kit.inputs()), "project project user");
    let profile = || Inputs { profile: Some("p".into()), ..kit.inputs() };
    assert_eq!(show(profile()), "profile project profile");
    let env: Env = [("TACK_MODEL", "env"), ("TACK_HARNESS", "")].into_iter().collect();
    assert_eq!(show(Inputs { env: env.clone(), ..profile() }), "env project profile");
    let flags = overrides(&["model=flag", "model_provider=\"f\"", "sandbox.hide=[\"/flag\"]"]);
    let all = Inputs { env, overrides: flags, ..profile() };
    let config = load(all).unwrap().config;
    assert_eq!((config.model.as_deref(), config.model_provider.as_deref()), (Some("flag"), Some("f")));
    assert_eq!(config.sandbox.hide, ["/user", "/project", "/flag"].map(PathBuf::from));
}

#[test]
fn overrides_are_read_as_toml_or_text() {
    let table = [
        ("model_context_window=4096", "Some(4096)"),
        ("model_context_window = 4_096 ", "Some(4096)"),
        ("model=4096", "None"),
    ];
    for (text, want) in table {
        let inputs = Inputs { overrides: overrides(&[text]), ..Kit::new().inputs() };
        let config = load(inputs).unwrap().config;
        assert_eq!(format!("{:?}", config.model_context_window.or(config.model.map(|_| 0))), want, "{text}");
    }
    let flags = overrides(&[
        "sandbox_workspace_write.network_access=true",
        "model_providers.\"my.own\".base_url=http://localhost:1",
        "model_providers.x={base_url = \"http://localhost:2\", query_params = {}}",
        "web_search=live",
        "model=a = b\nc = d",
    ]);
    let loaded = load(Inputs { overrides: flags, ..Kit::new().inputs() }).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let config = loaded.config;
    assert!(config.sandbox_workspace_write.network_access);
    assert_eq!(config.model_providers["my.own"].base_url.as_deref(), Some("http://localhost:1"));
    assert_eq!(config.model_providers["x"].base_url.as_deref(), Some("http://localhost:2"));
    assert_eq!(config.model.as_deref(), Some("a = b\nc = d"));
    for wrong in ["model", "=x", "a..b=1", "a b=1"] {
        assert!(Override::parse(wrong).unwrap_err().message.starts_with("--config: "), "{wrong}");
    }
}

/// What is wrong with a file, and what is said about it, with and without `--strict-config`.
#[test]
fn mistakes_are_named_with_file_line_and_key() {
    let table: Vec<(&str, Vec<u8>)> = vec![
        ("misspelt key", b"model = \"a\"\nmodle = \"x\"\n".to_vec()),
        ("misspelt table", b"[provder.a]\nbase_url = \"x\"\n".to_vec()),
        ("unknown key", b"timeout = \"banana\"\n".to_vec()),
        ("key under a table", b"[sandbox]\ngit = \"read\"\nmodel = \"x\"\n".to_vec()),
        ("misspelt in a table", b"[model_providers.acme]\nbase_ulr = \"https://key@acme\"\n".to_vec()),
        ("in a profile", b"[profiles.p]\nsandbox_mod = \"read-only\"\n".to_vec()),
        ("dotted", b"sandbox.lancher = \"bwrap\"\n".to_vec()),
        (
            "wrong types",
            b"model = 3\nmodel_context_window = \"big\"\nsandbox = true\n[prices]\nx = 1\n".to_vec(),
        ),
        ("numbers", b"model_context_window = -1\n[prices.\"a/b\"]\ninput = nan\noutput = 1\n".to_vec()),
        ("misspelt choice", b"sandbox_mode = \"workspace-wirte\"\napproval_policy = \"maybe\"\n".to_vec()),
        ("list of other things", b"[sandbox]\nhide = [1]\n".to_vec()),
        ("not yet", b"[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.b]\n[hooks]\n".to_vec()),
        ("auth", b"[model_providers.a]\nbase_url=\"http://h\"\nauth = { command = \"secret\" }\n".to_vec()),
        ("duplicate key", b"model = \"a\"\n\nmodel = \"secret\"\n".to_vec()),
        ("no TOML", b"model = \"a\"\nmodel_provider = secret\n".to_vec()),
        ("open quote", "naïve = 'ö'\nmodel = \"secret\n".into()),
        ("not UTF-8", b"# fine\nmodel = \"\xff\"\n".to_vec()),
        ("UTF-16", b"\xff\xfem\0o\0".to_vec()),
        ("byte-order mark", "\u{feff}model = \"a\"\n".into()),
        ("empty", Vec::new()),
    ];
    let mut said = String::new();
    for (name, text) in table {
        let kit = Kit::new().user(text);
        let lenient = kit.load();
        let strict = load(Inputs { strict: Strictness::Strict, ..kit.inputs() });
        let mistake = |warning: &Warning| warning.weight == Weight::Mistake;
        let fine = lenient.as_ref().is_ok_and(|loaded| !loaded.warnings.iter().any(mistake));
        assert_eq!(strict.is_ok(), fine, "{name}");
        said += &format!("{name}:\n{}", kit.said(&lenient));
    }
    assert!(!said.contains("secret") && !said.contains("key@"), "a value is shown: {said}");
    insta::assert_snapshot!(said);
}

#[test]
fn strict_names_all_that_is_wrong() {
    let kit = Kit::new().user("modle = \"x\"\n[sandbox]\ngit = 3\n");
    let flags = overrides(&["sandbox.gti=read"]);
    let outcome = load(Inputs { strict: Strictness::Strict, overrides: flags, ..kit.inputs() });
    insta::assert_snapshot!(kit.said(&outcome));
}

#[test]
fn what_is_no_file_is_said() {
    let kit = Kit::new();
    fs::create_dir(kit.dirs().config_file().unwrap()).unwrap();
    let folder = kit.said(&kit.load());
    insta::assert_snapshot!(folder);
    #[cfg(unix)]
    {
        let kit = Kit::new();
        let status =
            std::process::Command::new("mkfifo").arg(kit.dirs().config_file().unwrap()).status().unwrap();
        assert!(status.success());
        let said = kit.said(&kit.load());
        assert!(said.starts_with("error: [dir]/home/config.toml is no regular file"), "{said}");
    }
    // A home that does not exist, or is a file, holds no configuration.
    for home in ["/nonexistent/home", "/dev/null"] {
        let dirs = Dirs::find(&[("HOME", home)].into_iter().collect());
        assert_eq!(load(Inputs { dirs, ..Inputs::default() }).unwrap().config, Config::default(), "{home}");
    }
}

#[test]
fn a_project_decides_only_what_it_may() {
    let text = "model = \"project\"\n[sandbox]\nhide = [\"/h\"]\nreveal = [\"/r\"]\nlauncher = \"bwrap\"\n\
                [sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = [\"/\"]\n\
                [model_providers.acme]\nbase_url = \"http://a\"\nauth = { command = \"x\" }\n\
                [profiles.p.sandbox]\nreveal = [\"/r\"]\n";
    let kit = Kit::new().project_file(text);
    let untrusted = kit.load();
    let trusted = Kit::new().project_file(text).trusted();
    let loaded = trusted.load();
    insta::assert_snapshot!(format!(
        "untrusted:\n{}trusted:\n{}",
        kit.said(&untrusted),
        trusted.said(&loaded)
    ));

    assert_eq!(untrusted.unwrap().config, Config::default());
    let loaded = loaded.unwrap();
    assert!(loaded.project_trusted);
    let sandbox = &loaded.config.sandbox;
    assert_eq!((sandbox.hide.len(), sandbox.reveal.len()), (1, 0));
    assert!(loaded.config.sandbox_workspace_write.writable_roots.is_empty());
    assert!(!loaded.config.sandbox_workspace_write.network_access);
    assert!(loaded.config.model_providers.is_empty());
    assert!(load(Inputs { profile: Some("p".into()), ..trusted.inputs() }).is_err());
}

#[cfg(unix)]
#[test]
fn a_link_borrows_no_trust_and_a_broken_list_gives_none() {
    let kit = Kit::new().project_file("model = \"x\"").trusted();
    let other = kit.dir.path().join("other");
    fs::create_dir_all(other.join(".tack")).unwrap();
    fs::write(other.join(".tack/config.toml"), "model = \"evil\"").unwrap();
    fs::remove_dir_all(kit.project()).unwrap();
    std::os::unix::fs::symlink(&other, kit.project()).unwrap();
    assert_eq!(kit.load().unwrap().config.model, None);

    let kit = Kit::new().project_file("model = \"x\"");
    fs::write(kit.dirs().trust_file().unwrap(), "[projects\n").unwrap();
    let outcome = kit.load();
    assert!(
        kit.said(&outcome).starts_with("warning: trust: [dir]/home/trust.toml:1:10: "),
        "{}",
        kit.said(&outcome)
    );
    assert_eq!(outcome.unwrap().config.model, None);
}

#[test]
fn an_unknown_profile_is_an_error_with_the_nearest_name() {
    let kit = Kit::new().user("[profiles.review]\n[profiles.work]\n");
    let outcome = load(Inputs { profile: Some("reveiw".into()), ..kit.inputs() });
    insta::assert_snapshot!(kit.said(&outcome));
}

#[test]
fn folders_follow_the_environment() {
    let find = |pairs: &[(&str, &str)]| Dirs::find(&pairs.iter().copied().collect());
    assert_eq!(find(&[]), Dirs::default(), "without a home there is no place");
    assert!(find(&[]).missing().is_some() && find(&[("HOME", "/h")]).missing().is_none());
    assert_eq!(find(&[("HOME", ""), ("XDG_DATA_HOME", "relative")]), Dirs::default());
    let all = find(&[("HOME", "/h"), ("TACK_HOME", "/t")]);
    assert_eq!(all.config_file().unwrap(), Path::new("/t/config.toml"));
    assert_eq!(all.trust_file().unwrap(), Path::new("/t/trust.toml"));
    if cfg!(target_os = "linux") {
        let dirs = find(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]);
        assert_eq!(dirs.config_file().unwrap(), Path::new("/h/.config/tack/config.toml"));
        assert_eq!(dirs.sessions().unwrap(), Path::new("/h/.local/share/tack/sessions"));
        assert_eq!(dirs.log().unwrap(), Path::new("/h/.local/state/tack/log"));
        assert_eq!(dirs.cache.unwrap(), Path::new("/c/tack"));
        assert_eq!(find(&[("XDG_DATA_HOME", "/d")]).sessions().unwrap(), Path::new("/d/tack/sessions"));
    }
}

#[cfg(unix)]
#[test]
fn bytes_that_are_no_text_are_ignored_or_kept() {
    use std::os::unix::ffi::OsStringExt;
    let odd = || OsString::from_vec(b"/h\xff".to_vec());
    let env: Env = [("HOME", odd()), ("PATH", odd()), ("TACK_MODEL", odd())].into_iter().collect();
    let dirs = Dirs::find(&env);
    assert!(dirs.home.as_ref().unwrap().as_os_str().as_encoded_bytes().ends_with(b"\xff"));
    let loaded = load(Inputs { dirs, env, ..Inputs::default() }).unwrap();
    assert_eq!(loaded.config.model, None);
    let said: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["TACK_MODEL: the value is not UTF-8 and is ignored"]);
}

fn config(text: &str) -> Config {
    Kit::new().user(text).load().unwrap().config
}

fn provider(text: &str, id: &str, env: &[(&str, &str)]) -> Result<Provider, ConfigError> {
    let env: Env = env.iter().copied().collect();
    let dirs = Dirs::find(&[("HOME", "/h")].into_iter().collect());
    resolve(&config(text), id, &env, &dirs)
}

#[test]
fn a_provider_is_merged_from_table_config_and_environment() {
    let acme = r#"
        [model_providers.acme]
        base_url = "https://api.acme.example/v1"
        env_key = "ACME_API_KEY"
        http_headers = { "X-A" = "one" }
        env_http_headers = { "X-B" = "B", "X-C" = "UNSET" }
        query_params = { version = "2" }
        stream_idle_timeout_ms = 5
        request_max_retries = 9
        ca_certificate = "~/ca.pem"
    "#;
    let found = provider(acme, "acme", &[("ACME_API_KEY", " k \n"), ("B", "two")]).unwrap();
    assert_eq!(
        (found.id.as_str(), found.name.as_str(), found.needs_key, found.local),
        ("acme", "acme", true, false)
    );
    assert_eq!(found.key.as_ref().map(|key| key.reveal()), Some("k"));
    let headers: Vec<_> = found.headers.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(headers, [("X-A", "one"), ("X-B", "two")]);
    assert_eq!(found.query, [("version".to_owned(), Secret::new("2"))]);
    assert_eq!((found.idle_timeout.as_millis(), found.request_retries, found.stream_retries), (5, 9, 5));
    assert_eq!(found.ca_file.as_deref(), Some(Path::new("/h/ca.pem")));

    let moved = provider("openai_base_url = \"http://127.0.0.1:9/v1\"", "openai", &[]).unwrap();
    assert_eq!(
        (moved.base_url.as_str(), moved.local, moved.needs_key),
        ("http://127.0.0.1:9/v1", true, false)
    );
    let far = "[model_providers.ollama]\nbase_url = \"http://box.example:11434\"\nname = \"Box\"\n";
    let far = provider(far, "ollama", &[]).unwrap();
    assert_eq!((far.name.as_str(), far.local, far.needs_key), ("Box", false, false));
}

#[test]
fn the_key_is_the_one_that_was_meant() {
    let codex = ("CODEX_API_KEY", "codex");
    type Vars<'a> = &'a [(&'a str, &'a str)];
    let table: [(&str, Vars, Option<&str>); 8] = [
        ("openai", &[("OPENAI_API_KEY", "own")], Some("own")),
        ("openai", &[codex], Some("codex")),
        ("openai", &[codex, ("OPENAI_API_KEY", "own")], Some("codex")),
        ("deepseek", &[codex, ("DEEPSEEK_API_KEY", "own")], Some("own")),
        ("deepseek", &[codex], Some("codex")),
        ("deepseek", &[("DEEPSEEK_API_KEY", "  ")], None),
        ("ollama", &[codex], None),
        ("openai", &[], None),
    ];
    for (id, env, want) in table {
        let found = provider("", id, env).unwrap();
        assert_eq!(found.key.as_ref().map(|key| key.reveal()), want, "{id} {env:?}");
    }
}

#[test]
fn a_provider_that_cannot_be_used_is_said() {
    let table = [
        ("", "opnai"),
        ("", "zzz"),
        ("[model_providers.acme]\nname = \"x\"\n", "acme"),
        ("[model_providers.acme]\nbase_url = \"api acme\"\n", "acme"),
        ("openai_base_url = \"ftp://key@host\"\n", "openai"),
    ];
    let mut said = String::new();
    for (text, id) in table {
        let error = provider(text, id, &[]).unwrap_err();
        let hint = error.hint.unwrap().replace(&known(&config(text)).join(", "), "[all ids]");
        said += &format!("{}\n    {hint}\n", error.message);
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_model_name_with_a_slash() {
    let known = known(&config("[model_providers.router]\nbase_url = \"http://r\"\n"));
    assert!(["deepseek", "ollama", "openai", "router"].iter().all(|id| known.iter().any(|k| k == id)));
    let table = [
        ("", "gpt-5", None, "openai gpt-5"),
        ("", "ollama/qwen3:4b", None, "ollama qwen3:4b"),
        ("router", "deepseek/v3/x", Some(true), "router deepseek/v3/x"),
        ("router", "deepseek/v3/x", Some(false), "deepseek v3/x"),
        ("router", "deepseek/v3", None, "router deepseek/v3"),
        ("router", "maker/coder", Some(false), "router maker/coder"),
        ("ollama", "ollama/qwen", None, "ollama qwen"),
    ];
    for (provider, model, serves, want) in table {
        let set = Some(provider.to_owned()).filter(|id| !id.is_empty());
        let config = Config { model: Some(model.into()), model_provider: set, ..Config::default() };
        let choice = choose(&config, &known, |_, _| serves).unwrap();
        assert_eq!(format!("{} {}", choice.provider, choice.model), want, "{provider} {model}");
    }
    // What serves OpenAI's wire at another address may have names with a slash.
    let moved = Config {
        model: Some("maker/coder".into()),
        openai_base_url: Some("http://localhost:1/v1".into()),
        ..Config::default()
    };
    assert_eq!(choose(&moved, &known, |_, _| None).unwrap().model, "maker/coder");
    let wrong = [(None, None), (Some("ollama"), None), (None, Some("ollama/")), (None, Some("makr/coder"))];
    let said = wrong.map(|(provider, model): (Option<&str>, Option<&str>)| {
        let config = Config {
            model: model.map(str::to_owned),
            model_provider: provider.map(str::to_owned),
            ..Config::default()
        };
        let e = choose(&config, &known, |_, _| None).unwrap_err();
        format!("{e}\n    {}\n", e.hint.as_ref().unwrap())
    });
    insta::assert_snapshot!(said.concat());
}

fn set(path: &[&str], value: impl Into<toml_edit::Value>) -> Change {
    Change::Set(path.iter().map(|part| (*part).to_owned()).collect(), value.into())
}

#[test]
fn an_edit_changes_one_key_and_nothing_else() {
    let before = "# mine\nmodel = \"old\" # why\n\n[profiles.a] # kept\n  model='x'\n";
    let kit = Kit::new().user(before);
    let path = kit.dirs().config_file().unwrap();
    let remove = Change::Remove(["profiles", "zzz", "model"].map(str::to_owned).to_vec());
    apply(&path, &[set(&["model"], "new"), set(&["profiles", "a", "harness"], "pi"), remove]).unwrap();
    apply(&path, &[set(&["model_providers", "acme", "base_url"], "http://a")]).unwrap();
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap());

    keep_harness(&path, "ollama/qwen3:8b", "local").unwrap();
    keep_harness(&path, "ollama/qwen3:8b", "pi").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.ends_with("\n[models.\"ollama/qwen3:8b\"]\nharness = \"pi\"\n") && text.contains("# kept"),
        "{text}"
    );

    let broken = Kit::new().user("model = \n");
    let path = broken.dirs().config_file().unwrap();
    let error = apply(&path, &[set(&["model"], "new")]).unwrap_err();
    assert!(error.message.contains("config.toml:1:"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "model = \n");

    let flat = Kit::new().user("sandbox = 3\n");
    let error = apply(&flat.dirs().config_file().unwrap(), &[set(&["sandbox", "git"], "read")]).unwrap_err();
    assert!(error.message.ends_with("`sandbox` is no table"), "{error}");
}

#[cfg(unix)]
#[test]
fn an_edit_keeps_a_link_and_the_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let kit = Kit::new();
    let (real, link) = (kit.dir.path().join("dotfiles.toml"), kit.dirs().config_file().unwrap());
    fs::write(&real, "").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, &link).unwrap();
    apply(&link, &[set(&["model"], "m")]).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "model = \"m\"\n");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

const CHILD: &str = "TACK_TEST_WRITER";

/// Four processes of two threads, each setting keys of its own, while a reader looks on.
#[test]
fn writers_at_once_lose_nothing() {
    let write = |path: &Path, who: usize| {
        std::thread::scope(|scope| {
            for thread in 0..2 {
                scope.spawn(move || {
                    for n in 0..4 {
                        let profile = format!("w{who}-{thread}-{n}");
                        apply(path, &[set(&["profiles", &profile, "model"], "m")]).unwrap();
                    }
                });
            }
        });
    };
    if let Some(given) = std::env::var_os(CHILD) {
        let given = given.into_string().unwrap();
        let (who, path) = given.split_once(':').unwrap();
        return write(Path::new(path), who.parse().unwrap());
    }
    let kit = Kit::new().user("# a comment\nmodel = \"kept\"\n");
    let path = kit.dirs().config_file().unwrap();
    let children: Vec<_> = (0..4)
        .map(|who| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "config::writers_at_once_lose_nothing"])
                .env(CHILD, format!("{who}:{}", path.display()))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        while child.try_wait().unwrap().is_none() {
            assert_eq!(
                kit.load().unwrap().config.model.as_deref(),
                Some("kept"),
                "a reader sees whole files"
            );
        }
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# a comment\nmodel = \"kept\"\n"));
    assert_eq!(text.matches("[profiles.").count(), 4 * 2 * 4, "{text}");
}
