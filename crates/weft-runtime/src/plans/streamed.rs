//! Offloaded experts in long steps: the first device computes them, and reads their weights in turn.
//!
//! A step of many tokens multiplies each expert by many rows, which takes a CPU longer than copying the expert to the device takes. The
//! graphs are those of short steps. Each product of a layer has one slot for its weights. Those of the next layer are on their way as soon
//! as the product has been computed, and copies take longer than products: so a second slot would be of no use.

use weft_device::{Packing, Side};
use weft_ir::{Op, Type};
use weft_models::Segment;

use crate::plans::offload;

/// The weights of the experts of a layer that are read in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'s> {
    /// The name of the weight in its segment's graph, and that of the tensor.
    pub(crate) own: &'s str,
    pub(crate) tensor: &'s str,
    /// The number of its slot.
    pub(crate) slot: usize,
    /// Its type.
    pub(crate) ty: &'s Type,
    /// The matrices that are not read at first, which are the first ones, and all of them.
    pub(crate) unread: usize,
    pub(crate) matrices: usize,
    /// Rows of a matrix, and their length.
    pub(crate) rows: usize,
    pub(crate) row_len: usize,
    /// The matrices that a token selects.
    chosen: usize,
}

impl Stack<'_> {
    /// Bytes of all matrices on a device that packs weights like this.
    pub(crate) fn bytes(&self, packing: Option<&dyn Packing>) -> u64 {
        let rows = self.matrices * self.rows;
        let tile = packing.and_then(|packing| packing.tile(self.ty.dtype, self.row_len));
        let packed = tile.and_then(|tile| Some(tile.bytes_of(rows)? as u64));
        packed.or_else(|| self.ty.dtype.row_bytes((rows * self.row_len) as u64)).unwrap_or(u64::MAX)
    }

    /// The share of the matrices that a token selects.
    pub(crate) fn chosen(&self) -> f64 {
        self.chosen as f64 / self.matrices.max(1) as f64
    }

    /// The share of the matrices that are read.
    fn read(&self) -> f64 {
        (self.matrices - self.unread) as f64 / self.matrices.max(1) as f64
    }
}

/// The weights of offloaded experts, each with the number of its segment.
pub(crate) fn stacks(segments: &[Segment]) -> Vec<(usize, Stack<'_>)> {
    let offloaded = segments.iter().enumerate().filter(|(_, segment)| offload::side(segment) == Side::Second);
    let mut all = Vec::new();
    for (i, segment) in offloaded {
        let before = i.checked_sub(1).map(|before| &segments[before]);
        let products = segment.graph.nodes().iter().filter_map(|node| match node.op {
            Op::SelectRange { from } => Some((node, from)),
            _ => None,
        });
        for (slot, (node, from)) in products.enumerate() {
            let [_, w, ids] = node.inputs[..] else { continue };
            let (weight, ids) = (segment.graph.node(w), segment.graph.node(ids));
            let Op::Weight { name } = &weight.op else { continue };
            let Some((own, tensor)) = segment.weights.iter().find(|(own, _)| own == name) else { continue };
            let axis = |i: usize| weight.ty.shape.dims().get(i).and_then(|dim| dim.known()).unwrap_or(0);
            let (matrices, rows, row_len) = (axis(0), axis(1), axis(2));
            // Experts in slots are the first ones to begin with.
            let resident = before.and_then(|before| {
                offload::first_matrices(&before.graph)
                    .find(|(first, _)| first == name)
                    .map(|(_, count)| count)
            });
            let unread = from.max(resident.unwrap_or(0));
            let chosen = ids.ty.shape.last().unwrap_or(1);
            let ty = &weight.ty;
            all.push((i, Stack { own, tensor, slot, ty, unread, matrices, rows, row_len, chosen }));
        }
    }
    all
}

/// Whether products of all of these have the same bits on every device that replaces weights: if their activations are rounded.
pub(crate) fn agree(stacks: &[(usize, Stack<'_>)]) -> bool {
    stacks.iter().all(|(_, stack)| stack.ty.dtype.is_quantised())
}

/// Bytes of all slots on a device that packs weights like this.
pub(crate) fn slot_bytes(stacks: &[(usize, Stack<'_>)], packing: Option<&dyn Packing>) -> u64 {
    let mut slots: Vec<(usize, &Type)> = Vec::new();
    let mut bytes = 0;
    for (_, stack) in stacks {
        if !slots.contains(&(stack.slot, stack.ty)) {
            slots.push((stack.slot, stack.ty));
            bytes += stack.bytes(packing);
        }
    }
    bytes
}

/// The fewest tokens of a step for which copying all offloaded experts takes less time than computing with them on a device of so many
/// multiplications per second. `rate` is that of copies, in bytes per second.
pub(crate) fn least_tokens(
    stacks: &[(usize, Stack<'_>)],
    packing: Option<&dyn Packing>,
    multiplications: f64,
    rate: f64,
) -> usize {
    let copied: f64 = stacks.iter().map(|(_, stack)| stack.bytes(packing) as f64 * stack.read()).sum();
    let of_token = |stack: &Stack<'_>| (stack.chosen * stack.rows * stack.row_len) as f64 * stack.read();
    let computed: f64 = stacks.iter().map(|(_, stack)| of_token(stack)).sum();
    let tokens = copied / rate.max(1.0) * multiplications / computed.max(1.0);
    tokens.ceil() as usize
}
