//! Operators as Python has them: arithmetic, comparison, concatenation, subscripts and slices.

use std::cmp::Ordering;

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use super::budget::{charge, charge_items, failed, made};
use super::method::Method;
use super::objects::{Range, View};
use super::strings::percent;
use super::text::Text;
use super::values::{
    Number, compare, contains, equal, get, int, is_list, items, kind_name, list, number, to_text, tuple,
    write_text,
};

/// Applies a chain of arithmetic operators of one rank, from the left: `values` are an operator and its operand each.
pub(super) fn arithmetic(first: &Value, rest: &[Value]) -> Result<Value, Error> {
    let mut result = first.clone();
    for pair in rest.chunks_exact(2) {
        result = binary(pair[0].as_str().unwrap_or_default(), &result, &pair[1])?;
    }
    Ok(result)
}

fn binary(operator: &str, a: &Value, b: &Value) -> Result<Value, Error> {
    let wrong = || {
        let undefined = a.is_undefined() || b.is_undefined();
        let why = if undefined { "a value is undefined" } else { "expected numbers" };
        failed(format!("{operator}: {why}, found {} and {}", kind_name(a), kind_name(b)))
    };
    if operator == "%"
        && let Some(format) = a.as_str()
    {
        return percent::format(format, b);
    }
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return Ok(calculate(operator, a, b)?.value());
    }
    match operator {
        "+" => match (a.as_str(), b.as_str()) {
            (Some(_), Some(_)) if a.is_safe() || b.is_safe() => safe_join(&[a, b]),
            (Some(a), Some(b)) => {
                charge(a.len() + b.len())?;
                Ok(Value::from([a, b].concat()))
            }
            _ if a.kind() == ValueKind::Seq && b.kind() == ValueKind::Seq && a.is_tuple() == b.is_tuple() => {
                let joined = [items(a)?, items(b)?].concat();
                if a.is_tuple() { Ok(tuple(joined)) } else { list(joined) }
            }
            _ => Err(wrong()),
        },
        "*" => {
            let (repeated, times) = if int(b).is_some() { (a, b) } else { (b, a) };
            let times = int(times).ok_or_else(wrong)?.clamp(0, i128::from(u32::MAX)) as usize;
            if let Some(text) = repeated.as_str() {
                charge(text.len().saturating_mul(times))?;
                return Ok(Value::from(text.repeat(times)));
            }
            if !is_list(repeated) && !repeated.is_tuple() {
                return Err(wrong());
            }
            let items = items(repeated)?;
            charge_items(items.len().saturating_mul(times))?;
            let many: Vec<Value> = std::iter::repeat_n(items, times).flatten().collect();
            Ok(if repeated.is_tuple() { tuple(many) } else { Value::from(many) })
        }
        _ => Err(wrong()),
    }
}

