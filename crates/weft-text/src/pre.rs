//! Pre-tokenizers, which split text into the words that byte-pair encoding works within.
//!
//! A vocabulary is trained on words split in one particular way; text split in any other way yields tokens that the
//! model has rarely seen. GGUF files name the pre-tokenizer in `tokenizer.ggml.pre`, and [`FAMILIES`] is the table of
//! names. Patterns come from the models' own `tokenizer.json` (for Kimi, `tokenization_kimi.py`), their names from
//! llama.cpp (`src/llama-vocab.cpp`). Where the two disagree, this file follows the model's own tokenizer:
//!
//! * the contractions `(?i:'s|…)` fold case by Unicode, so `'ſ` matches; llama.cpp matches only `'s` and `'S`;
//! * `deepseek-llm` splits numbers into digits; llama.cpp does not.
//!
//! One difference remains: the tokenizers of Qwen and a few others first normalise text to Unicode NFC. Neither this
//! crate nor llama.cpp does; text typed on a keyboard is in NFC already.
//!
//! All patterns run in linear time, because `regex` does not backtrack. It has no look-ahead either. Two are in use: that of
//! `\s+(?!\S)|\s+` leaves the last of several spaces to the next word, and that of [`THOUSANDS`] groups digits from the end of a
//! number. [`Stage`] implements both by hand.

use regex::{Regex, RegexBuilder};

use crate::error::TokenizerError;

/// Tokenizers that split text alike, and the defaults of their vocabularies.
pub(crate) struct Family {
    /// The values of `tokenizer.ggml.pre` that select it.
    pub(crate) names: &'static [&'static str],
    /// Patterns applied in order, each to the pieces that the previous one left. Both the matches and the text between
    /// them become pieces.
    pub(crate) patterns: &'static [&'static str],
    /// Whether a word that is itself a token becomes that token without merging. A file can override it.
    pub(crate) ignore_merges: bool,
    /// Whether texts begin with the BOS token. A file can override it.
    pub(crate) add_bos: bool,
    /// Whether a word starts as its characters, and not as its bytes. Those without a token start as their bytes.
    pub(crate) by_character: bool,
    /// Whether pairs merge in the order of token ids, without a list of merges.
    pub(crate) merge_by_token_id: bool,
    /// Tokens that begin another speaker's turn and so end the model's.
    pub(crate) turn_markers: &'static [&'static str],
}

const DEFAULTS: Family = Family {
    names: &[],
    patterns: &[],
    ignore_merges: false,
    add_bos: false,
    by_character: false,
    merge_by_token_id: false,
    turn_markers: &[],
};

/// The pattern by which `ByteLevel` of the `tokenizers` library splits.
pub(crate) const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Also known as cl100k: numbers in groups of up to three digits, punctuation with the newlines after it.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(crate) const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Qwen 2's as Ling's files spell it: contractions after one apostrophe, possessive repetitions, and a
/// newline that the space before it has taken others into.
pub(crate) const LING: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";

/// Also known as o200k: Llama 3's, but splits before a capital that follows a small letter, keeps contractions with their
/// words, and slashes with the punctuation before them.
const GPT4O: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Seed-OSS's: Qwen 2's, but newlines are no part of the punctuation before them.
const SEED: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The digits of a number that ends where a word does, in groups of three from its end.
const THOUSANDS: &str = r"\d{1,3}(?=(?:\d{3})*\b)";

