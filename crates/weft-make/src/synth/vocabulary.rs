//! Vocabularies that can encode any text: all bytes, syllables and words with the merges that form them, and a model
//! family's special tokens at their real ids.

mod families;
mod plain;

use weft_gguf::{Metadata, Strings};

pub(crate) use families::{
    DEEPSEEK, GEMMA, GEMMA4, GLM, GPT_OSS, KIMI, LING, LLAMA3, MISTRAL, PHI4, QWEN, QWEN35, TEKKEN,
};
pub(crate) use plain::{
    COHERE2MOE, COMMAND_R, ERNIE, EXAONE, GRANITE, GRANITE4, HUNYUAN, LFM2, MINIMAX, MUSE, NEMOTRON, OLMO,
    SEED, SMOLLM3,
};

/// Types of tokens (`llama_token_type` in `llama.h`).
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// The lengths of the runs of newlines that are tokens, where pieces merge by a list.
const NEWLINES: usize = 2;

/// How pieces spell a space.
const SPACE: char = '▁';

/// The characters that a vocabulary of pieces has in addition to its bytes: a space, and the printable ones of ASCII.
const PIECES: u32 = 1 + ('~' as u32 - '!' as u32 + 1);

/// The tokenizer of a family of models.
#[derive(Debug)]
pub(crate) struct Family {
    kind: Kind,
    /// The special tokens, in order.
    special: &'static [(&'static str, i32)],
    /// The tokens with a role: the name of its key, and the token's index in `special`.
    roles: &'static [(&'static str, u32)],
    add_bos: bool,
    chat_template: &'static str,
}

/// The kind of a tokenizer.
#[derive(Debug)]
enum Kind {
    /// Byte-level words.
    Words {
        /// `tokenizer.ggml.pre`.
        pre: &'static str,
        /// The number of tokens from the first special one to the end of the vocabulary. Smaller vocabularies end with the special tokens
        /// that have names.
        from_end: u32,
    },
    /// The same, with the special tokens first.
    WordsAfterSpecial {
        /// `tokenizer.ggml.pre`.
        pre: &'static str,
        /// The first token that is no special one. In vocabularies that have less than twice as many tokens, it comes right after
        /// the special tokens that are named.
        first_word: u32,
    },
    /// Pieces that merge by a list, with the special tokens first.
    MergedPieces {
        /// The id of each special token. In vocabularies of fewer than ten times as many tokens, they follow each other.
        places: &'static [u32],
    },
    /// SentencePiece, whose special tokens are the first.
    Pieces {
        /// Whether texts begin with a space that they do not have.
        begins_with_space: bool,
    },
}

impl Family {
    /// Writes the metadata of a tokenizer with `size` tokens.
    pub(crate) fn describe(&self, size: u32, metadata: &mut Metadata) {
        match self.kind {
            Kind::Words { pre, .. } => self.describe_words(pre, self.first_special(size), size, metadata),
            Kind::WordsAfterSpecial { pre, .. } => {
                self.describe_words_after_special(pre, self.first_word(size), size, metadata);
            }
            Kind::MergedPieces { places } => self.describe_merged(places, size as usize, metadata),
            Kind::Pieces { begins_with_space } => {
                self.describe_pieces(begins_with_space, size as usize, metadata);
            }
        }
        metadata.insert("tokenizer.chat_template", self.chat_template);
    }

    /// The fewest tokens of a vocabulary: its special ones, all bytes, and the characters of pieces.
    pub(crate) fn fewest_tokens(&self) -> u32 {
        let own = match self.kind {
            Kind::Words { .. } | Kind::WordsAfterSpecial { .. } => self.special.len() as u32,
            Kind::Pieces { .. } => self.special.len() as u32 + PIECES,
            Kind::MergedPieces { .. } => self.special.len() as u32 + NEWLINES as u32 + PIECES,
        };
        256 + own
    }

    /// The first special token of a vocabulary with `size` tokens.
    fn first_special(&self, size: u32) -> u32 {
        match self.kind {
            Kind::Words { from_end, .. } if size >= 256 + from_end => size - from_end,
            Kind::Words { .. } => size.saturating_sub(self.special.len() as u32),
            Kind::WordsAfterSpecial { .. } | Kind::MergedPieces { .. } | Kind::Pieces { .. } => 0,
        }
    }

