//! Which rows of the KV states belong to which sequence.

use crate::batch::{Entry, SeqId};
use crate::error::Error;

/// The pages of all sequences.
#[derive(Debug)]
pub(crate) struct Pages {
    page: usize,
    context: usize,
    free: Vec<u32>,
    sequences: Vec<Option<Sequence>>,
    /// Sequences begun so far.
    begun: u64,
}

#[derive(Debug)]
struct Sequence {
    id: SeqId,
    len: usize,
    pages: Vec<u32>,
}

/// What a step's index inputs say; see `weft_ir::Op::Attend`.
#[derive(Debug, Default)]
pub(crate) struct Indices {
    pub(crate) tokens: Vec<i32>,
    pub(crate) pos: Vec<i32>,
    pub(crate) slots: Vec<i32>,
    pub(crate) first: Vec<i32>,
    pub(crate) pages: Vec<i32>,
    /// Where each sequence's pages begin in `pages`, or `ABSENT`.
    starts: Vec<i32>,
}

const ABSENT: i32 = -1;

impl Indices {
    /// Room for steps of so many tokens and pages, so that no step allocates.
    pub(crate) fn with_capacity(tokens: usize, pages: usize, sequences: usize) -> Indices {
        let room = || Vec::with_capacity(tokens);
        Indices {
            tokens: room(),
            pos: room(),
            slots: room(),
            first: room(),
            pages: Vec::with_capacity(pages),
            starts: Vec::with_capacity(sequences),
        }
    }
}

impl Pages {
    /// `count` pages of `page` rows, for sequences of at most `context` tokens. Both fit an `i32` of rows.
    pub(crate) fn new(page: usize, count: usize, context: usize) -> Pages {
        // Handed out from the end: the first sequence gets the first pages.
        Pages { page, context, free: (0..count as u32).rev().collect(), sequences: Vec::new(), begun: 0 }
    }

    pub(crate) fn new_sequence(&mut self) -> SeqId {
        let empty = self.sequences.iter().position(Option::is_none);
        let at = empty.unwrap_or_else(|| {
            self.sequences.push(None);
            self.sequences.len() - 1
        });
        // All it may ever need: no step allocates.
        let pages = Vec::with_capacity(self.context.div_ceil(self.page));
        let id = SeqId { place: at, generation: self.begun };
        self.begun += 1;
        self.sequences[at] = Some(Sequence { id, len: 0, pages });
        id
    }

    pub(crate) fn len(&self, seq: SeqId) -> usize {
        self.sequence(seq).map_or(0, |s| s.len)
    }

    fn sequence(&self, seq: SeqId) -> Option<&Sequence> {
        self.sequences.get(seq.place)?.as_ref().filter(|s| s.id == seq)
    }

    /// Ends a sequence.
    pub(crate) fn free(&mut self, seq: SeqId) {
        self.truncate(seq, 0);
        if self.sequence(seq).is_some() {
            self.sequences[seq.place] = None;
        }
    }

    /// Forgets all but the first `len` tokens of a sequence.
    pub(crate) fn truncate(&mut self, seq: SeqId, len: usize) {
        let Pages { page, free, sequences, .. } = self;
        if let Some(Some(sequence)) = sequences.get_mut(seq.place)
            && sequence.id == seq
        {
            sequence.len = sequence.len.min(len);
            let keep = sequence.len.div_ceil(*page);
            free.extend(sequence.pages.drain(keep..).rev());
        }
    }

    /// Gives every token of a step its place and writes the step's index inputs. If there is no room nothing has changed.
    pub(crate) fn place(&mut self, entries: &[Entry], out: &mut Indices) -> Result<(), Error> {
        self.check(entries)?;
        for list in [&mut out.tokens, &mut out.pos, &mut out.slots, &mut out.first, &mut out.pages] {
            list.clear();
        }
        out.starts.clear();
        out.starts.resize(self.sequences.len(), ABSENT);
        for entry in entries {
            let Some(Some(sequence)) = self.sequences.get_mut(entry.seq.place) else { continue };
            let pos = sequence.len;
            if pos / self.page == sequence.pages.len() {
                sequence.pages.extend(self.free.pop());
            }
            sequence.len += 1;
            out.tokens.push(entry.token as i32);
            out.pos.push(pos as i32);
            let row = sequence.pages[pos / self.page] as usize * self.page + pos % self.page;
            out.slots.push(row as i32);
        }
        // Page lists are complete only now.
        for entry in entries {
            if out.starts[entry.seq.place] == ABSENT {
                out.starts[entry.seq.place] = out.pages.len() as i32;
                let pages = self.sequences[entry.seq.place].iter().flat_map(|s| &s.pages);
                out.pages.extend(pages.map(|p| *p as i32));
            }
            out.first.push(out.starts[entry.seq.place]);
        }
        Ok(())
    }

