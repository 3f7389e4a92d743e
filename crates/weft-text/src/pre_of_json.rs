//! Recognises the pre-tokenizer of a `tokenizer.json`, which describes it instead of naming it.

use serde_json::Value;

use crate::pre::{FAMILIES, GPT2, LING, QWEN2};

/// Patterns that models' own files spell in another way than [`FAMILIES`] does, and the same as it has them.
const SPELLINGS: [(&str, &str); 1] = [(LING, QWEN2)];

/// The names in GGUF (`tokenizer.ggml.pre`) of the pre-tokenizers that split text as `pre_tokenizer` of a `tokenizer.json` does, and
/// that treat words which are tokens as `ignore_merges` says. Empty if there is none.
pub fn pre_tokenizers_like(pre_tokenizer: &Value, ignore_merges: bool) -> Vec<&'static str> {
    let Some(found) = patterns(pre_tokenizer) else { return Vec::new() };
    let alike = FAMILIES.iter().filter(|family| {
        let patterns = family.patterns.iter().map(|pattern| plain(pattern));
        !family.merge_by_token_id
            && family.ignore_merges == ignore_merges
            && patterns.eq(found.iter().cloned())
    });
    alike.flat_map(|family| family.names).copied().collect()
}

/// The patterns that a pre-tokenizer applies in turn, each as [`plain`] writes it; `None` if it does anything else, or does not spell
/// bytes as characters at the end, and there alone: patterns that follow would see that spelling.
fn patterns(pre_tokenizer: &Value) -> Option<Vec<String>> {
    let kind = |stage: &Value| stage.get("type").and_then(Value::as_str).map(str::to_owned);
    let one = std::slice::from_ref(pre_tokenizer);
    let stages = match kind(pre_tokenizer)?.as_str() {
        "Sequence" => pre_tokenizer.get("pretokenizers")?.as_array()?,
        _ => one,
    };
    let (last, before) = stages.split_last()?;
    if kind(last)? != "ByteLevel" || before.iter().any(|stage| kind(stage).as_deref() == Some("ByteLevel")) {
        return None;
    }
    let patterns: Option<Vec<_>> = stages.iter().map(stage_patterns).collect();
    Some(patterns?.concat())
}

/// The patterns of one stage.
fn stage_patterns(pre_tokenizer: &Value) -> Option<Vec<String>> {
    let text = |key: &str| pre_tokenizer.get(key).and_then(Value::as_str);
    let is = |key: &str, value: bool| pre_tokenizer.get(key).and_then(Value::as_bool) == Some(value);
    let one = |pattern: &str| {
        let known = SPELLINGS.iter().find(|(spelling, _)| *spelling == pattern);
        Some(vec![plain(known.map_or(pattern, |(_, same)| same))])
    };
    match text("type")? {
        "Split" => {
            // Removing what lies between matches is the same where a pattern leaves nothing between them.
            let keeps_all = text("behavior") == Some("Isolated") && is("invert", false)
                || text("behavior") == Some("Removed") && is("invert", true);
            one(pre_tokenizer.get("pattern")?.get("Regex")?.as_str().filter(|_| keeps_all)?)
        }
        "Digits" => one(if is("individual_digits", true) { r"\p{N}" } else { r"\p{N}+" }),
        "ByteLevel" if is("add_prefix_space", true) => None,
        // Files of old versions do not say.
        "ByteLevel" if is("use_regex", false) => Some(Vec::new()),
        "ByteLevel" => one(GPT2),
        _ => None,
    }
}

/// The most hexadecimal digits of a character.
const MAX_DIGITS: usize = 8;

