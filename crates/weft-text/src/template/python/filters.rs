//! The filters of Jinja that work on single values and on strings.

use std::sync::LazyLock;

use minijinja::{Error, State, Value};
use regex::Regex;

use super::args::{Args, required, string, string_or, text_or, truth, whole, whole_or};
use super::budget::{charge, failed, made};
use super::method::Method;
use super::operators::{calculate, escaped};
use super::strings::{case, lines, pad, percent, replace, stripped};
use super::text::{Text, is_space};
use super::values::{Number, is_dict, items, kind_name, length, number, pairs, to_text, tuple};

/// Applies a filter; `None` if no filter here has this name.
pub(super) fn apply(
    _: &mut State<'_, '_>,
    name: &str,
    value: &Value,
    args: Args,
) -> Option<Result<Value, Error>> {
    Some(match name {
        "capitalize" | "lower" | "upper" => cased(name, value, args),
        "title" => title(value, args),
        "abs" => abs(value),
        "attr" => attr(value, args),
        "center" => center(value, args),
        "count" | "length" => length(value).map(Value::from),
        "d" | "default" => default(value, args),
        "e" | "escape" if value.is_safe() => Ok(value.clone()),
        "e" | "escape" | "forceescape" => to_text(value).and_then(|text| escaped(&text)),
        "filesizeformat" => file_size(value, args),
        "float" => to_float(value, args),
        "format" => format(value, args),
        "indent" => indent(value, args),
        "int" => to_int(value, args),
        "replace" => replaced(value, args),
        "round" => round(value, args),
        "safe" => to_text(value).map(Value::from_safe_string),
        "string" if value.is_safe() => Ok(value.clone()),
        "string" => to_text(value).map(Value::from),
        "pprint" => pretty(value),
        "striptags" => strip_tags(value),
        "trim" => trim(value, args),
        "truncate" => truncate(value, args),
        "urlencode" => url_encode(value),
        "wordcount" => word_count(value),
        "wordwrap" => word_wrap(value, args),
        _ => return None,
    })
}

fn cased(name: &str, value: &Value, args: Args) -> Result<Value, Error> {
    let [] = args.bind(name, [])?;
    let text = to_text(value)?;
    made(case::change(&Text::new(&text), &text, name).unwrap_or_default())
}

fn title(value: &Value, args: Args) -> Result<Value, Error> {
    let [] = args.bind("title", [])?;
    let text = to_text(value)?;
    let mut within = false;
    made(Text::new(&text).map(|_, c, out| {
        let splits = is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
        match std::mem::replace(&mut within, !splits) {
            _ if splits => out.push(c),
            true => out.extend(c.to_lowercase()),
            false => out.extend(c.to_uppercase()),
        }
    }))
}

fn a_number(value: &Value, what: &str) -> Result<Number, Error> {
    number(value).ok_or_else(|| failed(format!("{what}: expected a number, found {}", kind_name(value))))
}

fn abs(value: &Value) -> Result<Value, Error> {
    Ok(match a_number(value, "abs")? {
        Number::Int(int) => Number::Int(int.checked_abs().ok_or_else(|| failed("abs: too large"))?),
        Number::Float(float) => Number::Float(float.abs()),
    }
    .value())
}

fn attr(value: &Value, args: Args) -> Result<Value, Error> {
    let [name] = args.bind("attr", ["name"])?;
    let name = to_text(&required(name, "attr")?)?;
    Ok(match Method::of(value, &name) {
        Some(method) => method,
        None if is_dict(value) || value.is_undefined() => Value::UNDEFINED,
        None => value.get_attr(&name)?,
    })
}

fn center(value: &Value, args: Args) -> Result<Value, Error> {
    let [width] = args.bind("center", ["width"])?;
    let text = to_text(value)?;
    pad(&Text::new(&text), "center", whole_or(&width, 80, "center")?, " ")
}

fn default(value: &Value, args: Args) -> Result<Value, Error> {
    let [other, boolean] = args.bind("default", ["default_value", "boolean"])?;
    let use_other = value.is_undefined() || (truth(&boolean, false) && !value.is_true());
    Ok(if use_other { other.unwrap_or_else(|| Value::from("")) } else { value.clone() })
}

