//! Unpacks the quants of IQ1, IQ2, IQ3, MXFP4 and NVFP4, which tiles store as a digit with a sign above it. Their values are nearly evenly
//! spaced, or grow in few steps, so a few operations on four bytes at once replace a table.

use weft_shader::expr::Expr;
use weft_shader::module::{Function, Type};

pub(crate) const IQ1: &str = "iq1";
pub(crate) const IQ2: &str = "iq2";
pub(crate) const IQ3_XXS: &str = "iq3_xxs";
pub(crate) const IQ3_S: &str = "iq3_s";
pub(crate) const E2M1: &str = "e2m1";

/// A one in each byte.
const ONES: u32 = 0x0101_0101;

/// The function with this name, which returns the signed bytes of four quants.
pub(crate) fn function(name: &str) -> Option<Function> {
    let name = [IQ1, IQ2, IQ3_XXS, IQ3_S, E2M1].into_iter().find(|own| *own == name)?;
    let value = value(name, &Expr::name("numbers"));
    Some(Function { name, params: &[("numbers", Type::U32)], result: Type::U32, body: Vec::new(), value })
}

/// The signed bytes of four quants. No byte carries into the next.
fn value(name: &str, numbers: &Expr) -> Expr {
    let digits = |bits: u32| numbers & (((1u32 << bits) - 1) * ONES);
    let sign = |bits: u32| (numbers >> bits) & ONES;
    // Negative values are the inverted bytes plus one.
    let signed = |bytes: Expr, sign: Expr| (bytes ^ (&sign * 0xffu32)) + sign;
    match name {
        // 8 digit − 7, or − 9. Each byte exceeds the subtrahend, because its top bit is set.
        IQ1 => (((digits(2) * 8u32) | 0x8080_8080u32) - (sign(2) * 2u32 + 7 * ONES)) ^ 0x8080_8080u32,
        // 8, 25, 43.
        IQ2 => signed(digits(2) * 17u32 + ((numbers >> 1u32) & ONES) + 8 * ONES, sign(2)),
        // 4, 12, …, 52, 62.
        IQ3_XXS => {
            let last = numbers & (numbers >> 1u32) & (numbers >> 2u32) & ONES;
            signed(digits(3) * 8u32 + last * 2u32 + 4 * ONES, sign(3))
        }
        // 0, 1, 2, 3, 4, 6, 8, 12: from 4 on, the two lower bits count twice, and both together two more.
        E2M1 => {
            let large = (numbers >> 2u32) & ONES;
            let both = &large & numbers & (numbers >> 1u32);
            let bytes = digits(3) + (numbers & (&large * 3u32)) + both * 2u32;
            // Zeros can have the sign, too: 128 − 0 does not carry, and 128 is taken away again.
            ((bytes ^ (sign(3) * 0x7fu32)) + sign(3)) ^ (sign(3) * 0x80u32)
        }
        // 1, 3, …, 15.
        _ => signed(digits(3) * 2u32 + ONES, sign(3)),
    }
}

#[cfg(test)]
mod tests {
    use weft_quant::GgmlType;
    use weft_quant::packed::Layout;

    use super::*;
    use crate::lower::tile::table_name;

    #[test]
    fn numbers_have_the_values_of_the_table() {
        for (ty, count) in [
            (GgmlType::IQ1_S, 6),
            (GgmlType::IQ1_M, 6),
            (GgmlType::IQ2_XXS, 6),
            (GgmlType::IQ2_XS, 6),
            (GgmlType::IQ2_S, 6),
            (GgmlType::IQ3_XXS, 16),
            (GgmlType::IQ3_S, 16),
            (GgmlType::MXFP4, 16),
            (GgmlType::NVFP4, 16),
        ] {
            let layout = Layout::of(ty).unwrap();
            let table = layout.table.unwrap();
            // A code for 0 is no quant of a grid.
            let is_grid = table_name(ty) != E2M1;
            let numbers: Vec<u8> =
                (0..16).filter(|n| !is_grid || table[usize::from(*n)] != layout.offset).collect();
            assert_eq!(numbers.len(), count, "{ty}");
            for first in &numbers {
                for second in &numbers {
                    let word = [*first, *second, *first, *second];
                    let found = value(table_name(ty), &Expr::U32(u32::from_le_bytes(word))).known().unwrap();
                    let expected = word.map(|n| table[usize::from(n)].wrapping_sub(layout.offset));
                    assert_eq!(found.to_le_bytes(), expected, "{ty}: {word:?}");
                }
            }
        }
    }
}
