//! How many guesses turned out right.

use super::drafter::{KINDS, is_predicted};

// `simulation` says what the numbers here are worth.

/// The acceptance of each kind that is assumed before the first guess, and the number of guesses that it counts for. It is rather high for
/// the model's predictions, because a kind that is never tried is never measured. Tokens that are looked up are compared anyway.
const FIRST: [f64; KINDS] = [0.75, 0.3, 0.5, 0.45, 0.5, 0.55, 0.5, 0.4, 0.8, 0.7, 0.85, 0.7, 0.7, 0.65, 0.6];
const WEIGHT: f64 = 12.0;

/// The acceptance of all generations counts as much as this many guesses of a generation.
const WEIGHT_OF_ALL: f64 = 14.0;

/// The fraction of earlier counts that is kept after a guess of the same kind: of one generation's counts, and of all.
const KEPT: f64 = 0.93;
const KEPT_OF_ALL: f64 = 0.976;

/// The fraction that is kept after a step without a guess of this kind, so that such guesses are tried again: of one generation's counts,
/// and of all.
const KEPT_UNUSED: f64 = 0.995;
const KEPT_UNUSED_OF_ALL: f64 = 0.999;

/// How many guesses of each kind turned out right lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acceptance {
    kinds: [Rate; KINDS],
}

/// Guesses that were checked, and those that were right.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    checked: f64,
    right: f64,
}

/// The outcome of a guess.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// The number of guessed tokens that were right, in order, and saved a step.
    pub(crate) accepted: usize,
    /// Whether the token after them was wrong.
    pub(crate) wrong: bool,
}

impl Rate {
    fn add(&mut self, verdict: Verdict, kept: f64) {
        let Verdict { accepted, wrong } = verdict;
        self.fade(kept);
        self.right += accepted as f64;
        self.checked += (accepted + usize::from(wrong)) as f64;
    }

    fn fade(&mut self, kept: f64) {
        self.checked *= kept;
        self.right *= kept;
    }

    /// The probability that a token is right if those before it are.
    fn of(&self, assumed: f64, weight: f64) -> f64 {
        (self.right + weight * assumed) / (self.checked + weight)
    }
}

impl Acceptance {
    /// Counts a guess of a generation, whose own counts these are, and of all generations.
    pub(crate) fn add(&mut self, all: &mut Acceptance, kind: usize, verdict: Verdict) {
        self.kinds[kind].add(verdict, KEPT);
        all.kinds[kind].add(verdict, KEPT_OF_ALL);
    }

    /// Counts a step without a guess of this kind.
    pub(crate) fn unused(&mut self, all: &mut Acceptance, kind: usize) {
        self.kinds[kind].fade(KEPT_UNUSED);
        all.kinds[kind].fade(KEPT_UNUSED_OF_ALL);
    }

    /// The probability that a token of a guess is right if those before it are.
    ///
    /// For predictions it is a standard error higher. Tokens that are looked up are compared with the chosen ones in any case, but
    /// predictions that did badly at first are no longer made, and could never show that they are good.
    pub(crate) fn of(&self, all: &Acceptance, kind: usize) -> f64 {
        let all = all.kinds[kind];
        let mut assumed = all.of(FIRST[kind], WEIGHT);
        if is_predicted(kind) {
            assumed += (assumed * (1.0 - assumed) / (all.checked + WEIGHT)).sqrt();
        }
        self.kinds[kind].of(assumed.min(1.0), WEIGHT_OF_ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_what_was_checked_and_return_if_nothing_is() {
        let (mut one, mut all) = (Acceptance::default(), Acceptance::default());
        assert_eq!(one.of(&all, 2), FIRST[2]);
        for _ in 0..50 {
            one.add(&mut all, 2, Verdict { accepted: 3, wrong: true });
        }
        assert!((one.of(&all, 2) - 0.75).abs() < 0.02, "{}", one.of(&all, 2));
        for _ in 0..100 {
            one.add(&mut all, 2, Verdict { accepted: 0, wrong: true });
        }
        let low = one.of(&all, 2);
        assert!(low < 0.2 && one.of(&all, 1) == FIRST[1], "{low}");
        // Another generation begins with the acceptance learnt so far.
        let begins = Acceptance::default().of(&all, 2);
        assert!(begins > low && begins < 0.75, "{begins}");
        for _ in 0..6000 {
            one.unused(&mut all, 2);
        }
        assert!((one.of(&all, 2) - FIRST[2]).abs() < 0.02, "{}", one.of(&all, 2));
    }

    #[test]
    fn a_guess_that_ends_the_reply_is_not_wrong() {
        let (mut one, mut all) = (Acceptance::default(), Acceptance::default());
        one.add(&mut all, 0, Verdict { accepted: 2, wrong: false });
        assert!(one.of(&all, 0) > FIRST[0]);
    }
}
