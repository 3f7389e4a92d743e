//! Native loops that measure the CPU's roofs: one reads, one multiplies integers, one multiplies floats.
//!
//! Kernels are compared with them, so they use the same vectors and as many threads. They read from memory, if there is more of it than the
//! last-level cache holds, and multiply from registers and the nearest cache.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use weft_device::{DeviceError, Probe, Roof};

use crate::isa::{Arch, Isa, Numbers, Quants, Simd, Sums, TILE, TileWork, Tiles, Work};
use crate::memory::Memory;

/// Time before a measurement in which threads start, the CPU reaches its clock rate, and the thread pool falls asleep.
const WARM_UP: Duration = Duration::from_millis(5);

/// Lines read between two looks at the clock: some ten microseconds.
const LINES: usize = 4096;

/// How far ahead of the loop memory is prefetched, in bytes: about what a thread reads in one memory latency.
const AHEAD: usize = 2048;

/// The number of weights multiplied by, which fit into the first-level cache.
const WEIGHTS: usize = 64;

/// How often a loop goes over the weights between two looks at the clock: some ten microseconds.
const ROUNDS: usize = 256;

/// Measures [`Roof`]s of the processor.
#[derive(Debug)]
pub struct CpuProbe {
    arch: Arch,
    isa: Isa,
    /// The memory to read.
    memory: Memory,
    /// Lines of its part that a thread has read so far. It continues there, because the last lines may be in a cache.
    at: usize,
}

impl CpuProbe {
    /// Takes `bytes` of memory to read: several times what the last-level cache holds, or caches are measured.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the processor does not have the instruction set or threads cannot be started; [`DeviceError::Memory`].
    pub fn new(isa: Isa, bytes: usize) -> Result<CpuProbe, DeviceError> {
        let arch = Arch::new(isa)
            .ok_or_else(|| DeviceError::Usage(format!("this processor does not have `{isa}`")))?;
        let refused = || DeviceError::Memory { device: format!("cpu ({isa})"), bytes };
        let mut memory = Memory::zeroed(bytes).ok_or_else(refused)?;
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).get();
        // The system provides a page when it is first written, near the processor that writes it; until then all pages are the same zeros.
        let parts = memory.bytes_mut().chunks_mut(bytes.div_ceil(threads).max(1));
        on_threads(parts, |part| part.fill(1))?;
        Ok(CpuProbe { arch, isa, memory, at: 0 })
    }
}

impl Probe for CpuProbe {
    fn sample(&mut self, roof: Roof, threads: NonZeroUsize, time: Duration) -> Result<f64, DeviceError> {
        let threads = threads.get();
        let lines = self.memory.bytes().as_chunks::<64>().0;
        let begin = Instant::now() + WARM_UP;
        let (arch, isa, from, end) = (self.arch, self.isa, self.at, begin + time);
        let parts = (0..threads).map(|i| &lines[lines.len() * i / threads..lines.len() * (i + 1) / threads]);
        let paces = on_threads(parts, |part| match roof {
            Roof::Read => pace(begin, end, blocks(part, from, |block| arch.dispatch(Read::<4>(block)))),
            Roof::ReadInOrder => {
                pace(begin, end, blocks(part, from, |block| arch.dispatch(Read::<1>(block))))
            }
            Roof::Dot if arch.has_tiles() => pace(begin, end, || arch.dispatch_tiles(QUADS, TileDots)),
            // As many sums at once as keep the units busy, and as the registers hold.
            Roof::Dot if isa == Isa::Avx512 => pace(begin, end, || arch.dispatch(Dots::<4, 4>)),
            Roof::Dot => pace(begin, end, || arch.dispatch(Dots::<1, 5>)),
            Roof::MulAdd if matches!(isa, Isa::Avx512 | Isa::Amx) => {
                pace(begin, end, || arch.dispatch(MulAdds::<16>))
            }
            Roof::MulAdd => pace(begin, end, || arch.dispatch(MulAdds::<6>)),
        })?;
        if matches!(roof, Roof::Read | Roof::ReadInOrder) {
            self.at += paces.iter().map(|pace| pace.done).max().unwrap_or(0) / 64;
        }
        Ok(paces.iter().map(|pace| pace.done as f64 / pace.time.as_secs_f64()).sum())
    }
}

