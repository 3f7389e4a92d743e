//! Advice from a profile: where time is lost needlessly, how much, and what to do about it.

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

/// A piece of advice.
#[derive(Clone, PartialEq, Debug)]
pub struct Lint {
    /// Its kind: `small-launch`, `far-from-roof`, `uneven` or `made-twice`.
    pub name: &'static str,
    /// The kernel or plan it is about.
    pub about: String,
    /// Seconds lost in a step; 0 if time is lost only when a model is loaded.
    pub lost: f64,
    /// The finding and what to do, in a sentence or two.
    pub text: String,
}

impl Lint {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Lint { name, about, lost, text } = self;
        json!({ "lint": name, "about": about, "lost_ms": lost * 1e3, "text": text })
    }
}

impl Profile {
    /// Returns all advice, the largest loss first.
    pub fn lints(&self) -> Vec<Lint> {
        lints(self)
    }
}

fn lints(profile: &Profile) -> Vec<Lint> {
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
            "the plans `{first}` and `{second}` are equal but were compiled twice, which makes loading slower: let the family build one graph and share it"
        ),
    }));
    lints
}

/// A launch with too little work, compared with an empty one.
fn small(row: &Row, empty: f64) -> Option<Lint> {
    let each = row.time() / row.launches as f64;
    let lost = empty * row.launches as f64;
    (each < SMALL * empty).then(|| Lint {
        name: "small-launch",
        about: row.name.clone(),
        lost,
        text: format!(
            "it takes {:.1} µs, an empty launch {:.1} µs, {} times a step: fuse it into a neighbour; `weft explain --why` says why it is not fused",
            each * 1e6,
            empty * 1e6,
            row.launches
        ),
    })
}

/// A kernel that is much slower than the roofline.
fn far(row: &Row) -> Option<Lint> {
    // Waiting for a slow thread is reported by another lint.
    let lost = row.lost() - row.imbalance;
    let of_roof = row.roof / (row.time() - row.imbalance);
    (of_roof < FAR && row.roof > 0.0).then(|| Lint {
        name: "far-from-roof",
        about: row.name.clone(),
        lost,
        text: format!(
            "it reaches {:.0} % of the roofline ({:.1} GB/s, {:.1} GMAC/s): improve the kernel rather than the plan; --with-source shows its source",
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
            "threads wait for the slowest for {:.0} % of its time: its work is not divided evenly among {threads}, or other programs use their cores; try another --threads and an idle machine",
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
    fn a_launch_is_small_compared_with_an_empty_one() {
        let lint = small(&row(20e-6, 5e-6, 0.0, 0.0), 1e-6).unwrap();
        assert!(lint.name == "small-launch" && (lint.lost - 10e-6).abs() < 1e-12, "{lint:?}");
        assert!(lint.text.starts_with("it takes 2.5 µs, an empty launch 1.0 µs, 10 times a step"));
        assert_eq!(small(&row(25e-6, 6e-6, 0.0, 0.0), 1e-6), None);
    }

    #[test]
    fn distance_from_the_roof_excludes_waits_for_the_slowest() {
        let lint = far(&row(8.0, 2.0, 1.0, 4.0)).unwrap();
        assert_eq!((lint.name, lint.lost), ("far-from-roof", 5.0));
        assert!(lint.text.starts_with("it reaches 44 %"), "{}", lint.text);
        assert_eq!(far(&row(8.0, 2.0, 3.0, 4.0)), None);
        assert_eq!(far(&row(8.0, 2.0, 0.0, 0.0)), None, "without reads and multiplications there is no roof");
    }

    #[test]
    fn work_is_uneven_if_threads_wait_for_the_slowest() {
        let lint = uneven(&row(8.0, 2.0, 1.5, 0.0), 4).unwrap();
        assert_eq!((lint.name, lint.lost), ("uneven", 1.5));
        assert!(lint.text.starts_with(
            "threads wait for the slowest for 15 % of its time: its work is not divided evenly among 4"
        ));
        assert_eq!(uneven(&row(8.0, 2.0, 1.0, 0.0), 4), None, "not every wait is for the slowest");
    }
}
