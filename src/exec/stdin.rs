//! Standard input of a one-shot run: the prompt itself, or something to go with it.
//!
//! A job that inherits an idle pipe must not hang, and `git diff | tack -p explain` must work; the
//! difference is only whether a byte comes in time.

use std::io::{IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Most bytes that are taken.
const MOST: usize = 16 << 20;
/// How long a pipe may stay silent before anything came, when the prompt is already known.
const FIRST: Duration = Duration::from_secs(8);
/// When that wait is announced.
const NOTICE: Duration = Duration::from_secs(1);
/// How long a pipe may pause once data came.
const PAUSE: Duration = Duration::from_secs(600);

/// How long a run that fails waits for more of a prompt.
const LAST_LOOK: Duration = Duration::from_millis(500);

const UNREADABLE: &str = "standard input cannot be read";

/// The prompt is stdin, read to its end.
pub fn prompt() -> Result<String> {
    if std::io::stdin().is_terminal() {
        bail!("no prompt: give one as an argument, or pipe it in");
    }
    let text = collect(&reader(), Vec::new())?;
    if text.trim().is_empty() {
        bail!("no prompt: standard input is empty; give the prompt as an argument, or pipe it in");
    }
    Ok(text)
}

/// What a pipe or file has to add to a prompt that is known. None when there is nothing.
pub fn beside_prompt() -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let chunks = reader();
    let first = match chunks.recv_timeout(NOTICE) {
        Err(RecvTimeoutError::Timeout) => {
            let _ = writeln!(std::io::stderr(), "waiting for standard input (--no-stdin never looks) …");
            chunks.recv_timeout(FIRST - NOTICE)
        }
        other => other,
    };
    match first {
        Ok(chunk) => {
            let text = collect(&chunks, chunk.context(UNREADABLE)?)?;
            Ok((!text.trim().is_empty()).then_some(text))
        }
        Err(RecvTimeoutError::Disconnected) => Ok(None),
        Err(RecvTimeoutError::Timeout) => {
            let _ = writeln!(std::io::stderr(), "standard input is open but silent: going on without it");
            Ok(None)
        }
    }
}

/// Reads what is being written to standard input, for a run that ends without a look at it: some
/// programs that embed tack are killed when the pipe they write their prompt to is closed.
pub fn drain() {
    if std::io::stdin().is_terminal() {
        return;
    }
    let chunks = reader();
    let mut size = 0;
    while let Ok(Ok(chunk)) = chunks.recv_timeout(LAST_LOOK) {
        size += chunk.len();
        if size > MOST {
            return;
        }
    }
}

/// Puts what came on stdin behind the prompt.
pub fn join(prompt: &str, stdin: &str) -> String {
    format!("{prompt}\n\n<stdin>\n{}\n</stdin>", stdin.trim_end_matches('\n'))
}

/// Reads on a thread that nobody waits for: a read of a silent pipe cannot be called off, and the
/// process ends without it.
fn reader() -> Receiver<std::io::Result<Vec<u8>>> {
    let (to, from) = sync_channel(4);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let chunk = match stdin.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => Ok(buffer[..n].to_vec()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let last = chunk.is_err();
            if to.send(chunk).is_err() || last {
                break;
            }
        }
    });
    from
}

fn collect(chunks: &Receiver<std::io::Result<Vec<u8>>>, mut bytes: Vec<u8>) -> Result<String> {
    loop {
        match chunks.recv_timeout(PAUSE) {
            Ok(chunk) => bytes.extend_from_slice(&chunk.context(UNREADABLE)?),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                bail!("standard input paused for {} s without ending", PAUSE.as_secs())
            }
        }
        if bytes.len() > MOST {
            bail!("standard input is larger than {} MB; name the file in the prompt instead", MOST >> 20);
        }
    }
    decode(&bytes)
}

/// UTF-8, with or without a byte-order mark, or UTF-16 with one.
fn decode(bytes: &[u8]) -> Result<String> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks_exact(2);
        // Half a character at the end: it was cut off, or is something else.
        if !pairs.remainder().is_empty() {
            return None;
        }
        let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    let text = match bytes {
        // The mark of UTF-32, which begins like that of UTF-16.
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        rest => String::from_utf8(rest.to_vec()).ok(),
    };
    match text {
        Some(text) => Ok(text),
        None => bail!("standard input is not text in UTF-8 or UTF-16"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_the_encodings_that_pipes_bring() {
        let table: [(&[u8], Option<&str>); 12] = [
            (b"plain", Some("plain")),
            (b"\xef\xbb\xbfbom", Some("bom")),
            (b"\xff\xfeh\0i\0", Some("hi")),
            (b"\xfe\xff\0h\0i", Some("hi")),
            (b"", Some("")),
            (b"\xff\xfe\x3d\xd8\x00\xde", Some("😀")),
            (b"\xc3(", None),
            (b"h\0i\0\xff", None),
            (b"\xff\xfeh\0i", None),
            (b"\xff\xfe\x3d\xd8", None),
            (b"\xff\xfe\0\0h\0\0\0", None),
            (b"\x89PNG\r\n", None),
        ];
        for (bytes, want) in table {
            assert_eq!(decode(bytes).ok().as_deref(), want, "{bytes:?}");
        }
    }

    #[test]
    fn stdin_follows_the_prompt_in_a_block() {
        assert_eq!(join("explain", "a\nb\n\n"), "explain\n\n<stdin>\na\nb\n</stdin>");
    }
}
