//! What a terminal would have shown, as plain text: escape sequences gone, a progress line as it
//! last was, broken UTF-8 replaced. Works on a stream, in bounded memory.

/// A line is held back until it ends, so that a carriage return can start it over. A longer one is
/// passed on in parts.
const LINE_HELD: usize = 64 * 1024;

/// Bytes to text, in pieces of any length; what is no UTF-8 becomes replacement characters.
#[derive(Default)]
pub(super) struct Decoder {
    /// Bytes of a character that is not complete.
    partial: Vec<u8>,
}

impl Decoder {
    pub(super) fn push(&mut self, raw: &[u8], out: &mut dyn FnMut(&str)) {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(raw);
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            out(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if chunk.invalid().is_empty() {
                continue;
            }
            let cut_off =
                std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            match at == bytes.len() && cut_off {
                true => self.partial = chunk.invalid().to_vec(),
                false => out("\u{fffd}"),
            }
        }
    }

    fn finish(&mut self, out: &mut dyn FnMut(&str)) {
        if !std::mem::take(&mut self.partial).is_empty() {
            out("\u{fffd}");
        }
    }
}

#[derive(Default)]
pub(super) struct Cleaner {
    state: State,
    decoder: Decoder,
    line: String,
    /// A carriage return was the last thing; what follows decides whether it ended a line.
    returned: bool,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [`: up to a final byte from `@` to `~`.
    Control,
    /// `ESC ]`, `ESC P` and others: up to BEL or `ESC \`.
    String,
    StringEscape,
}

impl Cleaner {
    pub(super) fn push(&mut self, raw: &[u8], out: &mut dyn FnMut(&str)) {
        let mut decoder = std::mem::take(&mut self.decoder);
        decoder.push(raw, &mut |text| self.text(text, out));
        self.decoder = decoder;
    }

    pub(super) fn finish(&mut self, out: &mut dyn FnMut(&str)) {
        std::mem::take(&mut self.decoder).finish(&mut |text| self.text(text, out));
        self.flush(out);
    }

    fn text(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        if !self.returned && matches!(self.state, State::Text) && is_plain(text) {
            return self.lines(text, out);
        }
        let mut rest = text;
        while !rest.is_empty() {
            // Plain runs are the rule: they are taken as a whole.
            let plain = rest.find(|c: char| c.is_control()).unwrap_or(rest.len());
            if plain > 0 && matches!(self.state, State::Text) {
                self.run(&rest[..plain], out);
                rest = &rest[plain..];
                continue;
            }
            let Some(c) = rest.chars().next() else { return };
            self.char(c, out);
            rest = &rest[c.len_utf8()..];
        }
    }

    /// Text with nothing to clean: all whole lines at once.
    fn lines(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        if whole > 0 {
            self.line.push_str(&text[..whole]);
            self.flush(out);
        }
        self.run(&text[whole..], out);
    }

    fn run(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
        }
        self.line.push_str(text);
        if self.line.len() > LINE_HELD {
            self.flush(out);
        }
    }

    fn char(&mut self, c: char, out: &mut dyn FnMut(&str)) {
        self.state = match (self.state, c) {
            (State::Text, '\u{1b}') => State::Escape,
            (State::Text, _) => {
                self.plain(c, out);
                State::Text
            }
            (State::Escape, '[') => State::Control,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            // Intermediate bytes of a short sequence, then its final byte.
            (State::Escape, ' '..='/') => State::Escape,
            (State::Escape | State::StringEscape, '\u{1b}') => State::Escape,
            (State::Escape, '0'..='~') => State::Text,
            (State::Control, '@'..='~') => State::Text,
            (State::Control, ' '..='?') => State::Control,
            (State::String, '\u{7}') | (State::StringEscape, '\\') => State::Text,
            (State::String, '\u{1b}') => State::StringEscape,
            // A line end inside means that it was no sequence after all, or one that was cut.
            (State::String | State::StringEscape, '\n') | (State::Escape | State::Control, _) => {
                self.plain(c, out);
                State::Text
            }
            (State::String | State::StringEscape, _) => State::String,
        };
    }

    fn plain(&mut self, c: char, out: &mut dyn FnMut(&str)) {
        match c {
            '\n' => {
                self.returned = false;
                self.line.push('\n');
                self.flush(out);
            }
            '\r' => self.returned = true,
            '\u{8}' => {
                self.line.pop();
            }
            '\t' => self.run("\t", out),
            _ if c.is_control() => {}
            _ => self.run(c.encode_utf8(&mut [0; 4]), out),
        }
    }

    fn flush(&mut self, out: &mut dyn FnMut(&str)) {
        if !self.line.is_empty() {
            out(&self.line);
            self.line.clear();
        }
    }
}

/// No control characters but line ends and tabs. Says no to some that have none (0xC2 may begin one).
fn is_plain(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, 0..=0x08 | 0x0B..=0x1F | 0x7F | 0xC2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(raw: &[u8], step: usize) -> String {
        let mut cleaner = Cleaner::default();
        let mut text = String::new();
        for piece in raw.chunks(step) {
            cleaner.push(piece, &mut |part| text.push_str(part));
        }
        cleaner.finish(&mut |part| text.push_str(part));
        text
    }

    #[test]
    fn only_text_is_left_whatever_the_pieces() {
        let table: [(&[u8], &str); 12] = [
            (b"\x1b[1;31mred\x1b[0m\n", "red\n"),
            (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
            (b"10%\r20%\r100%\ndone\n", "100%\ndone\n"),
            (b"one\r\ntwo\r\r\n", "one\ntwo\n"),
            (b"a\0b\x07c\x01", "abc"),
            (b"N\x08NA\x08AME", "NAME"),
            (b"bad \xFF\xC3 byte", "bad \u{fffd}\u{fffd} byte"),
            ("ü€👩\tx".as_bytes(), "ü€👩\tx"),
            (b"cut \xE2\x82", "cut \u{fffd}"),
            (b"\x1b(B\x1b=ok\x1b[", "ok"),
            (b"\x1b]never closed\nnext\n", "\nnext\n"),
            (b"last\r", "last"),
        ];
        for (raw, want) in table {
            for step in [1, 2, 3, raw.len()] {
                assert_eq!(clean(raw, step), want, "{raw:?} by {step}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_passed_on() {
        let mut cleaner = Cleaner::default();
        let mut bytes = 0;
        for _ in 0..100 {
            cleaner.push(&[b'x'; 10_000], &mut |part| bytes += part.len());
            assert!(cleaner.line.len() <= LINE_HELD + 10_000);
        }
        cleaner.finish(&mut |part| bytes += part.len());
        assert_eq!(bytes, 1_000_000);
    }
}
