//! How hard to think, where the harness has a word in it: in the words of each local server, only to
//! models that may be told, and below what the user set.

use serde_json::{Map, Value, json};
use tack::model::{Model, Probed, Thinking, WireKind};
use tack::wire::of;
use tack::wire::prompt::{Message, Prompt, Role};
use tack::wire::provider::{self, Quirks};

use super::wire_encode::model;

const WIRES: [WireKind; 3] = [WireKind::Chat, WireKind::Responses, WireKind::Messages];
const FIELDS: [&str; 6] =
    ["reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs", "output_config"];

fn prompt(effort: &str) -> Prompt {
    let messages = vec![Message::text(Role::User, "hi")];
    Prompt { messages, effort: Some(effort.to_owned()), ..Prompt::default() }
}

/// What the body says of thinking.
fn said(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
    let body = of(model.wire).encode(prompt, model, quirks);
    let fields = body.as_object().unwrap().iter().filter(|(field, _)| FIELDS.contains(&field.as_str()));
    fields.map(|(field, value)| (field.clone(), value.clone())).collect::<Map<_, _>>().into()
}

fn thinks() -> Option<Probed> {
    Some(Probed { thinking: Some("reasoning_content".into()), ..Probed::default() })
}

#[test]
fn a_local_server_hears_it_in_its_own_words() {
    let mut shown = String::new();
    for id in provider::ids() {
        let builtin = provider::builtin(id).unwrap();
        for provider in WIRES.iter().filter_map(|wire| builtin.over(*wire)).filter(|provider| provider.local)
        {
            let (wire, thinking) = (provider.wire, provider.quirks.thinking);
            let model = Model { wire, thinking, local: true, probed: thinks(), ..model() };
            for effort in ["off", "high"] {
                let said = said(&prompt(effort), &model, &provider.quirks);
                shown += &format!("{id} {} {effort}: {said}\n", wire.name());
            }
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn the_users_word_wins_and_nothing_is_said_to_models_that_do_not_think() {
    let quirks = Quirks::default();
    for wire in WIRES {
        let hosted = Model { wire, ..model() };
        let local = Model { local: true, ..hosted.clone() };
        let user = Model { effort: Some("low".into()), ..hosted.clone() };
        let high = said(&prompt("high"), &hosted, &quirks);
        assert!(high.to_string().contains("\"high\""), "{high}");
        assert_eq!(said(&prompt("high"), &user, &quirks), said(&Prompt::default(), &user, &quirks));
        assert_eq!(said(&prompt("high"), &Model { probed: thinks(), ..local.clone() }, &quirks), high);
        let cannot = Model { thinking: Thinking::None, ..hosted.clone() };
        let seen_not = Model { probed: Some(Probed::default()), ..local.clone() };
        for silent in [cannot, local, seen_not] {
            assert_eq!(said(&prompt("high"), &silent, &quirks), Value::Object(Map::new()), "{silent:?}");
        }
        let mut refused = Quirks::default();
        refused.drop.insert("reasoning".into(), vec![hosted.name.clone()]);
        assert_eq!(said(&prompt("high"), &hosted, &refused), Value::Object(Map::new()));
    }
}

#[test]
fn a_field_of_the_harness_adds_to_what_is_said_of_thinking() {
    use Thinking::{Adaptive, Budget, Toggle};
    use WireKind::{Chat, Messages, Responses};
    let keep = json!({"thinking": {"keep": "all"}});
    let off = json!({"thinking": {"type": "disabled"}});
    let mut shown = String::new();
    for (wire, thinking, more) in [
        (Chat, Toggle, &keep),
        (Chat, Toggle, &off),
        (Chat, Thinking::Template, &json!({"chat_template_kwargs": {"clear_thinking": {"a": 1}}})),
        (Responses, Thinking::Effort, &json!({"reasoning": {"summary": "detailed"}})),
        (Responses, Toggle, &keep),
        (Messages, Budget, &off),
        (Messages, Budget, &json!({"thinking": {"type": "adaptive"}})),
        (Messages, Adaptive, &json!({"thinking": {"display": "omitted"}})),
    ] {
        let model = Model { wire, thinking, ..model() };
        let body = more.as_object().unwrap().clone();
        let said = said(&Prompt { body, ..prompt("high") }, &model, &Quirks::default());
        shown += &format!("{} {thinking:?} and {more}: {said}\n", wire.name());
    }
    insta::assert_snapshot!(shown);
}
