//! Parses the values of options.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use weft_engine::{Decision, Mode, decision, decisions};
use weft_hub::suggest;

use crate::cli::knobs::{Kind, Knob};

/// A list of integers, as one argument. It has a type of its own, because the parser takes a `Vec` for several values.
#[derive(Clone, Debug)]
pub(crate) struct Counts(pub(crate) Vec<u64>);

/// A list of token ids, as one argument.
#[derive(Clone, Debug)]
pub(crate) struct Ids(pub(crate) Vec<u32>);

/// Parses the value of a flag's environment variable.
pub(crate) fn on_or_off(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(true),
        "0" | "false" | "no" | "off" | "n" | "f" => Ok(false),
        _ => Err("expected 1 or 0, true or false, yes or no, on or off".to_string()),
    }
}

/// Parses a number for a knob that takes one, for settings made while the program runs.
///
/// # Errors
/// Says what the knob expects.
pub(crate) fn number(knob: &Knob, text: &str) -> Result<f64, String> {
    match knob.kind {
        Kind::Count(from, to) | Kind::Limit(from, to) => integer(text, from, to).map(|value| value as f64),
        Kind::Seed => integer(text, 0, u64::MAX).map(|value| value as f64),
        Kind::Real(from, to) => real(text, from, to),
        _ => Err("expected another kind of value".to_string()),
    }
}

/// Parses an integer in this inclusive range.
pub(crate) fn integer(text: &str, from: u64, to: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(value) if (from..=to).contains(&value) => Ok(value),
        _ => Err(format!("expected an integer from {from} to {to}")),
    }
}

/// Stands for no limit, and for a context as long as the model allows.
pub(crate) const NO_LIMIT: u64 = u64::MAX;

/// Parses an integer in this inclusive range; -1, as llama.cpp has it, is [`NO_LIMIT`].
pub(crate) fn limit(text: &str, from: u64, to: u64) -> Result<u64, String> {
    if text == "-1" {
        return Ok(NO_LIMIT);
    }
    integer(text, from, to).map_err(|expected| format!("{expected}, or -1 for no limit"))
}

/// Parses how long something is kept, such as `10m`; `None` is without end, which -1 says.
pub(crate) fn duration(text: &str) -> Result<Option<Duration>, String> {
    let expected = || "expected a time such as 10m, 1h30m or 90 (seconds), or -1 for no limit".to_string();
    weft_serve::keep_alive(text).ok_or_else(expected)
}

/// Parses the length of a context; `max`, or 0 as llama.cpp has it, is [`NO_LIMIT`].
pub(crate) fn context(text: &str, to: u64) -> Result<u64, String> {
    if text == "0" || text.eq_ignore_ascii_case("max") {
        return Ok(NO_LIMIT);
    }
    integer(text, 1, to).map_err(|expected| format!("{expected}, or max for the model's limit"))
}

/// Parses a number of experts on a GPU: `cpu` is 0, and `auto`, as many as it has memory for, is [`NO_LIMIT`].
pub(crate) fn experts(text: &str, to: u64) -> Result<u64, String> {
    match text {
        "cpu" => Ok(0),
        "auto" => Ok(NO_LIMIT),
        _ => integer(text, 0, to).map_err(|expected| format!("{expected}, or cpu, or auto")),
    }
}

/// Parses a seed; -1, as llama.cpp has it, is a random one.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    if text == "-1" {
        return Ok(fresh_seed());
    }
    integer(text, 0, u64::MAX).map_err(|expected| format!("{expected}, or -1 for a random seed"))
}

/// A random seed of 32 bits, so that every reader of the JSON output can represent it.
pub(crate) fn fresh_seed() -> u64 {
    // The standard library seeds its hash maps with the operating system's random numbers.
    RandomState::new().build_hasher().finish() >> 32
}

/// Parses a number in this inclusive range.
pub(crate) fn real(text: &str, from: f64, to: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (from..=to).contains(&value) => Ok(value),
        _ => Err(format!("expected a number from {from} to {to}")),
    }
}

