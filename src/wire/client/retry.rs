//! When a request is sent again, and when not. Pure: the clock and the dice come from outside.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reqwest::header::HeaderMap;

use crate::wire::provider::Provider;

/// A wait that is longer than this is a stop.
pub const LONGEST: Duration = Duration::from_secs(300);
/// Whatever the settings say, one answer takes at most this many requests.
const MOST: u32 = 12;
/// Gaps grow from the first to the last by doubling.
const FIRST_GAP: Duration = Duration::from_millis(500);
const LAST_GAP: Duration = Duration::from_secs(30);
/// How often a server that loads its model is asked again.
const POLL: Duration = Duration::from_secs(1);

/// What kind of failure it was, as far as sending again is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Sending again would give the same.
    Final,
    /// Nothing of the reply had come.
    Request,
    /// The reply broke off.
    Stream,
    /// The server is still loading the model.
    Loading,
    /// The key was refused: final, unless there is another one.
    Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Once more after `wait`; the `attempt`-th repetition of `of`.
    Again {
        wait: Duration,
        attempt: u32,
        of: u32,
    },
    /// Ask again after this time; it costs nothing.
    Poll(Duration),
    /// The server wants a wait above [`LONGEST`].
    TooLong(Duration),
    Stop,
}

/// The repetitions of one request.
pub struct Tries {
    /// Failures so far, and how many are allowed, before and after the first byte.
    request: (u32, u32),
    stream: (u32, u32),
    polled: Duration,
    /// How long a server may load.
    patience: Duration,
}

impl Tries {
    pub fn new(provider: &Provider) -> Self {
        Self {
            request: (0, provider.request_retries),
            stream: (0, provider.stream_retries),
            polled: Duration::ZERO,
            patience: provider.first_byte_timeout,
        }
    }

    /// Decides after a failure. `hint` is how long the server asks to wait, `dice` is in 0..1.
    pub fn next(&mut self, cause: Cause, hint: Option<Duration>, dice: f64) -> Next {
        let failed = self.request.0 + self.stream.0;
        let (count, most) = match cause {
            Cause::Final | Cause::Key => return Next::Stop,
            Cause::Loading if self.polled >= self.patience => return Next::Stop,
            Cause::Loading => {
                self.polled += POLL;
                return Next::Poll(POLL);
            }
            Cause::Request => &mut self.request,
            Cause::Stream => &mut self.stream,
        };
        if let Some(wait) = hint.filter(|wait| *wait > LONGEST) {
            return Next::TooLong(wait);
        }
        // The first request was none of the repetitions.
        if *count >= *most || failed + 2 > MOST {
            return Next::Stop;
        }
        *count += 1;
        let wait = gap(failed, dice).max(hint.unwrap_or_default());
        Next::Again { wait, attempt: *count, of: *most }
    }
}

/// Doubles with each failure; up to a quarter is left to chance, so that gaps never shrink.
fn gap(failed: u32, dice: f64) -> Duration {
    FIRST_GAP.saturating_mul(1 << failed.min(10)).min(LAST_GAP).mul_f64(1.0 + dice.clamp(0.0, 1.0) / 4.0)
}

/// How long the server asks to wait: `retry-after-ms`, `Retry-After` in seconds or as a date, or
/// the reset time of a rate limit that is used up.
pub fn hint(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let ms = text("retry-after-ms").and_then(|t| t.parse::<f64>().ok());
    if let Some(wait) = ms.and_then(|ms| seconds(ms / 1000.0)) {
        return Some(wait);
    }
    if let Some(after) = text("retry-after") {
        let by_date = || {
            let when = httpdate::parse_http_date(after).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(when.saturating_sub(Duration::from_secs(now.as_second().try_into().ok()?)))
        };
        return after.parse::<f64>().ok().and_then(seconds).or_else(by_date).or_else(|| length(after));
    }
    let reset = |suffix: &str| {
        // A limit that has something left is not the one that was hit.
        let left = text(&format!("x-ratelimit-remaining{suffix}")).and_then(|t| t.parse::<f64>().ok());
        let spent = left.is_none_or(|left| left <= 0.0);
        let when = text(&format!("x-ratelimit-reset{suffix}")).filter(|_| spent)?;
        reset_time(when, now)
    };
    ["", "-requests", "-tokens"].into_iter().filter_map(reset).max()
}

