//! Keys and values of a state. A load has one value, two or four of them, or four words of two.

use weft_kern::{Cached, Format};
use weft_quant::GgmlType;
use weft_shader::expr::Expr;

use crate::lower::blocks::Blocks;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// Keys or values of a state.
pub(crate) struct State {
    cached: Cached,
    together: Together,
    /// Where the head's values begin in a row.
    head: Expr,
}

/// How many values are loaded together.
enum Together {
    One,
    Pair(GgmlType),
    /// Four words, each of two halves.
    Eight(GgmlType),
    /// Four values of a block.
    Quad(Blocks),
}

impl State {
    /// Keys or values. With `few`, at most two of them are loaded together, which leaves more lanes for columns.
    pub(crate) fn new(
        w: &Writer<'_>,
        cached: &Cached,
        group: &Expr,
        (len, few): (u32, bool),
    ) -> Result<State, Why> {
        let even = [cached.offset, cached.row_stride, cached.head_stride, len as usize];
        let format = w.format(cached.param);
        let even = |by: usize| even.iter().all(|n| n.is_multiple_of(by));
        let together = match (format, Blocks::of(format)) {
            (_, Some(blocks)) => Together::Quad(blocks),
            (Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)), _) if w.quads && !few && even(8) => {
                Together::Eight(ty)
            }
            (Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)), _) if even(2) => Together::Pair(ty),
            _ => Together::One,
        };
        let head = group * word(cached.head_stride)? + word(cached.offset)?;
        Ok(State { cached: *cached, together, head })
    }

    /// The number of values that are loaded together.
    pub(crate) fn per(&self) -> u32 {
        match self.together {
            Together::One => 1,
            Together::Pair(_) => 2,
            Together::Quad(_) => 4,
            Together::Eight(_) => 8,
        }
    }

    /// The offset of the head's values in a row.
    pub(crate) fn row(&self, row: Expr) -> Result<Expr, Why> {
        Ok(row * word(self.cached.row_stride)? + &self.head)
    }

    /// The values `item · per ..` of a row that begins at `row`.
    pub(crate) fn load(&self, w: &mut Writer<'_>, row: &Expr, item: &Expr) -> Result<Vec<Expr>, Why> {
        let param = self.cached.param;
        Ok(match self.together {
            Together::Quad(blocks) => blocks.quad(w, param, &(row / 4u32 + item)).into(),
            Together::Pair(ty) => w.load_pair(param, ty, row / 2u32 + item).into(),
            Together::Eight(ty) => w.load_eight(param, ty, &(row / 8u32 + item)),
            Together::One => {
                let value = w.load(param, &(row + item))?;
                vec![w.code.set("value", value)]
            }
        })
    }
}
