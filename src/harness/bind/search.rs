//! Tools that are only named: looking among them, and which of them a session has asked for.

use regex::RegexBuilder;

use crate::harness::kit::Kit;
use crate::harness::tool::Tool;
use crate::model::{Action, Body, Item, State};

/// How many are found when the call does not say.
const USUAL: u64 = 5;

/// Names of the tools that fit: those that `select:a,b` names, or by words in name, text and parameters, the
/// best first, where `+word` has to be there; or by a regular expression.
pub(super) fn search(kit: &Kit, query: &str, regex: bool, limit: Option<u64>) -> Vec<String> {
    let most = usize::try_from(limit.filter(|limit| *limit > 0).unwrap_or(USUAL)).unwrap_or(usize::MAX);
    if let Some(names) = query.trim().strip_prefix("select:") {
        let mut found: Vec<String> = Vec::new();
        for (name, _) in names.split(',').filter_map(|name| super::resolve(kit, name)) {
            if !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        }
        return found;
    }
    let pattern = regex.then(|| RegexBuilder::new(query).case_insensitive(true).build().ok()).flatten();
    let score = |name: &str, tool: &Tool| match &pattern {
        Some(pattern) => usize::from(pattern.is_match(name) || pattern.is_match(&tool.about)),
        None => by_words(query, name, tool),
    };
    let deferred = kit.tools.iter().filter(|(_, tool)| tool.on_wire() && tool.defer);
    let mut scored: Vec<(usize, &str)> = deferred.map(|(name, tool)| (score(name, tool), name)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(most).map(|(_, name)| name.to_owned()).collect()
}

fn by_words(query: &str, name: &str, tool: &Tool) -> usize {
    let (name, about) = (name.to_lowercase(), tool.about.to_lowercase());
    let mut score = 0;
    for word in query.to_lowercase().split_whitespace() {
        let (word, must) = word.strip_prefix('+').map_or((word, false), |word| (word, true));
        let fits = if name.contains(word) {
            3
        } else if about.contains(word) || tool.params.names().any(|param| param.to_lowercase().contains(word))
        {
            1
        } else {
            0
        };
        if must && fits == 0 {
            return 0;
        }
        score += fits;
    }
    score
}

/// The deferred tools that this session has asked for, in the order they were found.
pub(in crate::harness) fn found<'k>(kit: &'k Kit, items: &[Item]) -> Vec<(&'k str, &'k Tool)> {
    let mut found: Vec<(&str, &Tool)> = Vec::new();
    for item in items {
        let Body::Assistant(reply) = &item.body else { continue };
        for call in reply.calls() {
            let Action::Tools { found: names, .. } = &call.action else { continue };
            let told = |item: &Item| matches!(&item.body, Body::Result(r) if r.call == call.id && r.outcome.state == State::Ok);
            if !items.iter().any(told) {
                continue;
            }
            for (name, tool) in names.iter().filter_map(|name| kit.tool(name)) {
                if tool.defer && tool.on_wire() && !found.iter().any(|(known, _)| *known == name) {
                    found.push((name, tool));
                }
            }
        }
    }
    found
}
