//! How the prompts of a step share its tokens.
//!
//! While there are no replies, prompts share equally. A prompt that would finish a step before the others waits for them once: its
//! reply would limit all other prompts to small steps, and be slowed down by them. While there are replies, half of the tokens go
//! to the oldest prompt and the rest to those that finish first, so that a short prompt does not wait for a long one. The oldest
//! prompt always gets about its equal share, so none waits for ever.

/// The fewest tokens of a prompt worth computing. A step is shared by as many prompts as can each have this many.
const LEAST: usize = 8;

/// The tokens left of a prompt that waits for others: a single one would be taken for a reply.
const HELD: usize = 2;

/// The most prompts that share this many tokens.
pub(super) fn most(tokens: usize) -> usize {
    (tokens / LEAST).max(1)
}

/// A prompt that takes part in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Share {
    /// The number of its tokens that are left to compute.
    pub(super) left: usize,
    /// The number of them that are computed in this step.
    pub(super) given: usize,
    /// Whether it has waited for others, and need not again.
    pub(super) waited: bool,
}

impl Share {
    /// Gives it up to `most` tokens of the `rest`.
    fn give(&mut self, most: usize, rest: &mut usize) {
        let more = most.min(self.left - self.given).min(*rest);
        self.given += more;
        *rest -= more;
    }

    fn is_done(&self) -> bool {
        self.given == self.left
    }
}

/// Divides the `tokens` of a step between prompts, oldest first.
pub(super) fn divide(prompts: &mut [Share], tokens: usize, beside_replies: bool) {
    if beside_replies { by_age_and_length(prompts, tokens) } else { equally(prompts, tokens) }
}

fn by_age_and_length(prompts: &mut [Share], tokens: usize) {
    let mut rest = tokens;
    prompts.iter_mut().take(1).for_each(|oldest| oldest.give(tokens.div_ceil(2), &mut rest));
    let mut order: Vec<usize> = (0..prompts.len()).collect();
    order.sort_by_key(|at| prompts[*at].left);
    order.into_iter().for_each(|at| prompts[at].give(tokens, &mut rest));
}

fn equally(prompts: &mut [Share], tokens: usize) {
    let mut rest = tokens;
    while rest > 0 {
        let unfinished = prompts.iter().filter(|one| !one.is_done()).count();
        if unfinished == 0 {
            return;
        }
        // Less than one token each is for the oldest.
        let each = (rest / unfinished).max(1);
        prompts.iter_mut().for_each(|one| one.give(each, &mut rest));
    }
    let done = || prompts.iter().filter(|one| one.is_done());
    let after = prompts.iter().map(|one| one.left - one.given).sum::<usize>() + HELD * done().count();
    let can_wait = done().all(|one| !one.waited && one.left > HELD);
    if can_wait && done().count() < prompts.len() && after <= tokens {
        for one in prompts.iter_mut().filter(|one| one.is_done()) {
            one.given -= HELD;
            one.waited = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(left: &[usize]) -> Vec<Share> {
        left.iter().map(|left| Share { left: *left, ..Share::default() }).collect()
    }

    /// The tokens that each of these prompts gets.
    fn divided(left: &[usize], tokens: usize, beside_replies: bool) -> Vec<usize> {
        let mut shares = shares(left);
        divide(&mut shares, tokens, beside_replies);
        shares.iter().map(|share| share.given).collect()
    }

    #[test]
    fn prompts_share_equally_while_nobody_replies() {
        let cases: [(&[usize], usize, &[usize]); 7] = [
            (&[], 512, &[]),
            (&[900], 512, &[512]),
            (&[256; 8], 512, &[64; 8]),
            (&[256; 7], 512, &[74, 73, 73, 73, 73, 73, 73]),
            // Tokens that short prompts leave go to all others.
            (&[4000, 20, 300], 512, &[246, 20, 246]),
            (&[100, 20, 30], 512, &[100, 20, 30]),
            (&[5; 4], 3, &[1, 1, 1, 0]),
        ];
        for (left, tokens, expected) in cases {
            assert_eq!(divided(left, tokens, false), expected, "{left:?}");
        }
    }

    #[test]
    fn prompts_wait_once_for_others_that_need_one_more_step() {
        let mut shares = shares(&[60, 64, 70, 90]);
        divide(&mut shares, 256, false);
        let given = |shares: &[Share]| shares.iter().map(|share| share.given).collect::<Vec<_>>();
        assert_eq!(given(&shares), [58, 62, 66, 66]);
        for share in &mut shares {
            *share = Share { left: share.left - share.given, given: 0, ..*share };
        }
        // Another comes meanwhile: now they do not wait.
        shares.push(Share { left: 300, ..Share::default() });
        divide(&mut shares, 256, false);
        assert_eq!(given(&shares), [2, 2, 4, 24, 224]);
        assert_eq!(divided(&[60, 900], 256, false), [60, 196], "the other needs several steps");
        assert_eq!(divided(&[60, 64, 70, 90, 1], 256, false), [60, 64, 66, 65, 1], "one is done anyway");
    }

    #[test]
    fn beside_replies_the_oldest_gets_half_and_the_shortest_the_rest() {
        let cases: [(&[usize], usize, &[usize]); 6] = [
            (&[900], 64, &[64]),
            (&[256; 3], 64, &[64, 0, 0]),
            (&[20, 256, 256], 64, &[20, 44, 0]),
            (&[4000, 3000, 20], 64, &[32, 12, 20]),
            (&[4000, 100, 100], 64, &[32, 32, 0]),
            (&[7, 7, 7], 1, &[1, 0, 0]),
        ];
        for (left, tokens, expected) in cases {
            assert_eq!(divided(left, tokens, true), expected, "{left:?}");
        }
    }

    #[test]
    fn the_oldest_gets_its_share_and_no_token_is_left_over() {
        for seed in 0..500 {
            let left: Vec<usize> = (0..1 + seed % 9).map(|i| 1 + (seed * 31 + i * 177) % 400).collect();
            let tokens = 1 + seed * 7 % 600;
            for beside_replies in [false, true] {
                let given = divided(&left, tokens, beside_replies);
                assert!(given.iter().zip(&left).all(|(given, left)| given <= left));
                let held = if beside_replies { 0 } else { HELD * left.len() };
                let all = tokens.min(left.iter().sum());
                assert!(
                    (all.saturating_sub(held)..=all).contains(&given.iter().sum::<usize>()),
                    "{left:?}, {tokens}"
                );
                assert!(given[0] + HELD >= left[0].min(tokens / left.len()), "{left:?}, {tokens}");
            }
        }
    }
}