/// Mistral's: o200k's without contractions, and with single digits.
const TEKKEN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Qwen 2's, but marks belong to the letters before them.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Llama 3's, but also splits before a capital that follows a small letter, and around runs of Chinese characters.
const KIMI: &str = concat!(
    r"[\p{Han}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

const DEEPSEEK_V3_WORD: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"##,
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Cased letters as of the Unicode version that DeepSeek used.
const DEEPSEEK_LLM_WORD: &str = concat!(
    r"\s?[A-Za-z\u{B5}\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{1BA}\u{1BC}-\u{1BF}\u{1C4}-\u{293}\u{295}-\u{2AF}",
    r"\u{370}-\u{373}\u{376}\u{377}\u{37B}-\u{37D}\u{37F}\u{386}\u{388}-\u{38A}\u{38C}\u{38E}-\u{3A1}\u{3A3}-\u{3F5}",
    r"\u{3F7}-\u{481}\u{48A}-\u{52F}\u{531}-\u{556}\u{10A0}-\u{10C5}\u{13A0}-\u{13F5}\u{13F8}-\u{13FD}\u{1C90}-\u{1CBA}",
    r"\u{1CBD}-\u{1CBF}\u{1D00}-\u{1D2B}\u{1D6B}-\u{1D77}\u{1D79}-\u{1D9A}\u{1E00}-\u{1F15}\u{1F18}-\u{1F1D}",
    r"\u{1F20}-\u{1F45}\u{1F48}-\u{1F4D}\u{1F50}-\u{1F57}\u{1F59}\u{1F5B}\u{1F5D}\u{1F5F}-\u{1F7D}\u{1F80}-\u{1FB4}",
    r"\u{1FB6}-\u{1FBC}\u{1FBE}\u{1FC2}-\u{1FC4}\u{1FC6}-\u{1FCC}\u{1FD0}-\u{1FD3}\u{1FD6}-\u{1FDB}\u{1FE0}-\u{1FEC}",
    r"\u{1FF2}-\u{1FF4}\u{1FF6}-\u{1FFC}\u{2102}\u{2107}\u{210A}-\u{2113}\u{2115}\u{2119}-\u{211D}\u{2124}\u{2126}",
    r"\u{2128}\u{212A}-\u{212D}\u{212F}-\u{2134}\u{2139}\u{213C}-\u{213F}\u{2145}-\u{2149}\u{214E}\u{2183}\u{2184}",
    r"\u{2C00}-\u{2C7B}\u{2C7E}-\u{2CE4}\u{2CEB}-\u{2CEE}\u{2CF2}\u{2CF3}\u{A640}-\u{A66D}\u{A680}-\u{A69B}",
    r"\u{A722}-\u{A76F}\u{A771}-\u{A787}\u{A78B}-\u{A78E}\u{AB70}-\u{ABBF}\u{FB00}-\u{FB06}\u{FB13}-\u{FB17}",
    r"\u{FF21}-\u{FF3A}\u{FF41}-\u{FF5A}\u{10400}-\u{1044F}\u{104B0}-\u{104D3}\u{104D8}-\u{104FB}\u{10C80}-\u{10CB2}",
    r"\u{10CC0}-\u{10CF2}\u{118A0}-\u{118DF}\u{1E900}-\u{1E943}]+",
);

/// Gemma 4's tokenizer, which its file names by `model` and not by `pre`. Lines are words, and so are runs of newlines.
pub(crate) static GEMMA4: Family =
    Family { names: &["gemma4"], patterns: &[r"[^\n]+|\n+"], add_bos: true, by_character: true, ..DEFAULTS };

/// Chinese, Korean, and everything in Unicode from Samaritan up to Chinese.
const DEEPSEEK_CJK: &str = r"[\u{4E00}-\u{9FA5}\u{800}-\u{4E00}\u{AC00}-\u{D7FF}]+";

pub(crate) static FAMILIES: &[Family] = &[
    Family {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        patterns: &[LLAMA3],
        ignore_merges: true,
        add_bos: true,
        ..DEFAULTS
    },
    Family { names: &["dbrx", "smaug-bpe"], patterns: &[LLAMA3], ..DEFAULTS },
    Family {
        names: &["glm4", "chatglm-bpe"],
        patterns: &[LLAMA3],
        turn_markers: &["<|user|>", "<|observation|>"],
        ..DEFAULTS
    },
    Family {
        names: &["gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais", "gigachat", "exaone4", "a.x-4.0", "mellum"],
        patterns: &[GPT2],
        ..DEFAULTS
    },
    Family {
        names: &["smollm", "starcoder", "refact", "codeshell", "command-r"],
        patterns: &[r"\p{N}", GPT2],
        ..DEFAULTS
    },
    Family {
        // Ling's pattern is another spelling of the same.
        names: &[
            "qwen2",
            "deepseek-r1-qwen",
            "megrez",
            "stablelm2",
            "hunyuan",
            "bailingmoe",
            "bailingmoe2",
            "llada-moe",
        ],
        patterns: &[QWEN2],
        ..DEFAULTS
    },
    Family {
        names: &["deepseek-llm"],
        patterns: &[
            r"[\r\n]",
            DEEPSEEK_LLM_WORD,
            r"\s?[!-/:-~\u{FF01}-\u{FF0F}\u{FF1A}-\u{FF5E}\u{2018}-\u{201F}\u{3000}-\u{3002}]+",
            r"\s+$",
            DEEPSEEK_CJK,
            r"\p{N}",
        ],
        ..DEFAULTS
    },
    Family {
        names: &["deepseek-coder"],
        patterns: &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", DEEPSEEK_CJK, r"\p{N}"],
        ..DEFAULTS
    },
    Family {
        names: &["deepseek-v3", "deepseek-r1", "hunyuan-dense", "joyai-llm"],
        patterns: &[
            r"\p{N}{1,3}",
            r"[\u{4E00}-\u{9FA5}\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+",
            DEEPSEEK_V3_WORD,
        ],
        ..DEFAULTS
    },
    Family {
        names: &["kimi-k2"],
        patterns: &[KIMI],
        ignore_merges: true,
        merge_by_token_id: true,
        ..DEFAULTS
    },
    Family { names: &["gpt-4o", "llama4", "kanana2", "minimax-m2"], patterns: &[GPT4O], ..DEFAULTS },
    Family { names: &["cohere2moe", "tiny_aya"], patterns: &[THOUSANDS, GPT4O], ..DEFAULTS },
    Family { names: &["seed-coder"], patterns: &[SEED], ..DEFAULTS },
    Family { names: &["tekken"], patterns: &[TEKKEN], ignore_merges: true, add_bos: true, ..DEFAULTS },
    Family { names: &["qwen35"], patterns: &[QWEN35], ..DEFAULTS },
    Family {
        names: &["falcon"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"],
        ..DEFAULTS
    },
    Family {
        names: &["default"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
        ..DEFAULTS
    },
];

/// Returns the family that has `name` among its names.
pub(crate) fn family(name: &str) -> Result<&'static Family, TokenizerError> {
    FAMILIES.iter().find(|family| family.names.contains(&name)).ok_or_else(|| TokenizerError::Pre {
        found: name.to_owned(),
        known: FAMILIES.iter().flat_map(|family| family.names).copied().collect::<Vec<_>>().join(", "),
    })
}

/// The family of a tokenizer that merges by a list: `model` says which, or `pre` if that is byte-level BPE.
pub(crate) fn of_model(model: &str, pre: &str) -> Result<&'static Family, TokenizerError> {
    match model {
        "gpt2" => family(pre),
        _ if GEMMA4.names.contains(&model) => Ok(&GEMMA4),
        _ => Err(TokenizerError::Model { found: model.to_owned() }),
    }
}

/// The compiled patterns of a family.
pub(crate) struct PreTokenizer {
    stages: Vec<Stage>,
}

/// One pattern, without its look-ahead.
struct Stage {
    regex: Regex,
    /// Whether the pattern ended in the look-ahead: a run of spaces leaves its last one to the next word.
    lends_space: bool,
    /// Whether an earlier alternative of the pattern matches runs that end in a newline, which then stay whole.
    keeps_newline: bool,
    /// For [`THOUSANDS`], the text that may not follow a number whose first group is a piece: the rest of a word, which for Oniguruma
    /// includes all numbers.
    rest_of_word: Option<Regex>,
}

const LOOKAHEAD: &str = r"\s+(?!\S)|\s+";

/// The limit on the memory for cached automaton states of one pattern. Text that mixes all scripts needs 4 MB; with
/// less, it is fifty times slower.
const AUTOMATON_BYTES: usize = 16 << 20;

impl PreTokenizer {
    pub(crate) fn new(family: &Family) -> PreTokenizer {
        PreTokenizer { stages: family.patterns.iter().map(|pattern| Stage::new(pattern)).collect() }
    }

    /// Calls `emit` with each word of `text`, in order. The words are not empty, and together they are `text`.
    pub(crate) fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        split(&self.stages, text, emit);
    }
}

