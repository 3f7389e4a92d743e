//! The functions of Jinja: `range`, `dict`, `cycler` and `joiner`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Object, ObjectRepr};
use minijinja::{Error, ErrorKind, State, Value};

use super::args::{Args, required, text_or, whole};
use super::budget::failed;
use super::objects::Range;
use super::{operators, values};

/// The function `range`.
pub(super) fn range(args: Args) -> Result<Value, Error> {
    let [a, b, c] = args.bind("range", ["", " ", "  "])?;
    let first = whole(&required(a, "range")?, "range")?;
    let range = match (b, c) {
        (None, _) => Range::new(0, first, 1),
        (Some(stop), None) => Range::new(first, whole(&stop, "range")?, 1),
        (Some(stop), Some(step)) => Range::new(first, whole(&stop, "range")?, whole(&step, "range")?),
    };
    Ok(Value::from_object(range?))
}

/// The function `dict`.
pub(super) fn dict(args: Args) -> Result<Value, Error> {
    let named = args.named;
    let [mapping] = Args { positional: args.positional, named: Vec::new() }.bind("dict", [""])?;
    let mut pairs = match mapping {
        None => Vec::new(),
        Some(mapping) if values::is_dict(&mapping) => values::pairs(&mapping)?,
        Some(list) => {
            let pair = |pair: Value| match &values::items(&pair)?[..] {
                [key, value] => Ok((key.clone(), value.clone())),
                _ => Err(failed("dict: expected pairs")),
            };
            values::items(&list)?.into_iter().map(pair).collect::<Result<_, Error>>()?
        }
    };
    pairs.extend(named.into_iter().map(|(key, value)| (Value::from(key), value)));
    operators::dict(pairs)
}

/// The result of `cycler()`.
#[derive(Debug)]
pub(super) struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl Cycler {
    pub(super) fn value(items: Vec<Value>) -> Result<Value, Error> {
        if items.is_empty() {
            return Err(failed("cycler: at least one item has to be provided"));
        }
        Ok(Value::from_object(Cycler { items, at: AtomicUsize::new(0) }))
    }

    fn current(&self) -> Value {
        self.items[self.at.load(Ordering::Relaxed) % self.items.len()].clone()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(self: &Arc<Self>, _: &mut State<'_, '_>, name: &str, _: &[Value]) -> Result<Value, Error> {
        match name {
            "next" => {
                let current = self.current();
                self.at.fetch_add(1, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// The result of `joiner()`: it writes its separator from the second call on.
#[derive(Debug)]
pub(super) struct Joiner {
    separator: String,
    called: AtomicUsize,
}

impl Joiner {
    pub(super) fn value(args: Args) -> Result<Value, Error> {
        let [separator] = args.bind("joiner", ["sep"])?;
        let separator = text_or(&separator, ", ")?;
        Ok(Value::from_object(Joiner { separator, called: AtomicUsize::new(0) }))
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        let first = self.called.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(Value::from(if first { "" } else { self.separator.as_str() }))
    }
}
