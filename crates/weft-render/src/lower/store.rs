//! Stores of a row program, over whole rows or over a block of columns of several rows.

use weft_kern::{Format, Indexed, Instr, Part, ValueId, View, q8};
use weft_quant::GgmlType;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::select_blocks::selection as selected;
use crate::forms::select_blocks::tops::{self as top, Tops};
use crate::lower::blocks::{self, Blocks, Stored};
use crate::lower::functions::BRAIN;
use crate::lower::round::{self, Rounded};
use crate::lower::row_program::{Column, RowProgram, RowState};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// A store of the program.
#[derive(Clone, Copy)]
pub(crate) struct Store<'p> {
    pub(crate) value: ValueId,
    pub(crate) view: &'p View,
    pub(crate) indexed: Option<&'p Indexed>,
}

/// The rows and columns to store.
struct Field<'a> {
    place: &'a Place,
    /// One row of the tile, or `None` for all of them.
    only: Option<&'a RowState>,
    /// Columns per row: the value's length, or the block's width.
    width: u32,
}

/// Writes a part's row program. `results` are the offsets of the anchor's results in workgroup memory.
pub(crate) fn program(w: &mut Writer<'_>, part: &Part, place: &Place, results: Vec<u32>) -> Result<(), Why> {
    program_of(w, part, place, (results, place.width()))
}

/// Writes a part's row program for results whose rows have this stride in words.
pub(crate) fn program_of(
    w: &mut Writer<'_>,
    part: &Part,
    place: &Place,
    (results, stride): (Vec<u32>, u32),
) -> Result<(), Why> {
    let mut program = RowProgram::of(part, results, stride);
    if part.columns_independent() || place.width() < place.cols() && part.columns_together().is_some() {
        let field = Field { place, only: None, width: place.width() };
        return field.stores(w, &program, &stores(&part.body));
    }
    let rows = place.tile();
    if rows > 1 && is_flat(w, part, place) {
        let field = Field { place, only: None, width: place.width() };
        return field.stores(w, &program, &stores(&part.body));
    }
    if rows == 1 {
        let row = place.row(&mut w.code, &Expr::U32(0));
        return whole_row(w, &mut program, place, RowState::new(row.axes, Expr::U32(0)));
    }
    w.count("r", (0u32.into(), rows.into(), 1), |w, r| {
        let row = place.row(&mut w.code, &r);
        w.when(row.exists, |w| whole_row(w, &mut program, place, RowState::new(row.axes, r)))?;
        // The next row uses the same workgroup memory.
        w.code.barrier();
        Ok(())
    })
}

/// Writes the row program of a row with these axes, whose results are those of row `row` in workgroup memory.
pub(crate) fn row(
    w: &mut Writer<'_>,
    part: &Part,
    place: &Place,
    (axes, row): (Vec<Expr>, Expr),
    results: u32,
) -> Result<(), Why> {
    let mut program = RowProgram::of(part, vec![results], place.width());
    whole_row(w, &mut program, place, RowState::new(axes, row))
}

/// Whether a workgroup with whole rows can compute all of them at once: its stored values are as long as its rows, and only pairs use other
/// columns.
fn is_flat(w: &Writer<'_>, part: &Part, place: &Place) -> bool {
    let lens = part.lens();
    let cols = place.cols();
    let cheap = |x: ValueId| match &part.body[x] {
        Instr::Acc(_) | Instr::Const(_) => true,
        Instr::Load { view, .. } => !matches!(w.format(view.param), Format::Ggml(ty) if ty.is_quantised()),
        _ => false,
    };
    place.width() == cols
        && part.body.iter().all(|instr| match instr {
            Instr::Reduce(..) | Instr::TopK { .. } | Instr::Take { .. } => false,
            Instr::Rope { x, .. } => cheap(*x),
            Instr::Store { value, .. } => lens[*value] == cols as usize,
            _ => true,
        })
}

/// Writes the largest keys of the blocks of a part that selects from a long row.
pub(crate) fn largest_of_blocks(
    w: &mut Writer<'_>,
    part: &Part,
    place: &Place,
    tops: &Tops,
) -> Result<(), Why> {
    let (x, _) = selected(part).ok_or_else(|| Why::Form("selects nothing from a long row".into()))?;
    let program = RowProgram::new(&part.body, part.lens(), Vec::new(), place.width());
    let row = place.row(&mut w.code, &Expr::U32(0));
    let spot = RowState::new(row.axes, Expr::U32(0));
    let value = |w: &mut Writer<'_>, column: &Expr| {
        program.value(w, &mut spot.clone(), x, &Column::whole(column.clone()))
    };
    top::largest_of_blocks(w, place, tops, &value)
}