/// A pattern in which characters are escaped only where they must be, because the two dialects escape them differently.
fn plain(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let hexadecimal = || {
            let digits = rest.strip_prefix(r"\u{").or_else(|| rest.strip_prefix(r"\x{"))?;
            // No more than a character has: a search to the end, at each of them, would take the square of the length.
            let end = digits.bytes().take(MAX_DIGITS + 1).position(|byte| byte == b'}')?;
            let (digits, after) = (&digits[..end], &digits[end + 1..]);
            Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, after))
        };
        let named = || {
            let characters = [(r"\r", '\r'), (r"\n", '\n'), (r"\t", '\t')];
            characters.iter().find_map(|(name, c)| Some((*c, rest.strip_prefix(name)?)))
        };
        match hexadecimal().or_else(named) {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                // The backslash and what it escapes.
                let len = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..len]);
                rest = &rest[len..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::vocab::TokenizerSpec;

    /// Patterns that this crate writes are recognised.
    #[test]
    fn every_family_is_recognised_by_its_patterns() {
        for family in FAMILIES.iter().filter(|family| !family.merge_by_token_id) {
            let spec = TokenizerSpec {
                model: "gpt2",
                pre: family.names[0],
                tokens: vec![b"a", b"b"],
                merges: Some(Vec::new()),
                ..TokenizerSpec::default()
            };
            let written: Value = serde_json::from_str(&spec.hugging_face().unwrap()).unwrap();
            let names = pre_tokenizers_like(&written["pre_tokenizer"], family.ignore_merges);
            assert!(names.contains(&family.names[0]), "{names:?}");
        }
    }

    #[track_caller]
    fn check(pre_tokenizer: Value, ignore_merges: bool, expected: Option<&str>) {
        assert_eq!(
            pre_tokenizers_like(&pre_tokenizer, ignore_merges).first().copied(),
            expected,
            "{pre_tokenizer}"
        );
    }

    fn split(pattern: &str) -> Value {
        json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false })
    }

    const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

    /// As models' own files have them.
    #[test]
    fn real_files_are_recognised() {
        let bytes = |regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex });
        let sequence = |stages: Vec<Value>| json!({ "type": "Sequence", "pretokenizers": stages });
        let cl100k = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        check(sequence(vec![split(cl100k), bytes(false)]), true, Some("llama-bpe"));
        // Ling's pattern splits as Qwen's does.
        let ling = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
        check(sequence(vec![split(ling), bytes(false)]), false, Some("qwen2"));
        check(sequence(vec![split(QWEN), bytes(false)]), false, Some("qwen2"));
        check(sequence(vec![split(QWEN), bytes(false)]), true, None);
        check(sequence(vec![split(cl100k), bytes(false)]), false, Some("dbrx"));
        let removed =
            json!({ "type": "Split", "pattern": { "Regex": cl100k }, "behavior": "Removed", "invert": true });
        check(sequence(vec![removed, bytes(false)]), false, Some("dbrx"));
        let digits = json!({ "type": "Digits", "individual_digits": true });
        check(sequence(vec![digits.clone(), bytes(true)]), false, Some("smollm"));
        check(bytes(true), false, Some("gpt-2"));
        let deepseek = [
            "\\p{N}{1,3}",
            "[一-龥\u{3040}-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
        ];
        let stages = deepseek.iter().map(|pattern| split(pattern)).chain([bytes(false)]).collect();
        check(sequence(stages), false, Some("deepseek-v3"));
    }

    /// Unterminated escapes, in a pattern as long as a file can be, are read in linear time.
    #[test]
    fn characters_without_an_end() {
        let pattern = r"\u{41".repeat(1 << 20);
        assert_eq!(plain(&pattern), pattern);
        assert_eq!(
            plain(r"\u{41}\x{0000e9}\u{110000}\u{000000041}\u{"),
            "A\u{e9}\\u{110000}\\u{000000041}\\u{"
        );
    }

    #[test]
    fn what_differs_is_not() {
        check(Value::Null, false, None);
        check(json!({ "type": "Metaspace" }), false, None);
        check(json!({ "type": "ByteLevel", "add_prefix_space": true }), false, None);
        let bytes = json!({ "type": "ByteLevel", "add_prefix_space": false, "use_regex": false });
        let sequence = |stages: Vec<Value>| json!({ "type": "Sequence", "pretokenizers": stages });
        check(sequence(vec![split(r"\p{L}+|\p{N}"), bytes.clone()]), false, None);
        // Bytes are spelled as characters once, at the end.
        check(sequence(vec![split(QWEN), bytes.clone()]), false, Some("qwen2"));
        for stages in [
            vec![],
            vec![split(QWEN)],
            vec![bytes.clone(), split(QWEN)],
            vec![bytes.clone(), split(QWEN), bytes.clone()],
            vec![split(QWEN), bytes.clone(), bytes.clone()],
            vec![sequence(vec![split(QWEN), bytes.clone()])],
        ] {
            check(sequence(stages), false, None);
        }
        check(split(QWEN), false, None);
        check(
            json!({ "type": "Split", "pattern": { "String": " " }, "behavior": "Isolated", "invert": false }),
            false,
            None,
        );
        let mut merged = split(GPT2);
        merged["behavior"] = "MergedWithNext".into();
        check(merged, false, None);
    }
}
