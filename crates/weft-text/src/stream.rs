//! Decoding a stream of tokens to whole characters.

/// Decodes the bytes of a stream of tokens to text.
///
/// A token can end in the middle of a character. Its last bytes are then held back until the character is complete, or
/// known to be invalid and replaced with U+FFFD. Together, the pieces are what [`String::from_utf8_lossy`] makes of all
/// the bytes.
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    /// The beginning of a character: at most three bytes.
    held: Vec<u8>,
}

impl StreamDecoder {
    /// Creates a decoder.
    pub fn new() -> StreamDecoder {
        StreamDecoder::default()
    }

    /// Takes the bytes of the next token, and returns the characters that are now complete.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.held.len());
        let mut rest = &self.held[..];
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, broken) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    rest = broken;
                    // No length: the character is incomplete so far, but not invalid.
                    let Some(invalid) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[invalid..];
                }
            }
        }
        self.held = rest.to_vec();
        text
    }

    /// Returns whether no character is incomplete.
    pub fn is_whole(&self) -> bool {
        self.held.is_empty()
    }

    /// Ends the stream: returns U+FFFD if it ends in the middle of a character, else the empty string.
    #[must_use]
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.held).is_empty() { "" } else { "\u{FFFD}" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn holds_back_half_a_character() {
        let mut decoder = StreamDecoder::new();
        assert_eq!(decoder.push(b"ok \xF0\x9F"), "ok ");
        assert_eq!(decoder.push(b"\x98"), "");
        assert_eq!(decoder.push(b"\x80!"), "😀!");
        assert_eq!(decoder.push(b"\xE4\xBD"), "");
        assert_eq!(decoder.push(b"a\xE4"), "\u{FFFD}a");
        assert_eq!(decoder.finish(), "\u{FFFD}");
    }

    proptest! {
        #[test]
        fn pieces_join_to_the_lossy_text(
            chunks in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..4),
                    prop::collection::vec(prop::sample::select(b"\xF0\x9F\x98\x80\xE4\xBD\xA0\xC3a".to_vec()), 0..4),
                ],
                0..20,
            ),
        ) {
            let mut decoder = StreamDecoder::new();
            let mut text: String = chunks.iter().map(|chunk| decoder.push(chunk)).collect();
            text.push_str(decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&chunks.concat()).into_owned());
        }
    }
}
