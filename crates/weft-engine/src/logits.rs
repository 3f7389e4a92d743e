//! Logits as a device computed them.

/// Logits as a device computed them: `[vocab]`, or several rows of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    /// Little-endian `f32`.
    pub(crate) computed: &'a [u8],
}

impl Row<'_> {
    /// The logit of a token, or NaN if there is no such token.
    pub(crate) fn logit(self, token: u32) -> f32 {
        let logit = self.computed.as_chunks::<4>().0.get(token as usize);
        logit.map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes))
    }

    /// Appends a copy to `logits`.
    pub(crate) fn append_to(self, logits: &mut Vec<f32>) {
        logits.extend(self.computed.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
}
