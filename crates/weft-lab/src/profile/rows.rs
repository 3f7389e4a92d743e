//! Launches put together: by what they are for, by kernel, by layer, by anchor, by type of weight.

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::inspect::{Amounts, Launch, LaunchPiece};

use super::Profile;
use super::clock::Times;
use crate::roofs::Roofs;

/// A launch with its times, in seconds.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The launch.
    pub launch: Launch,
    /// Threads worked on it, on average.
    pub busy: f64,
    /// Threads waited after it, on average.
    pub waiting: f64,
    /// The slowest thread worked on it.
    pub longest: f64,
    /// What it takes at least; NaN where that is not known.
    pub roof: f64,
}

/// Several launches, or pieces of them, put together. Times are in seconds a step.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row {
    /// What is put together here.
    pub name: String,
    /// What it is for.
    pub role: String,
    /// Where in the model: `layer 1 to layer 7`, or a list with gaps.
    pub segments: String,
    /// How many launches have a part in it.
    pub launches: usize,
    /// Threads worked, on average.
    pub busy: f64,
    /// Threads waited, on average.
    pub waiting: f64,
    /// How much longer than the average the slowest threads worked.
    pub imbalance: f64,
    /// What it takes at least; NaN where that is not known of all of it.
    pub roof: f64,
    /// The bytes and multiplications.
    pub amounts: Amounts,
}

impl Timed {
    pub(super) fn new(launch: Launch, times: Times, roofs: &Roofs) -> Timed {
        let Times { busy, waiting, longest } = times;
        let roof = at_least(&launch.amounts(), roofs);
        Timed { launch, busy, waiting, longest, roof }
    }

    /// Seconds of work and waiting.
    pub fn time(&self) -> f64 {
        self.busy + self.waiting
    }

    /// A part of it, 1 being all.
    fn part(&self, share: f64, amounts: Amounts) -> Row {
        Row {
            launches: 1,
            busy: self.busy * share,
            waiting: self.waiting * share,
            imbalance: (self.longest - self.busy).max(0.0) * share,
            roof: self.roof * share,
            amounts,
            ..Row::default()
        }
    }
}

impl Row {
    /// Seconds of work and waiting.
    pub fn time(&self) -> f64 {
        self.busy + self.waiting
    }

    /// Seconds beyond what it takes at least; NaN where that is not known.
    pub fn lost(&self) -> f64 {
        self.time() - self.roof
    }

    /// Seconds that may be lost: all of them, where it is not known.
    fn at_stake(&self) -> f64 {
        if self.roof.is_nan() { self.time() } else { self.lost() }
    }

    /// How much of what the machine can do is reached, 1 being all; NaN where that is not known.
    pub fn of_roof(&self) -> f64 {
        self.roof / self.time()
    }

    /// Bytes of weights and cache a second.
    pub fn bytes_per_second(&self) -> f64 {
        (self.amounts.weight_bytes + self.amounts.state_bytes) as f64 / self.time()
    }

    /// Multiplications a second.
    pub fn multiplications_per_second(&self) -> f64 {
        self.amounts.multiplications() as f64 / self.time()
    }

    fn add(&mut self, other: &Row) {
        self.launches += other.launches;
        self.busy += other.busy;
        self.waiting += other.waiting;
        self.imbalance += other.imbalance;
        self.roof += other.roof;
        self.amounts += other.amounts;
    }

    /// The figures, `wall` being the time of the whole step.
    pub(super) fn json(&self, wall: f64) -> Value {
        let Amounts {
            weight_bytes,
            state_bytes,
            activation_bytes,
            integer_multiplications,
            float_multiplications,
            ..
        } = self.amounts;
        json!({
            "launches": self.launches,
            "ms": self.time() * 1e3,
            "share": self.time() / wall,
            "busy_ms": self.busy * 1e3,
            "waiting_ms": self.waiting * 1e3,
            "imbalance_ms": self.imbalance * 1e3,
            "roof_ms": self.roof * 1e3,
            "lost_ms": self.lost() * 1e3,
            "of_roof": self.of_roof(),
            "weight_bytes": weight_bytes,
            "state_bytes": state_bytes,
            "activation_bytes": activation_bytes,
            "integer_multiplications": integer_multiplications,
            "float_multiplications": float_multiplications,
            "bytes_per_second": self.bytes_per_second(),
            "multiplications_per_second": self.multiplications_per_second(),
        })
    }
}

/// Multiplications for a byte of memory that a machine does while it waits for the next one: cards do seven and more in `f32`, processors more of
/// 8-bit integers. So what multiplies no more than this is limited by reading alone.
const FEW: u64 = 4;

/// Seconds that the machine takes at least: for reading weights and cache from memory, or for multiplying, whichever is longer. NaN if that is not
/// known: how fast it multiplies was not measured, and there is more to multiply than it does while it reads.
pub(crate) fn at_least(amounts: &Amounts, roofs: &Roofs) -> f64 {
    let seconds = |amount: u64, roof| match amount {
        0 => 0.0,
        amount => amount as f64 / roofs.of(roof).median(),
    };
    let bytes = amounts.weight_bytes + amounts.state_bytes;
    let read = seconds(bytes, Roof::Read);
    let integers = seconds(amounts.integer_multiplications, Roof::Dot);
    let multiplied = integers + seconds(amounts.float_multiplications, Roof::MulAdd);
    let little = amounts.multiplications() <= FEW.saturating_mul(bytes);
    // `max` would take what is not known for nothing.
    match (read.is_nan(), multiplied.is_nan()) {
        (false, false) => read.max(multiplied),
        (_, true) if little => read,
        _ => f64::NAN,
    }
}

