//! `scan`: walks the rows of each sequence in order, and carries a state from row to row.

mod interp;
mod rule;

use std::fmt;

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
    /// The states, `f32[N, heads · width]` with the [width](ScanRule::width) of a head's state, which are updated in place.
    pub state: ParamId,
    /// The row behind the last one of each sequence, `i32[Q]`. Row 0 is the first of sequence 0, and each sequence has a row at
    /// least.
    pub ends: ParamId,
    /// The row of the states that each sequence begins with, `i32[Q]`; if it is negative, the state is 0.
    pub from: ParamId,
    /// The row of the states that each sequence writes, `i32[Q]`: no other sequence's, in `from` or in `to`.
    pub to: ParamId,
    /// The number of heads, H.
    pub heads: usize,
}

impl Room for Scan {
    fn results(&self) -> usize {
        1
    }

    fn params(&self) -> Vec<ParamId> {
        let Scan { rule, state, ends, from, to, .. } = self;
        rule.params().into_iter().chain([*state, *ends, *from, *to]).collect()
    }

    fn params_mut(&mut self) -> Vec<&mut ParamId> {
        let Scan { rule, state, ends, from, to, .. } = self;
        rule.params_mut().into_iter().chain([state, ends, from, to]).collect()
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
        let width = self.rule.width(cols).and_then(|width| width.checked_mul(heads));
        let width = width.ok_or("the rows of the state are too long")?;
        let state = cx.format(self.state, Access::ReadWrite)?;
        if state != Format::F32 || cx.values[self.state] < width {
            return Err(format!("p{} must be rows of {width} values, f32", self.state));
        }
        for list in [self.ends, self.from, self.to] {
            let needed = cx.max.sequences.max(1);
            if cx.format(list, Access::Read)? != Format::I32 || cx.values[list] < needed {
                return Err(format!("p{list} must be at least {needed} indices"));
            }
        }
        Ok(())
    }

    fn operations(&self, counter: &Counter<'_>, cols: usize, _: &Seen) -> Vec<Operation> {
        let sequences = counter.sizes.sequences as u64;
        let values = sequences * (self.heads * self.rule.width(cols).unwrap_or(0)) as u64;
        let lists = [self.ends, self.from, self.to].map(|list| counter.values(list, Access::Read, sequences));
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
        let Scan { rule, state, ends, from, to, heads } = self;
        writeln!(f, "  {NAME} {rule} state=p{state} ends=p{ends} from=p{from} to=p{to} heads={heads}")
    }
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

    /// Two sequences with two heads of one value: three rows that continue from state 1 and are kept in 2, and one that begins.
    fn step(lists: [[i32; 2]; 3]) -> Result<Vec<Vec<f32>>, String> {
        let plan = parse_plan(SCAN).unwrap();
        let int = |list: &[i32; 2]| list.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let x = floats(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0]);
        let decay = floats(&[0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0]);
        let (state, y) = (floats(&[0.0, 0.0, 8.0, 100.0, 0.0, 0.0]), floats(&[f32::NAN; 8]));
        let [ends, from, to] = &lists.each_ref().map(int);
        let formats = plan.kernels[0].params.iter().map(|param| param.format);
        let bytes = [&x, &decay, &state, ends, from, to, &y].into_iter().zip(formats);
        let mut args: Vec<Buffer<'_>> = bytes
            .map(|(bytes, format)| Buffer::from_bytes(format, bytes.len() / 4, bytes).unwrap())
            .collect();
        let sizes = Sizes::of(4).sequences(2);
        run(&plan.kernels[0], &mut args, &sizes).map_err(|e| e.to_string())?;
        Ok([2, 6].map(|p| args[p].row(0, args[p].len())).to_vec())
    }

    #[test]
    fn a_state_is_carried_from_row_to_row() {
        let [state, y] = step([[3, 4], [1, -1], [2, 0]]).unwrap().try_into().unwrap();
        assert_eq!(y, [5.0, 110.0, 4.5, 130.0, 5.25, 160.0, 4.0, 40.0]);
        assert_eq!(state, [4.0, 40.0, 8.0, 100.0, 5.25, 160.0], "row 1 is as it was");
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
        assert_eq!(bytes, [(0, 32), (1, 32), (3, 8), (4, 8), (5, 8), (2, 16), (2, 16), (6, 32)]);
        assert_eq!((operation.anchor, operation.multiplications, operation.reads_state), ("scan", 8, true));
    }
}
