//! What a kernel costs: the numbers a roofline needs.

use weft_ir::Sizes;

use crate::kernel::{Anchor, Format, Kernel, Pick};

/// What one call of a kernel reads of weights, and multiplies.
///
/// Activations and the cache are left out: they are small beside the weights as long as the context is short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Bytes of weights. Where experts are picked: as many as there can be at most, every row taking others.
    pub weight_bytes: u64,
    /// Multiplications by weights.
    pub multiplications: u64,
}

impl Kernel {
    /// The work of one call in a step of these sizes.
    pub fn work(&self, sizes: &Sizes) -> Work {
        let Anchor::Dot { w, .. } = &self.anchor else { return Work::default() };
        let rows: u64 = self.rows.iter().map(|d| d.eval(sizes) as u64).product();
        let matrix = w.n as u64 * w.k as u64;
        let matrices = match w.pick {
            Pick::Only => 1,
            Pick::Axis(_) => w.count as u64,
            Pick::Ids(_) => rows.min(w.count as u64),
        };
        let row_bytes = match self.params[w.param].format {
            Format::Ggml(ty) => ty.row_bytes(w.k as u64).unwrap_or(0),
            Format::Q8 => 0,
        };
        let used = if rows == 0 { 0 } else { matrices };
        Work { weight_bytes: used * w.n as u64 * row_bytes, multiplications: rows * matrix }
    }
}
