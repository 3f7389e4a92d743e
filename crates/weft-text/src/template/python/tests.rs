//! The tests of Jinja: what follows `is`.

use minijinja::value::ValueKind;
use minijinja::{Error, State, Value};

use super::args::{Args, required};
use super::budget::failed;
use super::objects::{Generator, Range, View};
use super::strings::case;
use super::text::plain;
use super::values::{Number, equal, is_callable, is_dict, kind_name, number, to_text};
use super::{names, operators};

/// Whether a test holds.
///
/// # Errors
/// If there is no such test, or it does not fit the value.
pub(super) fn holds(_: &mut State<'_, '_>, name: &str, value: &Value, args: Args) -> Result<bool, Error> {
    let operator = match name {
        "eq" | "equalto" => "==",
        "ne" => "!=",
        "lt" | "lessthan" => "<",
        "le" => "<=",
        "gt" | "greaterthan" => ">",
        "ge" => ">=",
        other => other,
    };
    if matches!(operator, "==" | "!=" | "<" | "<=" | ">" | ">=" | "in") {
        let [other] = args.bind(name, ["other"])?;
        return operators::holds(operator, value, &required(other, name)?);
    }
    if matches!(name, "divisibleby" | "sameas") {
        let [other] = args.bind(name, ["other"])?;
        let other = required(other, name)?;
        if name == "sameas" {
            return Ok(same(value, &other));
        }
        return Ok(
            number_of(&operators::arithmetic(value, &[Value::from("%"), other])?, name)?.float() == 0.0
        );
    }
    let [] = args.bind(name, [])?;
    let kind = value.kind();
    let is_number = kind == ValueKind::Number;
    Ok(match name {
        "boolean" => kind == ValueKind::Bool,
        "callable" => value.is_undefined() || is_callable(value),
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "escaped" => value.is_safe(),
        "odd" | "even" => {
            let rest = operators::arithmetic(value, &[Value::from("%"), Value::from(2)])?;
            number_of(&rest, name)?.float() == if name == "odd" { 1.0 } else { 0.0 }
        }
        "false" => kind == ValueKind::Bool && !value.is_true(),
        "true" => kind == ValueKind::Bool && value.is_true(),
        "filter" => {
            let known = |name: &str| names::FILTERS.contains(&name) || names::LIST_FILTERS.contains(&name);
            value.as_str().is_some_and(|name| known(name) || name == "tojson")
        }
        "test" => value.as_str().is_some_and(|name| names::TESTS.contains(&name)),
        "float" => is_number && !value.is_integer(),
        "integer" => is_number && value.is_integer(),
        "number" => is_number || kind == ValueKind::Bool,
        "iterable" => {
            value.downcast_object_ref::<Generator>().is_some()
                || matches!(
                    kind,
                    ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Iterable
                )
                || is_dict(value)
        }
        "lower" | "upper" => {
            let text = to_text(value)?;
            case::is(&plain(&text), if name == "lower" { "islower" } else { "isupper" }).unwrap_or(false)
        }
        "mapping" => is_dict(value),
        "none" => value.is_none(),
        "sequence" => match kind {
            ValueKind::Undefined | ValueKind::String => true,
            ValueKind::Seq => value.downcast_object_ref::<View>().is_none(),
            ValueKind::Iterable => value.downcast_object_ref::<Range>().is_some(),
            _ => is_dict(value),
        },
        "string" => kind == ValueKind::String,
        _ => return Err(failed(format!("there is no test {name:?}"))),
    })
}

fn number_of(value: &Value, what: &str) -> Result<Number, Error> {
    number(value).ok_or_else(|| failed(format!("{what}: expected a number, found {}", kind_name(value))))
}

/// Python's `is`, for values that are the same whenever they are equal.
fn same(a: &Value, b: &Value) -> bool {
    a.kind() == b.kind() && a.is_integer() == b.is_integer() && equal(a, b)
}
