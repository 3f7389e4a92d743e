//! What can be wrong with a vocabulary.

/// Why a [`TokenizerSpec`](crate::TokenizerSpec) was refused. The fields named are those of the spec.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// `model` names a tokenizer of another kind.
    #[error(
        "tokenizer model {found:?} is not supported: expected \"gpt2\" (byte-level BPE), which Llama 3, GLM, DeepSeek, \
         Qwen, Kimi and SmolLM files use (SentencePiece files say \"llama\")"
    )]
    Model {
        /// The name found.
        found: String,
    },
    /// `pre` names no known pre-tokenizer.
    #[error("pre-tokenizer {found:?} is not known: expected one of {known}")]
    Pre {
        /// The name found.
        found: String,
        /// All known names.
        known: String,
    },
    /// `tokens` is empty, or longer than 32-bit ids and offsets can count.
    #[error(
        "the vocabulary has {tokens} tokens in {bytes} bytes: expected at least one token and less than 4 GiB"
    )]
    Size {
        /// Number of tokens.
        tokens: usize,
        /// Length of all their spellings together.
        bytes: usize,
    },
    /// An entry of `tokens` or `merges` is not UTF-8.
    #[error("{list}[{index}] is not UTF-8: {found:?}")]
    Utf8 {
        /// `"tokens"` or `"merges"`.
        list: &'static str,
        /// Place in the list.
        index: usize,
        /// The entry, with the offending bytes replaced.
        found: String,
    },
    /// `token_types` and `tokens` differ in length.
    #[error("{found} token types for {expected} tokens: expected one for each")]
    TypeCount {
        /// Number of tokens.
        expected: usize,
        /// Number of types.
        found: usize,
    },
    /// A token type outside the list of the GGUF specification.
    #[error("token {id} has type {found}: expected 1 (normal) to 6 (byte)")]
    Type {
        /// The token.
        id: u32,
        /// The type found.
        found: i32,
    },
    /// A byte token that does not spell a byte.
    #[error("byte token {id} is spelled {found:?}: expected two hexadecimal digits as in \"<0x0A>\"")]
    ByteToken {
        /// The token.
        id: u32,
        /// The spelling found.
        found: String,
    },
    /// `merges` is absent, which only a rank-ordered vocabulary (`kimi-k2`) may be.
    #[error("the vocabulary has no merges: expected a list of them for pre-tokenizer {pre:?}")]
    NoMerges {
        /// The pre-tokenizer.
        pre: String,
    },
    /// An entry of `merges` is not a pair.
    #[error("merges[{index}] is {found:?}: expected two spellings with a space between them")]
    Merge {
        /// Place in the list.
        index: usize,
        /// The entry found.
        found: String,
    },
    /// A special token's id is outside the vocabulary.
    #[error("the {role} token is {id}: expected less than {tokens}, the number of tokens")]
    SpecialId {
        /// `"bos"`, `"eos"` and so on.
        role: &'static str,
        /// The id found.
        id: u32,
        /// Number of tokens.
        tokens: usize,
    },
}
