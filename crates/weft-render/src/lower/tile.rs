//! Quantised weights as [`weft_quant::packed`] lays them out: sixteen rows interleaved, a word
//! being four columns of a row, so that sixteen neighbouring lanes read 64 bytes. They are all
//! unpacked by the same code, which follows the layout.

use weft_quant::GgmlType;
use weft_quant::packed::{COLUMNS, Layout, ROWS, Scales};

use crate::code::builder::Builder;
use crate::code::expr::{Expr, Fun};
use crate::refused::{Why, word};

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
    /// Words of a tile, and where in it the scales of super-blocks and of groups begin.
    tile: u32,
    scales: u32,
    groups: u32,
}

/// A row within its tile.
#[derive(Clone, Debug)]
pub(crate) struct TileRow {
    /// The tile's first word.
    tile: Expr,
    /// The row's number, of sixteen.
    row: Expr,
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
    /// One for the block, or one for each half.
    pub(crate) scales: Vec<Expr>,
    /// As many, if the format has minima.
    pub(crate) mins: Vec<Expr>,
}

impl Tiles {
    pub(crate) fn new(ty: GgmlType, k: usize, slot: usize, start: Expr) -> Result<Tiles, Why> {
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
        })
    }

    /// Words that hold a row's numbers in 32 columns.
    pub(crate) fn vectors(&self) -> u32 {
        self.layout.bits as u32
    }

    /// A row of the weight.
    pub(crate) fn row(&self, code: &mut Builder, row: &Expr) -> TileRow {
        let tile = code.set("tile", &self.start + (row / VECTOR) * self.tile);
        TileRow { tile, row: code.set("lane_row", row % VECTOR) }
    }

    fn word(&self, at: Expr) -> Expr {
        Expr::Word(self.slot, at.into())
    }

    /// The 32 columns `32 · block ..` of a row.
    pub(crate) fn block(&self, code: &mut Builder, of: &TileRow, block: &Expr) -> Block {
        let numbers = code.set("at", &of.tile + &of.row + block * (self.layout.bits as u32 * VECTOR));
        let vectors: Vec<Expr> = (0..self.layout.bits as u32)
            .map(|v| {
                let word = self.word(&numbers + v * VECTOR);
                code.set("w", word)
            })
            .collect();
        let quads = (0..QUADS as u32).map(|quad| {
            self.quad(&Expr::U32(quad), |vector| vectors[vector.known().unwrap_or(0) as usize].clone())
        });
        let quads = quads.collect();
        let halves = (COLUMNS / self.layout.group) as u32;
        let (mut scales, mut mins) = (Vec::new(), Vec::new());
        for half in 0..halves {
            let group = self.group(of, &(block * halves + half), &(block / (SUPER / COLUMNS as u32)));
            scales.push(code.set("scale", group.scale));
            mins.extend(group.min.map(|min| code.set("least", min)));
        }
        Block { quads, scales, mins }
    }

    /// One value of a row, as a float.
    pub(crate) fn value(&self, code: &mut Builder, of: &TileRow, column: &Expr) -> Expr {
        let (columns, group) = (COLUMNS as u32, self.layout.group as u32);
        let block = column / columns;
        let numbers = code.set("at", &of.tile + &of.row + block * (self.layout.bits as u32 * VECTOR));
        let quad = code.set("quad", (column % columns) / 4u32);
        let quad = self.quad(&quad, |vector| self.word(&numbers + vector * VECTOR));
        let byte = (quad >> ((column % 4u32) * 8u32)) << 24u32;
        let number = Expr::call(Fun::Signed, [byte]) >> 24u32;
        let number = Expr::call(Fun::FloatOfI32, [number]);
        let Group { scale, min } = self.group(of, &(column / group), &(column / SUPER));
        match min {
            Some(min) => Expr::call(Fun::Fma, [number, scale, min]),
            None => number * scale,
        }
    }

    /// Four columns of a row as signed bytes. `vector(v)` is the row's word of vector `v`.
    fn quad(&self, quad: &Expr, vector: impl Fn(Expr) -> Expr) -> Expr {
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
        self.signed(numbers)
    }

    /// Converts stored numbers to their values, as signed bytes.
    fn signed(&self, numbers: Expr) -> Expr {
        if self.layout.table.is_some() {
            return Expr::Own(table_name(self.ty), vec![numbers]);
        }
        match u32::from(self.layout.offset) {
            0 => numbers,
            128 => numbers ^ 0x8080_8080u32,
            // No byte borrows from the next: with its top bit set, each exceeds the offset.
            offset => ((numbers | 0x8080_8080u32) - offset * 0x0101_0101) ^ 0x8080_8080u32,
        }
    }

    /// The scale of a group of columns in super-block `block`.
    fn group(&self, of: &TileRow, group: &Expr, block: &Expr) -> Group {
        let (supers, groups) = (&of.tile + self.scales, &of.tile + self.groups);
        let rows = ROWS as u32;
        // The bits of half number `n` from a word on, and of byte number `n`.
        let half_bits = |from: &Expr, n: Expr| {
            let n = n * rows + &of.row;
            self.word(from + &n / 2u32) >> ((n % 2u32) * 16u32)
        };
        let half = |from: &Expr, n: Expr| Expr::call(Fun::Half, [half_bits(from, n)]);
        let byte = |n: Expr| {
            let n = n * rows + &of.row;
            self.word(&groups + &n / 4u32) >> ((n % 4u32) * 8u32)
        };
        let float = |byte: Expr| Expr::call(Fun::FloatOfU32, [byte & 0xffu32]);
        match self.layout.scales {
            Scales::Half => Group { scale: half(&groups, group.clone()), min: None },
            Scales::HalfMin => {
                Group { scale: half(&groups, group * 2u32), min: Some(half(&groups, group * 2u32 + 1u32)) }
            }
            Scales::Power => Group { scale: (half_bits(&groups, group.clone()) << 16u32).float(), min: None },
            Scales::Super => {
                let byte = Expr::call(Fun::Signed, [byte(group.clone()) << 24u32]) >> 24u32;
                let scale = half(&supers, block.clone()) * Expr::call(Fun::FloatOfI32, [byte]);
                Group { scale, min: None }
            }
            Scales::SuperMin => {
                let min = half(&supers, block * 2u32 + 1u32) * float(byte(group * 2u32 + 1u32));
                Group {
                    scale: half(&supers, block * 2u32) * float(byte(group * 2u32)),
                    min: Some(Expr::call(Fun::Negate, [min])),
                }
            }
        }
    }
}

/// The vector that `width` bits of a quad are in, and by how much they are shifted.
fn place(width: usize, quad: &Expr) -> (Expr, Expr) {
    match width {
        8 => (quad.clone(), Expr::U32(0)),
        4 => (quad % 4u32, (quad / 4u32) * 4u32),
        2 => (quad / 4u32, (quad % 4u32) * 2u32),
        _ => (Expr::U32(0), quad.clone()),
    }
}

/// The name of the function that looks up a format's numbers.
pub(crate) fn table_name(ty: GgmlType) -> &'static str {
    match ty {
        GgmlType::MXFP4 => "e2m1",
        _ => "iq4",
    }
}
