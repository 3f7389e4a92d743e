//! Quantised weights in the layout of [`weft_quant::packed`]: sixteen rows are interleaved, and a word is four columns of a row, so that
//! sixteen neighbouring lanes read 64 bytes. The same code unpacks all formats, by their layout.

use weft_kern::Format;
use weft_quant::GgmlType;
use weft_quant::packed::{COLUMNS, Layout, ROWS, Scales};
use weft_shader::builder::Builder;
use weft_shader::expr::{Expr, Fun};

use crate::lower::points::{E2M1, IQ1, IQ2, IQ3_S, IQ3_XXS};
use crate::refused::{Why, word};

/// The functions that look up quants in a table: of a number in each byte, and of half of the nibbles of a word.
pub(crate) const IQ4: &str = "iq4";
pub(crate) const IQ4_OF_NIBBLES: &str = "iq4_of_nibbles";
pub(crate) const E2M1_OF_NIBBLES: &str = "e2m1_of_nibbles";

/// Words of a vector: four columns of all sixteen rows.
const VECTOR: u32 = ROWS as u32;

/// Groups of four columns in a block of 32.
pub(crate) const QUADS: usize = COLUMNS / 4;

/// Columns of a super-block.
const SUPER: u32 = 256;

/// A quantised weight.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    slot: usize,
    /// Its first word.
    start: Expr,
    layout: Layout,
    ty: GgmlType,
    /// Words per tile, and the offsets in it of the scales of super-blocks and of groups.
    tile: u32,
    scales: u32,
    groups: u32,
    /// The word that flips the top bits of four bytes, if quants are unpacked to the upper bits of bytes, which takes fewer operations.
    flip: Option<Expr>,
    /// The function that looks up the values of a word's nibbles, if the GPU has an instruction for it.
    of_nibbles: Option<&'static str>,
    /// Whether compilers must keep the loads in place.
    early: bool,
}

/// A row within its tile.
#[derive(Clone, Debug)]
pub(crate) struct TileRow {
    /// The tile's first word.
    tile: Expr,
    /// The row's number, of sixteen.
    row: Expr,
}

/// Number `n` of a plane of a tile's rows, which has `per` numbers in each word, from word `from` of the tile on.
struct Plane<'a> {
    from: u32,
    n: &'a Expr,
    per: u32,
}

/// A group's scale, and its minimum if the format has one.
struct Group {
    scale: Expr,
    min: Option<Expr>,
}

/// 32 columns of a row.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Four signed bytes each.
    pub(crate) quads: Vec<Expr>,
    /// One scale for the block, or one for each half.
    pub(crate) scales: Vec<Expr>,
    /// As many minima as scales, if the format has minima.
    pub(crate) mins: Vec<Expr>,
    /// The factor of quads, a power of two.
    pub(crate) factor: f32,
}

impl Tiles {
    pub(crate) fn new(
        ty: GgmlType,
        k: usize,
        (slot, start): (usize, Expr),
        flip: Option<Expr>,
        picks_bytes: bool,
    ) -> Result<Tiles, Why> {
        let unknown = || Why::Form(format!("multiplies or reads rows of {k} values of {ty}"));
        let layout = Layout::of(ty).filter(|_| k.is_multiple_of(ty.block_len())).ok_or_else(unknown)?;
        let bytes = layout.tile_bytes(k).ok_or_else(unknown)?;
        let scales = layout.scales_at(k);
        Ok(Tiles {
            slot,
            start,
            layout,
            ty,
            tile: word(bytes / 4)?,
            scales: word(scales / 4)?,
            groups: word((scales + layout.groups_at(k)) / 4)?,
            flip,
            of_nibbles: nibbles_name(ty).filter(|_| picks_bytes),
            early: false,
        })
    }

    /// The same weight, with loads that compilers keep in place or not.
    pub(crate) fn loaded(&self, early: bool) -> Tiles {
        Tiles { early, ..self.clone() }
    }

