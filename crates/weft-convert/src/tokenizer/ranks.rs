//! Kimi's tokenizer: tiktoken.model, a line for each token with its bytes in Base64 and its rank, which is
//! its id. Pairs of tokens merge in the order of the rank of what they make. The patterns that split text are
//! in a program, `tokenization_kimi.py`, and the readers' `kimi-k2`.

use std::collections::BTreeMap;
use std::path::Path;

use weft_gguf::{Metadata, Strings};

use super::types::{CONTROL, NORMAL, UNUSED};
use crate::config::{Config, MAX_LIST, read_bytes};
use crate::error::{self, refuse};

/// The longest token, in bytes: merging takes the square of the length. Kimi's longest has 128.
const MAX_LENGTH: usize = 256;

/// The number of special tokens after the ranked ones, few of which have a name.
const SPECIAL: usize = 256;

/// Whether the settings name Kimi's program, whose patterns are known.
pub(super) fn is_kimi(settings: &Config) -> bool {
    let Ok(map) = settings.object("auto_map") else { return false };
    let Some(found) = map.value("AutoTokenizer") else { return false };
    let name = found.as_str().or_else(|| found.get(0)?.as_str());
    name.is_some_and(|name| name.starts_with("tokenization_kimi."))
}

/// Writes the tokens of `path`, and the special ones that the settings name. Returns how many there are, and
/// the id of the end of a text.
pub(super) fn write(
    metadata: &mut Metadata,
    path: &Path,
    config: &Config,
    settings: &Config,
) -> error::Result<(usize, Option<u32>)> {
    let tokens = ranked(&read_bytes(path, MAX_LIST)?).map_err(|problem| refuse(path, problem))?;
    let count = config.require_u32("vocab_size")? as usize;
    if tokens.len() > count {
        let problem =
            format!("it has {} tokens, but config.json has a `vocab_size` of {count}", tokens.len());
        return Err(refuse(path, problem));
    }
    let named = named(settings)?;
    let (mut texts, mut types) = (Strings::default(), vec![NORMAL; tokens.len()]);
    tokens.iter().for_each(|token| texts.push(spelling(token)));
    for id in tokens.len()..count {
        let is_special = id < tokens.len() + SPECIAL;
        types.push(if is_special { CONTROL } else { UNUSED });
        match named.get(&id) {
            Some(text) if is_special => texts.push(text),
            None if is_special => texts.push(format!("<|reserved_token_{id}|>")),
            _ => texts.push(format!("[PAD{id}]")),
        }
    }
    let end = settings.value("eos_token");
    let end = end.and_then(|token| token.as_str().or_else(|| token.get("content")?.as_str()));
    let special = tokens.len()..count.min(tokens.len() + SPECIAL);
    let end = special.into_iter().find(|id| end.is_some() && named.get(id).copied() == end);
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "kimi-k2");
    metadata.insert("tokenizer.ggml.tokens", texts);
    metadata.insert("tokenizer.ggml.token_type", types);
    metadata.insert("tokenizer.ggml.merges", merges(&tokens));
    Ok((count, end.and_then(|id| u32::try_from(id).ok())))
}

/// The texts of special tokens by id.
fn named(settings: &Config) -> error::Result<BTreeMap<usize, &str>> {
    let decoder = settings.value("added_tokens_decoder").and_then(|tokens| tokens.as_object());
    let mut named = BTreeMap::new();
    for (id, found) in decoder.into_iter().flatten() {
        let text = found.get("content").and_then(|text| text.as_str());
        let (Ok(at), Some(text)) = (id.parse(), text) else {
            let key = format!("added_tokens_decoder.{id}");
            return Err(settings.mismatch(&key, "an added token with `content`", found));
        };
        named.insert(at, text);
    }
    Ok(named)
}

/// The bytes of the tokens of a file, by rank.
fn ranked(file: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let lines = file.split(|byte| *byte == b'\n').map(|line| line.trim_ascii()).enumerate();
    let mut found = BTreeMap::new();
    for (at, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let token = || {
            let space = line.iter().position(|byte| *byte == b' ')?;
            let rank = std::str::from_utf8(&line[space + 1..]).ok()?.parse::<usize>().ok()?;
            Some((rank, base64(&line[..space])?))
        };
        let Some((rank, token)) = token() else {
            return Err(format!("line {} is not a token in Base64 and its rank", at + 1));
        };
        if token.is_empty() || token.len() > MAX_LENGTH {
            let length = token.len();
            return Err(format!(
                "the token in line {} has {length} bytes; expected 1 to {MAX_LENGTH}",
                at + 1
            ));
        }
        if found.insert(rank, token).is_some() {
            return Err(format!("two tokens have the rank {rank}"));
        }
    }
    let tokens: Vec<Option<Vec<u8>>> = (0..found.len()).map(|rank| found.remove(&rank)).collect();
    let missing = tokens.iter().position(Option::is_none);
    if let Some(rank) = missing {
        return Err(format!("no token has the rank {rank}, though there are {} tokens", tokens.len()));
    }
    Ok(tokens.into_iter().flatten().collect())
}

