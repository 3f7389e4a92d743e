//! The figures of what clients saw.

use std::collections::BTreeMap;

use weft_lab::Samples;

use super::load::Seen;
use super::queue::Queue;

/// The figures for a number of clients. Times are in seconds.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) clients: usize,
    /// The number of requests that succeeded.
    pub(super) completed: usize,
    /// The number of requests that failed, by kind.
    pub(super) errors: BTreeMap<String, usize>,
    /// The number of replies with fewer tokens than asked for.
    pub(super) short: usize,
    /// From the first request sent to the last reply ended.
    pub(super) seconds: f64,
    /// All tokens of prompts that succeeded.
    pub(super) prompt_tokens: u64,
    /// Those that came from a cache.
    pub(super) cached_tokens: u64,
    /// All tokens of replies.
    pub(super) reply_tokens: u64,
    /// From a request to the first piece of its reply.
    pub(super) first: Samples,
    /// Between two pieces of a reply.
    pub(super) between: Samples,
    /// Mean time per token of a reply after the first.
    pub(super) per_token: Samples,
    /// From a request to the end of its reply.
    pub(super) whole: Samples,
    pub(super) queue: Queue,
}

impl Figures {
    /// Something per second of the whole time.
    pub(super) fn per_second(&self, count: f64) -> f64 {
        if self.seconds > 0.0 { count / self.seconds } else { f64::NAN }
    }

    /// The number of requests that failed.
    pub(super) fn failed(&self) -> usize {
        self.errors.values().sum()
    }
}

/// The figures of `clients` clients, which asked for replies of `asked` tokens.
pub(super) fn of(clients: usize, asked: usize, seen: &Seen) -> Figures {
    let errors = seen.errors.iter().map(|(kind, (count, _))| (kind.clone(), *count)).collect();
    let begun = seen.samples.iter().map(|sample| sample.sent).min();
    let ended = seen.samples.iter().map(|sample| sample.ended).max();
    let seconds = begun.zip(ended).map_or(0.0, |(begun, ended)| (ended - begun).as_secs_f64());
    let mut figures = Figures {
        clients,
        completed: seen.samples.len(),
        errors,
        short: 0,
        seconds,
        prompt_tokens: 0,
        cached_tokens: 0,
        reply_tokens: 0,
        first: Samples::new(),
        between: Samples::new(),
        per_token: Samples::new(),
        whole: Samples::new(),
        queue: seen.queue,
    };
    for sample in &seen.samples {
        let reply = sample.usage.map_or(sample.arrived.len() as u64, |usage| usage.reply);
        if let Some(usage) = sample.usage {
            figures.prompt_tokens += usage.prompt;
            figures.cached_tokens += usage.cached;
        }
        figures.reply_tokens += reply;
        figures.short += usize::from(reply < asked as u64);
        figures.whole.push((sample.ended - sample.sent).as_secs_f64());
        let (Some(first), Some(last)) = (sample.arrived.first(), sample.arrived.last()) else { continue };
        figures.first.push((*first - sample.sent).as_secs_f64());
        for pair in sample.arrived.windows(2) {
            figures.between.push((pair[1] - pair[0]).as_secs_f64());
        }
        if reply > 1 {
            figures.per_token.push((*last - *first).as_secs_f64() / (reply - 1) as f64);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::load::{Sample, Tokens};
    use super::*;

    /// A sample with these times in milliseconds.
    fn sample(start: Instant, sent: u64, arrived: &[u64], ended: u64, usage: Option<Tokens>) -> Sample {
        let at = |time: u64| start + Duration::from_millis(time);
        Sample {
            sent: at(sent),
            arrived: arrived.iter().map(|&time| at(time)).collect(),
            ended: at(ended),
            usage,
        }
    }

    #[test]
    fn figures_of_two_clients() {
        let start = Instant::now();
        let usage = |cached, reply| Some(Tokens { prompt: 10, cached, reply });
        let mut seen = Seen {
            samples: vec![
                sample(start, 0, &[100, 200, 400], 500, usage(4, 3)),
                sample(start, 100, &[400, 900], 1000, usage(0, 6)),
                sample(start, 500, &[2000], 2000, None),
            ],
            ..Seen::default()
        };
        seen.errors.insert("busy".into(), (2, "x".into()));
        seen.errors.insert("status 500".into(), (1, "y".into()));
        let figures = of(2, 3, &seen);
        assert_eq!((figures.completed, figures.failed(), figures.short), (3, 3, 1));
        assert_eq!((figures.prompt_tokens, figures.cached_tokens, figures.reply_tokens), (20, 4, 10));
        assert_eq!(figures.seconds, 2.0);
        assert_eq!(figures.per_second(10.0), 5.0);
        let ms = |samples: &Samples| samples.all().iter().map(|s| (s * 1e3).round()).collect::<Vec<f64>>();
        assert_eq!(ms(&figures.first), [100.0, 300.0, 1500.0]);
        assert_eq!(ms(&figures.between), [100.0, 200.0, 500.0]);
        assert_eq!(ms(&figures.per_token), [150.0, 100.0]);
        assert_eq!(ms(&figures.whole), [500.0, 900.0, 1500.0]);
        assert_eq!((figures.first.quantile(0.5) * 1e3).round(), 300.0);
    }

    #[test]
    fn nothing_seen() {
        let figures = of(1, 3, &Seen::default());
        assert_eq!((figures.completed, figures.seconds), (0, 0.0));
        assert!(figures.per_second(1.0).is_nan() && figures.first.quantile(0.5).is_nan());
    }
}
