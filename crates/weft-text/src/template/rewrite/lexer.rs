//! The tokens within a template's tags.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword.
    Name(String),
    /// A string, without its quotes and escapes.
    Text(String),
    /// A number, as minijinja reads it.
    Number(String),
    /// An operator or another sign.
    Sign(&'static str),
}

/// The signs, longer ones before those that they begin with.
const SIGNS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{",
    "}", "|", ".", ",", ":", ";",
];

/// The elements of a tag.
#[derive(Debug)]
pub(super) struct Tag<'s> {
    pub(super) tokens: Vec<Token>,
    /// The white space control at its end: `-`, `+` or nothing.
    pub(super) end: &'s str,
    /// Its length, with its end.
    pub(super) length: usize,
}

/// Reads a tag up to its end, which is `%}` or `}}`; nothing if it has none, or a sign that no tag may have.
pub(super) fn tag<'s>(source: &'s str, end: &str) -> Option<Tag<'s>> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        let rest = &source[at..];
        if depth == 0 {
            let sign = &rest[..usize::from(rest.starts_with(['-', '+']))];
            if rest[sign.len()..].starts_with(end) && (sign != "+" || end == "%}") {
                return Some(Tag { tokens, end: sign, length: at + sign.len() + end.len() });
            }
        }
        let c = rest.chars().next()?;
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c == '"' || c == '\'' {
            let (text, length) = string(&rest[1..], c)?;
            tokens.push(Token::Text(text));
            at += 1 + length;
        } else if c.is_ascii_digit() {
            let (number, length) = number(rest)?;
            tokens.push(Token::Number(number));
            at += length;
        } else if c.is_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..length].to_owned()));
            at += length;
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            match *sign {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            tokens.push(Token::Sign(sign));
            at += sign.len();
        }
    }
}

/// Reads a string up to its closing quote. Returns its value, and its length with the quote.
fn string(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some((value, at + 1));
        }
        if c != '\\' {
            value.push(c);
            continue;
        }
        let (_, escaped) = chars.next()?;
        let mut code = |digits: usize, radix: u32, first: Option<u32>| {
            let mut code = first.unwrap_or(0);
            for place in 0..digits {
                let digit = chars.peek().and_then(|(_, c)| c.to_digit(radix));
                let Some(digit) = digit else {
                    return if radix == 8 && place > 0 || first.is_some() { Some(code) } else { None };
                };
                chars.next();
                code = code.checked_mul(radix)?.checked_add(digit)?;
            }
            Some(code)
        };
        match escaped {
            '\n' => {}
            'a' => value.push('\u{7}'),
            'b' => value.push('\u{8}'),
            'f' => value.push('\u{C}'),
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            'v' => value.push('\u{B}'),
            'x' => value.push(char::from_u32(code(2, 16, None)?)?),
            'u' => {
                let mut unit = code(4, 16, None)?;
                // Python accepts half of a pair. Only whole pairs are read here, because templates mean those.
                if (0xD800..0xDC00).contains(&unit) {
                    let (_, '\\') = chars.next()? else { return None };
                    let (_, 'u') = chars.next()? else { return None };
                    let mut low = 0;
                    for _ in 0..4 {
                        low = low * 16 + chars.next()?.1.to_digit(16)?;
                    }
                    unit = 0x10000 + ((unit - 0xD800) << 10) + low.checked_sub(0xDC00)?;
                }
                value.push(char::from_u32(unit)?);
            }
            'U' => value.push(char::from_u32(code(8, 16, None)?)?),
            'N' => return None,
            '0'..='7' => value.push(char::from_u32(code(2, 8, escaped.to_digit(8))?)?),
            '\\' | '\'' | '"' => value.push(escaped),
            other => value.extend(['\\', other]),
        }
    }
    None
}

/// Reads a number. Returns it as minijinja reads it, and its length.
fn number(rest: &str) -> Option<(String, usize)> {
    let lower = rest.get(..2).unwrap_or_default().to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if lower == prefix {
            let length = rest[2..].find(|c: char| !c.is_digit(radix) && c != '_').unwrap_or(rest.len() - 2);
            let value = u128::from_str_radix(&rest[2..2 + length].replace('_', ""), radix).ok()?;
            return Some((value.to_string(), 2 + length));
        }
    }
    let digits = |text: &str| {
        let length = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
        text[..length].trim_end_matches('_').len()
    };
    let mut length = digits(rest);
    let mut is_float = false;
    let after_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if let Some(fraction) = rest[length..].strip_prefix('.').filter(|fraction| after_digit(fraction)) {
        is_float = true;
        length += 1 + digits(fraction);
    }
    if let Some(exponent) = rest[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if after_digit(&exponent[sign..]) {
            is_float = true;
            length += 1 + sign + digits(&exponent[sign..]);
        }
    }
    let text = rest[..length].replace('_', "");
    if is_float {
        let value: f64 = text.parse().ok()?;
        // minijinja reads `1e400` as infinity too.
        return Some((if value.is_infinite() { "1e999".to_owned() } else { format!("{value:?}") }, length));
    }
    Some((text.trim_start_matches('0').to_owned(), length)).map(|(text, length)| match text.is_empty() {
        true => ("0".to_owned(), length),
        false => (text, length),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_end_outside_of_braces_and_strings() {
        let found = tag(" {'a': {}} ~ '}}' -}} rest", "}}").unwrap();
        assert_eq!((found.end, found.length), ("-", 21));
        assert_eq!(found.tokens.len(), 8);
        assert!(tag("a }} b %", "%}").is_none());
        assert!(tag("'a", "}}").is_none());
        assert!(tag("a $ b }}", "}}").is_none());
    }

    #[test]
    fn strings_and_numbers() {
        let text = |source: &str| tag(source, "}}").map(|found| found.tokens);
        let is = |source: &str, expected: &str| {
            assert_eq!(text(source), Some(vec![Token::Text(expected.into())]), "{source}");
        };
        is(r#"'a\n\t\\\'\"\x41\u00e9\d\101\U0001F600\ud83d\ude00'}}"#, "a\n\t\\'\"Aé\\dA😀😀");
        is("\"it's\"}}", "it's");
        let number = |source: &str, expected: &str| {
            assert_eq!(text(source), Some(vec![Token::Number(expected.into())]), "{source}");
        };
        number("1_000}}", "1000");
        number("0x1F}}", "31");
        number("1.50}}", "1.5");
        number("1e3}}", "1000.0");
        number("007}}", "7");
        assert_eq!(text("1.a}}").unwrap().len(), 3);
    }
}
