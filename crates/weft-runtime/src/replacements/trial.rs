//! One kernel on the device, compared with the one that it replaces and the interpreter.

use std::ops::Range;
use std::sync::Arc;

use weft_device::{BufferId, Device, KernelLaunch, Program, ProgramId, Region, Weight};
use weft_fuse::Replaced;
use weft_kern::{Access, Bar, Buffer, Format, Kernel, Plan, Sizes, Source, interp};
use weft_random::Random;

use super::data::{self, Indices};
use crate::error::Error;

/// Tokens of the steps that are tried in addition to the largest.
const FEW: [usize; 2] = [1, 7];

/// Rows of a cache, and pages, that there is room for at most, unless a step has more tokens.
const ROOM: usize = 256;

/// The bytes that outputs are filled with before each of two runs. A byte that is the same after both was written.
const POISON: [u8; 2] = [0xff, 0x00];

/// Weights of more values are decoded row by row.
const MOST_DECODED: usize = 1 << 20;

/// Bytes between the arguments in a buffer, and after the last one, which nothing may write.
const BETWEEN: usize = 64;

/// The value of these bytes.
const UNTOUCHED: u8 = 0xa5;

/// The result of checking a kernel that is right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Whether all bits were those of the kernel that it replaces.
    pub(super) same_bits: bool,
}

/// A kernel and the one that it replaces, with the same random arguments on a device.
pub(super) struct Trial<'a> {
    replaced: &'a Replaced,
    seed: u64,
    /// The largest step.
    max: Sizes,
    args: Vec<Arg>,
    /// The buffers that can be read back.
    held: Vec<Held>,
    /// The kernel to replace, and the one that takes its place.
    programs: [ProgramId; 2],
    /// The latter as programs for shorter steps have it, and their most tokens. A text may be for these alone.
    shorter: Vec<(usize, ProgramId)>,
}

/// A buffer with arguments that are no weights.
struct Held {
    id: BufferId,
    /// Its contents before a run.
    bytes: Vec<u8>,
    /// Where arguments that are written lie in it.
    written: Vec<Range<usize>>,
}

/// Stands for the buffer of the arguments in the arena until it is made.
const ARENA: BufferId = BufferId(u32::MAX);

/// An argument.
#[derive(Clone)]
struct Arg {
    region: Region,
    format: Format,
    access: Access,
    is_weight: bool,
    bytes: Arc<Vec<u8>>,
}

/// The bytes of each argument that is written, and which of them were.
type Outputs = Vec<(Vec<u8>, Vec<bool>)>;

