//! How an embedding is made of hidden states.

/// Which rows of hidden states an embedding is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pooling {
    /// That of the last token.
    Last,
    /// The mean of all.
    Mean,
    /// That of the first token.
    Cls,
}

impl Pooling {
    /// All of them.
    pub const ALL: [Pooling; 3] = [Pooling::Last, Pooling::Mean, Pooling::Cls];

    /// Its name, as llama.cpp's option has it.
    pub fn name(self) -> &'static str {
        match self {
            Pooling::Last => "last",
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
        }
    }
}
