//! `str.format`: replacement fields and their format specifications.

use minijinja::{Error, Value};

use super::digits;
use crate::template::python::args::Args;
use crate::template::python::budget::{charge, failed};
use crate::template::python::operators::item;
use crate::template::python::text::{Text, is_marked, plain};
use crate::template::python::values::{Number, kind_name, number, to_text, write_repr};

/// Fields within the specifications of fields.
const MAX_DEPTH: usize = 2;

/// `str.format(*args, **kwargs)`.
///
/// # Errors
/// If the format or the arguments are wrong, or the text is too long.
pub(in crate::template::python) fn format(encoded: &str, args: &Args) -> Result<Value, Error> {
    let mut out = String::new();
    expand(&mut out, encoded, args, &mut 0, MAX_DEPTH)?;
    Ok(Value::from(out))
}

fn expand(
    out: &mut String,
    encoded: &str,
    args: &Args,
    count: &mut usize,
    depth: usize,
) -> Result<(), Error> {
    if depth == 0 {
        return Err(failed("format: fields are nested too deep"));
    }
    let text = Text::new(encoded);
    let format = text.plain();
    charge(format.len())?;
    let mut at = 0;
    while let Some(found) = format[at..].find(['{', '}']) {
        text.push_piece(out, at..at + found);
        at += found;
        let rest = &format[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            text.push_piece(out, at..at + 1);
            at += 2;
            continue;
        }
        if rest.starts_with('}') {
            return Err(failed("format: single '}' in the format"));
        }
        let mut open = 0;
        let end = rest.char_indices().find(|&(_, c)| {
            open += i32::from(c == '{') - i32::from(c == '}');
            open == 0
        });
        let (end, _) = end.ok_or_else(|| failed("format: expected '}' before the end of the format"))?;
        field(out, &rest[1..end], args, count, depth)?;
        at += end + 1;
    }
    text.push_piece(out, at..format.len());
    Ok(())
}

fn field(out: &mut String, field: &str, args: &Args, count: &mut usize, depth: usize) -> Result<(), Error> {
    let name_end = field.find(['!', ':']).unwrap_or(field.len());
    let (name, rest) = field.split_at(name_end);
    let (conversion, spec) = match rest.strip_prefix('!') {
        Some(rest) => {
            rest.split_once(':').map_or((Some(rest), ""), |(conversion, spec)| (Some(conversion), spec))
        }
        None => (None, rest.strip_prefix(':').unwrap_or("")),
    };
    let mut value = lookup(name, args, count)?;
    value = match conversion {
        None => value,
        Some("s") => Value::from(to_text(&value)?),
        Some("r" | "a") => {
            let mut text = String::new();
            write_repr(&mut text, &value)?;
            Value::from(text)
        }
        Some(other) => return Err(failed(format!("format: unknown conversion {other:?}"))),
    };
    let mut expanded = String::new();
    if spec.contains(['{', '}']) {
        expand(&mut expanded, spec, args, count, depth - 1)?;
    } else {
        expanded.push_str(spec);
    }
    if is_marked(&expanded) {
        return Err(failed("format: a value cannot be the specification of another"));
    }
    with_spec(out, &value, &expanded)
}

/// Finds the value of a field such as `0`, `name` or `user.name[0]`.
fn lookup(name: &str, args: &Args, count: &mut usize) -> Result<Value, Error> {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (first, mut rest) = name.split_at(end);
    let missing = || failed(format!("format: there is no argument {first:?}"));
    let mut value = if first.is_empty() {
        *count += 1;
        args.positional.get(*count - 1).cloned().ok_or_else(missing)?
    } else if let Ok(index) = first.parse::<usize>() {
        args.positional.get(index).cloned().ok_or_else(missing)?
    } else {
        let found = args.named.iter().find(|(known, _)| known == first);
        found.map(|(_, value)| value.clone()).ok_or_else(missing)?
    };
    while !rest.is_empty() {
        if let Some(index) = rest.strip_prefix('[') {
            let (key, left) = index.split_once(']').ok_or_else(|| failed("format: expected ']'"))?;
            let key = key.parse::<i64>().map_or_else(|_| Value::from(key), Value::from);
            value = item(&value, &key)?;
            rest = left;
        } else {
            // In Python these are attributes, and no attribute of a dict is data.
            return Err(failed("format: attributes of fields are not supported"));
        }
        if value.is_undefined() {
            return Err(missing());
        }
    }
    Ok(value)
}

/// `[[fill]align][sign][#][0][width][grouping][.precision][type]`
#[derive(Debug)]
struct Spec {
    fill: char,
    align: Option<char>,
    sign: char,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    form: Option<char>,
}

