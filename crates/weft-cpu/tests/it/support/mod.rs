//! Runs a kernel on the device and in the interpreter, and compares the results.
//!
//! Every case is checked for two things. The device's numbers must equal the oracle's, up to a tolerance that the case
//! gives as a number of roundings. And the device's bits must be the same with every instruction set, with 1, 2, 3 and
//! 5 threads, and for each token computed alone.

pub(crate) mod attention;

use std::sync::Arc;

use weft_cpu::{CpuDevice, CpuOptions, Isa};
use weft_device::{
    BufferId, Device, DeviceError, KernelLaunch, Program, ProgramId, Region, Weight, WeightBytes,
};
use weft_kern::{
    Access, Anchor, Dim, F32, Factor, Format, Instr, Kernel, Matrices, Param, Part, Pick, Product, Sizes,
    View, interp,
};
use weft_quant::GgmlType;

pub(crate) use weft_check::{Arg, data};

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) kernel: Kernel,
    pub(crate) args: Vec<Arg>,
    pub(crate) tokens: usize,
    /// The most roundings of an output, each by half a unit in the last place of the largest output.
    pub(crate) roundings: usize,
    /// If the device rounds its operands: the rounded arguments, and how far beyond these roundings its outputs may differ from the
    /// interpreter's results for them.
    pub(crate) rounded: Option<(Vec<Arg>, f32)>,
}

impl Case {
    pub(crate) fn new(kernel: Kernel, args: Vec<Arg>, tokens: usize, roundings: usize) -> Case {
        let params = args.iter().map(|a| Param { access: a.access, format: a.format }).collect();
        Case { kernel: Kernel { params, ..kernel }, args, tokens, roundings, rounded: None }
    }

    pub(crate) fn sizes(&self) -> Sizes {
        Sizes::of(self.tokens)
    }

    /// The same for some of the tokens, if its arguments can be divided by token.
    fn of_tokens(&self, tokens: std::ops::Range<usize>) -> Option<Case> {
        self.args.iter().any(|a| a.per_token.is_some()).then_some(())?;
        let mut case = Case { tokens: tokens.len(), ..self.clone() };
        let rounded = case.rounded.iter_mut().flat_map(|(args, _)| args);
        for arg in case.args.iter_mut().chain(rounded) {
            if let Some(bytes) = arg.of_tokens(&arg.bytes, tokens.clone()) {
                (arg.values, arg.bytes) = (arg.per_token? * tokens.len(), bytes);
            }
        }
        Some(case)
    }

    /// The arguments after the interpreter has run the kernel.
    pub(crate) fn oracle(&self) -> Vec<Vec<u8>> {
        let args = self.rounded.as_ref().map_or(&self.args, |(args, _)| args);
        let mut buffers: Vec<_> =
            args.iter().map(|a| interp::Buffer::from_bytes(a.format, a.values, &a.bytes).unwrap()).collect();
        let mut kernel = self.kernel.clone();
        kernel.params.iter_mut().zip(args).for_each(|(param, arg)| param.format = arg.format);
        interp::run(&kernel, &mut buffers, &self.sizes()).unwrap();
        buffers.iter().map(interp::Buffer::to_bytes).collect()
    }
}

/// Devices with every instruction set and some numbers of threads.
pub(crate) struct Devices(Vec<CpuDevice>);

impl Devices {
    pub(crate) fn all() -> Devices {
        let isas = Isa::ALL.into_iter().rev().filter(|isa| isa.is_available());
        let device = |isa, threads| CpuDevice::new(CpuOptions { threads: Some(threads), isa: Some(isa) });
        Devices(isas.flat_map(|isa| [1, 2, 3, 5].map(|threads| device(isa, threads).unwrap())).collect())
    }

    /// Calls a function with each of them.
    pub(crate) fn each(&mut self, with: impl FnMut(&mut CpuDevice)) {
        self.0.iter_mut().for_each(with);
    }