/// Computes with numbers.
pub(super) fn calculate(operator: &str, a: Number, b: Number) -> Result<Number, Error> {
    use Number::{Float, Int};
    let too_large = || failed(format!("{operator}: the result is too large"));
    if matches!(operator, "/" | "//" | "%") && b.float() == 0.0 {
        return Err(failed(format!("{operator}: division by zero")));
    }
    Ok(match (operator, a, b) {
        ("+", Int(a), Int(b)) => Int(a.checked_add(b).ok_or_else(too_large)?),
        ("-", Int(a), Int(b)) => Int(a.checked_sub(b).ok_or_else(too_large)?),
        ("*", Int(a), Int(b)) => Int(a.checked_mul(b).ok_or_else(too_large)?),
        ("//", Int(a), Int(b)) => {
            let quotient = a.checked_div(b).ok_or_else(too_large)?;
            Int(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        ("%", Int(a), Int(b)) => {
            let rest = a.checked_rem(b).ok_or_else(too_large)?;
            Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        ("**", Int(a), Int(b)) if b >= 0 => {
            let exponent = u32::try_from(b).unwrap_or(u32::MAX);
            Int(match a {
                0 | 1 => {
                    if b == 0 {
                        1
                    } else {
                        a
                    }
                }
                -1 => {
                    if b % 2 == 0 {
                        1
                    } else {
                        -1
                    }
                }
                _ => a.checked_pow(exponent).ok_or_else(too_large)?,
            })
        }
        ("+", a, b) => Float(a.float() + b.float()),
        ("-", a, b) => Float(a.float() - b.float()),
        ("*", a, b) => Float(a.float() * b.float()),
        ("/", a, b) => Float(a.float() / b.float()),
        ("//", a, b) => {
            let (a, b) = (a.float(), b.float());
            Float(((a - remainder(a, b)) / b).round())
        }
        ("%", a, b) => Float(remainder(a.float(), b.float())),
        ("**", a, b) => {
            let (a, b) = (a.float(), b.float());
            if (a == 0.0 && b < 0.0) || (a < 0.0 && b.fract() != 0.0) {
                return Err(failed("**: the result is no real number"));
            }
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(too_large());
            }
            Float(power)
        }
        _ => return Err(failed(format!("unknown operator {operator}"))),
    })
}

/// The rest of a division, with the divisor's sign.
fn remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest == 0.0 {
        rest.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

/// `-value` or `+value`.
pub(super) fn signed(value: &Value, negative: bool) -> Result<Value, Error> {
    let found =
        number(value).ok_or_else(|| failed(format!("-: expected a number, found {}", kind_name(value))))?;
    Ok(match found {
        Number::Int(int) if negative => Number::Int(int.checked_neg().ok_or_else(|| failed("-: too large"))?),
        Number::Float(float) if negative => Number::Float(-float),
        other => other,
    }
    .value())
}

/// Compares a chain: `a < b <= c`.
pub(super) fn comparison(first: &Value, rest: &[Value]) -> Result<Value, Error> {
    let mut left = first;
    for pair in rest.chunks_exact(2) {
        if !holds(pair[0].as_str().unwrap_or_default(), left, &pair[1])? {
            return Ok(Value::from(false));
        }
        left = &pair[1];
    }
    Ok(Value::from(true))
}

/// Whether one comparison holds.
pub(super) fn holds(operator: &str, a: &Value, b: &Value) -> Result<bool, Error> {
    let order = |wanted: fn(Ordering) -> bool| Ok(compare(a, b)?.is_some_and(wanted));
    match operator {
        "==" => Ok(equal(a, b)),
        "!=" => Ok(!equal(a, b)),
        "<" => order(Ordering::is_lt),
        "<=" => order(Ordering::is_le),
        ">" => order(Ordering::is_gt),
        ">=" => order(Ordering::is_ge),
        "in" => contains(b, a),
        "not in" => Ok(!contains(b, a)?),
        _ => Err(failed(format!("unknown operator {operator}"))),
    }
}

/// `a ~ b ~ c`.
pub(super) fn concatenation(first: &Value, rest: &[Value]) -> Result<Value, Error> {
    let mut text = to_text(first)?;
    for value in rest {
        write_text(&mut text, value)?;
    }
    charge(text.len())?;
    Ok(Value::from(text))
}

/// Joins values of which some are safe: Jinja then escapes the others for HTML.
fn safe_join(values: &[&Value]) -> Result<Value, Error> {
    let mut text = String::new();
    for value in values {
        let part = to_text(value)?;
        let part = if value.is_safe() { Value::from(part) } else { escaped(&part)? };
        write_text(&mut text, &part)?;
    }
    Ok(Value::from_safe_string(text))
}

/// A text escaped for HTML, which Jinja escapes no more.
pub(super) fn escaped(text: &str) -> Result<Value, Error> {
    charge(text.len().saturating_mul(5))?;
    Ok(Value::from_safe_string(Text::new(text).map(|_, c, out| match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '\'' => out.push_str("&#39;"),
        '"' => out.push_str("&#34;"),
        c => out.push(c),
    })))
}

/// `value[key]`.
pub(super) fn item(value: &Value, key: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return value.get_item(key);
    }
    let found = match value.kind() {
        ValueKind::Map => get(value, key),
        ValueKind::Seq if key.as_str().is_some() => {
            value.as_object().and_then(|object| object.get_value(key))
        }
        ValueKind::String | ValueKind::Seq | ValueKind::Iterable => {
            int(key).and_then(|index| at(value, index))
        }
        _ => None,
    };
    let method = || key.as_str().and_then(|name| Method::of(value, name));
    Ok(found.or_else(method).unwrap_or(Value::UNDEFINED))
}

/// `value.name`, where the name is also that of a method.
pub(super) fn attribute(value: &Value, name: &str) -> Result<Value, Error> {
    match Method::of(value, name) {
        Some(method) => Ok(method),
        None => value.get_attr(name),
    }
}

/// The item with this number, counted from the end if it is negative.
fn at(value: &Value, index: i128) -> Option<Value> {
    let from_end = |len: usize| {
        let index = if index < 0 { index + len as i128 } else { index };
        usize::try_from(index).ok().filter(|&index| index < len)
    };
    if let Some(text) = value.as_str() {
        let text = Text::new(text);
        let start = text.offset(from_end(text.len())?);
        let length = text.plain()[start..].chars().next().map_or(0, char::len_utf8);
        return Some(Value::from(text.piece(start..start + length)));
    }
    if let Some(range) = value.downcast_object_ref::<Range>() {
        return range.at(from_end(range.len)?);
    }
    if value.kind() != ValueKind::Seq || value.downcast_object_ref::<View>().is_some() {
        return None;
    }
    value.as_object()?.get_value(&Value::from(from_end(value.len()?)?))
}

/// `value[start:stop:step]`.
pub(super) fn slice(value: &Value, bounds: [&Value; 3]) -> Result<Value, Error> {
    if value.is_undefined() {
        return value.get_item(bounds[0]);
    }
    if bounds.iter().any(|bound| !bound.is_none() && int(bound).is_none()) {
        return Err(failed("[:]: expected integers as the bounds of a slice"));
    }
    let bounds = bounds.map(int);
    if bounds[2] == Some(0) {
        return Err(failed("[::]: the step is 0"));
    }
    if let Some(text) = value.as_str() {
        let text = Text::new(text);
        let len = text.len();
        if bounds[2].unwrap_or(1) == 1 {
            let (start, stop, _) = extent(len, bounds);
            let (start, stop) = (text.offset(start as usize), text.offset(stop.max(start) as usize));
            return made(text.piece(start..stop));
        }
        charge_items(len)?;
        let chars: Vec<String> = text.chars().collect();
        return made(places(len, bounds).into_iter().map(|place| chars[place].as_str()).collect());
    }
    if let Some(range) = value.downcast_object_ref::<Range>() {
        return Ok(range.places(&places(range.len, bounds)));
    }
    if !is_list(value) && !value.is_tuple() {
        return Err(failed(format!("[:]: {} cannot be sliced", kind_name(value))));
    }
    let items = items(value)?;
    let taken = places(items.len(), bounds).into_iter().map(|place| items[place].clone()).collect();
    if value.is_tuple() { Ok(tuple(taken)) } else { list(taken) }
}

/// The first place that a slice takes of `len`, the place where it stops, and its step.
fn extent(len: usize, [start, stop, step]: [Option<i128>; 3]) -> (i128, i128, i128) {
    let (len, step) = (len as i128, step.unwrap_or(1).clamp(-(1 << 62), 1 << 62));
    let (low, high) = if step < 0 { (-1, len - 1) } else { (0, len) };
    let bound = |given: Option<i128>, default: i128| match given {
        None => default,
        Some(given) if given < 0 => given.saturating_add(len).clamp(low, high),
        Some(given) => given.clamp(low, high),
    };
    match step < 0 {
        true => (bound(start, high), bound(stop, low), step),
        false => (bound(start, low), bound(stop, high), step),
    }
}

/// The places that a slice takes of `len`.
fn places(len: usize, bounds: [Option<i128>; 3]) -> Vec<usize> {
    let (mut at, stop, step) = extent(len, bounds);
    let mut places = Vec::new();
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        places.push(at as usize);
        at += step;
    }
    places
}

/// A dict of pairs. Of pairs with equal keys it has the last value, at the place of the first.
pub(super) fn dict(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
    charge_items(pairs.len().saturating_mul(2))?;
    Ok(Value::from_pairs(pairs))
}
