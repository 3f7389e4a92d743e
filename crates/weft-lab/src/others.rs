//! How much of the CPU other programs use during a measurement.

use std::time::Instant;

use weft_host::{CpuTime, cpu_time};

/// The least that is worth a word, in cores.
const LEAST: f64 = 0.25;

/// The least fraction of all cores that is worth a word, if there is room for other programs during the measurement.
const MUCH: f64 = 0.1;

/// Watches other programs from a moment on.
#[derive(Debug)]
pub struct Others {
    began: Option<CpuTime>,
    at: Instant,
}

/// Shorter measurements have too few ticks.
const SECONDS: f64 = 0.5;

impl Others {
    /// Begins to watch.
    pub fn watch() -> Others {
        Others { began: cpu_time(), at: Instant::now() }
    }

    /// Says how much other programs used since then, if that disturbs a measurement with `threads` threads. Some systems do not report
    /// it.
    pub fn disturb(&self, threads: usize) -> Option<String> {
        let (began, now) = (self.began?, cpu_time()?);
        if self.at.elapsed().as_secs_f64() < SECONDS { None } else { words(&began, &now, threads) }
    }
}

/// Says how much other programs used between two moments, if that disturbs.
fn words(began: &CpuTime, now: &CpuTime, threads: usize) -> Option<String> {
    let all = now.all.checked_sub(began.all).filter(|ticks| *ticks > 0)? as f64;
    let busy = now.busy.saturating_sub(began.busy) as f64;
    let own = now.own.saturating_sub(began.own) as f64;
    let cores = f64::from(now.cores);
    let others = cores * (busy - own).max(0.0) / all;
    let disturbs = others >= LEAST && (others + threads as f64 > cores || others > MUCH * cores);
    disturbs.then(|| {
        format!(
            "other programs kept {others:.1} of {cores} cores busy during the measurement: figures are lower than on an idle machine"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_disturbs_is_said() {
        let began = CpuTime { cores: 4, all: 1000, busy: 500, own: 100 };
        let after = |busy: u64, own: u64| CpuTime { cores: 4, all: 1400, busy: 500 + busy, own: 100 + own };
        let words = |busy, own, threads| words(&began, &after(busy, own), threads);
        assert_eq!(
            words(390, 200, 2).unwrap(),
            "other programs kept 1.9 of 4 cores busy during the measurement: figures are lower than on an idle machine"
        );
        assert!(words(230, 200, 4).is_some(), "no core is left for 0.3");
        assert_eq!(words(230, 200, 2), None, "two are");
        assert_eq!(words(210, 200, 4), None, "next to nothing");
        assert_eq!(words(100, 200, 4), None, "of this process alone");
        assert_eq!(super::words(&began, &began, 4), None, "no time has passed");
    }
}
