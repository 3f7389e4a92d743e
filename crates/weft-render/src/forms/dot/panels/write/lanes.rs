//! Products of a stage by lanes: each multiplies four rows by several columns, so that each load from workgroup memory serves
//! many products.

use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::dot::panels::write::stage::Stages;
use crate::lower::space::Place;
use crate::lower::tile::QUADS;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::{PANEL_COLUMNS as FOUR, PANEL_ROWS, Split};

/// A lane's sums, and their rows and columns.
pub(super) struct Lanes {
    /// Lanes with different columns, and fours of columns per lane in each product.
    across: u32,
    fours: u32,
    width: u32,
    /// The lane's number among lanes with different columns, and among lanes with different rows.
    beside: Expr,
    below: Expr,
    /// The number of rows, if they are sorted.
    count: Option<Expr>,
    /// The sums of a share, the totals of earlier shares, and a zero.
    sums: Vec<Expr>,
    totals: Vec<Expr>,
    zero: Expr,
}

impl Lanes {
    pub(super) fn new(w: &mut Writer<'_>, stages: &Stages, place: &Place, split: &Split) -> Lanes {
        let width = place.width();
        let (across, fours) = (width / split.upcast, split.upcast / FOUR);
        // Lanes that read the same columns are neighbours, so that their loads take fewer cycles.
        let beside = w.code.set("beside", Expr::Lane / 2u32 % across);
        let below = w.code.set("below", Expr::Lane % 2u32 + Expr::Lane / (2 * across) * 2u32);
        let n = stages.products() * fours * FOUR * PANEL_ROWS;
        // A zero that compilers cannot see, so that none fuses the product of a share of one block with the addition to the total.
        let zero = w.code.set("zero", Expr::Group(2).float());
        let sums = (0..n).map(|_| w.code.var("sum", zero.clone())).collect();
        // Totals begin with −0, because adding the first share to it changes no bit.
        let totals = (0..n).map(|_| w.code.var("total", -0.0f32)).collect();
        let count = place.sorted_rows().cloned();
        Lanes { across, fours, width, beside, below, count, sums, totals, zero }
    }

    /// Whether any of the lane's rows exists.
    pub(super) fn exists(&self) -> Expr {
        self.count.as_ref().map_or(Expr::True, |count| count.greater(&self.below * PANEL_ROWS))
    }

    /// Adds the sums of a share to those before.
    pub(super) fn add(&self, w: &mut Writer<'_>) {
        for (total, sum) in self.totals.iter().zip(&self.sums) {
            w.code.assign(total, total.clone() + sum.clone());
            w.code.assign(sum, self.zero.clone());
        }
    }

    /// Multiplies block `b` of a stage.
    pub(super) fn block(&self, w: &mut Writer<'_>, stages: &Stages, b: &Expr) -> Result<(), Why> {
        let Lanes { beside, below, across, fours, width, .. } = self;
        let stage = &stages.stage;
        let panel = |at: Expr| stages.four(at);
        let left = w.code.set("left", below * (PANEL_ROWS * stage.row()) + b * 2u32);
        let rows: Vec<Vec<Expr>> = (0..PANEL_ROWS)
            .map(|i| (0..2).flat_map(|h| w.code.four("xq", panel(&left + (i * stage.row() + h)))).collect())
            .collect();
        let scales = w.code.set("scales", b * stage.rows + below * PANEL_ROWS + stages.scales);
        let d = w.shared_words("d", &scales, PANEL_ROWS);
        let all: Vec<Vec<Expr>> = (1..=stage.mins)
            .map(|n| w.shared_words("s", &(&scales + n * stage.left_scales()), PANEL_ROWS))
            .collect();
        let right = w.code.set("right", b * (QUADS as u32 * stage.column_fours()) + beside);
        let right_scales = w.code.set("right_scales", b * (stage.scales * stage.column_fours()) + beside);
        let products = stages.products();
        let mut sums = self.sums.chunks((PANEL_ROWS * FOUR) as usize);
        for at in (0..products).flat_map(|n| (0..*fours).map(move |k| n * (width / FOUR) + k * across)) {
            let quads: Vec<[Expr; 4]> = (0..QUADS as u32)
                .map(|q| w.code.four("wq", panel(&right + (stage.right() + q * stage.column_fours() + at))))
                .collect();
            let scales: Vec<[Expr; 4]> = (0..stage.scales)
                .map(|half| {
                    let at = stage.right_scales() + half * stage.column_fours() + at;
                    w.code.four("scale", panel(&right_scales + at))
                })
                .collect();
            let per = QUADS / scales.len();
            let least: Vec<[Expr; 4]> = (0..stage.mins)
                .map(|half| {
                    let at = stage.right_mins() + half * stage.column_fours() + at;
                    w.code.four("least", panel(&right_scales + at))
                })
                .collect();
            let Some(sums) = sums.next() else { break };
            for (i, row) in rows.iter().enumerate() {
                for u in 0..FOUR as usize {
                    let sum = &sums[i * FOUR as usize + u];
                    for (half, scale) in scales.iter().enumerate() {
                        let pairs = quads.iter().zip(row).skip(half * per).take(per);
                        let dots = pairs.map(|(q, x)| Expr::call(Fun::Dot4, [q[u].clone(), x.clone()]));
                        let dots = dots.reduce(|a, b| a + b).unwrap_or(Expr::U32(0));
                        let number = w.float_of_dots(dots);
                        let of_block = number * scale[u].clone().float();
                        w.code.add_product(sum, d[i].clone().float(), of_block);
                        if let (Some(least), Some(all)) = (least.get(half), all.get(half)) {
                            w.code.add_product(sum, least[u].clone().float(), all[i].clone().float());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Stores the sums of each product.
    pub(super) fn store(&self, w: &mut Writer<'_>, results: &[u32]) {
        let Lanes { beside, below, across, fours, width, .. } = self;
        let places = results.iter().flat_map(|result| (0..*fours).map(move |k| (result, k)));
        for ((result, k), totals) in places.zip(self.totals.chunks((PANEL_ROWS * FOUR) as usize)) {
            for (i, row) in (0..).zip(totals.chunks(FOUR as usize)) {
                let at =
                    below * (PANEL_ROWS * width) + beside * FOUR + (i * width + k * across * FOUR + result);
                let words = std::array::from_fn(|u| row[u].clone().bits());
                w.code.push(Stmt::StoreFour(at, words));
            }
        }
    }
}
