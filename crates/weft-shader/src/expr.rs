//! Expressions of the structured program: typed by construction, simplified as they are built.

use std::ops;
use std::rc::Rc;

/// An operator between two operands of one type (shifts: any number and `u32`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`.
    Div,
    /// `a % b`.
    Rem,
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `a ^ b`.
    Xor,
    /// `a << b`.
    Shl,
    /// `a >> b`.
    Shr,
    /// `a < b`.
    Less,
    /// `a > b`.
    Greater,
    /// `a == b`.
    Equal,
    /// `a && b`.
    Both,
    /// `a || b`.
    Either,
}

/// A built-in function. Every dialect has a spelling of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fun {
    /// Reinterprets bits as a float.
    Float,
    /// Reinterprets a float as bits.
    Bits,
    /// `u32` to `f32`, rounded to nearest.
    FloatOfU32,
    /// `i32` to `f32`, rounded to nearest.
    FloatOfI32,
    /// `f32` to `i32`, truncated.
    IntOfFloat,
    /// `f32` to `u32`, truncated.
    U32OfFloat,
    /// Reinterprets `u32` as `i32`.
    Signed,
    /// Reinterprets `i32` as `u32`.
    Unsigned,
    /// `-a`.
    Negate,
    /// The smaller of two.
    Min,
    /// The larger of two.
    Max,
    /// eᵃ.
    Exp,
    /// 1 / √a.
    InverseSqrt,
    /// `(a, b)`: a / b, except for the last bits.
    Quotient,
    /// To the nearest integer, ties to even.
    Round,
    /// `(a, b, c)`: a · b + c, rounded once where the hardware can.
    Fma,
    /// A product that no compiler may fuse with a sum. Compilers would fuse it in some texts and not in others, and bits would differ.
    Rounded,
    /// `(no, yes, condition)`.
    Select,
    /// Widens the IEEE half in the lower half of a word.
    Half,
    /// Converts two floats to halves and packs them into a word, the first one low.
    PackHalves,
    /// `(a, b)`: the dot product of two vectors of four signed bytes, an `i32`; an `f32` in
    /// [WGSL](crate::dialect::Wgsl) without an instruction for it.
    Dot4,
    /// `(low, high, places)`: four of the eight bytes of two words. Byte `i` of the result is the one that nibble `i` of `places` counts
    /// from the lowest of `low`; these nibbles are below 8. For languages of GPUs that do this in one instruction.
    PickBytes,
    /// `(value, mask)`: the value of the lane whose number differs from this lane's in the bits of
    /// `mask`, which must be below the smallest subgroup size.
    Shuffle,
}

/// A value of a shader. Its type is known to the code that builds it.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant word.
    U32(u32),
    /// A constant float.
    F32(f32),
    /// The condition that always holds.
    True,
    /// A named value.
    Name(Rc<str>),
    /// The lane's number within the workgroup.
    Lane,
    /// The workgroup's index along one of the two axes of the grid.
    Group(usize),
    /// The number of workgroups along the first axis of the grid.
    Launched,
    /// A word of `args`.
    Arg(usize),
    /// A word of `sizes`.
    Size(usize),
    /// A word of a slot.
    Word(usize, Rc<Expr>),
    /// A word of workgroup memory.
    Shared(Rc<Expr>),
    /// A float of a stored cooperative matrix.
    Summed(Rc<Expr>),
    /// Four words of a slot, or of workgroup memory, from a multiple of four on. Only a `Let` has
    /// such a value; [`Part`](Expr::Part)s of its name are words.
    Four(Option<usize>, Rc<Expr>),
    /// One of four words.
    Part(Rc<str>, usize),
    /// A word or four words of a weight, in a load that compilers keep in place. Only a `Let` has such a value.
    Early(Rc<Expr>),
    /// Four words of a slot that no other workgroup reads soon, so caches need not keep them. Only a `Let` has such a value.
    Once(Rc<Expr>),
    /// An operator and its operands.
    Binary(Op, Rc<Expr>, Rc<Expr>),
    /// A call of a builtin function.
    Call(Fun, Vec<Expr>),
    /// A call of one of the shader's own functions.
    Own(&'static str, Vec<Expr>),
}

