//! Ids of calls and names in them, made to fit what a server takes. Pure.
//!
//! A session's ids come from whoever made the call; the next server may want another form. The same
//! id always becomes the same one, so that calls and results stay together and the prompt's bytes stay
//! as they were.

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// What a server takes as the id of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdForm {
    /// Letters, digits, `_` and `-`, at most 40: what all of the three APIs take.
    #[default]
    Word,
    /// Exactly nine letters or digits (Mistral).
    Nine,
    /// Whatever it is, if it is something. Kimi models read their own ids (`functions.NAME:0`) again
    /// in their prompt, and call worse when others stand there.
    Free,
}

/// OpenAI's chat API refuses longer ones; its responses API takes 64.
const LONGEST: usize = 40;
/// The limit of `Free` is ours.
const FREE: usize = 200;
const NINE: usize = 9;

/// The id in this form; itself where it fits.
pub fn fit(id: &str, form: IdForm) -> String {
    let fits = match form {
        IdForm::Word => {
            let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !id.is_empty() && id.len() <= LONGEST && id.bytes().all(word)
        }
        IdForm::Nine => id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        IdForm::Free => !id.is_empty() && id.len() <= FREE,
    };
    if fits {
        return id.to_owned();
    }
    let hash = Sha256::digest(id);
    let hex: String = hash.iter().take(NINE).map(|byte| format!("{byte:02x}")).collect();
    match form {
        IdForm::Word | IdForm::Free => format!("call_{hex}"),
        IdForm::Nine => hex[..NINE].to_owned(),
    }
}

/// OpenAI's chat API takes no longer names of tools, the others take 128.
const LONGEST_NAME: usize = 64;

/// A name that all of the three APIs take in a call of the past. Only one that a model made up is none.
pub fn fit_name(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    match name.chars().take(LONGEST_NAME).map(fit).collect::<String>() {
        empty if empty.is_empty() => "unnamed".to_owned(),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_that_fits_stays_as_it_is() {
        assert_eq!(fit("call_Ab-9", IdForm::Word), "call_Ab-9");
        assert_eq!(fit("aB3dE6gH9", IdForm::Nine), "aB3dE6gH9");
        assert_ne!(fit("aB3dE6gH", IdForm::Nine), "aB3dE6gH");
        assert_eq!(fit("functions.sh:0", IdForm::Free), "functions.sh:0");
        assert_ne!(fit("functions.sh:0", IdForm::Word), "functions.sh:0");
    }

    #[test]
    fn a_name_that_no_tool_can_have_becomes_one_that_could() {
        assert_eq!(fit_name("read_file-2"), "read_file-2");
        assert_eq!(fit_name("ba\u{1b}sh é"), "ba_sh__");
        assert_eq!(fit_name(""), "unnamed");
        assert_eq!(fit_name(&"x".repeat(200)).len(), LONGEST_NAME);
    }

    proptest! {
        #[test]
        fn any_id_becomes_one_that_fits_and_stays(id in ".{0,90}") {
            for form in [IdForm::Word, IdForm::Nine, IdForm::Free] {
                let made = fit(&id, form);
                prop_assert_eq!(&fit(&made, form), &made);
                prop_assert_eq!(fit(&id, form), made);
            }
        }

        #[test]
        fn ids_that_differ_stay_apart(a in "[a-z0-9:./]{1,80}", b in "[a-z0-9:./]{1,80}") {
            prop_assume!(a != b);
            for form in [IdForm::Word, IdForm::Nine, IdForm::Free] {
                prop_assert_ne!(fit(&a, form), fit(&b, form));
            }
        }
    }
}
