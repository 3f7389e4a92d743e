//! Values as Python has them: how they print, compare, contain and iterate.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::LazyLock;

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Error, Value};
use regex::Regex;

use super::budget::{charge, charge_items, failed};
use super::objects::{Generator, Range, View, is_group};
use super::text::{self, Text};
use crate::template::lists::GrowingList;
use crate::template::number;

/// The name of a value's type, in Python.
pub(super) fn kind_name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "an undefined value",
        ValueKind::None => "None",
        ValueKind::Bool => "a bool",
        ValueKind::Number if value.is_integer() => "an int",
        ValueKind::Number => "a float",
        ValueKind::String => "a str",
        ValueKind::Seq if value.is_tuple() => "a tuple",
        ValueKind::Seq => "a list",
        ValueKind::Map => "a dict",
        _ => "an object",
    }
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(super) fn float(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }

    pub(super) fn value(self) -> Value {
        match self {
            Number::Int(int) => i64::try_from(int).map_or_else(|_| Value::from(int), Value::from),
            Number::Float(float) => Value::from(float),
        }
    }

    pub(super) fn compare(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (a, b) => a.float().partial_cmp(&b.float()),
        }
    }
}

/// A number, or a boolean as one.
pub(super) fn number(value: &Value) -> Option<Number> {
    match value.kind() {
        ValueKind::Bool => Some(Number::Int(i128::from(value.is_true()))),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok().map(Number::Int),
        ValueKind::Number => f64::try_from(value.clone()).ok().map(Number::Float),
        _ => None,
    }
}

/// An integer, or a boolean as one.
pub(super) fn int(value: &Value) -> Option<i128> {
    match number(value) {
        Some(Number::Int(int)) => Some(int),
        _ => None,
    }
}

pub(super) fn is_list(value: &Value) -> bool {
    value.kind() == ValueKind::Seq && !value.is_tuple() && value.downcast_object_ref::<View>().is_none()
}

/// Whether a value is a dict, and no namespace, loop or macro.
pub(super) fn is_dict(value: &Value) -> bool {
    value.kind() == ValueKind::Map
        && value.as_object().is_some_and(|object| {
            let name = object.type_name();
            !["Namespace", "Loop", "Macro", "Module"].iter().any(|other| name.ends_with(other))
        })
}

pub(super) fn is_callable(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        value.kind() == ValueKind::Plain
            || object.type_name().ends_with("Macro")
            || object.type_name().ends_with("Loop")
    })
}

/// The items of a value, as Python's `iter` gives them.
///
/// # Errors
/// If it cannot be iterated over.
pub(super) fn items(value: &Value) -> Result<Vec<Value>, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(Vec::new()),
        ValueKind::String => {
            let text = Text::new(value.as_str().unwrap_or_default());
            charge_items(text.plain().len())?;
            Ok(text.chars().map(Value::from).collect())
        }
        ValueKind::Map if !is_dict(value) => Err(failed("the object is not iterable")),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
            charge_items(value.len().unwrap_or(0))?;
            Ok(value.try_iter()?.collect())
        }
        _ => Err(failed(format!("{} is not iterable", kind_name(value)))),
    }
}

/// The keys and values of a dict.
pub(super) fn pairs(value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    if !is_dict(value) {
        return Err(failed(format!("expected a dict, found {}", kind_name(value))));
    }
    items(value)?.into_iter().map(|key| Ok((key.clone(), value.get_item(&key)?))).collect()
}

/// Python's `len`.
pub(super) fn length(value: &Value) -> Result<usize, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(0),
        ValueKind::String => Ok(Text::new(value.as_str().unwrap_or_default()).len()),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable
            if value.downcast_object_ref::<Generator>().is_none() =>
        {
            value.len().ok_or_else(|| failed("the object has no length"))
        }
        _ => Err(failed(format!("{} has no length", kind_name(value)))),
    }
}

/// Python's `==`.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return a.compare(b) == Some(Ordering::Equal);
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return a == b || ((text::is_marked(a) || text::is_marked(b)) && text::plain(a) == text::plain(b));
    }
    match (a.kind(), b.kind()) {
        (ValueKind::Undefined, ValueKind::Undefined) | (ValueKind::None, ValueKind::None) => true,
        (ValueKind::Seq, ValueKind::Seq) if a.is_tuple() == b.is_tuple() => {
            let (Ok(left), Ok(right)) = (a.try_iter(), b.try_iter()) else { return false };
            a.len() == b.len() && left.zip(right).all(|(a, b)| equal(&a, &b))
        }
        (ValueKind::Map, ValueKind::Map) if is_dict(a) && is_dict(b) => {
            a.len() == b.len()
                && a.try_iter().is_ok_and(|mut keys| {
                    keys.all(|key| match (get(a, &key), get(b, &key)) {
                        (Some(a), Some(b)) => equal(&a, &b),
                        _ => false,
                    })
                })
        }
        (ValueKind::Iterable, ValueKind::Iterable) => {
            let range = |value: &Value| value.downcast_object_ref::<Range>().cloned();
            range(a).is_some() && range(a) == range(b)
        }
        (ValueKind::Plain, ValueKind::Plain) => a == b,
        _ => false,
    }
}

/// The value of a key of a dict. Marks of the key do not matter.
pub(super) fn get(map: &Value, key: &Value) -> Option<Value> {
    let object = map.as_object()?;
    if let Some(value) = object.get_value(key) {
        return Some(value);
    }
    let wanted = text::plain(key.as_str()?);
    let marked =
        |name: &Value| name.as_str().is_some_and(|name| text::is_marked(name) && text::plain(name) == wanted);
    if wanted.as_ref() != key.as_str()?
        && let Some(value) = object.get_value(&Value::from(wanted.as_ref()))
    {
        return Some(value);
    }
    let name = map.try_iter().ok()?.find(marked)?;
    object.get_value(&name)
}

