//! Assigns rows and columns of a `Dot` to threads.

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
        let chunks = |group: usize, starts: &[usize]| {
            let rows = starts[group]..starts[group + 1];
            rows.clone().step_by(most).map(move |from| from..rows.end.min(from + most))
        };
        let cost = |rows: usize| self.column(rows, true);
        let costs =
            (0..groups).flat_map(|g| chunks(g, &scratch.starts)).map(|c| cost(c.len()) * tiles as u64);
        let share = cx.share(costs.sum());
        let mut before = 0;
        for group in 0..groups {
            let matrix = self.common.map(|_| group);
            for rows in chunks(group, &scratch.starts) {
                let cost = cost(rows.len());
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

    /// Sorts the rows by matrix, if they have one: those of matrix `g` are then `scratch.rows[starts[g]..starts[g + 1]]`,
    /// in order. Otherwise all are one group.
    fn sort(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (count, groups) = (cx.space.count(), self.groups());
        let Scratch { rows, starts, numbers, .. } = scratch;
        let (rows, numbers) = (&mut rows[..count], &mut numbers[..count]);
        let starts = &mut starts[..groups + 1];
        starts.fill(0);
        if matches!(self.common, None | Some(Picked::Only)) {
            starts[1] = count;
            rows.iter_mut().enumerate().for_each(|(i, row)| *row = i);
            return Ok(());
        }
        for (row, number) in numbers.iter_mut().enumerate() {
            *number = self.products[0].matrix(cx.args, &cx.space.coords(row), 0)?;
            starts[*number + 1] += 1;
        }
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
        starts[groups] = count;
        Ok(())
    }
}
