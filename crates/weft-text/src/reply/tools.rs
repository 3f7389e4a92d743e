//! The tools that a model may call: finding a name character by character, and the types of parameters.

use serde_json::Value;

use super::schema::{Parameters, Types};

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name by which the model calls it.
    pub name: String,
    /// A description for the prompt.
    pub description: Option<String>,
    /// The JSON schema of its arguments, an object, or null if it takes none.
    pub parameters: Value,
    /// Whether the arguments must match the schema exactly.
    pub strict: bool,
}

impl Tool {
    /// Creates a tool without a description that is not strict.
    pub fn new(name: impl Into<String>, parameters: Value) -> Tool {
        Tool { name: name.into(), description: None, parameters, strict: false }
    }
}

/// The declared tools in the form that a parser needs.
pub(crate) struct Tools {
    /// Sorted by name, without duplicates and empty names.
    sorted: Vec<(String, Parameters)>,
}

/// The tools whose names begin with the text read so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamePrefix {
    low: usize,
    high: usize,
    /// Bytes read.
    length: usize,
}

impl Tools {
    /// Of several tools with one name, the first counts.
    pub(crate) fn new(tools: &[Tool]) -> Tools {
        let mut named: Vec<&Tool> = tools.iter().filter(|tool| !tool.name.is_empty()).collect();
        named.sort_by(|a, b| a.name.cmp(&b.name));
        named.dedup_by(|later, first| later.name == first.name);
        let sorted = named.iter().map(|tool| (tool.name.clone(), Parameters::new(&tool.parameters)));
        Tools { sorted: sorted.collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub(crate) fn name(&self, tool: usize) -> &str {
        &self.sorted[tool].0
    }

    /// The types that a tool's schema allows for a parameter.
    pub(crate) fn types(&self, tool: usize, parameter: &str) -> Types {
        self.sorted[tool].1.types(parameter)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.sorted.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok()
    }

    pub(crate) fn prefix(&self) -> NamePrefix {
        NamePrefix { low: 0, high: self.sorted.len(), length: 0 }
    }

    /// Reads one more character of a name. Returns false, and leaves `prefix` as it was, if no name continues like that.
    pub(crate) fn extend(&self, prefix: &mut NamePrefix, c: char) -> bool {
        let mut next = *prefix;
        for &byte in c.encode_utf8(&mut [0; 4]).as_bytes() {
            let candidates = &self.sorted[next.low..next.high];
            let at = |(name, _): &(String, Parameters)| name.as_bytes().get(next.length).copied();
            let low = candidates.partition_point(|tool| at(tool) < Some(byte));
            let high = candidates.partition_point(|tool| at(tool) <= Some(byte));
            if low == high {
                return false;
            }
            next = NamePrefix { low: next.low + low, high: next.low + high, length: next.length + 1 };
        }
        *prefix = next;
        true
    }

    /// The tool whose whole name has been read.
    pub(crate) fn complete(&self, prefix: NamePrefix) -> Option<usize> {
        // The shortest of the candidates comes first.
        let (name, _) = self.sorted[prefix.low..prefix.high].first()?;
        (name.len() == prefix.length).then_some(prefix.low)
    }
}

impl NamePrefix {
    pub(crate) fn is_empty(self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_character_by_character() {
        let tools = ["get_time", "get", "wetter_für", "get"].map(|name| Tool::new(name, Value::Null));
        let tools = Tools::new(&tools);
        let read = |text: &str| {
            let mut prefix = tools.prefix();
            let length = text.chars().take_while(|&c| tools.extend(&mut prefix, c)).count();
            (length, tools.complete(prefix).map(|tool| tools.name(tool)))
        };
        assert_eq!(read("get"), (3, Some("get")));
        assert_eq!(read("get_"), (4, None));
        assert_eq!(read("get_time"), (8, Some("get_time")));
        assert_eq!(read("getter"), (3, Some("get")));
        assert_eq!(read("wetter_für!"), (10, Some("wetter_für")));
        assert_eq!(read("wetter_fär"), (8, None));
        assert_eq!(read(""), (0, None));
        assert_eq!(tools.find("get_time").map(|tool| tools.name(tool)), Some("get_time"));
        assert_eq!(tools.find("other"), None);
    }
}