fn parse(spec: &str) -> Result<Spec, Error> {
    let wrong = || failed(format!("format: invalid specification {spec:?}"));
    let is_align = |c: &char| matches!(c, '<' | '>' | '=' | '^');
    let chars: Vec<char> = spec.chars().collect();
    let mut at = 0;
    let mut parsed = Spec {
        fill: ' ',
        align: None,
        sign: '-',
        alternate: false,
        width: 0,
        grouping: None,
        precision: None,
        form: None,
    };
    let has_fill = chars.get(1).is_some_and(is_align);
    if has_fill {
        (parsed.fill, parsed.align) = (chars[0], chars.get(1).copied());
        at = 2;
    } else if chars.first().is_some_and(is_align) {
        parsed.align = chars.first().copied();
        at = 1;
    }
    let accept = |at: &mut usize, wanted: &[char]| {
        let found = chars.get(*at).copied().filter(|c| wanted.contains(c));
        *at += usize::from(found.is_some());
        found
    };
    parsed.sign = accept(&mut at, &['+', '-', ' ']).unwrap_or('-');
    parsed.alternate = accept(&mut at, &['#']).is_some();
    if accept(&mut at, &['0']).is_some() {
        parsed.fill = if has_fill { parsed.fill } else { '0' };
        parsed.align = parsed.align.or(Some('='));
    }
    let digits = |at: &mut usize| {
        let mut size = None;
        while let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(10)) {
            size = Some(size.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit as usize));
            *at += 1;
        }
        size
    };
    parsed.width = digits(&mut at).unwrap_or(0);
    parsed.grouping = accept(&mut at, &[',', '_']);
    if accept(&mut at, &['.']).is_some() {
        parsed.precision = Some(digits(&mut at).ok_or_else(wrong)?);
    }
    parsed.form = chars.get(at).copied();
    if chars.len() > at + usize::from(parsed.form.is_some()) {
        return Err(wrong());
    }
    Ok(parsed)
}

fn with_spec(out: &mut String, value: &Value, spec: &str) -> Result<(), Error> {
    if spec.is_empty() {
        let text = to_text(value)?;
        out.push_str(&text);
        return Ok(());
    }
    let parsed = parse(spec)?;
    let wrong = || failed(format!("format: specification {spec:?} does not fit {}", kind_name(value)));
    let (sign, body, default_align) = match (value.as_str(), number(value)) {
        (Some(text), _) if matches!(parsed.form, None | Some('s')) => {
            if parsed.align == Some('=') || parsed.grouping.is_some() || parsed.sign != '-' {
                return Err(wrong());
            }
            let text = Text::new(text);
            let end = parsed.precision.map_or(text.plain().len(), |precision| text.offset(precision));
            (String::new(), text.piece(0..end), '<')
        }
        (None, Some(number)) => {
            let (sign, body) = number_text(number, &parsed, value).ok_or_else(wrong)??;
            (sign, body, '>')
        }
        _ => return Err(wrong()),
    };
    let len = plain(&body).chars().count() + sign.len();
    let missing = parsed.width.saturating_sub(len);
    charge(missing.saturating_mul(parsed.fill.len_utf8()).saturating_add(body.len()))?;
    let fill = |count: usize| parsed.fill.to_string().repeat(count);
    out.push_str(&match parsed.align.unwrap_or(default_align) {
        '<' => sign + &body + &fill(missing),
        '=' => sign + &fill(missing) + &body,
        '^' => fill(missing / 2) + &sign + &body + &fill(missing - missing / 2),
        _ => fill(missing) + &sign + &body,
    });
    Ok(())
}

/// The sign and the digits of a number; nothing if the type does not fit.
fn number_text(number: Number, spec: &Spec, value: &Value) -> Option<Result<(String, String), Error>> {
    let is_bool = value.kind() == minijinja::value::ValueKind::Bool;
    let form = match (spec.form, number) {
        (None, Number::Int(_)) if is_bool => 'd',
        (None, Number::Int(_)) => 'd',
        (None, Number::Float(_)) => 'r',
        (Some(form), _) => form,
    };
    let negative = match number {
        Number::Int(int) => int < 0,
        Number::Float(float) => float.is_sign_negative() && !float.is_nan(),
    };
    let mut sign = match (negative, spec.sign) {
        (true, _) => "-".to_owned(),
        (false, '-') => String::new(),
        (false, sign) => sign.to_string(),
    };
    let body = match (form, number) {
        ('d' | 'x' | 'X' | 'o' | 'b', Number::Int(int)) if spec.precision.is_none() => {
            if spec.alternate && form != 'd' {
                sign.extend(['0', form]);
            }
            digits::integer(int.unsigned_abs(), form)
        }
        ('n', Number::Int(int)) => digits::integer(int.unsigned_abs(), 'd'),
        ('c', Number::Int(int)) => u32::try_from(int).ok().and_then(char::from_u32)?.to_string(),
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n', number) => {
            let form = if form == 'n' { 'g' } else { form };
            match digits::float(number.float(), form, spec.precision, spec.alternate) {
                Ok(body) => body,
                Err(error) => return Some(Err(error)),
            }
        }
        ('%', number) => match digits::float(number.float() * 100.0, 'f', spec.precision, spec.alternate) {
            Ok(body) => body + "%",
            Err(error) => return Some(Err(error)),
        },
        ('r', Number::Float(float)) => match spec.precision {
            None => {
                let mut text = String::new();
                crate::template::number::write_float(&mut text, float.abs(), ["nan", "inf"]);
                text
            }
            Some(precision) => match digits::float(float, 'g', Some(precision), spec.alternate) {
                Ok(body) if body.contains(['.', 'e', 'n']) => body,
                Ok(body) => body + ".0",
                Err(error) => return Some(Err(error)),
            },
        },
        _ => return None,
    };
    let body = match spec.grouping {
        Some(separator) => {
            digits::grouped(&body, separator, if matches!(form, 'x' | 'X' | 'o' | 'b') { 4 } else { 3 })
        }
        None => body,
    };
    Some(Ok((sign, body)))
}
