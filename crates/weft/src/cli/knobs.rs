//! The options of all commands. Arguments, environment variables, help and `docs/knobs.md` are made from [`KNOBS`].
//!
//! A knob names the values it takes and the commands it belongs to. `parser.rs` turns the table into a parser, and
//! `args.rs` gives the parsed values types and meaning; nothing else in the program reads an argument or a `WEFT_`
//! variable.

mod docs;
mod table;

pub(crate) use table::KNOBS;

/// An option of one or more commands.
#[derive(Debug)]
pub(crate) struct Knob {
    /// The long argument without its dashes.
    pub(crate) name: &'static str,
    /// The letter of the short argument.
    pub(crate) short: Option<char>,
    /// The environment variable to read when the argument is absent; `None` if a setting makes sense for one call only.
    pub(crate) env: Option<&'static str>,
    /// The values it takes.
    pub(crate) kind: Kind,
    /// The placeholder for the value in the help, where the kind's own does not fit.
    pub(crate) value_name: Option<&'static str>,
    /// The default value, as a user would write it.
    pub(crate) default: Option<&'static str>,
    /// The default in words, where it is not a fixed value.
    pub(crate) unset: Option<&'static str>,
    /// One sentence, without a full stop.
    pub(crate) help: &'static str,
    /// The heading in the help.
    pub(crate) heading: &'static str,
    /// The commands it belongs to.
    pub(crate) commands: &'static [&'static str],
}

/// The values of a knob.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    /// No value: present or absent.
    Flag,
    /// On, off (by the argument of this name, which has this help), or neither.
    Switch(&'static str, &'static str),
    /// Any text; with its placeholder in the help.
    Text(&'static str),
    /// Like `Text`, but may be given more than once.
    Texts(&'static str),
    /// A path; with its placeholder in the help.
    Path(&'static str),
    /// A text that may be a path, and so need not be UTF-8; with its placeholder in the help.
    Name(&'static str),
    /// Like `Name`, but may be given more than once.
    Names(&'static str),
    /// An integer in this inclusive range.
    Count(u64, u64),
    /// A length of the context, up to this; `max` or 0 is the model's limit.
    Context(u64),
    /// A number of experts of a layer, up to this; `cpu` is none and `auto` as many as there is memory for.
    Experts(u64),
    /// An integer in this inclusive range; -1 is no limit.
    Limit(u64, u64),
    /// A seed; -1 is a random one.
    Seed,
    /// A number of bytes, such as `500M` or `4G`; 0 is none.
    Size,
    /// A time, such as `10m` or `1h30m`, or a number of seconds; -1 is without end.
    Duration,
    /// A number in this inclusive range.
    Real(f64, f64),
    /// One of these.
    Choice(&'static [&'static str]),
    /// Comma-separated token ids.
    Ids,
    /// Comma-separated integers in this inclusive range.
    Counts(u64, u64),
    /// A device, in one of the forms of [`DeviceChoice`](weft_engine::DeviceChoice).
    Device,
    /// A file with a kernel and the one that it replaces. May be given more than once.
    Kernels,
    /// A LoRA adapter and its scale. May be given more than once.
    Adapters,
    /// A compiler decision and its mode, such as `fuse.tail=off`. A comma-separated list, which may be given more than once.
    Decisions,
}

impl Knob {
    /// The placeholder for the value in the help; `None` if it takes no value.
    pub(crate) fn placeholder(&self) -> Option<&'static str> {
        let by_kind = match self.kind {
            Kind::Flag | Kind::Switch(..) => None,
            Kind::Text(name)
            | Kind::Texts(name)
            | Kind::Path(name)
            | Kind::Name(name)
            | Kind::Names(name) => Some(name),
            Kind::Count(..) | Kind::Real(..) | Kind::Context(_) | Kind::Limit(..) | Kind::Seed => Some("N"),
            Kind::Experts(_) => Some("cpu|auto|N"),
            Kind::Size => Some("SIZE"),
            Kind::Duration => Some("TIME"),
            Kind::Choice(_) => Some("CHOICE"),
            Kind::Ids => Some("IDS"),
            Kind::Counts(..) => Some("N,N"),
            Kind::Device => Some("DEVICE"),
            Kind::Kernels | Kind::Adapters => Some("FILE"),
            Kind::Decisions => Some("NAME=MODE"),
        };
        self.value_name.or(by_kind)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn names_letters_and_variables_are_unique_within_a_command() {
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
    fn variables_are_named_after_their_knob_unless_other_programs_read_them_too() {
        for knob in KNOBS {
            let own = format!("WEFT_{}", knob.name.to_uppercase().replace('-', "_"));
            assert!(knob.env.is_none_or(|name| name == own || name.starts_with("HF_")), "{:?}", knob.env);
        }
    }

    #[test]
    fn every_knob_has_help_and_commands_that_exist() {
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