    /// Checks a case on all of them.
    pub(crate) fn check(&mut self, case: &Case) {
        let [first, others @ ..] = &mut self.0[..] else { panic!("there is a device") };
        let found = run(first, case).unwrap();
        compare(case, &case.oracle(), &found);
        for device in &mut *others {
            let name = device.caps().name.clone();
            same(case, &found, &run(device, case).unwrap(), &name);
        }
        let runs = (0..case.tokens).map(|t| t..t + 1).chain((case.tokens > 9).then_some(3..8));
        for tokens in runs.filter(|r| r.len() < case.tokens) {
            let Some(part) = case.of_tokens(tokens.clone()) else { continue };
            let device = &mut others[tokens.start % others.len()];
            let alone = run(device, &part).unwrap();
            // A state has no part for these tokens: there the oracle says what they write.
            let written = |p: usize| part.args[p].access == Access::Write && part.args[p].per_token.is_none();
            let oracle = (0..part.args.len()).any(written).then(|| part.oracle());
            let expected: Vec<Vec<u8>> = (case.args.iter().zip(&found).enumerate())
                .map(|(p, (arg, all))| match (arg.of_tokens(all, tokens.clone()), &oracle) {
                    (Some(own), _) => own,
                    (None, Some(oracle)) if written(p) => oracle[p].clone(),
                    (None, _) => all.clone(),
                })
                .collect();
            same(&part, &expected, &alone, &format!("tokens {tokens:?} of {}", case.tokens));
        }
    }
}

/// Checks that numbers are equal up to rounding.
fn compare(case: &Case, expected: &[Vec<u8>], found: &[Vec<u8>]) {
    for (p, arg) in case.args.iter().enumerate().filter(|(_, a)| a.access == Access::Write) {
        let (expected, found) = (arg.floats(&expected[p]), arg.floats(&found[p]));
        let top = expected.iter().filter(|v| v.is_finite()).fold(0.0f32, |top, v| top.max(v.abs()));
        let beyond = case.rounded.as_ref().map_or(0.0, |(_, beyond)| *beyond);
        let tolerance = top * (case.roundings as f32 * f32::EPSILON / 2.0 + arg.step()) + beyond;
        for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
            let close = e == f || (e - f).abs() <= tolerance || e.is_nan() && f.is_nan();
            assert!(
                close,
                "{} tokens: p{p}[{i}] is {f}, expected {e} ± {tolerance}\n{:?}",
                case.tokens, case.kernel
            );
        }
    }
}

/// Checks that bits are equal.
fn same(case: &Case, expected: &[Vec<u8>], found: &[Vec<u8>], what: &str) {
    for (p, _) in case.args.iter().enumerate().filter(|(_, a)| a.access == Access::Write) {
        if let Some(at) = (0..expected[p].len()).find(|i| expected[p][*i] != found[p][*i]) {
            panic!("{what}: other bits in byte {at} of p{p}\n{:?}", case.kernel);
        }
    }
}

/// Allocates and fills the buffers of a case.
pub(crate) fn load(device: &mut dyn Device, case: &Case) -> Vec<Region> {
    let region = |buffer, arg: &Arg| Region { buffer, offset: 0, values: arg.values };
    case.args
        .iter()
        .map(|arg| {
            if let (Some(row_len), Format::Ggml(ty)) = (arg.row_len, arg.format) {
                let bytes = Arc::new(arg.bytes.clone()) as WeightBytes;
                let weight = Weight { ty, rows: arg.values / row_len, row_len, bytes, tiles: None };
                return region(device.pack(weight).unwrap(), arg);
            }
            let buffer = device.alloc(arg.bytes.len()).unwrap();
            device.write(buffer, 0, &arg.bytes).unwrap();
            region(buffer, arg)
        })
        .collect()
}

/// Compiles a case as a program of one launch.
pub(crate) fn compile(
    device: &mut dyn Device,
    case: &Case,
    args: &[Region],
) -> Result<ProgramId, DeviceError> {
    device.compile(&Program {
        max: case.sizes(),
        kernels: vec![Arc::new(case.kernel.clone())],
        launches: vec![KernelLaunch { kernel: 0, args: args.to_vec() }],
    })
}

/// The bytes of a buffer.
pub(crate) fn read(device: &dyn Device, buffer: BufferId, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    device.read(buffer, 0, &mut out).unwrap();
    out
}

