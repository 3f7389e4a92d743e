//! The pairs of tokens that merge, as tokenizer.json lists them.

use std::path::Path;

use serde_json::Value;
use weft_gguf::Strings;

use crate::error::{Result, refuse};

/// The pairs that merge, best first. A space within a half would end it, so it is written as bytes are.
pub(super) fn merges(path: &Path, list: &[Value]) -> Result<Strings> {
    let wrong = |at: usize| refuse(path, format!("`model.merges[{at}]` is not a pair of tokens"));
    let mut merges = Strings::default();
    for (at, pair) in list.iter().enumerate() {
        match pair {
            Value::String(pair) => merges.push(pair),
            Value::Array(pair) => {
                let [Value::String(left), Value::String(right)] = &pair[..] else {
                    return Err(wrong(at));
                };
                merges.push(format!("{} {}", left.replace(' ', "Ġ"), right.replace(' ', "Ġ")));
            }
            _ => return Err(wrong(at)),
        }
    }
    Ok(merges)
}
