//! Numbers as text, as the format codes of Python ask for them.

use minijinja::Error;

use crate::template::python::budget::charge;

/// A float in one of the forms `e`, `f` and `g`, without its sign.
///
/// # Errors
/// If the text is too long.
pub(in crate::template::python) fn float(
    value: f64,
    form: char,
    precision: Option<usize>,
    keep_zeros: bool,
) -> Result<String, Error> {
    let value = value.abs();
    let upper = form.is_ascii_uppercase();
    let text = if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        "inf".to_owned()
    } else {
        let precision = precision.unwrap_or(6);
        charge(precision)?;
        match form.to_ascii_lowercase() {
            'e' => exponential(value, precision),
            'f' => fixed(value, precision),
            _ => general(value, precision.max(1), keep_zeros),
        }
    };
    Ok(if upper { text.to_uppercase() } else { text })
}

/// No float has more digits than this after its point.
const MOST_DIGITS: usize = 1100;

fn fixed(value: f64, precision: usize) -> String {
    let exact = precision.min(MOST_DIGITS);
    format!("{value:.exact$}") + &"0".repeat(precision - exact)
}

fn exponential(value: f64, precision: usize) -> String {
    let exact = precision.min(MOST_DIGITS);
    let text = format!("{value:.exact$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}{}e{sign}{exponent:0>2}", "0".repeat(precision - exact))
}

fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let exact = precision.min(MOST_DIGITS);
    let text = exponential(value, exact - 1);
    let exponent: i64 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let without_zeros = |text: &str| {
        if keep_zeros || !text.contains('.') {
            return text.to_owned();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= exact as i64 {
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", without_zeros(digits));
    }
    without_zeros(&fixed(value, (exact as i64 - 1 - exponent).max(0) as usize))
}

/// An integer without its sign, in one of the forms `d`, `x`, `X`, `o` and `b`.
pub(in crate::template::python) fn integer(value: u128, form: char) -> String {
    match form {
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        'o' => format!("{value:o}"),
        'b' => format!("{value:b}"),
        _ => value.to_string(),
    }
}

/// Puts a separator between groups of digits before the point.
pub(in crate::template::python) fn grouped(digits: &str, separator: char, size: usize) -> String {
    let whole = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, c) in digits[..whole].chars().enumerate() {
        if place > 0 && (whole - place).is_multiple_of(size) {
            text.push(separator);
        }
        text.push(c);
    }
    text + &digits[whole..]
}
