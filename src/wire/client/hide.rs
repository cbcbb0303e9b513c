//! Takes secrets out of somebody else's words, however they are written there. Pure.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const HIDDEN: &str = "[secret]";
/// Shorter secrets are words like `none`, which local servers take as a key.
const SHORTEST: usize = 6;

/// The text without these secrets: plain, percent-encoded or inside base64. A user with its password,
/// as basic authentication writes it, goes too: a proxy's is nowhere else known.
pub(super) fn secrets<'a>(text: &str, secrets: impl Iterator<Item = &'a str>) -> String {
    let mut secrets: Vec<&str> = secrets.filter(|secret| secret.len() >= SHORTEST).collect();
    // One may be a part of another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let plain = secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN));
    let holds = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        secrets.iter().any(|secret| text.contains(secret))
    };
    let (mut out, mut rest, mut before) = (String::with_capacity(plain.len()), plain.as_str(), "");
    while let Some(at) = rest.find(is_coded) {
        let (gap, from) = rest.split_at(at);
        let (word, after) = from.split_at(from.find(|c| !is_coded(c)).unwrap_or(from.len()));
        let bytes = from_base64(word);
        let is_user = before.eq_ignore_ascii_case("basic") && bytes.contains(&b':');
        out.push_str(gap);
        out.push_str(if is_user || holds(&from_percent(word)) || holds(&bytes) { HIDDEN } else { word });
        (rest, before) = (after, word);
    }
    out + rest
}

/// A character of base64 or of a percent-encoded word.
fn is_coded(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '%' | '-' | '_' | '.' | '~')
}

pub(super) fn from_percent(word: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let [first, more @ ..] = rest {
        let byte = match more {
            [a, b, ..] if *first == b'%' => hex(*a).zip(hex(*b)).map(|(a, b)| a << 4 | b),
            _ => None,
        };
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// What the word says in either alphabet, after a name and `=`; empty when it is no base64.
fn from_base64(word: &str) -> Vec<u8> {
    let word = word.trim_end_matches('=');
    let word = word.rsplit('=').next().unwrap_or(word);
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let alphabet = if word.contains(['-', '_']) { alphabet::URL_SAFE } else { alphabet::STANDARD };
    GeneralPurpose::new(&alphabet, config).decode(word).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_however_it_is_written() {
        let key = "sk+top/secret==0>?";
        let table = [
            ("bad key sk+top/secret==0>?!", "bad key [secret]!"),
            ("GET /v1?key=sk%2Btop%2Fsecret%3D%3D0%3E%3F HTTP", "GET /v1?[secret] HTTP"),
            ("GET /v1?key=sk%2btop%2fsecret%3d%3d0%3e%3f", "GET /v1?[secret]"),
            ("key c2srdG9wL3NlY3JldD09MD4/ is bad", "key [secret] is bad"),
            ("key=c2srdG9wL3NlY3JldD09MD4_", "[secret]"),
            ("Basic dXNlcjpzayt0b3Avc2VjcmV0PT0wPj8=", "Basic [secret]"),
            ("proxy-authorization: Basic dXNlcjpwYXNz, host", "proxy-authorization: Basic [secret], host"),
            ("Basic authentication is wanted, 100% of it", "Basic authentication is wanted, 100% of it"),
            ("größer als 4096 %zz %", "größer als 4096 %zz %"),
            ("none", "none"),
        ];
        for (text, want) in table {
            assert_eq!(secrets(text, [key, "none"].into_iter()), want);
        }
        assert_eq!(secrets("abcdef abcdefgh", ["abcdef", "abcdefgh"].into_iter()), "[secret] [secret]");
    }
}
