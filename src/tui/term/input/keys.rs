//! The keys that sequences stand for: xterm's, kitty's, and those of old terminals.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A character that was typed. A capital has Shift, as with crossterm.
pub(super) fn typed(c: char) -> KeyEvent {
    let shift = if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    KeyEvent::new(KeyCode::Char(c), shift)
}

/// A control character.
pub(super) fn control(byte: u8) -> KeyEvent {
    let ctrl = |c: u8| KeyEvent::new(KeyCode::Char(c.into()), KeyModifiers::CONTROL);
    match byte {
        b'\r' => KeyCode::Enter.into(),
        b'\t' => KeyCode::Tab.into(),
        0x7f => KeyCode::Backspace.into(),
        0x1b => KeyCode::Esc.into(),
        0 => ctrl(b' '),
        1..=26 => ctrl(byte - 1 + b'a'),
        // Ctrl+\ ] ^ _
        _ => ctrl(byte + 0x40),
    }
}

/// ESC O and this byte.
pub(super) fn ss3(last: u8) -> Option<KeyEvent> {
    match last {
        b'M' => Some(KeyCode::Enter.into()),
        _ => lettered(last).map(KeyEvent::from),
    }
}

/// ESC [ [ and this byte.
pub(super) fn console(last: u8) -> Option<KeyEvent> {
    matches!(last, b'A'..=b'E').then(|| KeyCode::F(last - b'A' + 1).into())
}

/// ESC [, these parameters, and this byte. None for what is no key, or a key that was let go.
pub(super) fn csi(params: &str, last: u8) -> Option<KeyEvent> {
    if !params.bytes().all(|byte| byte.is_ascii_digit() || b";:".contains(&byte)) {
        return None;
    }
    let mut fields = params.split(';').map(|field| field.split(':').map(|part| part.parse::<u32>().ok()));
    let mut first = fields.next()?;
    let code = first.next().flatten();
    let mut second = fields.next();
    let mut part = || second.as_mut().and_then(Iterator::next).flatten();
    let (modifiers, event) = (part(), part());
    if event == Some(3) {
        return None;
    }
    let modifiers = with(modifiers);
    let key = |key: KeyCode| Some(KeyEvent::new(key, modifiers));
    match last {
        b'Z' => Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT | modifiers)),
        b'u' => coded(code?, modifiers, first.next().flatten()),
        // Modifiers stand second here, and the key third.
        b'~' if code == Some(27) => coded(fields.next()?.next()??, modifiers, None),
        b'~' => key(numbered(code?)?),
        _ => key(lettered(last)?),
    }
}

/// xterm's number for modifiers: one more than their bits.
fn with(number: Option<u32>) -> KeyModifiers {
    let bits = number.unwrap_or(1).saturating_sub(1);
    let all = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    all.into_iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0).map(|(_, one)| one).collect()
}

fn lettered(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'E' => KeyCode::KeypadBegin,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

fn numbered(code: u32) -> Option<KeyCode> {
    Some(match code {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        // The numbers leave one out between groups of function keys.
        11..=15 => KeyCode::F(u8::try_from(code - 10).ok()?),
        17..=21 => KeyCode::F(u8::try_from(code - 11).ok()?),
        23..=26 => KeyCode::F(u8::try_from(code - 12).ok()?),
        28 | 29 => KeyCode::F(u8::try_from(code - 13).ok()?),
        31..=34 => KeyCode::F(u8::try_from(code - 14).ok()?),
        _ => return None,
    })
}

/// A key by its Unicode number, or by one of kitty's own for keys without a character:
/// <https://sw.kovidgoyal.net/kitty/keyboard-protocol/#functional-key-definitions>.
fn coded(code: u32, modifiers: KeyModifiers, shifted: Option<u32>) -> Option<KeyEvent> {
    const PAD: &[u8] = b"0123456789./*-+\r=,";
    let key = match code {
        13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        9 if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        9 => KeyCode::Tab,
        8 | 127 => KeyCode::Backspace,
        57376..=57398 => KeyCode::F(u8::try_from(code - 57376 + 13).ok()?),
        57399..=57416 => match PAD[usize::try_from(code - 57399).ok()?] {
            b'\r' => KeyCode::Enter,
            c => KeyCode::Char(c.into()),
        },
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57425 => KeyCode::Insert,
        57426 => KeyCode::Delete,
        57427 => KeyCode::KeypadBegin,
        // Locks, media keys, modifiers by themselves.
        0..=31 | 57344..=63743 => return None,
        _ => return character(code, modifiers, shifted),
    };
    Some(KeyEvent::new(key, modifiers))
}

fn character(code: u32, modifiers: KeyModifiers, shifted: Option<u32>) -> Option<KeyEvent> {
    let mut c = char::from_u32(code)?;
    if modifiers.contains(KeyModifiers::SHIFT) {
        let mut upper = c.to_uppercase();
        let alone = upper.next().filter(|_| upper.next().is_none());
        c = shifted.and_then(char::from_u32).or(alone).unwrap_or(c);
    }
    (!c.is_control()).then(|| KeyEvent::new(KeyCode::Char(c), modifiers))
}
