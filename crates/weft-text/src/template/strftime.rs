//! Dates in templates: the locale-independent part of C's `strftime`.

use std::fmt::Write as _;

use minijinja::{Error, ErrorKind};

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Formats `now`, in seconds since 1970.
pub(super) fn format(now: i64, format: &str) -> Result<String, Error> {
    let (days, seconds) = (now.div_euclid(86_400), now.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let hour12 = (hour + 11) % 12 + 1;
    // 1970-01-01 was a Thursday.
    let weekday = DAYS[(days + 4).rem_euclid(7) as usize];
    let month_name = MONTHS[month as usize - 1];
    let year_day = days - days_from_civil(year, 1, 1) + 1;

    let mut text = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut directive = chars.next();
        // "%-d" is "%d" without its leading zero.
        let padded = directive != Some('-');
        if !padded {
            directive = chars.next();
        }
        let mut number = |value: i64, width: usize| {
            let width = if padded { width } else { 0 };
            let _ = write!(text, "{value:0width$}");
        };
        match directive {
            Some('Y') => number(year, 4),
            Some('y') => number(year.rem_euclid(100), 2),
            Some('m') => number(month, 2),
            Some('d') => number(day, 2),
            Some('j') => number(year_day, 3),
            Some('H') => number(hour, 2),
            Some('I') => number(hour12, 2),
            Some('M') => number(minute, 2),
            Some('S') => number(second, 2),
            Some('p') => text.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('A') => text.push_str(weekday),
            Some('a') => text.push_str(&weekday[..3]),
            Some('B') => text.push_str(month_name),
            Some('b' | 'h') => text.push_str(&month_name[..3]),
            Some('F') => {
                let _ = write!(text, "{year:04}-{month:02}-{day:02}");
            }
            Some('T') => {
                let _ = write!(text, "{hour:02}:{minute:02}:{second:02}");
            }
            Some('e') => {
                let _ = if padded { write!(text, "{day:2}") } else { write!(text, "{day}") };
            }
            Some('R') => {
                let _ = write!(text, "{hour:02}:{minute:02}");
            }
            Some('D' | 'x') => {
                let _ = write!(text, "{month:02}/{day:02}/{:02}", year.rem_euclid(100));
            }
            Some('X') => {
                let _ = write!(text, "{hour:02}:{minute:02}:{second:02}");
            }
            Some('c') => {
                let (weekday, month) = (&weekday[..3], &month_name[..3]);
                let _ = write!(text, "{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}");
            }
            Some('u') => number((days + 3).rem_euclid(7) + 1, 1),
            Some('w') => number((days + 4).rem_euclid(7), 1),
            Some('f') => text.push_str("000000"),
            // The time has no zone.
            Some('Z' | 'z') => {}
            Some('%') => text.push('%'),
            other => {
                let found = other.map_or_else(|| "nothing".to_owned(), |c| format!("{c:?}"));
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    format!(
                        "strftime_now: {found} after % in {format:?}: expected one of YymdejHIMSpAaBbhFTRDxXcuwfZz%"
                    ),
                ));
            }
        }
    }
    Ok(text)
}

/// Converts days since 1970-01-01 to year, month and day.
///
/// If years begin in March, the lengths of months repeat every five months. Source: Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms".
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // since 0000-03-01
    let era = days.div_euclid(146_097); // of 400 years
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of [`civil_from_days`].
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        let all =
            "%Y-%m-%d %H:%M:%S %I%p %a %A %b %B %j %y %-d %-m %-H %F %T %% %e %R %D %x %X %c %u %w %f%Z%z";
        let text = |now| format(now, all).unwrap();
        assert_eq!(
            text(0),
            "1970-01-01 00:00:00 12AM Thu Thursday Jan January 001 70 1 1 0 1970-01-01 00:00:00 %  1 00:00 01/01/70 01/01/70 00:00:00 Thu Jan  1 00:00:00 1970 4 4 000000"
        );
        assert_eq!(
            text(1_709_210_096), // a leap day
            "2024-02-29 12:34:56 12PM Thu Thursday Feb February 060 24 29 2 12 2024-02-29 12:34:56 % 29 12:34 02/29/24 02/29/24 12:34:56 Thu Feb 29 12:34:56 2024 4 4 000000"
        );
        assert_eq!(
            text(-1),
            "1969-12-31 23:59:59 11PM Wed Wednesday Dec December 365 69 31 12 23 1969-12-31 23:59:59 % 31 23:59 12/31/69 12/31/69 23:59:59 Wed Dec 31 23:59:59 1969 3 3 000000"
        );
    }

    #[test]
    fn the_conversions_are_inverse() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }

    #[test]
    fn extreme_times_and_formats() {
        assert!(format(i64::MAX, "%Y %j").is_ok());
        assert!(format(i64::MIN, "%Y %j").is_ok());
        for bad in ["%", "%-", "%Q", "%é"] {
            assert!(format(0, bad).unwrap_err().to_string().contains("expected one of"), "{bad}");
        }
    }
}
