//! Arguments of filters and methods, bound as Python binds them.

use minijinja::value::Kwargs;
use minijinja::{Error, Value};

use super::budget::failed;
use super::values::{int, kind_name, to_text};

/// The arguments of a call.
#[derive(Clone, Debug)]
pub(super) struct Args {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
}

impl Args {
    pub(super) fn new(values: &[Value]) -> Args {
        let mut positional = values.to_vec();
        let mut named = Vec::new();
        if let Some(last) = positional.pop_if(|last| last.is_kwargs())
            && let Ok(kwargs) = Kwargs::try_from(last)
        {
            let names: Vec<&str> = kwargs.args().collect();
            named.extend(
                names.iter().filter_map(|name| Some(((*name).to_owned(), kwargs.peek::<Value>(name).ok()?))),
            );
        }
        Args { positional, named }
    }

    /// Binds the arguments to these names.
    ///
    /// # Errors
    /// If there are too many, or a name is not known or given twice.
    pub(super) fn bind<const N: usize>(
        self,
        what: &str,
        names: [&str; N],
    ) -> Result<[Option<Value>; N], Error> {
        if self.positional.len() > N {
            let found = self.positional.len();
            return Err(failed(format!("{what}: expected at most {N} arguments, found {found}")));
        }
        let mut bound = [const { None }; N];
        for (place, value) in self.positional.into_iter().enumerate() {
            bound[place] = Some(value);
        }
        for (name, value) in self.named {
            match names.iter().position(|known| *known == name) {
                Some(place) if bound[place].is_none() => bound[place] = Some(value),
                Some(_) => return Err(failed(format!("{what}: {name} is given twice"))),
                None => return Err(failed(format!("{what}: unknown argument {name}"))),
            }
        }
        Ok(bound)
    }
}

/// An argument that must be there.
pub(super) fn required(value: Option<Value>, what: &str) -> Result<Value, Error> {
    value.ok_or_else(|| failed(format!("{what}: an argument is missing")))
}

/// A string argument.
pub(super) fn string<'v>(value: &'v Value, what: &str) -> Result<&'v str, Error> {
    value.as_str().ok_or_else(|| failed(format!("{what}: expected a string, found {}", kind_name(value))))
}

/// A string argument, or its default.
pub(super) fn string_or(value: &Option<Value>, default: &str, what: &str) -> Result<String, Error> {
    match value {
        Some(value) => Ok(string(value, what)?.to_owned()),
        None => Ok(default.to_owned()),
    }
}

/// Any value's text, or a default.
pub(super) fn text_or(value: &Option<Value>, default: &str) -> Result<String, Error> {
    value.as_ref().map_or_else(|| Ok(default.to_owned()), to_text)
}

/// A whole number, within what a length can be.
pub(super) fn whole(value: &Value, what: &str) -> Result<i64, Error> {
    let number = int(value)
        .ok_or_else(|| failed(format!("{what}: expected an integer, found {}", kind_name(value))))?;
    Ok(number.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// A whole number, or its default.
pub(super) fn whole_or(value: &Option<Value>, default: i64, what: &str) -> Result<i64, Error> {
    value.as_ref().map_or(Ok(default), |value| whole(value, what))
}

/// Whether an argument is true, or its default.
pub(super) fn truth(value: &Option<Value>, default: bool) -> bool {
    value.as_ref().map_or(default, Value::is_true)
}