impl<'a> Trial<'a> {
    /// Makes arguments for the first call of the kernel in its plan. Those that are in one buffer there, its arena, are here, since texts
    /// that come with a kernel rely on it. The model is compiled for steps of so many tokens.
    ///
    /// # Errors
    /// If it cannot be checked; those of the device.
    pub(super) fn new(
        device: &mut dyn Device,
        (plan, replaced): (&Plan, &'a Replaced),
        steps: &[usize],
        seed: u64,
    ) -> Result<Trial<'a>, Error> {
        let kernels = [&replaced.replacement.replaced, &replaced.replacement.by];
        if kernels.iter().any(|k| k.parts.iter().any(|part| !part.anchor.states().is_empty())) {
            return Err(of(replaced, "attention cannot be checked, so it cannot be replaced".into()));
        }
        let max = Sizes {
            slots: plan.max.slots.min(ROOM.max(plan.max.tokens)),
            pages: plan.max.pages.min(ROOM),
            ..plan.max
        };
        let call = plan.calls.iter().find(|call| call.kernel == replaced.kernel);
        let buffers: Vec<&Buffer> =
            call.iter().flat_map(|call| &call.args).map(|b| &plan.buffers[*b]).collect();
        let values: Vec<usize> = buffers.iter().map(|buffer| buffer.values(&max).unwrap_or(0)).collect();
        let mut random = Random::new(seed);
        let mut args: Vec<Arg> = Vec::with_capacity(buffers.len());
        let (mut held, mut arena) = (Vec::new(), Held::new());
        let own: Vec<usize> = call.iter().flat_map(|call| &call.args).copied().collect();
        for (p, buffer) in buffers.iter().enumerate() {
            if let Some(first) = own[..p].iter().position(|other| *other == own[p]) {
                args.push(args[first].clone());
                continue;
            }
            let (format, access) = (buffer.format, kernels[1].params[p].access);
            let row_len = buffer.shape.last().unwrap_or(1).max(1);
            let bytes = match access {
                Access::Write => vec![POISON[0]; format.bytes(values[p]).unwrap_or(0)],
                Access::Read | Access::ReadWrite => {
                    let indices = Indices::of(p, kernels, &values);
                    data::random(&buffer.source, format, (values[p], row_len), indices, &mut random)
                        .map_err(|why| of(replaced, format!("there are no random values for p{p}: {why}")))?
                }
            };
            let bytes = Arc::new(bytes);
            let is_weight = matches!(buffer.source, Source::Weight(_));
            let (id, offset) = match (format, &buffer.source) {
                (Format::Ggml(ty), Source::Weight(_)) => {
                    let bytes = Arc::<Vec<u8>>::clone(&bytes);
                    let weight = Weight { ty, rows: values[p] / row_len, row_len, bytes, tiles: None };
                    (device.pack(weight)?, 0)
                }
                (_, Source::Arena(_)) => (ARENA, arena.add(&bytes, access)),
                _ => {
                    let mut own = Held::new();
                    let offset = own.add(&bytes, access);
                    own.alloc(device)?;
                    let id = own.id;
                    held.push(own);
                    (id, offset)
                }
            };
            let region = Region { buffer: id, offset, values: values[p] };
            args.push(Arg { region, format, access, is_weight, bytes });
        }
        if !arena.bytes.is_empty() {
            arena.alloc(device)?;
            args.iter_mut()
                .filter(|arg| arg.region.buffer == ARENA)
                .for_each(|arg| arg.region.buffer = arena.id);
            held.push(arena);
        }
        let mut compiled = |kernel: &Kernel, max: Sizes| {
            let launches =
                vec![KernelLaunch { kernel: 0, args: args.iter().map(|arg| arg.region).collect() }];
            device.compile(&Program { max, kernels: vec![Arc::new(kernel.clone())], launches })
        };
        let programs = [compiled(kernels[0], max)?, compiled(kernels[1], max)?];
        let mut shorter = Vec::new();
        if !kernels[1].texts.is_empty() {
            for tokens in steps.iter().copied().filter(|tokens| *tokens < max.tokens) {
                shorter.push((tokens, compiled(kernels[1], sizes_of(&max, tokens))?));
            }
        }
        Ok(Trial { replaced, seed, max, args, held, programs, shorter })
    }

    /// Runs both in steps of several sizes.
    ///
    /// # Errors
    /// [`Error::Replacement`] if the kernel is wrong; those of the device.
    pub(super) fn run(&self, device: &mut dyn Device) -> Result<Found, Error> {
        let all = self.sizes(self.max.tokens);
        let [expected, found] = self.both(device, &all)?;
        self.compare(&found, &all)?;
        let mut same_bits = expected.iter().zip(&found).all(|(expected, found)| agrees(expected, found));
        for tokens in FEW.into_iter().filter(|tokens| *tokens < self.max.tokens) {
            let sizes = self.sizes(tokens);
            let [expected, few] = self.both(device, &sizes)?;
            self.compare(&few, &sizes)?;
            same_bits &= expected.iter().zip(&few).all(|(expected, few)| agrees(expected, few));
            self.agree(&few, &found, tokens)?;
        }
        for (most, program) in &self.shorter {
            for tokens in FEW.into_iter().filter(|tokens| tokens < most).chain([*most]) {
                let few = self.outputs(device, *program, &self.sizes(tokens))?;
                self.agree(&few, &found, tokens)?;
            }
        }
        Ok(Found { same_bits })
    }

    /// Checks that a token has the same bits in a step of `tokens` tokens as in the largest one.
    fn agree(&self, few: &Outputs, all: &Outputs, tokens: usize) -> Result<(), Error> {
        match few.iter().zip(all).position(|(few, all)| !agrees(few, all)) {
            None => Ok(()),
            Some(p) => Err(self.wrong(format!(
                "the bits of a token depend on the size of its step: those of p{} differ in steps of {tokens} and of {} tokens \
                 (random data with seed {})",
                self.written(p),
                self.max.tokens,
                self.seed
            ))),
        }
    }

    fn sizes(&self, tokens: usize) -> Sizes {
        sizes_of(&self.max, tokens)
    }

    /// The outputs of both in a step.
    fn both(&self, device: &mut dyn Device, sizes: &Sizes) -> Result<[Outputs; 2], Error> {
        let expected = self.outputs(device, self.programs[0], sizes)?;
        let found = self.outputs(device, self.programs[1], sizes)?;
        for (p, ((_, should), (_, does))) in expected.iter().zip(&found).enumerate() {
            let Some(byte) = should.iter().zip(does).position(|(should, does)| should != does) else {
                continue;
            };
            let (param, step) = (self.written(p), step(sizes));
            return Err(self.wrong(match should[byte] {
                true => format!("byte {byte} of p{param} is not written in {step}"),
                false => format!("byte {byte} of p{param} is written in {step}, and should not be"),
            }));
        }
        Ok([expected, found])
    }

