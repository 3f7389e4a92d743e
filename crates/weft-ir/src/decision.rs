//! Named decisions of the compiler, and which of them the user has switched.

use std::collections::BTreeMap;

/// Something the compiler does that can be switched off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Its name, such as `split.heads`.
    pub name: &'static str,
    /// Its effect, in a sentence.
    pub about: &'static str,
    /// Its mode unless it is set.
    pub default: Mode,
}

/// Whether a decision is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Taken wherever it is legal.
    On,
    /// Not taken.
    Off,
    /// Taken where it lowers the cost. A compiler with a cost model compiles both ways; any other takes it for
    /// off.
    ByCost,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 3] = [Mode::On, Mode::Off, Mode::ByCost];

    /// Its name: `on`, `off`, `by-cost`.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::On => "on",
            Mode::Off => "off",
            Mode::ByCost => "by-cost",
        }
    }

    /// The mode with this name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The decisions that were set; the others have their defaults.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Switches(BTreeMap<&'static str, Mode>);

impl Switches {
    /// Sets a decision.
    pub fn set(&mut self, decision: &'static Decision, mode: Mode) {
        self.0.insert(decision.name, mode);
    }

    /// Returns these settings, and those of `base` for all other decisions.
    pub fn on_top_of(&self, base: &Switches) -> Switches {
        let mut all = base.clone();
        all.0.extend(&self.0);
        all
    }

    /// Returns the decisions that were set, by name.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, Mode)> {
        self.0.iter().map(|(name, mode)| (*name, *mode))
    }

    /// Returns a decision's mode.
    pub fn mode(&self, decision: &Decision) -> Mode {
        self.0.get(decision.name).copied().unwrap_or(decision.default)
    }

    /// Returns whether a decision is taken whatever it costs.
    pub fn on(&self, decision: &Decision) -> bool {
        self.mode(decision) == Mode::On
    }
}
