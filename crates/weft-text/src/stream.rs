//! Text from tokens as they come, never half a character.

/// Turns the bytes of one token after another into text.
///
/// A token can end in the middle of a character. Such bytes are held back until the character is complete, or until it
/// is certain that it never will be: then U+FFFD stands for them, as in [`String::from_utf8_lossy`]. All pieces together
/// are what that function makes of all bytes together.
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    /// The beginning of a character: at most three bytes.
    held: Vec<u8>,
}

impl StreamDecoder {
    /// A decoder at the beginning of a text.
    pub fn new() -> StreamDecoder {
        StreamDecoder::default()
    }

    /// Takes the bytes of the next token and returns the text that is now certain.
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
                    // Without a length the character may still be completed.
                    let Some(invalid) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[invalid..];
                }
            }
        }
        self.held = rest.to_vec();
        text
    }

    /// Ends the text: returns U+FFFD if it ends in the middle of a character, else nothing.
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
        fn pieces_join_to_the_lossy_whole(
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