/// A part of the model: which in its order, and its name.
type Place<'a> = (usize, &'a str);

/// `layer 1 to layer 7`, or a list if there are gaps, from names with their places in the model.
fn span(names: &[Place<'_>]) -> String {
    let mut runs: Vec<(usize, usize, &str, &str)> = Vec::new();
    for &(at, name) in names {
        match runs.last_mut() {
            Some((_, end, _, last)) if *end == at || *end + 1 == at => (*end, *last) = (at, name),
            _ => runs.push((at, at, name, name)),
        }
    }
    let words = runs.iter().map(|(from, to, first, last)| match from == to {
        true => (*first).to_string(),
        false => format!("{first} to {last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

impl Profile {
    /// All launches, the segments numbered in their order.
    fn numbered(&self) -> impl Iterator<Item = (usize, &Timed)> {
        let mut segment = 0;
        let mut before: Option<&str> = None;
        self.launches.iter().map(move |timed| {
            let name = timed.launch.segment.as_str();
            segment += usize::from(before.is_some_and(|before| before != name));
            before = Some(name);
            (segment, timed)
        })
    }

    /// By kernel, where most time is lost first, or may be. Kernels that do the same in several layers are one.
    pub fn kernels(&self) -> Vec<Row> {
        self.by_kernel().into_iter().map(|(_, row)| row).collect()
    }

    /// The same, with the kernels' text forms.
    pub fn sources(&self) -> Vec<(Row, String)> {
        self.by_kernel().into_iter().map(|(first, row)| (row, first.launch.source())).collect()
    }

    /// By kernel, with the first launch of each.
    fn by_kernel(&self) -> Vec<(&Timed, Row)> {
        let mut rows: Vec<(&Timed, Row, Vec<Place<'_>>)> = Vec::new();
        for (segment, timed) in self.numbered() {
            let row = timed.part(1.0, timed.launch.amounts());
            let place = (segment, timed.launch.segment.as_str());
            match rows.iter_mut().find(|(first, ..)| first.launch.is_like(&timed.launch)) {
                Some((_, known, places)) => {
                    known.add(&row);
                    places.push(place);
                }
                None => rows.push((timed, row, vec![place])),
            }
        }
        let named = rows.into_iter().map(|(first, row, places)| {
            let name = first.launch.kernel().into();
            let roles: Vec<_> = first.launch.roles().iter().map(|role| role.name()).collect();
            (first, Row { name, role: roles.join(" + "), segments: span(&places), ..row })
        });
        let mut rows: Vec<(&Timed, Row)> = named.collect();
        rows.sort_by(|(_, a), (_, b)| b.at_stake().total_cmp(&a.at_stake()));
        rows
    }

    /// By layer, and what is before and after them, in the order of the model.
    pub fn layers(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (segment, timed) in self.numbered() {
            if rows.len() <= segment {
                rows.push(Row { name: timed.launch.segment.clone(), ..Row::default() });
            }
            rows[segment].add(&timed.part(1.0, timed.launch.amounts()));
        }
        rows
    }

    /// By what launches are for, the longest first. The time of a launch that is for several things is divided by what each takes at least, or, where
    /// that is not known, by what each multiplies.
    pub fn roles(&self) -> Vec<Row> {
        self.by_piece(|piece| piece.role.name().into())
    }

    /// By anchor, divided in the same way.
    pub fn anchors(&self) -> Vec<Row> {
        self.by_piece(|piece| piece.anchor.into())
    }

    /// By the type of the weight that is multiplied by, divided in the same way.
    pub fn types(&self) -> Vec<Row> {
        self.by_piece(|piece| piece.ty.map_or("none", |ty| ty.name()).into())
    }

    fn by_piece(&self, name: impl Fn(&LaunchPiece) -> String) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for timed in &self.launches {
            let pieces = &timed.launch.pieces;
            let mut needs: Vec<f64> =
                pieces.iter().map(|piece| at_least(&piece.amounts, &self.roofs)).collect();
            if needs.iter().any(|need| need.is_nan()) {
                needs = pieces.iter().map(|piece| piece.amounts.multiplications() as f64).collect();
            }
            let all: f64 = needs.iter().sum();
            let mut counted: Vec<String> = Vec::new();
            for (piece, need) in pieces.iter().zip(needs) {
                // Pieces of which none takes anything share evenly.
                let share = if all > 0.0 { need / all } else { 1.0 / pieces.len() as f64 };
                let mut row = timed.part(share, piece.amounts);
                row.name = name(piece);
                if counted.contains(&row.name) {
                    row.launches = 0;
                } else {
                    counted.push(row.name.clone());
                }
                match rows.iter_mut().find(|known| known.name == row.name) {
                    Some(known) => known.add(&row),
                    None => rows.push(row),
                }
            }
        }
        rows.sort_by(|a, b| b.time().total_cmp(&a.time()));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_by_their_ends() {
        assert_eq!(span(&[(2, "layer 0")]), "layer 0");
        assert_eq!(span(&[(3, "layer 1"), (4, "layer 2"), (5, "layer 3")]), "layer 1 to layer 3");
        assert_eq!(span(&[(2, "layer 0"), (2, "layer 0"), (4, "layer 2")]), "layer 0, layer 2");
        assert_eq!(span(&[]), "");
    }
}
