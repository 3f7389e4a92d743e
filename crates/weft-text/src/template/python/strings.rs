//! The methods of `str`. They count characters and keep marks.

use std::ops::Range;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use super::args::{Args, required, string, string_or, truth, whole, whole_or};
use super::budget::{charge, failed, made};
use super::text::{Text, is_space, push_marked};
use super::values::{equal, is_list, items, kind_name, list, pairs, tuple};

pub(super) mod case;
mod digits;
pub(super) mod percent;
mod str_format;

/// Calls a method.
///
/// # Errors
/// [`ErrorKind::UnknownMethod`] if there is none with this name; if the arguments are wrong.
pub(super) fn call(encoded: &str, name: &str, args: Args) -> Result<Value, Error> {
    let text = Text::new(encoded);
    let plain = text.plain();
    let whole_text = 0..plain.len();
    // These do not take arguments by name.
    let fixed = !matches!(name, "split" | "rsplit" | "splitlines" | "format" | "expandtabs");
    if fixed && !args.named.is_empty() {
        return Err(failed(format!("{name}: takes no arguments by name")));
    }
    if name == "format" {
        return str_format::format(encoded, &args);
    }
    if let Some(changed) = case::change(&text, encoded, name) {
        let [] = args.bind(name, [])?;
        return made(changed);
    }
    if let Some(is) = case::is(plain, name) {
        let [] = args.bind(name, [])?;
        return Ok(Value::from(is));
    }
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.bind(name, ["chars"])?;
            let chars = chars.filter(|chars| !chars.is_none());
            let chars =
                chars.map(|chars| string(&chars, name).map(|chars| Text::new(chars).plain().to_owned()));
            let chars = chars.transpose()?;
            made(text.piece(stripped(plain, chars.as_deref(), name != "rstrip", name != "lstrip")))
        }
        "split" | "rsplit" => {
            let [separator, most] = args.bind(name, ["sep", "maxsplit"])?;
            let most = usize::try_from(whole_or(&most, -1, name)?).unwrap_or(usize::MAX);
            let separator = separator.filter(|separator| !separator.is_none());
            let separator =
                separator.map(|separator| string(&separator, name).map(|s| Text::new(s).plain().to_owned()));
            let from_end = name == "rsplit";
            let pieces = match separator.transpose()? {
                None => split_spaces(plain, most, from_end),
                Some(separator) if separator.is_empty() => return Err(failed("split: empty separator")),
                Some(separator) => split(plain, &separator, most, from_end),
            };
            charge(plain.len())?;
            list(pieces.into_iter().map(|piece| Value::from(text.piece(piece))).collect())
        }
        "splitlines" => {
            let [keep] = args.bind(name, ["keepends"])?;
            charge(plain.len())?;
            list(
                lines(plain, truth(&keep, false))
                    .into_iter()
                    .map(|line| Value::from(text.piece(line)))
                    .collect(),
            )
        }
        "partition" | "rpartition" => {
            let [separator] = args.bind(name, ["sep"])?;
            let separator = required(separator, name)?;
            let separator = Text::new(string(&separator, name)?).plain().to_owned();
            if separator.is_empty() {
                return Err(failed("partition: empty separator"));
            }
            charge(plain.len())?;
            let found = if name == "partition" { plain.find(&separator) } else { plain.rfind(&separator) };
            let ranges = match found {
                Some(at) => [0..at, at..at + separator.len(), at + separator.len()..plain.len()],
                None if name == "partition" => [whole_text, 0..0, 0..0],
                None => [0..0, 0..0, whole_text],
            };
            Ok(tuple(ranges.into_iter().map(|range| Value::from(text.piece(range))).collect()))
        }
        "removeprefix" | "removesuffix" => {
            let [part] = args.bind(name, ["part"])?;
            let part = required(part, name)?;
            let part = Text::new(string(&part, name)?).plain().to_owned();
            let range = match name {
                "removeprefix" if plain.starts_with(&part) => part.len()..plain.len(),
                "removesuffix" if plain.ends_with(&part) => 0..plain.len() - part.len(),
                _ => whole_text,
            };
            made(text.piece(range))
        }
        "replace" => {
            let [old, new, most] = args.bind(name, ["old", "new", "count"])?;
            let (old, new) = (required(old, name)?, required(new, name)?);
            replace(&text, string(&old, name)?, string(&new, name)?, whole_or(&most, -1, name)?)
        }
        "startswith" | "endswith" => {
            let [parts, start, end] = args.bind(name, ["prefix", "start", "end"])?;
            let parts = required(parts, name)?;
            let Some(within) = within(&text, &start, &end, name)? else { return Ok(Value::from(false)) };
            let within = &plain[within];
            let has = |part: &Value| {
                let part = string(part, name)?;
                let part = Text::new(part);
                let part = part.plain();
                Ok(if name == "startswith" { within.starts_with(part) } else { within.ends_with(part) })
            };
            if !parts.is_tuple() {
                return has(&parts).map(Value::from);
            }
            for part in items(&parts)? {
                if has(&part)? {
                    return Ok(Value::from(true));
                }
            }
            Ok(Value::from(false))
        }
        "find" | "rfind" | "index" | "rindex" | "count" => {
            let [part, start, end] = args.bind(name, ["sub", "start", "end"])?;
            let part = required(part, name)?;
            let part = Text::new(string(&part, name)?).plain().to_owned();
            let Some(within) = within(&text, &start, &end, name)? else {
                return if name.ends_with("index") {
                    Err(failed("index: not found"))
                } else {
                    Ok(Value::from(if name == "count" { 0 } else { -1 }))
                };
            };
            if name == "count" {
                return Ok(Value::from(plain[within].matches(&part).count()));
            }
            let from = within.start;
            let found =
                if name.starts_with('r') { plain[within].rfind(&part) } else { plain[within].find(&part) };
            match found {
                Some(at) => Ok(Value::from(text.index(from + at))),
                None if name.ends_with("index") => Err(failed("index: not found")),
                None => Ok(Value::from(-1)),
            }
        }
        "ljust" | "rjust" | "center" | "zfill" => {
            let [width, fill] = args.bind(name, ["width", "fillchar"])?;
            let width = whole(&required(width, name)?, name)?;
            if name == "zfill" && fill.is_some() {
                return Err(failed("zfill: expected one argument"));
            }
            let fill = string_or(&fill, " ", name)?;
            pad(&text, name, width, &fill)
        }
        "expandtabs" => {
            let [size] = args.bind(name, ["tabsize"])?;
            expand_tabs(&text, whole_or(&size, 8, name)?)
        }
        "join" => {
            let [values] = args.bind(name, ["iterable"])?;
            let mut joined = String::new();
            for (place, value) in items(&required(values, name)?)?.iter().enumerate() {
                let value = string(value, "join")?;
                charge(encoded.len() + value.len())?;
                joined.push_str(if place > 0 { encoded } else { "" });
                joined.push_str(value);
            }
            Ok(Value::from(joined))
        }
        "format_map" => {
            let [map] = args.bind(name, ["mapping"])?;
            let named = pairs(&required(map, name)?)?;
            let named = named.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
            str_format::format(encoded, &Args { positional: Vec::new(), named: named.collect() })
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// The bytes of a text between two characters; nothing if the first comes after the end.
fn within(
    text: &Text<'_>,
    start: &Option<Value>,
    end: &Option<Value>,
    what: &str,
) -> Result<Option<Range<usize>>, Error> {
    if start.is_none() && end.is_none() {
        return Ok(Some(0..text.plain().len()));
    }
    let len = text.len() as i64;
    let bound = |given: &Option<Value>, default: i64| {
        let given = given.as_ref().filter(|given| !given.is_none());
        let given = given.map_or(Ok(default), |given| whole(given, what))?;
        Ok::<i64, Error>(if given < 0 { given.saturating_add(len).max(0) } else { given })
    };
    let (start, end) = (bound(start, 0)?, bound(end, len)?.min(len));
    Ok((start <= end).then(|| text.offset(start as usize)..text.offset(end as usize)))
}

/// The rest of a text after stripping characters, or white space, from its ends.
pub(super) fn stripped(plain: &str, chars: Option<&str>, start: bool, end: bool) -> Range<usize> {
    let strip = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let first = if start { plain.len() - plain.trim_start_matches(strip).len() } else { 0 };
    let last = if end { plain.trim_end_matches(strip).len() } else { plain.len() };
    first.min(last)..last
}

/// The words between white space.
pub(super) fn words(plain: &str) -> Vec<Range<usize>> {
    split_spaces(plain, usize::MAX, false)
}

fn split_spaces(plain: &str, most: usize, from_end: bool) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut begin = None;
    for (at, c) in plain.char_indices() {
        match (is_space(c), begin) {
            (true, Some(first)) => {
                words.push(first..at);
                begin = None;
            }
            (false, None) => begin = Some(at),
            _ => {}
        }
    }
    words.extend(begin.map(|first| first..plain.len()));
    if words.len() <= most {
        return words;
    }
    if from_end {
        let rest = words.len() - most;
        let joined = words[rest - 1].end;
        words.drain(..rest);
        words.insert(0, 0..joined);
    } else {
        let first = words[most].start;
        words.truncate(most);
        words.push(first..plain.len());
    }
    words
}

