//! Functions with the same bits on every device: steps of IEEE operations, each rounded once.
//!
//! Devices have their own exponentials and divisions, which differ in the last bits. Experts of a layer may be on several devices, and
//! must give the same results on all of them: so what they compute between two products has a definition here.

/// Adding this, 1.5 · 2²³, to a value below 2²² rounds it to an integer, ties to even, which is then in the low bits.
pub const ROUND: f32 = 12_582_912.0;

/// A float's bits subtracted from these are those of its inverse, to within 13 %.
pub const INVERSE_BITS: u32 = 0x7ef3_11c7;

/// Steps of Newton's method of third order: each takes an error of e to e³.
pub const INVERSE_STEPS: usize = 2;

/// The magnitude beyond which [`sigmoid`] takes its argument for this one. The result there is below 2e-35, or 1.
pub const FAR: f32 = 80.0;

/// ln 2 in two parts.
pub const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];

/// The coefficients of eʳ = 1 + r + r²·q(r) for |r| ≤ ln 2 / 2, highest power first: Taylor's, whose remainder is below 5.2e-9.
pub const EXP: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];

/// 1 / x to within a unit in the last place, for x from 2⁻¹²⁶ to 2¹²⁵.
#[inline(always)]
pub fn reciprocal(x: f32) -> f32 {
    let mut r = f32::from_bits(INVERSE_BITS.wrapping_sub(x.to_bits()));
    for _ in 0..INVERSE_STEPS {
        let e = (-x).mul_add(r, 1.0);
        r = r.mul_add(e.mul_add(e, e), r);
    }
    r
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let x = (-x).clamp(-FAR, FAR);
    // With n the integer nearest to x / ln 2 and r = x − n · ln 2, eˣ is 2ⁿ · eʳ.
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (-n).mul_add(LN_2[1], (-n).mul_add(LN_2[0], x));
    let mut q = EXP[0];
    for c in &EXP[1..] {
        q = q.mul_add(r, *c);
    }
    let e = q.mul_add(r * r, r) + 1.0;
    let n = rounded.to_bits().wrapping_sub(ROUND.to_bits());
    let power = f32::from_bits(n.wrapping_add(127) << 23);
    reciprocal(e.mul_add(power, 1.0))
}

/// x / (1 + e⁻ˣ).
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Floats in steps of a prime between two bounds.
    fn floats(from: f32, to: f32) -> impl Iterator<Item = f32> {
        (from.to_bits()..=to.to_bits()).step_by(4_099).map(f32::from_bits)
    }

    #[test]
    fn inverses_are_within_a_unit_in_the_last_place() {
        for x in floats(f32::MIN_POSITIVE, 4.2e37) {
            let truth = 1.0 / f64::from(x);
            let error = (f64::from(reciprocal(x)) - truth).abs() / truth;
            assert!(error <= f64::from(f32::EPSILON), "{error} for {x}");
        }
        assert_eq!([1.0, 2.0, 0.5].map(reciprocal), [1.0, 0.5, 2.0]);
    }

    #[test]
    fn sigmoids_are_close_to_the_true_ones() {
        for x in floats(1e-6, 79.0).flat_map(|x| [x, -x]) {
            let truth = 1.0 / (1.0 + (-f64::from(x)).exp());
            let error = (f64::from(sigmoid(x)) - truth).abs() / truth;
            assert!(error <= 4.0 * f64::from(f32::EPSILON), "{error} for {x}");
        }
        assert_eq!([sigmoid(0.0), sigmoid(f32::INFINITY), silu(0.0)], [0.5, 1.0, 0.0]);
        assert!(sigmoid(f32::NEG_INFINITY) < 2e-35 && silu(f32::NAN).is_nan());
    }
}
