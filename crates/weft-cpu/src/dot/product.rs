//! A prepared product of a part: its operand, and the rows of the weight.

use weft_kern::{Factor, Format, Matrices, Param, Pick, Product};
use weft_quant::GgmlType;
use weft_quant::packed::Layout;

use super::chunk::Order;
use super::{float, tiled, transposed};
use crate::memory::Arg;
use crate::rows::{Coords, Fault, RowView};

/// A prepared [`Product`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Multiplied {
    /// Where rows of x are in memory; `None` if they are the prologue's.
    pub(super) x: Option<RowView>,
    pub(super) w: Weights,
    pub(super) pick: Picked,
    /// The first index that selects a matrix, where others belong to another part of the stack.
    from: Option<usize>,
    /// The number of matrices that a step can use.
    pub(super) matrices: usize,
    pub(super) transposed: bool,
    pub(super) order: Order,
    /// Where rows of x are laid out for it.
    pub(super) blocks: BlockSource,
}

/// Where a product finds rows of x laid out in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockSource {
    /// They are not laid out: its weight is not packed.
    None,
    /// They are laid out for this product.
    Own,
    /// They are laid out for an earlier product with this index.
    Of(usize),
}

/// Rows of a weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    pub(super) param: usize,
    pub(super) ty: GgmlType,
    /// The number of matrices, and of rows from one to the next.
    count: usize,
    stride: usize,
    /// Row 0 of matrix 0.
    first: usize,
    /// Rows of a matrix, and their length.
    pub(super) n: usize,
    pub(super) k: usize,
}

/// [`Pick`] without indirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Picked {
    Only,
    Axis(usize),
    Ids(RowView),
    Sum(Sum),
}

/// [`weft_kern::Sum`] without indirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) terms: usize,
    ids: RowView,
    weights: RowView,
    apart: usize,
}

impl Multiplied {
    /// Prepares a verified product.
    ///
    /// # Errors
    /// A sentence, if the device has no code for the weight's type.
    pub(super) fn new(params: &[Param], product: &Product) -> Result<Multiplied, String> {
        let &Matrices { param, from, count, n, k, first, stride, ref pick } = &product.w;
        let ty = match params[param].format {
            Format::Ggml(ty) if ty.can_decode() => ty,
            format => return Err(format!("this device cannot multiply by {format:?}")),
        };
        let pick = match pick {
            Pick::Only => Picked::Only,
            Pick::Axis(axis) => Picked::Axis(*axis),
            Pick::Ids(view) => Picked::Ids(RowView::new(view)),
            Pick::Sum(sum) => Picked::Sum(Sum {
                terms: sum.terms,
                ids: RowView::new(&sum.ids),
                weights: RowView::new(&sum.weights),
                apart: sum.apart,
            }),
        };
        let x = match &product.x {
            Factor::View(view) => Some(RowView::new(view)),
            Factor::Prologue => None,
        };
        Ok(Multiplied {
            x,
            w: Weights { param, ty, count, stride, first, n, k },
            pick,
            from,
            matrices: if pick == Picked::Only { 1 } else { count + usize::from(from.is_some()) },
            transposed: product.transposed,
            order: Order::of(product, params),
            blocks: if product.rounds(params) { BlockSource::Own } else { BlockSource::None },
        })
    }

    /// Whether it reads rows of x in the same layout as another product.
    pub(super) fn reads_as(&self, other: &Multiplied) -> bool {
        let layout = |p: &Multiplied| Layout::of(p.w.ty).map(|l| (l.group, l.offset, l.has_min()));
        self.blocks == BlockSource::Own
            && other.blocks == BlockSource::Own
            && self.selects_as(other)
            && (self.x, self.len()) == (other.x, other.len())
            && layout(self) == layout(other)
    }

    /// Whether it selects the same matrix for each row as another product.
    pub(super) fn selects_as(&self, other: &Multiplied) -> bool {
        (self.pick, self.from, self.matrices) == (other.pick, other.from, other.matrices)
    }

    /// Values per row of x.
    pub(super) fn len(&self) -> usize {
        if self.transposed { self.w.n } else { self.w.k }
    }

    /// Matrices that multiply a row.
    pub(super) fn terms(&self) -> usize {
        self.summed().max(1)
    }

    /// Terms that are computed separately and then added.
    pub(super) fn summed(&self) -> usize {
        if let Picked::Sum(sum) = self.pick { sum.terms } else { 0 }
    }

    /// Room for floats: decoded values of weight rows or sums of their products, if at most `width` columns are computed at a time.
    pub(super) fn floats(&self, width: usize) -> usize {
        match (self.transposed, self.w.ty.int_layout()) {
            (true, _) => transposed::ROWS.saturating_mul(width),
            (false, None) => float::FLOATS,
            (false, Some(_)) => 0,
        }
    }

    /// Vectors of unpacked tiles, if a unit multiplies them.
    pub(super) fn unpacked(&self) -> usize {
        match self.blocks {
            BlockSource::None => 0,
            BlockSource::Own | BlockSource::Of(_) => tiled::unpacked(self.len()),
        }
    }

    /// The matrix of a row's term; the [number of all](Weights::count) if none is the row's.
    pub(super) fn matrix(&self, args: &[Arg], coords: &Coords, term: usize) -> Result<usize, Fault> {
        match &self.pick {
            Picked::Only => Ok(0),
            Picked::Axis(axis) => Ok(coords[*axis]),
            Picked::Ids(ids) => match (ids.number(args, coords)?, self.from) {
                (number, None) => number.filter(|number| *number < self.w.count).ok_or(Fault),
                (number, Some(from)) => {
                    Ok(number.filter(|number| (from..self.w.count).contains(number)).unwrap_or(self.w.count))
                }
            },
            Picked::Sum(sum) => sum.ids.index_of(args, coords, term, self.w.count),
        }
    }

    /// The position of x for a row's term; row `r` of a prologue is at `r · len`.
    pub(super) fn x_at(&self, coords: &Coords, term: usize) -> usize {
        let Some(x) = &self.x else { return coords[0] * self.len() };
        let apart = if let Picked::Sum(sum) = &self.pick { sum.apart } else { 0 };
        x.at(coords) + term * apart
    }
}

impl Weights {
    /// Whether there is no such matrix, because it is in another part of the stack.
    pub(super) fn lacks(&self, matrix: usize) -> bool {
        matrix >= self.count
    }

    /// The weight's row at which a matrix begins.
    pub(super) fn row(&self, matrix: usize) -> usize {
        self.first + matrix * self.stride
    }
}

impl Sum {
    /// The weight of a row's term in the sum.
    pub(super) fn weight(&self, args: &[Arg], coords: &Coords, term: usize) -> Result<f32, Fault> {
        let at = self.weights.at(coords) + term * self.weights.step;
        Ok(args[self.weights.param].f32s(at, 1).ok_or(Fault)?[0])
    }
}