    /// The first token that stands for text, of a vocabulary with `size` tokens.
    fn first_word(&self, size: u32) -> u32 {
        match self.kind {
            Kind::WordsAfterSpecial { first_word, .. } if size >= 2 * first_word => first_word,
            Kind::WordsAfterSpecial { .. } => self.special.len() as u32,
            Kind::Words { .. } | Kind::MergedPieces { .. } | Kind::Pieces { .. } => 0,
        }
    }

    /// Writes the metadata of a byte-level tokenizer with `size` tokens, up to this one special ones.
    fn describe_words_after_special(&self, pre: &str, first_word: u32, size: u32, metadata: &mut Metadata) {
        let mut tokens = Strings::default();
        let mut types = Vec::new();
        for (special, ty) in self.special {
            tokens.push(special);
            types.push(*ty);
        }
        for id in tokens.len()..first_word as usize {
            tokens.push(format!("<SPECIAL_{id}>"));
            types.push(CONTROL);
        }
        let words = TextTokens::new(size.saturating_sub(first_word) as usize);
        words.tokens.iter().for_each(|token| tokens.push(token));
        types.resize(size as usize, NORMAL);
        self.finish_words(pre, (tokens, types, words.merges), 0, metadata);
    }

    /// Writes the metadata of a byte-level tokenizer with `size` tokens, from this one on special ones.
    fn describe_words(&self, pre: &str, first_special: u32, size: u32, metadata: &mut Metadata) {
        let TextTokens { mut tokens, merges } = TextTokens::new(first_special as usize);
        let mut types = vec![NORMAL; tokens.len()];
        for (special, ty) in self.special {
            tokens.push(special);
            types.push(*ty);
        }
        for id in tokens.len()..size as usize {
            tokens.push(format!("[PAD{id}]"));
            types.push(UNUSED);
        }
        self.finish_words(pre, (tokens, types, merges), first_special, metadata);
    }

    /// Writes the metadata of a byte-level tokenizer: its tokens, their types, the merges, and which is the first special one.
    fn finish_words(
        &self,
        pre: &str,
        (tokens, types, merges): (Strings, Vec<i32>, Strings),
        first_special: u32,
        metadata: &mut Metadata,
    ) {
        metadata.insert("tokenizer.ggml.model", "gpt2");
        metadata.insert("tokenizer.ggml.pre", pre);
        metadata.insert("tokenizer.ggml.tokens", tokens);
        metadata.insert("tokenizer.ggml.token_type", types);
        metadata.insert("tokenizer.ggml.merges", merges);
        for (role, place) in self.roles {
            metadata.insert(&format!("tokenizer.ggml.{role}_token_id"), first_special + place);
        }
        metadata.insert("tokenizer.ggml.add_bos_token", self.add_bos);
    }

