//! Row programs in which each lane computes one column, from a result that it holds itself.
//!
//! Their values stay out of workgroup memory, so they need no barriers. Workgroups of a short step have few columns each, and the row
//! program would take as long as the products. The inputs of the program are loaded before the products and arrive while these are
//! computed.

use weft_kern::{Format, Instr, Part, ValueId, q8};
use weft_quant::GgmlType;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::dot::lanes::write::products::Results;
use crate::lower::reduce::{self, Fold};
use crate::lower::round;
use crate::lower::row_program::{Column, RowProgram, RowState};
use crate::lower::space::Place;
use crate::lower::store::{self, Store};
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};

/// Values of a block of rounded activations.
const BLOCK: u32 = q8::BLOCK as u32;

/// A part's row program, with one column for each lane.
pub(crate) struct Lanes<'p> {
    part: &'p Part,
    program: RowProgram<'p>,
    /// Each store with the index that selects its row, if that has been loaded.
    stores: Vec<(Store<'p>, Option<Expr>)>,
    /// The lane's row, and its known values.
    spot: RowState,
    column: Column,
    /// The number of the workgroup's results. Each lane below it has one.
    items: u32,
    /// Whether the lane's row and column exist.
    exists: Expr,
    loaded: Vec<ValueId>,
}

impl<'p> Lanes<'p> {
    /// The row program of a part in a workgroup with these rows and columns, if lanes can compute it.
    pub(crate) fn new(w: &mut Writer<'_>, part: &'p Part, place: &Place) -> Option<Lanes<'p>> {
        let (rows, width, lanes) = (place.tile(), place.width(), w.code.lanes);
        let items = rows.saturating_mul(width);
        let stores = store::stores(&part.body);
        let warps = w.quads && w.subgroup == WARP && lanes.is_multiple_of(WARP);
        let fits = place.sorted_rows().is_none() && items <= lanes;
        if !warps
            || !fits
            || part.columns_together().is_none()
            || !stores.iter().all(|s| can_store(w, place, s))
        {
            return None;
        }
        // Lanes of the last warp without a result repeat the last one that has a result, and store nothing.
        let whole = items.is_multiple_of(WARP);
        let item = if whole { Expr::Lane } else { w.code.set("item", Expr::Lane.min(items - 1)) };
        let (r, own) = match rows {
            1 => (Expr::U32(0), item),
            _ => (w.code.set("r", &item / width), w.code.set("own", item % width)),
        };
        let exists = place.row(&mut w.code, &r).exists.both(&place.has_column(&(&place.column + &own)));
        let exists = if whole { exists } else { Expr::Lane.less(items).both(&exists) };
        let row = place.row_to_read(&mut w.code, &r);
        let at = place.column_to_read(&mut w.code, &own, true);
        Some(Lanes {
            part,
            program: RowProgram::of(part, Vec::new(), width),
            stores: stores.into_iter().map(|store| (store, None)).collect(),
            spot: RowState::new(row.axes, r),
            column: Column { at, own },
            items,
            exists,
            loaded: Vec::new(),
        })
    }

    /// Whether the lane is in a warp that has results.
    fn takes_part(&self, lanes: u32) -> Expr {
        let some = self.items.next_multiple_of(WARP);
        if some >= lanes { Expr::True } else { Expr::Lane.less(some) }
    }

    /// The column that holds the cosine and sine of a pair.
    fn pair(&self) -> Column {
        Column::whole(&self.column.at / 2u32)
    }

    /// Loads the program's vectors that have not been loaded; only stable ones if the workgroup has yet to wait.
    pub(crate) fn load(&mut self, w: &mut Writer<'_>) -> Result<(), Why> {
        for (v, instr) in self.part.body.iter().enumerate() {
            let Instr::Load { view, indexed, len } = instr else { continue };
            let column = match *len {
                len if len == self.part.cols => self.column.clone(),
                len if 2 * len == self.part.cols => self.pair(),
                _ => continue,
            };
            let index = indexed.as_ref().map(|by| by.index.param);
            let stable = [view.param].into_iter().chain(index).all(|param| w.is_stable(param));
            if self.loaded.contains(&v) || w.waits && !stable {
                continue;
            }
            let kept = w.code.var("kept", 0.0f32);
            w.when(self.takes_part(w.code.lanes), |w| {
                let value = self.program.value(w, &mut self.spot.clone(), v, &column)?;
                w.code.assign(&kept, value);
                Ok(())
            })?;
            self.spot.know(v, &column, kept);
            self.loaded.push(v);
        }
        for (store, number) in &mut self.stores {
            let Some(by) = store.indexed.filter(|_| number.is_none()) else { continue };
            if !w.waits || w.is_stable(by.index.param) {
                let row = w.number(&by.index, &self.spot.axes, &Expr::U32(0))?;
                *number = Some(w.code.set("index", row));
            }
        }
        Ok(())
    }

    /// Computes the program from the products' results, and stores its values.
    pub(crate) fn write(mut self, w: &mut Writer<'_>, results: &Results) -> Result<(), Why> {
        w.when(self.takes_part(w.code.lanes), |w| {
            for (v, instr) in self.part.body.iter().enumerate() {
                let value = match instr {
                    Instr::Acc(result) => {
                        let value = match results {
                            Results::Lanes(sums) => sums[*result].clone(),
                            Results::Shared(at) => {
                                let own = &self.spot.row * self.program.stride() + &self.column.own;
                                let value = w.load_shared(own + at[*result]);
                                w.code.set("v", value)
                            }
                        };
                        self.program.result(w, *result, &self.spot.axes, value)?
                    }
                    Instr::Rope { x, cos, sin, .. } => self.rotated(w, *x, (*cos, *sin))?,
                    _ => continue,
                };
                self.spot.know(v, &self.column, value);
            }
            let stores = std::mem::take(&mut self.stores);
            stores.into_iter().try_for_each(|(store, number)| self.store(w, &store, number))
        })
    }

    /// A value rotated with that of the neighbouring lane.
    fn rotated(
        &mut self,
        w: &mut Writer<'_>,
        x: ValueId,
        (cos, sin): (ValueId, ValueId),
    ) -> Result<Expr, Why> {
        let own = self.value(w, x)?;
        let other = w.shuffled(&own, 1);
        let pair = self.pair();
        let cos = self.program.value(w, &mut self.spot, cos, &pair)?;
        let sin = self.program.value(w, &mut self.spot, sin, &pair)?;
        let is_first = (&self.column.at % 2u32).equal(0u32);
        // The rotated value as the first of the pair, and as the second.
        let [first, second] = [own.times(&cos) - other.times(&sin), other.times(&sin) + own.times(&cos)];
        Ok(w.code.set("v", second.unless(&is_first, first)))
    }

    fn value(&mut self, w: &mut Writer<'_>, v: ValueId) -> Result<Expr, Why> {
        self.program.value(w, &mut self.spot, v, &self.column)
    }

    fn store(&mut self, w: &mut Writer<'_>, store: &Store<'p>, number: Option<Expr>) -> Result<(), Why> {
        let value = self.value(w, store.value)?;
        match w.format(store.view.param) {
            Format::Q8 => self.planes(w, store, &value),
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                let other = w.shuffled(&value, 1);
                let first = (&self.column.at % 2u32).equal(0u32);
                w.when(self.exists.both(&first), |w| {
                    let bits = store::two_halves(ty, value, other);
                    store::to_memory(w, &self.spot, (store, number), (&self.column.at, 2), bits)
                })
            }
            format => {
                let at = &self.column.at * word(store.view.step)?;
                let bits = store::whole_bits(format, value);
                w.when(self.exists.clone(), |w| {
                    store::to_memory(w, &self.spot, (store, number), (&at, 1), bits)
                })
            }
        }
    }

    /// Rounds the values of each warp as one block, and stores the block's quants, scale and sums.
    fn planes(&self, w: &mut Writer<'_>, store: &Store<'_>, value: &Expr) -> Result<(), Why> {
        // Values are compared as bits, so that infinities and NaNs are above all numbers.
        let top = reduce::subgroups(w, Fold::Max, value.clone().bits() & 0x7fff_ffffu32, BLOCK);
        let (scale, inverse) = round::scale(w, &top);
        let byte = round::byte(value.clone(), &inverse) << (Expr::Lane % 4u32 * 8u32);
        let mut packed = w.code.set("packed", byte);
        for mask in [1, 2] {
            let other = w.shuffled(&packed, mask);
            packed = w.code.set("packed", packed | other);
        }
        let mut sum = w.code.set("sum", Expr::call(Fun::Dot4, [packed.clone(), 0x0101_0101u32.into()]));
        for mask in [4, 8] {
            let other = w.shuffled(&sum, mask);
            sum = w.code.set("sum", sum + other);
        }
        let sum = w.float_of_dots(sum) * scale.clone().float();
        let slot = w.slot(store.view.param);
        let at = w.base(store.view, &self.spot.axes)? + &self.column.at;
        let at = w.code.set("at", at);
        let planes = round::planes(&w.values(store.view.param));
        for ((per, plane), bits) in planes.into_iter().zip([packed, scale, sum.bits()]) {
            let first = (Expr::Lane % per).equal(0u32);
            let to = w.start(store.view.param) + plane + &at / per;
            w.when(self.exists.both(&first), |w| {
                w.code.push(Stmt::Store(slot, to, bits));
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Whether lanes with one column each can store a value of all columns.
fn can_store(w: &Writer<'_>, place: &Place, store: &Store<'_>) -> bool {
    let (width, view) = (place.width(), store.view);
    match w.format(view.param) {
        Format::Ggml(GgmlType::F32 | GgmlType::I32) => true,
        // Two neighbouring lanes store one word.
        Format::Ggml(GgmlType::F16 | GgmlType::BF16) => {
            let mut places =
                view.strides.iter().chain([&view.offset]).chain(store.indexed.map(|by| &by.stride));
            let cols = [width, place.cols()].iter().all(|n| n.is_multiple_of(2));
            cols && view.step == 1 && places.all(|n| n.is_multiple_of(2))
        }
        Format::Q8 => store.indexed.is_none() && width.is_multiple_of(BLOCK),
        _ => false,
    }
}
