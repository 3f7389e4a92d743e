//! A right `fmaf` for Windows programs that MinGW-w64 links.
//!
//! `f32::mul_add` is one instruction where the code around it is compiled for that instruction, and the C library's `fmaf` elsewhere. The
//! `fmaf` of MinGW-w64 is wrong for a fifth of all operands. A processor without FMA therefore computed other bits than a processor with
//! it, and so did the definitions in the tests. The linker takes the function below in its place, for all crates of a program.

/// `a · b + c`, rounded once. The product is exact in an `f64`, and the sum is rounded to odd there. Rounding that again to an `f32` gives
/// the right result, because an `f64` has more than two bits more (Boldo and Melquiond, *Emulation of FMA and correctly rounded sums*,
/// 2008).
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // The error of the sum, exactly (Knuth's two-sum).
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum as f32;
    }
    let outwards = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if outwards { sum.to_bits() + 1 } else { sum.to_bits() - 1 }) as f32
}

// SAFETY: name, parameters and result are those of the C standard, and it has no effects.
#[cfg(all(windows, target_env = "gnu"))]
#[unsafe(no_mangle)]
extern "C" fn fmaf(a: f32, b: f32, c: f32) -> f32 {
    mul_add(a, b, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operands of any size, and sums near ties, for which two roundings are wrong.
    #[test]
    fn sums_in_doubles_are_rounded_once() {
        let f = f32::from_bits;
        // 1 + 2⁻²⁴ is a tie, to even.
        let (tie, tiny) = (2f32.powi(-24), 2f32.powi(-60));
        // Their product is 2⁻⁷⁰ less than the half of a last place, for which an `f64` beside 1 has no room.
        let (above, below) = (tie * (1.0 + f32::EPSILON), 1.0 - f32::EPSILON);
        let cases = [
            ((above, below, 1.0), 1.0),
            ((above, below, 1.0 + f32::EPSILON), 1.0 + f32::EPSILON),
            ((-above, below, 1.0 + f32::EPSILON), 1.0 + f32::EPSILON),
            ((above, -below, -1.0), -1.0),
            ((above, below, -1.0 - f32::EPSILON), -1.0 - f32::EPSILON),
            ((tie, 1.0, 1.0), 1.0),
            ((tie, 1.0 + f32::EPSILON, 1.0), 1.0 + f32::EPSILON),
            ((tie, 1.0 - f32::EPSILON, 1.0), 1.0),
            ((1.0 + f32::EPSILON, 1.0 + f32::EPSILON, tiny), 1.0 + 2.0 * f32::EPSILON),
            ((f(0x3f80_0001), f(0x3380_0000), f(0xbf80_0000)), -1.0 + 2f32.powi(-24)),
            ((f(1), 0.5, 0.0), 0.0),
            ((f(1), 0.5, f(1)), f(2)),
            ((f32::MAX, f32::MAX, f32::MIN), f32::INFINITY),
            ((f32::MAX, 1.0, f32::MAX), f32::INFINITY),
            ((-1.0, f32::INFINITY, 1.0), f32::NEG_INFINITY),
        ];
        for ((a, b, c), expected) in cases {
            let found = mul_add(a, b, c);
            assert_eq!(found.to_bits(), expected.to_bits(), "{a:e} · {b:e} + {c:e} is {found:e}");
        }
        assert!(mul_add(f32::INFINITY, 0.0, 1.0).is_nan());
        let mut seed = 1u64;
        for i in 0..300_000 {
            let mut number = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                f32::from_bits((seed >> 32) as u32)
            };
            let (a, b, any) = (number(), number(), number());
            // Every other one is near the product.
            let c =
                if i % 2 == 0 { any } else { -(a * b) * f32::from_bits(0x3f80_0000 | any.to_bits() & 0x7) };
            let (found, expected) = (mul_add(a, b, c), a.mul_add(b, c));
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "{a:e} · {b:e} + {c:e} is {found:e}, expected {expected:e}");
        }
    }
}
