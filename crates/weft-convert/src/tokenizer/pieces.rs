//! SentencePiece's tokenizers: tokenizer.model, a message of Protocol Buffers.
//!
//! Three fields are read: the pieces (1), each with its text (1), score (2) and type (3), and in the trainer's settings (2) the kind of
//! model (3). The rest is skipped. <https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto>

use std::path::Path;

use weft_gguf::{Metadata, Strings};

use super::special::{Added, Kind, looks_special};
use super::types::{CONTROL, NORMAL, UNUSED, USER_DEFINED};
use crate::config::{Config, MAX_LIST, read_bytes};
use crate::error::{self, refuse};

/// The score of tokens that no text contains, and of those that are found before the others.
const NO_SCORE: f32 = -10000.0;
const ADDED_SCORE: f32 = -1000.0;

/// A token.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    text: Vec<u8>,
    score: f32,
    kind: i32,
}

/// Writes the tokens of `path`, and those that other files of the model add. Returns how many there are.
///
/// Added tokens are written with spaces, and those that look special become control tokens; Phi's do not.
pub(super) fn write(
    metadata: &mut Metadata,
    path: &Path,
    config: &Config,
    settings: &Config,
    added: &[Added],
    kind: Kind,
) -> error::Result<usize> {
    let pieces = pieces(&read_bytes(path, MAX_LIST)?).map_err(|problem| refuse(path, problem))?;
    let count = config.require_u32("vocab_size")? as usize;
    let unused = |id: usize| Piece { text: format!("[PAD{id}]").into_bytes(), score: NO_SCORE, kind: UNUSED };
    let mut tokens: Vec<Piece> = (0..count).map(unused).collect();
    // As llama.cpp does it: what the model has no row for is left out.
    for (token, piece) in tokens.iter_mut().zip(pieces) {
        *token = piece;
    }
    let more = path.with_file_name("added_tokens.json");
    let more = Config::read_if_any(&more, MAX_LIST)?;
    for (text, id) in more.entries() {
        let token = more.u32(text)?.and_then(|id| tokens.get_mut(id as usize));
        if let Some(token) = token.filter(|_| !id.is_null()) {
            *token = Piece { text: text.into(), score: ADDED_SCORE, kind: USER_DEFINED };
        }
    }
    let mut set = |id: usize, text: &str, is_special: bool| {
        let Some(token) = tokens.get_mut(id) else { return };
        let is_usual = kind != Kind::Phi;
        let is_control = is_special || is_usual && looks_special(text);
        let text = if is_control || !is_usual { text.to_owned() } else { text.replace('▁', " ") };
        *token = Piece {
            text: text.into_bytes(),
            score: ADDED_SCORE,
            kind: if is_control { CONTROL } else { USER_DEFINED },
        };
    };
    let decoder = settings.value("added_tokens_decoder").and_then(|tokens| tokens.as_object());
    for (id, token) in decoder.into_iter().flatten() {
        let text = token.get("content").and_then(|text| text.as_str());
        let (Ok(id), Some(text)) = (id.parse(), text) else {
            let key = format!("added_tokens_decoder.{id}");
            return Err(settings.mismatch(&key, "an added token with `content`", token));
        };
        set(id, text, token.get("special").is_some_and(|special| special == true));
    }
    if kind == Kind::Phi {
        added.iter().for_each(|token| set(token.id, &token.text, token.is_special));
    }
    metadata.insert("tokenizer.ggml.model", "llama");
    metadata.insert("tokenizer.ggml.pre", "default");
    metadata.insert("tokenizer.ggml.tokens", tokens.iter().map(|token| &token.text).collect::<Strings>());
    metadata.insert("tokenizer.ggml.scores", tokens.iter().map(|token| token.score).collect::<Vec<_>>());
    metadata.insert("tokenizer.ggml.token_type", tokens.iter().map(|token| token.kind).collect::<Vec<_>>());
    Ok(count)
}

/// The pieces of a model, by id.
fn pieces(message: &[u8]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    // The default of the format.
    let mut kind = 1;
    for field in Fields(message) {
        match field? {
            (1, Value::Bytes(message)) => pieces.push(piece(message)?),
            (2, Value::Bytes(trainer)) => {
                for field in Fields(trainer) {
                    if let (3, Value::Integer(found)) = field? {
                        kind = found;
                    }
                }
            }
            _ => {}
        }
    }
    match kind {
        2 => Ok(pieces),
        1 => Err("its model is Unigram, which cannot be converted; BPE can".into()),
        other => Err(format!("its model is of kind {other}; BPE, which is 2, can be converted")),
    }
}

fn piece(message: &[u8]) -> Result<Piece, String> {
    let mut piece = Piece { text: Vec::new(), score: 0.0, kind: NORMAL };
    for field in Fields(message) {
        match field? {
            (1, Value::Bytes(text)) => piece.text = text.to_vec(),
            (2, Value::Float(score)) => piece.score = score,
            // To llama.cpp, pieces that the user defined are normal: their scores say that they merge first.
            (3, Value::Integer(kind @ (2 | 3 | 5 | 6))) => piece.kind = kind as i32,
            _ => {}
        }
    }
    Ok(piece)
}

/// A field's value, as far as it is known from the message alone.
enum Value<'a> {
    Integer(u64),
    Float(f32),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message: number and value.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Integer(self.varint()?),
            1 => self.take(8).map(|_| Value::Other)?,
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Float(f32::from_le_bytes(*self.take(4)?.first_chunk()?)),
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "it is not a SentencePiece model, or is damaged".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pieces, and the kind of model.
    const MODEL: &[u8] = b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x0a\x0a\x03\xe2\x96\x81\x15\0\0\x80\xbf\x12\x02\x18\x02";

    #[test]
    fn pieces_are_read() {
        let expected = [
            Piece { text: b"<unk>".to_vec(), score: 0.0, kind: 2 },
            Piece { text: "▁".into(), score: -1.0, kind: 1 },
        ];
        assert_eq!(pieces(MODEL).unwrap(), expected);
    }

    #[test]
    fn damaged_models_are_refused() {
        for end in 1..MODEL.len() {
            // Without its end, a model says nothing of its kind, or is cut within a field.
            assert!(pieces(&MODEL[..end]).is_err(), "{end}");
        }
        assert!(pieces(b"\x12\x02\x18\x01").unwrap_err().contains("Unigram"));
        assert!(pieces(b"\x12\x02\x18\x04").unwrap_err().contains("kind 4"));
        assert!(pieces(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").is_err());
        assert!(pieces(&[0xff; 20]).is_err());
    }
}