fn split<'t>(stages: &[Stage], text: &'t str, emit: &mut dyn FnMut(&'t str)) {
    let Some((stage, rest)) = stages.split_first() else { return emit(text) };
    let (mut start, mut from) = (0, 0);
    while let Some(found) = stage.regex.find_at(text, from) {
        if !stage.takes(&text[found.end()..]) {
            from = found.end();
            continue;
        }
        let end = found.start() + stage.length(found.as_str(), &text[found.end()..]);
        if start < found.start() {
            split(rest, &text[start..found.start()], emit);
        }
        split(rest, &text[found.start()..end], emit);
        (start, from) = (end, end);
    }
    if start < text.len() {
        split(rest, &text[start..], emit);
    }
}

impl Stage {
    fn new(pattern: &str) -> Stage {
        let groups_digits = pattern == THOUSANDS;
        let pattern = if groups_digits { r"\d+" } else { pattern };
        let rest_of_word =
            || Regex::new(r"^[\p{Alphabetic}\p{M}\p{N}\p{Pc}]").expect("this pattern compiles");
        let shortened = pattern.strip_suffix(LOOKAHEAD).map(|head| format!(r"{head}\s+"));
        let regex = RegexBuilder::new(shortened.as_deref().unwrap_or(pattern))
            .dfa_size_limit(AUTOMATON_BYTES)
            .build();
        Stage {
            regex: regex.expect("the patterns of the table compile, as a test proves"),
            lends_space: shortened.is_some(),
            keeps_newline: pattern.contains(r"|\s*[\r\n]+|"),
            rest_of_word: groups_digits.then(rest_of_word),
        }
    }

    /// Whether a match is one, with this text after it.
    fn takes(&self, after: &str) -> bool {
        !self.rest_of_word.as_ref().is_some_and(|rest| rest.is_match(after))
    }

