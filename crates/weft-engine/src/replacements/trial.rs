//! One kernel on the device, beside the one that it replaces and the interpreter.

use std::sync::Arc;

use weft_device::{Device, KernelLaunch, Program, ProgramId, Region, Weight};
use weft_fuse::Replaced;
use weft_kern::{Access, Anchor, Bar, Buffer, Format, Kernel, Plan, Sizes, Source, interp};
use weft_random::Random;

use super::data::{self, Indices};
use crate::error::Error;

/// Tokens of the steps that are tried besides the largest.
const FEW: [usize; 2] = [1, 7];

/// Rows of a cache, and pages, that there is room for at most, unless a step has more tokens.
const ROOM: usize = 256;

/// What outputs are filled with before a run. A byte that is the same after both was written.
const POISON: [u8; 2] = [0xff, 0x00];

/// Weights of more values are decoded row by row.
const MOST_DECODED: usize = 1 << 20;

/// What a check found of a kernel that is right.
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
    /// The kernel to replace, and the one that takes its place.
    programs: [ProgramId; 2],
}

/// An argument.
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
    /// Makes arguments for the first call of the kernel in its plan.
    ///
    /// # Errors
    /// If it cannot be checked; those of the device.
    pub(super) fn new(
        device: &mut dyn Device,
        plan: &Plan,
        replaced: &'a Replaced,
        seed: u64,
    ) -> Result<Trial<'a>, Error> {
        let kernels = [&replaced.replacement.replaced, &replaced.replacement.by];
        if kernels.iter().any(|k| k.parts.iter().any(|part| matches!(part.anchor, Anchor::Attend(_)))) {
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
        let mut args = Vec::with_capacity(buffers.len());
        for (p, buffer) in buffers.iter().enumerate() {
            let (format, access) = (buffer.format, kernels[1].params[p].access);
            let row_len = buffer.shape.last().unwrap_or(1).max(1);
            let bytes = match access {
                Access::Write => vec![POISON[0]; format.bytes(values[p]).unwrap_or(0)],
                Access::Read => {
                    let indices = Indices::of(p, kernels, &values);
                    data::random(&buffer.source, format, (values[p], row_len), indices, &mut random)
                        .map_err(|why| of(replaced, format!("there are no random values for p{p}: {why}")))?
                }
            };
            let bytes = Arc::new(bytes);
            let is_weight = matches!(buffer.source, Source::Weight(_));
            let id = match (format, is_weight) {
                (Format::Ggml(ty), true) => {
                    let bytes = Arc::<Vec<u8>>::clone(&bytes);
                    device.pack(Weight { ty, rows: values[p] / row_len, row_len, bytes, tiles: None })?
                }
                _ => {
                    let id = device.alloc(bytes.len())?;
                    device.write(id, 0, &bytes)?;
                    id
                }
            };
            let region = Region { buffer: id, offset: 0, values: values[p] };
            args.push(Arg { region, format, access, is_weight, bytes });
        }
        let mut compiled = |kernel: &Kernel| {
            let launches =
                vec![KernelLaunch { kernel: 0, args: args.iter().map(|arg| arg.region).collect() }];
            device.compile(&Program { max, kernels: vec![Arc::new(kernel.clone())], launches })
        };
        let programs = [compiled(kernels[0])?, compiled(kernels[1])?];
        Ok(Trial { replaced, seed, max, args, programs })
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
            if let Some(p) = few.iter().zip(&found).position(|(few, all)| !agrees(few, all)) {
                return Err(self.wrong(format!(
                    "the bits of a token depend on the size of its step: those of p{} differ in steps of {tokens} and of {} tokens \
                     (random data with seed {})",
                    self.written(p),
                    self.max.tokens,
                    self.seed
                )));
            }
        }
        Ok(Found { same_bits })
    }

    fn sizes(&self, tokens: usize) -> Sizes {
        Sizes { tokens, rows: self.max.rows.min(tokens), ..self.max }
    }

    /// What both write in a step.
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

    /// What one writes in a step.
    fn outputs(&self, device: &mut dyn Device, program: ProgramId, sizes: &Sizes) -> Result<Outputs, Error> {
        let outputs = || self.args.iter().filter(|arg| arg.access == Access::Write);
        let mut run = |poison: u8| -> Result<Vec<Vec<u8>>, Error> {
            for arg in outputs() {
                device.write(arg.region.buffer, 0, &vec![poison; arg.bytes.len()])?;
            }
            device.replay(program, sizes)?;
            device.wait()?;
            let read = |arg: &Arg| {
                let mut bytes = vec![0; arg.bytes.len()];
                device.read(arg.region.buffer, 0, &mut bytes).map(|()| bytes)
            };
            Ok(outputs().map(read).collect::<Result<_, _>>()?)
        };
        let [first, second] = [run(POISON[0])?, run(POISON[1])?];
        let written = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a == b).collect();
        Ok(first
            .into_iter()
            .zip(second)
            .map(|(a, b)| {
                let written = written(&a, &b);
                (a, written)
            })
            .collect())
    }

    /// The parameter of an output.
    fn written(&self, output: usize) -> usize {
        let outputs = self.args.iter().enumerate().filter(|(_, arg)| arg.access == Access::Write);
        outputs.map(|(p, _)| p).nth(output).unwrap_or(0)
    }

    /// The arguments as the interpreter takes them, with these outputs.
    fn buffers<'b>(&'b self, outputs: Option<&'b Outputs>) -> Result<Vec<interp::Buffer<'b>>, Error> {
        let mut written = outputs.into_iter().flatten();
        let each = self.args.iter().map(|arg| {
            let bytes: &[u8] = match arg.access {
                Access::Write => written.next().map_or(&arg.bytes, |(bytes, _)| bytes),
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

/// How far a value is beyond what a device may store; `None` if it is not, or if nothing is known.
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
