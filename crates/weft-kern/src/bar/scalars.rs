//! Error bars of the scalars of a row program, in which errors with the same cause can cancel.
//!
//! A bar forgets where its error comes from, so a quotient of a number and a sum that contains it gets the errors of both, and the bar of
//! a number that is normalised again and again doubles each time. In truth an error that all terms of a sum share leaves their quotients
//! as they are. So a scalar's error is kept as a sum of causes, `Σ cᵢ·εᵢ` with |εᵢ| ≤ 1: the roundings of this scalar and of those before
//! it. Causes pass through sums exactly, and through other operations by the operation's derivative; what the derivative leaves out is
//! bounded and becomes a cause of its own, as each rounding is. This is affine arithmetic (Comba and Stolfi, *Affine arithmetic and its
//! applications to computer graphics*, 1993). The bound is `Σ |cᵢ|`, whatever the causes are.
//!
//! Sinkhorn's iteration, which divides a matrix by its row and column sums in turn, needs this: its derivative forgets errors that a whole
//! row or column has in common.

use weft_ir::{Binary, Unary};

use super::{Bar, rounding};
use crate::program::Instr;

/// The most causes of errors of a row; each takes a float in every later scalar. Further scalars have bars only.
const MOST_CAUSES: usize = 4096;

/// The scalars of a row so far.
#[derive(Default)]
pub struct Scalars {
    /// By instruction; `None` for those that are no scalars, or of which nothing is known.
    all: Vec<Option<Scalar>>,
    /// The number of causes.
    causes: usize,
}

/// A scalar, and the share of each cause in its error. Later causes have none.
struct Scalar {
    value: f64,
    shares: Vec<f64>,
}

/// A result before it is rounded.
struct Exact {
    shares: Vec<f64>,
    /// The largest error that the derivative leaves out.
    rest: f64,
    /// Units in the last place by which a device may be wrong.
    ulps: f64,
}

impl Scalars {
    /// Adds the result of an instruction. Returns it with the smaller of both bounds.
    pub(super) fn add(&mut self, at: usize, instr: &Instr, result: Bar) -> Bar {
        let exact = match instr {
            Instr::Unary(op, x) => self.get(*x).and_then(|x| unary(*op, x)),
            Instr::Binary(op, a, b) => self.get(*a).zip(self.get(*b)).and_then(|(a, b)| binary(*op, a, b)),
            _ => None,
        };
        self.all.resize_with(at, || None);
        let (shares, own) = match exact {
            Some(Exact { shares, rest, ulps }) => {
                let error = sizes(&shares) + rest;
                (shares, rest + rounding(result.value, error, ulps))
            }
            None => (Vec::new(), result.error),
        };
        let scalar = self.caused(f64::from(result.value), shares, own);
        let error = scalar.as_ref().map_or(f64::INFINITY, Scalar::error);
        self.all.push(scalar);
        Bar { error: result.error.min(error), ..result }
    }

    fn get(&self, at: usize) -> Option<&Scalar> {
        self.all.get(at)?.as_ref()
    }

    /// A scalar with these shares of known causes, and one of its own.
    fn caused(&mut self, value: f64, mut shares: Vec<f64>, own: f64) -> Option<Scalar> {
        if !value.is_finite() || !own.is_finite() || !sizes(&shares).is_finite() {
            return None;
        }
        if own > 0.0 {
            if self.causes == MOST_CAUSES {
                return None;
            }
            shares.resize(self.causes, 0.0);
            shares.push(own);
            self.causes += 1;
        }
        Some(Scalar { value, shares })
    }
}

impl Scalar {
    /// The largest error.
    fn error(&self) -> f64 {
        sizes(&self.shares)
    }
}

/// The largest sum of causes with these shares.
fn sizes(shares: &[f64]) -> f64 {
    shares.iter().map(|share| share.abs()).sum()
}

/// `a · x + b · y`, cause by cause.
fn combined((a, x): (f64, &[f64]), (b, y): (f64, &[f64])) -> Vec<f64> {
    let at = |shares: &[f64], i: usize| shares.get(i).copied().unwrap_or(0.0);
    (0..x.len().max(y.len())).map(|i| a * at(x, i) + b * at(y, i)).collect()
}

/// The error of a function of a scalar; `None` if only its bar is known.
fn unary(op: Unary, x: &Scalar) -> Option<Exact> {
    let e = x.error();
    match op {
        Unary::Neg => Some(Exact { shares: combined((-1.0, &x.shares), (0.0, &[])), rest: 0.0, ulps: 0.0 }),
        Unary::Exp => {
            let y = x.value.exp();
            let shares = combined((y, &x.shares), (0.0, &[]));
            // The series of eᵉ − 1 − e has positive terms only.
            Some(Exact {
                shares,
                rest: y * (e.exp_m1() - e).max(e * e / 2.0),
                ulps: 3.0 + 2.0 * x.value.abs(),
            })
        }
        _ => None,
    }
}

/// The error of an operation on two scalars; `None` if only its bar is known.
fn binary(op: Binary, a: &Scalar, b: &Scalar) -> Option<Exact> {
    let linear = |x: f64, y: f64| combined((x, &a.shares), (y, &b.shares));
    Some(match op {
        Binary::Add => Exact { shares: linear(1.0, 1.0), rest: 0.0, ulps: 0.0 },
        Binary::Sub => Exact { shares: linear(1.0, -1.0), rest: 0.0, ulps: 0.0 },
        Binary::Mul => Exact { shares: linear(b.value, a.value), rest: a.error() * b.error(), ulps: 0.0 },
        // (a + e) / (b + f) − a / b = (e − a / b · f) / b · (1 − f / (b + f)).
        Binary::Div if b.value.abs() > b.error() => {
            let shares = linear(b.value.recip(), -a.value / b.value / b.value);
            let rest = sizes(&shares) * b.error() / (b.value.abs() - b.error());
            Exact { shares, rest, ulps: 2.5 }
        }
        Binary::Max | Binary::Min if (a.value - b.value).abs() > a.error() + b.error() => {
            let first = (a.value > b.value) == (op == Binary::Max);
            let of = if first { a } else { b };
            Exact { shares: of.shares.clone(), rest: 0.0, ulps: 0.0 }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
