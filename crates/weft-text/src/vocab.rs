//! The vocabulary: what the engine hands over, and the table of tokens made of it.

use std::hash::{BuildHasher as _, RandomState};

use crate::byte_level;
use crate::end_of_generation;
use crate::error::TokenizerError;

/// A tokenizer as a model file describes it: the values of the `tokenizer.ggml.*` keys, borrowed from the file.
#[derive(Clone, Debug, Default)]
pub struct TokenizerSpec<'a> {
    /// `model`: the algorithm. Only `"gpt2"`, byte-level BPE, is supported.
    pub model: &'a str,
    /// `pre`: the name of the pre-tokenizer. Where a file has none, `"default"` is what llama.cpp takes.
    pub pre: &'a str,
    /// `tokens`: the spelling of each token, by id.
    pub tokens: Vec<&'a [u8]>,
    /// `token_type`: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. Without it every token is normal
    /// but those named below and the well-known ends of a reply, which are control.
    pub token_types: Option<Vec<i32>>,
    /// `merges`: pairs of spellings that merge, best first. Only rank-ordered vocabularies (`kimi-k2`) do without, and
    /// ignore it.
    pub merges: Option<Vec<&'a [u8]>>,
    /// `bos_token_id`: begins a text.
    pub bos: Option<u32>,
    /// `eos_token_id`: ends a text.
    pub eos: Option<u32>,
    /// `eot_token_id`: ends a turn.
    pub eot: Option<u32>,
    /// `eom_token_id`: ends a message that waits for a tool.
    pub eom: Option<u32>,
    /// `unknown_token_id`: stands for a byte that the vocabulary cannot spell.
    pub unk: Option<u32>,
    /// `padding_token_id`.
    pub pad: Option<u32>,
    /// `add_bos_token`; by default the pre-tokenizer decides.
    pub add_bos: Option<bool>,
    /// `add_eos_token`; by default no.
    pub add_eos: Option<bool>,
    /// Whether a word that is a token is taken whole, without merging; by default the pre-tokenizer decides.
    pub ignore_merges: Option<bool>,
    /// `tokenizer.chat_template`: Jinja source.
    pub chat_template: Option<&'a str>,
}

impl TokenizerSpec<'_> {
    /// The special tokens that have an id, with the name of their role.
    pub(crate) fn roles(&self) -> impl Iterator<Item = (&'static str, u32)> {
        [
            ("bos", self.bos),
            ("eos", self.eos),
            ("eot", self.eot),
            ("eom", self.eom),
            ("unk", self.unk),
            ("pad", self.pad),
        ]
        .into_iter()
        .filter_map(|(role, id)| Some((role, id?)))
    }
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

impl TokenKind {
    fn from_gguf(id: u32, code: i32) -> Result<TokenKind, TokenizerError> {
        Ok(match code {
            1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            5 => TokenKind::Unused,
            6 => TokenKind::Byte,
            found => return Err(TokenizerError::Type { id, found }),
        })
    }
}

/// The bytes and the kind of every token, and the way from bytes to the tokens that text is made of.
///
/// All bytes lie in one buffer and the index holds ids only: 12 bytes a token beside its text.
pub(crate) struct Vocab {
    bytes: Vec<u8>,
    /// Where the bytes of each token end; they begin where those of the one before end.
    end_offsets: Vec<u32>,
    kinds: Vec<TokenKind>,
    /// Open addressing with linear probing over the ids of text tokens, at most half full. Keyed by a secret: a file
    /// cannot choose its tokens to collide.
    slots: Vec<u32>,
    hasher: RandomState,
    /// The length of the longest token in bytes.
    longest: usize,
}

const EMPTY: u32 = u32::MAX;