/// The bytes that Base64 stands for; `None` if it is none.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |at| at + 1);
    if !text.len().is_multiple_of(4) || text.len() - end > 2 {
        return None;
    }
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for byte in &text[..end] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// Bytes as byte-level BPE spells them.
fn spelling(bytes: &[u8]) -> String {
    let character = |byte: &u8| {
        let code = match byte {
            0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u32::from(*byte),
            0..=0x20 => 0x100 + u32::from(*byte),
            0x7f..=0xa0 => 0x121 + u32::from(*byte - 0x7f),
            0xad => 0x143,
        };
        char::from_u32(code).unwrap_or_default()
    };
    bytes.iter().map(character).collect()
}

/// The two tokens that merge to each token, for those that two merge to, in the order of ranks.
fn merges(tokens: &[Vec<u8>]) -> Strings {
    let ranks: BTreeMap<&[u8], usize> =
        tokens.iter().enumerate().map(|(rank, token)| (&**token, rank)).collect();
    let mut merges = Strings::default();
    for (rank, token) in tokens.iter().enumerate() {
        if let Some(at) = halves(token, rank, &ranks) {
            merges.push(format!("{} {}", spelling(&token[..at]), spelling(&token[at..])));
        }
    }
    merges
}

/// Where a token comes apart into the two that are left before it is merged: without ranks from its own on.
fn halves(token: &[u8], own: usize, ranks: &BTreeMap<&[u8], usize>) -> Option<usize> {
    // Where each part begins, and the end.
    let mut bounds: Vec<usize> = (0..=token.len()).collect();
    loop {
        let rank = |at: usize| ranks.get(&token[bounds[at]..bounds[at + 2]]).copied();
        let pairs = (0..bounds.len().saturating_sub(2)).filter_map(|at| Some((rank(at)?, at)));
        match pairs.min().filter(|(rank, _)| *rank < own) {
            Some((_, at)) => bounds.remove(at + 1),
            None => break,
        };
    }
    (bounds.len() == 3).then(|| bounds[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (text, bytes) in
            [("", &b""[..]), ("YQ==", b"a"), ("YWI=", b"ab"), ("YWJj", b"abc"), ("+/8A", b"\xfb\xff\0")]
        {
            assert_eq!(base64(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        for wrong in ["YQ", "YQ=", "Y===", "Y Q=", "YQ==YQ=="] {
            assert_eq!(base64(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn tokens_come_apart_as_they_were_merged() {
        let tokens: Vec<Vec<u8>> =
            ["a", "b", "c", "bc", "ab", "abc", "xyz", "abcab"].map(|text| text.as_bytes().to_vec()).to_vec();
        // "abc" is a and bc, because that pair merges first; no two merge to "xyz".
        let found = merges(&tokens);
        let found: Vec<&[u8]> = found.iter().collect();
        assert_eq!(found, [&b"b c"[..], b"a b", b"a bc", b"abc ab"]);
    }

    #[test]
    fn damaged_files_are_refused() {
        let long = format!("{} 0", "AAAA".repeat(100));
        for (file, problem) in [
            ("YQ== 0\nYg==", "line 2 is not a token"),
            ("YQ== 0\nY! 1", "line 2 is not a token"),
            ("YQ== -1", "line 1 is not a token"),
            ("YQ== 0\nYg== 0", "two tokens have the rank 0"),
            ("YQ== 0\n\nYg== 2", "no token has the rank 1"),
            ("YQ== 99999999999999", "no token has the rank 0"),
            (&*long, "has 300 bytes"),
            (" 0", "line 1 is not a token"),
        ] {
            let found = ranked(file.as_bytes()).unwrap_err();
            assert!(found.contains(problem), "{found}");
        }
        assert_eq!(ranked(b"YQ== 1\r\nYg== 0\r\n").unwrap(), [b"b", b"a"]);
    }
}
