//! Which words are paths, and which blocks can be the files that they name.

/// The word that a block of this file has at its fence, where that is not the extension itself.
pub(super) fn label(path: &str) -> &str {
    match extension(path) {
        "py" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "ts" => "typescript",
        "rs" => "rust",
        "sh" => "bash",
        "md" => "markdown",
        "yml" => "yaml",
        "rb" => "ruby",
        "txt" => "",
        other => other,
    }
}

/// Whether files like this one stand in blocks with that word.
pub(super) fn is_label_of(word: &str, path: &str) -> bool {
    let word = word.to_ascii_lowercase();
    !extension(path).is_empty() && !is_shell(&word) && (word == label(path) || word == extension(path))
}

/// Words that look like files.
const PROGRAMS: [&str; 14] = [
    "node.js",
    "vue.js",
    "next.js",
    "nuxt.js",
    "react.js",
    "express.js",
    "three.js",
    "chart.js",
    "d3.js",
    "p5.js",
    "asp.net",
    "vb.net",
    "e.g",
    "i.e",
];

/// What files end in. The end of `Cart.clear` is a method.
const EXTENSIONS: &str = "\
    py pyi ipynb js mjs cjs jsx ts mts cts tsx rs go c h cc cpp cxx hpp hh java kt kts cs fs vb swift \
    m mm scala rb php pl pm lua r jl hs ml mli ex exs erl clj lisp el zig nim d dart v sol asm s sh \
    bash zsh fish ps1 bat cmd sql html htm css scss sass less vue svelte xml svg json jsonl jsonc \
    json5 yaml yml toml ini cfg conf env properties lock md mdx markdown rst adoc tex txt text log csv \
    tsv proto graphql tf mk cmake gradle diff patch";

/// Files that have no extension. Others, such as `VERSION`, are headings as well.
const BARE: [&str; 10] = [
    "makefile",
    "dockerfile",
    "containerfile",
    "jenkinsfile",
    "procfile",
    "gemfile",
    "rakefile",
    "vagrantfile",
    "justfile",
    "codeowners",
];

pub(super) fn is_path(text: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "<>|\"'*?`{}$=;,&!^\\:%".contains(c);
    let name = text.rsplit('/').next().unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    if text.len() > 200 || text.starts_with('-') || text.contains(odd) || PROGRAMS.contains(&lower.as_str()) {
        return false;
    }
    let ext = extension(&lower);
    let dotted = name.starts_with('.') && name.len() > 2 && !name[1..].contains('.');
    (EXTENSIONS.split_whitespace().any(|known| known == ext) || dotted) && !name.starts_with("..")
        || BARE.contains(&lower.as_str())
}

/// What follows the last dot of the name; empty where there is none.
pub(super) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or("", |(_, ext)| ext)
}

pub(super) fn is_markdown(path: &str) -> bool {
    ["md", "markdown", "mdx"].contains(&extension(path).to_ascii_lowercase().as_str())
}

pub(super) fn is_shell(word: &str) -> bool {
    ["bash", "sh", "shell", "zsh", "console", "terminal", "powershell", "cmd", "bat"].contains(&word)
}

/// Whether a block with this word at its fence can be that file: commands, differences and what a
/// program printed also stand in blocks, under lines that name a file.
pub(super) fn suits(label: &str, path: &str) -> bool {
    let word = label.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let ext = extension(path).to_ascii_lowercase();
    match word.as_str() {
        word if is_shell(word) => ["sh", "bash", "zsh", "ps1", "bat", "cmd", ""].contains(&ext.as_str()),
        "diff" | "patch" => ["diff", "patch"].contains(&ext.as_str()),
        "output" | "stdout" | "stderr" | "traceback" | "error" => false,
        // A program that reads the file.
        "python" | "py" | "rust" | "go" | "java" | "c" | "cpp" | "ruby" => !DATA.contains(&ext.as_str()),
        _ => true,
    }
}

/// Files that hold no program.
const DATA: [&str; 15] = [
    "json", "jsonl", "toml", "yaml", "yml", "ini", "cfg", "csv", "tsv", "xml", "html", "css", "env", "lock",
    "txt",
];

/// Whether a block that begins with this line is the file, not a session with a shell.
pub(super) fn is_text_of(path: &str, label: &str, first: &str) -> bool {
    let session = first.starts_with("$ ") && !is_markdown(path);
    let script = !is_shell(label) || !extension(path).is_empty() || first.starts_with("#!");
    !session && script
}