    /// Writes the metadata of a tokenizer with `size` tokens whose pieces merge by a list: the special ones, newlines, all bytes,
    /// printable characters, and as many syllables and words as there is room for.
    fn describe_merged(&self, places: &[u32], size: usize, metadata: &mut Metadata) {
        let end = places.last().map_or(0, |last| *last as usize + 1);
        let place = |special: usize| if size >= 10 * end { places[special] as usize } else { special };
        let mut tokens = Strings::default();
        let mut types = Vec::new();
        for (i, (special, ty)) in self.special.iter().enumerate() {
            for id in tokens.len()..place(i) {
                tokens.push(format!("<unused{id}>"));
                types.push(UNUSED);
            }
            tokens.push(special);
            types.push(*ty);
        }
        for count in 1..=NEWLINES {
            tokens.push("\n".repeat(count));
        }
        types.resize(tokens.len(), NORMAL);
        for byte in 0..=u8::MAX {
            tokens.push(format!("<0x{byte:02X}>"));
            types.push(BYTE);
        }
        let characters = std::iter::once(SPACE).chain('!'..='~');
        characters.for_each(|character| tokens.push(character.to_string()));
        let words = TextTokens::new(256 + size.saturating_sub(tokens.len()));
        let spelled = |text: &[u8]| String::from_utf8_lossy(text).replace(spelling(b' '), &SPACE.to_string());
        words.tokens.iter().skip(256).for_each(|word| tokens.push(spelled(word)));
        types.resize(size, NORMAL);
        let mut merges = Strings::default();
        merges.push("\n \n");
        words.merges.iter().for_each(|pair| merges.push(spelled(pair)));
        metadata.insert("tokenizer.ggml.model", "gemma4");
        metadata.insert("tokenizer.ggml.tokens", tokens);
        metadata.insert("tokenizer.ggml.token_type", types);
        metadata.insert("tokenizer.ggml.merges", merges);
        for (role, special) in self.roles {
            let id = place(*special as usize) as u32;
            metadata.insert(&format!("tokenizer.ggml.{role}_token_id"), id);
        }
        metadata.insert("tokenizer.ggml.add_bos_token", self.add_bos);
        metadata.insert("tokenizer.ggml.add_space_prefix", false);
    }

    /// Writes the metadata of a SentencePiece tokenizer with `size` tokens: the special ones, all bytes, printable characters, and
    /// as many syllables and words as there is room for.
    fn describe_pieces(&self, begins_with_space: bool, size: usize, metadata: &mut Metadata) {
        let mut tokens = Strings::default();
        let mut types = Vec::new();
        for (special, ty) in self.special {
            tokens.push(special);
            types.push(*ty);
        }
        for byte in 0..=u8::MAX {
            tokens.push(format!("<0x{byte:02X}>"));
            types.push(BYTE);
        }
        let characters = std::iter::once(SPACE).chain('!'..='~');
        characters.for_each(|character| tokens.push(character.to_string()));
        let missing = size.saturating_sub(tokens.len());
        let words = TextTokens::new(256 + missing).tokens;
        let words = words.iter().skip(256).map(String::from_utf8_lossy);
        words.for_each(|word| tokens.push(word.replace(spelling(b' '), &SPACE.to_string())));
        types.resize(size, NORMAL);
        // The earlier a word is, the sooner its parts merge.
        let scores: Vec<f32> = (0..size).map(|id| -(id as f32)).collect();
        metadata.insert("tokenizer.ggml.model", "llama");
        metadata.insert("tokenizer.ggml.tokens", tokens);
        metadata.insert("tokenizer.ggml.token_type", types);
        metadata.insert("tokenizer.ggml.scores", scores);
        for (role, id) in self.roles {
            metadata.insert(&format!("tokenizer.ggml.{role}_token_id"), *id);
        }
        metadata.insert("tokenizer.ggml.add_bos_token", self.add_bos);
        if !begins_with_space {
            metadata.insert("tokenizer.ggml.add_space_prefix", false);
        }
    }
}

/// The tokens of ordinary text, and their merges.
///
/// A syllable is a consonant and a vowel. Merges are ordered so that of two competing ones, the one that forms a token
/// wins: letters become syllables, the first syllable of a word joins the space before it, and the next two join that.
struct TextTokens {
    tokens: Strings,
    merges: Strings,
}

impl TextTokens {
    /// The first `count` tokens.
    fn new(count: usize) -> TextTokens {
        const CONSONANTS: &str = "tnshrdlcmfwgypbvkjxzq";
        const VOWELS: &str = "eaoiu";
        let mut text = TextTokens { tokens: Strings::default(), merges: Strings::default() };
        for byte in (0..=u8::MAX).take(count) {
            text.tokens.push(spelling(byte).to_string());
        }
        let letters =
            VOWELS.chars().flat_map(|v| CONSONANTS.chars().map(move |c| (c.to_string(), v.to_string())));
        let syllables = text.join(count, letters);
        let begun = text.join(count, product(&[spelling(b' ').to_string()], &syllables));
        let two = text.join(count, product(&begun, &syllables));
        text.join(count, product(&syllables, &syllables));
        text.join(count, product(&two, &syllables));
        text
    }

