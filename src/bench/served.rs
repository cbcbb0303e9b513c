//! Which model a local server really has: asked before and after each run.
//!
//! A name proves nothing: a server may be started again with another model, or another chat template,
//! under the same name. Hosted services tell nothing of the kind and are not asked.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};

use crate::model::short_hash;
use crate::wire::client::HttpClient;
use crate::wire::client::get::Limits;
use crate::wire::provider::Provider;

const LIMITS: Limits = Limits { time: Duration::from_secs(5), bytes: 8 << 20 };

/// What of llama.cpp's `/props` stays the same while it serves one model in one way.
const PROPS: [&str; 4] =
    ["/model_path", "/chat_template", "/default_generation_settings/n_ctx", "/build_info"];

/// What the server says of `model`, hashed; None when it says nothing that tells models apart. Err:
/// it does not answer at all.
pub async fn served(provider: &Provider, model: &str) -> Result<Option<String>, String> {
    let client = HttpClient::new(provider.clone()).map_err(|failure| failure.to_string())?;
    let list = provider.url("/models").map_err(|failure| failure.to_string())?;
    let props = props(&list);
    let listed = client.get(&list, LIMITS).await.map_err(|failure| failure.to_string())?;
    let listed = listed.json().filter(|_| listed.status == 200).and_then(|page| entry(&page, model));
    let told = match props {
        Some(url) => client.get(&url, LIMITS).await.ok().filter(|page| page.status == 200),
        None => None,
    };
    let told = told.and_then(|page| page.json()).and_then(|page| lasting(&page));
    if listed.is_none() && told.is_none() {
        return Ok(None);
    }
    let text = json!([listed, told]).to_string();
    Ok(Some(short_hash(text)))
}

/// The model's own entry of a list, else the list's names; without what changes by itself.
fn entry(page: &Value, model: &str) -> Option<Value> {
    let all = page.get("data").unwrap_or(page).as_array()?;
    let own = all.iter().find(|one| one["id"] == model);
    let Some(mut own) = own.cloned() else {
        return Some(all.iter().map(|one| one["id"].clone()).collect());
    };
    // llama.cpp gives the time of the request.
    own.as_object_mut()?.remove("created");
    Some(own)
}

fn lasting(page: &Value) -> Option<Value> {
    let found: Vec<Option<&Value>> = PROPS.iter().map(|path| page.pointer(path)).collect();
    found.iter().any(Option::is_some).then(|| json!(found))
}

fn props(list: &Url) -> Option<Url> {
    let root = list.path().strip_suffix("/models")?;
    let root = root.strip_suffix("/v1").unwrap_or(root);
    let mut url = list.clone();
    url.set_path(&format!("{root}/props"));
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_by_itself_is_no_other_model() {
        let list = |created: u32, size: u32| json!({"data": [{"id": "m", "created": created, "meta": {"size": size}}]});
        assert_eq!(entry(&list(1, 9), "m"), entry(&list(2, 9), "m"));
        assert_ne!(entry(&list(1, 9), "m"), entry(&list(1, 8), "m"));
        assert_eq!(entry(&list(1, 9), "other"), Some(json!(["m"])), "any name is served there");
        let page = |template: &str, n: u32| json!({"chat_template": template, "is_sleeping": n});
        assert_eq!(lasting(&page("a", 1)), lasting(&page("a", 2)));
        assert_ne!(lasting(&page("a", 1)), lasting(&page("b", 1)));
        assert_eq!(lasting(&json!({"error": 1})), None);
    }
}
