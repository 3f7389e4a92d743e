//! Lists that templates change: `ids.append(id)` and `ids.pop(0)`.
//!
//! minijinja's lists never change, and `transformers` forbids templates to change them, but llama.cpp allows it, and templates
//! in model files do so. In a template that calls `append`, every empty list is therefore one that grows. It takes only
//! values that contain no others, so no list ever contains itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// The function that makes a list, as rewritten templates call it.
pub(super) const NEW: &str = "growing_list";

/// A list that can grow.
#[derive(Debug, Default)]
pub(super) struct GrowingList(Mutex<VecDeque<Value>>);

impl GrowingList {
    /// An empty one.
    pub(super) fn value() -> Value {
        Value::from_object(GrowingList::default())
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object for GrowingList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items().get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items().iter().cloned().collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items().len())
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        let refused = |why: String| Err(Error::new(ErrorKind::InvalidOperation, why));
        match (method, args) {
            ("append", [item]) => match item.kind() {
                ValueKind::Undefined
                | ValueKind::None
                | ValueKind::Bool
                | ValueKind::Number
                | ValueKind::String => {
                    self.items().push_back(item.clone());
                    Ok(Value::from(()))
                }
                other => refused(format!(
                    "append: expected a string, a number, a boolean or none, found a {other}"
                )),
            },
            ("pop", []) => {
                self.items().pop_back().map_or_else(|| refused("pop: the list is empty".into()), Ok)
            }
            ("pop", [at]) if at.as_i64() == Some(0) => {
                self.items().pop_front().map_or_else(|| refused("pop: the list is empty".into()), Ok)
            }
            ("append", _) => refused(format!("append: expected one value, found {}", args.len())),
            ("pop", _) => refused("pop: expected nothing or 0 in its parentheses".into()),
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// Makes the empty lists of a template growing ones, if it appends to any. `{% raw %}` is not known here.
pub(super) fn growing(source: String) -> String {
    if !source.contains(".append(") {
        return source;
    }
    let mut result = String::with_capacity(source.len() + 64);
    // The end of the tag, and the quote of the string, in which a character is.
    let (mut tag, mut quote) = (None, None);
    let mut rest = source.as_str();
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match (tag, quote) {
            (None, _) => {
                let begun = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")];
                let begun = begun.into_iter().find(|(begin, _)| rest.starts_with(begin));
                tag = begun.map(|(_, end)| end);
                length = begun.map_or(length, |(begin, _)| begin.len());
            }
            (Some(_), Some(_)) if c == '\\' => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            (Some(_), Some(end)) => quote = quote.filter(|_| c != end),
            (Some(end), None) if rest.starts_with(end) => {
                tag = None;
                length = end.len();
            }
            (Some("#}"), None) => {}
            (Some(_), None) if c == '"' || c == '\'' => quote = Some(c),
            (Some(_), None) if c == '[' && rest[1..].trim_start().starts_with(']') => {
                result.push_str(NEW);
                result.push_str("()");
                rest = &rest[1..].trim_start()[1..];
                continue;
            }
            (Some(_), None) => {}
        }
        result.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_lists_of_templates_that_append_are_replaced() {
        for (source, expected) in [
            ("{% set a = [] %}", "{% set a = [] %}"),
            ("{% set a = [ ] %}[]{{ a.append('[]') }}", "{% set a = growing_list() %}[]{{ a.append('[]') }}"),
            (
                "{{ f(x=[], y=[1], z='\\'[]') }}{# [] ' #}{{ [] }}.append(",
                "{{ f(x=growing_list(), y=[1], z='\\'[]') }}{# [] ' #}{{ growing_list() }}.append(",
            ),
            ("é{% if x[''] == [] %}é.append({{ '\\", "é{% if x[''] == growing_list() %}é.append({{ '\\"),
        ] {
            assert_eq!(growing(source.to_owned()), expected);
        }
    }
}
