//! A file's bytes as text and back, without loss: byte-order mark, encoding, line ends.

/// How a file's bytes are read as characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Also with some bytes that are not valid; those are carried along untouched.
    Utf8,
    Utf16Le,
    Utf16Be,
    /// The last resort: every byte is the character of the same number.
    Latin1,
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le | Self::Utf16Be => "utf-16",
            Self::Latin1 => "latin-1",
        }
    }
}

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Text taken out of a file, with all that is needed to put it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) encoding: Encoding,
    bom: bool,
    /// UTF-8 as far as the file was valid; line ends as they were; no byte-order mark.
    pub(super) bytes: Vec<u8>,
}

impl Text {
    /// None for what is no text: NUL bytes, broken UTF-16.
    pub(super) fn decode(raw: &[u8]) -> Option<Self> {
        if let Some(units) = raw.strip_prefix(b"\xFF\xFE") {
            return utf16(units, u16::from_le_bytes, Encoding::Utf16Le);
        }
        if let Some(units) = raw.strip_prefix(b"\xFE\xFF") {
            return utf16(units, u16::from_be_bytes, Encoding::Utf16Be);
        }
        let (bom, rest) = match raw.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, raw),
        };
        if rest.contains(&0) {
            return None;
        }
        let mut census = Census::default();
        census.count(rest);
        let encoding = if bom { Encoding::Utf8 } else { census.end() };
        let bytes = match encoding {
            Encoding::Latin1 => from_latin1(rest).into_bytes(),
            Encoding::Utf8 | Encoding::Utf16Le | Encoding::Utf16Be => rest.to_vec(),
        };
        Some(Self { encoding, bom, bytes })
    }

    /// An empty file: what is written to it is plain UTF-8.
    pub(super) fn empty() -> Self {
        Self { encoding: Encoding::Utf8, bom: false, bytes: Vec::new() }
    }

    /// `bytes` in this file's form, or the character that the encoding lacks.
    pub(super) fn encode(&self, bytes: &[u8]) -> Result<Vec<u8>, char> {
        let mark = |mark: &[u8], body: Vec<u8>| [mark, &body].concat();
        match self.encoding {
            Encoding::Utf8 if self.bom => Ok(mark(BOM, bytes.to_vec())),
            Encoding::Utf8 => Ok(bytes.to_vec()),
            Encoding::Latin1 => String::from_utf8_lossy(bytes)
                .chars()
                .map(|c| u8::try_from(u32::from(c)).map_err(|_| c))
                .collect(),
            Encoding::Utf16Le => {
                let text = String::from_utf8_lossy(bytes);
                Ok(mark(b"\xFF\xFE", text.encode_utf16().flat_map(u16::to_le_bytes).collect()))
            }
            Encoding::Utf16Be => {
                let text = String::from_utf8_lossy(bytes);
                Ok(mark(b"\xFE\xFF", text.encode_utf16().flat_map(u16::to_be_bytes).collect()))
            }
        }
    }
}

fn utf16(raw: &[u8], unit: fn([u8; 2]) -> u16, encoding: Encoding) -> Option<Text> {
    let (pairs, rest) = raw.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    Some(Text { encoding, bom: true, bytes: text.into_bytes() })
}

pub(super) fn from_latin1(raw: &[u8]) -> String {
    raw.iter().map(|byte| char::from(*byte)).collect()
}

/// Tells UTF-8 with a few broken bytes from an older encoding, as the bytes stream by.
#[derive(Default)]
pub(super) struct Census {
    good: u64,
    bad: u64,
    /// A sequence that the last chunk cut in two; at most three bytes.
    carry: Vec<u8>,
}

impl Census {
    pub(super) fn count(&mut self, bytes: &[u8]) {
        let joined;
        let bytes = match self.carry.is_empty() {
            true => bytes,
            false => {
                joined = [self.carry.as_slice(), bytes].concat();
                &joined
            }
        };
        let mut carry = Vec::new();
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            self.good += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count() as u64;
            at += chunk.valid().len() + chunk.invalid().len();
            let cut_off = at == bytes.len()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            match cut_off {
                true => carry = chunk.invalid().to_vec(),
                false => self.bad += u64::from(!chunk.invalid().is_empty()),
            }
        }
        self.carry = carry;
    }

    /// Latin-1 when more is wrong than right.
    pub(super) fn end(&self) -> Encoding {
        let bad = self.bad + u64::from(!self.carry.is_empty());
        match bad > self.good {
            true => Encoding::Latin1,
            false => Encoding::Utf8,
        }
    }
}

/// CRLF as LF. A CR that ends no line stays.
pub(super) fn normal(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The line end that all lines share, if there is one and it is CRLF.
pub(super) fn all_crlf(bytes: &[u8]) -> bool {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').peekable();
    ends.peek().is_some() && ends.all(|(at, _)| at > 0 && bytes[at - 1] == b'\r')
}

/// Lines with their ends; the last one may have none.
pub(super) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A line's end: `\r\n`, `\n` or nothing.
pub(super) fn end_of(line: &[u8]) -> &'static str {
    match line {
        [.., b'\r', b'\n'] => "\r\n",
        [.., b'\n'] => "\n",
        _ => "",
    }
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
    ends + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_comes_back_as_it_was() {
        let table: [(&[u8], Encoding); 7] = [
            (b"plain\r\n", Encoding::Utf8),
            (b"\xEF\xBB\xBFmarked\n", Encoding::Utf8),
            (b"\xFF\xFEh\0i\0\n\0", Encoding::Utf16Le),
            (b"\xFE\xFF\0h\0i\0\n", Encoding::Utf16Be),
            (b"caf\xE9\n", Encoding::Latin1),
            ("näme naïve \u{20ac}\n".as_bytes(), Encoding::Utf8),
            (b"\xC3\xA4 \xC3\xB6 \xFF\n", Encoding::Utf8),
        ];
        for (raw, encoding) in table {
            let text = Text::decode(raw).expect("text");
            assert_eq!(text.encoding, encoding, "{raw:?}");
            assert_eq!(text.encode(&text.bytes), Ok(raw.to_vec()));
        }
        assert_eq!(Text::decode(b"a\0b"), None);
        assert_eq!(Text::decode(b"\xFF\xFE\0"), None);
    }

    #[test]
    fn a_sequence_cut_between_chunks_is_not_damage() {
        let mut census = Census::default();
        for byte in "ü€👩".bytes() {
            census.count(&[byte]);
        }
        assert_eq!(census.end(), Encoding::Utf8);
        assert_eq!((census.good, census.bad), (3, 0));
    }
}
