//! `format % values`.

use minijinja::{Error, Value};

use super::digits;
use crate::template::python::args::whole;
use crate::template::python::budget::{charge, failed};
use crate::template::python::text::{Text, plain};
use crate::template::python::values::{Number, get, is_dict, items, kind_name, number, to_text, write_repr};

/// One conversion: `%(name)-08.3f`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats values as Python's `%` does.
///
/// # Errors
/// If the format or the values are wrong, or the text is too long.
pub(in crate::template::python) fn format(encoded: &str, values: &Value) -> Result<Value, Error> {
    let text = Text::new(encoded);
    let format = text.plain();
    let mut rest: std::collections::VecDeque<Value> =
        if values.is_tuple() { items(values)?.into() } else { [values.clone()].into() };
    let mut used_names = false;
    let mut out = String::new();
    let mut at = 0;
    while let Some(found) = format[at..].find('%') {
        text.push_piece(&mut out, at..at + found);
        at += found + 1;
        let next = |at: &mut usize| {
            let c = format[*at..].chars().next().ok_or_else(|| failed("%: incomplete format"))?;
            *at += c.len_utf8();
            Ok::<char, Error>(c)
        };
        let mut c = next(&mut at)?;
        let mut named = None;
        if c == '(' {
            let begin = at;
            let mut depth = 1;
            while depth > 0 {
                match next(&mut at)? {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
            }
            if !is_dict(values) {
                return Err(failed("%: the format requires a mapping"));
            }
            let name = &format[begin..at - 1];
            let value = get(values, &Value::from(name));
            named = Some(value.ok_or_else(|| failed(format!("%: there is no {name:?}")))?);
            used_names = true;
            c = next(&mut at)?;
        }
        let mut conversion = Conversion::default();
        loop {
            match c {
                '-' => conversion.left = true,
                '+' => conversion.plus = true,
                ' ' => conversion.space = true,
                '0' => conversion.zero = true,
                '#' => conversion.alternate = true,
                _ => break,
            }
            c = next(&mut at)?;
        }
        let mut take = || rest.pop_front().ok_or_else(|| failed("%: not enough arguments for the format"));
        let mut size = |c: &mut char, at: &mut usize| {
            if *c == '*' {
                *c = next(at)?;
                let given = take()?;
                return whole(&given, "%");
            }
            let mut size = 0_i64;
            while let Some(digit) = c.to_digit(10) {
                size = size.saturating_mul(10).saturating_add(digit.into());
                *c = next(at)?;
            }
            Ok(size)
        };
        let width = size(&mut c, &mut at)?;
        conversion.left |= width < 0;
        conversion.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        if c == '.' {
            c = next(&mut at)?;
            conversion.precision = Some(usize::try_from(size(&mut c, &mut at)?).unwrap_or(0));
        }
        while matches!(c, 'l' | 'h' | 'L') {
            c = next(&mut at)?;
        }
        if c == '%' {
            out.push('%');
            continue;
        }
        let value = match named {
            Some(value) => value,
            None => take()?,
        };
        push(&mut out, &conversion, c, &value)?;
    }
    text.push_piece(&mut out, at..format.len());
    if !rest.is_empty() && !used_names && !is_dict(values) {
        // A list alone is a value too.
        return Err(failed("%: not all arguments were converted"));
    }
    charge(out.len())?;
    Ok(Value::from(out))
}

fn push(out: &mut String, conversion: &Conversion, form: char, value: &Value) -> Result<(), Error> {
    let wrong = |expected: &str| failed(format!("%{form}: expected {expected}, found {}", kind_name(value)));
    let mut sign = String::new();
    let mut zero = conversion.zero && !conversion.left;
    let mut signed = |negative: bool| {
        sign.push_str(match (negative, conversion.plus, conversion.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        });
    };
    let body = match form {
        's' | 'r' | 'a' => {
            zero = false;
            let text = match form {
                's' => to_text(value)?,
                _ => {
                    let mut text = String::new();
                    write_repr(&mut text, value)?;
                    text
                }
            };
            let text = Text::new(&text);
            let end = conversion.precision.map_or(text.plain().len(), |precision| text.offset(precision));
            text.piece(0..end)
        }
        'c' => {
            zero = false;
            match (value.as_str(), number(value)) {
                (Some(text), _) if Text::new(text).len() == 1 => text.to_owned(),
                (None, Some(Number::Int(code))) => {
                    let c = u32::try_from(code).ok().and_then(char::from_u32);
                    c.ok_or_else(|| wrong("a character"))?.to_string()
                }
                _ => return Err(wrong("a character")),
            }
        }
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
            let whole = match number(value).ok_or_else(|| wrong("a number"))? {
                Number::Int(int) => int,
                Number::Float(float) if matches!(form, 'd' | 'i' | 'u') && float.is_finite() => float as i128,
                Number::Float(_) => return Err(wrong("an integer")),
            };
            signed(whole < 0);
            if conversion.alternate && matches!(form, 'o' | 'x' | 'X') {
                sign.extend(['0', form]);
            }
            let digits = digits::integer(whole.unsigned_abs(), form);
            let missing = conversion.precision.unwrap_or(0).saturating_sub(digits.len());
            charge(missing)?;
            "0".repeat(missing) + &digits
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let float = number(value).ok_or_else(|| wrong("a number"))?.float();
            signed(float.is_sign_negative() && !float.is_nan());
            digits::float(float, form, conversion.precision, conversion.alternate)?
        }
        _ => return Err(failed(format!("%: unsupported format character {form:?}"))),
    };
    let len = plain(&body).chars().count() + sign.len();
    let missing = conversion.width.saturating_sub(len);
    charge(missing.saturating_add(body.len()))?;
    if zero {
        out.push_str(&sign);
        out.push_str(&"0".repeat(missing));
        out.push_str(&body);
    } else if conversion.left {
        out.push_str(&sign);
        out.push_str(&body);
        out.push_str(&" ".repeat(missing));
    } else {
        out.push_str(&" ".repeat(missing));
        out.push_str(&sign);
        out.push_str(&body);
    }
    Ok(())
}