    /// The outputs of one of the kernels in a step.
    ///
    /// # Errors If it writes anything but its outputs; those of the device.
    fn outputs(&self, device: &mut dyn Device, program: ProgramId, sizes: &Sizes) -> Result<Outputs, Error> {
        let [first, second] =
            [POISON[0], POISON[1]].map(|poison| self.run_with(device, program, sizes, poison));
        let written = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a == b).collect();
        Ok(first?
            .into_iter()
            .zip(second?)
            .map(|(a, b)| {
                let written = written(&a, &b);
                (a, written)
            })
            .collect())
    }

    /// The bytes of all outputs after a step before which they were filled with this.
    fn run_with(
        &self,
        device: &mut dyn Device,
        program: ProgramId,
        sizes: &Sizes,
        poison: u8,
    ) -> Result<Vec<Vec<u8>>, Error> {
        for held in &self.held {
            for range in &held.written {
                device.write(held.id, range.start, &vec![poison; range.len()])?;
            }
        }
        device.replay(program, sizes)?;
        device.wait()?;
        let mut all = Vec::with_capacity(self.held.len());
        for held in &self.held {
            let mut bytes = vec![0; held.bytes.len()];
            device.read(held.id, 0, &mut bytes)?;
            if let Some(byte) = held.wrong(&bytes) {
                // A wrong byte would also be wrong in the next run.
                device.write(held.id, 0, &held.bytes)?;
                return Err(self.wrong(format!(
                    "it writes beside its results in {}: {}",
                    step(sizes),
                    self.place(held, byte)
                )));
            }
            all.push((held.id, bytes));
        }
        let read = |arg: &Arg| {
            let bytes =
                all.iter().find(|(id, _)| *id == arg.region.buffer).map_or(&[][..], |(_, bytes)| bytes);
            bytes
                .get(arg.region.offset..)
                .and_then(|bytes| bytes.get(..arg.bytes.len()))
                .unwrap_or(&[])
                .to_vec()
        };
        Ok(self.args.iter().filter(|arg| arg.access.writes()).map(read).collect())
    }

    /// Describes a byte of a buffer that should not be written.
    fn place(&self, held: &Held, byte: usize) -> String {
        let begins = |arg: &Arg| arg.region.buffer == held.id && arg.region.offset <= byte;
        let before = self.args.iter().enumerate().filter(|(_, arg)| begins(arg));
        match before.max_by_key(|(_, arg)| arg.region.offset) {
            Some((p, arg)) if byte < arg.region.offset + arg.bytes.len() => {
                format!("byte {} of p{p}, which it only reads", byte - arg.region.offset)
            }
            Some((p, arg)) => {
                format!("{} bytes beyond the end of p{p}", byte - arg.region.offset - arg.bytes.len())
            }
            None => format!("byte {byte} of a buffer"),
        }
    }

    /// The parameter of an output.
    fn written(&self, output: usize) -> usize {
        let outputs = self.args.iter().enumerate().filter(|(_, arg)| arg.access.writes());
        outputs.map(|(p, _)| p).nth(output).unwrap_or(0)
    }

    /// The arguments as the interpreter takes them, with these outputs.
    fn buffers<'b>(&'b self, outputs: Option<&'b Outputs>) -> Result<Vec<interp::Buffer<'b>>, Error> {
        let mut written = outputs.into_iter().flatten();
        let each = self.args.iter().map(|arg| {
            let bytes: &[u8] = match arg.access {
                Access::Write | Access::ReadWrite => written.next().map_or(&arg.bytes, |(bytes, _)| bytes),
                Access::Read => &arg.bytes,
            };
            let values = arg.region.values;
            let buffer = match arg.format {
                Format::Ggml(ty) if arg.is_weight && values > MOST_DECODED => {
                    interp::Buffer::weight(ty, values, bytes)
                }
                format => interp::Buffer::from_bytes(format, values, bytes),
            };
            buffer.map_err(|error| self.wrong(error.to_string()))
        });
        each.collect()
    }

    /// Compares the first row, the middle one and the last of a step with what the interpreter computes for the kernel to
    /// replace.
    fn compare(&self, found: &Outputs, sizes: &Sizes) -> Result<(), Error> {
        let kernel = &self.replaced.replacement.replaced;
        let (args, found) = (self.buffers(None)?, self.buffers(Some(found))?);
        let mut worst: Option<Wrong> = None;
        let (mut wrong, mut compared) = (0usize, 0usize);
        for part in &kernel.parts {
            let last = part.rows.first().map_or(1, |axis| axis.eval(sizes)).saturating_sub(1);
            let some = [0, last / 2, last];
            let rows = interp::rows(&part.rows, sizes);
            for row in rows.filter(|row| row.first().is_none_or(|first| some.contains(first))) {
                let stored = interp::stores::<Bar>(kernel, part, &args, &row);
                for mut stored in stored.map_err(|error| self.wrong(error.to_string()))? {
                    let format = kernel.params[stored.param].format;
                    Bar::round_stored(format, &mut stored.values);
                    for (column, bar) in stored.values.iter().enumerate() {
                        let value = found[stored.param].float(stored.at + column * stored.step);
                        compared += 1;
                        let Some(off) = outside(format, bar, value) else { continue };
                        wrong += 1;
                        if worst.as_ref().is_none_or(|worst| off > worst.off) {
                            let (param, row, expected) = (stored.param, row.clone(), bar.value);
                            worst = Some(Wrong { off, param, row, column, expected, found: value });
                        }
                    }
                }
            }
        }
        let Some(Wrong { off, param, row, column, expected, found }) = worst else { return Ok(()) };
        Err(self.wrong(format!(
            "{wrong} of {compared} values are wrong in {}; the worst is value {column} of row {row:?} in p{param}: \
             expected {expected}, found {found}, which is {off:.3e} beyond what rounding explains (random data with seed {})",
            step(sizes),
            self.seed
        )))
    }

    fn wrong(&self, why: String) -> Error {
        of(self.replaced, why)
    }
}