impl Expr {
    /// A named value.
    pub fn name(name: impl Into<Rc<str>>) -> Expr {
        Expr::Name(name.into())
    }

    /// A call of a builtin function.
    pub fn call<const N: usize>(fun: Fun, args: [Expr; N]) -> Expr {
        Expr::Call(fun, args.into())
    }

    fn binary(op: Op, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Rc::new(a), Rc::new(b))
    }

    /// `self < b`.
    pub fn less(&self, b: impl Into<Expr>) -> Expr {
        Expr::binary(Op::Less, self.clone(), b.into())
    }

    /// `self > b`.
    pub fn greater(&self, b: impl Into<Expr>) -> Expr {
        Expr::binary(Op::Greater, self.clone(), b.into())
    }

    /// `self == b`.
    pub fn equal(&self, b: impl Into<Expr>) -> Expr {
        Expr::binary(Op::Equal, self.clone(), b.into())
    }

    /// Both conditions.
    pub fn both(&self, b: &Expr) -> Expr {
        match (self, b) {
            (Expr::True, other) | (other, Expr::True) => other.clone(),
            _ => Expr::binary(Op::Both, self.clone(), b.clone()),
        }
    }

    /// Either condition, or both.
    pub fn either(&self, b: &Expr) -> Expr {
        Expr::binary(Op::Either, self.clone(), b.clone())
    }

    /// Reinterprets bits as a float.
    pub fn float(self) -> Expr {
        Expr::call(Fun::Float, [self])
    }

    /// Reinterprets a float as bits.
    pub fn bits(self) -> Expr {
        match self {
            Expr::Call(Fun::Float, mut args) if args.len() == 1 => args.remove(0),
            other => Expr::call(Fun::Bits, [other]),
        }
    }

    /// The smaller of two words or floats.
    pub fn min(self, b: impl Into<Expr>) -> Expr {
        match (self, b.into()) {
            (Expr::U32(a), Expr::U32(b)) => Expr::U32(a.min(b)),
            (Expr::U32(0), _) | (_, Expr::U32(0)) => Expr::U32(0),
            (a, b) => Expr::call(Fun::Min, [a, b]),
        }
    }

    /// The larger of two words or floats.
    pub fn max(self, b: impl Into<Expr>) -> Expr {
        Expr::call(Fun::Max, [self, b.into()])
    }

    /// `self`, or `yes` if the condition holds.
    pub fn unless(self, condition: &Expr, yes: impl Into<Expr>) -> Expr {
        Expr::call(Fun::Select, [self, yes.into(), condition.clone()])
    }

    /// The product of two floats, rounded before it is added to anything.
    pub fn times(&self, b: impl Into<Expr>) -> Expr {
        Expr::call(Fun::Rounded, [self * b.into()])
    }

    /// The value of a constant.
    pub fn known(&self) -> Option<u32> {
        if let Expr::U32(n) = self { Some(*n) } else { None }
    }

    /// The terms of a sum with a constant.
    pub fn split_sum(&self) -> Option<(Expr, u32)> {
        let Expr::Binary(Op::Add, x, n) = self else { return None };
        Some(((**x).clone(), n.known()?))
    }

    /// Whether repeating it costs nothing.
    pub fn is_atom(&self) -> bool {
        matches!(self, Expr::U32(_) | Expr::F32(_) | Expr::True | Expr::Name(_) | Expr::Part(..) | Expr::Lane)
    }

    /// Calls `see` with each subexpression, itself first.
    pub fn visit(&self, see: &mut impl FnMut(&Expr)) {
        see(self);
        match self {
            Expr::Word(_, at) | Expr::Shared(at) | Expr::Summed(at) | Expr::Four(_, at) => at.visit(see),
            Expr::Early(from) | Expr::Once(from) => from.visit(see),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|e| e.visit(see)),
            Expr::Call(_, args) | Expr::Own(_, args) => args.iter().for_each(|e| e.visit(see)),
            _ => {}
        }
    }
}

