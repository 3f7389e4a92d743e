//! Every operation on lanes against its definition, [`Portable`].

use super::*;

struct Operations<'a> {
    a: &'a [u8; 64],
    b: &'a [u8; 64],
}

impl Work for Operations<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<u32> {
        let Operations { a, b } = self;
        let (mut out, mut bytes) = (Vec::new(), Vec::new());
        let mut keep = |x: S::Floats| {
            let mut values = [0.0; 16];
            simd.store(x, &mut values);
            out.extend(values.map(f32::to_bits));
        };
        let mut see = |x: S::Bytes| {
            let mut numbers = Numbers::default();
            simd.store_numbers(x, &mut numbers);
            bytes.extend(numbers.0.map(|two| u32::from(two as u16)));
        };
        let (x, y) = (simd.bytes(a), simd.bytes(b));
        for (right, mask) in [
            (0, 0xff),
            (0, 0x0f),
            (4, 0x0f),
            (-4, 0x10),
            (-1, 0x10),
            (3, 0x10),
            (6, 3),
            (-4, 0x30),
            (2, 0x30),
        ] {
            see(simd.field(x, right, mask));
        }
        see(simd.or(x, y));
        see(simd.flip(x));
        see(simd.less(x, b[0]));
        let table = std::array::from_fn(|i| b[i]);
        see(simd.look_up(&table, simd.field(x, 0, 15)));
        for (i, w) in [x, y].into_iter().enumerate() {
            let factors: [i8; 4] = std::array::from_fn(|f| (b[16 * i + f] as i8).max(-127));
            let start = i32::from(a[0]);
            keep(simd.to_floats(simd.dot(simd.int(start), simd.field(w, 0, 0x7f), &factors)));
            // Signed numbers are 128 less; the result is the same.
            let less = 128 * factors.iter().map(|x| i32::from(*x)).sum::<i32>();
            let (start, w) = if S::SIGNED { (start + less, simd.flip(w)) } else { (start, w) };
            keep(simd.to_floats(simd.dot_large(simd.int(start), w, &factors)));
        }
        keep(simd.to_floats(simd.add_ints(simd.int(1 << 20), simd.int(-3))));
        let ints = std::array::from_fn(|i| i32::from(a[i]) - 100 * i32::from(b[i]));
        keep(simd.to_floats(simd.ints(&ints)));
        let sums = std::array::from_fn(|row| ints.map(|x| x * (row as i32 - 7)));
        let mut rows: [_; 8] = std::array::from_fn(|row| simd.float(row as f32));
        let by = std::array::from_fn(|row| 0.7 - f32::from(b[row]));
        simd.add_scaled(&mut rows, &sums, simd.unsigned(a.first_chunk().unwrap()), &by);
        rows.into_iter().for_each(&mut keep);
        let halves = simd.halves(a.first_chunk().unwrap());
        keep(halves);
        let upper = simd.upper_halves(b.first_chunk().unwrap());
        keep(upper);
        let (unsigned, signed) =
            (simd.unsigned(a.first_chunk().unwrap()), simd.signed(b.first_chunk().unwrap()));
        keep(unsigned);
        keep(signed);
        keep(simd.larger(unsigned, signed));
        keep(simd.larger(simd.float(f32::NAN), signed));
        keep(simd.larger(signed, simd.float(f32::NAN)));
        keep(simd.larger(simd.float(0.0), simd.float(-0.0)));
        keep(simd.mul(unsigned, simd.float(0.1)));
        keep(simd.mul_add(unsigned, signed, simd.float(1e-3)));
        keep(simd.mul_add(
            simd.mul(unsigned, simd.float(0.3)),
            simd.mul(signed, simd.float(0.7)),
            simd.float(1e6),
        ));
        let fill = |i: usize| f32::from(a[i]) * 1.1 - f32::from(b[i]);
        let floats: [f32; 16] = std::array::from_fn(fill);
        let mut pieces = [[0.0; 16]; 5];
        for piece in 0..S::PIECES {
            let x = simd.piece(&floats, piece);
            let halves = simd.halves_piece(a.first_chunk().unwrap(), piece);
            let upper = simd.upper_halves_piece(b.first_chunk().unwrap(), piece);
            for (x, to) in [
                x,
                halves,
                upper,
                simd.singles_piece(a, piece),
                simd.mul_add_pieces(x, simd.piece(&[0.3; 16], piece), halves),
            ]
            .into_iter()
            .zip(&mut pieces)
            {
                simd.store_piece(x, to, piece);
            }
        }
        out.extend(bytes);
        out.extend(pieces.as_flattened().iter().map(|x| x.to_bits()));
        out
    }
}

