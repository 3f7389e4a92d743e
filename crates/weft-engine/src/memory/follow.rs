//! The rows of each sequence that the MTP layer has computed. It follows the model at its own pace.
//!
//! Its row of a token also depends on the token after it. So the last row of a page is that of the sequence that computed it
//! first, although others may share the page and continue differently. This changes nothing but a guess, and only slightly.

use super::Memory;
use crate::batch::SeqId;

impl Memory {
    /// The first row of a sequence that the layer has not computed.
    pub(crate) fn unpredicted(&self, seq: SeqId) -> usize {
        let pages = self.list(seq).iter().map(|page| self.rows.pool.predicted(*page)).enumerate();
        let first = pages.into_iter().find(|(_, rows)| *rows < self.page);
        first.map_or(self.len(seq), |(page, rows)| page * self.page + rows).min(self.len(seq))
    }

    /// Where a row of a sequence is in the states.
    pub(crate) fn slot(&self, seq: SeqId, row: usize) -> Option<usize> {
        let page = *self.list(seq).get(row / self.page)?;
        Some(page as usize * self.page + row % self.page)
    }

    /// The pages of a sequence, in order.
    pub(crate) fn list(&self, seq: SeqId) -> &[u32] {
        self.sequence(seq).map_or(&[], |_| self.rows.of(seq.place))
    }

    /// Records that the layer has computed the rows of a sequence up to this one.
    pub(crate) fn predicted(&mut self, seq: SeqId, row: usize) {
        let page = self.list(seq).get(row / self.page).copied();
        page.into_iter().for_each(|page| self.rows.pool.predict(page, row % self.page + 1));
    }
}
