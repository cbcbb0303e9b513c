//! Server-sent events: bytes in, whole events out. Pure, and the same for any cut of the bytes.
//!
//! Text is decoded only when its event is complete, so a character that is split between two
//! network reads stays whole. Follows the event stream format of the HTML standard, and forgives
//! three things that model servers do: a last event without the blank line after it, a bare JSON
//! object in place of a `data:` field, and bytes that are not UTF-8.

use std::borrow::Cow;

/// Most bytes of one event. A line that never ends must not fill the memory.
pub const MOST: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Empty when unnamed.
    pub name: String,
    pub data: String,
}

/// The stream holds an event of more than the allowed number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is larger than {0} bytes")]
pub struct Oversize(pub usize);

pub struct Parser {
    /// The line that is not complete yet.
    line: Vec<u8>,
    name: Vec<u8>,
    /// Data lines so far, each with its newline.
    data: Vec<u8>,
    most: usize,
    /// Nothing was read yet: a byte-order mark may come.
    at_start: bool,
    /// The last byte was a carriage return: a newline right after it belongs to it.
    after_cr: bool,
    /// Some event held bytes that are not UTF-8.
    invalid: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(MOST)
    }
}

impl Parser {
    pub fn with_limit(most: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            most,
            at_start: true,
            after_cr: false,
            invalid: false,
        }
    }

    /// Whether bytes had to be replaced because they are not UTF-8.
    pub fn invalid(&self) -> bool {
        self.invalid
    }

    /// Takes the next bytes and adds the events that they complete.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Oversize> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (head, rest) = bytes.split_at(at);
            self.check(head.len())?;
            if self.line.is_empty() {
                self.take_line(head, events);
            } else {
                self.line.extend_from_slice(head);
                let line = std::mem::take(&mut self.line);
                self.take_line(&line, events);
                // Keep the buffer's room for the next line.
                self.line = line;
                self.line.clear();
            }
            bytes = match rest {
                [b'\r', b'\n', more @ ..] => more,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, more @ ..] => more,
                [] => &[],
            };
        }
        self.check(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The stream is over: what stands there without its blank line is an event too.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, events);
        }
        self.take_line(b"", events);
    }

    fn check(&self, more: usize) -> Result<(), Oversize> {
        let size = self.line.len() + self.data.len() + more;
        if size > self.most { Err(Oversize(self.most)) } else { Ok(()) }
    }

    fn take_line(&mut self, mut line: &[u8], events: &mut Vec<Event>) {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        match line.first() {
            None => self.dispatch(events),
            Some(b':') => {}
            // No field begins like this: a server that reports an error in the middle of a stream.
            Some(b'{') => self.add_data(line),
            Some(_) => {
                let at = line.iter().position(|b| *b == b':').unwrap_or(line.len());
                let (field, value) = line.split_at(at);
                let value = value.strip_prefix(b":").unwrap_or(value);
                let value = value.strip_prefix(b" ").unwrap_or(value);
                match field {
                    b"data" => self.add_data(value),
                    b"event" => self.name = value.to_vec(),
                    _ => {}
                }
            }
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let mut data = std::mem::take(&mut self.data);
        let name = std::mem::take(&mut self.name);
        if data.pop().is_none() {
            return;
        }
        events.push(Event { name: self.text(name), data: self.text(data) });
    }

    fn text(&mut self, bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap_or_else(|bad| {
            self.invalid = true;
            match String::from_utf8_lossy(bad.as_bytes()) {
                Cow::Owned(text) => text,
                Cow::Borrowed(text) => text.to_owned(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(pieces: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.feed(piece, &mut events).unwrap();
        }
        parser.finish(&mut events);
        events
    }

    /// Data of unnamed events, `name=data` for named ones.
    fn texts(bytes: &[u8]) -> Vec<String> {
        let show = |e: Event| if e.name.is_empty() { e.data } else { format!("{}={}", e.name, e.data) };
        parse(&[bytes]).into_iter().map(show).collect()
    }

    #[test]
    fn reads_what_the_format_allows_and_what_servers_send() {
        let cases: &[(&[u8], &[&str])] = &[
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (b"data: a\r\rdata: b\r\r", &["a", "b"]),
            (b"\xEF\xBB\xBFdata: a\n\n", &["a"]),
            (b": ping\n\n:\n\ndata: a\n\n", &["a"]),
            (b"data: a\ndata: b\n\n", &["a\nb"]),
            (b"data:a\n\n", &["a"]),
            (b"data:  a\n\n", &[" a"]),
            (b"data\n\n", &[""]),
            (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", &["x=a"]),
            (b"event: x\n\ndata: a\n\n", &["a"]),
            (b"data: a", &["a"]),
            (b"data: a\n", &["a"]),
            (b"data: a\n\n{\"error\":\"x\"}\n", &["a", "{\"error\":\"x\"}"]),
            (b"", &[]),
            (b"\n\n\n", &[]),
            (b"nonsense\n\n", &[]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(texts(bytes), *expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn replaces_invalid_bytes_and_says_so() {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        parser.feed("data: 修复\n\n".as_bytes(), &mut events).unwrap();
        assert!(!parser.invalid());
        parser.feed(b"data: a\xFFb\n\n", &mut events).unwrap();
        assert!(parser.invalid());
        assert_eq!(events[0].data, "修复");
        assert_eq!(events[1].data, "a\u{FFFD}b");
    }

    #[test]
    fn an_endless_line_or_event_is_an_error() {
        let mut parser = Parser::with_limit(100);
        let mut events = Vec::new();
        let fed = (0..200).try_for_each(|_| parser.feed(b"x", &mut events));
        assert_eq!(fed, Err(Oversize(100)));
        let mut parser = Parser::with_limit(100);
        let fed = (0..200).try_for_each(|_| parser.feed(b"data: x\n", &mut events));
        assert_eq!(fed, Err(Oversize(100)));
        // Many small events are no problem.
        let mut parser = Parser::with_limit(100);
        let fed = (0..200).try_for_each(|_| parser.feed(b"data: x\n\n", &mut events));
        assert_eq!((fed, events.len()), (Ok(()), 200));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: ", "data:", "event: x", ":", "修👩‍💻é", "{\"a\":1}", " ", "\n", "\r", "\r\n", "\n\n", "\u{FEFF}",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(0usize..400, 0..20),
        ) {
            let bytes = parts.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
            let whole = parse(&[&bytes]);
            prop_assert_eq!(&parse(&pieces), &whole);
            prop_assert_eq!(&parse(&one_by_one), &whole);
        }
    }
}
