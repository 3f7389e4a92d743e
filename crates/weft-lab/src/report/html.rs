//! Escaped text and readable numbers for HTML.

use std::fmt::{self, Display, Write as _};

/// Text that [`Display`] escapes for HTML, between tags and in quoted attributes.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            // Line ends are used in tooltips; other control characters are not allowed.
            c if c.is_control() && c != '\n' => f.write_char('\u{FFFD}'),
            c => f.write_char(c),
        })
    }
}

/// A number with three significant digits and a unit prefix; a dash for NaN and infinity.
pub(super) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let (scaled, unit) = match size {
        _ if size >= 999.5e9 => (value / 1e12, " T"),
        _ if size >= 999.5e6 => (value / 1e9, " G"),
        _ if size >= 999.5e3 => (value / 1e6, " M"),
        _ if size >= 9999.5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{scaled:.digits$}{unit}")
}

/// A number on an axis: as [`short`], without trailing zeros.
pub(super) fn tick(value: f64) -> String {
    let text = short(value);
    let (number, unit) = text.split_once(' ').map_or((text.as_str(), ""), |(number, unit)| (number, unit));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}").trim_end().to_string()
}

/// A fraction as a percentage with its sign: `+2.5 %`.
pub(super) fn signed_percent(part: f64) -> String {
    // A true minus sign is as wide as a plus.
    format!("{:+.1} %", 100.0 * part).replace('-', "−")
}

/// A fraction as a percentage; a dash for NaN and infinity.
pub(super) fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.1} %", 100.0 * part).replace('-', "−") } else { "–".into() }
}

/// The position from 0 to `width` of a value on an axis from `from` to `to`; values outside are at its ends.
pub(super) fn place(value: f64, [from, to]: [f64; 2], width: f64) -> f64 {
    let part = ((value - from) / (to - from)).clamp(0.0, 1.0);
    if part.is_nan() { 0.0 } else { part * width }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_tag() {
        let text = "<script>alert(\"1\")</script> & 'x'\u{1b}[2J";
        let escaped = Escaped(text).to_string();
        assert_eq!(escaped, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;\u{FFFD}[2J");
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, text) in [
            (0.01234, "0.012"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (123.4, "123"),
            (9_999.0, "9999"),
            (12_345.0, "12.3 k"),
            (2_010_000_000.0, "2.01 G"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!([0.0, 0.01, 10.0, 100.0, 1e10].map(tick), ["0", "0.01", "10", "100", "10 G"]);
        assert_eq!((percent(0.5), percent(f64::NAN)), ("50.0 %".into(), "–".into()));
        assert_eq!((signed_percent(0.0251), signed_percent(-0.5)), ("+2.5 %".into(), "−50.0 %".into()));
    }

    #[test]
    fn places_are_on_the_axis() {
        let places = [0.0, 5.0, 10.0, 99.0, f64::NAN].map(|value| place(value, [0.0, 10.0], 300.0));
        assert_eq!(places, [0.0, 150.0, 300.0, 300.0, 0.0]);
        assert_eq!(place(1.0, [1.0, 1.0], 300.0), 0.0);
    }
}
