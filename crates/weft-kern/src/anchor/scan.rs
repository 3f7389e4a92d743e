//! `scan`: walks the rows of each sequence in order, and carries a state from row to row.

mod interp;
mod rule;

use std::fmt;

use weft_ir::ScanState;

pub(super) use interp::{compute, walk};
pub use rule::{DeltaRule, ScanRule};

use super::room::Room;
use crate::program::{Access, Format, Param, ParamId};
use crate::text::{Attrs, Parsed, number};
use crate::traffic::{Counter, Operation, Seen};
use crate::verify::Context;

/// The anchor's word in the text form.
pub(super) const NAME: &str = "scan";

/// The operands of a scan. Rows are tokens × heads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    /// How the state follows from the one before, and the operands of a row.
    pub rule: ScanRule,
    /// The states, `f32[N, W]` with the [values](ScanState::values) of a sequence, which are updated in place.
    pub state: ParamId,
    /// The row after the last one of each sequence, `i32[Q]`. Row 0 is the first of sequence 0, and each sequence has a row at least.
    pub ends: ParamId,
    /// The row of the states that each sequence begins with, `i32[Q]`; if it is negative, the state is 0.
    pub from: ParamId,
    /// The row of the states that each sequence writes, `i32[Q]`: no other sequence's, in `from` or in `to`.
    pub to: ParamId,
    /// The number of rows of each sequence after which its state is written, `i32[Q]`; the first [`KEPT`](weft_ir::KEPT) rows after them
    /// are kept there.
    pub certain: ParamId,
    /// The number of kept rows that each sequence begins with, `i32[Q]`: 0 without a state, or in place.
    pub kept: ParamId,
    /// The number of heads, H.
    pub heads: usize,
}

impl Room for Scan {
    fn results(&self) -> usize {
        1
    }

    fn params(&self) -> Vec<ParamId> {
        rule_and_lists(self.rule.params(), self.state, self.lists())
    }

    fn params_mut(&mut self) -> Vec<&mut ParamId> {
        let Scan { rule, state, ends, from, to, certain, kept, .. } = self;
        rule_and_lists(rule.params_mut(), state, [ends, from, to, certain, kept])
    }

    fn states(&self) -> Vec<ParamId> {
        vec![self.state]
    }

    fn walks_sequences(&self) -> bool {
        true
    }

    fn verify(&self, cx: &Context<'_>) -> Result<(), String> {
        let (heads, cols) = (self.heads, cx.cols);
        if cx.rows.len() != 2 || cx.rows[1] != heads {
            return Err("rows must be tokens × heads".into());
        }
        self.rule.verify(cx, heads)?;
        let width = self.layout(cols).and_then(|layout| layout.values());
        let width = width.ok_or("the rows of the state are too long")?;
        let state = cx.format(self.state, Access::ReadWrite)?;
        if state != Format::F32 || cx.values[self.state] < width {
            return Err(format!("p{} must be rows of {width} values, f32", self.state));
        }
        for list in self.lists() {
            let needed = cx.max.sequences.max(1);
            if cx.format(list, Access::Read)? != Format::I32 || cx.values[list] < needed {
                return Err(format!("p{list} must be at least {needed} indices"));
            }
        }
        Ok(())
    }

    fn operations(&self, counter: &Counter<'_>, cols: usize, _: &Seen) -> Vec<Operation> {
        let sequences = counter.sizes.sequences as u64;
        // Kept rows are small compared with the state, and few steps have them.
        let values = sequences * self.layout(cols).and_then(|layout| layout.proper()).unwrap_or(0) as u64;
        let lists = self.lists().map(|list| counter.values(list, Access::Read, sequences));
        let states = [Access::Read, Access::Write].map(|access| counter.values(self.state, access, values));
        let operands = self.rule.touches(counter, cols, self.heads);
        vec![Operation {
            touches: operands.into_iter().chain(lists).chain(states).collect(),
            multiplications: counter.count() * self.rule.multiplications(cols) as u64,
            reads_state: true,
            ..counter.operation(NAME)
        }]
    }

