//! What a profile advises: where time is lost that need not be, how much, and what to do about it.

use serde_json::{Value, json};

use crate::profile::{Profile, Row};

/// A launch that takes less than this many empty ones does too little.
const SMALL: f64 = 3.0;

/// Less of the roofline than this is far under it: what the engine's products reach is well above.
const FAR: f64 = 0.5;

/// More of a kernel's time than this, lost because threads wait for the slowest, is too much.
const UNEVEN: f64 = 0.1;

/// What is less of a step than this is not worth a sentence.
const WORTH: f64 = 0.005;

/// A piece of advice.
#[derive(Clone, PartialEq, Debug)]
pub struct Lint {
    /// What kind: `small-launch`, `far-from-roof`, `uneven` or `made-twice`.
    pub name: &'static str,
    /// The kernel or the plan it is about.
    pub about: String,
    /// Seconds of a step that are at stake; 0 for what costs time only when a model is loaded.
    pub lost: f64,
    /// What is so, and what to do, in a sentence or two.
    pub text: String,
}

impl Lint {
    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let Lint { name, about, lost, text } = self;
        json!({ "lint": name, "about": about, "lost_ms": lost * 1e3, "text": text })
    }
}

/// All advice, that first which is about most time.
pub(crate) fn lints(profile: &Profile) -> Vec<Lint> {
    let wall = profile.clock.wall;
    let kernels = profile.kernels();
    let each = |row: &Row| {
        [small(row, profile.empty_launch), far(row), uneven(row, profile.workers.len())].into_iter().flatten()
    };
    let mut lints: Vec<Lint> =
        kernels.iter().flat_map(each).filter(|lint| lint.lost >= WORTH * wall).collect();
    lints.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    lints.extend(profile.plans_made_twice.iter().map(|(first, second)| Lint {
        name: "made-twice",
        about: second.clone(),
        lost: 0.0,
        text: format!(
            "the plans `{first}` and `{second}` are the same and were compiled each for itself: loading takes longer, and a change of one is not a change of the other; have the family build one graph and share it"
        ),
    }));
    lints
}

/// Too little work in a launch, against one that does nothing.
fn small(row: &Row, empty: f64) -> Option<Lint> {
    let each = row.time() / row.launches as f64;
    let lost = empty * row.launches as f64;
    (each < SMALL * empty).then(|| Lint {
        name: "small-launch",
        about: row.name.clone(),
        lost,
        text: format!(
            "it takes {:.1} µs, and a launch that does nothing {:.1} µs, {} times a step: have it done in a neighbour's kernel; `weft explain --why` tells why it is not",
            each * 1e6,
            empty * 1e6,
            row.launches
        ),
    })
}

/// Much slower than the machine.
fn far(row: &Row) -> Option<Lint> {
    // What waits for a slow thread is the other lint's to tell.
    let lost = row.lost() - row.imbalance;
    let of_roof = row.roof / (row.time() - row.imbalance);
    (of_roof < FAR && row.roof > 0.0).then(|| Lint {
        name: "far-from-roof",
        about: row.name.clone(),
        lost,
        text: format!(
            "it reaches {:.0} % of what the machine does meanwhile ({:.1} GB/s, {:.1} GMAC/s): the kernel is to be improved and not the plan; --with-source shows it",
            of_roof * 100.0,
            row.bytes_per_second() / 1e9,
            row.multiplications_per_second() / 1e9
        ),
    })
}

/// Threads that wait for the slowest.
fn uneven(row: &Row, threads: usize) -> Option<Lint> {
    let lost = row.imbalance;
    (lost > UNEVEN * row.time()).then(|| Lint {
        name: "uneven",
        about: row.name.clone(),
        lost,
        text: format!(
            "{:.0} % of its time threads wait for the slowest: its work is not cut evenly for {threads}, or something else runs on their cores; try another --threads, and an idle machine",
            100.0 * lost / row.time()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of ten launches, with these seconds in all.
    fn row(busy: f64, waiting: f64, imbalance: f64, roof: f64) -> Row {
        Row { name: "k".into(), launches: 10, busy, waiting, imbalance, roof, ..Row::default() }
    }

    #[test]
    fn a_launch_is_small_beside_an_empty_one() {
        let lint = small(&row(20e-6, 5e-6, 0.0, 0.0), 1e-6).unwrap();
        assert!(lint.name == "small-launch" && (lint.lost - 10e-6).abs() < 1e-12, "{lint:?}");
        assert!(
            lint.text.starts_with("it takes 2.5 µs, and a launch that does nothing 1.0 µs, 10 times a step")
        );
        assert_eq!(small(&row(25e-6, 6e-6, 0.0, 0.0), 1e-6), None);
    }

    #[test]
    fn a_kernel_is_far_from_its_roof_without_what_it_waits_for_the_slowest() {
        let lint = far(&row(8.0, 2.0, 1.0, 4.0)).unwrap();
        assert_eq!((lint.name, lint.lost), ("far-from-roof", 5.0));
        assert!(lint.text.starts_with("it reaches 44 %"), "{}", lint.text);
        assert_eq!(far(&row(8.0, 2.0, 3.0, 4.0)), None);
        assert_eq!(far(&row(8.0, 2.0, 0.0, 0.0)), None, "what neither reads nor multiplies has no roof");
    }

    #[test]
    fn work_is_uneven_if_threads_wait_for_the_slowest() {
        let lint = uneven(&row(8.0, 2.0, 1.5, 0.0), 4).unwrap();
        assert_eq!((lint.name, lint.lost), ("uneven", 1.5));
        assert!(
            lint.text.starts_with(
                "15 % of its time threads wait for the slowest: its work is not cut evenly for 4"
            )
        );
        assert_eq!(uneven(&row(8.0, 2.0, 1.0, 0.0), 4), None, "not every wait is for the slowest");
    }
}
