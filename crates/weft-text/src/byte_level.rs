//! The alphabet of byte-level BPE: GPT-2's one-to-one map between bytes and printable characters.
//!
//! Vocabularies spell each byte of a token as one character, so that text files can hold them. The 188 printable Latin-1
//! bytes map to themselves. The other 68 map to U+0100 and up, in byte order: the space is `Ġ` (U+0120), the newline `Ċ`
//! (U+010A). Source: `bytes_to_unicode` in OpenAI's GPT-2 release.

/// Returns the byte that `c` spells, or `None` for a character outside the alphabet.
fn byte_of(c: char) -> Option<u8> {
    let byte = match u32::from(c) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => code,
        code @ 0x100..=0x120 => code - 0x100,        // 0x00 to 0x20
        code @ 0x121..=0x142 => code - 0x121 + 0x7F, // 0x7F to 0xA0
        0x143 => 0xAD,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

/// Whether a token is spelled byte by byte: all its characters are in the alphabet.
pub(crate) fn is_spelling(token: &str) -> bool {
    token.chars().all(|c| byte_of(c).is_some())
}

/// Appends the bytes that `spelling` spells.
///
/// A spelling with any character outside the alphabet spells its own UTF-8 bytes, as in HF `tokenizers`.
pub(crate) fn push_bytes(spelling: &str, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    for c in spelling.chars() {
        let Some(byte) = byte_of(c) else {
            bytes.truncate(start);
            bytes.extend_from_slice(spelling.as_bytes());
            return;
        };
        bytes.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_exactly_one_character() {
        let mut seen = [false; 256];
        for c in (0..0x200).filter_map(char::from_u32) {
            if let Some(byte) = byte_of(c) {
                assert!(!std::mem::replace(&mut seen[usize::from(byte)], true), "{byte:#x} spelled twice");
            }
        }
        assert_eq!(seen, [true; 256]);
    }

    #[test]
    fn known_spellings() {
        let bytes = |spelling| {
            let mut bytes = Vec::new();
            push_bytes(spelling, &mut bytes);
            bytes
        };
        assert_eq!(bytes("Ġthe"), b" the");
        assert_eq!(bytes("ĊĊ"), b"\n\n");
        assert_eq!(bytes("ÃŃ"), "\u{ED}".as_bytes());
        assert_eq!(bytes("Ġ▁"), "Ġ▁".as_bytes(), "a foreign character makes the whole spelling literal");
    }
}