/// Runs a case. Returns the bytes of every argument afterwards.
pub(crate) fn run(device: &mut dyn Device, case: &Case) -> Result<Vec<Vec<u8>>, DeviceError> {
    let regions = load(device, case);
    let program = compile(device, case, &regions)?;
    device.replay(program, &case.sizes())?;
    let all = case.args.iter().zip(regions);
    Ok(all
        .map(|(arg, region)| match arg.access {
            Access::Read => arg.bytes.clone(),
            Access::Write | Access::ReadWrite => read(device, region.buffer, arg.bytes.len()),
        })
        .collect())
}

/// A view that begins at 0.
pub(crate) fn view(param: usize, strides: &[usize], step: usize) -> View {
    View { param, offset: 0, strides: strides.to_vec(), step }
}

/// A kernel of parts; its parameters are those of the case.
pub(crate) fn kernel_of(parts: Vec<Part>) -> Kernel {
    Kernel { name: "tested".into(), params: Vec::new(), parts, texts: Vec::new() }
}

/// A part without a prologue.
pub(crate) fn part(rows: &[Dim], cols: usize, anchor: Anchor, body: Vec<Instr>) -> Part {
    Part { rows: rows.to_vec(), cols, prologue: None, anchor, body }
}

/// A kernel of one such part.
pub(crate) fn kernel(rows: &[Dim], cols: usize, anchor: Anchor, body: Vec<Instr>) -> Kernel {
    kernel_of(vec![part(rows, cols, anchor, body)])
}

/// A stack of equal matrices in a parameter, one after another.
pub(crate) fn matrices(param: usize, pick: Pick, count: usize, n: usize, k: usize) -> Matrices {
    Matrices { param, pick, from: None, count, n, k, first: 0, stride: n }
}

/// The number of roundings of an output of a dot. Each addition is of a product that was itself rounded a few times.
/// Partial sums of random terms are about as large as the largest output, so this many half units are a generous bound.
pub(crate) fn roundings(ty: GgmlType, k: usize) -> usize {
    match ty.int_layout() {
        Some(_) => 4 + 2 * k / 16,
        None => 4 + 2 * k,
    }
}

/// x times the transpose of a matrix.
pub(crate) fn product(x: View, w: Matrices) -> Product {
    Product { x: Factor::View(x), w, transposed: false }
}

/// A dot of one product.
pub(crate) fn dot(x: View, w: Matrices, transposed: bool) -> Anchor {
    Anchor::Dot(vec![Product { transposed, ..product(x, w) }])
}

pub(crate) fn load_of(param: usize, strides: &[usize], len: usize) -> Instr {
    Instr::Load { view: view(param, strides, 1), indexed: None, len }
}

pub(crate) fn store_to(param: usize, strides: &[usize], value: usize) -> Instr {
    Instr::Store { value, view: view(param, strides, 1), indexed: None }
}

pub(crate) fn constant(value: f32) -> Instr {
    Instr::Const(F32(value))
}

/// Runs kernels one after another on shared arguments. Returns the bytes of every argument afterwards.
pub(crate) fn run_all(
    device: &mut dyn Device,
    args: &[Arg],
    kernels: &[(Kernel, &[usize])],
    tokens: usize,
) -> Vec<Vec<u8>> {
    let case =
        Case { kernel: kernels[0].0.clone(), args: args.to_vec(), tokens, roundings: 0, rounded: None };
    let regions = load(device, &case);
    let bound = kernels.iter().map(|(kernel, own)| {
        let writes = |p: usize| {
            let mut all = kernel.parts.iter().flat_map(|part| &part.body);
            all.any(|i| matches!(i, Instr::Store { view, .. } if view.param == p))
        };
        let access = |p: usize| if writes(p) { Access::Write } else { Access::Read };
        let params =
            own.iter().enumerate().map(|(p, a)| Param { access: access(p), format: args[*a].format });
        Arc::new(Kernel { params: params.collect(), ..kernel.clone() })
    });
    let launches = kernels.iter().enumerate();
    let launches = launches
        .map(|(i, (_, own))| KernelLaunch { kernel: i, args: own.iter().map(|a| regions[*a]).collect() });
    let program = Program { max: case.sizes(), kernels: bound.collect(), launches: launches.collect() };
    let program = device.compile(&program).unwrap();
    device.replay(program, &case.sizes()).unwrap();
    let all = args.iter().zip(regions);
    all.map(|(arg, region)| {
        if arg.row_len.is_some() { arg.bytes.clone() } else { read(device, region.buffer, arg.bytes.len()) }
    })
    .collect()
}