/// The same from a server's words: "try again in 1.2s", "retry after 30 seconds".
pub fn hint_in(words: &str) -> Option<Duration> {
    let words = words.to_lowercase();
    let after =
        ["try again in ", "retry in ", "retry after "].iter().find_map(|w| Some(words.split_once(w)?.1))?;
    let digits = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
    let number = after[..digits].trim_end_matches('.');
    let unit = after[digits..].trim_start();
    let unit = ["ms", "s", "m", "h", "d"].into_iter().find(|known| match *known {
        "m" => unit.starts_with('m') && !unit.starts_with("ms"),
        other => unit.starts_with(other),
    })?;
    // "6m0s" goes on with the next unit.
    let rest: String = after.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
    length(rest.trim_end_matches('.')).or_else(|| length(&format!("{number}{unit}")))
}

/// Seconds from now, a Unix time in seconds or milliseconds, a length like `1m30.5s`, or an ISO date.
fn reset_time(text: &str, now: Timestamp) -> Option<Duration> {
    let by_date = || until(text.parse().ok()?, now);
    let Ok(number) = text.parse::<f64>() else { return length(text).or_else(by_date) };
    if number > 1e11 {
        until(Timestamp::from_millisecond(number as i64).ok()?, now)
    } else if number > 1e8 {
        until(Timestamp::from_second(number as i64).ok()?, now)
    } else {
        seconds(number)
    }
}

fn length(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86400.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    seconds(total)
}

