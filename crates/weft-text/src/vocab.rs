//! The vocabulary: its description in a model file, and the table of tokens built from it.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};

use crate::byte_level;
use crate::end_of_generation;
use crate::error::TokenizerError;
use crate::piece_spelling;
use crate::pre;

/// A tokenizer as a model file describes it: the values of the `tokenizer.ggml.*` keys, borrowed from the file.
#[derive(Clone, Debug, Default)]
pub struct TokenizerSpec<'a> {
    /// `model`: the algorithm, `"gpt2"` for byte-level BPE, `"llama"` for SentencePiece's BPE, or `"gemma4"` for BPE by a list of merges
    /// with SentencePiece's spelling.
    pub model: &'a str,
    /// `pre`: the name of the pre-tokenizer, for byte-level BPE. For files without one, llama.cpp uses `"default"`.
    pub pre: &'a str,
    /// `tokens`: the spelling of each token, by id.
    pub tokens: Vec<&'a [u8]>,
    /// `token_type`: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. Without it, the special tokens
    /// below and the well-known ends of a reply are control tokens, and all others are normal.
    pub token_types: Option<Vec<i32>>,
    /// `merges`: pairs of spellings that merge, best first. Required for byte-level BPE except for rank-ordered vocabularies
    /// (`kimi-k2`), which ignore it.
    pub merges: Option<Vec<&'a [u8]>>,
    /// `scores`: the score of each token; pairs merge into the one with the highest. Required for SentencePiece.
    pub scores: Option<Vec<f32>>,
    /// `add_space_prefix`: whether SentencePiece puts a space before text that begins or follows a special token. Defaults to
    /// yes.
    pub add_space_prefix: Option<bool>,
    /// Whether SentencePiece drops white space after special tokens, as Phi-3's tokenizer does. Files do not say.
    pub strip_after_special: bool,
    /// `bos_token_id`: the beginning of a text.
    pub bos: Option<u32>,
    /// `eos_token_id`: the end of a text.
    pub eos: Option<u32>,
    /// `eot_token_id`: the end of a turn.
    pub eot: Option<u32>,
    /// `eom_token_id`: the end of a message that waits for a tool.
    pub eom: Option<u32>,
    /// `unknown_token_id`: replaces bytes that the vocabulary cannot spell.
    pub unk: Option<u32>,
    /// `padding_token_id`.
    pub pad: Option<u32>,
    /// `add_bos_token`. The default depends on the pre-tokenizer.
    pub add_bos: Option<bool>,
    /// `add_eos_token`. Defaults to no.
    pub add_eos: Option<bool>,
    /// `suppress_tokens`: tokens that no reply may contain. Those outside the vocabulary mean nothing.
    pub suppressed: Vec<i32>,
    /// Whether a word that is itself a token becomes that token without merging. The default depends on the
    /// pre-tokenizer.
    pub ignore_merges: Option<bool>,
    /// `tokenizer.chat_template`: Jinja source.
    pub chat_template: Option<&'a str>,
    /// `tokenizer.chat_template.tool_use`: Jinja source for conversations with tools.
    pub tool_template: Option<&'a str>,
}

