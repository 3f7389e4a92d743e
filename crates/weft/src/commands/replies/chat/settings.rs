//! `/set`: the settings of a conversation, by the names of their options.

use serde_json::Value;
use weft_hub::suggest;

use super::partner::Partner;
use crate::cli::knobs::{KNOBS, Knob};
use crate::cli::samplers;
use crate::cli::values;

const THINK: &str = "think";

/// The names of the settings with numbers.
fn numbers() -> impl Iterator<Item = &'static str> {
    samplers::NAMES.iter().copied().chain(["seed", "max-tokens"])
}

/// The names of all settings.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    numbers().chain([THINK])
}

/// The settings and their values, one on each line.
pub(super) fn show(partner: &dyn Partner) -> String {
    let value = |name: &str| match partner.setting(name) {
        None => "not set".to_string(),
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    };
    let lines: Vec<String> = numbers().map(|name| format!("{name:<18} {}", value(name))).collect();
    lines.join("\n")
}

/// Changes a setting. `default` as its value resets it.
///
/// # Errors
/// Says what was expected.
pub(super) fn set(partner: &mut dyn Partner, name: &str, text: &str) -> Result<(), String> {
    let name = name.trim_start_matches('-').replace('_', "-");
    let name = if name == "temp" { "temperature" } else { name.as_str() };
    if name == THINK {
        let think = match text {
            "on" | "yes" | "1" | "true" => Some(true),
            "off" | "no" | "0" | "false" => Some(false),
            "default" => None,
            _ => return Err(format!("think: expected on, off or default, found {text:?}")),
        };
        partner.set_think(think);
        return Ok(());
    }
    let Some(knob) = knob(name) else {
        let all: Vec<&str> = names().collect();
        return Err(match suggest(name, &all)[..] {
            [] => format!("there is no setting {name}; expected one of {}", all.join(", ")),
            ref near => format!("there is no setting {name}; did you mean {}?", near.join(" or ")),
        });
    };
    let value = match (name, text) {
        (_, "default") | ("max-tokens", "-1") => None,
        ("seed", "-1") => Some(values::fresh_seed() as f64),
        (_, text) => Some(
            values::number(knob, text).map_err(|expected| format!("{name}: {expected}, found {text:?}"))?,
        ),
    };
    partner.set(name, value);
    Ok(())
}

fn knob(name: &str) -> Option<&'static Knob> {
    let known = numbers().any(|known| known == name);
    KNOBS.iter().find(|knob| known && knob.name == name && knob.commands.contains(&"chat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_an_option_of_chat() {
        for name in numbers() {
            assert!(knob(name).is_some_and(|knob| values::number(knob, "1").is_ok()), "{name}");
        }
    }
}
