//! The methods of `dict`, `list` and `tuple` that do not change them.

use minijinja::{Error, ErrorKind, Value};

use super::args::{Args, required};
use super::objects::View;
use super::values::{get, pairs, tuple};
use super::{operators, strings};

/// Calls a method of a dict.
///
/// # Errors
/// [`ErrorKind::UnknownMethod`] if there is none with this name; if the arguments are wrong.
pub(super) fn of_dict(dict: &Value, name: &str, args: Args) -> Result<Value, Error> {
    match name {
        "get" => {
            let [key, default] = args.bind(name, ["key", "default"])?;
            let key = required(key, name)?;
            Ok(get(dict, &key).or(default).unwrap_or(Value::from(())))
        }
        "items" | "keys" | "values" => {
            let [] = args.bind(name, [])?;
            let pairs = pairs(dict)?.into_iter();
            Ok(match name {
                "items" => {
                    View::value("dict_items", pairs.map(|(key, value)| tuple(vec![key, value])).collect())
                }
                "keys" => View::value("dict_keys", pairs.map(|(key, _)| key).collect()),
                _ => View::value("dict_values", pairs.map(|(_, value)| value).collect()),
            })
        }
        "copy" => {
            let [] = args.bind(name, [])?;
            operators::dict(pairs(dict)?)
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// Calls a method of a list or tuple.
///
/// # Errors
/// As of [`of_dict`].
pub(super) fn of_list(list: &Value, name: &str, args: Args) -> Result<Value, Error> {
    match name {
        "count" | "index" => strings::in_list(list, name, args),
        "copy" => {
            let [] = args.bind(name, [])?;
            Ok(list.clone())
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}
