//! Keeps the highest of many scores, in a fixed order.

/// The choice of one token. Its candidates are in a slice of their own.
///
/// A candidate is one number that orders by score, and among equal scores the lower position higher: so a choice does not depend on the
/// order in which positions are offered.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::attend) struct Choice {
    /// How many candidates there are.
    len: usize,
    /// The lowest that is still chosen, if as many are known as can be.
    least: u64,
}

/// The candidate of a position with this score. No candidate is 0.
#[inline(always)]
pub(super) fn candidate(score: f32, position: usize) -> u64 {
    // Every NaN is the positive one, above all numbers; −0 + 0 is 0.
    let bits = if score.is_nan() { f32::NAN } else { score + 0.0 }.to_bits();
    let order = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(order) << 32 | u64::from(!(position as u32))
}

/// The position of a candidate.
fn position(candidate: u64) -> u32 {
    !(candidate as u32)
}

impl Choice {
    /// Offers a candidate to the choice of the `most` highest. `own` has room for more than `most`, or for all that are offered.
    #[inline(always)]
    pub(super) fn offer(&mut self, own: &mut [u64], most: usize, candidate: u64) {
        if candidate <= self.least {
            return;
        }
        if self.len == own.len() {
            self.reduce(own, most);
        }
        if let Some(to) = own.get_mut(self.len) {
            *to = candidate;
            self.len += 1;
        }
    }

    /// Drops all candidates but the `most` highest, and returns these in any order.
    pub(super) fn reduce<'a>(&mut self, own: &'a mut [u64], most: usize) -> &'a [u64] {
        let known = &mut own[..self.len];
        if self.len > most {
            known.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
            self.least = known[most - 1];
            self.len = most;
        }
        &own[..self.len]
    }

    /// The `most` highest positions in ascending order, then −1.
    pub(super) fn list(&mut self, own: &mut [u64], most: usize, list: &mut [f32]) {
        self.reduce(own, most);
        let known = &mut own[..self.len];
        known.iter_mut().for_each(|candidate| *candidate = u64::from(position(*candidate)));
        known.sort_unstable();
        let positions = known.iter().map(|position| *position as f32);
        list.iter_mut().zip(positions.chain(std::iter::repeat(-1.0))).for_each(|(to, from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use weft_ir::highest;

    use super::*;

    /// The list of the highest, offered in this order, with room for so many candidates.
    fn listed(scores: &[f32], order: impl Iterator<Item = usize>, most: usize, room: usize) -> Vec<f32> {
        let (mut choice, mut own, mut list) = (Choice::default(), vec![0; room], vec![f32::NAN; most]);
        order.for_each(|at| choice.offer(&mut own, most, candidate(scores[at], at)));
        choice.list(&mut own, most, &mut list);
        list
    }

    #[test]
    fn any_order_and_any_room_give_the_definition() {
        let scores: Vec<f32> =
            (0..200u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as f32 - 8.0).collect();
        let mut special = scores.clone();
        special[17] = f32::NAN;
        special[90] = -f32::NAN;
        special[3] = f32::NEG_INFINITY;
        special[150] = -0.0;
        special[151] = 0.0;
        for scores in [scores, special, vec![0.0; 200], vec![f32::NEG_INFINITY; 200]] {
            for most in [1, 2, 7, 64, 199, 200, 250] {
                let positions = highest(&scores, most).into_iter().map(|position| position as f32);
                let expected: Vec<f32> = positions.chain(std::iter::repeat(-1.0)).take(most).collect();
                for room in [most + 1, 2 * most, 400] {
                    assert_eq!(listed(&scores, 0..200, most, room), expected, "{most} of room {room}");
                    assert_eq!(listed(&scores, (0..200).rev(), most, room), expected, "backwards");
                }
            }
        }
    }

    #[test]
    fn candidates_are_above_nothing() {
        assert!(candidate(f32::NEG_INFINITY, (1 << 24) - 1) > 0);
        assert_eq!(candidate(-0.0, 5), candidate(0.0, 5));
        assert!(candidate(0.0, 4) > candidate(0.0, 5));
    }
}