/// Parses a decision and its mode, such as `fuse.tail=off`.
pub(crate) fn setting(text: &str) -> Result<(&'static Decision, Mode), String> {
    let modes = Mode::ALL.map(Mode::name).join(", ");
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("expected NAME=MODE, where MODE is one of {modes}"))?;
    let known = decision(name).ok_or_else(|| {
        let all: Vec<&str> = decisions().map(|d| d.name).collect();
        match suggest(name, &all)[..] {
            [] => format!("there is no decision `{name}`; the decisions are {}", all.join(", ")),
            ref near => format!(
                "there is no decision `{name}`; did you mean {}? `weft explain` lists all",
                near.join(" or ")
            ),
        }
    })?;
    let mode = Mode::from_name(value)
        .ok_or_else(|| format!("there is no mode `{value}`; expected one of {modes}"))?;
    Ok((known, mode))
}

/// Parses token ids such as `1,2,3`; spaces around them are ignored.
pub(crate) fn ids(text: &str) -> Result<Ids, String> {
    let id = |text: &str| {
        let text = text.trim();
        text.parse().map_err(|_| format!("`{text}` is not a token id; expected comma-separated numbers"))
    };
    text.split(',').map(id).collect::<Result<_, _>>().map(Ids)
}

/// Parses integers such as `1,2,3`; spaces around them are ignored.
pub(crate) fn counts(text: &str, from: u64, to: u64) -> Result<Counts, String> {
    text.split(',').map(|text| integer(text.trim(), from, to)).collect::<Result<_, _>>().map(Counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_set_by_name() {
        for mode in Mode::ALL {
            let text = format!("fuse.tail={}", mode.name());
            assert_eq!(setting(&text), Ok((decision("fuse.tail").unwrap(), mode)));
        }
        for (wrong, said) in [
            ("", "expected NAME=MODE, where MODE is one of on, off, by-cost"),
            ("fuse.tail", "expected NAME=MODE, where MODE is one of on, off, by-cost"),
            ("fuse.tail=0", "there is no mode `0`; expected one of on, off, by-cost"),
            ("fuse.tale=off", "did you mean fuse.tail? "),
            ("tail=off", "did you mean fuse.tail? "),
            ("rows=off", "did you mean fuse.rows? "),
            ("x=off", "the decisions are tidy."),
            ("=off", "the decisions are tidy."),
        ] {
            let error = setting(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn times_have_units_or_are_seconds() {
        let seconds = |text| duration(text).map(|most| most.map(|most| most.as_secs()));
        assert_eq!(["10m", "1h30m", "90", "0"].map(seconds), [600, 5400, 90, 0].map(|most| Ok(Some(most))));
        assert_eq!(seconds("-1"), Ok(None));
        assert!(duration("soon").unwrap_err().starts_with("expected a time such as 10m"));
    }

    #[test]
    fn ids_are_comma_separated() {
        assert_eq!(ids("1, 2,3").unwrap().0, [1, 2, 3]);
        for wrong in ["", "1,", "1 2", "-1", "4294967296", "1,two"] {
            assert!(ids(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_are_comma_separated() {
        assert_eq!(counts("0, 4096", 0, 5000).unwrap().0, [0, 4096]);
        for wrong in ["", "0,", "0 1", "-1", "0,5001", "two"] {
            assert!(counts(wrong, 0, 5000).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_of_llama_cpp_are_understood() {
        assert!(limit("-2", 0, 9).unwrap_err().ends_with("or -1 for no limit"));
        assert_eq!((limit("-1", 1, 9), limit("9", 1, 9)), (Ok(NO_LIMIT), Ok(9)));
        assert_eq!(
            (context("0", 9), context("MAX", 9), context("9", 9)),
            (Ok(NO_LIMIT), Ok(NO_LIMIT), Ok(9))
        );
        assert_eq!(seed("7"), Ok(7));
        assert!(seed("-1").is_ok_and(|seed| seed <= u32::MAX.into()));
        assert_eq!(limit("-2", 1, 9).unwrap_err(), "expected an integer from 1 to 9, or -1 for no limit");
        assert_eq!(
            context("-1", 9).unwrap_err(),
            "expected an integer from 1 to 9, or max for the model's limit"
        );
        assert!(seed("-2").unwrap_err().ends_with(", or -1 for a random seed"));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(real("0.5", 0.0, 1.0), Ok(0.5));
        for wrong in ["1.01", "-0.1", "NaN", "inf", "", "one"] {
            assert!(real(wrong, 0.0, 1.0).is_err(), "{wrong}");
        }
    }
}
