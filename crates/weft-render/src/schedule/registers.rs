//! Registers of a lane for weights.

use weft_kern::{Format, Kernel, Product};
use weft_quant::GgmlType;
use weft_quant::packed::{COLUMNS, Layout, Scales};

use crate::gpu::Gpu;

/// Registers per piece of a row.
pub(crate) fn registers(kernel: &Kernel, product: &Product, gpu: &Gpu) -> usize {
    match kernel.params[product.w.param].format {
        Format::Ggml(ty) if ty.is_quantised() => Layout::of(ty).map_or(8, |layout| {
            let words = match layout.scales {
                Scales::Half | Scales::Power => 1,
                Scales::HalfMin => 2,
                Scales::Super => 2,
                Scales::SuperMin => 4,
            };
            layout.bits + words * (COLUMNS / layout.group)
        }),
        Format::Ggml(GgmlType::F32) if gpu.features.quads && product.w.k.is_multiple_of(4) => 4,
        _ => 1,
    }
}
