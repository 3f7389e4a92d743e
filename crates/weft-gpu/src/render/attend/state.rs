//! Keys and values of a state: rows in words that hold one value or two.

use weft_kern::{Cached, Format};
use weft_quant::GgmlType;

use crate::render::Why;
use crate::render::expr::Expr;
use crate::render::writer::{Writer, word};

/// Keys or values of a state.
pub(super) struct State {
    cached: Cached,
    pairs: Option<GgmlType>,
    /// Where the head's values begin in a row.
    head: Expr,
}

impl State {
    pub(super) fn new(w: &Writer<'_>, cached: &Cached, group: &Expr, len: u32) -> Result<State, Why> {
        let even = [cached.offset, cached.row_stride, cached.head_stride, len as usize];
        let pairs = match w.format(cached.param) {
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                even.iter().all(|n| n.is_multiple_of(2)).then_some(ty)
            }
            _ => None,
        };
        let head = group * word(cached.head_stride)? + word(cached.offset)?;
        Ok(State { cached: *cached, pairs, head })
    }

    /// Values that are loaded together.
    pub(super) fn per(&self) -> u32 {
        if self.pairs.is_some() { 2 } else { 1 }
    }

    /// Where a row's values for the head begin.
    pub(super) fn row(&self, row: Expr) -> Result<Expr, Why> {
        Ok(row * word(self.cached.row_stride)? + &self.head)
    }

    /// The values `item · per ..` of a row that begins at `row`.
    pub(super) fn load(&self, w: &mut Writer<'_>, row: &Expr, item: &Expr) -> Result<Vec<Expr>, Why> {
        match self.pairs {
            Some(ty) => Ok(w.load_pair(self.cached.param, ty, row / 2u32 + item).into()),
            None => {
                let value = w.load(self.cached.param, &(row + item))?;
                Ok(vec![w.code.set("value", value)])
            }
        }
    }
}
