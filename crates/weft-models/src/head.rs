//! The result that a model computes from its last hidden states: logits, embeddings, or the scores of a classifier.

use crate::error::Error;
use crate::keys::Keys;
use crate::pooling::Pooling;

/// The key of the pooling. Its values are llama.cpp's.
const POOLING: &str = "pooling_type";
const NONE: u32 = 0;
const MEAN: u32 = 1;
const CLS: u32 = 2;
const LAST: u32 = 3;
const RANK: u32 = 4;

/// The labels of a classifier.
const LABELS: &str = "classifier.output_labels";
/// The most labels of a classifier.
const MAX_LABELS: usize = 1 << 12;

/// The result that the last segment of a model computes from the requested rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Head {
    /// The logits of the next token: the model writes text.
    #[default]
    Logits,
    /// The normed hidden states, of which an embedding is pooled.
    Embedding(Pooling),
    /// The scores of the labels of a classifier, from the last token's hidden state: the model ranks documents.
    Scores {
        /// The number of labels.
        labels: usize,
        /// The label that says that a document is relevant.
        relevant: usize,
    },
}

impl Head {
    /// The head of a file: with the pooling that was asked for, otherwise as its keys say. As in llama.cpp, a file without the key
    /// writes text.
    pub(crate) fn read(keys: &Keys<'_>, asked: Option<Pooling>) -> Result<Head, Error> {
        if let Some(pooling) = asked {
            return Ok(Head::Embedding(pooling));
        }
        match keys.u32(POOLING)? {
            None | Some(NONE) => Ok(Head::Logits),
            Some(MEAN) => Ok(Head::Embedding(Pooling::Mean)),
            Some(CLS) => Ok(Head::Embedding(Pooling::Cls)),
            Some(LAST) => Ok(Head::Embedding(Pooling::Last)),
            Some(RANK) => Head::scores(keys),
            Some(other) => Err(keys.wrong(
                POOLING,
                other,
                format!(
                    "it must be {NONE} (none), {MEAN} (mean), {CLS} (cls), {LAST} (last) or {RANK} (rank)"
                ),
            )),
        }
    }

    fn scores(keys: &Keys<'_>) -> Result<Head, Error> {
        const POOLED: &str = "classifier.pooling_type";
        if let Some(other) = keys.u32(POOLED)?.filter(|pooled| ![NONE, LAST].contains(pooled)) {
            let supported = format!("it can only be {LAST}, that of the last token");
            return Err(keys.unsupported(POOLED, other, supported));
        }
        let Some(names) = keys.metadata.strings(&keys.name(LABELS))? else {
            return Ok(Head::Scores { labels: 1, relevant: 0 });
        };
        let labels = names.len();
        if !(1..=MAX_LABELS).contains(&labels) {
            let found = format!("a list of {labels} labels");
            return Err(keys.wrong(LABELS, found, format!("it must have from 1 to {MAX_LABELS} labels")));
        }
        // llama.cpp takes the first, which is that of "yes" where it converts files.
        let relevant = names.iter().position(|name| name == b"yes").unwrap_or(0);
        Ok(Head::Scores { labels, relevant })
    }

    /// The name of the value that it computes, `f32[R, width]`.
    pub fn result(self) -> &'static str {
        match self {
            Head::Logits => "logits",
            Head::Embedding(_) => "embeddings",
            Head::Scores { .. } => "scores",
        }
    }
}
