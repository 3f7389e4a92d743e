//! How many guesses of a step are worth their time.

use super::drafter::MOST_PREDICTED;
use super::times::Times;

/// The least gain for which anything is guessed, as a share: less is noise of the measurements.
const LEAST: f64 = 0.012;

/// A guess to decide on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// The number of guessed tokens.
    pub(crate) tokens: usize,
    /// The probability that each is right if those before it are; the last is that of all further ones.
    pub(crate) acceptance: [f64; MOST_PREDICTED],
}

/// The best numbers of tokens to compute.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Worth {
    /// The number of tokens of each offer.
    pub(crate) taken: Vec<usize>,
    /// The expected tokens per second.
    pub(crate) rate: f64,
}

/// The number of tokens to compute of each offer, so that the step yields most tokens per second. Each offer is a reply's,
/// which computes a row without it. The step has room for `room` guessed tokens, and takes `extra` time if it computes any.
pub(crate) fn worth(offers: &[Offer], room: usize, times: &Times, extra: f64) -> Worth {
    let rows = offers.len();
    let most = room.min(times.rows().saturating_sub(rows));
    let alone = rows as f64 / times.of(rows);
    // The probability that the next token of each offer saves a step.
    let mut next: Vec<f64> = offers.iter().map(|offer| offer.probability(0, 1.0)).collect();
    let mut taken = vec![0; rows];
    let mut order = Vec::with_capacity(most);
    let (mut expected, mut best) = (rows as f64, (alone * (1.0 + LEAST), 0));
    // The likeliest first, of equals the first offer's: later tokens of an offer are less likely than earlier ones.
    while order.len() < most {
        let Some((at, right)) = likeliest(&next) else { break };
        taken[at] += 1;
        next[at] = offers[at].probability(taken[at], right);
        order.push(at);
        expected += right;
        let rate = expected / (times.of(rows + order.len()) + extra);
        if rate > best.0 {
            best = (rate, order.len());
        }
    }
    order[best.1..].iter().for_each(|at| taken[*at] -= 1);
    Worth { taken, rate: if best.1 == 0 { alone } else { best.0 } }
}

impl Offer {
    /// The probability that `taken` tokens and the token after them are right, if the `taken` ones are right with the probability
    /// `right`; 0 if there is no such token.
    fn probability(&self, taken: usize, right: f64) -> f64 {
        if taken < self.tokens { right * self.acceptance[taken.min(MOST_PREDICTED - 1)] } else { 0.0 }
    }
}

/// The first of the largest probabilities, and which it is, unless all are 0.
fn likeliest(next: &[f64]) -> Option<(usize, f64)> {
    let mut best = (0, 0.0);
    for (at, right) in next.iter().enumerate() {
        if *right > best.1 {
            best = (at, *right);
        }
    }
    (best.1 > 0.0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(tokens: usize, acceptance: f64) -> Offer {
        Offer { tokens, acceptance: [acceptance; MOST_PREDICTED] }
    }

    #[test]
    fn guesses_are_worth_their_time_or_are_left() {
        // Each row adds a tenth of the first, as of a dense model.
        let measured = |each: f64| {
            let mut times = Times::new(vec![1.0; 20]);
            (0..20u8).for_each(|row| times.took(usize::from(row) + 1, 10.0 + each * f64::from(row)));
            times
        };
        let dense = measured(1.0);
        let taken = |offers: &[Offer], room| worth(offers, room, &dense, 0.0).taken;
        assert_eq!(taken(&[offer(9, 1.0)], 15), [9]);
        assert_eq!(taken(&[offer(9, 1.0)], 4), [4]);
        assert_eq!(taken(&[offer(9, 0.05)], 15), [0]);
        let some = taken(&[offer(9, 0.5)], 15)[0];
        assert!((1..4).contains(&some), "{some}");
        // A likely guess goes before an unlikely one.
        assert_eq!(taken(&[offer(2, 0.2), offer(3, 0.9)], 3), [0, 3]);
        assert!(taken(&[], 3).is_empty());
        // As with experts, where two rows take nearly twice the time.
        let dear = measured(8.0);
        assert_eq!(worth(&[offer(3, 0.7)], 15, &dear, 0.0).taken, [0]);
        assert_eq!(worth(&[offer(3, 0.97)], 15, &dear, 0.0).taken, [3]);
        // Guesses that take time of their own.
        assert_eq!(worth(&[offer(1, 0.8)], 15, &dense, 6.0).taken, [1]);
        let nothing = worth(&[offer(1, 0.8)], 15, &dense, 8.0);
        assert_eq!(nothing, Worth { taken: vec![0], rate: 0.1 });
        // No more rows than are known.
        assert_eq!(taken(&[offer(15, 1.0), offer(15, 1.0)], 30).iter().sum::<usize>(), 18);
    }
}
