//! Identifies files that do not begin like a GGUF file: downloads go wrong in a few well-known ways.

/// Says what `bytes` seem to be, and what to do about it.
pub(crate) fn describe(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(512)];
    let text = head.trim_ascii_start().to_ascii_lowercase();
    let said = match head {
        [] => "it is empty (0 bytes)",
        [b'F', b'U', b'G', b'G', ..] => "it is in big-endian byte order; convert it to little-endian",
        [b'l', b'm', b'g', b'g', ..] | [b't' | b'f' | b'a', b'j' | b'm' | b'l', b'g', b'g', ..] => {
            "it is in a GGML format older than GGUF; convert the model again from its source"
        }
        [b'P', b'K', 3 | 5, 4 | 6, ..] => {
            "it is a zip archive or a PyTorch checkpoint; convert it, or unpack it first"
        }
        [0x1f, 0x8b, ..] => "it is compressed with gzip; unpack it first",
        _ if is_safetensors(head) => "it is a safetensors file; convert it to GGUF first",
        _ if text.starts_with(b"version https://git-lfs") => {
            "it is a Git LFS pointer, not the model itself; run `git lfs pull`, or download the file"
        }
        _ if text.starts_with(b"<!doctype") || text.starts_with(b"<html") => {
            "it is a web page; the download went wrong (a login page, a mistyped address?)"
        }
        _ if text.starts_with(b"{") => {
            "it is JSON; the download went wrong (an error message from the server?)"
        }
        _ if head.iter().all(|&b| b == 0) => "it begins with zeros; its download is incomplete",
        _ => {
            let first: Vec<String> = head.iter().take(4).map(|b| format!("{b:02x}")).collect();
            return format!("it begins with the bytes {}, not with `GGUF`", first.join(" "));
        }
    };
    said.to_string()
}

/// A safetensors file begins with the length of a JSON object as a `u64`, then that object.
fn is_safetensors(head: &[u8]) -> bool {
    matches!(head, [_, _, _, _, 0, 0, 0, 0, b'{', ..])
}