    /// Words of a row's quants in 32 columns.
    pub(crate) fn vectors(&self) -> u32 {
        self.layout.bits as u32
    }

    /// A row of the weight.
    pub(crate) fn row(&self, code: &mut Builder, row: &Expr) -> TileRow {
        let tile = code.set("tile", &self.start + (row / VECTOR) * self.tile);
        TileRow { tile, row: code.set("lane_row", row % VECTOR) }
    }

    fn word(&self, at: Expr) -> Expr {
        let word = Expr::Word(self.slot, at.into());
        if self.early { Expr::Early(word.into()) } else { word }
    }

    /// The 32 columns `32 · block ..` of a row.
    pub(crate) fn block(&self, code: &mut Builder, of: &TileRow, block: &Expr) -> Block {
        let numbers = code.address("at", &of.tile + &of.row + block * (self.layout.bits as u32 * VECTOR));
        let vectors: Vec<Expr> = (0..self.layout.bits as u32)
            .map(|v| {
                let word = self.word(&numbers + v * VECTOR);
                code.set("w", word)
            })
            .collect();
        self.unpacked(code, &vectors, block, |code, plane| self.bits(code, of, plane))
    }

    /// The 32 columns `32 · block ..` of four neighbouring rows of a tile, the first a multiple of four. Their words are loaded at once.
    pub(crate) fn four_blocks(&self, code: &mut Builder, of: &TileRow, block: &Expr) -> [Block; 4] {
        let numbers = code.address("at", &of.tile + &of.row + block * (self.layout.bits as u32 * VECTOR));
        let vectors: Vec<[Expr; 4]> = (0..self.layout.bits as u32)
            .map(|v| {
                let words = Expr::Four(Some(self.slot), (&numbers + v * VECTOR).into());
                code.four("w", if self.early { Expr::Early(words.into()) } else { words })
            })
            .collect();
        // Words with the scales of several rows are loaded once.
        let mut loaded: Vec<(Expr, Expr)> = Vec::new();
        std::array::from_fn(|i| {
            let vectors: Vec<Expr> = vectors.iter().map(|words| words[i].clone()).collect();
            let i = i as u32;
            self.unpacked(code, &vectors, block, |code, Plane { from, n, per }| {
                let at = &of.tile + from + n * (ROWS as u32 / per) + &of.row / per + i / per;
                let known = loaded.iter().find(|(known, _)| *known == at).map(|(_, word)| word.clone());
                let word = known.unwrap_or_else(|| {
                    let word = code.set("word", self.word(at.clone()));
                    loaded.push((at, word.clone()));
                    word
                });
                word >> (i % per * (32 / per))
            })
        })
    }

