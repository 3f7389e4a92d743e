//! Parts of a message that are not text: the text that they contain, and the text in their place.
//!
//! A tool's result stays in the history, and each later request repeats it. To refuse an image in it would end the
//! session, although the user cannot take it out.

use serde_json::Value;

use crate::error::beginning;
use crate::ignored::Ignored;

/// The text in place of a part of this type in a tool's result, on lines of its own; the part at `path` is listed as
/// ignored unless all of it is text.
pub(crate) fn replace(text: &mut String, part: &Value, kind: &str, path: &str, ignored: &Ignored) {
    let within = text_within(part);
    if within.is_none() {
        ignored.add(format!("{path} ({})", beginning(kind)));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    *text += &within.unwrap_or_else(|| notice(kind));
    text.push('\n');
}

/// A line that says what was left out.
fn notice(kind: &str) -> String {
    let what = match kind {
        "image" | "image_url" | "input_image" => "An image".to_string(),
        "audio" | "audio_url" | "input_audio" => "A recording".to_string(),
        "video" | "video_url" | "input_video" => "A video".to_string(),
        "document" | "file" | "input_file" => "A document".to_string(),
        other => format!("A part of the type `{}`", beginning(other)),
    };
    format!("[{what} was left out: this model reads text only.]")
}

/// The text of a document or a search result, if it is made of text.
pub(crate) fn text_within(part: &Value) -> Option<String> {
    let body = match part["type"].as_str()? {
        "document" => match part["source"]["type"].as_str()? {
            "text" => part["source"]["data"].as_str()?.to_string(),
            "content" => text_of_blocks(&part["source"]["content"])?,
            _ => return None,
        },
        "search_result" => text_of_blocks(&part["content"])?,
        "resource" => part["resource"]["text"].as_str()?.to_string(),
        _ => return None,
    };
    // The source of a search result is an address; that of a document is its content.
    let head = [&part["title"], &part["source"], &part["context"]];
    let lines = head.into_iter().filter_map(Value::as_str).filter(|line| !line.is_empty());
    Some(lines.chain([body.as_str()]).collect::<Vec<_>>().join("\n"))
}

/// The text of a string or of blocks that are all text.
fn text_of_blocks(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_string());
    }
    let blocks = content.as_array()?;
    let texts = blocks.iter().map(|block| block["text"].as_str().filter(|_| block["type"] == "text"));
    Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_kept_and_the_rest_is_named() {
        let source = json!({ "type": "text", "media_type": "text/plain", "data": "one" });
        let cases = [
            (
                json!({ "type": "image", "source": {} }),
                "[An image was left out: this model reads text only.]",
                true,
            ),
            (
                json!({ "type": "tool_reference" }),
                "[A part of the type `tool_reference` was left out: this model reads text only.]",
                true,
            ),
            (
                json!({ "type": "document", "source": { "type": "base64" } }),
                "[A document was left out: this model reads text only.]",
                true,
            ),
            (json!({ "type": "document", "title": "T", "source": source }), "T\none", false),
            (
                json!({ "type": "search_result", "source": "http://a", "title": "T", "content": [{ "type": "text", "text": "c" }] }),
                "T\nhttp://a\nc",
                false,
            ),
            (json!({ "type": "resource", "resource": { "uri": "a", "text": "r" } }), "r", false),
            (
                json!({ "type": "search_result", "content": [{ "type": "image" }] }),
                "[A part of the type `search_result` was left out: this model reads text only.]",
                true,
            ),
        ];
        for (part, expected, left_out) in cases {
            let (mut text, ignored) = ("before".to_string(), Ignored::default());
            replace(&mut text, &part, part["type"].as_str().unwrap(), "messages[2].content[0]", &ignored);
            assert_eq!(text, format!("before\n{expected}\n"), "{part}");
            assert_eq!(ignored != Ignored::default(), left_out, "{part}");
        }
    }
}
