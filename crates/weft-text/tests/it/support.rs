//! A tokenizer of single bytes, which can spell every text.

use weft_text::{Tokenizer, TokenizerSpec};

pub(crate) const NORMAL: i32 = 1;
pub(crate) const CONTROL: i32 = 3;
pub(crate) const USER_DEFINED: i32 = 4;

/// Builds a tokenizer of all bytes and these special tokens, which have the ids from 256 on. `bos` and `eos` are control
/// tokens too.
pub(crate) fn bytes_and(
    special: &[(&str, i32)],
    bos: Option<&str>,
    eos: Option<&str>,
    template: Option<&str>,
) -> Tokenizer {
    let mut tokens: Vec<String> = (0..=u8::MAX).map(|byte| spelling(byte).to_string()).collect();
    let mut types = vec![NORMAL; 256];
    let named = special.iter().copied().chain([bos, eos].into_iter().flatten().map(|text| (text, CONTROL)));
    for (text, kind) in named {
        if !tokens[256..].iter().any(|known| known == text) {
            tokens.push(text.to_owned());
            types.push(kind);
        }
    }
    let id = |text: &str| tokens.iter().position(|token| token == text).map(|id| id as u32);
    let spec = TokenizerSpec {
        model: "gpt2",
        pre: "gpt-2",
        tokens: tokens.iter().map(String::as_bytes).collect(),
        token_types: Some(types),
        merges: Some(Vec::new()),
        bos: bos.and_then(id),
        eos: eos.and_then(id),
        chat_template: template,
        ..TokenizerSpec::default()
    };
    Tokenizer::new(&spec).unwrap()
}

/// How byte-level vocabularies spell a byte: printable ones as themselves, the others from U+0100 on.
fn spelling(byte: u8) -> char {
    let is_printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !is_printable(byte)).count();
    char::from_u32(256 + before as u32).unwrap()
}
