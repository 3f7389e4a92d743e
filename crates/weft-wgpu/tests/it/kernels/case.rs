//! A kernel with its arguments, run on the GPU and by the interpreter.

use std::sync::Arc;

use weft_device::{Checkpoints, Device, DeviceError, KernelLaunch, Program, ProgramId, Region, Weight};
use weft_kern::{
    Access, Anchor, Dim, F32, Factor, Format, Instr, Kernel, Matrices, Param, Part, Pick, Product, Sizes,
    View, interp,
};
use weft_quant::GgmlType;
use weft_wgpu::GpuDevice;

#[path = "../../../../weft-cpu/tests/it/support/arg.rs"]
#[allow(dead_code, reason = "shared with weft-cpu's tests")]
mod arg;
#[path = "../../../../weft-cpu/tests/it/support/data.rs"]
#[allow(dead_code, reason = "shared with weft-cpu's tests")]
pub(super) mod data;

pub(super) use arg::{Arg, POISON};

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) kernel: Kernel,
    pub(super) args: Vec<Arg>,
    pub(super) tokens: usize,
    /// Most roundings on the way to an output, each by half a unit in the last place of the largest
    /// output.
    pub(super) roundings: usize,
    /// A lower bound for the largest output, where outputs may be what large terms leave of each
    /// other.
    pub(super) least: f32,
}

/// A way to compile a program.
type Compile<'a> = &'a dyn Fn(&mut GpuDevice, &Program) -> Result<ProgramId, DeviceError>;

impl Case {
    pub(super) fn new(parts: Vec<Part>, args: Vec<Arg>, tokens: usize, roundings: usize) -> Case {
        let params = args.iter().map(|a| Param { access: a.access, format: a.format }).collect();
        let kernel = Kernel { name: "tested".into(), params, parts };
        let values: Vec<usize> = args.iter().map(|a| a.values).collect();
        let case = Case { kernel, args, tokens, roundings, least: 0.0 };
        weft_kern::verify_call(&case.kernel, &values, &case.sizes()).unwrap();
        case
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.sizes_of(self.tokens)
    }

    /// The sizes of a step of so many tokens that uses all pages.
    fn sizes_of(&self, tokens: usize) -> Sizes {
        let pages = self.kernel.parts.iter().filter_map(|part| match &part.anchor {
            Anchor::Attend(attend) => Some(self.args[attend.pages].values),
            _ => None,
        });
        Sizes { tokens, pages: pages.max().unwrap_or(0), ..Sizes::default() }
    }

    /// What the interpreter computes.
    fn oracle(&self) -> Vec<Vec<u8>> {
        let buffers =
            self.args.iter().map(|a| interp::Buffer::from_bytes(a.format, a.values, &a.bytes).unwrap());
        let mut buffers: Vec<_> = buffers.collect();
        interp::run(&self.kernel, &mut buffers, &self.sizes()).unwrap();
        buffers.iter().map(interp::Buffer::to_bytes).collect()
    }

