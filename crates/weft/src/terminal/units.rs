//! Sizes and counts as people write them.

/// Formats bytes in decimal units, such as `98.4 MB`.
pub(crate) fn bytes(count: u64) -> String {
    scaled(count, &["bytes", "kB", "MB", "GB", "TB"])
}

/// Formats a count in decimal units, such as `134.5 M`.
pub(crate) fn count(count: u64) -> String {
    scaled(count, &["", "k", "M", "B", "T"])
}

/// Parses bytes such as `500M`, `4G`, `1.5 GB` or `2GiB`.
///
/// # Errors
/// What was expected, if it is not a size or more than 2^64 - 1 bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("`{text}` is not a size; expected a number of bytes or one such as 500M, 4G or 1.5GiB");
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (unit, base) = unit.strip_suffix('i').map_or((unit, 1000_u64), |unit| (unit, 1024));
    let power = match unit {
        // `i` alone is no unit.
        "" if base == 1000 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(wrong()),
    };
    // Of a number with a point, an `f64` has all digits that matter.
    let whole = number.parse::<u64>().ok().and_then(|number| number.checked_mul(base.pow(power)));
    let bytes =
        || number.parse::<f64>().ok().filter(|_| number.contains('.')).map(|n| n * base.pow(power) as f64);
    whole.or_else(|| bytes().filter(|bytes| *bytes < u64::MAX as f64).map(|b| b as u64)).ok_or_else(wrong)
}

fn scaled(count: u64, units: &[&str]) -> String {
    if count < 1000 {
        return format!("{count} {}", units[0]).trim_end().to_string();
    }
    let mut value = count as f64;
    let mut unit = 0;
    // 999,950 would round to 1000.0.
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_in_decimal_and_binary_units() {
        for (text, expected) in [
            ("0", 0),
            ("1234", 1234),
            ("500M", 500_000_000),
            ("4G", 4_000_000_000),
            ("4 gb", 4_000_000_000),
            ("1.5GiB", 3 << 29),
            ("2k", 2000),
            ("2Ki", 2048),
            ("0.5T", 500_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        for wrong in [
            "",
            "G",
            "4X",
            "4GG",
            "-1",
            "1e9",
            "4i",
            "1..5G",
            ".",
            "many",
            "18446744073709551616",
            "99999999T",
            "99999999.5T",
        ] {
            assert!(
                parse_bytes(wrong).is_err_and(|why| why.contains(wrong) && why.contains("500M")),
                "{wrong}"
            );
        }
    }

    #[test]
    fn rounding_can_reach_the_next_unit() {
        for (count, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_995, "10.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.00 MB"),
            (98_362_432, "98.4 MB"),
            (17_046_430_000, "17.0 GB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(bytes(count), expected);
        }
        assert_eq!(super::count(134_515_008), "134.5 M");
        assert_eq!(super::count(7), "7");
    }
}