impl TokenizerSpec<'_> {
    /// Whether tokens are SentencePiece's.
    pub(crate) fn is_pieces(&self) -> bool {
        self.model == "llama"
    }

    /// Whether tokens are spelled as SentencePiece spells them.
    pub(crate) fn is_spelled_as_pieces(&self) -> bool {
        self.is_pieces() || self.model == pre::GEMMA4.names[0]
    }

    /// The function that appends the bytes of a normal token's spelling.
    pub(crate) fn push_bytes(&self) -> fn(&str, &mut Vec<u8>) {
        if self.is_spelled_as_pieces() { piece_spelling::push_bytes } else { byte_level::push_bytes }
    }

    /// The special tokens that the file names, each with its role.
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

    /// The suppressed tokens of the vocabulary, in ascending order.
    pub(crate) fn suppressed(&self) -> Vec<u32> {
        let ids = self.suppressed.iter().filter_map(|id| u32::try_from(*id).ok());
        let known: BTreeSet<u32> = ids.filter(|id| (*id as usize) < self.tokens.len()).collect();
        known.into_iter().collect()
    }

    /// The kind of a token, whose id must be less than the number of tokens and of types. `turn_markers` end a reply too.
    pub(crate) fn kind(&self, id: u32, turn_markers: &[&str]) -> Result<TokenKind, TokenizerError> {
        let at = id as usize;
        let kind = match &self.token_types {
            Some(types) => TokenKind::from_gguf(id, types[at])?,
            None if self.roles().any(|(_, role)| role == id) => TokenKind::Control,
            None => TokenKind::Normal,
        };
        // Some files do not mark the tokens that end a reply as control tokens: they would show up as text, and text
        // of a user would become them.
        let may_be_named = self.token_types.is_none() || kind == TokenKind::UserDefined;
        let is_end = may_be_named && self.is_named_end(self.tokens[at], turn_markers);
        Ok(if is_end { TokenKind::Control } else { kind })
    }

    /// Checks that each token has a type, if there are types.
    pub(crate) fn check_types(&self) -> Result<(), TokenizerError> {
        match &self.token_types {
            Some(types) if types.len() != self.tokens.len() => {
                Err(TokenizerError::TypeCount { expected: self.tokens.len(), found: types.len() })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a token of this name ends a reply. `turn_markers` are those of the tokenizer's family.
    fn is_named_end(&self, name: &[u8], turn_markers: &[&str]) -> bool {
        end_of_generation::is_known(name)
            || turn_markers.iter().any(|marker| marker.as_bytes() == name)
            || self.chat_template.is_some_and(|template| end_of_generation::begins_turn(name, template))
    }
}

/// The type of a token.
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

/// The bytes and kind of every token, and an index from bytes to *text tokens*: the normal and user-defined tokens,
/// which text is encoded as.
///
/// All bytes share one buffer and the index holds only ids: 12 bytes per token besides its text.
pub(crate) struct Vocab {
    bytes: Vec<u8>,
    /// Where the bytes of each token end and those of the next begin.
    end_offsets: Vec<u32>,
    kinds: Vec<TokenKind>,
    /// A hash table of ids with linear probing, at most half full. The hash is keyed with a random secret, so a file
    /// cannot choose tokens that collide.
    slots: Vec<u32>,
    hasher: RandomState,
    /// The length of the longest token, in bytes.
    longest: usize,
}

const EMPTY: u32 = u32::MAX;

impl Vocab {
    /// Decodes the spellings of `spec` and indexes the tokens. `turn_markers` end a reply too.
    pub(crate) fn new(spec: &TokenizerSpec<'_>, turn_markers: &[&str]) -> Result<Vocab, TokenizerError> {
        let push_bytes = spec.push_bytes();
        let tokens = spec.tokens.len();
        let bytes = spec.tokens.iter().map(|token| token.len()).sum();
        let count = u32::try_from(tokens).ok().filter(|&count| (1..EMPTY / 4).contains(&count));
        let (Some(count), Ok(_)) = (count, u32::try_from(bytes)) else {
            return Err(TokenizerError::Size { tokens, bytes });
        };
        spec.check_types()?;

        let mut vocab = Vocab {
            bytes: Vec::with_capacity(bytes),
            end_offsets: Vec::with_capacity(tokens),
            kinds: Vec::with_capacity(tokens),
            slots: vec![EMPTY; (2 * tokens).next_power_of_two()],
            hasher: RandomState::new(),
            longest: 0,
        };
        for (id, token) in (0..count).zip(&spec.tokens) {
            let kind = spec.kind(id, turn_markers)?;
            vocab.push(id, kind, utf8("tokens", id as usize, token)?, push_bytes)?;
        }
        // Normal tokens first: they win over user-defined tokens with the same bytes. Of normal ones, those in the alphabet of bytes
        // win, since merges make no others: command-r also has characters as they are.
        let is_literal = |id: u32| {
            let token = std::str::from_utf8(spec.tokens[id as usize]).unwrap_or_default();
            !spec.is_spelled_as_pieces() && !byte_level::is_spelling(token)
        };
        let passes = [(TokenKind::Normal, false), (TokenKind::Normal, true), (TokenKind::UserDefined, true)];
        for (wanted, literal) in passes {
            for id in 0..count {
                if vocab.kind(id) == wanted && (literal || !is_literal(id)) {
                    vocab.index(id);
                }
            }
        }
        Ok(vocab)
    }

    /// Adds a token. `push_bytes` appends the bytes of a normal one's spelling, which are no more than those of the spelling.
    fn push(
        &mut self,
        id: u32,
        kind: TokenKind,
        spelling: &str,
        push_bytes: fn(&str, &mut Vec<u8>),
    ) -> Result<(), TokenizerError> {
        match kind {
            TokenKind::Normal => push_bytes(spelling, &mut self.bytes),
            TokenKind::Byte => match parse_byte(spelling) {
                Some(byte) => self.bytes.push(byte),
                None => return Err(TokenizerError::ByteToken { id, found: spelling.to_owned() }),
            },
            TokenKind::Unknown | TokenKind::Control | TokenKind::UserDefined | TokenKind::Unused => {
                self.bytes.extend_from_slice(spelling.as_bytes());
            }
        }
        // Fits in 32 bits: no token is longer than its spelling, and `new` has checked the total.
        let start = self.end_offsets.last().copied().unwrap_or(0);
        self.end_offsets.push(self.bytes.len() as u32);
        self.kinds.push(kind);
        self.longest = self.longest.max(self.bytes.len() - start as usize);
        Ok(())
    }

    /// Adds `id` to the index, unless it has no bytes or another token with the same bytes is there already.
    fn index(&mut self, id: u32) {
        let bytes = self.bytes(id);
        if !bytes.is_empty() {
            let slot = self.slot(bytes);
            if self.slots[slot] == EMPTY {
                self.slots[slot] = id;
            }
        }
    }

    /// The slot that holds the text token `bytes`, or the empty slot where it belongs.
    fn slot(&self, bytes: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hasher.hash_one(bytes) as usize & mask;
        while self.slots[slot] != EMPTY && self.bytes(self.slots[slot]) != bytes {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The text token with exactly these bytes. If there are several, normal tokens come before user-defined ones, then those that are
    /// spelled byte by byte before others, then the lowest id wins.
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

    /// The tokens that end a reply, in ascending order: the `eos`, `eot` and `eom` tokens of `spec`, those with a
    /// well-known name, those that begin another speaker's turn in its chat template, and `turn_markers`. Normal tokens
    /// never count, whatever their name.
    pub(crate) fn end_of_generation(&self, spec: &TokenizerSpec<'_>, turn_markers: &[&str]) -> Vec<u32> {
        let mut ends: Vec<u32> = [spec.eos, spec.eot, spec.eom].into_iter().flatten().collect();
        let named = (0..).zip(&spec.tokens).filter(|(id, token)| {
            self.kind(*id) != TokenKind::Normal && spec.is_named_end(token, turn_markers)
        });
        ends.extend(named.map(|(id, _)| id));
        ends.sort_unstable();
        ends.dedup();
        let name = |id: &u32| spec.tokens.get(*id as usize).copied().unwrap_or_default();
        let names: Vec<&[u8]> = ends.iter().map(name).collect();
        ends.retain(|id| !end_of_generation::ends_messages_only(name(id), &names));
        ends
    }
}

/// Parses `<0xAB>`.
fn parse_byte(spelling: &str) -> Option<u8> {
    let digits = spelling.strip_prefix("<0x")?.strip_suffix('>')?;
    // `from_str_radix` would accept a sign.
    (digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .then(|| u8::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Returns entry `index` of `list` as text.
pub(crate) fn utf8<'a>(list: &'static str, index: usize, entry: &'a [u8]) -> Result<&'a str, TokenizerError> {
    std::str::from_utf8(entry).map_err(|_| TokenizerError::Utf8 {
        list,
        index,
        found: String::from_utf8_lossy(entry).into_owned(),
    })
}