impl Held {
    fn new() -> Held {
        Held { id: ARENA, bytes: Vec::new(), written: Vec::new() }
    }

    /// Appends an argument. Returns where it begins.
    fn add(&mut self, bytes: &[u8], access: Access) -> usize {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if access.writes() {
            self.written.push(begin..self.bytes.len());
        }
        let end = (self.bytes.len() + BETWEEN).next_multiple_of(BETWEEN);
        self.bytes.resize(end, UNTOUCHED);
        begin
    }

    /// Makes it on the device.
    fn alloc(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        self.id = device.alloc(self.bytes.len())?;
        Ok(device.write(self.id, 0, &self.bytes)?)
    }

    /// The first byte that is not what it was and is not for a result.
    fn wrong(&self, found: &[u8]) -> Option<usize> {
        let mut differ =
            self.bytes.iter().zip(found).enumerate().filter(|(_, (before, after))| before != after);
        let is_written = |at: usize| self.written.iter().any(|range| range.contains(&at));
        differ.find(|(at, _)| !is_written(*at)).map(|(at, _)| at)
    }
}

/// The sizes of a step of `tokens` tokens, of a program for steps up to `max`.
fn sizes_of(max: &Sizes, tokens: usize) -> Sizes {
    Sizes { tokens, rows: max.rows.min(tokens), ..*max }
}

/// A value that is wrong.
struct Wrong {
    /// How far it is beyond the bar.
    off: f64,
    param: usize,
    row: Vec<usize>,
    column: usize,
    expected: f32,
    found: f32,
}

/// How far a value is outside the range that a device may store; `None` if it is inside, or if the range is not known.
fn outside(format: Format, bar: &Bar, found: f32) -> Option<f64> {
    if !bar.error.is_finite() || bar.value.is_nan() && found.is_nan() {
        return None;
    }
    if found.is_nan() || bar.value.is_nan() {
        return Some(f64::INFINITY);
    }
    let ([low, _, high], found) = (bar.stored(format), f64::from(found));
    Some((low - found).max(found - high)).filter(|off| *off > 0.0)
}

/// Whether the bytes that were written in one run are those of another.
fn agrees((few, written): &(Vec<u8>, Vec<bool>), (all, _): &(Vec<u8>, Vec<bool>)) -> bool {
    few.iter().zip(all).zip(written).all(|((few, all), written)| !written || few == all)
}

fn step(sizes: &Sizes) -> String {
    match sizes.tokens {
        1 => "a step of 1 token".into(),
        n => format!("a step of {n} tokens"),
    }
}

fn of(replaced: &Replaced, why: String) -> Error {
    let Replaced { before, replacement, .. } = replaced;
    Error::Replacement(format!("the kernel `{}` cannot replace `{before}`: {why}", replacement.by.name))
}