fn file_size(value: &Value, args: Args) -> Result<Value, Error> {
    let [binary] = args.bind("filesizeformat", ["binary"])?;
    let binary = truth(&binary, false);
    let bytes = float_of(value).ok_or_else(|| failed("filesizeformat: expected a number"))?;
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", bytes.trunc() as i64)));
    }
    let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
    let mut unit = base * base;
    let mut index = 0;
    while bytes >= unit && index + 1 < prefixes.len() {
        unit *= base;
        index += 1;
    }
    let prefix =
        if binary { prefixes[index].to_uppercase() + "iB" } else { prefixes[index].to_owned() + "B" };
    Ok(Value::from(format!("{:.1} {prefix}", base * bytes / unit)))
}

/// Python's `float()`; nothing if it fails.
fn float_of(value: &Value) -> Option<f64> {
    if let Some(number) = number(value) {
        return Some(number.float());
    }
    let text = Text::new(value.as_str()?).plain().trim_matches(is_space).to_owned();
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['+', '-']);
    let underscores = unsigned.starts_with('_') || unsigned.ends_with('_') || unsigned.contains("__");
    if underscores || unsigned.is_empty() {
        return None;
    }
    lower.replace('_', "").parse().ok()
}

fn to_float(value: &Value, args: Args) -> Result<Value, Error> {
    let [default] = args.bind("float", ["default"])?;
    if value.is_undefined() {
        return Err(failed("float: the value is undefined"));
    }
    Ok(float_of(value).map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from))
}

fn to_int(value: &Value, args: Args) -> Result<Value, Error> {
    let [default, base] = args.bind("int", ["default", "base"])?;
    if value.is_undefined() {
        return Err(failed("int: the value is undefined"));
    }
    let base = whole_or(&base, 10, "int")?;
    let exact = match (value.as_str(), number(value)) {
        (Some(text), _) => int_of_text(Text::new(text).plain(), base),
        (None, Some(Number::Int(int))) => Some(int),
        _ => None,
    };
    let float = float_of(value).filter(|_| exact.is_none());
    if float.is_some_and(f64::is_infinite) {
        return Err(failed("int: the number is infinite"));
    }
    let int = exact.or(float.filter(|float| float.is_finite()).map(|float| float.trunc() as i128));
    Ok(int.map_or_else(|| default.unwrap_or_else(|| Value::from(0)), |int| Number::Int(int).value()))
}

/// Python's `int(text, base)`; nothing if it fails.
fn int_of_text(text: &str, base: i64) -> Option<i128> {
    let text = text.trim_matches(is_space).to_lowercase();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let mut base = u32::try_from(base).ok()?;
    let mut digits = digits;
    for (prefix, of) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = digits.strip_prefix(prefix).filter(|_| base == of || base == 0) {
            (digits, base) = (rest.strip_prefix('_').unwrap_or(rest), of);
        }
    }
    let base = if base == 0 { 10 } else { base };
    let wrong = digits.starts_with(['_', '+', '-']) || digits.ends_with('_') || digits.contains("__");
    if wrong || !(2..=36).contains(&base) {
        return None;
    }
    let value = i128::from_str_radix(&digits.replace('_', ""), base).ok()?;
    Some(if negative { -value } else { value })
}

fn format(value: &Value, args: Args) -> Result<Value, Error> {
    let text = to_text(value)?;
    match (args.positional.is_empty(), args.named.is_empty()) {
        (_, true) => percent::format(&text, &tuple(args.positional)),
        (true, false) => percent::format(&text, &Value::from_pairs(args.named)),
        _ => Err(failed("format: expected arguments either by place or by name")),
    }
}

fn indent(value: &Value, args: Args) -> Result<Value, Error> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"])?;
    let indention = match &width {
        Some(width) if width.as_str().is_some() => width.as_str().unwrap_or_default().to_owned(),
        width => {
            let width = usize::try_from(whole_or(width, 4, "indent")?).unwrap_or(0);
            charge(width)?;
            " ".repeat(width)
        }
    };
    let text = string(value, "indent")?.to_owned() + "\n";
    let text = Text::new(&text);
    let lines = lines(text.plain(), false);
    charge(lines.len().saturating_mul(indention.len() + 1).saturating_add(text.plain().len()))?;
    let mut result = if truth(&first, false) { indention.clone() } else { String::new() };
    for (place, line) in lines.into_iter().enumerate() {
        if place > 0 {
            result.push('\n');
            if truth(&blank, false) || !line.is_empty() {
                result.push_str(&indention);
            }
        }
        text.push_piece(&mut result, line);
    }
    Ok(Value::from(result))
}

fn replaced(value: &Value, args: Args) -> Result<Value, Error> {
    let [old, new, count] = args.bind("replace", ["old", "new", "count"])?;
    let (old, new) = (to_text(&required(old, "replace")?)?, to_text(&required(new, "replace")?)?);
    let count = count.filter(|count| !count.is_none());
    let text = to_text(value)?;
    replace(&Text::new(&text), &old, &new, whole_or(&count, -1, "replace")?)
}

