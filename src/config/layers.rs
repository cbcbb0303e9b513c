//! Putting the layers on top of each other.

use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};

use super::load::{self, Author, Layer, Override, Warning, Weight};
use super::origin::{Origins, Setting};
use super::{Config, ConfigError, Dirs, Env, keys, trust};

/// Where settings come from.
#[derive(Default)]
pub struct Inputs {
    pub dirs: Dirs,
    /// The project's root folder, when there is a project.
    pub project: Option<PathBuf>,
    /// `--profile`.
    pub profile: Option<String>,
    /// Flags, later ones win.
    pub overrides: Vec<Override>,
    pub env: Env,
    pub strict: Strictness,
}

/// What `--strict-config` decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// What is not understood is ignored with a warning.
    #[default]
    Lenient,
    /// An unknown key or a value of the wrong type is an error.
    Strict,
}

#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    /// For stderr, one line each.
    pub warnings: Vec<Warning>,
    /// The project's folder is trusted, so its harnesses count too.
    pub project_trusted: bool,
    /// All that is set, and where.
    pub settings: Vec<Setting>,
}

const VARIABLES: [(&str, &str); 3] =
    [("TACK_MODEL", "model"), ("TACK_PROVIDER", "model_provider"), ("TACK_HARNESS", "harness")];

/// Number of the first source that is about one run, after the two files.
const PROFILE: usize = 2;

/// What the vendors' own clients read. Below the files: whoever wrote one meant tack.
const ADDRESSES: [(&str, &str); 2] =
    [("OPENAI_BASE_URL", "openai_base_url"), ("ANTHROPIC_BASE_URL", "model_providers.anthropic.base_url")];

/// Reads and merges everything.
pub fn load(inputs: Inputs) -> Result<Loaded, ConfigError> {
    let mut stack = Stack::default();
    stack.variables(&ADDRESSES, &inputs.env);
    if let Some(path) = inputs.dirs.config_file() {
        stack.lay(load::file(&path, Author::User)?);
    }
    stack.source += 1;
    let project_trusted = project(&inputs, &mut stack)?;
    stack.source = PROFILE;
    if let Some(name) = inputs.profile.clone().or_else(|| stack.text("profile")) {
        let profile = stack.profile(&name)?;
        let origins = stack.origins.of_profile(&name);
        stack.lay(Layer { table: profile, origins, warnings: Vec::new() });
    }
    stack.source += 1;
    stack.variables(&VARIABLES, &inputs.env);
    stack.source += 1;
    for setting in inputs.overrides {
        stack.lay(load::flag(setting));
    }
    stack.drop_half_prices();
    let settings = stack.origins.settings(&stack.table);
    let mistakes = stack.warnings.iter().filter(|warning| warning.weight == Weight::Mistake);
    let lines: Vec<String> = mistakes.map(Warning::to_string).collect();
    if inputs.strict == Strictness::Strict && !lines.is_empty() {
        return Err(ConfigError::new(lines.join("\n")).hint("mend it, or leave out --strict-config"));
    }
    let mut config = Config::deserialize(Value::Table(stack.table))
        .map_err(|e| ConfigError::new(format!("the configuration does not fit together: {}", e.message())))?;
    config.model_is_later = stack.model_from > stack.provider_from;
    config.model_is_for_this_run = stack.model_from.max(stack.provider_from) >= PROFILE;
    config.harness_is_for_this_run = stack.harness_from >= PROFILE;
    Ok(Loaded { config, warnings: stack.warnings, project_trusted, settings })
}

/// Lays the project's file, if the user trusts the folder. Says whether they do.
fn project(inputs: &Inputs, stack: &mut Stack) -> Result<bool, ConfigError> {
    let Some(root) = &inputs.project else { return Ok(false) };
    let (trusted, wrong) = trust::trusts(&inputs.dirs, root);
    stack.warnings.extend(wrong);
    let path = load::project_file(root);
    if trusted {
        let layer = load::file(&path, Author::Project(&stack.table))?;
        stack.lay(layer);
    } else if path.exists() && inputs.dirs.config_file().as_ref() != Some(&path) {
        let how = trust::how_to_trust(&inputs.dirs, root);
        let text = format!("ignored, as this folder is not trusted; {how}");
        stack.notice(&path.display().to_string(), &text);
    }
    Ok(trusted)
}

/// The layers so far, merged.
#[derive(Default)]
struct Stack {
    table: Table,
    origins: Origins,
    warnings: Vec<Warning>,
    /// Number of the source being laid: files, profile, variables, flags.
    source: usize,
    /// The sources of `model`, `model_provider` and `harness`.
    model_from: usize,
    provider_from: usize,
    harness_from: usize,
}

impl Stack {
    fn lay(&mut self, layer: Layer) {
        if layer.table.contains_key("model") {
            self.model_from = self.source;
        }
        if layer.table.contains_key("model_provider") {
            self.provider_from = self.source;
        }
        if layer.table.contains_key("harness") {
            self.harness_from = self.source;
        }
        merge(&mut self.table, layer.table, "");
        self.origins.lay(layer.origins);
        self.warnings.extend(layer.warnings);
    }

    /// Lays what is set of these variables on the keys beside them.
    fn variables(&mut self, which: &[(&str, &str)], env: &Env) {
        for (variable, key) in which {
            match (env.get(variable), env.text(variable)) {
                (_, Some(value)) => self.lay(load::flag(Override::text(key, value).by(variable))),
                (Some(_), None) => self.notice(variable, "the value is not UTF-8 and is ignored"),
                (None, None) => {}
            }
        }
    }

    fn notice(&mut self, place: &str, text: &str) {
        self.warnings.push(Warning::notice(place, text));
    }

    /// A price without one of its halves would be a wrong price. Only now, as another layer may
    /// have held the other half.
    fn drop_half_prices(&mut self) {
        let Some(Value::Table(prices)) = self.table.get_mut("prices") else { return };
        let whole = |price: &Value| price.get("input").is_some() && price.get("output").is_some();
        let half: Vec<String> =
            prices.iter().filter(|(_, price)| !whole(price)).map(|(name, _)| name.clone()).collect();
        prices.retain(|_, price| whole(price));
        for name in half {
            let text = "needs both input and output; it is ignored".to_owned();
            let place = format!("prices.{name:?}");
            self.warnings.push(Warning { place, text, weight: Weight::Mistake });
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        self.table.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    fn profile(&self, name: &str) -> Result<Table, ConfigError> {
        let profiles = self.table.get("profiles").and_then(Value::as_table);
        let names = || profiles.into_iter().flat_map(Table::keys).map(String::as_str);
        if let Some(profile) = profiles.and_then(|all| all.get(name)).and_then(Value::as_table) {
            return Ok(profile.clone());
        }
        let meant = keys::meant(name, names());
        let known: Vec<&str> = names().collect();
        let hint = match known.as_slice() {
            [] => format!("add [profiles.{name}] to the configuration file"),
            known => format!("there are: {}", known.join(", ")),
        };
        Err(ConfigError::new(format!("there is no profile `{name}`{meant}")).hint(hint))
    }
}

/// Lays `over` onto `under`: tables key by key, everything else as a whole. `sandbox.hide` only
/// ever grows, so that no layer can show what another one hides.
fn merge(under: &mut Table, over: Table, within: &str) {
    for (name, value) in over {
        match (under.get_mut(&name), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new, &name),
            (Some(Value::Array(old)), Value::Array(new)) if within == "sandbox" && name == "hide" => {
                old.extend(new);
            }
            (_, value) => {
                under.insert(name, value);
            }
        }
    }
}