    fn label(&self, _: &[Param], cols: usize) -> String {
        format!("{NAME}_{}_{}x{cols}", self.rule.recurrence().name(), self.heads)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scan { rule, state, ends, from, to, certain, kept, heads } = self;
        write!(f, "  {NAME} {rule} state=p{state} ends=p{ends} from=p{from} to=p{to}")?;
        writeln!(f, " certain=p{certain} kept=p{kept} heads={heads}")
    }
}

impl Scan {
    /// The layout of a sequence's state, if a head has `cols` columns; `None` if its values overflow.
    pub fn layout(&self, cols: usize) -> Option<ScanState> {
        self.rule.state(self.heads, cols)
    }

    /// The lists of a step's sequences.
    fn lists(&self) -> [ParamId; 5] {
        [self.ends, self.from, self.to, self.certain, self.kept]
    }
}

fn rule_and_lists<T>(rule: Vec<T>, state: T, lists: [T; 5]) -> Vec<T> {
    rule.into_iter().chain([state]).chain(lists).collect()
}

/// Reads the line of a scan.
pub(super) fn parse(attrs: &Attrs<'_>) -> Parsed<Scan> {
    let param = |key: &str| number(attrs.get(key)?, "p");
    Ok(Scan {
        rule: rule::parse(attrs)?,
        state: param("state")?,
        ends: param("ends")?,
        from: param("from")?,
        to: param("to")?,
        certain: param("certain")?,
        kept: param("kept")?,
        heads: attrs.num("heads")?,
    })
}

#[cfg(test)]
mod tests {
    use crate::interp::{Buffer, run};
    use crate::test_plans::SCAN;
    use crate::{Seen, Sizes, parse_plan};

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// All are certain.
    fn step(lists: [[i32; 2]; 3]) -> Result<Vec<Vec<f32>>, String> {
        let [ends, from, to] = lists;
        guess([ends, from, to, [ends[0], ends[1].saturating_sub(ends[0])], [0, 0]], None)
    }