    /// A row's 32 columns, from their words. `bits` looks up its scales.
    fn unpacked(
        &self,
        code: &mut Builder,
        vectors: &[Expr],
        block: &Expr,
        mut bits: impl FnMut(&mut Builder, Plane<'_>) -> Expr,
    ) -> Block {
        let vector = |vector: Expr| vectors[vector.known().unwrap_or(0) as usize].clone();
        let (shift, quads) = match self.shift() {
            Some((shift, flip)) => {
                (shift, (0..QUADS as u32).map(|quad| self.upper(quad, (shift, flip), vector)).collect())
            }
            None => (0, (0..QUADS as u32).map(|quad| self.quad(&Expr::U32(quad), vector)).collect()),
        };
        let halves = (COLUMNS / self.layout.group) as u32;
        let (mut scales, mut mins) = (Vec::new(), Vec::new());
        for half in 0..halves {
            let (group, super_block) = (block * halves + half, block / (SUPER / COLUMNS as u32));
            let Group { scale, min } = self.scaled(&group, &super_block, |plane| bits(code, plane));
            let mut named = |stem, value| if self.early { value } else { code.set(stem, value) };
            scales.push(named("scale", scale));
            mins.extend(min.map(|min| named("least", min)));
        }
        Block { quads, scales, mins, factor: 1.0 / (1u32 << shift) as f32 }
    }

    /// The number of scales of 32 columns: one, or one for each half.
    pub(crate) fn scales(&self) -> u32 {
        (COLUMNS / self.layout.group) as u32
    }

    /// The number of minima of 32 columns: the number of scales, or none.
    pub(crate) fn mins(&self) -> u32 {
        if self.layout.has_min() { self.scales() } else { 0 }
    }

    /// The factor of [operands](Tiles::operand), a power of two.
    pub(crate) fn factor(&self) -> f32 {
        1.0 / (1u32 << self.operand_shift().unwrap_or(0)) as f32
    }

    /// The factor of the quants of [blocks](Tiles::four_blocks), a power of two.
    pub(crate) fn unpacked_factor(&self) -> f32 {
        1.0 / (1u32 << self.shift().map_or(0, |(shift, _)| shift)) as f32
    }

    /// The number of bits by which the quants of operands are shifted.
    fn operand_shift(&self) -> Option<u32> {
        self.shift().map(|(shift, _)| shift).filter(|_| self.layout.bits == 4)
    }

    /// Its slot.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// The first word of a tile, where the quants of its first block begin.
    pub(crate) fn first_word(&self, tile: &Expr) -> Expr {
        &self.start + tile * self.tile
    }

    /// The mask of [`operand`](Tiles::operand), if it needs one. It must not be a constant to the compiler, which would spend an
    /// instruction on it at each use with another constant. It is computed from the number of the only group along the third axis.
    pub(crate) fn operand_mask(&self, code: &mut Builder) -> Expr {
        match self.operand_shift() {
            Some(_) => code.set("upper_nibbles", Expr::Group(2) ^ 0xf0f0_f0f0u32),
            None => Expr::U32(0),
        }
    }

    /// The columns `4 · quad ..` and `16 + 4 · quad ..` of a row's block, as signed bytes; `quad` is less than 4, and
    /// `vector(v)` is the row's word of vector `v`.
    pub(crate) fn operand(
        &self,
        code: &mut Builder,
        quad: &Expr,
        mask: &Expr,
        vector: impl Fn(Expr) -> Expr,
    ) -> [Expr; 2] {
        let pair = match self.operand_shift() {
            Some(shift) => {
                // The top bits of both nibbles are flipped at once.
                let word = code.set("w", vector(quad.clone()) ^ 0x8888_8888u32);
                [&word << shift, word].map(|word| word & mask)
            }
            None => [quad.clone(), quad + 4u32].map(|quad| self.quad(&quad, &vector)),
        };
        pair.map(|quad| code.set("wq", quad))
    }

    /// Scale `half` of 32 columns, and their minimum if the format has one.
    pub(crate) fn scale(
        &self,
        code: &mut Builder,
        of: &TileRow,
        (block, half): (&Expr, u32),
    ) -> (Expr, Option<Expr>) {
        let super_block = block / (SUPER / COLUMNS as u32);
        let group = if self.scales() > 1 { block * self.scales() + half } else { block.clone() };
        let Group { scale, min } = self.group(code, of, &group, &super_block);
        if self.early {
            return (scale, min);
        }
        (code.set("scale", scale), min.map(|min| code.set("least", min)))
    }

    /// One value of a row, as a float.
    pub(crate) fn value(&self, code: &mut Builder, of: &TileRow, column: &Expr) -> Expr {
        let (columns, group) = (COLUMNS as u32, self.layout.group as u32);
        let block = column / columns;
        let numbers = code.address("at", &of.tile + &of.row + block * (self.layout.bits as u32 * VECTOR));
        let quad = code.set("quad", (column % columns) / 4u32);
        let quad = self.quad(&quad, |vector| self.word(&numbers + vector * VECTOR));
        let byte = (quad >> ((column % 4u32) * 8u32)) << 24u32;
        let number = Expr::call(Fun::Signed, [byte]) >> 24u32;
        let number = Expr::call(Fun::FloatOfI32, [number]);
        let Group { scale, min } = self.group(code, of, &(column / group), &(column / SUPER));
        match min {
            Some(min) => Expr::call(Fun::Fma, [number, scale, min]),
            None => number * scale,
        }
    }

    /// Four columns of a row as signed bytes. `vector(v)` is the row's word of vector `v`.
    fn quad(&self, quad: &Expr, vector: impl Fn(Expr) -> Expr) -> Expr {
        if let Some(name) = self.of_nibbles {
            return Expr::Own(name, vec![vector(quad % 4u32), quad / 4u32]);
        }
        self.signed(self.numbers(quad, vector))
    }

    /// The stored numbers of four columns of a row.
    fn numbers(&self, quad: &Expr, vector: impl Fn(Expr) -> Expr) -> Expr {
        let bits = self.layout.bits;
        // The low bits are stored together, the others after them.
        let low = match bits {
            8 => 8,
            4..=6 => 4,
            _ => 2,
        };
        let take = |width: usize, first: u32| {
            let (v, shift) = place(width, quad);
            let mask = (0xffu32 >> (8 - width)) * 0x0101_0101;
            let word = vector(v + first) >> shift;
            if width == 8 { word } else { word & mask }
        };
        let mut numbers = take(low, 0);
        if bits > low {
            numbers = numbers | (take(bits - low, low as u32) << low as u32);
        }
        numbers
    }

    /// The number of bits by which quants are shifted to the top of their bytes, where flipping the top bit subtracts the offset, and the
    /// word that flips them; `None` for formats that gain nothing by that.
    fn shift(&self) -> Option<(u32, &Expr)> {
        let Layout { bits, offset, .. } = self.layout;
        let centred = bits < 8 && usize::from(offset) == 1 << (bits - 1);
        let flip = self.flip.as_ref().filter(|_| centred && self.layout.table.is_none())?;
        Some((8 - bits as u32, flip))
    }

    /// Four columns of a row as signed bytes, multiplied by `1 << shift`.
    fn upper(&self, quad: u32, (shift, flip): (u32, &Expr), vector: impl Fn(Expr) -> Expr) -> Expr {
        let numbers = if self.layout.bits == 4 {
            // Nibbles are masked without a shift.
            (vector(Expr::U32(quad % 4)) << (4 - quad / 4 * 4)) & 0xf0f0_f0f0u32
        } else {
            self.numbers(&Expr::U32(quad), vector) << shift
        };
        numbers ^ flip
    }

    /// Converts stored numbers to their values, as signed bytes.
    fn signed(&self, numbers: Expr) -> Expr {
        if self.layout.table.is_some() {
            return Expr::Own(table_name(self.ty), vec![numbers]);
        }
        match u32::from(self.layout.offset) {
            0 => numbers,
            128 => numbers ^ 0x8080_8080u32,
            // No byte borrows from the next, because each exceeds the offset with its top bit set.
            offset => ((numbers | 0x8080_8080u32) - offset * 0x0101_0101) ^ 0x8080_8080u32,
        }
    }

    /// The scale of a group of columns in super-block `block`.
    fn group(&self, code: &mut Builder, of: &TileRow, group: &Expr, block: &Expr) -> Group {
        self.scaled(group, block, |plane| self.bits(code, of, plane))
    }

    /// Number `n` of a row in a plane, with the bits above it.
    fn bits(&self, code: &mut Builder, of: &TileRow, Plane { from, n, per }: Plane<'_>) -> Expr {
        let from = &of.tile + from;
        let rows = ROWS as u32;
        let (at, within) = if self.flip.is_some() {
            (n * (rows / per) + &of.row / per, &of.row % per)
        } else {
            let n = n * rows + &of.row;
            (&n / per, n % per)
        };
        let word = self.word(from + at);
        // Words that are loaded early are named, because they are used later.
        let word = if self.early { code.set("word", word) } else { word };
        word >> (within * (32 / per))
    }

    /// The scale of a group of columns in super-block `block`, from numbers that `bits` looks up.
    fn scaled(&self, group: &Expr, block: &Expr, mut bits: impl FnMut(Plane<'_>) -> Expr) -> Group {
        let (supers, groups) = (self.scales, self.groups);
        let mut bits = |from: u32, n: Expr, per: u32| bits(Plane { from, n: &n, per });
        let half = |bits: Expr| Expr::call(Fun::Half, [bits]);
        let float = |byte: Expr| Expr::call(Fun::FloatOfU32, [byte & 0xffu32]);
        match self.layout.scales {
            Scales::Half => Group { scale: half(bits(groups, group.clone(), 2)), min: None },
            Scales::HalfMin => {
                let scale = half(bits(groups, group * 2u32, 2));
                Group { scale, min: Some(half(bits(groups, group * 2u32 + 1u32, 2))) }
            }
            Scales::Power => Group { scale: (bits(groups, group.clone(), 2) << 16u32).float(), min: None },
            Scales::Super => {
                let scale = half(bits(supers, block.clone(), 2));
                let byte = Expr::call(Fun::Signed, [bits(groups, group.clone(), 4) << 24u32]) >> 24u32;
                let mut factor = Expr::call(Fun::FloatOfI32, [byte]);
                if self.layout.halvings > 0 {
                    factor = factor * (1.0 / (1u32 << self.layout.halvings) as f32);
                }
                let scale = scale * factor;
                Group { scale, min: None }
            }
            Scales::SuperMin => {
                let min = half(bits(supers, block * 2u32 + 1u32, 2));
                let min = min * float(bits(groups, group * 2u32 + 1u32, 4));
                let scale = half(bits(supers, block * 2u32, 2));
                let scale = scale * float(bits(groups, group * 2u32, 4));
                Group { scale, min: Some(Expr::call(Fun::Negate, [min])) }
            }
        }
    }
}

/// Whether products with weights of a format need the sums of activations.
pub(crate) fn has_minima(format: Format) -> bool {
    matches!(format, Format::Ggml(ty) if ty.int_layout().is_some_and(|layout| layout.has_min))
}

/// The vector that has `width` bits of a quad, and their shift.
fn place(width: usize, quad: &Expr) -> (Expr, Expr) {
    match width {
        8 => (quad.clone(), Expr::U32(0)),
        4 => (quad % 4u32, (quad / 4u32) * 4u32),
        2 => (quad / 4u32, (quad % 4u32) * 2u32),
        _ => (Expr::U32(0), quad.clone()),
    }
}

/// The name of the function that looks up a format's quants.
pub(crate) fn table_name(ty: GgmlType) -> &'static str {
    match ty {
        GgmlType::MXFP4 | GgmlType::NVFP4 => E2M1,
        GgmlType::IQ1_S | GgmlType::IQ1_M => IQ1,
        GgmlType::IQ2_XXS | GgmlType::IQ2_XS | GgmlType::IQ2_S => IQ2,
        GgmlType::IQ3_XXS => IQ3_XXS,
        GgmlType::IQ3_S => IQ3_S,
        _ => IQ4,
    }
}

/// The name of the function that looks up a format's quants, four of the nibbles of a word, where quants are any 16 values.
pub(crate) fn nibbles_name(ty: GgmlType) -> Option<&'static str> {
    match ty {
        GgmlType::MXFP4 | GgmlType::NVFP4 => Some(E2M1_OF_NIBBLES),
        GgmlType::IQ4_NL | GgmlType::IQ4_XS => Some(IQ4_OF_NIBBLES),
        _ => None,
    }
}
