//! Floats as Python writes them, in text and in JSON.

use std::fmt::Write as _;

/// Writes a float as Python's `repr` does: the shortest digits that round-trip, with an exponent below 1e-4 and from 1e16. `names` are the
/// words for NaN and infinity.
pub(super) fn write_float(text: &mut String, value: f64, names: [&str; 2]) {
    let magnitude = value.abs();
    let _ = if value.is_nan() {
        write!(text, "{}", names[0])
    } else if value.is_infinite() {
        write!(text, "{}{}", if value < 0.0 { "-" } else { "" }, names[1])
    } else if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        // Rust writes 1e-5 and 1.5e300; Python 1e-05 and 1.5e+300.
        let digits = format!("{value:e}");
        let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        write!(text, "{mantissa}e{sign}{exponent:0>2}")
    } else {
        // `Debug` keeps the ".0" of whole numbers.
        write!(text, "{value:?}")
    };
}
