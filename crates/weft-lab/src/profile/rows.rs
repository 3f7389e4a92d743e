//! Groups launches by role, kernel, layer, anchor and type of weight.

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
    /// Work, averaged over the threads.
    pub busy: f64,
    /// Waiting after it, averaged over the threads.
    pub waiting: f64,
    /// Work of the slowest thread.
    pub longest: f64,
    /// The time at the roofline; NaN if it is not known.
    pub roof: f64,
}

/// A group of launches, or of pieces of them. Times are in seconds per step.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row {
    /// The name of the group.
    pub name: String,
    /// The role of its launches.
    pub role: String,
    /// Where in the model they are: `layer 1 to layer 7`, or a list if there are gaps.
    pub segments: String,
    /// The number of launches that belong to it, in whole or in part.
    pub launches: usize,
    /// Work, averaged over the threads.
    pub busy: f64,
    /// Waiting, averaged over the threads.
    pub waiting: f64,
    /// How much longer than the average the slowest thread of each launch worked.
    pub imbalance: f64,
    /// The time at the roofline; NaN unless it is known for all of the group.
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

    /// A row for a part of the launch: the fraction `share` of its times.
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

    /// Seconds beyond the roofline; NaN if it is not known.
    pub fn lost(&self) -> f64 {
        self.time() - self.roof
    }

    /// Seconds that may be lost: all of them if the roofline is not known.
    fn at_stake(&self) -> f64 {
        if self.roof.is_nan() { self.time() } else { self.lost() }
    }

    /// The fraction of the roofline that is reached; NaN if it is not known.
    pub fn of_roof(&self) -> f64 {
        self.roof / self.time()
    }

    /// Bytes of weights and KV cache read per second.
    pub fn bytes_per_second(&self) -> f64 {
        (self.amounts.weight_bytes + self.amounts.state_bytes) as f64 / self.time()
    }

    /// Multiplications per second.
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

    /// The figures as JSON; `wall` is the time of the whole step in seconds.
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

/// Multiplications per byte read that any machine can do while it reads: GPUs do seven and more in `f32`, CPUs more than that in 8-bit
/// integers. Work with no more multiplications than this is limited by memory bandwidth.
const FEW: u64 = 4;

/// The seconds at the roofline: for reading weights and KV cache from memory or for multiplying, whichever is longer. NaN if that is not
/// known: the arithmetic rate was not measured, and there is too much to multiply for memory bandwidth to be the limit.
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
    // `max` would ignore a NaN.
    match (read.is_nan(), multiplied.is_nan()) {
        (false, false) => read.max(multiplied),
        (_, true) if little => read,
        _ => f64::NAN,
    }
}

/// A part of the model: its index and its name.
type Place<'a> = (usize, &'a str);

/// Abbreviates parts of the model: `layer 1 to layer 7`, or a list if there are gaps.
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
    /// All launches, each with the index of its segment.
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

    /// Groups launches by kernel, the one that loses or may lose most time first. Kernels that do the same in several layers are one.
    pub fn kernels(&self) -> Vec<Row> {
        self.by_kernel().into_iter().map(|(_, row)| row).collect()
    }

    /// Groups launches by kernel, as [`kernels`](Profile::kernels), with the source of each: what `text` returns for the first
    /// of its launches, by index, or else the kernel's text form.
    pub fn sources(&self, text: &dyn Fn(usize) -> Option<String>) -> Vec<(Row, String)> {
        let number = |first: &Timed| self.launches.iter().position(|timed| std::ptr::eq(timed, first));
        let source = |first: &Timed| number(first).and_then(text).unwrap_or_else(|| first.launch.source());
        self.by_kernel().into_iter().map(|(first, row)| (row, source(first))).collect()
    }

    /// Groups launches by kernel, with the first launch of each.
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

    /// Groups launches by layer, including the segments before and after the layers, in the order of the model.
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

    /// Groups pieces of launches by role, the longest time first. The time of a launch with several roles is divided in proportion to their
    /// times at the roofline or, if those are not known, to their multiplications.
    pub fn roles(&self) -> Vec<Row> {
        self.by_piece(|piece| piece.role.name().into())
    }

    /// Groups pieces of launches by anchor, with times divided as for [`roles`](Profile::roles).
    pub fn anchors(&self) -> Vec<Row> {
        self.by_piece(|piece| piece.anchor.into())
    }

    /// Groups pieces of launches by the type of their weight, with times divided as for [`roles`](Profile::roles).
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
                // If no piece needs anything, all share evenly.
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
    fn consecutive_places_are_abbreviated() {
        assert_eq!(span(&[(2, "layer 0")]), "layer 0");
        assert_eq!(span(&[(3, "layer 1"), (4, "layer 2"), (5, "layer 3")]), "layer 1 to layer 3");
        assert_eq!(span(&[(2, "layer 0"), (2, "layer 0"), (4, "layer 2")]), "layer 0, layer 2");
        assert_eq!(span(&[]), "");
    }
}
