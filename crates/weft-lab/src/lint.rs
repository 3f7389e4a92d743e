//! Advice from a profile: where time is lost needlessly, how much, and what to do about it.
//!
//! Kernels with the same fault are one piece of advice, so that there are as many lines as kinds.

use serde_json::{Value, json};

use crate::profile::{Profile, Row};

/// A launch is too small if it takes less time than this many empty ones.
const SMALL: f64 = 3.0;

/// A kernel is far from the roofline if it reaches less than this fraction of it; products usually reach more.
const FAR: f64 = 0.5;

/// Work is uneven if threads wait for the slowest for more than this fraction of a kernel's time.
const UNEVEN: f64 = 0.1;

/// Losses below this fraction of a step are not reported.
const WORTH: f64 = 0.005;

/// The most kernels that are named.
const NAMED: usize = 3;

/// A piece of advice.
#[derive(Clone, PartialEq, Debug)]
pub struct Lint {
    /// Its kind: `small-launch`, `far-from-roof`, `uneven` or `made-twice`.
    pub name: &'static str,
    /// The kernels or plans it is about, the largest loss first.
    pub all: Vec<String>,
    /// Seconds lost in a step; 0 if time is lost only when a model is loaded.
    pub lost: f64,
    /// The finding and what to do, in a sentence or two.
    pub text: String,
}

impl Lint {
    /// The subject in a few words: `dot, attend, norm and 4 more`.
    pub fn about(&self) -> String {
        let named = self.all[..self.all.len().min(NAMED)].join(", ");
        match self.all.len() - self.all.len().min(NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Lint { name, all, lost, text } = self;
        json!({ "lint": name, "about": self.about(), "all": all, "lost_ms": lost * 1e3, "text": text })
    }
}

impl Profile {
    /// Returns all advice, at most one piece of each kind, the largest loss first.
    pub fn lints(&self) -> Vec<Lint> {
        let kernels = self.kernels();
        let (wall, empty) = (self.clock.wall, self.empty_launch);
        let mut lints: Vec<Lint> =
            [small(&kernels, empty), far(&kernels, empty), uneven(&kernels, self.workers.len())]
                .into_iter()
                .flatten()
                .filter(|lint| lint.lost >= WORTH * wall)
                .collect();
        lints.sort_by(|a, b| b.lost.total_cmp(&a.lost));
        lints.extend(made_twice(&self.plans_made_twice));
        lints
    }
}

/// Kernels with one fault, each with a figure that shows how bad it is, the largest loss first.
struct Group {
    all: Vec<String>,
    lost: f64,
    /// The smallest and the largest figure.
    range: [f64; 2],
}

impl Group {
    /// Groups the kernels for which `fault` returns what they lose and their figure; `None` if there
    /// are none.
    fn of(kernels: &[Row], fault: impl Fn(&Row) -> Option<[f64; 2]>) -> Option<Group> {
        let mut found: Vec<(&Row, [f64; 2])> =
            kernels.iter().filter_map(|row| Some((row, fault(row)?))).collect();
        found.sort_by(|(_, [a, _]), (_, [b, _])| b.total_cmp(a));
        let figures = || found.iter().map(|(_, [_, figure])| *figure);
        let group = Group {
            all: found.iter().map(|(row, _)| row.name.clone()).collect(),
            lost: found.iter().map(|(_, [lost, _])| lost).sum(),
            range: [figures().fold(f64::INFINITY, f64::min), figures().fold(f64::NEG_INFINITY, f64::max)],
        };
        (!found.is_empty()).then_some(group)
    }

    /// The figures as text, with this many decimals: `2.5`, or `2.5 to 4.0`.
    fn figures(&self, scale: f64, digits: usize) -> String {
        let [least, most] = self.range.map(|figure| format!("{:.digits$}", figure * scale));
        if least == most { least } else { format!("{least} to {most}") }
    }

    /// `one` if it is about one kernel, or else `several`.
    fn or<'a>(&self, one: &'a str, several: &'a str) -> &'a str {
        if self.all.len() == 1 { one } else { several }
    }

