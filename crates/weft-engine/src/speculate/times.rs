//! How long steps of a few rows take.

/// How much a new measurement counts for steps of as many rows, and for all steps. Steps of all sizes become slower as texts grow, and
/// those that are seldom measured must not seem fast for that.
const SHARE: f64 = 0.06;
const SHARE_OF_ALL: f64 = 0.12;

/// A measurement of more than this many times the expected time counts as this many times it: another program disturbed it.
const MOST: f64 = 1.5;

/// The share of an estimated difference that counts for steps of more rows than were measured. It is below 1, because steps that are
/// expected to be slow are never tried and never measured.
const DOUBT: f64 = 0.85;

/// The times of steps by their number of rows: measured ones, and estimates where there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// The estimates, from one row on. Only their ratios matter.
    estimates: Vec<f64>,
    /// The measured times, each divided by the level at its time.
    measured: Vec<Option<f64>>,
    /// The factor by which all times are multiplied.
    level: f64,
    /// The times of all numbers of rows, divided by the level.
    all: Vec<f64>,
}

impl Times {
    /// Takes estimates for steps of one row, of two and so on.
    pub(crate) fn new(estimates: Vec<f64>) -> Times {
        let mut times =
            Times { measured: vec![None; estimates.len()], estimates, level: 1.0, all: Vec::new() };
        times.fill();
        times
    }

    /// The most rows of a step that are known.
    pub(crate) fn rows(&self) -> usize {
        self.estimates.len()
    }

    /// Records the time of a step of `rows` rows.
    pub(crate) fn took(&mut self, rows: usize, time: f64) {
        let Times { measured, level, .. } = self;
        let Some(place) = rows.checked_sub(1).and_then(|at| measured.get_mut(at)) else { return };
        if time <= 0.0 {
            return;
        }
        *place = Some(match *place {
            Some(before) => {
                let off = (time / (before * *level)).min(MOST);
                *level *= off.powf(SHARE_OF_ALL);
                before * off.powf(SHARE)
            }
            None => time / *level,
        });
        self.fill();
    }

    /// Returns whether anything was measured.
    pub(crate) fn is_measured(&self) -> bool {
        self.measured.iter().any(Option::is_some)
    }

    /// Returns whether steps of about `rows` rows were measured: of half to twice as many.
    pub(crate) fn knows_about(&self, rows: usize) -> bool {
        let near = rows.div_ceil(2).max(1) - 1..(2 * rows).min(self.rows());
        self.measured.get(near).is_some_and(|near| near.iter().any(Option::is_some))
    }

    /// How much longer steps of one row take than estimated.
    pub(crate) fn scale(&self) -> f64 {
        self.estimates.first().map_or(1.0, |estimate| self.of(1) / estimate)
    }

    /// The time of a row in the largest step.
    pub(crate) fn per_row(&self) -> f64 {
        self.of(self.rows()) / self.rows().max(1) as f64
    }

    /// The time of a step of `rows` rows, limited to sizes that are known. If steps of that size have not been measured, it is the
    /// estimate, corrected like that of the nearest size that has been measured.
    pub(crate) fn of(&self, rows: usize) -> f64 {
        let at = rows.clamp(1, self.rows().max(1)) - 1;
        self.all.get(at).map_or(1.0, |time| time * self.level)
    }

    /// Computes the times of all numbers of rows.
    fn fill(&mut self) {
        let mut all = std::mem::take(&mut self.all);
        all.clear();
        let correction = |at: usize| self.measured[at].map(|time| (at, time / self.estimates[at]));
        let (mut below, mut above) = (None, None);
        for (at, estimate) in self.estimates.iter().enumerate() {
            if let Some(measured) = self.measured[at] {
                below = correction(at);
                above = None;
                all.push(measured);
                continue;
            }
            above = above.or_else(|| (at + 1..self.rows()).find_map(correction));
            all.push(match (below, above) {
                (Some((from, a)), Some((to, b))) => {
                    estimate * (a + (b - a) * (at - from) as f64 / (to - from) as f64)
                }
                (None, Some((_, above))) => estimate * above,
                (from, None) => {
                    let (from, correction) = from.unwrap_or((0, 1.0));
                    let least = self.estimates[from];
                    correction * (least + DOUBT * (estimate - least))
                }
            });
        }
        self.all = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_correct_estimates_next_to_them() {
        let mut times = Times::new(vec![10.0, 20.0, 30.0, 40.0]);
        assert_eq!([1, 2, 4, 9].map(|rows| times.of(rows)), [10.0, 18.5, 35.5, 35.5]);
        times.took(1, 5.0);
        assert_eq!([1, 2, 4].map(|rows| times.of(rows)), [5.0, 9.25, 17.75]);
        times.took(3, 30.0);
        assert_eq!([2, 3, 4].map(|rows| times.of(rows)), [15.0, 30.0, 38.5]);
        times.took(9, 1.0);
        times.took(0, 1.0);
        assert_eq!(times.of(4), 38.5);
    }

    #[test]
    fn a_disturbed_measurement_counts_little() {
        let mut times = Times::new(vec![1.0]);
        times.took(1, 2.0);
        times.took(1, 2000.0);
        assert!(times.of(1) < 2.2);
        (0..300).for_each(|_| times.took(1, 3.0));
        assert!((times.of(1) - 3.0).abs() < 0.01);
    }

    #[test]
    fn all_steps_become_slower_as_texts_grow() {
        let mut times = Times::new(vec![1.0, 1.5, 2.0]);
        times.took(1, 10.0);
        times.took(2, 15.0);
        times.took(3, 20.0);
        (0..100).for_each(|i| times.took(1, 10.0 + 0.1 * f64::from(i)));
        let ratio = times.of(3) / times.of(1);
        assert!(
            (19.0..20.5).contains(&times.of(1)) && (1.5..2.0).contains(&ratio),
            "{} {ratio}",
            times.of(1)
        );
    }
}
