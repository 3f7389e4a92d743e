//! How a kernel's loops are mapped to workgroups and lanes: plain data with a text form, chosen by
//! a heuristic and free to be tuned.
//!
//! A [`Split`] says how many *rows* and columns (*width*) of its part a workgroup computes; the
//! grid covers the rest. Within a workgroup, lanes work side by side *across* columns, each on
//! several columns at a time (*upcast*), and several lanes *reduce* one sum together (split-K
//! within a workgroup). Inner loops are always unrolled by a block of 32 columns of a weight, and
//! vectors are 32-bit words. Attention visits positions in *chunks*; one workgroup visits all of
//! them, or they are *spread* over one workgroup each (as in flash-decoding).

pub(crate) mod attention;
pub(crate) mod check;
pub(crate) mod cooperative;
pub(crate) mod heuristic;
pub(crate) mod joining;
pub(crate) mod matrix;
pub(crate) mod order;
pub(crate) mod panels;
pub(crate) mod picked;
pub(crate) mod picks;
pub(crate) mod registers;
pub(crate) mod scan;
pub(crate) mod tiles;
pub(crate) mod top;
pub(crate) mod tuned;
pub(crate) mod waves;

use std::fmt;
use std::str::FromStr;

/// Most words of weights that all lanes of a workgroup load ahead: each takes a register.
pub(crate) const EARLY_REGISTERS: u32 = 40 << 10;

/// The schedule of a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Schedule {
    /// Lanes of a workgroup, the same for all parts; a power of two.
    pub lanes: u32,
    /// One for each part.
    pub parts: Vec<Split>,
}

/// The schedule of a part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Split {
    /// Rows per workgroup.
    pub rows: u32,
    /// Whether these rows are neighbours along the first axis (tokens, for one head) rather than
    /// consecutive.
    pub along_first: bool,
    /// Columns per workgroup.
    pub width: u32,
    /// Lanes that compute a sum together (the split-K factor within a workgroup); a power of two.
    pub reduce: u32,
    /// Columns per lane at a time; in attention, positions scored at a time per lane that scores.
    pub upcast: u32,
    /// In attention, the positions of a chunk, which are summed up before chunks are joined; in
    /// selections from long rows, the columns of a block; else 0.
    pub chunk: u32,
    /// In attention, whether each chunk has its own workgroup, and a second shader joins them; so it is
    /// in selections from long rows, where workgroups have `width` columns. In
    /// products whose row program needs whole rows, whether workgroups have `width` columns each,
    /// and the last one runs the row program.
    pub spread: bool,
    /// Whether products are computed on matrix units: then `rows` is a multiple of [`MATRIX_ROWS`], and `upcast` the tiles
    /// of [`MATRIX_COLUMNS`] columns of a warp.
    pub matrix: bool,
    /// Whether lanes compute products from panels in workgroup memory: then each has [`PANEL_ROWS`] rows, and `upcast` columns of
    /// each product.
    pub panels: bool,
    /// The rows of a tile of rows that pick the same matrix, if lanes multiply these and matrix units all else; else 0. Then how
    /// `rows`, `width` and `upcast` split products with picked matrices follows from it.
    pub picked: u32,
}

/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;

/// Rows of activations that matrix units multiply at once.
pub(crate) const MATRIX_ROWS: u32 = 16;

/// Columns of a tile.
pub(crate) const MATRIX_COLUMNS: u32 = 16;

/// Rows of a lane that multiplies from panels.
pub(crate) const PANEL_ROWS: u32 = 4;

/// Columns that it loads together, of which it has a multiple.
pub(crate) const PANEL_COLUMNS: u32 = 4;

impl Split {
    /// Whether rows that pick their matrices are sorted by them.
    pub(crate) const fn sorts(&self) -> bool {
        self.matrix || self.panels
    }