    /// Takes a step's tokens back, after it failed.
    pub(crate) fn undo(&mut self, entries: &[Entry]) {
        for entry in entries.iter().rev() {
            let len = self.len(entry.seq);
            self.truncate(entry.seq, len.saturating_sub(1));
        }
    }

    fn check(&self, entries: &[Entry]) -> Result<(), Error> {
        if let Some(ended) = entries.iter().find(|e| self.sequence(e.seq).is_none()) {
            return Err(Error::Batch(format!("{:?} has ended, or is another engine's", ended.seq)));
        }
        let mut needed = 0;
        for Sequence { id, len, pages } in self.sequences.iter().flatten() {
            let more = entries.iter().filter(|e| e.seq == *id).count();
            if len + more > self.context {
                return Err(Error::Context { len: *len, more, context: self.context });
            }
            needed += (len + more).div_ceil(self.page).saturating_sub(pages.len());
        }
        if needed > self.free.len() {
            return Err(Error::Pages { needed, free: self.free.len() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(seqs: &[(SeqId, u32)]) -> Vec<Entry> {
        seqs.iter().map(|(seq, token)| Entry { seq: *seq, token: *token, logits: false }).collect()
    }

    #[test]
    fn tokens_of_mixed_sequences_get_their_rows() {
        let mut pages = Pages::new(2, 4, 6);
        let (a, b) = (pages.new_sequence(), pages.new_sequence());
        let mut out = Indices::default();
        pages.place(&entries(&[(a, 7), (a, 8), (b, 9), (a, 5)]), &mut out).unwrap();
        assert_eq!(out.tokens, [7, 8, 9, 5]);
        assert_eq!(out.pos, [0, 1, 0, 2]);
        // Pages in the order they were needed: a 0, b 1, a 2.
        assert_eq!(out.slots, [0, 1, 2, 4]);
        assert_eq!(out.pages, [0, 2, 1]);
        assert_eq!(out.first, [0, 0, 2, 0]);
        pages.place(&entries(&[(b, 1)]), &mut out).unwrap();
        assert_eq!((&out.slots[..], &out.pages[..], &out.first[..]), (&[3][..], &[1][..], &[0][..]));
    }

    #[test]
    fn limits_are_errors_and_change_nothing() {
        let mut pages = Pages::new(2, 2, 3);
        let (a, b) = (pages.new_sequence(), pages.new_sequence());
        let mut out = Indices::default();
        let four = entries(&[(a, 0); 4]);
        assert!(matches!(pages.place(&four, &mut out), Err(Error::Context { len: 0, more: 4, context: 3 })));
        pages.place(&four[..3], &mut out).unwrap();
        assert!(matches!(
            pages.place(&entries(&[(b, 0)]), &mut out),
            Err(Error::Pages { needed: 1, free: 0 })
        ));
        assert_eq!(pages.len(b), 0);
        pages.undo(&four[..3]);
        assert_eq!(pages.len(a), 0);
        pages.place(&entries(&[(b, 0)]), &mut out).unwrap();
        pages.free(b);
        assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
        // Its place is used again, its name is not.
        let c = pages.new_sequence();
        assert!(c.place == b.place && c != b);
        assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
        pages.place(&entries(&[(c, 0)]), &mut out).unwrap();
        pages.free(b);
        assert_eq!(pages.len(c), 1);
    }

    #[test]
    fn truncating_gives_pages_back() {
        let mut pages = Pages::new(2, 3, 6);
        let a = pages.new_sequence();
        let mut out = Indices::default();
        pages.place(&entries(&[(a, 0); 5]), &mut out).unwrap();
        pages.truncate(a, 2);
        assert_eq!((pages.len(a), pages.free.len()), (2, 2));
        pages.place(&entries(&[(a, 0)]), &mut out).unwrap();
        assert_eq!(out.pos, [2]);
    }
}
