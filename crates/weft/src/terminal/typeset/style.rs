//! How characters look in a terminal.

/// How characters look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Plain,
    Dim,
    Bold,
    Italic,
    Struck,
    Link,
    Code,
    Keyword,
    Literal,
}

impl Style {
    /// The escape sequence that begins it.
    pub(super) fn sgr(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dim => "\x1b[2m",
            Style::Bold => "\x1b[1m",
            Style::Italic => "\x1b[3m",
            Style::Struck => "\x1b[9m",
            Style::Link => "\x1b[4m",
            Style::Code => "\x1b[36m",
            Style::Keyword => "\x1b[35m",
            Style::Literal => "\x1b[32m",
        }
    }
}