fn split(plain: &str, separator: &str, most: usize, from_end: bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    if from_end {
        let mut end = plain.len();
        for (at, _) in plain.rmatch_indices(separator).take(most) {
            pieces.push(at + separator.len()..end);
            end = at;
        }
        pieces.push(0..end);
        pieces.reverse();
    } else {
        let mut begin = 0;
        for (at, _) in plain.match_indices(separator).take(most) {
            pieces.push(begin..at);
            begin = at + separator.len();
        }
        pieces.push(begin..plain.len());
    }
    pieces
}

/// The lines of a text, as `str.splitlines` finds them.
pub(super) fn lines(plain: &str, keep_ends: bool) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut begin = 0;
    let mut chars = plain.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !matches!(
            c,
            '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        ) {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|&(_, next)| next == '\n').is_some() {
            end += 1;
        }
        lines.push(begin..if keep_ends { end } else { at });
        begin = end;
    }
    if begin < plain.len() {
        lines.push(begin..plain.len());
    }
    lines
}

/// `str.replace`.
pub(super) fn replace(text: &Text<'_>, old: &str, new: &str, most: i64) -> Result<Value, Error> {
    let (plain, old) = (text.plain(), Text::new(old).plain().to_owned());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let found = plain.match_indices(&old).take(most).count();
    charge(found.saturating_mul(new.len()).saturating_add(plain.len()))?;
    let mut result = String::new();
    let mut begin = 0;
    for (at, _) in plain.match_indices(&old).take(most) {
        text.push_piece(&mut result, begin..at);
        begin = at + old.len();
        // A template that replaces text that could become a control token does not make one.
        if text.has_marks(at..begin) {
            push_marked(&mut result, new);
        } else {
            result.push_str(new);
        }
    }
    text.push_piece(&mut result, begin..plain.len());
    Ok(Value::from(result))
}