fn round(value: &Value, args: Args) -> Result<Value, Error> {
    let [precision, method] = args.bind("round", ["precision", "method"])?;
    let precision = whole_or(&precision, 0, "round")?.clamp(-400, 400);
    let found = a_number(value, "round")?;
    match string_or(&method, "common", "round")?.as_str() {
        "common" => {}
        method @ ("ceil" | "floor") => {
            let scale = Number::Int(10);
            let scale = calculate("**", scale, Number::Int(precision.into()))?;
            let scaled = calculate("*", found, scale)?.float();
            let rounded = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
            return Ok(calculate("/", Number::Float(rounded), scale)?.value());
        }
        _ => return Err(failed("round: method must be common, ceil or floor")),
    }
    Ok(match found {
        Number::Int(int) if precision >= 0 => Number::Int(int),
        Number::Int(int) => {
            let Some(unit) = 10_i128.checked_pow(precision.unsigned_abs() as u32) else {
                return Ok(Value::from(0));
            };
            let rest = int.rem_euclid(unit);
            let low = int - rest;
            let up = rest * 2 > unit || (rest * 2 == unit && (low / unit) % 2 != 0);
            Number::Int(if up { low + unit } else { low })
        }
        Number::Float(float) if !float.is_finite() => Number::Float(float),
        Number::Float(float) if precision >= 0 => {
            let precision = precision as usize;
            Number::Float(format!("{float:.precision$}").parse().unwrap_or(float))
        }
        Number::Float(float) => {
            let unit = 10_f64.powi(-precision as i32);
            Number::Float((float / unit).round_ties_even() * unit)
        }
    }
    .value())
}

fn pretty(value: &Value) -> Result<Value, Error> {
    let mut text = String::new();
    super::values::write_repr(&mut text, value)?;
    Ok(Value::from(text))
}

static TAGS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)<!--.*?-->|<.*?>").ok());

fn strip_tags(value: &Value) -> Result<Value, Error> {
    let text = to_text(value)?;
    let text = Text::new(&text);
    let mut left = String::new();
    let mut begin = 0;
    for tag in TAGS.iter().flat_map(|tags| tags.find_iter(text.plain())) {
        text.push_piece(&mut left, begin..tag.start());
        begin = tag.end();
    }
    text.push_piece(&mut left, begin..text.plain().len());
    let left = Text::new(&left);
    let words: Vec<String> =
        super::strings::words(left.plain()).into_iter().map(|word| left.piece(word)).collect();
    let mut text = words.join(" ");
    for (entity, c) in
        [("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#34;", "\""), ("&quot;", "\""), ("&amp;", "&")]
    {
        text = text.replace(entity, c);
    }
    made(text)
}

fn trim(value: &Value, args: Args) -> Result<Value, Error> {
    let [chars] = args.bind("trim", ["chars"])?;
    let text = to_text(value)?;
    let text = Text::new(&text);
    let chars = chars.filter(|chars| !chars.is_none());
    let chars = chars.map(|chars| string(&chars, "trim").map(|chars| Text::new(chars).plain().to_owned()));
    made(text.piece(stripped(text.plain(), chars.transpose()?.as_deref(), true, true)))
}

fn truncate(value: &Value, args: Args) -> Result<Value, Error> {
    let [size, kill, end, leeway] = args.bind("truncate", ["length", "killwords", "end", "leeway"])?;
    let size = whole_or(&size, 255, "truncate")?;
    let end = string_or(&end, "...", "truncate")?;
    let leeway = leeway.filter(|leeway| !leeway.is_none());
    let leeway = whole_or(&leeway, 5, "truncate")?;
    if value.is_undefined() {
        return Ok(value.clone());
    }
    let text = string(value, "truncate")?;
    let text = Text::new(text);
    let end_len = Text::new(&end).len() as i64;
    if size < end_len || leeway < 0 {
        return Err(failed(format!("truncate: expected a length of at least {end_len}, found {size}")));
    }
    if text.len() as i64 <= size.saturating_add(leeway) {
        return made(text.piece(0..text.plain().len()));
    }
    let mut cut = text.offset((size - end_len) as usize);
    if !truth(&kill, false) {
        cut = text.plain()[..cut].rfind(' ').unwrap_or(cut);
    }
    made(text.piece(0..cut) + &end)
}

