//! Functions that GPU languages lack, or whose accuracy they do not guarantee.

use weft_kern::exact;
use weft_quant::GgmlType;
use weft_quant::packed::Layout;
use weft_shader::builder::Builder;
use weft_shader::expr::{Expr, Fun};
use weft_shader::module::{Function, Type};
use weft_shader::stmt::Stmt;

use crate::lower::points;
use crate::lower::tile::{E2M1_OF_NIBBLES, IQ4, IQ4_OF_NIBBLES, nibbles_name, table_name};

/// The functions that these statements call.
pub(crate) fn called(body: &[Stmt]) -> Vec<Function> {
    let mut names: Vec<&'static str> = Vec::new();
    weft_shader::stmt::visit(body, &mut |_| {}, &mut |e| match e {
        Expr::Own(name, _) if !names.contains(name) => names.push(name),
        _ => {}
    });
    names.sort_unstable();
    names.into_iter().filter_map(function).collect()
}

fn function(name: &str) -> Option<Function> {
    let lookup = |ty: GgmlType| Some(table(table_name(ty), &words_of(ty)?));
    let of_nibbles = |ty: GgmlType| Some(nibbles(nibbles_name(ty)?, &words_of(ty)?));
    match name {
        SINE => Some(sine()),
        SIGMOID => Some(sigmoid()),
        RECIPROCAL => Some(reciprocal()),
        BRAIN => Some(brain()),
        IQ4 => lookup(GgmlType::IQ4_NL),
        E2M1_OF_NIBBLES => of_nibbles(GgmlType::MXFP4),
        IQ4_OF_NIBBLES => of_nibbles(GgmlType::IQ4_NL),
        _ => points::function(name),
    }
}

/// `sine(x, quarter)`: sin(x + quarter · π/2). Built-in sines guarantee no accuracy beyond ±π and little within; the angles here are
/// positions.
pub(crate) const SINE: &str = "sine";

fn sine() -> Function {
    let mut code = Builder::new(1);
    let call = |fun, x: &Expr| Expr::call(fun, [x.clone()]);
    let (x, quarter) = (Expr::name("x"), Expr::name("quarter"));
    // x − n · π/2. The number of quarters is split in two so that each product with a short piece
    // of π/2 is exact, whether or not a product and a sum are fused. The pieces are twice those of
    // the Cephes library for π/4.
    let n = code.set("n", call(Fun::Round, &(&x * std::f32::consts::FRAC_2_PI)));
    let high = code.set("high", call(Fun::Round, &(&n * (1.0f32 / 256.0))) * 256.0f32);
    let low = code.set("low", &n - &high);
    let mut r = x;
    for piece in [1.570_312_5_f32, 4.837_513e-4] {
        r = code.set("r", r - &high * piece);
        r = code.set("r", r - &low * piece);
    }
    r = code.set("r", r - &n * 7.549_79e-8f32);
    let z = code.set("z", &r * &r);
    // The polynomials are the Cephes library's, for ±π/4.
    let polynomial = |c: [f32; 3]| ((&z * c[0] + c[1]) * &z + c[2]) * &z;
    let sin = polynomial([-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]);
    let sin = code.set("sin_r", sin * &r + &r);
    let cos = polynomial([2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]);
    let cos = code.set("cos_r", cos * &z - &z * 0.5f32 + 1.0f32);
    let turns = Expr::call(Fun::Unsigned, [call(Fun::IntOfFloat, &n)]) + quarter;
    let turns = code.set("turns", turns & 3u32);
    let value = sin.unless(&(&turns & 1u32).equal(1u32), cos);
    let value = code.set("value", value);
    let result = value.clone().unless(&turns.greater(1u32), call(Fun::Negate, &value));
    Function {
        name: SINE,
        params: &[("x", Type::F32), ("quarter", Type::U32)],
        result: Type::F32,
        body: code.finish(),
        value: result,
    }
}

/// `sigmoid(x)`: [`exact::sigmoid`], bit for bit.
pub(crate) const SIGMOID: &str = "sigmoid";

fn sigmoid() -> Function {
    // No product is an operand of a sum, so compilers cannot fuse them.
    let mut code = Builder::new(1);
    let call = |fun, x: &Expr| Expr::call(fun, [x.clone()]);
    let fma = |a: &Expr, b: &Expr, c: &Expr| Expr::call(Fun::Fma, [a.clone(), b.clone(), c.clone()]);
    let far = call(Fun::Negate, &Expr::name("x"));
    let far = Expr::call(Fun::Min, [far, exact::FAR.into()]);
    let x = code.set("power", Expr::call(Fun::Max, [far, (-exact::FAR).into()]));
    let n = code.set("n", call(Fun::Round, &(&x * std::f32::consts::LOG2_E)));
    let minus = code.set("minus", call(Fun::Negate, &n));
    let mut r = x;
    for part in exact::LN_2 {
        r = code.set("r", fma(&minus, &part.into(), &r));
    }
    let [first, others @ ..] = exact::EXP;
    let q = others.iter().fold(Expr::F32(first), |q, c| code.set("q", fma(&q, &r, &Expr::F32(*c))));
    let square = code.set("square", &r * &r);
    let e = code.set("e", fma(&q, &square, &r) + 1.0f32);
    let exponent = call(Fun::Unsigned, &call(Fun::IntOfFloat, &n)) + 127u32;
    let power = code.set("two_to_n", (exponent << 23u32).float());
    let grown = code.set("grown", fma(&e, &power, &1.0f32.into()));
    let value = inverse(&mut code, &grown);
    Function { name: SIGMOID, params: &[("x", Type::F32)], result: Type::F32, body: code.finish(), value }
}