/// The order of two values.
///
/// # Errors
/// If Python does not order them.
pub(super) fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return Ok(a.compare(b));
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return Ok(Some(text::plain(a).cmp(&text::plain(b))));
    }
    if a.kind() == ValueKind::Seq && b.kind() == ValueKind::Seq && a.is_tuple() == b.is_tuple() {
        for (a, b) in a.try_iter()?.zip(b.try_iter()?) {
            if !equal(&a, &b) {
                return compare(&a, &b);
            }
        }
        return Ok(Some(a.len().cmp(&b.len())));
    }
    Err(failed(format!("{} and {} have no order", kind_name(a), kind_name(b))))
}

/// Sorts stably, as Python's `sorted` does.
///
/// # Errors
/// If two values have no order.
pub(super) fn sort<T>(values: &mut [T], reverse: bool, key: impl Fn(&T) -> &Value) -> Result<(), Error> {
    let mut error = None;
    values.sort_by(|a, b| match compare(key(a), key(b)) {
        Ok(order) => {
            let order = order.unwrap_or(Ordering::Equal);
            if reverse { order.reverse() } else { order }
        }
        Err(found) => {
            error = Some(found);
            Ordering::Equal
        }
    });
    error.map_or(Ok(()), Err)
}

/// Python's `in`.
///
/// # Errors
/// If nothing can be in `container`.
pub(super) fn contains(container: &Value, item: &Value) -> Result<bool, Error> {
    match container.kind() {
        ValueKind::String => {
            let Some(item) = item.as_str() else {
                return Err(failed(format!("in: expected a string, found {}", kind_name(item))));
            };
            let container = container.as_str().unwrap_or_default();
            if !text::is_marked(container) && !text::is_marked(item) {
                return Ok(container.contains(item));
            }
            Ok(text::plain(container).contains(text::plain(item).as_ref()))
        }
        ValueKind::Map if is_dict(container) => {
            if is_list(item) || is_dict(item) {
                return Err(failed(format!("in: {} cannot be a key", kind_name(item))));
            }
            Ok(get(container, item).is_some())
        }
        _ => Ok(items(container)?.iter().any(|other| equal(other, item))),
    }
}

/// Python's `str`.
///
/// # Errors
/// If the text is too long.
pub(super) fn to_text(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    write_text(&mut text, value)?;
    Ok(text)
}

/// Writes a value as Python's `str` does.
pub(super) fn write_text(out: &mut String, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => {
            charge(text.len())?;
            out.push_str(text);
            Ok(())
        }
        None if value.is_undefined() => Ok(()),
        None => write_repr(out, value),
    }
}

/// Writes a value as Python's `repr` does.
pub(super) fn write_repr(out: &mut String, value: &Value) -> Result<(), Error> {
    charge(8)?;
    match value.kind() {
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number => match number(value) {
            Some(Number::Float(float)) => number::write_float(out, float, ["nan", "inf"]),
            _ => {
                let _ = write!(out, "{value}");
            }
        },
        ValueKind::String => {
            let string = value.as_str().unwrap_or_default();
            charge(string.len())?;
            repr_of_string(out, string);
        }
        ValueKind::Map if is_dict(value) => {
            out.push('{');
            for (place, key) in value.try_iter()?.enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                write_repr(out, &key)?;
                out.push_str(": ");
                write_repr(out, &value.get_item(&key)?)?;
            }
            out.push('}');
        }
        ValueKind::Seq => {
            let view = value.downcast_object_ref::<View>();
            let [open, close] = match view {
                Some(view) => {
                    out.push_str(view.name);
                    ["([", "])"]
                }
                None if value.is_tuple() || is_group(value) => ["(", ")"],
                None => ["[", "]"],
            };
            out.push_str(open);
            for (place, item) in value.try_iter()?.enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                write_repr(out, &item)?;
            }
            out.push_str(if value.is_tuple() && value.len() == Some(1) { "," } else { "" });
            out.push_str(close);
        }
        ValueKind::Iterable if value.downcast_object_ref::<Range>().is_some() => {
            let _ = write!(out, "{value}");
        }
        ValueKind::Iterable => out.push_str("<generator object>"),
        _ => {
            let _ = write!(out, "{value}");
        }
    }
    Ok(())
}

/// Characters that Python's `repr` escapes.
static UNPRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}]$").ok());

fn repr_of_string(out: &mut String, string: &str) {
    let text = Text::new(string);
    let quote = if text.plain().contains('\'') && !text.plain().contains('"') { '"' } else { '\'' };
    out.push(quote);
    out.push_str(&text.map(|_, c, out| match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        c if c == quote => out.extend(['\\', c]),
        ' '..='~' => out.push(c),
        '\0'..='\u{A0}' | '\u{AD}' => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        c if UNPRINTABLE.as_ref().is_some_and(|known| known.is_match(c.encode_utf8(&mut [0; 4]))) => {
            let code = u32::from(c);
            let _ = if code <= 0xFFFF { write!(out, "\\u{code:04x}") } else { write!(out, "\\U{code:08x}") };
        }
        c => out.push(c),
    }));
    out.push(quote);
}

/// A list.
pub(super) fn list(items: Vec<Value>) -> Result<Value, Error> {
    charge_items(items.len())?;
    Ok(Value::from(items))
}

/// A tuple.
pub(super) fn tuple(items: Vec<Value>) -> Value {
    Value::from(Tuple::new(items))
}

/// Whether a value is a list that grows.
pub(super) fn is_growing(value: &Value) -> bool {
    value.downcast_object_ref::<GrowingList>().is_some()
}
