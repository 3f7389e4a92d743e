//! Python for templates: the operators, methods, filters, tests and functions that Jinja's templates use.
//!
//! minijinja has most of these, but with differences: in printing, in what fails, in slicing. `rewrite.rs` turns a
//! template's operators, subscripts, tests and method calls into filters of this module, which behave as Python's. They
//! know the sentinels of `sentinel.rs`, so that a template counts characters of the text and never parts a character
//! from its marks. All text that they make is counted, to limit the memory of a hostile template.

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, Output, State, Value};

use self::args::Args;
use self::budget::{charge, failed};
use self::functions::{Cycler, Joiner};
use self::values::to_text;

mod args;
mod budget;
mod collections;
mod filters;
mod functions;
mod list_filters;
mod method;
pub(super) mod names;
mod objects;
mod operators;
mod strings;
mod tests;
mod text;
mod values;

pub(super) use self::budget::{TooMuchText, begin};

/// An operator of the language as a filter: the left operand, and the others.
type Operator = fn(&mut State<'_, '_>, &Value, &[Value]) -> Result<Value, Error>;

/// A function that templates call.
type Function = fn(Args) -> Result<Value, Error>;

/// Whether a sequence is a list or tuple, which JSON can express, and not a view of a dict.
pub(super) fn is_json(value: &Value) -> bool {
    value.downcast_object_ref::<objects::View>().is_none()
}

/// Whether `value.name` may be a method, for some value.
pub(super) fn is_method(name: &str) -> bool {
    [names::OF_DICTS, names::OF_LISTS, names::OF_STRINGS].iter().any(|names| names.contains(&name))
}

/// Gives an environment all of this.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.set_formatter(write);
    for name in names::FILTERS.iter().chain(names::LIST_FILTERS) {
        environment.add_filter(
            *name,
            |state: &mut State<'_, '_>, value: ValueOrKwargs, args: Rest<ValueOrKwargs>| {
                filter(state, name, &value.into_value(), &args.into_values())
            },
        );
    }
    let operators: [(&str, Operator); 13] = [
        (names::ARITHMETIC, |_, value, rest| operators::arithmetic(value, rest)),
        (names::ATTRIBUTE, |_, value, rest| operators::attribute(value, text_at(rest, 0))),
        (names::CALL, |state, value, args| value.call(state, args)),
        (names::COMPARE, |_, value, rest| operators::comparison(value, rest)),
        (names::CONCAT, |_, value, rest| operators::concatenation(value, rest)),
        (names::GET, |_, value, rest| value.get_attr(text_at(rest, 0))),
        (names::IS, |state, value, args| {
            tests::holds(state, text_at(args, 0), value, Args::new(args.get(1..).unwrap_or_default()))
                .map(Value::from)
        }),
        (names::ITEM, |_, value, rest| operators::item(value, rest.first().unwrap_or(&Value::UNDEFINED))),
        (names::ITERATE, |_, value, _| iterate(value)),
        (names::METHOD, |state, value, args| {
            call_method(state, value, text_at(args, 0), args.get(1..).unwrap_or_default())
        }),
        (names::NEGATIVE, |_, value, _| operators::signed(value, true)),
        (names::POSITIVE, |_, value, _| operators::signed(value, false)),
        (names::SLICE, |_, value, rest| match rest {
            [start, stop, step] => operators::slice(value, [start, stop, step]),
            _ => Err(failed("a slice has three bounds")),
        }),
    ];
    for (name, operator) in operators {
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, value: ValueOrKwargs, args: Rest<ValueOrKwargs>| {
                operator(state, &value.into_value(), &args.into_values())
            },
        );
    }
    let functions: [(&str, Function); 4] = [
        ("range", functions::range),
        ("dict", functions::dict),
        ("cycler", |args| Cycler::value(args.positional)),
        ("joiner", Joiner::value),
    ];
    for (name, function) in functions {
        environment
            .add_function(name, move |args: Rest<ValueOrKwargs>| function(Args::new(&args.into_values())));
    }
    environment.remove_global("debug");
}

fn text_at(values: &[Value], index: usize) -> &str {
    values.get(index).and_then(Value::as_str).unwrap_or_default()
}

fn filter(state: &mut State<'_, '_>, name: &str, value: &Value, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args);
    filters::apply(state, name, value, args.clone())
        .or_else(|| list_filters::apply(state, name, value, args))
        .unwrap_or_else(|| Err(failed(format!("there is no filter {name:?}"))))
}

/// Writes a value of `{{ … }}`.
fn write(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let written = match value.as_str() {
        Some(text) => {
            charge(text.len())?;
            out.write_str(text)
        }
        None => out.write_str(&to_text(value)?),
    };
    written.map_err(|_| Error::from(ErrorKind::WriteFailure))
}

/// The items that a `for` loop iterates over.
fn iterate(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => Ok(value.clone()),
        _ => values::items(value).map(Value::from),
    }
}

/// Calls `value.name(…)`.
fn call_method(state: &mut State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let unknown = |error: &Error| error.kind() == ErrorKind::UnknownMethod;
    let result = match value.kind() {
        ValueKind::String => strings::call(value.as_str().unwrap_or_default(), name, Args::new(args)),
        ValueKind::Map if values::is_dict(value) => {
            match collections::of_dict(value, name, Args::new(args)) {
                Err(error) if unknown(&error) => match value.get_attr(name)? {
                    callable if values::is_callable(&callable) => callable.call(state, args),
                    _ => Err(error),
                },
                result => result,
            }
        }
        ValueKind::Seq if !values::is_growing(value) || name == "index" || name == "count" => {
            collections::of_list(value, name, Args::new(args))
        }
        ValueKind::Undefined => value.get_attr(name),
        _ => value.call_method(state, name, args),
    };
    result.map_err(|error| match unknown(&error) {
        true => failed(format!("{} has no method {name}", values::kind_name(value))),
        false => error,
    })
}