/// Calls `work` with every part, each on its own thread.
fn on_threads<P: Send, R: Send>(
    parts: impl Iterator<Item = P>,
    work: impl Fn(P) -> R + Sync,
) -> Result<Vec<R>, DeviceError> {
    let work = &work;
    thread::scope(|scope| {
        let start = |part| Builder::new().spawn_scoped(scope, move || work(part));
        let threads = parts.map(start).collect::<Result<Vec<_>, _>>().map_err(|error| {
            DeviceError::Usage(format!("cannot start the threads to measure with: {error}; try fewer"))
        })?;
        let finish =
            |thread: ScopedJoinHandle<'_, R>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok(threads.into_iter().map(finish).collect())
    })
}

/// Reads one block of lines after another, beginning with the block of line `from`, and yields the bytes of each.
fn blocks<R>(lines: &[[u8; 64]], from: usize, read: impl Fn(&[[u8; 64]]) -> R) -> impl FnMut() -> usize {
    let mut at = from.checked_rem(lines.len()).unwrap_or(0);
    move || {
        let block = &lines[at..(at + LINES).min(lines.len())];
        at = if at + LINES < lines.len() { at + LINES } else { 0 };
        black_box(read(block));
        size_of_val(block)
    }
}

/// The work of one thread in some time.
struct Pace {
    done: usize,
    time: Duration,
}

/// Calls `block`, which returns how much it did, repeatedly, and counts from `begin` to `end`.
fn pace(begin: Instant, end: Instant, block: impl FnMut() -> usize) -> Pace {
    pace_by(Instant::now, begin, end, block)
}

/// [`pace`] with this clock.
fn pace_by(
    mut clock: impl FnMut() -> Instant,
    begin: Instant,
    end: Instant,
    mut block: impl FnMut() -> usize,
) -> Pace {
    let mut started = None;
    let mut done = 0;
    loop {
        let now = clock();
        match started {
            None if now >= begin => (started, done) = (Some(now), 0),
            Some(started) if now >= end => return Pace { done, time: now - started },
            _ => {}
        }
        done += block();
    }
}

/// Reads lines at `N` places at the same time, and returns a value that depends on all of them. CPUs prefetch sequential reads, but start
/// over on every page; with several places, some prefetching is always under way.
struct Read<'a, const N: usize>(&'a [[u8; 64]]);

impl<const N: usize> Work for Read<'_, N> {
    type Output = [f32; 16];

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [f32; 16] {
        let each = self.0.len() / N;
        let (places, rest) = self.0.split_at(N * each);
        let mut seen = [simd.bytes(&[0; 64]); N];
        for i in 0..each {
            for (place, seen) in seen.iter_mut().enumerate() {
                let line = &places[place * each + i];
                simd.prefetch(line, AHEAD);
                *seen = simd.or(*seen, simd.bytes(line));
            }
        }
        let mut sum = simd.int(0);
        for seen in seen {
            sum = simd.dot(sum, seen, &[1; 4]);
        }
        for line in rest {
            sum = simd.dot(sum, simd.bytes(line), &[1; 4]);
        }
        let mut out = [0.0; 16];
        simd.store(simd.to_floats(sum), &mut out);
        out
    }
}

/// Dot products of `W` vectors of weights at a time with `M` rows of four columns, as in a matrix product. Returns the number of
/// multiplications.
struct Dots<const W: usize, const M: usize>;

impl<const W: usize, const M: usize> Work for Dots<W, M> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let rows: [[i8; 4]; M] = black_box([[1, -2, 3, -4]; M]);
        let weights: [[u8; 64]; WEIGHTS] = black_box([[3; 64]; WEIGHTS]);
        let mut sums = [[simd.int(0); M]; W];
        for _ in 0..ROUNDS {
            for weights in weights.as_chunks::<W>().0 {
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    let weights = simd.bytes(weights);
                    for (sum, row) in sums.iter_mut().zip(&rows) {
                        *sum = simd.dot(*sum, weights, row);
                    }
                }
            }
        }
        let mut out = [0.0; 16];
        for sum in sums.into_iter().flatten() {
            simd.store(simd.to_floats(sum), &mut out);
            black_box(&out);
        }
        ROUNDS * (WEIGHTS / W) * W * M * 64
    }
}

