//! Decisions of the compiler by name, and which of them were switched by hand.

use std::collections::BTreeMap;

/// Something the compiler does that can be switched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What it is called: `split.heads`.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// How it stands if nobody says otherwise.
    pub default: Mode,
}

/// How a decision stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Taken wherever it is legal.
    On,
    /// Not taken.
    Off,
    /// Taken if what it leads to costs less. Who can tell costs compiles both ways; to everyone else it is off.
    ByCost,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 3] = [Mode::On, Mode::Off, Mode::ByCost];

    /// The word for it: `on`, `off`, `by-cost`.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::On => "on",
            Mode::Off => "off",
            Mode::ByCost => "by-cost",
        }
    }

    /// The mode of a word.
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// What was set by hand; all else is as its default says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Switches(BTreeMap<&'static str, Mode>);

impl Switches {
    /// Sets a decision.
    pub fn set(&mut self, decision: &'static Decision, mode: Mode) {
        self.0.insert(decision.name, mode);
    }

    /// How a decision stands.
    pub fn mode(&self, decision: &Decision) -> Mode {
        self.0.get(decision.name).copied().unwrap_or(decision.default)
    }

    /// Whether a decision is taken without asking for costs.
    pub fn on(&self, decision: &Decision) -> bool {
        self.mode(decision) == Mode::On
    }
}
