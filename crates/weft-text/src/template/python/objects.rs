//! Objects of Python that minijinja has not: generators, views of dicts, ranges, bound methods, cyclers and joiners.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use super::args::{Args, failed, required, text_or, whole};
use super::{collections, strings, values};

/// What `map`, `select` and others return: items that can be taken once.
#[derive(Debug)]
pub(super) struct Generator(Mutex<Vec<Value>>);

impl Generator {
    pub(super) fn value(items: Vec<Value>) -> Value {
        Value::from_object(Generator(Mutex::new(items)))
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        None
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

/// What `dict.keys()`, `values()` and `items()` return.
#[derive(Debug)]
pub(super) struct View {
    pub(super) name: &'static str,
    items: Vec<Value>,
}

impl View {
    pub(super) fn value(name: &'static str, items: Vec<Value>) -> Value {
        Value::from_object(View { name, items })
    }
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items.len())
    }
}

/// What `range()` returns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    start: i64,
    stop: i64,
    step: i64,
    pub(super) len: usize,
}

/// The longest range, as in Jinja's sandbox.
const MAX_RANGE: i128 = 100_000;

impl Range {
    pub(super) fn new(start: i64, stop: i64, step: i64) -> Result<Range, Error> {
        if step == 0 {
            return Err(failed("range: the step is 0"));
        }
        let (distance, step_) = (i128::from(stop) - i128::from(start), i128::from(step));
        let len =
            if (distance > 0) == (step > 0) { (distance.abs() + step_.abs() - 1) / step_.abs() } else { 0 };
        if len > MAX_RANGE {
            return Err(failed(format!("range: {len} items: expected at most {MAX_RANGE}")));
        }
        Ok(Range { start, stop, step, len: len as usize })
    }

    pub(super) fn at(&self, index: usize) -> Option<Value> {
        (index < self.len).then(|| Value::from(self.start.wrapping_add(self.step.wrapping_mul(index as i64))))
    }

    /// The range from one place to before another.
    pub(super) fn places(&self, indices: &[usize]) -> Value {
        let items: Vec<Value> = indices.iter().filter_map(|&index| self.at(index)).collect();
        let (start, step) = match &items[..] {
            [] => (self.start, self.step),
            [only] => (i64::try_from(only.clone()).unwrap_or_default(), self.step),
            [first, second, ..] => {
                let first = i64::try_from(first.clone()).unwrap_or_default();
                (first, i64::try_from(second.clone()).unwrap_or_default() - first)
            }
        };
        let stop = start.wrapping_add(step.wrapping_mul(items.len() as i64));
        Value::from_object(Range { start, stop, step, len: items.len() })
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.at(key.as_usize()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let range = Arc::clone(self);
        Enumerator::Iter(Box::new((0..self.len).map(move |index| range.at(index).unwrap_or_default())))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.len)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            1 => write!(f, "range({}, {})", self.start, self.stop),
            step => write!(f, "range({}, {}, {step})", self.start, self.stop),
        }
    }
}

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
            ValueKind::String => strings::NAMES.contains(&name),
            ValueKind::Map if values::is_dict(owner) => collections::DICT.contains(&name),
            ValueKind::Seq => {
                collections::LIST.contains(&name) && owner.downcast_object_ref::<View>().is_none()
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
        super::call_method(state, &self.owner, &self.name, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in method {}>", self.name)
    }
}

/// What `cycler()` returns.
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

/// What `joiner()` returns: it writes its separator from the second call on.
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
