//! The keys among which the lanes of a workgroup search: few in registers, or many in scratch memory.
//!
//! A lane has neighbouring keys, so that the number of keys that earlier lanes chose is where its own begin in a list.

use weft_shader::expr::Expr;

use crate::lower::writer::Writer;
use crate::refused::Why;

/// Keys that a lane loads at a time. A chunk has whole groups of them.
pub(super) const AHEAD: u32 = 8;

/// The keys of a workgroup.
pub(super) enum Keys<'a> {
    Held(Held),
    Stored(Stored<'a>),
}

/// Keys in registers.
pub(super) struct Held {
    /// Variables, [`AHEAD`] in each group.
    pub(super) groups: Vec<Vec<Expr>>,
    /// The number of a lane's keys, a multiple of [`AHEAD`], and the number of its first.
    pub(super) each: Expr,
    pub(super) first: Expr,
    /// Whether the last half of the variables has the positions of the first half.
    pub(super) listed: Option<Expr>,
}

/// Keys in scratch memory.
pub(super) struct Stored<'a> {
    slot: usize,
    /// The first key, and their number.
    keys: &'a Expr,
    count: &'a Expr,
    /// Keys of a lane, and its first.
    each: Expr,
    first: Expr,
}

/// Neighbouring keys of a lane, with their positions. Those that do not exist are 0.
pub(super) struct Group {
    pub(super) keys: Vec<Expr>,
    pub(super) positions: Vec<Expr>,
}

impl Keys<'_> {
    /// Whether they are in registers.
    pub(super) fn are_held(&self) -> bool {
        matches!(self, Keys::Held(_))
    }

    /// Visits the lane's keys in order, several at a time.
    pub(super) fn each(
        &self,
        w: &mut Writer<'_>,
        visit: impl Fn(&mut Writer<'_>, &Group) -> Result<(), Why>,
    ) -> Result<(), Why> {
        match self {
            Keys::Held(held) => held.each(w, visit),
            Keys::Stored(stored) => w.count("i", (0u32.into(), stored.each.clone(), AHEAD), |w, i| {
                let position = w.code.set("position", i + &stored.first);
                let group = stored.load(w, &position);
                visit(w, &group)
            }),
        }
    }
}

impl Held {
    /// Variables for this many keys of each lane, of which `each` are used.
    pub(super) fn new(w: &mut Writer<'_>, most: u32, each: Expr) -> Held {
        let groups = (0..most / AHEAD).map(|_| (0..AHEAD).map(|_| w.code.var("held", 0u32)).collect());
        let groups = groups.collect();
        Held { groups, first: w.code.set("first_held", Expr::Lane * &each), each, listed: None }
    }

    fn each(
        &self,
        w: &mut Writer<'_>,
        visit: impl Fn(&mut Writer<'_>, &Group) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let half = self.groups.len() / 2;
        for (number, keys) in self.groups.iter().enumerate() {
            let from = AHEAD * number as u32;
            w.when(self.each.greater(from), |w| {
                let position = |i: u32| {
                    let own = &self.first + (from + i);
                    match &self.listed {
                        Some(listed) if number < half => {
                            own.unless(listed, self.groups[half + number][i as usize].clone())
                        }
                        _ => own,
                    }
                };
                visit(w, &Group { keys: keys.clone(), positions: (0..AHEAD).map(position).collect() })
            })?;
        }
        Ok(())
    }

    /// Loads these keys from scratch memory.
    pub(super) fn load(&self, w: &mut Writer<'_>, stored: &Stored<'_>) -> Result<(), Why> {
        for (number, held) in (0..).zip(&self.groups) {
            let from = AHEAD * number;
            w.when(self.each.greater(from), |w| {
                let position = w.code.set("position", &self.first + from);
                for (held, key) in held.iter().zip(stored.load(w, &position).keys) {
                    w.code.assign(held, key);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl<'a> Stored<'a> {
    /// `count` keys from word `keys` of a slot on.
    pub(super) fn new(w: &mut Writer<'_>, slot: usize, keys: &'a Expr, count: &'a Expr) -> Stored<'a> {
        let each = of_lane(w, count);
        let first = w.code.set("first_key", Expr::Lane * &each);
        Stored { slot, keys, count, each, first }
    }

    /// The keys from this position on, a multiple of their number.
    fn load(&self, w: &mut Writer<'_>, position: &Expr) -> Group {
        // Loads beyond the last key stay in its group of keys.
        let last = (self.count - 1u32) / AHEAD * AHEAD;
        let from = w.code.set("from_key", position.clone().min(last) + self.keys);
        let keys: Vec<Expr> = match w.quads {
            true => (0..AHEAD / 4)
                .flat_map(|four| w.code.four("key", Expr::Four(Some(self.slot), (&from + four * 4).into())))
                .collect(),
            false => {
                (0..AHEAD).map(|n| w.code.set("key", Expr::Word(self.slot, (&from + n).into()))).collect()
            }
        };
        let positions: Vec<Expr> = (0..AHEAD).map(|n| position + n).collect();
        let exists = |(key, position): (Expr, &Expr)| {
            let exists = position.less(self.count);
            w.code.set("key", Expr::U32(0).unless(&exists, key))
        };
        Group { keys: keys.into_iter().zip(&positions).map(exists).collect(), positions }
    }
}

/// The number of keys of each lane if there are `count`, a multiple of [`AHEAD`].
pub(super) fn of_lane(w: &mut Writer<'_>, count: &Expr) -> Expr {
    let lanes = w.code.lanes;
    w.code.set("each", (count + (lanes * AHEAD - 1)) / (lanes * AHEAD) * AHEAD)
}