/// `ljust`, `rjust`, `center` and `zfill`.
pub(super) fn pad(text: &Text<'_>, how: &str, width: i64, fill: &str) -> Result<Value, Error> {
    if Text::new(fill).len() != 1 {
        return Err(failed(format!("{how}: expected one character to fill with")));
    }
    let len = text.len() as i64;
    let missing = usize::try_from(width.saturating_sub(len)).unwrap_or(0);
    charge(missing.saturating_mul(fill.len()).saturating_add(text.plain().len()))?;
    let all = text.piece(0..text.plain().len());
    Ok(Value::from(match how {
        "ljust" => all + &fill.repeat(missing),
        "rjust" => fill.repeat(missing) + &all,
        "center" => {
            // As in CPython, where the odd one goes left if the width is odd.
            let left = missing / 2 + (missing & width as usize & 1);
            fill.repeat(left) + &all + &fill.repeat(missing - left)
        }
        _ => {
            let sign = usize::from(text.plain().starts_with(['+', '-']));
            text.piece(0..sign) + &"0".repeat(missing) + &text.piece(sign..text.plain().len())
        }
    }))
}

fn expand_tabs(text: &Text<'_>, size: i64) -> Result<Value, Error> {
    let size = usize::try_from(size).unwrap_or(0);
    let tabs = text.plain().matches('\t').count();
    charge(tabs.saturating_mul(size).saturating_add(text.plain().len()))?;
    let mut column = 0;
    Ok(Value::from(text.map(|_, c, out| match c {
        '\t' if size > 0 => {
            let spaces = size - column % size;
            out.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        }
        '\t' => {}
        c => {
            column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            out.push(c);
        }
    })))
}

/// The methods `index` and `count` of lists and tuples.
pub(super) fn in_list(values: &Value, name: &str, args: Args) -> Result<Value, Error> {
    if values.kind() != ValueKind::Seq || !(is_list(values) || values.is_tuple()) {
        return Err(Error::from(ErrorKind::UnknownMethod));
    }
    let [wanted, start, end] = args.bind(name, ["value", "start", "stop"])?;
    let wanted = required(wanted, name)?;
    let found = items(values)?;
    if name == "count" {
        return Ok(Value::from(found.iter().filter(|item| equal(item, &wanted)).count()));
    }
    let len = found.len() as i64;
    let bound = |given: i64| if given < 0 { given.saturating_add(len).max(0) } else { given.min(len) };
    let (start, end) = (bound(whole_or(&start, 0, name)?), bound(whole_or(&end, len, name)?));
    let place = (start..end).find(|&place| equal(&found[place as usize], &wanted));
    place.map(Value::from).ok_or_else(|| failed(format!("index: {} is not in the list", kind_name(&wanted))))
}