fn url_encode(value: &Value) -> Result<Value, Error> {
    let quote = |value: &Value, query: bool| {
        let text = to_text(value)?;
        charge(text.len().saturating_mul(3))?;
        Ok::<String, Error>(Text::new(&text).map(|_, c, out| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '~') => out.push(c),
            '/' if !query => out.push('/'),
            ' ' if query => out.push('+'),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
        }))
    };
    let is_list = items(value).is_ok() && value.as_str().is_none() && !value.is_undefined();
    if !is_list {
        return Ok(Value::from(quote(value, false)?));
    }
    let pairs = if is_dict(value) {
        pairs(value)?
    } else {
        let list = items(value)?.into_iter();
        list.map(|pair| match &items(&pair)?[..] {
            [key, value] => Ok((key.clone(), value.clone())),
            _ => Err(failed("urlencode: expected pairs")),
        })
        .collect::<Result<_, Error>>()?
    };
    let mut parts = Vec::with_capacity(pairs.len());
    for (key, value) in &pairs {
        parts.push(format!("{}={}", quote(key, true)?, quote(value, true)?));
    }
    Ok(Value::from(parts.join("&")))
}

static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\w+").ok());

fn word_count(value: &Value) -> Result<Value, Error> {
    let text = to_text(value)?;
    Ok(Value::from(
        WORDS.iter().map(|words| words.find_iter(Text::new(&text).plain()).count()).sum::<usize>(),
    ))
}

/// Splits a line where `textwrap` may break it: at white space, and after hyphens between letters.
static BREAKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[\t\n\x0b\x0c\r ]+|[^\t\n\x0b\x0c\r ]*?[^\d\W]{2,}-|[^\t\n\x0b\x0c\r ]+").ok()
});
static SPACES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\t\n\x0b\x0c\r ]+|[^\t\n\x0b\x0c\r ]+").ok());

fn word_wrap(value: &Value, args: Args) -> Result<Value, Error> {
    let names = ["width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let [width, break_long, separator, hyphens] = args.bind("wordwrap", names)?;
    let width = usize::try_from(whole_or(&width, 79, "wordwrap")?).unwrap_or(0);
    if width == 0 {
        return Err(failed("wordwrap: expected a width of at least 1"));
    }
    let separator = separator.filter(|separator| !separator.is_none());
    let separator = text_or(&separator, "\n")?;
    let break_long = truth(&break_long, true);
    let breaks = if truth(&hyphens, true) { &BREAKS } else { &SPACES };
    let text = string(value, "wordwrap")?;
    let text = Text::new(text);
    let plain = text.plain();
    let mut wrapped = Vec::new();
    for line in lines(plain, false) {
        let chunks = breaks.iter().flat_map(|breaks| breaks.find_iter(&plain[line.clone()]));
        let mut chunks: Vec<_> =
            chunks.map(|found| line.start + found.start()..line.start + found.end()).collect();
        chunks.reverse();
        // Python drops white space at the ends of lines, but for the first line's beginning.
        let mut first = true;
        while let Some(chunk) = chunks.pop() {
            if !first && plain[chunk.clone()].trim().is_empty() {
                continue;
            }
            chunks.push(chunk);
            let (begin, mut end, mut taken) =
                (chunks[chunks.len() - 1].start, chunks[chunks.len() - 1].start, 0);
            while let Some(chunk) = chunks.pop() {
                let size = plain[chunk.clone()].chars().count();
                if taken + size <= width {
                    taken += size;
                    end = chunk.end;
                    continue;
                }
                if size > width && (break_long || taken == 0) {
                    let room = if break_long { width - taken } else { size };
                    let cut = plain[chunk.clone()]
                        .char_indices()
                        .nth(room)
                        .map_or(chunk.end, |(at, _)| chunk.start + at);
                    if cut < chunk.end {
                        chunks.push(cut..chunk.end);
                    }
                    end = cut;
                } else {
                    chunks.push(chunk);
                }
                break;
            }
            let kept = begin + plain[begin..end].trim_end().len();
            if kept > begin {
                charge(kept - begin + separator.len())?;
                wrapped.push(text.piece(begin..kept));
            }
            first = false;
        }
        if line.is_empty() {
            wrapped.push(String::new());
        }
    }
    made(wrapped.join(&separator))
}

/// A count of items.
pub(super) fn count(value: Option<Value>, what: &str) -> Result<usize, Error> {
    let count = whole(&required(value, what)?, what)?;
    usize::try_from(count)
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(|| failed(format!("{what}: expected at least 1")))
}
