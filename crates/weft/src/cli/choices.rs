//! Options that take one of a list, with the reason for some values that people look for and that are not in
//! it.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;

/// Parses one of a list, in lower case.
#[derive(Clone)]
pub(crate) struct Choices(PossibleValuesParser);

impl Choices {
    pub(crate) fn of(values: &'static [&'static str]) -> Choices {
        Choices(PossibleValuesParser::new(values))
    }
}

impl TypedValueParser for Choices {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let parsed = self.0.parse_ref(command, arg, value);
        match (parsed, value.to_str().and_then(why_not)) {
            (Ok(value), _) => Ok(value.to_ascii_lowercase()),
            (Err(_), Some(why)) => {
                Err(clap::Error::raw(ErrorKind::InvalidValue, format!("{why}\n")).with_cmd(command))
            }
            (Err(error), None) => Err(error),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Why a type of weights that other programs write is not written.
fn why_not(value: &str) -> Option<String> {
    let name = value.to_ascii_lowercase();
    let is_codebook = ["iq1_", "iq2_", "iq3_"].iter().any(|start| name.starts_with(start));
    let why = if is_codebook {
        "Weft reads it, but cannot write it, because its codes come from a codebook, which takes another search and an importance \
         matrix; near it are q3_k_m, q3_k_s and q2_k"
    } else if name == "q2_k_s" {
        "Weft does not write it; q2_k is a little larger, because sensitive tensors get more bits"
    } else if name == "nvfp4" {
        "Weft reads it, but cannot write it; near it are mxfp4, q4_0 and iq4_xs"
    } else {
        return None;
    };
    Some(format!("{value}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_cannot_be_written_has_a_reason() {
        let parse = |value: &str| {
            let arg = clap::Arg::new("quant")
                .long("quant")
                .ignore_case(true)
                .value_parser(Choices::of(&["q2_k", "q3_k_m"]));
            let found = clap::Command::new("weft").arg(arg).try_get_matches_from(["weft", "--quant", value]);
            found.map(|found| found.get_one::<String>("quant").cloned()).map_err(|error| error.to_string())
        };
        assert_eq!(parse("Q3_K_M"), Ok(Some("q3_k_m".into())));
        assert!(parse("IQ2_XXS").unwrap_err().contains("IQ2_XXS: Weft reads it, but cannot write it"));
        assert!(parse("q2_k_s").unwrap_err().contains("sensitive tensors"));
        assert!(parse("q2_x").unwrap_err().contains("possible values: q2_k, q3_k_m"));
    }
}
