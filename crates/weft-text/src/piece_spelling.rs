//! How SentencePiece spells tokens.

/// How it writes a space.
pub(crate) const SPACE: char = '▁';

/// Appends the bytes of a token: its spelling, with a space for each `▁`.
pub(crate) fn push_bytes(spelling: &str, bytes: &mut Vec<u8>) {
    for (i, part) in spelling.split(SPACE).enumerate() {
        if i > 0 {
            bytes.push(b' ');
        }
        bytes.extend_from_slice(part.as_bytes());
    }
}
