//! Whether the model's calls come back as calls: one request of a hosted model, the probe of a local one.

use super::super::learn::{Learnt, details};
use super::super::runtime;
use super::{Check, CliError};
use crate::model::{Calls, Model, Probed, Usage};
use crate::probe::{self, Came};
use crate::wire::client::HttpClient;
use crate::wire::local::Found;
use crate::wire::provider::Provider;

const OTHER_MODEL: &str = "another model may do better with tools";

/// One real request with one tool.
pub(super) fn try_out(model: &Model, provider: Provider) -> Check {
    let tried = HttpClient::new(provider).map_err(|failure| CliError::failed(failure.to_string()));
    let tried = tried.and_then(|client| {
        let asked = runtime()?.block_on(probe::call(&client, model, &mut |_| {}));
        asked.map_err(|failure| CliError::failed(failure.to_string()))
    });
    let tried = match tried {
        Ok(tried) => tried,
        Err(error) => return Check::failed("call", error),
    };
    let spent = spent(model, &tried.usage);
    match tried.came {
        Came::Call => Check::ok("call", format!("a tool call came back ({spent})")),
        Came::Text(form) => {
            Check::note("call", format!("the call came back as text ({form}; {spent})")).hint(OTHER_MODEL)
        }
        Came::Garbled => {
            Check::note("call", format!("a call came back that cannot be read ({spent})")).hint(OTHER_MODEL)
        }
        Came::Words => Check::note("call", format!("the model answered in words, without a call ({spent})"))
            .hint(OTHER_MODEL),
        Came::Thoughts => {
            Check::note("call", format!("the model was still thinking when it was cut ({spent})"))
        }
        Came::Refused(words) => Check::note("call", words).hint(OTHER_MODEL),
    }
}

/// What the probe of a local model showed, now or earlier. None: nobody has asked.
pub(super) fn probed(
    model: &Model,
    learnt: &Learnt,
    probed: Option<&Probed>,
    found: Option<&Found>,
) -> Option<Check> {
    if let Some(why) = &learnt.failed {
        return Some(Check::failed("call", CliError::failed(why.clone())));
    }
    if !learnt.asked {
        return None;
    }
    let when = learnt.usage.map_or_else(|| "asked earlier".to_owned(), |usage| spent(model, &usage));
    let Some(known) = probed else {
        return Some(Check::note("call", format!("{} ({when})", probe::words(None))));
    };
    let text = format!("{}; {} ({when})", probe::words(Some(known)), details(known));
    Some(match known.calls {
        Calls::Wire => Check::ok("call", text),
        Calls::Text => Check::note("call", text).hint(remedy(found)),
        Calls::None => Check::note("call", text).hint(OTHER_MODEL),
    })
}

/// What to do about calls that come as text.
pub(in crate::cli) fn remedy(found: Option<&Found>) -> &'static str {
    match found.and_then(|found| found.tools) {
        Some(true) => {
            "its server's template has calls, in a form that is not the model's own: start it with another template \
             (llama.cpp: --jinja --chat-template-file FILE); until then tack reads them from its text"
        }
        Some(false) | None => {
            "start the server with a template or parser for this model's calls; until then tack reads them from its text"
        }
    }
}

fn spent(model: &Model, usage: &Usage) -> String {
    let cost = model.prices.map(|prices| format!(", ${:.4}", prices.cost(usage))).unwrap_or_default();
    format!("{} tokens in, {} out{cost}", usage.input, usage.output)
}