/// Products of tiles, of as many columns as have a scale of their own in most formats. Returns the number of multiplications.
struct TileDots;

/// Vectors of the columns of such a product.
const QUADS: usize = 8;

impl TileWork for TileDots {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd, U: Tiles>(self, _: S, mut unit: U) -> usize {
        let x: [Quants; TILE] = black_box([Quants([3; 32]); TILE]);
        let weights: [Numbers; QUADS] = black_box([Numbers([0x0503; 32]); QUADS]);
        for _ in 0..ROUNDS {
            unit.multiply::<0>(&x, 0, &weights);
            unit.multiply::<1>(&x, 0, &weights);
        }
        let mut sums = Sums::default();
        unit.store::<0>(&mut sums);
        black_box(&sums);
        unit.store::<1>(&mut sums);
        black_box(&sums);
        ROUNDS * 2 * TILE * TILE * 4 * QUADS
    }
}

/// `N` chains of multiplications and additions. Returns the number of multiplications.
struct MulAdds<const N: usize>;

impl<const N: usize> Work for MulAdds<N> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        // The values converge to 1, so none becomes subnormal, which would be slower.
        let (factor, summand) = black_box((0.5, 0.5));
        let (factor, summand) = (simd.float(factor), simd.float(summand));
        let mut chains = [simd.float(0.0); N];
        for _ in 0..16 * ROUNDS {
            for chain in &mut chains {
                *chain = simd.mul_add(*chain, factor, summand);
            }
        }
        let mut out = [0.0; 16];
        for chain in chains {
            simd.store(chain, &mut out);
            black_box(&out);
        }
        16 * ROUNDS * N * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_roof_is_measured_on_every_instruction_set_and_by_several_threads() {
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            // Not a whole number of blocks, nor of lines.
            let mut probe = CpuProbe::new(isa, 3 * LINES * 64 + 100).unwrap();
            for roof in Roof::ALL {
                for threads in 1..=3 {
                    let threads = NonZeroUsize::new(threads).unwrap();
                    let rate = probe.sample(roof, threads, Duration::from_millis(2)).unwrap();
                    assert!(rate.is_finite() && rate > 0.0, "{isa}, {roof:?}, {threads} threads: {rate}");
                }
            }
        }
    }

    #[test]
    fn reading_sees_every_line() {
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let arch = Arch::new(isa).unwrap();
            for len in 1..=9 {
                for at in 0..len {
                    let mut lines = vec![[0; 64]; len];
                    lines[at][0] = 1;
                    let sums = [arch.dispatch(Read::<1>(&lines)), arch.dispatch(Read::<4>(&lines))];
                    let sums = sums.map(|sum| sum.iter().sum::<f32>());
                    assert_eq!(sums, [1.0; 2], "{isa}: line {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn only_what_is_done_between_begin_and_end_counts() {
        // The clock is read once before each block, and each reading is two milliseconds after the last.
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut looks = 0;
        let clock = || {
            looks += 2;
            at(looks - 2)
        };
        let mut blocks = 0;
        let pace = pace_by(clock, at(3), at(9), || {
            blocks += 1;
            10
        });
        // Blocks begin at 0, 2, 4, 6 and 8; those from 4 on count, until 10.
        assert_eq!((blocks, pace.done, pace.time), (5, 30, Duration::from_millis(6)));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        if let Some(isa) = Isa::ALL.into_iter().find(|isa| !isa.is_available()) {
            assert!(matches!(CpuProbe::new(isa, 64), Err(DeviceError::Usage(_))));
        }
        assert!(matches!(CpuProbe::new(Isa::Portable, usize::MAX), Err(DeviceError::Memory { .. })));
    }
}
