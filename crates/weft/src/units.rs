//! Formats sizes and counts for people.

/// Formats bytes in decimal units, such as `98.4 MB`.
pub(crate) fn bytes(count: u64) -> String {
    scaled(count, &["bytes", "kB", "MB", "GB", "TB"])
}

/// Formats a count in decimal units, such as `134.5 M`.
pub(crate) fn count(count: u64) -> String {
    scaled(count, &["", "k", "M", "B", "T"])
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
