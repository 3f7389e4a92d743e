//! Lists that templates change: `ids.append(id)` and `ids.pop(0)`.
//!
//! minijinja's lists never change, and `transformers` forbids templates to change them, but llama.cpp allows it, and templates
//! in model files do so. In a template that calls `append`, `rewrite.rs` therefore makes every empty list one that grows. It takes
//! only values that contain no others, so no list ever contains itself.

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