    fn lint(self, name: &'static str, text: String) -> Lint {
        Lint { name, all: self.all, lost: self.lost, text }
    }
}

/// Launches with too little work, compared with an empty one.
fn small(kernels: &[Row], empty: f64) -> Option<Lint> {
    let is_small = |row: &Row| row.time() / (row.launches as f64) < SMALL * empty;
    let group = Group::of(kernels, |row| {
        let launches = row.launches as f64;
        is_small(row).then(|| [empty * launches, row.time() / launches])
    })?;
    let launches: usize = kernels.iter().filter(|row| is_small(row)).map(|row| row.launches).sum();
    let text = format!(
        "{} {} µs, an empty launch {:.1} µs, {launches} times a step: fuse {} into a neighbour; `weft explain --why` says why {} not fused",
        group.or("it takes", "each takes"),
        group.figures(1e6, 1),
        empty * 1e6,
        group.or("it", "each"),
        group.or("it is", "they are"),
    );
    Some(group.lint("small-launch", text))
}

/// Kernels that are much slower than the roofline. If that is not known, or their work is less than that
/// of starting a launch, it says nothing about them.
fn far(kernels: &[Row], empty: f64) -> Option<Lint> {
    let group = Group::of(kernels, |row| {
        // Waiting for a slow thread is reported by another lint.
        let of_roof = row.roof / (row.time() - row.imbalance);
        let is_work = row.roof > 0.0 && row.roof >= empty * row.launches as f64;
        (is_work && of_roof < FAR).then(|| [row.lost() - row.imbalance, of_roof])
    })?;
    let text = format!(
        "{} {} % of the roofline: improve the {} rather than the plan; --with-source shows {} source",
        group.or("it reaches", "they reach"),
        group.figures(100.0, 0),
        group.or("kernel", "kernels"),
        group.or("its", "their"),
    );
    Some(group.lint("far-from-roof", text))
}

/// Threads that wait for the slowest.
fn uneven(kernels: &[Row], threads: usize) -> Option<Lint> {
    let group = Group::of(kernels, |row| {
        let lost = row.imbalance;
        (lost > UNEVEN * row.time()).then(|| [lost, lost / row.time()])
    })?;
    let text = format!(
        "threads wait for the slowest for {} % of {} time: {} work is not divided evenly among {threads}, or other programs use their cores; try another --threads and an idle machine",
        group.figures(100.0, 0),
        group.or("its", "their"),
        group.or("its", "their"),
    );
    Some(group.lint("uneven", text))
}

/// Plans that are equal but were compiled apart.
fn made_twice(pairs: &[(String, String)]) -> Option<Lint> {
    let (first, _) = pairs.first()?;
    let all: Vec<String> = pairs.iter().map(|(_, second)| second.clone()).collect();
    let text = match &all[..] {
        [second] => format!("the plans `{first}` and `{second}` are equal but were compiled twice"),
        _ => "each of these plans is equal to an earlier one but was compiled again".into(),
    };
    let text = format!("{text}, which makes loading slower: let the family build one graph and share it");
    Some(Lint { name: "made-twice", all, lost: 0.0, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of ten launches, with these seconds in all.
    fn row(name: &str, busy: f64, waiting: f64, imbalance: f64, roof: f64) -> Row {
        Row { name: name.into(), launches: 10, busy, waiting, imbalance, roof, ..Row::default() }
    }

    #[test]
    fn a_launch_is_small_compared_with_an_empty_one() {
        let lint = small(&[row("k", 20e-6, 5e-6, 0.0, 0.0)], 1e-6).unwrap();
        assert!(lint.name == "small-launch" && (lint.lost - 10e-6).abs() < 1e-12, "{lint:?}");
        assert!(lint.text.starts_with("it takes 2.5 µs, an empty launch 1.0 µs, 10 times a step: fuse it"));
        assert_eq!(small(&[row("k", 25e-6, 6e-6, 0.0, 0.0)], 1e-6), None);
    }

    #[test]
    fn kernels_with_the_same_fault_are_one_piece_of_advice() {
        let kernels: Vec<Row> =
            (0..5).map(|i| row(&format!("k{i}"), 8.0 + f64::from(i), 2.0, 1.0, 4.0)).collect();
        let lint = far(&kernels, 1e-6).unwrap();
        assert_eq!((lint.lost, lint.all.len()), (5.0 + 6.0 + 7.0 + 8.0 + 9.0, 5));
        assert_eq!(lint.about(), "k4, k3, k2 and 2 more");
        assert!(lint.text.starts_with("they reach 31 to 44 % of the roofline: improve the kernels"));
        let lint = small(&[row("a", 20e-6, 0.0, 0.0, 0.0), row("b", 10e-6, 0.0, 0.0, 0.0)], 1e-6).unwrap();
        assert!(lint.text.starts_with("each takes 1.0 to 2.0 µs, an empty launch 1.0 µs, 20 times a step"));
        let lint = uneven(&[row("a", 8.0, 2.0, 1.5, 0.0), row("b", 8.0, 2.0, 1.0, 0.0)], 4).unwrap();
        assert_eq!((lint.about().as_str(), lint.lost), ("a", 1.5));
        let plan = |i: usize| (format!("p{i}"), format!("q{i}"));
        let lint = made_twice(&[plan(1), plan(2)]).unwrap();
        assert!(
            lint.about() == "q1, q2" && lint.text.starts_with("each of these plans is equal"),
            "{lint:?}"
        );
    }

    #[test]
    fn distance_from_the_roof_excludes_waits_for_the_slowest() {
        let far = |row: Row| far(&[row], 1e-6);
        let lint = far(row("k", 8.0, 2.0, 1.0, 4.0)).unwrap();
        assert_eq!((lint.name, lint.lost), ("far-from-roof", 5.0));
        assert!(lint.text.starts_with("it reaches 44 %"), "{}", lint.text);
        assert_eq!(far(row("k", 8.0, 2.0, 3.0, 4.0)), None);
    }

    #[test]
    fn where_the_roof_says_nothing_there_is_no_advice() {
        let far = |roof| far(&[row("k", 8.0, 2.0, 0.0, roof)], 0.05);
        assert_eq!(far(0.0), None, "without reads and multiplications there is no roof");
        assert_eq!(far(f64::NAN), None, "it is not known");
        // Ten launches that do nothing take 0.5 s.
        assert_eq!(far(0.4), None, "there is next to nothing to read");
        assert!(far(0.6).is_some());
    }

    #[test]
    fn work_is_uneven_if_threads_wait_for_the_slowest() {
        let lint = uneven(&[row("k", 8.0, 2.0, 1.5, 0.0)], 4).unwrap();
        assert_eq!((lint.name, lint.lost), ("uneven", 1.5));
        assert!(lint.text.starts_with(
            "threads wait for the slowest for 15 % of its time: its work is not divided evenly among 4"
        ));
        assert_eq!(uneven(&[row("k", 8.0, 2.0, 1.0, 0.0)], 4), None, "not every wait is for the slowest");
    }
}
