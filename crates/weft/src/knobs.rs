//! Every knob there is, once: arguments, environment variables, help and `docs/knobs.md` are made from [`KNOBS`].
//!
//! A knob says what values it takes and which commands have it. `cli.rs` turns the table into a parser, and `args.rs`
//! gives the parsed values their types and their meaning; nothing else in the program reads an argument or a `WEFT_`
//! variable.

mod docs;
mod table;

pub(crate) use table::KNOBS;

/// One knob.
#[derive(Debug)]
pub(crate) struct Knob {
    /// The long argument without its dashes.
    pub(crate) name: &'static str,
    /// The short argument.
    pub(crate) short: Option<char>,
    /// The environment variable it is read from where the argument is not given; `None` for what belongs to one call.
    pub(crate) env: Option<&'static str>,
    /// The values it takes.
    pub(crate) kind: Kind,
    /// The value it has when it is not set, as it would be written; `None` where the help says what happens.
    pub(crate) default: Option<&'static str>,
    /// One sentence.
    pub(crate) help: &'static str,
    /// Under which heading of the help it stands.
    pub(crate) heading: &'static str,
    /// The commands that have it.
    pub(crate) commands: &'static [&'static str],
}

/// The values of a knob.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Present or not.
    Flag,
    /// Yes, no (by the argument of this name), or neither.
    Switch(&'static str),
    /// Any text; what stands for it in the help.
    Text(&'static str),
    /// Any text, and the knob may be given more than once.
    Texts(&'static str),
    /// A path.
    Path(&'static str),
    /// An integer in this range, both ends included.
    Count(u64, u64),
    /// A number in this range, both ends included.
    Real(f64, f64),
    /// One of these.
    Choice(&'static [&'static str]),
    /// Token ids with commas between them.
    Ids,
    /// Integers in this range, both ends included, with commas between them.
    Counts(u64, u64),
    /// A device, in one of the forms of [`DeviceChoice`](weft_engine::DeviceChoice).
    Device,
    /// A decision of the compiler and how it stands: `fuse.tail=off`. More than once, or with commas between them.
    Decisions,
}

impl Knob {
    /// What stands for the value in the help; `None` for a knob without one.
    pub(crate) fn placeholder(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Flag | Kind::Switch(_) => None,
            Kind::Text(name) | Kind::Texts(name) | Kind::Path(name) => Some(name),
            Kind::Count(..) => Some("N"),
            Kind::Real(..) => Some("X"),
            Kind::Choice(_) => Some("WHICH"),
            Kind::Ids => Some("IDS"),
            Kind::Counts(..) => Some("N,N"),
            Kind::Device => Some("DEVICE"),
            Kind::Decisions => Some("NAME=MODE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn a_command_has_a_name_a_letter_and_a_variable_once() {
        for command in COMMANDS {
            let mut seen = BTreeSet::new();
            for knob in KNOBS.iter().filter(|knob| knob.commands.contains(&command.name)) {
                let short = knob.short.map(|short| format!("-{short}"));
                let names = [Some(format!("--{}", knob.name)), short, knob.env.map(str::to_string)];
                for name in names.into_iter().flatten() {
                    assert!(seen.insert(name.clone()), "{}: {name} twice", command.name);
                }
            }
        }
    }

    #[test]
    fn variables_are_the_names_in_capitals_but_for_those_other_programs_read_too() {
        for knob in KNOBS {
            let own = format!("WEFT_{}", knob.name.to_uppercase().replace('-', "_"));
            assert!(knob.env.is_none_or(|name| name == own || name.starts_with("HF_")), "{:?}", knob.env);
        }
    }

    #[test]
    fn every_knob_belongs_to_commands_that_exist_and_says_what_it_does() {
        for knob in KNOBS {
            assert!(!knob.commands.is_empty(), "{} belongs to no command", knob.name);
            for command in knob.commands {
                assert!(COMMANDS.iter().any(|known| known.name == *command), "{}: {command}", knob.name);
            }
            let help = knob.help;
            assert!(
                !help.is_empty() && !help.ends_with('.') && !help.contains('\n'),
                "{}: {help}",
                knob.name
            );
        }
    }
}
