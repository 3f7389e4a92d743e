//! Why a grammar was refused.

use std::fmt;

/// The part of a request that a grammar was refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole request.
    Request,
    /// The schema of the reply's format.
    Schema,
    /// The parameters of the tool with this index.
    Tool(usize),
}

/// A request for structured output that cannot be met, and why. The client's mistake (400), unless [`server`](Self::server).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError {
    /// The part of the request that it is about.
    pub place: Place,
    /// The path within [`place`](Self::place), such as `properties.size.pattern`; empty for the whole.
    pub path: String,
    /// A sentence: what was expected, what was found and what to do.
    pub message: String,
    /// Whether the request may be right and the server was at fault, for example busy (503).
    pub server: bool,
}

impl GrammarError {
    /// A mistake in the request.
    pub(super) fn new(place: Place, path: impl Into<String>, message: impl Into<String>) -> GrammarError {
        GrammarError { place, path: path.into(), message: message.into(), server: false }
    }

    /// A failure of the server.
    pub(super) fn server(message: impl Into<String>) -> GrammarError {
        GrammarError { place: Place::Request, path: String::new(), message: message.into(), server: true }
    }

    /// The name of the parameter, as an API names it: `schema` is its path of the reply's schema, and `tool` gives the
    /// path of a tool's parameters. `None` if the whole request is meant.
    pub fn param(&self, schema: &str, tool: impl Fn(usize) -> String) -> Option<String> {
        let mut param = match self.place {
            Place::Request => return None,
            Place::Schema => schema.to_owned(),
            Place::Tool(index) => tool(index),
        };
        if !self.path.is_empty() {
            if !self.path.starts_with('[') {
                param.push('.');
            }
            param.push_str(&self.path);
        }
        Some(param)
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Tool(index) => write!(f, "tools[{index}]: ")?,
            Place::Request | Place::Schema => {}
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for GrammarError {}
