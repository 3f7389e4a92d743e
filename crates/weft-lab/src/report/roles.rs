//! Values of the results, and the colours of roles.

use serde_json::Value;

/// The number of colours for roles.
const COLOURS: usize = 10;

/// The entries of a list; empty if it is not a list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// A number; NaN if it is not a number.
pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The roles of a profile, in the order of their colours.
pub(super) struct Roles<'a>(Vec<&'a str>);

impl<'a> Roles<'a> {
    pub(super) fn of(results: &'a Value) -> Roles<'a> {
        Roles(list(results, "roles").iter().filter_map(|row| row["role"].as_str()).collect())
    }

    /// The class that colours a role, or the first of several: `attention + router`.
    pub(super) fn class(&self, role: &str) -> String {
        let first = role.split(" + ").next().unwrap_or(role);
        let at = self.0.iter().position(|known| *known == first).unwrap_or(COLOURS - 1);
        format!("r{}", at % COLOURS)
    }
}