    /// Two sequences with two heads of one value: three rows that go on from state 1 and are kept in 2, one that begins. State 1 has
    /// these kept rows of x and decay.
    fn guess(lists: [[i32; 2]; 5], kept: Option<[f32; 16]>) -> Result<Vec<Vec<f32>>, String> {
        let plan = parse_plan(SCAN).unwrap();
        let int = |list: &[i32; 2]| list.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let x = floats(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0]);
        let decay = floats(&[0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0]);
        let mut states = [0.0; 3 * 18];
        states[18..20].copy_from_slice(&[8.0, 100.0]);
        states[20..36].copy_from_slice(&kept.unwrap_or([0.0; 16]));
        let (state, y) = (floats(&states), floats(&[f32::NAN; 8]));
        let [ends, from, to, certain, kept] = &lists.each_ref().map(int);
        let formats = plan.kernels[0].params.iter().map(|param| param.format);
        let bytes = [&x, &decay, &state, ends, from, to, certain, kept, &y].into_iter().zip(formats);
        let mut args: Vec<Buffer<'_>> = bytes
            .map(|(bytes, format)| Buffer::from_bytes(format, bytes.len() / 4, bytes).unwrap())
            .collect();
        let sizes = Sizes::of(4).sequences(2);
        run(&plan.kernels[0], &mut args, &sizes).map_err(|e| e.to_string())?;
        Ok([2, 8].map(|p| args[p].row(0, args[p].len())).to_vec())
    }

    #[test]
    fn a_state_is_carried_from_row_to_row() {
        let [state, y] = step([[3, 4], [1, -1], [2, 0]]).unwrap().try_into().unwrap();
        assert_eq!(y, [5.0, 110.0, 4.5, 130.0, 5.25, 160.0, 4.0, 40.0]);
        let zeros = [0.0; 16];
        let row = |state: [f32; 2]| [&state[..], &zeros].concat();
        assert_eq!(
            state,
            [row([4.0, 40.0]), row([8.0, 100.0]), row([5.25, 160.0])].concat(),
            "row 1 is as it was"
        );
    }

    #[test]
    fn rows_behind_the_certain_ones_are_kept_and_taken_up() {
        let [state, y] = guess([[3, 4], [1, -1], [2, 0], [1, 1], [0, 0]], None).unwrap().try_into().unwrap();
        assert_eq!(y, [5.0, 110.0, 4.5, 130.0, 5.25, 160.0, 4.0, 40.0]);
        // The state after the first row; rows 2 and 3 of the first head, and of the second, each with its decay.
        assert_eq!(state[36..38], [5.0, 110.0]);
        assert_eq!(state[38..46], [2.0, 0.5, 3.0, 0.5, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(state[46..54], [20.0, 1.0, 30.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let mut kept = [0.0; 16];
        kept[..4].copy_from_slice(&[4.0, 0.5, 100.0, 0.0]);
        kept[8..12].copy_from_slice(&[1.0, 1.0, 200.0, 0.0]);
        // 8 · 0.5 + 4 = 8, and 100 + 1; the second kept row is not taken.
        let [_, y] =
            guess([[3, 4], [1, -1], [2, 0], [3, 1], [1, 0]], Some(kept)).unwrap().try_into().unwrap();
        assert_eq!(y[..2], [5.0, 111.0]);
        let [_, y] =
            guess([[3, 4], [1, -1], [2, 0], [3, 1], [2, 0]], Some(kept)).unwrap().try_into().unwrap();
        assert_eq!(y[..2], [51.0, 210.0]);
    }

    #[test]
    fn hostile_numbers_of_rows_are_refused() {
        for (certain, kept, to, why) in [
            ([0, 1], [0, 0], [2, 0], "certain"),
            ([4, 1], [0, 0], [2, 0], "certain"),
            ([-1, 1], [0, 0], [2, 0], "certain"),
            ([3, 1], [5, 0], [2, 0], "kept"),
            ([3, 1], [-1, 0], [2, 0], "kept"),
            ([3, 1], [0, 1], [2, 0], "kept"),
            ([3, 1], [1, 0], [1, 0], "kept"),
        ] {
            let error = guess([[3, 4], [1, -1], to, certain, kept], None).unwrap_err();
            assert!(error.contains(why), "{certain:?} {kept:?}: {error}");
        }
    }

    #[test]
    fn hostile_lists_are_refused() {
        for (lists, why) in [
            ([[3, 4], [1, -1], [2, 2]], "shares"),
            ([[3, 4], [1, -1], [2, 1]], "shares"),
            ([[3, 4], [1, -1], [3, 0]], "out of range"),
            ([[3, 4], [3, -1], [2, 0]], "out of range"),
            ([[3, 2], [1, -1], [2, 0]], "sequence"),
            ([[0, 4], [1, -1], [2, 0]], "sequence"),
            ([[4, 4], [1, -1], [2, 0]], "sequence"),
            ([[3, 5], [1, -1], [2, 0]], "sequence"),
            ([[1, 3], [1, -1], [2, 0]], "sequence"),
        ] {
            let error = step(lists).unwrap_err();
            assert!(error.contains(why), "{lists:?}: {error}");
        }
    }

    #[test]
    fn its_text_is_read_back_and_its_traffic_counted() {
        let plan = parse_plan(SCAN).unwrap();
        assert_eq!(plan.to_string(), SCAN);
        let [operation] = &plan.kernels[0].traffic(&Sizes::of(4).sequences(2), &Seen::default())[..] else {
            panic!("one operation");
        };
        let bytes: Vec<_> = operation.touches.iter().map(|touch| (touch.param, touch.bytes)).collect();
        assert_eq!(
            bytes,
            [(0, 32), (1, 32), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8), (2, 16), (2, 16), (8, 32)]
        );
        assert_eq!((operation.anchor, operation.multiplications, operation.reads_state), ("scan", 8, true));
    }
}
