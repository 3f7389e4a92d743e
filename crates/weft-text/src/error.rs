//! The errors of tokenizers and chat templates.

/// The error of [`Tokenizer::new`](crate::Tokenizer::new). Its documentation names the fields of
/// [`TokenizerSpec`](crate::TokenizerSpec).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// `model` is neither byte-level BPE nor SentencePiece's.
    #[error(
        "tokenizer model {found:?} is not supported: expected \"gpt2\" (byte-level BPE), \"gemma4\" or \"llama\" (SentencePiece); \
         \"bert\" (WordPiece), \"t5\" (unigram) and \"rwkv\" are not supported"
    )]
    Model {
        /// The name found.
        found: String,
    },
    /// `pre` is not a known pre-tokenizer.
    #[error("unknown pre-tokenizer {found:?}: expected one of {known}")]
    Pre {
        /// The name found.
        found: String,
        /// All known names.
        known: String,
    },
    /// `tokens` is empty, or too long for 32-bit ids and offsets.
    #[error(
        "the vocabulary has {tokens} tokens in {bytes} bytes: expected at least one token and less than 4 GiB"
    )]
    Size {
        /// The number of tokens.
        tokens: usize,
        /// The total length of their spellings.
        bytes: usize,
    },
    /// An entry of `tokens` or `merges` is not UTF-8.
    #[error("{list}[{index}] is not UTF-8: {found:?}")]
    Utf8 {
        /// `"tokens"` or `"merges"`.
        list: &'static str,
        /// Its index in the list.
        index: usize,
        /// The entry, with the offending bytes replaced.
        found: String,
    },
    /// `token_types` and `tokens` differ in length.
    #[error("{found} token types for {expected} tokens: expected one for each token")]
    TypeCount {
        /// The number of tokens.
        expected: usize,
        /// The number of types.
        found: usize,
    },
    /// A token type is not one that the GGUF specification lists.
    #[error("token {id} has type {found}: expected 1 (normal) to 6 (byte)")]
    Type {
        /// The token.
        id: u32,
        /// The type found.
        found: i32,
    },
    /// A byte token does not spell a byte.
    #[error("byte token {id} is {found:?}: expected two hexadecimal digits, as in \"<0x0A>\"")]
    ByteToken {
        /// The token.
        id: u32,
        /// The spelling found.
        found: String,
    },
    /// `merges` is missing. Only rank-ordered vocabularies (`kimi-k2`) need none.
    #[error("the vocabulary has no merges: expected a list of them for pre-tokenizer {pre:?}")]
    NoMerges {
        /// The pre-tokenizer.
        pre: String,
    },
    /// `scores` is missing, which SentencePiece needs.
    #[error("the vocabulary has no scores: expected one for each token, because its model is \"llama\"")]
    NoScores,
    /// `scores` and `tokens` differ in length.
    #[error("{found} scores for {expected} tokens: expected one for each token")]
    ScoreCount {
        /// The number of tokens.
        expected: usize,
        /// The number of scores.
        found: usize,
    },
    /// An entry of `merges` is not a pair.
    #[error("merges[{index}] is {found:?}: expected two spellings with a space between them")]
    Merge {
        /// Its index in the list.
        index: usize,
        /// The entry found.
        found: String,
    },
    /// The tokenizer has something that Hugging Face's format cannot express.
    #[error("the tokenizer cannot be written as tokenizer.json: {0}")]
    Json(String),
    /// A special token's id is outside the vocabulary.
    #[error("the {role} token is {id}: expected less than {tokens}, the number of tokens")]
    SpecialId {
        /// `"bos"`, `"eos"` and so on.
        role: &'static str,
        /// The id found.
        id: u32,
        /// The number of tokens.
        tokens: usize,
    },
}

/// The error of a [`ChatTemplate`](crate::ChatTemplate).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The model file has no template.
    #[error("the model has no chat template: choose one, such as the built-in ChatML")]
    Missing,
    /// The template is too long or has a syntax error.
    #[error("the chat template is not valid: {0}")]
    Invalid(String),
    /// A message does not have the form that [`ChatTemplate::adapt`](crate::ChatTemplate::adapt) expects.
    #[error("{path}: expected {expected}, found {found}")]
    Message {
        /// Where, such as `messages[2].content`.
        path: String,
        /// The expected syntax.
        expected: &'static str,
        /// The actual syntax.
        found: String,
    },
    /// The template refused the messages with `raise_exception`.
    #[error("the chat template refuses these messages: {0}")]
    Refused(String),
    /// The template took too long or wrote too much.
    #[error("the chat template was stopped: {0}")]
    Limit(String),
    /// The template failed on these messages.
    #[error("the chat template failed: {0}")]
    Failed(String),
}