/// Writes the row program of a part that selects from a long row. `tops` has the largest keys of the row's blocks.
pub(crate) fn selection(w: &mut Writer<'_>, part: &Part, place: &Place, tops: Tops) -> Result<(), Why> {
    let program = RowProgram::new(&part.body, part.lens(), Vec::new(), place.width());
    let row = place.row(&mut w.code, &Expr::U32(0));
    whole_row(w, &mut program.selecting(tops), place, RowState::new(row.axes, Expr::U32(0)))
}

fn whole_row(
    w: &mut Writer<'_>,
    program: &mut RowProgram<'_>,
    place: &Place,
    mut spot: RowState,
) -> Result<(), Why> {
    program.prepare(w, &mut spot)?;
    let stores = stores(program.body);
    // Stores of the same length are written together, so that common values are computed once.
    let mut lens: Vec<usize> = stores.iter().map(|s| program.lens[s.value]).collect();
    lens.sort_unstable();
    lens.dedup();
    for len in lens {
        let same: Vec<Store<'_>> = stores.iter().filter(|s| program.lens[s.value] == len).copied().collect();
        let field = Field { place, only: Some(&spot), width: word(len)? };
        field.stores(w, program, &same)?;
    }
    Ok(())
}

/// The stores of a row program.
pub(crate) fn stores(body: &[Instr]) -> Vec<Store<'_>> {
    let stores = body.iter().filter_map(|instr| match instr {
        Instr::Store { value, view, indexed } => {
            Some(Store { value: *value, view, indexed: indexed.as_ref() })
        }
        _ => None,
    });
    stores.collect()
}

