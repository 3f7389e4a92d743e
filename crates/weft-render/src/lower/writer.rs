//! The state that all of lowering shares: statements, workgroup memory, and parameters by their formats.

use std::collections::BTreeSet;

use weft_kern::{Format, Indexed, Kernel, ParamId, Pick, Product, View};
use weft_quant::GgmlType;
use weft_shader::builder::Builder;
use weft_shader::cooperative::Arrays;
use weft_shader::expr::{Expr, Fun};
use weft_shader::module::Content;
use weft_shader::stmt::Stmt;

use crate::gpu::Gpu;
use crate::lower::tile::Tiles;
use crate::refused::{Why, word};
use crate::shader::Slots;

/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;

/// The name of the word that flips the top bits of four bytes. It must not be a constant to the compiler, which would spend an instruction
/// on it at each use, after the one that masks the bytes.
pub(crate) const TOP_BITS: &str = "top_bits";

/// Words of workgroup memory that panels leave for small values.
const PANEL_SPARE: u32 = 64;

/// Lowers a kernel.
pub(crate) struct Writer<'k> {
    pub(crate) kernel: &'k Kernel,
    /// The slot of each parameter.
    slots: &'k [usize],
    /// The content of each slot.
    contents: &'k [Content],
    pub(crate) code: Builder,
    pub(crate) pool: Pool,
    /// The arrays of the part's cooperative matrices, after the pool.
    pub(crate) arrays: Arrays,
    /// Whether cooperative matrices compute attention on matrix units.
    pub(crate) cooperative: bool,
    /// Whether they multiply signed bytes, and have element-wise products.
    pub(crate) cooperative_values: bool,
    /// Whether the next stage of panels is loaded before this one is multiplied.
    pub(crate) panels_ahead: bool,
    /// Lanes that can exchange values: a power of two; 1 if none can.
    pub(crate) subgroup: u32,
    /// Whether dot products of bytes are integers.
    dot4: bool,
    picks_bytes: bool,
    /// Parameters whose first word is used, and parameters whose number of values is.
    pub(crate) starts: BTreeSet<ParamId>,
    pub(crate) counts: BTreeSet<ParamId>,
    /// Whether four neighbouring words are loaded at once.
    pub(crate) quads: bool,
    /// Whether a workgroup can have many heads of attention.
    pub(crate) tiles: bool,
    /// The most words of weights that a lane loads ahead.
    pub(crate) early_words: u32,
    /// Whether products on matrix units copy their first stages before they wait.
    pub(crate) stages_ahead: bool,
    /// Words of workgroup memory for products on matrix units that hold all their operands at once.
    pub(crate) whole_words: u32,
    /// The number of workgroups that a multiprocessor should have room for; 0 if that does not matter.
    pub(crate) together: u32,
    /// Whether each part waits for the previous launch.
    pub(crate) waits: bool,
    /// Whether the next launch may have begun already.
    pub(crate) released: bool,
    /// Whether few workgroups combine results, and there may be more chunks than multiprocessors.
    pub(crate) joins_many: bool,
    /// Whether loads are kept in flight at the cost of registers, which pays if few workgroups run at once.
    pub(crate) holds: bool,
}

/// Allocates workgroup memory, one range after another. Each part begins at 0 again, because a
/// workgroup runs only one part.
#[derive(Debug)]
pub(crate) struct Pool {
    next: u32,
    /// Each range begins at a multiple of this many words.
    align: u32,
    /// The most words allocated since the part began.
    pub(crate) top: u32,
    /// Words for copies of values that could be loaded again instead.
    pub(crate) spare: usize,
    /// Words that may hold activations in a short step.
    pub(crate) activations: usize,
    /// Whether workgroups can have more memory than usual.
    pub(crate) grows: bool,
    /// The usual words of workgroup memory.
    usual: u32,
}

impl Pool {
    /// Allocates some words. Returns the first one.
    pub(crate) fn alloc(&mut self, words: u32) -> u32 {
        let at = self.next.next_multiple_of(self.align);
        self.next = at.saturating_add(words);
        self.top = self.top.max(self.next);
        at
    }

    /// Allocates some words from a multiple of `align` words on.
    pub(crate) fn alloc_aligned(&mut self, words: u32, align: u32) -> u32 {
        self.next = self.next.next_multiple_of(align);
        self.alloc(words)
    }

