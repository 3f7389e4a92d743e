//! `weft tokenize`: prints the tokens of a text.

use std::io::Write as _;

use serde_json::{Value, json};
use weft_engine::open_file;
use weft_text::EncodeOptions;

use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::{Command, MODEL, Outcome, Positional};
use crate::model::model_ref;
use crate::terminal::streams::Out;

const TEXT: Positional =
    Positional { name: "TEXT", help: "The text; `-` or nothing reads standard input", required: false };

pub(in crate::commands) const COMMAND: Command = Command {
    name: "tokenize",
    about: "Show the tokens of a text",
    notes: "\
Prints the id and the text of each token, one per line. Bytes that are not UTF-8 text, such as parts of a character, \
are shown as \\xNN; with --json, such a token is a list of numbers.

Examples:
  weft tokenize model.gguf \"Hello, world!\"
  weft tokenize model.gguf --json < notes.txt",
    positionals: &[MODEL, TEXT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let text = match args.text("TEXT") {
        Some("-") | None => text_file::input()?,
        Some(text) => text.to_string(),
    };
    let path = model_ref::find(args, args.path("MODEL"))?;
    let tokenizer = weft_engine::tokenizer(open_file(&path)?.metadata())?;
    let special = args.switch("special", "no-special").unwrap_or(true);
    let ids = tokenizer.encode(&text, EncodeOptions { parse_special: special, add_special: special });
    let mut out = Out::new();
    if args.flag("json") {
        let token = |&id: &u32| json!({ "id": id, "text": json_piece(tokenizer.token_bytes(id)) });
        out.json(&ids.iter().map(token).collect())?;
    } else {
        for &id in &ids {
            writeln!(out, "{id:>8}  {}", piece(tokenizer.token_bytes(id)))?;
        }
    }
    Ok(Outcome::Done)
}

/// A token's text in quotes, with `\xNN` for bytes that are not UTF-8.
fn piece(bytes: &[u8]) -> String {
    let mut piece = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        piece.extend(chunk.valid().escape_debug());
        piece.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    piece + "\""
}

/// A token's text, or its bytes if they are not UTF-8.
fn json_piece(bytes: &[u8]) -> Value {
    std::str::from_utf8(bytes).map_or_else(|_| json!(bytes), |text| json!(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_characters_show_as_bytes() {
        assert_eq!(piece("né\n\"".as_bytes()), r#""né\n\"""#);
        assert_eq!(piece(b"a\xE3\x81"), r#""a\xE3\x81""#);
        assert_eq!(json_piece(b"a"), json!("a"));
        assert_eq!(json_piece(b"\xE3\x81"), json!([0xE3, 0x81]));
    }
}
