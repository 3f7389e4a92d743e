//! What a kernel costs: the numbers a roofline needs.

use weft_ir::Sizes;

use crate::kernel::{Format, Kernel, Part, Pick, Product};

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
        let products = self.parts.iter().flat_map(|part| part.products().iter().map(move |p| (part, p)));
        products.fold(Work::default(), |sum, (part, product)| {
            let work = self.product_work(part, product, sizes);
            Work {
                weight_bytes: sum.weight_bytes + work.weight_bytes,
                multiplications: sum.multiplications + work.multiplications,
            }
        })
    }

    /// The work of one product of a part.
    pub fn product_work(&self, part: &Part, product: &Product, sizes: &Sizes) -> Work {
        let w = &product.w;
        let terms = match &w.pick {
            Pick::Sum(sum) => sum.terms as u64,
            _ => 1,
        };
        let rows = terms * part.rows.iter().map(|d| d.eval(sizes) as u64).product::<u64>();
        let matrix = w.n as u64 * w.k as u64;
        let matrices = match w.pick {
            Pick::Only => rows.min(1),
            Pick::Axis(_) if rows == 0 => 0,
            Pick::Axis(_) => w.count as u64,
            Pick::Ids(_) | Pick::Sum(_) => rows.min(w.count as u64),
        };
        let row_bytes = match self.params[w.param].format {
            Format::Ggml(ty) => ty.row_bytes(w.k as u64).unwrap_or(0),
            Format::Q8 => 0,
        };
        Work { weight_bytes: matrices * w.n as u64 * row_bytes, multiplications: rows * matrix }
    }
}