impl Vocab {
    /// Decodes the spellings of `spec` and indexes the tokens.
    pub(crate) fn new(spec: &TokenizerSpec<'_>) -> Result<Vocab, TokenizerError> {
        let tokens = spec.tokens.len();
        let bytes = spec.tokens.iter().map(|token| token.len()).sum();
        let count = u32::try_from(tokens).ok().filter(|&count| (1..EMPTY / 4).contains(&count));
        let (Some(count), Ok(_)) = (count, u32::try_from(bytes)) else {
            return Err(TokenizerError::Size { tokens, bytes });
        };
        if let Some(types) = &spec.token_types
            && types.len() != tokens
        {
            return Err(TokenizerError::TypeCount { expected: tokens, found: types.len() });
        }

        let mut vocab = Vocab {
            bytes: Vec::with_capacity(bytes),
            end_offsets: Vec::with_capacity(tokens),
            kinds: Vec::with_capacity(tokens),
            slots: vec![EMPTY; (2 * tokens).next_power_of_two()],
            hasher: RandomState::new(),
            longest: 0,
        };
        for (id, token) in (0..count).zip(&spec.tokens) {
            let kind = match &spec.token_types {
                Some(types) => TokenKind::from_gguf(id, types[id as usize])?,
                None if spec.roles().any(|(_, role)| role == id) => TokenKind::Control,
                None => TokenKind::Normal,
            };
            // Some files do not mark the ends of a reply as control tokens, and they would show as text.
            let may_be_named = spec.token_types.is_none() || kind == TokenKind::UserDefined;
            let kind =
                if may_be_named && end_of_generation::is_known(token) { TokenKind::Control } else { kind };
            vocab.push(id, kind, utf8("tokens", id as usize, token)?)?;
        }
        // Normal tokens first: where a user-defined token has the same bytes, text is made of the normal one.
        for wanted in [TokenKind::Normal, TokenKind::UserDefined] {
            for id in 0..count {
                if vocab.kind(id) == wanted {
                    vocab.index(id);
                }
            }
        }
        Ok(vocab)
    }

    fn push(&mut self, id: u32, kind: TokenKind, spelling: &str) -> Result<(), TokenizerError> {
        match kind {
            TokenKind::Normal => byte_level::push_bytes(spelling, &mut self.bytes),
            TokenKind::Byte => match parse_byte(spelling) {
                Some(byte) => self.bytes.push(byte),
                None => return Err(TokenizerError::ByteToken { id, found: spelling.to_owned() }),
            },
            TokenKind::Unknown | TokenKind::Control | TokenKind::UserDefined | TokenKind::Unused => {
                self.bytes.extend_from_slice(spelling.as_bytes());
            }
        }
        // No token has more bytes than its spelling, and those were counted above.
        let start = self.end_offsets.last().copied().unwrap_or(0);
        self.end_offsets.push(self.bytes.len() as u32);
        self.kinds.push(kind);
        self.longest = self.longest.max(self.bytes.len() - start as usize);
        Ok(())
    }

    /// Makes `id` the text token of its bytes, unless they have one already or there are none.
    fn index(&mut self, id: u32) {
        let bytes = self.bytes(id);
        if !bytes.is_empty() {
            let slot = self.slot(bytes);
            if self.slots[slot] == EMPTY {
                self.slots[slot] = id;
            }
        }
    }

    /// The slot that holds the text token `bytes`, or the empty one where it would be.
    fn slot(&self, bytes: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hasher.hash_one(bytes) as usize & mask;
        while self.slots[slot] != EMPTY && self.bytes(self.slots[slot]) != bytes {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The normal or user-defined token with exactly these bytes; the one with the lowest id, normal before
    /// user-defined, where there are several.
    pub(crate) fn find_text(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        let id = self.slots[self.slot(bytes)];
        (id != EMPTY).then_some(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.end_offsets.len()
    }

    /// The bytes of a token. The id must be less than [`len`](Vocab::len).
    pub(crate) fn bytes(&self, id: u32) -> &[u8] {
        let start = match id.checked_sub(1) {
            Some(before) => self.end_offsets[before as usize],
            None => 0,
        };
        &self.bytes[start as usize..self.end_offsets[id as usize] as usize]
    }

    /// The kind of a token. The id must be less than [`len`](Vocab::len).
    pub(crate) fn kind(&self, id: u32) -> TokenKind {
        self.kinds[id as usize]
    }
}

/// `<0xAB>` → 0xAB.
fn parse_byte(spelling: &str) -> Option<u8> {
    let digits = spelling.strip_prefix("<0x")?.strip_suffix('>')?;
    // `from_str_radix` takes a sign, so "+A" has to be refused here.
    (digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .then(|| u8::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Entry `index` of `list` as text.
pub(crate) fn utf8<'a>(list: &'static str, index: usize, entry: &'a [u8]) -> Result<&'a str, TokenizerError> {
    std::str::from_utf8(entry).map_err(|_| TokenizerError::Utf8 {
        list,
        index,
        found: String::from_utf8_lossy(entry).into_owned(),
    })
}