impl From<u32> for Expr {
    fn from(n: u32) -> Expr {
        Expr::U32(n)
    }
}

impl From<f32> for Expr {
    fn from(n: f32) -> Expr {
        Expr::F32(n)
    }
}

impl From<&Expr> for Expr {
    fn from(e: &Expr) -> Expr {
        e.clone()
    }
}

/// `a op b`, simplified: constants are folded (wrapping, as in a shader) and neutral elements
/// dropped.
fn simplified(op: Op, a: Expr, b: Expr) -> Expr {
    if let (Some(a), Some(b)) = (a.known(), b.known())
        && let Some(n) = constant(op, a, b)
    {
        return Expr::U32(n);
    }
    match (op, a.known(), b.known()) {
        (Op::Add | Op::Or | Op::Xor, Some(0), _) => return b,
        (Op::Add | Op::Or | Op::Xor | Op::Sub | Op::Shl | Op::Shr, _, Some(0)) => return a,
        (Op::Mul, Some(1), _) => return b,
        (Op::Mul | Op::Div, _, Some(1)) => return a,
        (Op::Mul | Op::And, Some(0), _) | (Op::Mul | Op::And, _, Some(0)) | (Op::Rem, _, Some(1)) => {
            return Expr::U32(0);
        }
        // Constants move to the right, where they are combined with the next one.
        (Op::Add | Op::Mul, Some(_), None) => return simplified(op, b, a),
        _ => {}
    }
    // Constants are added last, so that a compiler finds them next to an address.
    match (op, a.split_sum(), b.split_sum()) {
        (Op::Mul, Some((x, n)), _) if let Some(m) = b.known() => return x * m + n.wrapping_mul(m),
        (Op::Add, Some((x, n)), None) if b.known().is_none() => return x + b + n,
        (Op::Add, _, Some((x, n))) => return a + x + n,
        _ => {}
    }
    match (&a, b.known()) {
        (Expr::Binary(inner, x, y), Some(n)) if *inner == op && matches!(op, Op::Add | Op::Mul) => {
            match y.known().and_then(|y| constant(op, y, n)) {
                Some(n) => simplified(op, (**x).clone(), Expr::U32(n)),
                None => Expr::binary(op, a, b),
            }
        }
        _ => Expr::binary(op, a, b),
    }
}

fn constant(op: Op, a: u32, b: u32) -> Option<u32> {
    Some(match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div => a.checked_div(b)?,
        Op::Rem => a.checked_rem(b)?,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => a.checked_shl(b)?,
        Op::Shr => a.checked_shr(b)?,
        _ => return None,
    })
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<T: Into<Expr>> ops::$trait<T> for Expr {
            type Output = Expr;
            fn $method(self, b: T) -> Expr {
                simplified(Op::$op, self, b.into())
            }
        }
        impl<T: Into<Expr>> ops::$trait<T> for &Expr {
            type Output = Expr;
            fn $method(self, b: T) -> Expr {
                simplified(Op::$op, self.clone(), b.into())
            }
        }
    )*};
}
operators!(
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem,
    BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor, Shl shl Shl, Shr shr Shr
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_are_combined() {
        let (x, of) = (Expr::name("x"), |n: u32| Expr::U32(n));
        assert_eq!((&x + of(2)) + of(3), &x + of(5));
        assert_eq!(&x * of(0) + of(7), of(7));
        assert_eq!(of(2) * &x * of(4), &x * of(8));
        assert_eq!((&x % of(1), &x / of(1)), (of(0), x.clone()));
        let y = Expr::name("y");
        assert_eq!((&x + of(2)) * of(4) + &y, (&x * of(4) + &y) + of(8));
        assert_eq!(&y + ((&x + of(2)) + of(3)), (&y + &x) + of(5));
        assert_eq!(x.clone().float().bits(), x);
        // Floats have no neutral elements here: −0 + 0 is 0.
        assert_ne!(&x + 0.0f32, x);
    }
}