    /// Runs it on the GPU, compiled for steps of up to `max` tokens. Returns the bytes of every
    /// argument afterwards.
    pub(super) fn run(&self, device: &mut GpuDevice, max: usize) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.run_by(device, max, &|device, program| device.compile(program))
    }

    /// Runs it with this schedule and compares the numbers with the interpreter's.
    pub(super) fn check_with(&self, device: &mut GpuDevice, schedule: &str) -> Vec<Vec<u8>> {
        let schedules = [schedule.parse().unwrap()];
        let compile = |device: &mut GpuDevice, program: &Program| device.compile_with(program, &schedules);
        let found = self.run_by(device, self.tokens, &compile).unwrap();
        self.compare(&found);
        found
    }

    fn run_by(
        &self,
        device: &mut GpuDevice,
        max: usize,
        compile: Compile<'_>,
    ) -> Result<Vec<Vec<u8>>, DeviceError> {
        let mark = device.mark();
        let regions: Vec<Region> = self
            .args
            .iter()
            .map(|arg| {
                let region = |buffer| Region { buffer, offset: 0, values: arg.values };
                if let (Some(row_len), Format::Ggml(ty)) = (arg.row_len, arg.format) {
                    let bytes = Arc::new(arg.bytes.clone());
                    let weight = Weight { ty, rows: arg.values / row_len, row_len, bytes, tiles: None };
                    return region(device.pack(weight).unwrap());
                }
                let buffer = device.alloc(arg.bytes.len()).unwrap();
                device.write(buffer, 0, &arg.bytes).unwrap();
                region(buffer)
            })
            .collect();
        let program = Program {
            max: self.sizes_of(max),
            kernels: vec![Arc::new(self.kernel.clone())],
            launches: vec![KernelLaunch { kernel: 0, args: regions.clone() }],
        };
        let program = compile(device, &program)?;
        device.replay(program, &self.sizes())?;
        let read = |(arg, region): (&Arg, &Region)| match arg.access {
            Access::Read => arg.bytes.clone(),
            Access::Write => {
                let mut out = vec![0; arg.bytes.len()];
                device.read(region.buffer, 0, &mut out).unwrap();
                out
            }
        };
        let found = self.args.iter().zip(&regions).map(read).collect();
        device.rewind(mark);
        Ok(found)
    }

    /// Runs it and compares the numbers with the interpreter's.
    pub(super) fn check(&self, device: &mut GpuDevice) -> Vec<Vec<u8>> {
        let found = self.run(device, self.tokens).unwrap();
        self.compare(&found);
        found
    }

    pub(super) fn compare(&self, found: &[Vec<u8>]) {
        let expected = self.oracle();
        for (p, arg) in self.args.iter().enumerate().filter(|(_, a)| a.access == Access::Write) {
            let (expected, found) = (arg.floats(&expected[p]), arg.floats(&found[p]));
            let top = expected.iter().filter(|v| v.is_finite()).fold(self.least, |top, v| top.max(v.abs()));
            let tolerance = top * (self.roundings as f32 * f32::EPSILON / 2.0 + arg.step());
            for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
                let close = e == f || (e - f).abs() <= tolerance || e.is_nan() && f.is_nan();
                assert!(
                    close,
                    "{} tokens: p{p}[{i}] is {f}, expected {e} ± {tolerance}\n{:?}",
                    self.tokens, self.kernel
                );
            }
        }
    }
}

/// A view that begins at 0.
pub(super) fn view(param: usize, strides: &[usize], step: usize) -> View {
    View { param, offset: 0, strides: strides.to_vec(), step }
}

/// A part without a prologue.
pub(super) fn part(rows: &[Dim], cols: usize, anchor: Anchor, body: Vec<Instr>) -> Part {
    Part { rows: rows.to_vec(), cols, prologue: None, anchor, body }
}

/// A stack of equal matrices in a parameter, one after another.
pub(super) fn matrices(param: usize, pick: Pick, count: usize, n: usize, k: usize) -> Matrices {
    Matrices { param, pick, count, n, k, first: 0, stride: n }
}

pub(super) fn product(x: View, w: Matrices, transposed: bool) -> Product {
    Product { x: Factor::View(x), w, transposed }
}

pub(super) fn load_of(param: usize, strides: &[usize], len: usize) -> Instr {
    Instr::Load { view: view(param, strides, 1), indexed: None, len }
}

pub(super) fn store_to(param: usize, strides: &[usize], value: usize) -> Instr {
    Instr::Store { value, view: view(param, strides, 1), indexed: None }
}

pub(super) fn constant(value: f32) -> Instr {
    Instr::Const(F32(value))
}

/// Roundings of a dot's output. Each addition is of a product that was itself rounded a few times.
/// Partial sums of random terms are about as large as the largest output, so this is a generous
/// bound.
pub(super) fn roundings(ty: GgmlType, k: usize) -> usize {
    match ty.int_layout() {
        Some(_) => 8 + 2 * k / 16,
        None => 8 + 2 * k,
    }
}