    /// The number of lanes across columns.
    pub(crate) const fn across(&self, lanes: u32) -> u32 {
        lanes / self.reduce
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Split { rows, along_first, width, reduce, upcast, chunk, spread, matrix, panels, picked } = self;
        let apart = if *along_first { " apart" } else { "" };
        write!(f, "rows {rows}{apart} width {width} reduce {reduce} upcast {upcast}")?;
        if *chunk > 0 {
            write!(f, " chunk {chunk}")?;
        }
        f.write_str(if *spread { " spread" } else { "" })?;
        f.write_str(if *matrix { " matrix" } else { "" })?;
        f.write_str(if *panels { " panels" } else { "" })?;
        if *picked > 0 {
            write!(f, " picked {picked}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lanes {}", self.lanes)?;
        self.parts.iter().try_for_each(|part| write!(f, "; {part}"))
    }
}

/// A text that is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a schedule: expected `lanes N; rows N [apart] width N reduce N upcast N [chunk N] [spread] [matrix | panels] [picked N]; …`"
)]
pub struct NoSchedule(String);

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Schedule, NoSchedule> {
        let fail = || NoSchedule(text.to_string());
        let mut pieces = text.split(';').map(|piece| piece.split_whitespace().collect::<Vec<_>>());
        let number = |word: &str| word.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(fail);
        let lanes = match pieces.next().as_deref() {
            Some(["lanes", n]) => number(n)?,
            _ => return Err(fail()),
        };
        let split = |words: Vec<&str>| {
            let (words, picked) = match &words[..] {
                [words @ .., "picked", picked] => (words, number(picked)?),
                words => (words, 0),
            };
            let (words, matrix, panels) = match words {
                [words @ .., "matrix"] => (words, true, false),
                [words @ .., "panels"] => (words, false, true),
                words => (words, false, false),
            };
            let (words, spread) = match words {
                [words @ .., "spread"] => (words, true),
                words => (words, false),
            };
            let (words, chunk) = match words {
                [words @ .., "chunk", chunk] => (words, number(chunk)?),
                words => (words, 0),
            };
            let ["rows", rows, apart @ .., "width", width, "reduce", reduce, "upcast", upcast] = words else {
                return Err(fail());
            };
            if !matches!(apart, [] | ["apart"]) {
                return Err(fail());
            }
            Ok(Split {
                rows: number(rows)?,
                along_first: !apart.is_empty(),
                width: number(width)?,
                reduce: number(reduce)?,
                upcast: number(upcast)?,
                chunk,
                spread,
                matrix,
                panels,
                picked,
            })
        };
        Ok(Schedule { lanes, parts: pieces.map(split).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_prints_and_parses_back() {
        let text = "lanes 256; rows 8 apart width 32 reduce 8 upcast 2; rows 1 width 64 reduce 1 upcast 1; \
                    rows 2 width 64 reduce 16 upcast 4 chunk 64; rows 1 width 64 reduce 16 upcast 4 chunk 128 spread; \
                    rows 1 width 4 reduce 16 upcast 1 spread; rows 32 width 64 reduce 16 upcast 4 panels; \
                    rows 16 width 128 reduce 16 upcast 1 matrix picked 4";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.parts.len(), 7);
        assert_eq!(
            schedule.parts.iter().map(|s| (s.chunk, s.spread)).collect::<Vec<_>>(),
            [(0, false), (0, false), (64, false), (128, true), (0, true), (0, false), (0, false)]
        );
        assert_eq!(schedule.parts[6].picked, 4);
        assert!(schedule.parts[0].along_first && !schedule.parts[1].along_first);
        assert_eq!(schedule.to_string(), text);
        for wrong in [
            "",
            "lanes",
            "lanes 0",
            "lanes 8; rows 1",
            "lanes 8; rows 1 b width 1 reduce 1 upcast 1",
            "lanes 8; rows 1 width 1 reduce 1 upcast 1 chunk 0",
            "lanes 8; rows 1 width 1 reduce 1 upcast 1 spread chunk 8",
        ] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }
}