#[test]
fn all_instruction_sets_compute_the_same() {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    for round in 0..200 {
        let mut a: [u8; 64] = std::array::from_fn(|_| next());
        let mut b: [u8; 64] = std::array::from_fn(|_| next());
        match round {
            0 => a = [255; 64],
            1 => (a, b) = ([255; 64], [127; 64]),
            2 => (a, b) = ([255; 64], [129; 64]),
            3 => b = [0; 64],
            _ => {}
        }
        // Not NaN: which NaN results is not specified.
        let finite = |bits: &mut u8, of: u8| *bits = if *bits & of == of { *bits & !0x40 } else { *bits };
        a.chunks_exact_mut(2).take(16).for_each(|half| finite(&mut half[1], 0x7c));
        b.chunks_exact_mut(2).take(16).for_each(|half| finite(&mut half[1], 0x7f));
        let expected = Operations { a: &a, b: &b }.run(Portable);
        for arch in Isa::ALL.into_iter().filter_map(Arch::new) {
            let found = arch.dispatch(Operations { a: &a, b: &b });
            assert_eq!(found, expected, "{arch:?}, round {round}");
        }
    }
}

/// Both kinds of products of whole tiles.
struct WholeTiles<'a>(Whole<'a>);

const STEPS: usize = 3;
const STRIDE: usize = 5;

fn whole<'a>(x: [&'a [Numbers]; 2], w: [&'a [Numbers]; 2]) -> Whole<'a> {
    Whole { x, stride: STRIDE, w, steps: STEPS }
}

impl TileWork for WholeTiles<'_> {
    type Output = [Sums; 7];

    #[inline(always)]
    fn run<S: Simd, U: Tiles>(self, _: S, mut unit: U) -> [Sums; 7] {
        let (mut rows, mut parts) = ([[Sums([[-1; 16]; 16]); 2]; 2], [Sums([[-1; 16]; 16]); 3]);
        unit.multiply_rows(self.0, &mut rows);
        unit.multiply_parts(self.0, &mut parts);
        let [[a, b], [c, d]] = rows;
        let [e, f, g] = parts;
        [a, b, c, d, e, f, g]
    }
}

#[test]
fn units_multiply_whole_tiles() {
    let mut seed = 5u32;
    let mut lines = |n: usize| -> Vec<Numbers> {
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as i16
        };
        (0..n).map(|_| Numbers(std::array::from_fn(|_| next()))).collect()
    };
    let x: [_; 2] = std::array::from_fn(|_| lines(15 * STRIDE + STEPS));
    let w: [_; 2] = std::array::from_fn(|_| lines(WHOLE * STEPS));
    let byte = |line: &Numbers, at: usize| line.0[at / 2].to_le_bytes()[at % 2];
    let sum = |signed: bool, a: usize, b: usize, row: usize, column: usize| -> i32 {
        let terms = (0..64 * STEPS).map(|k| {
            let x = byte(&x[a][row * STRIDE + k / 64], k % 64);
            let x = if signed { i32::from(x as i8) } else { i32::from(x) };
            x * i32::from(byte(&w[b][k / 4], 4 * column + k % 4) as i8)
        });
        terms.sum()
    };
    let square = |of: &dyn Fn(usize, usize) -> i32| -> [[i32; 16]; 16] {
        std::array::from_fn(|row| std::array::from_fn(|column| of(row, column)))
    };
    let mut expected = Vec::new();
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        expected.push(square(&|row, column| sum(true, a, b, row, column)));
    }
    expected.push(square(&|row, column| sum(false, 0, 0, row, column)));
    expected.push(square(&|row, column| sum(false, 0, 1, row, column) + sum(false, 1, 0, row, column)));
    expected.push(square(&|row, column| sum(false, 1, 1, row, column)));
    for arch in Isa::ALL.into_iter().filter_map(Arch::new).filter(|arch| arch.has_tiles()) {
        let found =
            arch.dispatch_tiles(WHOLE, WholeTiles(whole([&x[0], &x[1]], [&w[0], &w[1]]))).map(|sums| sums.0);
        assert_eq!(found.as_slice(), expected, "{arch:?}");
    }
}

/// One line too few is refused, whichever operand lacks it: the instructions of a unit check nothing.
#[test]
fn too_few_lines_are_refused() {
    let x = vec![Numbers::default(); 15 * STRIDE + STEPS];
    let w = vec![Numbers::default(); WHOLE * STEPS];
    let run = |x: [&[Numbers]; 2], w: [&[Numbers]; 2]| {
        std::panic::catch_unwind(|| {
            Arch(Isa::best()).dispatch_tiles(WHOLE, WholeTiles(whole(x, w)));
        })
    };
    assert!(run([&x, &x], [&w, &w]).is_ok());
    for short in 0..4 {
        let lines = |of: &'_ [Numbers], number: usize| of[..of.len() - usize::from(number == short)].to_vec();
        let (x, w) = ([lines(&x, 0), lines(&x, 1)], [lines(&w, 2), lines(&w, 3)]);
        assert!(run([&x[0], &x[1]], [&w[0], &w[1]]).is_err(), "operand {short}");
    }
}