fn until(when: Timestamp, now: Timestamp) -> Option<Duration> {
    Some(when.duration_since(now).try_into().unwrap_or(Duration::ZERO))
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(request: u32, stream: u32) -> Tries {
        let mut provider = Provider::new("x", "https://h.example");
        (provider.request_retries, provider.stream_retries) = (request, stream);
        provider.first_byte_timeout = Duration::from_secs(3);
        Tries::new(&provider)
    }

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn gaps_grow_and_end() {
        let mut tries = tries(4, 0);
        let mut last = Duration::ZERO;
        // The worst dice: a long gap, then a short one.
        for (n, dice) in [1.0, 0.0, 1.0, 0.0].into_iter().enumerate() {
            let Next::Again { wait, attempt, of } = tries.next(Cause::Request, None, dice) else { panic!() };
            assert_eq!((attempt, of), (n as u32 + 1, 4));
            assert!(wait > last);
            last = wait;
        }
        assert_eq!(tries.next(Cause::Request, None, 0.0), Next::Stop);
    }

    #[test]
    fn both_levels_together_are_bounded() {
        let mut tries = tries(1000, 1000);
        let mut made = 1;
        while let Next::Again { wait, .. } =
            tries.next(if made % 2 == 0 { Cause::Request } else { Cause::Stream }, None, 1.0)
        {
            assert!(wait <= LAST_GAP.mul_f64(1.25));
            made += 1;
        }
        assert_eq!(made, MOST);
    }

    #[test]
    fn the_servers_wait_is_a_lower_bound_and_a_long_one_a_stop() {
        let wait = |hint| match tries(4, 4).next(Cause::Request, Some(hint), 0.5) {
            Next::Again { wait, .. } => wait,
            other => panic!("{other:?}"),
        };
        assert_eq!(wait(secs(20.0)), secs(20.0));
        assert!(wait(secs(0.0)) >= FIRST_GAP);
        assert_eq!(wait(LONGEST), LONGEST);
        let long = secs(11180.0);
        assert_eq!(tries(4, 4).next(Cause::Stream, Some(long), 0.5), Next::TooLong(long));
        assert_eq!(tries(4, 4).next(Cause::Final, Some(long), 0.5), Next::Stop);
    }

    #[test]
    fn loading_costs_no_repetition_but_ends() {
        let mut tries = tries(1, 0);
        for _ in 0..3 {
            assert_eq!(tries.next(Cause::Loading, None, 0.0), Next::Poll(POLL));
        }
        assert_eq!(tries.next(Cause::Loading, None, 0.0), Next::Stop);
        assert!(matches!(tries.next(Cause::Request, None, 0.0), Next::Again { attempt: 1, of: 1, .. }));
    }

    #[test]
    fn reads_when_from_words() {
        let cases = [
            ("Rate limit reached. Please try again in 1.2s. Visit us", Some(1.2)),
            ("Please try again in 20ms.", Some(0.02)),
            ("Please try again in 6m0s.", Some(360.0)),
            ("Please retry after 30 seconds", Some(30.0)),
            ("Please retry in 2.5 minutes", Some(150.0)),
            ("Try again in a moment", None),
            ("slow down", None),
        ];
        for (words, expected) in cases {
            assert_eq!(hint_in(words), expected.map(secs), "{words}");
        }
    }

    #[test]
    fn reads_every_way_to_say_when() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let epoch = now.as_second();
        type Headers<'a> = &'a [(&'a str, String)];
        let cases: &[(Headers, Option<f64>)] = &[
            (&[("retry-after", "2".into())], Some(2.0)),
            (&[("retry-after", "0.5".into())], Some(0.5)),
            (&[("retry-after", "Thu, 01 Jan 2026 00:00:03 GMT".into())], Some(3.0)),
            (&[("retry-after", "Wed, 01 Jan 2025 00:00:03 GMT".into())], Some(0.0)),
            (&[("retry-after", "soon".into())], None),
            (&[("retry-after", "-1".into())], None),
            (&[("retry-after", "3h".into())], Some(10800.0)),
            (&[("retry-after", "1e300".into())], None),
            // Further than a timestamp reaches.
            (&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT".into())], Some(251_635_075_199.0)),
            (&[("retry-after-ms", "-3".into()), ("retry-after", "9".into())], Some(9.0)),
            (&[("retry-after-ms", "soon".into()), ("retry-after", "9".into())], Some(9.0)),
            (&[("x-ratelimit-reset", "2026-01-01T00:01:00Z".into())], Some(60.0)),
            (&[("retry-after-ms", "1500".into()), ("retry-after", "9".into())], Some(1.5)),
            (&[("x-ratelimit-reset", (epoch + 60).to_string())], Some(60.0)),
            (&[("x-ratelimit-reset", ((epoch + 60) * 1000).to_string())], Some(60.0)),
            (&[("x-ratelimit-reset", "60".into())], Some(60.0)),
            (&[("x-ratelimit-reset-tokens", "1m30.5s".into())], Some(90.5)),
            (&[("x-ratelimit-reset-requests", "120ms".into())], Some(0.12)),
            (&[("x-ratelimit-reset-requests", "1d2h".into())], Some(93600.0)),
            (
                &[
                    ("x-ratelimit-reset-requests", "6h".into()),
                    ("x-ratelimit-remaining-requests", "10".into()),
                    ("x-ratelimit-reset-tokens", "2s".into()),
                    ("x-ratelimit-remaining-tokens", "0".into()),
                ],
                Some(2.0),
            ),
            (&[("x-ratelimit-reset", "later".into())], None),
            (&[], None),
        ];
        for (headers, expected) in cases {
            let mut map = HeaderMap::new();
            for (name, value) in *headers {
                map.insert(
                    reqwest::header::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    value.parse().unwrap(),
                );
            }
            assert_eq!(hint(&map, now), expected.map(secs), "{headers:?}");
        }
    }
}
