//! `[dialect]`: where in a reply the calls are, and how the model learns of the tools.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dialect {
    pub kind: DialectKind,
    /// External: the program and its arguments, run in the harness's folder.
    pub command: Vec<String>,
    /// External: the program reaches the network.
    pub network: bool,
    /// External: seconds that an answer may take; 0: as many as are allowed.
    pub limit: u64,
    /// Calls: how the model learns of the tools.
    pub offer: Offer,
    /// Fenced: the language words whose blocks are commands.
    pub labels: Vec<String>,
    /// Fenced: XML tags that stand for a block.
    pub tags: Vec<String>,
    pub which: Which,
    /// Fenced: the tool of a block that names no other. Json: the one that every element of the list
    /// calls; without it an element names its tool.
    pub bare: Option<String>,
    /// Json: the fields that hold prose. They have to be there.
    pub says: Vec<String>,
    /// Json: the field with the list of calls.
    pub calls: Option<String>,
    /// Json: the field that, if true, hands in.
    pub done: Option<String>,
    /// Json: template file around what the calls of a reply came to.
    pub frame: Option<String>,
    /// Calls: forms of a call written as text that are understood all the same.
    pub salvage: Vec<Salvage>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialectKind {
    /// The wire's own tool calls.
    #[default]
    Calls,
    /// One code block in the text.
    Fenced,
    /// A program is asked first, and what it leaves is done as the manifest below it says: merging
    /// keeps the kind of that one.
    External,
    /// One JSON object in the text, with all calls of the reply.
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    /// In the request, as tools.
    #[default]
    Wire,
    /// In the system prompt, by its template: calls and answers are texts of the conversation.
    Prompt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    #[default]
    Last,
    /// A second block is an error.
    Only,
}

/// Forms of a call in plain text, by who writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Salvage {
    /// `{"name": …, "arguments": …}`, bare or as the only code block.
    Json,
    /// `<tool_call>{…}</tool_call>`
    Hermes,
    /// `<function=name><parameter=key>value</parameter></function>`
    Xml,
    /// Special tokens that a server failed to read: Mistral, Llama, DeepSeek.
    Markers,
    /// Python calls in a list between `<|tool_call_start|>` and `<|tool_call_end|>`.
    Pythonic,
    /// A reply that is one shell block and nothing else.
    Shell,
    /// The first JSON call within a longer text; what follows it was made up and is cut away.
    Within,
    /// A code block under a line that is a path: a call of the tool that does `rewrite`.
    File,
}