    /// Adds the tokens that the pairs form, up to `count` in all; returns the new ones.
    fn join(&mut self, count: usize, pairs: impl Iterator<Item = (String, String)>) -> Vec<String> {
        let missing = count - self.tokens.len();
        let add = |(left, right): (String, String)| {
            let token = format!("{left}{right}");
            self.merges.push(format!("{left} {right}"));
            self.tokens.push(&token);
            token
        };
        pairs.take(missing).map(add).collect()
    }
}

fn product<'a>(left: &'a [String], right: &'a [String]) -> impl Iterator<Item = (String, String)> + 'a {
    left.iter().flat_map(move |l| right.iter().map(move |r| (l.clone(), r.clone())))
}

/// The character of a byte in byte-level vocabularies (GPT-2's `bytes_to_unicode`): printable Latin-1 characters stand for
/// themselves, the other bytes are numbered from U+0100.
fn spelling(byte: u8) -> char {
    let code = match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae.. => u32::from(byte),
        ..=0x20 => 0x100 + u32::from(byte),
        0x7f..=0xa0 => 0x121 + u32::from(byte - 0x7f),
        0xad => 0x143,
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use weft_text::{ChatTemplate, EncodeOptions, Message, RenderOptions, Tokenizer, TokenizerSpec};

    use super::*;

    impl Family {
        fn pre(&self) -> Option<&'static str> {
            match self.kind {
                Kind::Words { pre, .. } | Kind::WordsAfterSpecial { pre, .. } => Some(pre),
                Kind::MergedPieces { .. } | Kind::Pieces { .. } => None,
            }
        }

        /// The token after the last that stands for text.
        fn first_after_text(&self, size: u32) -> u32 {
            match self.kind {
                Kind::Words { .. } => self.first_special(size),
                Kind::WordsAfterSpecial { .. } | Kind::MergedPieces { .. } | Kind::Pieces { .. } => size,
            }
        }
    }

    fn tokenizer(family: &Family, size: u32) -> Tokenizer {
        let mut metadata = Metadata::new();
        family.describe(size, &mut metadata);
        let text = |key: &str| metadata.require_str(&format!("tokenizer.{key}")).unwrap();
        let list =
            |key: &str| metadata.require_strings(&format!("tokenizer.ggml.{key}")).unwrap().iter().collect();
        let id = |role: &str| metadata.u32(&format!("tokenizer.ggml.{role}_token_id")).unwrap();
        let spec = TokenizerSpec {
            model: text("ggml.model"),
            pre: family.pre().unwrap_or_default(),
            tokens: list("tokens"),
            token_types: metadata.i32s("tokenizer.ggml.token_type").unwrap(),
            merges: metadata.strings("tokenizer.ggml.merges").unwrap().map(|merges| merges.iter().collect()),
            scores: metadata.f32s("tokenizer.ggml.scores").unwrap(),
            bos: id("bos"),
            eos: id("eos"),
            eot: id("eot"),
            eom: id("eom"),
            unk: id("unknown"),
            pad: id("padding"),
            add_bos: metadata.bool("tokenizer.ggml.add_bos_token").unwrap(),
            chat_template: Some(text("chat_template")),
            ..TokenizerSpec::default()
        };
        let tokenizer = Tokenizer::new(&spec).unwrap();
        assert_eq!(tokenizer.vocab_len(), size as usize);
        tokenizer
    }

    const FAMILIES: [(&Family, u32); 23] = [
        (&GLM, 2048),
        (&GLM, 154_880),
        (&DEEPSEEK, 102_400),
        (&LLAMA3, 768),
        (&LLAMA3, 128_256),
        (&QWEN, 1024),
        (&QWEN, 151_936),
        (&QWEN35, 1024),
        (&QWEN35, 248_320),
        (&MISTRAL, 416),
        (&MISTRAL, 32_000),
        (&PHI4, 512),
        (&PHI4, 100_352),
        (&TEKKEN, 512),
        (&TEKKEN, 131_072),
        (&QWEN, 300),
        (&GPT_OSS, 384),
        (&KIMI, 320),
        (&KIMI, 163_840),
        (&LING, 320),
        (&LING, 157_184),
        (&GEMMA4, 379),
        (&GEMMA4, 262_144),
    ];

    #[test]
    fn any_text_round_trips() {
        for (family, size) in FAMILIES {
            let tokenizer = tokenizer(family, size);
            for text in [
                "",
                "The capital of France?\n\tTanapo  tana",
                "naïve 中文 🦀 \u{0}\u{7f}\u{ad}",
                "/nothink <think>",
            ] {
                let ids = tokenizer.encode(text, EncodeOptions::default());
                assert_eq!(tokenizer.decode(&ids, false), text, "{:?} {size}", family.kind);
            }
        }
    }

    /// Every token can be reached: encoding its text gives the token.
    #[test]
    fn every_token_can_be_reached() {
        for (family, size) in FAMILIES {
            let tokenizer = tokenizer(family, size);
            let pieces = matches!(family.kind, Kind::Pieces { .. });
            let first_word = match family.kind {
                Kind::MergedPieces { .. } => 512,
                _ => family.first_word(size) + 128,
            };
            for id in (first_word..family.first_after_text(size)).step_by(97) {
                // SentencePiece puts a space before every text.
                let begins = |id| tokenizer.token_bytes(id).starts_with(b" ");
                if pieces && (id < 259 || !begins(id)) {
                    continue;
                }
                // Bytes beyond ASCII alone are not UTF-8.
                if let Ok(text) = std::str::from_utf8(tokenizer.token_bytes(id)) {
                    let text = if pieces { &text[1..] } else { text };
                    assert_eq!(tokenizer.encode(text, EncodeOptions::default()), [id], "{text:?}");
                }
            }
        }
    }

    #[test]
    fn special_tokens_have_their_real_ids() {
        let glm = tokenizer(&GLM, 154_880);
        let id = |name| glm.find(name).unwrap();
        assert_eq!((id("<|endoftext|>"), id("<|user|>"), id("<|observation|>")), (154_820, 154_827, 154_829));
        assert_eq!(glm.end_of_generation(), [154_820, 154_827, 154_829]);
        assert!(glm.is_control(154_879) && !glm.is_control(id("<think>")));
        let deepseek = tokenizer(&DEEPSEEK, 102_400);
        assert_eq!(deepseek.bos_text(), Some("<｜begin▁of▁sentence｜>"));
        assert_eq!(deepseek.find("<｜begin▁of▁sentence｜>"), Some(100_000));
        assert_eq!(deepseek.find("<｜end▁of▁sentence｜>"), Some(100_001));
        let qwen = tokenizer(&QWEN, 151_936);
        assert_eq!((qwen.find("<|im_start|>"), qwen.find("</think>")), (Some(151_644), Some(151_668)));
        assert_eq!(qwen.end_of_generation(), [151_643, 151_644, 151_645, 151_662, 151_663, 151_664]);
        let qwen = tokenizer(&QWEN35, 248_320);
        assert_eq!((qwen.find("<|endoftext|>"), qwen.find("<|image_pad|>")), (Some(248_044), Some(248_056)));
        assert_eq!((qwen.find("<|im_end|>"), qwen.find("</think>")), (Some(248_046), Some(248_069)));
        let kimi = tokenizer(&KIMI, 163_840);
        assert_eq!((kimi.find("<|im_end|>"), kimi.find("<|im_middle|>")), (Some(163_586), Some(163_601)));
        assert_eq!(tokenizer(&KIMI, 320).find("<|im_end|>"), Some(304));
        let ling = tokenizer(&LING, 157_184);
        assert_eq!((ling.find("<|startoftext|>"), ling.find("<|role_end|>")), (Some(156_891), Some(156_895)));
        let llama = tokenizer(&LLAMA3, 128_256);
        assert_eq!(
            (llama.find("<|begin_of_text|>"), llama.find("<|eot_id|>")),
            (Some(128_000), Some(128_009))
        );
    }

    fn chat(family: &Family, size: u32) -> (String, Vec<u32>) {
        let tokenizer = tokenizer(family, size);
        let messages = [("system", "Be brief."), ("user", "hi"), ("assistant", "ho"), ("user", "hm")];
        let messages = messages.map(|(role, text)| Message::new(role, text));
        let template = ChatTemplate::of(&tokenizer).unwrap();
        let options = RenderOptions { add_generation_prompt: true, ..RenderOptions::default() };
        let prompt = template.render(&messages, &options).unwrap();
        let ids = tokenizer.encode_chat(&prompt);
        (prompt.into_text(), ids)
    }

    #[test]
    fn chat_templates_match_their_families() {
        let (prompt, ids) = chat(&GLM, 154_880);
        let expected =
            "[gMASK]<sop><|system|>\nBe brief.<|user|>\nhi<|assistant|>\nho<|user|>\nhm<|assistant|>\n";
        assert_eq!(prompt, expected);
        assert_eq!(ids[..4], [154_822, 154_824, 154_826, 10]);
        let (prompt, ids) = chat(&DEEPSEEK, 102_400);
        let expected = "<｜begin▁of▁sentence｜>Be brief.\n\nUser: hi\n\nAssistant: ho<｜end▁of▁sentence｜>User: hm\n\nAssistant:";
        assert_eq!(prompt, expected);
        assert_eq!(ids.iter().filter(|id| **id == 100_000).count(), 1);
        let (prompt, ids) = chat(&QWEN, 151_936);
        let turn = |role: &str, text: &str| format!("<|im_start|>{role}\n{text}<|im_end|>\n");
        let turns = [("system", "Be brief."), ("user", "hi"), ("assistant", "ho"), ("user", "hm")];
        let turns: String = turns.iter().map(|(role, text)| turn(role, text)).collect();
        assert_eq!(prompt, turns + "<|im_start|>assistant\n");
        assert_eq!(ids[0], 151_644);
        let (prompt, ids) = chat(&LLAMA3, 128_256);
        assert!(
            prompt.ends_with("hm<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"),
            "{prompt}"
        );
        assert_eq!((ids[0], ids[1]), (128_000, 128_006));
        let (prompt, ids) = chat(&MISTRAL, 32_000);
        assert_eq!(prompt, "<s>Be brief.\n\n[INST] hi [/INST] ho</s>[INST] hm [/INST]");
        assert_eq!((ids[0], ids.iter().filter(|id| **id == 2).count()), (1, 1));
        let (prompt, ids) = chat(&TEKKEN, 131_072);
        assert_eq!(prompt, "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]hi[/INST]ho</s>[INST]hm[/INST]");
        assert_eq!((ids[..2].to_vec(), ids[ids.len() - 1]), (vec![1, 17], 4));
        let (prompt, ids) = chat(&KIMI, 163_840);
        assert_eq!(
            prompt,
            "<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|>hi<|im_end|>\
             <|im_assistant|>assistant<|im_middle|>ho<|im_end|><|im_user|>user<|im_middle|>hm<|im_end|>\
             <|im_assistant|>assistant<|im_middle|>"
        );
        assert_eq!((ids[0], ids[ids.len() - 1]), (163_594, 163_601));
        let (prompt, ids) = chat(&LING, 157_184);
        assert_eq!(
            prompt,
            "<role>SYSTEM</role>Be brief.<|role_end|><role>HUMAN</role>hi<|role_end|>\
             <role>ASSISTANT</role>ho<|role_end|><role>HUMAN</role>hm<|role_end|><role>ASSISTANT</role>"
        );
        assert_eq!(ids.iter().filter(|id| **id == 156_895).count(), 4);
        let (prompt, ids) = chat(&PHI4, 100_352);
        let turn = |(role, text): (&str, &str)| format!("<|im_start|>{role}<|im_sep|>{text}<|im_end|>");
        let turns = [("system", "Be brief."), ("user", "hi"), ("assistant", "ho"), ("user", "hm")];
        let turns: String = turns.map(turn).concat();
        assert_eq!(prompt, turns + "<|im_start|>assistant<|im_sep|>");
        assert_eq!((ids[0], ids[ids.len() - 1]), (100_264, 100_266));
    }
}