    /// The pool of this GPU. A third of its workgroup memory may be spent on saving loads.
    fn new(gpu: &Gpu) -> Pool {
        let align = if gpu.features.quads { 4 } else { 1 };
        // If workgroups use more, fewer of them share a multiprocessor.
        let usual = gpu.shared_bytes.min(48 << 10) as usize;
        // In a short step a multiprocessor rarely has more than one workgroup.
        let activations = gpu.most_shared_bytes.max(usual as u32) as usize / 4 / 2;
        let grows = gpu.most_shared_bytes >= gpu.shared_bytes;
        Pool { next: 0, align, top: 0, spare: usual / 4 / 3, activations, grows, usual: usual as u32 / 4 }
    }

    /// The words that are left of `most`, without a few for small values.
    pub(crate) fn left(&self, most: u32) -> u32 {
        self.usual.min(most).saturating_sub(self.next + PANEL_SPARE)
    }

    /// Frees everything from word `at` on.
    pub(crate) fn free_from(&mut self, at: u32) {
        self.next = self.next.min(at);
    }

    /// Frees everything.
    pub(crate) fn clear(&mut self) {
        (self.next, self.top) = (0, 0);
    }
}

impl<'k> Writer<'k> {
    pub(crate) fn new(kernel: &'k Kernel, slots: &'k Slots, lanes: u32, gpu: &Gpu) -> Writer<'k> {
        let Slots { of: slots, contents, .. } = slots;
        let (code, pool) = (Builder::new(lanes), Pool::new(gpu));
        let subgroup = gpu.subgroup.filter(|n| n.is_power_of_two()).map_or(1, |n| n.min(lanes));
        let (starts, counts) = (BTreeSet::new(), BTreeSet::new());
        let (quads, grows) = (gpu.features.quads, pool.grows);
        Writer {
            kernel,
            slots,
            contents,
            code,
            pool,
            arrays: Arrays::default(),
            cooperative: gpu.features.cooperative,
            cooperative_values: gpu.features.cooperative_values,
            panels_ahead: gpu.features.panels_ahead,
            subgroup,
            dot4: gpu.dot4,
            picks_bytes: gpu.picks_bytes,
            starts,
            counts,
            quads,
            tiles: gpu.features.tiles && quads && !grows,
            early_words: gpu.features.early_words,
            stages_ahead: gpu.features.matrix_stages_ahead,
            whole_words: 0,
            together: 0,
            waits: false,
            released: false,
            joins_many: false,
            holds: true,
        }
    }

    /// Waits for the previous launch, unless the workgroup has done so. All memory can be used from here on. The next launch may begin only
    /// now, so that it can rely on all launches before this one, unless this one releases it early.
    pub(crate) fn wait(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.code.push(Stmt::Wait);
            self.code.push_if(!self.released, Stmt::LaunchNext);
        }
    }

    /// A parameter's first word within its slot.
    pub(crate) fn start(&mut self, param: ParamId) -> Expr {
        self.starts.insert(param);
        Expr::name(format!("p{param}"))
    }

    /// The number of a parameter's values.
    pub(crate) fn values(&mut self, param: ParamId) -> Expr {
        self.counts.insert(param);
        Expr::name(format!("n{param}"))
    }

    pub(crate) fn format(&self, param: ParamId) -> Format {
        self.kernel.params[param].format
    }

    pub(crate) fn slot(&self, param: ParamId) -> usize {
        self.slots[param]
    }

    /// Whether a parameter is a weight.
    pub(crate) fn is_weight(&self, param: ParamId) -> bool {
        self.content(param) == Content::Weight
    }

    /// Whether a parameter may be read before the previous launch has ended.
    pub(crate) fn is_stable(&self, param: ParamId) -> bool {
        self.content(param) != Content::Open
    }

    fn content(&self, param: ParamId) -> Content {
        self.contents[self.slots[param]]
    }

    /// Keeps the loads so far before all later operations. All lanes of a warp must get here.
    pub(crate) fn hold_loads(&mut self) {
        let warps = self.code.lanes.is_multiple_of(WARP);
        self.code.push_if(self.holds && self.quads && warps, Stmt::HoldLoads);
    }

    /// A word of a parameter.
    pub(crate) fn param_word(&mut self, param: ParamId, at: Expr) -> Expr {
        Expr::Word(self.slots[param], (self.start(param) + at).into())
    }

    /// The first value of a view for a row.
    pub(crate) fn base(&self, view: &View, row: &[Expr]) -> Result<Expr, Why> {
        let mut at = Expr::U32(0);
        for (stride, index) in view.strides.iter().zip(row) {
            at = at + index * word(*stride)?;
        }
        Ok(at + word(view.offset)?)
    }

    /// A value of a parameter of floats or integers, as a float.
    pub(crate) fn load(&mut self, param: ParamId, at: &Expr) -> Result<Expr, Why> {
        Ok(match self.format(param) {
            Format::Ggml(GgmlType::F32) => {
                let word = self.param_word(param, at.clone());
                // Loads before the wait must not be moved past it.
                if self.waits && self.quads { Expr::Early(word.into()).float() } else { word.float() }
            }
            Format::Ggml(GgmlType::I32) => {
                let bits = self.param_word(param, at.clone());
                Expr::call(Fun::FloatOfI32, [Expr::call(Fun::Signed, [bits])])
            }
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                let pair = self.param_word(param, at / 2u32);
                half(ty, pair, at & 1u32)
            }
            other => return Err(Why::Form(format!("loads single values of {other}"))),
        })
    }

    /// Two consecutive values of a parameter of halves, the first at an even index.
    pub(crate) fn load_pair(&mut self, param: ParamId, ty: GgmlType, pair: Expr) -> [Expr; 2] {
        let both = self.param_word(param, pair);
        let both = self.code.set("pair", both);
        [0, 1].map(|i| half(ty, both.clone(), Expr::U32(i)))
    }

    /// Eight consecutive values of a parameter of halves: group `eight` of them.
    pub(crate) fn load_eight(&mut self, param: ParamId, ty: GgmlType, eight: &Expr) -> Vec<Expr> {
        let from = self.start(param) + eight * 4u32;
        let words = self.code.four("eight", Expr::Four(Some(self.slots[param]), from.into()));
        words.into_iter().flat_map(|word| [0, 1].map(|i| half(ty, word.clone(), Expr::U32(i)))).collect()
    }

    /// Words of workgroup memory from `at` on, a multiple of four if they are loaded four at once.
    pub(crate) fn shared_words(&mut self, stem: &str, at: &Expr, n: u32) -> Vec<Expr> {
        if self.quads && n.is_multiple_of(4) {
            let fours = (0..n / 4).flat_map(|i| self.code.four(stem, Expr::Four(None, (at + i * 4).into())));
            return fours.collect();
        }
        (0..n).map(|i| self.code.set(stem, Expr::Shared((at + i).into()))).collect()
    }

    /// The integer at a view, for a row and a column.
    pub(crate) fn number(&mut self, view: &View, row: &[Expr], column: &Expr) -> Result<Expr, Why> {
        let at = self.base(view, row)? + column * word(view.step)?;
        Ok(self.param_word(view.param, at))
    }

    /// The integer at a view, clamped below `bound`, because data is never trusted as an address. (Negative numbers are large ones.)
    pub(crate) fn index(
        &mut self,
        view: &View,
        row: &[Expr],
        column: &Expr,
        bound: u32,
    ) -> Result<Expr, Why> {
        let number = self.number(view, row, column)?;
        Ok(self.code.set("index", number.min(bound.saturating_sub(1))))
    }

    /// A product's result for a row: 0 if another part of its stack has the row's matrix. Such a row is multiplied by another matrix,
    /// and the product is dropped.
    pub(crate) fn or_zero(&mut self, product: &Product, row: &[Expr], value: Expr) -> Result<Expr, Why> {
        let (Some(from), Pick::Ids(ids)) = (product.w.from, &product.w.pick) else { return Ok(value) };
        let (from, count) = (word(from)?, word(product.w.count)?);
        let number = self.number(ids, row, &Expr::U32(0))?;
        let own = self.code.set("own_number", number - from);
        Ok(Expr::F32(0.0).unless(&own.less(count - from), value))
    }

    /// For a row that an index selects: the index, the number of rows, and the stride.
    pub(crate) fn picked(
        &mut self,
        view: &View,
        by: &Indexed,
        row: &[Expr],
    ) -> Result<(Expr, Expr, u32), Why> {
        let number = self.number(&by.index, row, &Expr::U32(0))?;
        let number = self.code.set("index", number);
        let (rows, stride) = self.rows_of(view, by)?;
        Ok((number, rows, stride))
    }

    /// The number of rows among which an index selects, and the stride.
    pub(crate) fn rows_of(&mut self, view: &View, by: &Indexed) -> Result<(Expr, u32), Why> {
        let stride = word(by.stride)?;
        Ok((self.values(view.param) / stride, stride))
    }

    /// The first value of a loaded row. An index that is out of bounds selects the last row.
    pub(crate) fn loaded_row(
        &mut self,
        view: &View,
        by: Option<&Indexed>,
        row: &[Expr],
    ) -> Result<Expr, Why> {
        let base = self.base(view, row)?;
        let Some(by) = by else { return Ok(base) };
        let (number, rows, stride) = self.picked(view, by, row)?;
        // There may be less than one whole row.
        let last = rows.max(1u32) - 1u32;
        Ok(self.code.set("row", number.min(last) * stride) + base)
    }

    /// The tiles of a quantised parameter, in rows of `k` values; `None` if it is not quantised.
    pub(crate) fn tiles(&mut self, param: ParamId, k: usize) -> Result<Option<Tiles>, Why> {
        match self.format(param) {
            Format::Ggml(ty) if ty.is_quantised() => {
                let start = self.start(param);
                let flip = self.quads.then(|| Expr::name(TOP_BITS));
                Tiles::new(ty, k, (self.slots[param], start), flip, self.picks_bytes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A float in workgroup memory.
    pub(crate) fn load_shared(&self, at: Expr) -> Expr {
        Expr::Shared(at.into()).float()
    }
}

impl Writer<'_> {
    /// Divides the numbers below `n` among the lanes. The loop has a constant number of rounds, so that compilers unroll it and have all
    /// its loads in flight at once.
    pub(crate) fn share(
        &mut self,
        n: u32,
        write: impl FnOnce(&mut Self, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let lanes = self.code.lanes;
        let exists = |c: &Expr| if n.is_multiple_of(lanes) { Expr::True } else { c.less(n) };
        if n <= lanes {
            return self.when(exists(&Expr::Lane), |w| write(w, Expr::Lane));
        }
        self.count("time", (0u32.into(), n.div_ceil(lanes).into(), 1), |w, time| {
            let c = w.code.set("c", time * lanes + Expr::Lane);
            w.when(exists(&c), |w| write(w, c))
        })
    }

    /// `for c = from; c < to; c += step`.
    pub(crate) fn count(
        &mut self,
        stem: &str,
        range: (Expr, Expr, u32),
        write: impl FnOnce(&mut Self, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let (name, (from, to, step)) = (self.code.fresh(stem), range);
        self.code.open();
        let done = write(self, Expr::name(name.clone()));
        self.code.close_for(name, from, to, step);
        done
    }

    /// A [`count`](Writer::count) from a number below `step`, without a loop if there is only one round.
    pub(crate) fn count_or_once(
        &mut self,
        stem: &str,
        range: (Expr, Expr, u32),
        write: impl FnOnce(&mut Self, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let (from, to, step) = range;
        match to.known() {
            Some(to) if to == step => write(self, from),
            _ => self.count(stem, (from, to, step), write),
        }
    }

    /// A sum of dot products of four bytes, as a float. A GPU without an instruction for them computes in floats
    /// throughout, exactly: up to 1,000 products of bytes are below 2²⁴.
    pub(crate) fn float_of_dots(&self, sum: Expr) -> Expr {
        if self.dot4 { Expr::call(Fun::FloatOfI32, [sum]) } else { sum }
    }

    /// The value of the lane whose number differs from this one's in the bits of `mask`, which is
    /// less than [`subgroup`](Writer::subgroup). All lanes must get here.
    pub(crate) fn shuffled(&mut self, value: &Expr, mask: u32) -> Expr {
        self.code.set("other", Expr::call(Fun::Shuffle, [value.clone(), mask.into()]))
    }

    /// Writes a block that runs if a condition holds.
    pub(crate) fn when(
        &mut self,
        condition: Expr,
        write: impl FnOnce(&mut Self) -> Result<(), Why>,
    ) -> Result<(), Why> {
        if condition == Expr::True {
            return write(self);
        }
        self.code.open();
        let done = write(self);
        self.code.close_if(condition);
        done
    }
}

/// One of the two halves in a word, as a float.
fn half(ty: GgmlType, pair: Expr, which: Expr) -> Expr {
    if ty == GgmlType::F16 {
        return Expr::call(Fun::Half, [pair >> (which * 16u32)]);
    }
    // A bfloat16 is the upper half of a float.
    match which.known() {
        Some(0) => (pair << 16u32).float(),
        Some(_) => (pair & 0xffff_0000u32).float(),
        None => ((pair >> (which * 16u32)) << 16u32).float(),
    }
}