/// `reciprocal(x)`: [`exact::reciprocal`], bit for bit.
pub(crate) const RECIPROCAL: &str = "reciprocal";

fn reciprocal() -> Function {
    let mut code = Builder::new(1);
    let value = inverse(&mut code, &Expr::name("x"));
    Function { name: RECIPROCAL, params: &[("x", Type::F32)], result: Type::F32, body: code.finish(), value }
}

/// The statements of [`exact::reciprocal`].
fn inverse(code: &mut Builder, x: &Expr) -> Expr {
    let fma = |a: &Expr, b: &Expr, c: &Expr| Expr::call(Fun::Fma, [a.clone(), b.clone(), c.clone()]);
    let minus = code.set("minus_x", Expr::call(Fun::Negate, [x.clone()]));
    let mut r = code.set("inverse", (Expr::U32(exact::INVERSE_BITS) - x.clone().bits()).float());
    for _ in 0..exact::INVERSE_STEPS {
        let e = code.set("error", fma(&minus, &r, &1.0f32.into()));
        let both = code.set("both", fma(&e, &e, &e));
        r = code.set("inverse", fma(&r, &both, &r));
    }
    r
}

/// `brain(bits)`: a float's bits as those of a bfloat16, to nearest, ties to even; a NaN stays one.
pub(crate) const BRAIN: &str = "brain";

fn brain() -> Function {
    let bits = Expr::name("bits");
    let rounded = (&bits + 0x7fffu32 + ((&bits >> 16u32) & 1u32)) >> 16u32;
    let no_number = (&bits & 0x7fff_ffffu32).greater(0x7f80_0000u32);
    let value = rounded.unless(&no_number, (&bits >> 16u32) | 0x40u32);
    Function { name: BRAIN, params: &[("bits", Type::U32)], result: Type::U32, body: Vec::new(), value }
}

/// The signed bytes that the numbers of a format stand for, four in each word.
fn words_of(ty: GgmlType) -> Option<[u32; 4]> {
    let table = Layout::of(ty)?.table?;
    // Tables are stored with 128 added.
    let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|byte| table[4 * i + byte] ^ 0x80));
    Some(std::array::from_fn(word))
}

/// A table's signed bytes for four indices. It uses selections, because an array would live in memory.
fn table(name: &'static str, words: &[u32; 4]) -> Function {
    let mut code = Builder::new(1);
    let numbers = Expr::name("numbers");
    let mut value = Expr::U32(0);
    for byte in 0..4u32 {
        let n = code.set("n", (&numbers >> (byte * 8)) & 0xfu32);
        let odd = (&n & 4u32).equal(4u32);
        let pair = |i: usize| Expr::U32(words[i]).unless(&odd, words[i + 1]);
        let four = pair(0).unless(&n.greater(7u32), pair(2));
        value = value | (((four >> ((&n & 3u32) * 8u32)) & 0xffu32) << (byte * 8));
    }
    Function { name, params: &[("numbers", Type::U32)], result: Type::U32, body: code.finish(), value }
}

/// `(word, odd)`: looks up the signed bytes of four nibbles of a word, the lower one of each byte, or the upper one if `odd` is 1.
/// All eight are looked up, because compilers compute once what two calls have in common.
fn nibbles(name: &'static str, words: &[u32; 4]) -> Function {
    let mut code = Builder::new(1);
    let (word, odd) = (Expr::name("word"), Expr::name("odd"));
    let pick = |low: Expr, high: Expr, places: Expr| Expr::call(Fun::PickBytes, [low, high, places]);
    let places = code.set("places", &word & 0x7777_7777u32);
    // The value is in the upper half of the table where the top bit of a nibble is set.
    let halves = code.set("halves", ((&word >> 1u32) & 0x4444_4444u32) | 0x3210_3210u32);
    let [first, second] = [0u32, 16].map(|shift| {
        let [lower, upper] = [0, 2].map(|i| pick(words[i].into(), words[i + 1].into(), &places >> shift));
        code.set("four", pick(lower, upper, &halves >> shift))
    });
    let value = pick(first, second, odd * 0x1111u32 + 0x6420u32);
    Function {
        name,
        params: &[("word", Type::U32), ("odd", Type::U32)],
        result: Type::U32,
        body: code.finish(),
        value,
    }
}
