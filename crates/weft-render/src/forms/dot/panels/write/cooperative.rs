//! Products of a stage by cooperative matrices of signed bytes: a warp multiplies some matrices of sixteen rows by some of sixteen
//! columns.
//!
//! The sums of a block are exact. Element-wise operations multiply them by the scales of rows and columns and add them to the sums, as
//! lanes do, so that the layout of sums in lanes does not matter.

use weft_shader::cooperative::{Cooperative, Operand, SIDE};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::dot::panels::write::stage::Stages;
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;
use crate::split::PANEL_COLUMNS as FOUR;

/// The fewest matrices of columns per warp, so that matrices of rows are loaded less often.
const LEAST_BESIDE: u32 = 2;

/// A warp's sums, and their rows and columns.
pub(super) struct Matrices {
    /// The warp's matrices of different columns.
    beside: u32,
    /// Rows of the tile, and columns of a product.
    rows: u32,
    width: u32,
    /// The warp's first row and column of the tile's.
    first_row: Expr,
    first_column: Expr,
    /// The number of rows, if they are sorted and each warp has all of them.
    count: Option<Expr>,
    /// The sums of a share by row and column, the totals of earlier shares, and a zero.
    sums: Vec<String>,
    totals: Vec<String>,
    zero: String,
}

impl Matrices {
    /// `None` if matrices do not suit the products of a tile with this many columns, `width` for each product, or if the kernel may have
    /// other matrices.
    pub(super) fn new(
        w: &mut Writer<'_>,
        place: &Place,
        (columns, width): (u32, u32),
        scales: u32,
    ) -> Result<Option<Matrices>, Why> {
        let (rows, warps) = (place.tile(), w.code.lanes / WARP);
        let whole =
            rows.is_multiple_of(SIDE) && width.is_multiple_of(SIDE) && w.code.lanes.is_multiple_of(WARP);
        // There are no matrices of half of a block.
        let attends = w.kernel.parts.iter().any(|part| part.attention().is_some());
        if !w.cooperative_values || attends || !whole || scales != 1 || warps == 0 {
            return Ok(None);
        }
        let suits = |across: &u32| {
            warps.is_multiple_of(*across) && (columns / SIDE).is_multiple_of(across * LEAST_BESIDE)
        };
        let Some(across) = (1..=warps).rev().find(suits) else { return Ok(None) };
        let groups = warps / across;
        if !(rows / SIDE).is_multiple_of(groups) {
            return Ok(None);
        }
        let (down, beside) = (rows / SIDE / groups, columns / SIDE / across);
        let warp = w.code.set("own_warp", Expr::Lane / WARP);
        let first_row = w.code.set("first_row", &warp / across * (down * SIDE));
        let first_column = w.code.set("first_column", warp % across * (beside * SIDE));
        // Sums begin with a zero that compilers cannot see, so that none fuses the product of a share of one block with the addition to the
        // total. Totals begin with −0, because adding the first share to it changes no bit.
        let kept = w.pool.alloc_aligned(2 * SIDE, FOUR);
        w.share(2 * SIDE, |w, i| {
            let minus = Expr::U32(0x8000_0000).unless(&i.less(SIDE), 0u32);
            w.code.store_shared(i + kept, minus);
            Ok(())
        })?;
        w.code.barrier();
        let [zero, minus] = [kept, kept + SIDE].map(|at| w.code.factors("zero", Operand::Rows, at.into()));
        let declared = |w: &mut Writer<'_>, stem: &str, from: &String| {
            let all = (0..down * beside).map(|_| {
                let name = w.code.fresh(stem);
                push(w, Cooperative::SumsFrom { name: name.clone(), from: from.clone() });
                name
            });
            all.collect::<Vec<_>>()
        };
        let sums = declared(w, "sums", &zero);
        let totals = declared(w, "totals", &minus);
        let count = place.sorted_rows().filter(|_| groups == 1).cloned();
        Ok(Some(Matrices { beside, rows, width, first_row, first_column, count, sums, totals, zero }))
    }

    /// Adds the sums of a share to the totals.
    pub(super) fn add(&self, w: &mut Writer<'_>) {
        for (total, sums) in self.totals.iter().zip(&self.sums) {
            push(w, Cooperative::AddSums { sums: total.clone(), more: sums.clone() });
            push(w, Cooperative::SetSums { sums: sums.clone(), from: self.zero.clone() });
        }
    }

    /// Multiplies block `b` of a stage.
    pub(super) fn block(&self, w: &mut Writer<'_>, stages: &Stages, b: &Expr) -> Result<(), Why> {
        let stage = &stages.stage;
        let stride = stage.row() * FOUR;
        let column = w.code.set("column", &self.first_column * stage.row() + b * 2u32 + stage.right());
        let scale = b * stage.columns + &self.first_column;
        let scale = w.code.set("scale_at", scale);
        let panels = |of: u32| &scale + stages.word(&of.into());
        let (scales, least) = (panels(stage.right_scales()), panels(stage.right_mins()));
        let columns: Vec<(String, String, Option<String>)> = (0..self.beside)
            .map(|j| {
                let at = stages.word(&(&column + j * SIDE * stage.row()));
                let numbers = bytes(w, "wq", Operand::Columns, at, stride);
                let scales = w.code.factors("scale", Operand::Columns, &scales + j * SIDE);
                let least =
                    (stage.mins > 0).then(|| w.code.factors("least", Operand::Columns, &least + j * SIDE));
                (numbers, scales, least)
            })
            .collect();
        let row = w.code.set("row", &self.first_row * stage.row() + b * 2u32);
        let kept = w.code.set("kept_at", b * self.rows + &self.first_row + stages.scales);
        for (i, sums) in (0..).zip(self.sums.chunks(self.beside as usize)) {
            // There may be fewer sorted rows than the tile has. Matrices without any are skipped.
            let exists = self.count.as_ref().map_or(Expr::True, |count| count.greater(i * SIDE));
            w.when(exists, |w| {
                let at = stages.word(&(&row + i * SIDE * stage.row()));
                let rows = bytes(w, "xq", Operand::Rows, at, stride);
                let d = w.code.factors("d", Operand::Rows, &kept + i * SIDE);
                let all = (stage.mins > 0)
                    .then(|| w.code.factors("all", Operand::Rows, &kept + (i * SIDE + stage.left_scales())));
                for (sums, (columns, scale, least)) in sums.iter().zip(&columns) {
                    let into = w.code.fresh("dots");
                    let multiply = Cooperative::MultiplyBytes {
                        into: into.clone(),
                        rows: rows.clone(),
                        columns: columns.clone(),
                    };
                    push(w, multiply);
                    add_products(w, sums, vec![d.clone(), into, scale.clone()]);
                    if let (Some(least), Some(all)) = (least, &all) {
                        add_products(w, sums, vec![least.clone(), all.clone()]);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Stores the sums of all products one after another, from word `at` on.
    pub(super) fn store(&self, w: &mut Writer<'_>, at: u32) {
        let (rows, width) = (self.rows, self.width);
        for (i, totals) in (0..).zip(self.totals.chunks(self.beside as usize)) {
            for (j, total) in (0..).zip(totals) {
                let column = w.code.set("column", &self.first_column + j * SIDE);
                let to = &column / width * (rows * width) + column % width;
                let to = w.code.set("to", to + (&self.first_row + i * SIDE) * width + at);
                push(w, Cooperative::StoreSums { sums: total.clone(), at: to, stride: width });
            }
        }
    }
}

fn push(w: &mut Writer<'_>, of: Cooperative) {
    w.code.push(Stmt::Cooperative(of));
}

fn bytes(w: &mut Writer<'_>, stem: &str, operand: Operand, at: Expr, stride: u32) -> String {
    let into = w.code.fresh(stem);
    push(w, Cooperative::LoadBytes { into: into.clone(), operand, at, stride });
    into
}

fn add_products(w: &mut Writer<'_>, sums: &str, factors: Vec<String>) {
    push(w, Cooperative::AddProducts { sums: sums.into(), factors });
}
