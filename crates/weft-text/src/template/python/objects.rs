//! Collections of Python that minijinja has not: generators, views of dicts, ranges and the groups of `groupby`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, Value};

use super::budget::failed;

/// The result of `map`, `select` and others: items that can be taken once.
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

/// The result of `dict.keys()`, `values()` and `items()`.
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

/// The result of `range()`.
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

    /// The range of the values at these places, which are evenly spaced.
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

/// An item of `groupby`'s result: a pair whose parts have names.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) grouper: Value,
    pub(super) list: Value,
}

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match (key.as_str(), key.as_usize()) {
            (Some("grouper"), _) | (_, Some(0)) => Some(self.grouper.clone()),
            (Some("list"), _) | (_, Some(1)) => Some(self.list.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(vec![self.grouper.clone(), self.list.clone()])
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.grouper, self.list)
    }
}

/// Whether a value is a pair of `groupby`.
pub(super) fn is_group(value: &Value) -> bool {
    value.downcast_object_ref::<Group>().is_some()
}
