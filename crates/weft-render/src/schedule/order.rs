//! The order in which a schedule adds up sums.

use weft_kern::{Instr, Kernel, Part, Pick, Product};

use crate::gpu::Gpu;
use crate::schedule::Schedule;

/// Lanes per workgroup of most kernels. Every GPU of the last ten years supports this number.
pub(crate) const LANES: u32 = 256;

/// The order in which sums are added up.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SumOrder {
    /// The sums: `q4_0[2048, 768]`.
    pub sums: String,
    /// The order: `reduce 8`.
    pub order: String,
}

/// The orders of all sums under a schedule.
pub(crate) fn orders(kernel: &Kernel, schedule: &Schedule) -> Vec<SumOrder> {
    let parts = kernel.parts.iter().zip(&schedule.parts);
    let orders = parts.filter_map(|(part, form)| {
        let reduce = form.split(part).reduce;
        Some(SumOrder { sums: sums(kernel, part)?, order: format!("reduce {reduce}") })
    });
    orders.collect()
}

/// The products of a part, the only input to the order of its sums. `None` if it has no products.
pub(crate) fn sums(kernel: &Kernel, part: &Part) -> Option<String> {
    let products: Vec<String> = part.products().iter().map(|p| product(kernel, p)).collect();
    (!products.is_empty()).then(|| products.join(" + "))
}

fn product(kernel: &Kernel, Product { x: _, w, transposed }: &Product) -> String {
    let picked = match &w.pick {
        Pick::Only => String::new(),
        Pick::Axis(_) => format!(" one of {} by place", w.count),
        Pick::Ids(_) => format!(" one of {} by number", w.count),
        Pick::Sum(sum) => format!(" {} of {} by number", sum.terms, w.count),
    };
    let turned = if *transposed { " transposed" } else { "" };
    format!("{}[{}, {}]{turned}{picked}", kernel.params[w.param].format, w.n, w.k)
}

/// The most lanes of a tuned sum: the fewest that a workgroup has, for any step size and any other work of the kernel. Plans for other step
/// sizes may have more lanes, so a bound by a plan's own lanes would let the order of a sum depend on the step size.
pub(crate) fn most_tuned(gpu: &Gpu) -> u32 {
    1 << LANES.min(gpu.invocations).max(1).ilog2()
}

/// The lanes per sum of a part with experts, which may also be on other devices: so their number is not a schedule's to choose.
pub(crate) fn fixed(kernel: &Kernel, part: &Part) -> Option<usize> {
    let shares = part.products().iter().find_map(|product| product.shares(&kernel.params))?;
    Some(shares.all)
}

/// Whether all products have at most that many lanes per sum, and those of experts as many as the plan says.
pub(crate) fn can_be_tuned(kernel: &Kernel, schedule: &Schedule, gpu: &Gpu) -> bool {
    let most = most_tuned(gpu);
    let mut parts = kernel.parts.iter().zip(&schedule.parts);
    parts.all(|(part, form)| {
        let reduce = form.split(part).reduce;
        let legal = fixed(kernel, part).is_none_or(|lanes| lanes == reduce as usize);
        part.products().is_empty() || reduce <= most && legal
    })
}

/// Whether the number of lanes decides the order of sums, as in reductions over rows and in attention.
pub(crate) fn lanes_matter(kernel: &Kernel) -> bool {
    let reduces = |instr: &Instr| matches!(instr, Instr::Reduce(..) | Instr::TopK { .. });
    kernel.parts.iter().any(|part| {
        let before = part.prologue.iter().flat_map(|prologue| &prologue.body);
        part.attention().is_some() || part.body.iter().chain(before).any(reduces)
    })
}

/// Whether two schedules of a kernel add up all sums in the same order.
pub(crate) fn same_bits(kernel: &Kernel, one: &Schedule, other: &Schedule) -> bool {
    let parts = kernel.parts.iter().zip(one.parts.iter().zip(&other.parts));
    (one.lanes == other.lanes || !lanes_matter(kernel))
        && one.parts.len() == other.parts.len()
        && parts.into_iter().all(|(part, (a, b))| a.sum_order(part) == b.sum_order(part))
}
