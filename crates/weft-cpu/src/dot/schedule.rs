//! Assigns rows and columns of a `Dot` to threads.

use std::ops::Range;

use super::Dot;
use super::product::Picked;
use crate::rows::Fault;
use crate::scratch::Scratch;
use crate::thread::Thread;

impl Dot {
    /// Runs this thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        if let Some(prologue) = self.prologue.as_ref().filter(|_| !cx.keep_prologue) {
            prologue.begin(cx, &mut scratch.made);
        }
        let groups = self.groups();
        if !cx.again {
            scratch.chunk = None;
            self.sort(cx, scratch)?;
        }
        let tiles = cx.cols.div_ceil(self.tile);
        let mut most = self.most;
        if tiles == 1 {
            // Then only rows can be divided.
            most = most.min(cx.space.count().div_ceil(cx.threads)).max(1);
        }
        let cost = |group: usize, rows: usize| match self.is_multiplied(group) {
            true => self.column(rows, true),
            false => self.finish(rows),
        };
        // A token chooses few of many experts.
        let used = |group: &usize| scratch.starts[*group] < scratch.starts[*group + 1];
        let used = (0..groups).filter(used);
        let all = used.flat_map(|g| chunks(g, &scratch.starts, most).map(move |c| (g, c.len())));
        let costs = all.map(|(group, rows)| cost(group, rows) * tiles as u64);
        let share = cx.share(costs.sum());
        let mut before = 0;
        for group in 0..groups {
            if scratch.starts[group] == scratch.starts[group + 1] {
                continue;
            }
            let matrix = self.common.map(|_| group);
            for rows in chunks(group, &scratch.starts, most) {
                let cost = cost(group, rows.len());
                let own = share.of(before, cost, tiles);
                before += cost * tiles as u64;
                if !own.is_empty() {
                    let cols = own.start * self.tile..cx.cols.min(own.end * self.tile);
                    self.chunk(cx, matrix, rows, cols, scratch)?;
                }
            }
        }
        Ok(())
    }

    /// Groups that rows are sorted into.
    pub(super) fn groups(&self) -> usize {
        self.common.map_or(1, |_| self.products[0].matrices)
    }

    /// Whether the rows of a group are multiplied by a matrix.
    fn is_multiplied(&self, group: usize) -> bool {
        self.common.is_none() || !self.products[0].w.lacks(group)
    }

    /// Sorts the rows by matrix, if they have one: those of matrix `g` are then `scratch.rows[starts[g]..starts[g + 1]]`,
    /// in order. Otherwise all are one group.
    fn sort(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (count, groups) = (cx.space.count(), self.groups());
        let Scratch { rows, starts, numbers, .. } = scratch;
        let (rows, numbers) = (&mut rows[..count], &mut numbers[..count]);
        let starts = &mut starts[..groups + 1];
        if matches!(self.common, None | Some(Picked::Only)) {
            starts.fill(0);
            starts[1] = count;
            rows.iter_mut().enumerate().for_each(|(i, row)| *row = i);
            return Ok(());
        }
        for (row, number) in numbers.iter_mut().enumerate() {
            *number = self.products[0].matrix(cx.args, &cx.space.coords(row), 0)?;
        }
        sorted(numbers, rows, starts);
        Ok(())
    }
}

/// Sorts rows by their number: those of number `g` are then `rows[starts[g]..starts[g + 1]]`, in order. `starts` has one entry more
/// than there are numbers.
fn sorted(numbers: &[usize], rows: &mut [usize], starts: &mut [usize]) {
    let groups = starts.len() - 1;
    starts.fill(0);
    numbers.iter().for_each(|number| starts[*number + 1] += 1);
    for g in 0..groups {
        starts[g + 1] += starts[g];
    }
    // Filling moves each start to its end, which is the next one's start; going backwards keeps the order.
    for (row, number) in numbers.iter().enumerate().rev() {
        starts[*number + 1] -= 1;
        rows[starts[*number + 1]] = row;
    }
    // Now group `g` starts at `starts[g + 1]`.
    starts.rotate_left(1);
    starts[groups] = numbers.len();
}

/// Cuts the rows of a group into chunks of at most `most`. A chunk reads its matrix once.
fn chunks(group: usize, starts: &[usize], most: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let rows = starts[group]..starts[group + 1];
    rows.clone().step_by(most).map(move |from| from..rows.end.min(from + most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts rows by their experts, `numbers`, and returns how often a matrix is read for them.
    fn reads(numbers: &[usize], groups: usize, most: usize) -> usize {
        let (mut rows, mut starts) = (vec![usize::MAX; numbers.len()], vec![usize::MAX; groups + 1]);
        sorted(numbers, &mut rows, &mut starts);
        let all = (0..groups).flat_map(|group| chunks(group, &starts, most).map(move |rows| (group, rows)));
        let mut seen = Vec::new();
        let mut count = 0;
        for (group, range) in all {
            let own = &rows[range];
            assert!(own.len() <= most && own.is_sorted(), "rows keep their order: {own:?}");
            assert!(own.iter().all(|row| numbers[*row] == group), "{own:?} are of expert {group}");
            seen.extend_from_slice(own);
            count += 1;
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..numbers.len()), "each row once");
        count
    }

    #[test]
    fn experts_of_a_prompt_are_read_once_each() {
        let (tokens, used, experts) = (512, 4, 64);
        let mixed = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % experts;
        let numbers: Vec<usize> = (0..tokens * used).map(mixed).collect();
        let distinct = (0..experts).filter(|expert| numbers.contains(expert)).count();
        assert_eq!(reads(&numbers, experts, numbers.len()), distinct, "not {} times", numbers.len());
        let most = 16;
        let own = |expert| numbers.iter().filter(|number| **number == expert).count();
        let expected: usize = (0..experts).map(|expert| own(expert).div_ceil(most)).sum();
        assert_eq!(reads(&numbers, experts, most), expected);
    }

    #[test]
    fn few_rows_and_absent_experts_are_no_exception() {
        for (numbers, most, expected) in
            [(&[][..], 4, 0), (&[2], 4, 1), (&[3, 3, 3], 1, 3), (&[3, 0, 3], 2, 2), (&[1, 0, 1, 0], 9, 2)]
        {
            assert_eq!(reads(numbers, 4, most), expected, "{numbers:?}");
        }
    }
}
