//! How much of the CPU other programs use during a measurement.

use std::fs;
use std::time::Instant;

/// The least that is worth a word, in cores.
const LEAST: f64 = 0.25;

/// The same, as a fraction of all cores, if there is room for other programs during the measurement.
const MUCH: f64 = 0.1;

/// Watches other programs from a moment on.
#[derive(Debug)]
pub struct Others {
    began: Option<Usage>,
    at: Instant,
}

/// The time that cores have spent, in the system's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Usage {
    cores: u32,
    /// All of it.
    all: u64,
    /// Not idle: work, and what a virtual machine's host took.
    busy: u64,
    /// Of this process.
    own: u64,
}

/// Shorter measurements have too few ticks.
const SECONDS: f64 = 0.5;

impl Others {
    /// Begins to watch.
    pub fn watch() -> Others {
        Others { began: Usage::now(), at: Instant::now() }
    }

    /// Says how much other programs used since then, if that disturbs a measurement with `threads`
    /// threads. On other systems than Linux,
    /// it is not known.
    pub fn disturb(&self, threads: usize) -> Option<String> {
        let (began, now) = (self.began?, Usage::now()?);
        if self.at.elapsed().as_secs_f64() < SECONDS { None } else { words(&began, &now, threads) }
    }
}

/// Says how much other programs used between two moments, if that disturbs.
fn words(began: &Usage, now: &Usage, threads: usize) -> Option<String> {
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

impl Usage {
    fn now() -> Option<Usage> {
        let read = |path| fs::read_to_string(path).ok();
        Usage::of(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    /// Reads Linux's `/proc/stat` and `/proc/self/stat`.
    fn of(system: &str, own: &str) -> Option<Usage> {
        let cores =
            system.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        let times = system.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // User, nice, system, idle, waiting for disks, interrupts (2), stolen; guests are part of the user's.
        let times: Vec<u64> = times.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let sum = |times: &[u64]| times.iter().fold(0u64, |sum, one| sum.saturating_add(*one));
        let idle = times.get(3..5).map(sum)?;
        let all = sum(&times);
        // The name of the program, in parentheses, may contain anything.
        let (_, fields) = own.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|word| word.parse::<u64>().ok());
        let own = ticks(11)?.saturating_add(ticks(12)?);
        let cores = u32::try_from(cores).ok().filter(|cores| *cores > 0)?;
        Some(Usage { cores, all, busy: all - idle, own })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_linux_writes_them() {
        let system = "cpu  100 20 30 400 50 6 7 8 90 1\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 5\n";
        let own = "77 (a) b) R 1 2 3 4 5 6 7 8 9 10 110 12 13 14 20\n";
        assert_eq!(Usage::of(system, own), Some(Usage { cores: 2, all: 621, busy: 171, own: 122 }));
        for (system, own) in [
            ("", own),
            ("cpu  1 2 3\ncpu0\n", own),
            ("cpu  1 2 3 4 5\n", own),
            (system, ""),
            (system, "1 (x) R 1"),
        ] {
            assert_eq!(Usage::of(system, own), None, "{system} {own}");
        }
    }

    #[test]
    fn only_what_disturbs_is_said() {
        let began = Usage { cores: 4, all: 1000, busy: 500, own: 100 };
        let after = |busy: u64, own: u64| Usage { cores: 4, all: 1400, busy: 500 + busy, own: 100 + own };
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
