//! The arguments of this call, parsed again with other settings. The parser, which knows all commands, is installed by `main`, because
//! commands parse again.

use std::sync::OnceLock;

use clap::ArgMatches;

use crate::cli::config::Section;

/// Parses the arguments of this call, where settings of a model take the place of those of the configuration.
type Parse = fn(&'static Section) -> Result<ArgMatches, clap::Error>;

static PARSE: OnceLock<Parse> = OnceLock::new();

/// Installs the parser. Only the first call counts.
pub(crate) fn install(parse: Parse) {
    let _ = PARSE.set(parse);
}

/// The arguments of this call with these settings.
///
/// # Errors
/// If a setting has a value that its option does not take.
///
/// # Panics
/// If no parser is installed.
pub(crate) fn again(own: &'static Section) -> Result<ArgMatches, clap::Error> {
    let parse = PARSE.get().expect("`main` installs the parser");
    parse(own)
}
