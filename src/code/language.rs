//! Which language a file is in, by its name alone.

/// A language that something here reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Python,
    /// With JSX.
    JavaScript,
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    Rust,
    Go,
    Json,
    Toml,
    /// One of those where brackets can be told from strings and comments: C and its kin.
    Braces,
}

/// The language of a file, if it is one of ours.
pub fn language(path: &str) -> Option<Language> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    if name == "cargo.lock" || name == "poetry.lock" || name == "uv.lock" || name == "pipfile" {
        return Some(Language::Toml);
    }
    let (stem, ending) = name.rsplit_once('.')?;
    // Declarations alone have rules of their own, and mostly come out of a compiler.
    if stem.ends_with(".d") && matches!(ending, "ts" | "mts" | "cts") {
        return None;
    }
    Some(match ending {
        "py" | "pyi" | "pyw" => Language::Python,
        "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
        "ts" | "mts" | "cts" => Language::TypeScript,
        "tsx" => Language::Tsx,
        "rs" => Language::Rust,
        "go" => Language::Go,
        "json" if !commented(path, &name) => Language::Json,
        "toml" => Language::Toml,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "java" | "cs" | "kt" | "dart" | "css" => {
            Language::Braces
        }
        _ => return None,
    })
}

/// JSON that its readers take with comments and trailing commas, so that no strict parser may judge it.
fn commented(path: &str, name: &str) -> bool {
    let stems =
        ["tsconfig", "jsconfig", "deno", "biome", "turbo", "devcontainer", "api-extractor", "renovate"];
    let folders = [".vscode", ".devcontainer", ".zed"];
    let folder = path.rsplit(['/', '\\']).nth(1).unwrap_or("");
    stems.iter().any(|stem| name.starts_with(stem)) || name.starts_with('.') || folders.contains(&folder)
}
