//! Bound methods: `text.strip`, before it is called.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, ValueKind};
use minijinja::{Error, State, Value};

use super::names;
use super::objects::View;
use super::values::is_dict;

/// A method of a value, before it is called: `text.strip`.
#[derive(Debug)]
pub(super) struct Method {
    owner: Value,
    name: String,
}

impl Method {
    /// The method with this name; nothing if the value has none that templates may use.
    pub(super) fn of(owner: &Value, name: &str) -> Option<Value> {
        let known = match owner.kind() {
            ValueKind::String => names::OF_STRINGS.contains(&name),
            ValueKind::Map if is_dict(owner) => names::OF_DICTS.contains(&name),
            ValueKind::Seq => {
                names::OF_LISTS.contains(&name) && owner.downcast_object_ref::<View>().is_none()
            }
            _ => false,
        };
        known.then(|| Value::from_object(Method { owner: owner.clone(), name: name.to_owned() }))
    }
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        // Called as a template calls it: methods format texts, and formats take items, which are methods.
        let mut all = vec![self.owner.clone(), Value::from(self.name.as_str())];
        all.extend_from_slice(args);
        state.apply_filter(names::METHOD, &all)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in method {}>", self.name)
    }
}
