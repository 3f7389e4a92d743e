//! The tokenizer: text to ids and back.

mod fewest;

use crate::bpe::{MergeList, Merges, WordEncoder};
use crate::error::TokenizerError;
use crate::piece_spelling::SPACE;
use crate::pieces::{PieceEncoder, Pieces};
use crate::pre::{self, PreTokenizer};
use crate::prompt::RenderedPrompt;
use crate::special::{Controls, Segment, SpecialTokens};
use crate::vocab::{TokenKind, TokenizerSpec, Vocab};

/// How [`Tokenizer::encode`] treats special tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Encodes the names of control tokens as these tokens. Set it for text from a template or program, never for text
    /// from a user, who could end the turn by writing `<|im_end|>`.
    pub parse_special: bool,
    /// Adds the BOS token before the text and the EOS token after it, if the model wants them.
    pub add_special: bool,
}

/// A BPE or SentencePiece tokenizer.
///
/// Methods accept any id, since a model's output can have more rows than its vocabulary has tokens. A token outside the
/// vocabulary has no text, is not a control token and does not end a reply.
pub struct Tokenizer {
    vocab: Vocab,
    special: SpecialTokens,
    algorithm: Algorithm,
    byte_tokens: [Option<u32>; 256],
    bos: Option<u32>,
    eos: Option<u32>,
    add_bos: bool,
    add_eos: bool,
    ends: Vec<u32>,
    suppressed: Vec<u32>,
    chat_template: Option<String>,
    tool_template: Option<String>,
}

/// How text without special tokens becomes tokens.
enum Algorithm {
    /// BPE within words, which start as their bytes or `by_character`.
    Words { pre: PreTokenizer, merges: Merges, ignore_merges: bool, by_character: bool },
    /// SentencePiece's BPE. Characters without tokens become `unk`.
    Pieces { pieces: Pieces, unk: Option<u32> },
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("tokens", &self.vocab.len()).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Builds a tokenizer from its description in a model file.
    ///
    /// If several tokens have the same bytes, text is encoded as the one with the lowest id, of those in the alphabet of bytes if there
    /// are any. Merges of control tokens, or of tokens outside the vocabulary, can never apply and are ignored.
    ///
    /// # Errors
    /// If the tokenizer or pre-tokenizer is unknown, or the lists do not match each other; see [`TokenizerError`].
    pub fn new(spec: &TokenizerSpec<'_>) -> Result<Tokenizer, TokenizerError> {
        if spec.is_pieces() {
            return Tokenizer::of_pieces(spec);
        }
        let family = pre::of_model(spec.model, spec.pre)?;
        let vocab = Vocab::new(spec, family.turn_markers)?;
        check_roles(spec, &vocab)?;
        let merges = match &spec.merges {
            _ if family.merge_by_token_id => Merges::ByTokenId,
            Some(pairs) => Merges::Listed(MergeList::new(pairs, &vocab, spec.push_bytes())?),
            None => return Err(TokenizerError::NoMerges { pre: spec.pre.to_owned() }),
        };
        let ends = vocab.end_of_generation(spec, family.turn_markers);
        Ok(Tokenizer {
            special: SpecialTokens::new(&vocab),
            algorithm: Algorithm::Words {
                pre: PreTokenizer::new(family),
                merges,
                ignore_merges: spec.ignore_merges.unwrap_or(family.ignore_merges),
                by_character: family.by_character,
            },
            byte_tokens: byte_tokens(&vocab, spec.unk.filter(|unk| !ends.contains(unk))),
            bos: spec.bos,
            eos: spec.eos,
            add_bos: spec.add_bos.unwrap_or(family.add_bos),
            add_eos: spec.add_eos.unwrap_or(false),
            ends,
            suppressed: spec.suppressed(),
            chat_template: spec.chat_template.or(spec.tool_template).map(str::to_owned),
            tool_template: spec.tool_template.map(str::to_owned),
            vocab,
        })
    }

    /// A tokenizer of SentencePiece. As in llama.cpp, files that name no unknown, BOS and EOS token mean the first three.
    fn of_pieces(spec: &TokenizerSpec<'_>) -> Result<Tokenizer, TokenizerError> {
        let default = |id: u32| (spec.tokens.len() > id as usize).then_some(id);
        let spec = &TokenizerSpec {
            unk: spec.unk.or(default(0)),
            bos: spec.bos.or(default(1)),
            eos: spec.eos.or(default(2)),
            ..spec.clone()
        };
        let vocab = Vocab::new(spec, &[])?;
        check_roles(spec, &vocab)?;
        let pieces = Pieces::new(spec)?;
        let ends = vocab.end_of_generation(spec, &[]);
        Ok(Tokenizer {
            special: SpecialTokens::new(&vocab),
            algorithm: Algorithm::Pieces { pieces, unk: spec.unk.filter(|unk| !ends.contains(unk)) },
            byte_tokens: byte_tokens(&vocab, None),
            bos: spec.bos,
            eos: spec.eos,
            add_bos: spec.add_bos.unwrap_or(true),
            add_eos: spec.add_eos.unwrap_or(false),
            ends,
            suppressed: spec.suppressed(),
            chat_template: spec.chat_template.or(spec.tool_template).map(str::to_owned),
            tool_template: spec.tool_template.map(str::to_owned),
            vocab,
        })
    }

