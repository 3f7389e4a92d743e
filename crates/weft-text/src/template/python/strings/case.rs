//! Upper and lower case, and the classes of characters.

use std::sync::LazyLock;

use regex::Regex;

use crate::template::python::text::{Text, is_marked, is_space};

/// Applies a method that changes the case; nothing if it is none of these.
pub(in crate::template::python) fn change(text: &Text<'_>, encoded: &str, name: &str) -> Option<String> {
    Some(match name {
        "lower" if !is_marked(encoded) => encoded.to_lowercase(),
        "upper" if !is_marked(encoded) => encoded.to_uppercase(),
        "lower" => text.map(|_, c, out| out.extend(c.to_lowercase())),
        "upper" => text.map(|_, c, out| out.extend(c.to_uppercase())),
        "casefold" => text.map(|_, c, out| match c {
            'ß' | 'ẞ' => out.push_str("ss"),
            'ς' => out.push('σ'),
            c => out.extend(c.to_lowercase()),
        }),
        "swapcase" => text.map(|_, c, out| {
            if c.is_uppercase() {
                out.extend(c.to_lowercase());
            } else {
                out.extend(c.to_uppercase());
            }
        }),
        "capitalize" => text.map(|at, c, out| {
            if at == 0 {
                push_title(out, c);
            } else {
                out.extend(c.to_lowercase());
            }
        }),
        "title" => {
            let mut within = false;
            text.map(|_, c, out| {
                if std::mem::replace(&mut within, is_cased(c)) {
                    out.extend(c.to_lowercase());
                } else {
                    push_title(out, c);
                }
            })
        }
        _ => return None,
    })
}

/// Writes a character as the first of a word.
pub(in crate::template::python) fn push_title(out: &mut String, c: char) {
    // Letters of two parts have a form of their own.
    if let 'Ǆ'..='ǌ' | 'Ǳ'..='ǳ' = c {
        out.push(match c {
            'Ǆ'..='ǆ' => 'ǅ',
            'Ǉ'..='ǉ' => 'ǈ',
            'Ǌ'..='ǌ' => 'ǋ',
            _ => 'ǲ',
        });
        return;
    }
    let mut upper = c.to_uppercase();
    out.extend(upper.next());
    out.extend(upper.flat_map(char::to_lowercase));
}

fn is_cased(c: char) -> bool {
    c.is_uppercase() || c.is_lowercase()
}

static DECIMAL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Nd}*$").ok());
static NUMERIC: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{N}*$").ok());
static ALPHA: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}*$").ok());
static ALNUM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{N}]*$").ok());
static IDENTIFIER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[_\p{XID_Start}]\p{XID_Continue}*$").ok());
static PRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(?: |[^\p{C}\p{Z}])*$").ok());

/// Applies a method that asks for the kind of characters; nothing if it is none of these.
pub(in crate::template::python) fn is(plain: &str, name: &str) -> Option<bool> {
    let all = |pattern: &LazyLock<Option<Regex>>| {
        !plain.is_empty() && pattern.as_ref().is_some_and(|pattern| pattern.is_match(plain))
    };
    let superscript = |c: char| matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨');
    Some(match name {
        "isalnum" => all(&ALNUM),
        "isalpha" => all(&ALPHA),
        "isascii" => plain.is_ascii(),
        "isdecimal" => all(&DECIMAL),
        "isdigit" => {
            let others: String = plain.chars().filter(|&c| !superscript(c)).collect();
            !plain.is_empty() && DECIMAL.as_ref().is_some_and(|pattern| pattern.is_match(&others))
        }
        "isnumeric" => all(&NUMERIC),
        "isidentifier" => all(&IDENTIFIER),
        "isprintable" => plain.is_empty() || all(&PRINTABLE),
        "isspace" => !plain.is_empty() && plain.chars().all(is_space),
        "islower" => plain.chars().any(char::is_lowercase) && !plain.chars().any(char::is_uppercase),
        "isupper" => plain.chars().any(char::is_uppercase) && !plain.chars().any(char::is_lowercase),
        "istitle" => {
            let (mut found, mut within) = (false, false);
            for c in plain.chars() {
                if (c.is_uppercase() && within) || (c.is_lowercase() && !within) {
                    return Some(false);
                }
                within = is_cased(c);
                found |= within;
            }
            found
        }
        _ => return None,
    })
}