impl Field<'_> {
    fn rows(&self) -> u32 {
        if self.only.is_some() { 1 } else { self.place.tile() }
    }

    /// Writes the stores: whole words first, then halves, then rounded values.
    fn stores(&self, w: &mut Writer<'_>, program: &RowProgram<'_>, stores: &[Store<'_>]) -> Result<(), Why> {
        let of = |w: &Writer<'_>, wanted: fn(Format) -> bool| -> Vec<Store<'_>> {
            stores.iter().filter(|s| wanted(w.format(s.view.param))).copied().collect()
        };
        for store in stores {
            if !w.kernel.params[store.view.param].access.writes() {
                return Err(Why::Form(format!("writes p{}, which is only read", store.view.param)));
            }
        }
        let words = of(w, |f| matches!(f, Format::Ggml(GgmlType::F32 | GgmlType::I32)));
        let halves = of(w, |f| matches!(f, Format::Ggml(GgmlType::F16 | GgmlType::BF16)));
        let rounded = of(w, |f| f == Format::Q8);
        let states = of(w, |f| Blocks::of(f).is_some());
        if words.len() + halves.len() + rounded.len() + states.len() != stores.len() {
            return Err(Why::Form(
                "stores another format than f32, i32, f16, bf16, q8_0, q5_1, q4_0 and q8".into(),
            ));
        }
        if !words.is_empty() {
            self.each(w, 1, |w, spot, column| {
                words.iter().try_for_each(|store| whole_word(w, program, spot, store, column))
            })?;
        }
        if !halves.is_empty() {
            halves.iter().try_for_each(|store| self.check_pairs(store))?;
            self.each(w, 2, |w, spot, column| {
                halves.iter().try_for_each(|store| pair(w, program, spot, store, column))
            })?;
        }
        rounded.iter().try_for_each(|store| self.planes(w, program, store))?;
        states.iter().try_for_each(|store| self.state(w, program, store))
    }

    /// Visits every `per` columns of every row, divided among the lanes.
    fn each(
        &self,
        w: &mut Writer<'_>,
        per: u32,
        write: impl FnOnce(&mut Writer<'_>, &mut RowState, &Column) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let items = self.width / per;
        let all = self
            .rows()
            .checked_mul(items)
            .ok_or_else(|| Why::Form("has more rows than 32 bits can count".into()))?;
        w.share(all, |w, item| {
            if let Some(spot) = self.only {
                let column = Column::whole(item * per);
                return write(w, &mut spot.clone(), &column);
            }
            let (r, own) = match self.rows() {
                1 => (Expr::U32(0), item * per),
                _ => (w.code.set("r", &item / items), w.code.set("own", (item % items) * per)),
            };
            let row = self.place.row(&mut w.code, &r);
            let at = w.code.set("column", &self.place.column + &own);
            let exists = row.exists.both(&self.place.has_column(&at));
            w.when(exists, |w| write(w, &mut RowState::new(row.axes, r), &Column { at, own }))
        })
    }

    /// Checks that pairs of halves, which are stored as words, belong to one store.
    fn check_pairs(&self, store: &Store<'_>) -> Result<(), Why> {
        let view = store.view;
        let mut places = view.strides.iter().chain([&view.offset]).chain(store.indexed.map(|i| &i.stride));
        let even = places.all(|n| n.is_multiple_of(2)) && self.width.is_multiple_of(2);
        let cols = self.only.is_some() || self.place.cols().is_multiple_of(2);
        if even && cols && view.step == 1 {
            return Ok(());
        }
        Err(Why::Form(format!("stores 16-bit floats to p{} that are not adjacent pairs", view.param)))
    }

    /// Rounds the values to be stored, in workgroup memory.
    fn rounded(
        &self,
        w: &mut Writer<'_>,
        program: &RowProgram<'_>,
        store: &Store<'_>,
    ) -> Result<Rounded, Why> {
        let block = q8::BLOCK as u32;
        if !self.width.is_multiple_of(block) {
            return Err(Why::Form(format!(
                "rounds {} columns, which are not whole blocks of 32",
                self.width
            )));
        }
        let n = self
            .rows()
            .checked_mul(self.width)
            .ok_or_else(|| Why::Form("has more rows than 32 bits can count".into()))?;
        let to = round::alloc(w, n);
        let blocks = Blocks::of(w.format(store.view.param)).filter(|blocks| *blocks != Blocks::Q8);
        let mut value = |w: &mut Writer<'_>, i: &Expr| {
            if let Some(spot) = self.only {
                return program.value(w, &mut spot.clone(), store.value, &Column::whole(i.clone()));
            }
            let (r, own) = match self.rows() {
                1 => (Expr::U32(0), i.clone()),
                _ => (w.code.set("r", i / self.width), w.code.set("own", i % self.width)),
            };
            let row = self.place.row_to_read(&mut w.code, &r);
            let at = self.place.column_to_read(&mut w.code, &own, true);
            // Columns that do not exist have arbitrary results. Nothing reads them.
            program.value(w, &mut RowState::new(row.axes, r), store.value, &Column { at, own })
        };
        match blocks {
            Some(blocks) => blocks.round(w, n, to, &mut value)?,
            None => round::round(w, n, &Expr::U32(0), to, &mut value)?,
        }
        Ok(to)
    }

    /// A store to rounded activations, which are planes of quants, scales and sums.
    fn planes(&self, w: &mut Writer<'_>, program: &RowProgram<'_>, store: &Store<'_>) -> Result<(), Why> {
        let Rounded { quants, scales, sums } = self.rounded(w, program, store)?;
        let planes = round::planes(&w.values(store.view.param));
        for ((per, plane), from) in planes.into_iter().zip([quants, scales, sums]) {
            self.each(w, per, |w, spot, column| {
                let own = match self.only {
                    Some(_) => column.own.clone(),
                    None => &spot.row * self.width + &column.own,
                };
                let at = w.base(store.view, &spot.axes)? + &column.at;
                let to = w.start(store.view.param) + plane + at / per;
                let slot = w.slot(store.view.param);
                w.code.push(Stmt::Store(slot, to, Expr::Shared((own / per + from).into())));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// A store to a state of blocks, of consecutive whole ones.
    fn state(&self, w: &mut Writer<'_>, program: &RowProgram<'_>, store: &Store<'_>) -> Result<(), Why> {
        let from = self.rounded(w, program, store)?;
        let view = store.view;
        let Some(blocks) = Blocks::of(w.format(view.param)) else { return Ok(()) };
        let (count, cols) = (self.width / blocks::BLOCK, self.place.cols());
        // Two blocks are a whole number of words.
        let two = 2 * blocks::BLOCK;
        let mut places = view.strides.iter().chain([&view.offset]).chain(store.indexed.map(|i| &i.stride));
        let aligned = blocks.are_words()
            || places.all(|n| n.is_multiple_of(two as usize))
                && self.width.is_multiple_of(two)
                && (self.only.is_some() || cols.is_multiple_of(two));
        let words = blocks.words(count, aligned);
        let all = self.rows().checked_mul(words);
        let all = all.ok_or_else(|| Why::Form("has more rows than 32 bits can count".into()))?;
        w.share(all, |w, item| {
            let (r, word) = match self.rows() {
                1 => (Expr::U32(0), item),
                _ => (w.code.set("r", &item / words), w.code.set("word", item % words)),
            };
            let (axes, exists, column, first, there) = match self.only {
                Some(spot) => (spot.axes.clone(), Expr::True, Expr::U32(0), Expr::U32(0), count.into()),
                None => {
                    let row = self.place.row(&mut w.code, &r);
                    let column = self.place.column.clone();
                    // Blocks beyond the last column are not stored.
                    let there = match cols.is_multiple_of(self.width) {
                        true => Expr::U32(count),
                        false => ((Expr::U32(cols) - &column) / blocks::BLOCK).min(count),
                    };
                    (row.axes, row.exists, column, r * count, there)
                }
            };
            w.when(exists, |w| {
                let (base, exists) = picked(w, (store, None), &axes)?;
                let to = w.code.set("first_block", (base + column) / blocks::BLOCK);
                let halves = w.code.set("halves", there * blocks.halves());
                let stored = Stored { blocks, param: view.param, from, first, to, halves, aligned };
                w.when(exists, |w| stored.store(w, &word))
            })
        })
    }
}

/// Stores an `f32` or an `i32`.
fn whole_word(
    w: &mut Writer<'_>,
    program: &RowProgram<'_>,
    spot: &mut RowState,
    store: &Store<'_>,
    column: &Column,
) -> Result<(), Why> {
    let value = program.value(w, spot, store.value, column)?;
    let bits = whole_bits(w.format(store.view.param), value);
    let at = &column.at * word(store.view.step)?;
    to_memory(w, spot, (store, None), (&at, 1), bits)
}

/// The word of a value in memory of `f32` or `i32`.
pub(crate) fn whole_bits(format: Format, value: Expr) -> Expr {
    match format {
        Format::I32 => Expr::call(Fun::Unsigned, [Expr::call(Fun::IntOfFloat, [value])]),
        _ => value.bits(),
    }
}

/// Stores two halves as one word.
fn pair(
    w: &mut Writer<'_>,
    program: &RowProgram<'_>,
    spot: &mut RowState,
    store: &Store<'_>,
    column: &Column,
) -> Result<(), Why> {
    let second = Column { at: &column.at + 1u32, own: &column.own + 1u32 };
    let a = program.value(w, spot, store.value, column)?;
    let b = program.value(w, spot, store.value, &second)?;
    let Format::Ggml(ty) = w.format(store.view.param) else {
        return Err(Why::Form(format!("stores pairs to p{}, which has no halves", store.view.param)));
    };
    to_memory(w, spot, (store, None), (&column.at, 2), two_halves(ty, a, b))
}

/// The word of two values in memory of `f16` or `bf16`.
pub(crate) fn two_halves(ty: GgmlType, a: Expr, b: Expr) -> Expr {
    if ty != GgmlType::BF16 {
        return Expr::call(Fun::PackHalves, [a, b]);
    }
    let [a, b] = [a, b].map(|x| Expr::Own(BRAIN, vec![x.bits()]));
    a | (b << 16u32)
}

/// Stores a word of `per` values, the first at `at` in its row; nothing if the row's index is out of bounds.
pub(crate) fn to_memory(
    w: &mut Writer<'_>,
    spot: &RowState,
    (store, number): (&Store<'_>, Option<Expr>),
    (at, per): (&Expr, u32),
    bits: Expr,
) -> Result<(), Why> {
    let (base, exists) = picked(w, (store, number), &spot.axes)?;
    let to = w.start(store.view.param) + (base + at) / per;
    let slot = w.slot(store.view.param);
    w.when(exists, |w| {
        w.code.push(Stmt::Store(slot, to, bits));
        Ok(())
    })
}

/// The place of a row's values; if an index selects the row, also whether it is in bounds. `number` is the index, if it has been loaded.
fn picked(
    w: &mut Writer<'_>,
    (store, number): (&Store<'_>, Option<Expr>),
    row: &[Expr],
) -> Result<(Expr, Expr), Why> {
    let base = w.base(store.view, row)?;
    let Some(by) = store.indexed else { return Ok((base, Expr::True)) };
    let number = match number {
        Some(number) => number,
        None => {
            let number = w.number(&by.index, row, &Expr::U32(0))?;
            w.code.set("index", number)
        }
    };
    let (rows, stride) = w.rows_of(store.view, by)?;
    Ok((&number * stride + base, number.less(rows)))
}