    /// Returns how many bytes of the match `found` belong to the piece. `after` is the text that follows the match.
    ///
    /// `\s+(?!\S)|\s+` matches a run of spaces whole at the end of the text, and without its last space elsewhere,
    /// unless that is its only one. A match of spaces alone comes from this alternative: all others contain a letter,
    /// digit or sign, or end in a newline.
    fn length(&self, found: &str, after: &str) -> usize {
        if self.rest_of_word.is_some() {
            let first = (found.chars().count() - 1) % 3 + 1;
            return found.char_indices().nth(first).map_or(found.len(), |(end, _)| end);
        }
        if !self.lends_space || after.is_empty() || !found.chars().all(char::is_whitespace) {
            return found.len();
        }
        match found.char_indices().next_back() {
            Some((_, '\r' | '\n')) if self.keeps_newline => found.len(),
            Some((last, _)) if last > 0 => last,
            _ => found.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile_without_backtracking_and_never_match_nothing() {
        for family in FAMILIES {
            let pre = PreTokenizer::new(family);
            for stage in &pre.stages {
                let pattern = stage.regex.as_str();
                for fancy in ["(?=", "(?!", "(?<", "(?>"] {
                    assert!(!pattern.contains(fancy), "{pattern} would backtrack");
                }
                assert!(!stage.regex.is_match(""), "{pattern} matches the empty string");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = FAMILIES.iter().flat_map(|family| family.names).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_page_lists_all_names() {
        let page = include_str!("../../../docs/tokenizers.md");
        let table = page.split("## ").find(|section| section.starts_with("Pre-tokenizers")).unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next()).skip(1);
        let listed: Vec<Vec<&str>> =
            rows.map(|row| row.trim_end_matches('`').split("`, `").collect()).collect();
        assert!(FAMILIES.iter().all(|family| listed.iter().any(|row| row == family.names)), "{listed:?}");
        assert_eq!(listed.len(), FAMILIES.len());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = family("glm5").map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("\"glm5\"") && message.contains("chatglm-bpe, gpt-2"), "{message}");
    }

    fn words<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        let mut words = Vec::new();
        PreTokenizer::new(family(name).unwrap()).split(text, &mut |word| words.push(word));
        words
    }

    #[test]
    fn the_last_of_several_spaces_joins_the_next_word() {
        assert_eq!(words("gpt-2", "a   b\n\n c  "), ["a", "  ", " b", "\n\n", " c", "  "]);
        assert_eq!(words("gpt-2", "a\n\nb\t\tc"), ["a", "\n", "\n", "b", "\t", "\t", "c"]);
        assert_eq!(words("llama-bpe", "a   b\n\n c  "), ["a", "  ", " b", "\n\n", " c", "  "]);
        assert_eq!(words("llama-bpe", "a \n \n\u{3000}\u{3000}b"), ["a", " \n \n", "\u{3000}", "\u{3000}b"]);
    }

    #[test]
    fn families_differ() {
        assert_eq!(words("llama-bpe", "It'S 12345 中文x"), ["It", "'S", " ", "123", "45", " 中文x"]);
        assert_eq!(words("smollm", "It'S 12a"), ["It", "'", "S", " ", "1", "2", "a"]);
        assert_eq!(
            words("deepseek-llm", "It's 12\n中文x"),
            ["It", "'", "s", " ", "1", "2", "\n", "中文", "x"]
        );
        assert_eq!(words("deepseek-v3", "x.map 1234中文ひ"), ["x", ".map", " ", "123", "4", "中文ひ"]);
        assert_eq!(words("kimi-k2", "中文English混合HTMLPage"), ["中文", "English", "混合", "HTMLPage"]);
        assert_eq!(
            words("gpt-4o", "HTMLPage It's 12345 a//\nb"),
            ["HTMLPage", " It's", " ", "123", "45", " a", "//\n", "b"]
        );
        assert_eq!(words("tekken", "fooBar It's 12"), ["foo", "Bar", " It", "'s", " ", "1", "2"]);
        assert_eq!(words("seed-coder", "a 12!\n\nb"), ["a", " ", "1", "2", "!", "\n\n", "b"]);
        assert_eq!(
            words("cohere2moe", "1234567 1234a 12"),
            ["1", "234", "567", " ", "123", "4", "a", " ", "12"]
        );
        assert_eq!(words("qwen35", "नमस्ते 12"), ["नमस्ते", " ", "1", "2"]);
        assert_eq!(words("falcon", "a`b 1234"), ["a", "`", "b", " ", "123", "4"]);
        assert_eq!(words("default", "a+b 12345"), ["a", "+", "b", " ", "123", "45"]);
    }
}
