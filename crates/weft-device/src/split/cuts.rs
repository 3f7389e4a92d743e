//! Where a program goes from one side to the other, and what is copied there.

use std::ops::Range;

use crate::ids::BufferId;
use crate::placement::Side;

/// Some bytes of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) buffer: BufferId,
    pub(super) bytes: Range<usize>,
}

impl Part {
    pub(super) fn overlap(&self, other: &Part) -> Option<Part> {
        let bytes = self.bytes.start.max(other.bytes.start)..self.bytes.end.min(other.bytes.end);
        (self.buffer == other.buffer && !bytes.is_empty()).then_some(Part { buffer: self.buffer, bytes })
    }

    /// The parts of it that are not in `other`.
    pub(super) fn without(&self, other: &Part) -> impl Iterator<Item = Part> {
        let Range { start, end } = self.bytes;
        let kept = match self.overlap(other) {
            None => [start..end, end..end],
            Some(Part { bytes, .. }) => [start..bytes.start, bytes.end..end],
        };
        let buffer = self.buffer;
        kept.into_iter().filter(|bytes| !bytes.is_empty()).map(move |bytes| Part { buffer, bytes })
    }
}

/// Launches on one side that follow each other.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) side: Side,
    /// The parts that the other side has written by then, each with the launch that wrote it.
    pub(super) copied: Vec<(Part, usize)>,
    /// The parts that were there before the program, on either side.
    pub(super) found: Vec<Part>,
    pub(super) launches: Range<usize>,
}

/// Bytes that a program has written, by which launch, and the sides that have them.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) part: Part,
    pub(super) by: Side,
    pub(super) launch: usize,
    pub(super) on: [bool; 2],
    pub(super) read: bool,
}

impl Cut {
    /// Brings what a launch reads to its side.
    pub(super) fn read(&mut self, part: &Part, written: &mut [Written]) {
        let mut before = vec![part.clone()];
        for known in written.iter_mut() {
            let Some(overlap) = known.part.overlap(part) else { continue };
            known.read = true;
            if !known.on[self.side as usize] {
                self.copied.push((known.part.clone(), known.launch));
                known.on[self.side as usize] = true;
            }
            before = before.iter().flat_map(|rest| rest.without(&overlap).collect::<Vec<_>>()).collect();
        }
        for rest in before {
            if !self.found.contains(&rest) {
                self.found.push(rest);
            }
        }
    }

    /// Notes that a launch writes this part. If it overlaps a part that the other side has written and nothing has read, that part is
    /// copied first, because the launch may write only some of it.
    pub(super) fn write(&mut self, part: &Part, launch: usize, written: &mut Vec<Written>) {
        let mut kept = Vec::with_capacity(written.len() + 2);
        for known in written.drain(..) {
            if known.part.overlap(part).is_some() && !known.read && !known.on[self.side as usize] {
                self.copied.push((known.part.clone(), known.launch));
            }
            kept.extend(known.part.without(part).map(|part| Written { part, ..known.clone() }));
        }
        *written = kept;
        let mut on = [false; 2];
        on[self.side as usize] = true;
        written.push(Written { part: part.clone(), by: self.side, launch, on, read: false });
    }

    /// The first launch of the cut before that it does not wait for.
    pub(super) fn waits_for(&self, before: &Range<usize>) -> usize {
        let of_it = self.copied.iter().map(|(_, launch)| launch + 1).filter(|after| *after <= before.end);
        of_it.max().unwrap_or(before.start).max(before.start)
    }
}
