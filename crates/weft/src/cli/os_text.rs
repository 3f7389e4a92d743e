//! Arguments that need not be UTF-8, such as the names of files.

use std::ffi::{OsStr, OsString};

use clap::builder::TypedValueParser;

use crate::cli::text_file::NotUtf8;

/// A parser of text: says which byte is not UTF-8, where the parser's own error says neither where nor what.
#[derive(Clone)]
pub(crate) struct Utf8<P>(pub(crate) P);

impl<P: TypedValueParser> TypedValueParser for Utf8<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        if let Some(bad) = NotUtf8::find(value) {
            // The parser words the error of a function.
            let refuse = move |_: &str| Err::<(), String>(format!("it is {bad}"));
            refuse.parse_ref(command, arg, OsStr::new(&*value.to_string_lossy()))?;
        }
        self.0.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = clap::builder::PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Splits at the first `at`, an ASCII character.
pub(crate) fn split_once(text: &OsStr, at: char) -> Option<(OsString, OsString)> {
    split(text, |text| text.split_once(at), |bytes| bytes.iter().position(|&byte| byte == at as u8))
}

/// Splits at the last `at`, an ASCII character.
pub(crate) fn rsplit_once(text: &OsStr, at: char) -> Option<(OsString, OsString)> {
    split(text, |text| text.rsplit_once(at), |bytes| bytes.iter().rposition(|&byte| byte == at as u8))
}

fn split(
    text: &OsStr,
    of_text: impl Fn(&str) -> Option<(&str, &str)>,
    place: impl Fn(&[u8]) -> Option<usize>,
) -> Option<(OsString, OsString)> {
    match text.to_str() {
        Some(text) => of_text(text).map(|(a, b)| (a.into(), b.into())),
        None => split_bytes(text, place),
    }
}

#[cfg(unix)]
fn split_bytes(text: &OsStr, place: impl Fn(&[u8]) -> Option<usize>) -> Option<(OsString, OsString)> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = text.as_bytes();
    let at = place(bytes)?;
    Some((OsStr::from_bytes(&bytes[..at]).into(), OsStr::from_bytes(&bytes[at + 1..]).into()))
}

/// Elsewhere such names are too rare.
#[cfg(not(unix))]
fn split_bytes(_: &OsStr, _: impl Fn(&[u8]) -> Option<usize>) -> Option<(OsString, OsString)> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn names_are_split_whatever_their_bytes() {
        let os = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
        let pair = |a, b| Some((os(a).to_os_string(), os(b).to_os_string()));
        assert_eq!(split_once(os(b"a=b=c"), '='), pair(b"a", b"b=c"));
        assert_eq!(split_once(os(b"a=\xE9=c"), '='), pair(b"a", b"\xE9=c"));
        assert_eq!(rsplit_once(os(b"\xE9:b:c"), ':'), pair(b"\xE9:b", b"c"));
        assert_eq!(rsplit_once(os(b"\xE9"), ':'), None);
    }
}