    /// Encodes `text` as token ids.
    ///
    /// A byte that the vocabulary cannot spell becomes its byte token (`<0xAB>`). Without one it becomes the unknown
    /// token, unless that ends a reply; without that it is dropped.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Vec<u32> {
        let bos = self.added_bos().filter(|_| options.add_special);
        let eos = self.eos.filter(|_| options.add_special && self.add_eos);
        let controls = if options.parse_special { Controls::Everywhere } else { Controls::Nowhere };
        self.encode_between(bos, text, controls, eos)
    }

    /// Encodes a prompt that a [`ChatTemplate`](crate::ChatTemplate) has written. Control tokens are parsed only where the
    /// template wrote them: `<|user|>` in a message is text. As in llama.cpp, user-defined tokens such as `<think>` are
    /// parsed everywhere. The BOS token is added if the model wants one and the template has not written it already.
    pub fn encode_chat(&self, prompt: &RenderedPrompt) -> Vec<u32> {
        let (text, data) = (prompt.text(), prompt.data());
        let has = |id| {
            let bos = self.vocab.bytes(id);
            text.as_bytes().starts_with(bos) && data.first().is_none_or(|&end| end > bos.len())
        };
        let bos = self.bos.filter(|&id| self.add_bos && !has(id));
        self.encode_between(bos, text, Controls::Outside(data), None)
    }

    fn encode_between(
        &self,
        before: Option<u32>,
        text: &str,
        controls: Controls<'_>,
        after: Option<u32>,
    ) -> Vec<u32> {
        // Most languages take more than three bytes per token.
        let mut ids = Vec::with_capacity(text.len() / 3 + 2);
        ids.extend(before);
        match &self.algorithm {
            Algorithm::Words { pre, merges, by_character: true, .. } => {
                let mut words = WordEncoder::new(&self.vocab, merges, &self.byte_tokens);
                let mut prepared = String::new();
                self.special.split(&self.vocab, text, controls, |segment| match segment {
                    Segment::Token(id) => ids.push(id),
                    Segment::Text(text) => {
                        prepared.clear();
                        prepared.extend(text.chars().map(|c| if c == SPACE { ' ' } else { c }));
                        pre.split(&prepared, &mut |word| {
                            // As in llama.cpp: no merges make tokens of several newlines.
                            let lines = word.starts_with('\n').then(|| self.vocab.find_text(word.as_bytes()));
                            match lines.flatten() {
                                Some(id) => ids.push(id),
                                None => words.encode_characters(word, &mut ids),
                            }
                        });
                    }
                });
            }
            Algorithm::Words { pre, merges, ignore_merges, .. } => {
                let mut words = WordEncoder::new(&self.vocab, merges, &self.byte_tokens);
                self.special.split(&self.vocab, text, controls, |segment| match segment {
                    Segment::Token(id) => ids.push(id),
                    Segment::Text(text) => pre.split(text, &mut |word| {
                        let whole = ignore_merges.then(|| self.vocab.find_text(word.as_bytes())).flatten();
                        match whole {
                            Some(id) => ids.push(id),
                            None => words.encode(word.as_bytes(), &mut ids),
                        }
                    }),
                });
            }
            Algorithm::Pieces { pieces, unk } => {
                let mut encoder = PieceEncoder::new(&self.vocab, pieces, &self.byte_tokens, *unk);
                let (mut last, mut prepared) = (None, String::new());
                self.special.split(&self.vocab, text, controls, |segment| match segment {
                    Segment::Token(id) => {
                        ids.push(id);
                        last = Some(self.vocab.bytes(id));
                    }
                    // It begins the text or follows a special token.
                    Segment::Text(text) => {
                        pieces.prepare(text, last, &mut prepared);
                        encoder.encode(&prepared, &mut ids);
                    }
                });
            }
        }
        ids.extend(after);
        ids
    }

    /// Returns the bytes of a token. They can end in the middle of a character; see
    /// [`StreamDecoder`](crate::StreamDecoder).
    pub fn token_bytes(&self, id: u32) -> &[u8] {
        if self.contains(id) { self.vocab.bytes(id) } else { &[] }
    }

    /// Decodes `ids` to text, with U+FFFD for bytes that are not UTF-8. `skip_special` leaves out control tokens. The space that
    /// SentencePiece puts before a text is left out too.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> String {
        let shown = ids.iter().filter(|&&id| !(skip_special && self.is_control(id)));
        let bytes: Vec<u8> = shown.flat_map(|&id| self.token_bytes(id)).copied().collect();
        let begins = ids.iter().find(|id| !skip_special || !self.is_control(**id));
        let bytes = match &self.algorithm {
            Algorithm::Pieces { pieces, .. } if begins.is_some_and(|id| !self.is_control(*id)) => {
                pieces.without_prefix(&bytes)
            }
            _ => &bytes,
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Returns whether a token is markup that a reader should not see: control, unknown or unused.
    pub fn is_control(&self, id: u32) -> bool {
        self.contains(id)
            && matches!(self.vocab.kind(id), TokenKind::Control | TokenKind::Unknown | TokenKind::Unused)
    }

    /// Returns whether a token ends the model's reply. These are the file's EOS, EOT and EOM tokens, control and
    /// user-defined tokens with a well-known name (`<|im_end|>`, `<|eot_id|>`, …), and those that begin another speaker's
    /// turn in the file's chat template (GLM's `<|user|>` and `<|observation|>`, which GLM files need no template for).
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }

    /// All ids for which [`is_end_of_generation`](Tokenizer::is_end_of_generation) is true, in ascending order.
    pub fn end_of_generation(&self) -> &[u32] {
        &self.ends
    }

    /// The tokens that the file forbids in replies, in ascending order: those that stand for images and sounds, say.
    pub fn suppressed(&self) -> &[u32] {
        &self.suppressed
    }

    /// The texts of all control tokens.
    pub(crate) fn control_texts(&self) -> impl Iterator<Item = &str> {
        let texts = self.special.controls(&self.vocab).map(|id| std::str::from_utf8(self.vocab.bytes(id)));
        texts.filter_map(Result::ok)
    }

    /// The number of tokens in the vocabulary.
    pub fn vocab_len(&self) -> usize {
        self.vocab.len()
    }

    /// Returns the token whose text is exactly `text`. Special tokens come first.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.special.find(&self.vocab, text.as_bytes()).or_else(|| self.vocab.find_text(text.as_bytes()))
    }

    /// The BOS token, if the file names one and wants texts to begin with it.
    pub fn added_bos(&self) -> Option<u32> {
        self.bos.filter(|_| self.add_bos)
    }

    /// The text of the BOS token, for a chat template, or `None` if the file names none.
    pub fn bos_text(&self) -> Option<&str> {
        self.bos.and_then(|id| std::str::from_utf8(self.vocab.bytes(id)).ok())
    }

    /// The text of the EOS token, for a chat template, or `None` if the file names none.
    pub fn eos_text(&self) -> Option<&str> {
        self.eos.and_then(|id| std::str::from_utf8(self.vocab.bytes(id)).ok())
    }

    /// The Jinja source of the file's chat template, or `None` if it has none. If its only template is the one for tools,
    /// that is used for all conversations. See [`ChatTemplate::of`](crate::ChatTemplate::of).
    pub fn chat_template(&self) -> Option<&str> {
        self.chat_template.as_deref()
    }

    /// The Jinja source of the file's chat template for conversations with tools, or `None` if it has no such template. See
    /// [`ChatTemplate::for_tools`](crate::ChatTemplate::for_tools).
    pub fn tool_template(&self) -> Option<&str> {
        self.tool_template.as_deref()
    }

    fn contains(&self, id: u32) -> bool {
        (id as usize) < self.vocab.len()
    }
}

/// Returns an error if a special token is outside the vocabulary.
fn check_roles(spec: &TokenizerSpec<'_>, vocab: &Vocab) -> Result<(), TokenizerError> {
    match spec.roles().find(|(_, id)| *id as usize >= vocab.len()) {
        Some((role, id)) => Err(TokenizerError::SpecialId { role, id, tokens: vocab.len() }),
        None => Ok(()),
    }
}

/// The token that each byte starts as: its text token, else its byte token, else `unk`.
fn byte_tokens(vocab: &Vocab, unk: Option<u32>) -> [Option<u32>; 256] {
    let mut tokens = [unk; 256];
    for id in (0..vocab.len() as u32).rev().filter(|&id| vocab.kind(id) == TokenKind::Byte) {
        tokens[usize::from(vocab.bytes(id)[0])] = Some(id);
    }
    for byte in 0..=u8::MAX {
        if let Some(id) = vocab.find_text(&[byte]) {
            tokens[usize::from(byte)] = Some(id);
        }
    }
    tokens
}
