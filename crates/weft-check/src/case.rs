//! A kernel with its arguments, run on a device and by the interpreter.

use std::ops::Range;
use std::sync::Arc;

use weft_device::{
    Checkpoints, Device, DeviceError, KernelLaunch, Program, Region, Scheduled, Tuning, Weight,
};
use weft_kern::{
    Access, Anchor, Dim, F32, Factor, Format, Instr, Kernel, Matrices, Param, Part, Pick, Product, Sizes,
    View, interp,
};
use weft_quant::GgmlType;
use weft_render::Schedule;

use crate::arg::Arg;
use crate::halves;

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel.
    pub kernel: Kernel,
    /// An argument for each of its parameters.
    pub args: Vec<Arg>,
    /// The tokens of the step.
    pub tokens: usize,
    /// Most roundings on the way to an output, each by half a unit in the last place of the largest
    /// output.
    pub roundings: usize,
    /// A lower bound for the largest output, where outputs may be what large terms leave of each
    /// other.
    pub least: f32,
}

impl Case {
    /// A kernel of these parts. It must be valid for these arguments.
    pub fn new(parts: Vec<Part>, args: Vec<Arg>, tokens: usize, roundings: usize) -> Case {
        let params = args.iter().map(|a| Param { access: a.access, format: a.format }).collect();
        let kernel = Kernel { name: "tested".into(), params, parts, texts: Vec::new() };
        let values: Vec<usize> = args.iter().map(|a| a.values).collect();
        let case = Case { kernel, args, tokens, roundings, least: 0.0 };
        weft_kern::verify_call(&case.kernel, &values, &case.sizes()).unwrap();
        case
    }

    /// The sizes of the step, which uses all pages and has all sequences.
    pub fn sizes(&self) -> Sizes {
        self.sizes_of(self.tokens)
    }

    /// The same for a step of `tokens` tokens.
    fn sizes_of(&self, tokens: usize) -> Sizes {
        let parts = || self.kernel.parts.iter();
        let lists = |part: &Part| {
            let of_indexer = part.indexer().map(|indexer| indexer.pages);
            part.attention().map(|attend| attend.pages).or(of_indexer)
        };
        let pages = parts().filter_map(lists).map(|pages| self.args[pages].values);
        let sequences = parts().filter_map(Part::scan).map(|scan| self.args[scan.ends].values);
        let (pages, sequences) = (pages.max().unwrap_or(0), sequences.max().unwrap_or(0));
        Sizes::of(tokens).pages(pages).sequences(sequences)
    }

    /// The interpreter's results.
    pub(crate) fn oracle(&self) -> Vec<Vec<u8>> {
        let buffers =
            self.args.iter().map(|a| interp::Buffer::from_bytes(a.format, a.values, &a.bytes).unwrap());
        let mut buffers: Vec<_> = buffers.collect();
        interp::run(&self.kernel, &mut buffers, &self.sizes()).unwrap();
        buffers.iter().map(interp::Buffer::to_bytes).collect()
    }

    /// Runs it on the device, compiled for steps of up to `max` tokens. Returns the bytes of every
    /// argument afterwards.
    ///
    /// # Errors
    /// Those of the device.
    pub fn run(&self, device: &mut dyn Device, max: usize) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.run_scheduled(device, max, None)
    }

    /// Runs it with this schedule.
    pub fn run_with(&self, device: &mut dyn Device, schedule: &str) -> Vec<Vec<u8>> {
        self.run_scheduled(device, self.tokens, Some(schedule)).unwrap()
    }

    /// Runs it with this schedule and compares the numbers with the interpreter's.
    pub fn check_with(&self, device: &mut dyn Device, schedule: &str) -> Vec<Vec<u8>> {
        let found = self.run_with(device, schedule);
        self.rounded_for(schedule).compare(&found);
        found
    }

    fn run_scheduled(
        &self,
        device: &mut dyn Device,
        max: usize,
        schedule: Option<&str>,
    ) -> Result<Vec<Vec<u8>>, DeviceError> {
        let max = self.sizes_of(max);
        let kernel = Arc::new(self.kernel.clone());
        let mark = checkpoints(device).mark();
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
        let launches = vec![KernelLaunch { kernel: 0, args: regions.clone() }];
        let program = Program { max, kernels: vec![Arc::clone(&kernel)], launches };
        let compiled = match schedule {
            None => device.compile(&program)?,
            Some(schedule) => {
                // A text that is no schedule would be ignored.
                schedule.parse::<Schedule>().unwrap();
                let tried = Scheduled { kernel, max, schedule: schedule.into() };
                tuning(device).try_out(&[tried]);
                let compiled = device.compile(&program);
                tuning(device).try_out(&[]);
                compiled?
            }
        };
        device.replay(compiled, &self.sizes())?;
        let read = |(arg, region): (&Arg, &Region)| match arg.access {
            Access::Read => arg.bytes.clone(),
            Access::Write | Access::ReadWrite => {
                let mut out = vec![0; arg.bytes.len()];
                device.read(region.buffer, 0, &mut out).unwrap();
                out
            }
        };
        let found = self.args.iter().zip(&regions).map(read).collect();
        checkpoints(device).rewind(mark);
        Ok(found)
    }

    /// The same step with only some of its tokens. Arguments without values for each token stay as they are.
    #[must_use]
    pub fn of_tokens(&self, tokens: Range<usize>) -> Case {
        let mut case = Case { tokens: tokens.len(), ..self.clone() };
        for arg in &mut case.args {
            if let (Some(values), Some(bytes)) = (arg.per_token, arg.of_tokens(&arg.bytes, tokens.clone())) {
                (arg.values, arg.bytes) = (values * tokens.len(), bytes);
            }
        }
        case
    }

    /// Checks it, and that its first, middle and last token have the same bits alone, in a program for one
    /// token.
    pub fn check_with_tokens_alone(&self, device: &mut dyn Device) {
        let all = self.check(device);
        let mut tokens = vec![0, self.tokens / 2, self.tokens - 1];
        tokens.dedup();
        for token in tokens.into_iter().filter(|_| self.tokens > 1) {
            let alone = self.of_tokens(token..token + 1).run(device, 1).unwrap();
            for (p, arg) in self.args.iter().enumerate().filter(|(_, arg)| arg.access.writes()) {
                let own = arg.of_tokens(&all[p], token..token + 1);
                assert!(
                    own.as_ref() == Some(&alone[p]),
                    "token {token} has other bits alone in p{p}: {self:?}"
                );
            }
        }
    }

    /// Runs it and compares the numbers with the interpreter's.
    pub fn check(&self, device: &mut dyn Device) -> Vec<Vec<u8>> {
        let found = self.run(device, self.tokens).unwrap();
        self.seen_by(device).compare(&found);
        found
    }

    /// The same case with inputs rounded as the device rounds them before it computes, so that the interpreter computes with the same
    /// numbers.
    #[must_use]
    pub fn seen_by(&self, device: &mut dyn Device) -> Case {
        let chosen = device.tuning().and_then(|tuning| tuning.schedule(&self.kernel, &self.sizes()));
        chosen.map_or_else(|| self.clone(), |schedule| self.rounded_for(&schedule))
    }

    /// The same case with the values that this schedule rounds before it computes.
    fn rounded_for(&self, schedule: &str) -> Case {
        let mut case = self.clone();
        let schedule = schedule.parse().unwrap();
        case.roundings += halves::round_queries(&self.kernel, &self.sizes(), &schedule, &mut case.args);
        case
    }

    /// Compares the bytes that [`run`](Case::run) returned with the interpreter's.
    pub fn compare(&self, found: &[Vec<u8>]) {
        if let Err(what) = self.agrees(found) {
            panic!("{} tokens: {what}\n{:?}", self.tokens, self.kernel);
        }
    }

    /// Whether the bytes that [`run`](Case::run) returned are what the interpreter computes.
    ///
    /// # Errors
    /// The first value that is not, in words.
    pub fn agrees(&self, found: &[Vec<u8>]) -> Result<(), String> {
        let expected = self.oracle();
        for (p, arg) in self.args.iter().enumerate().filter(|(_, a)| a.access.writes()) {
            let (expected, found) = (arg.floats(&expected[p]), arg.floats(&found[p]));
            let top = expected.iter().filter(|v| v.is_finite()).fold(self.least, |top, v| top.max(v.abs()));
            let tolerance = top * (self.roundings as f32 * f32::EPSILON / 2.0 + arg.step());
            for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
                let close = e == f || (e - f).abs() <= tolerance || e.is_nan() && f.is_nan();
                if !close {
                    return Err(format!("p{p}[{i}] is {f}, expected {e} ± {tolerance}"));
                }
            }
        }
        Ok(())
    }
}

fn tuning(device: &mut dyn Device) -> &mut dyn Tuning {
    device.tuning().expect("a device whose schedules can be varied")
}

fn checkpoints(device: &mut dyn Device) -> &mut dyn Checkpoints {
    device.checkpoints().expect("a device that can be rewound")
}

/// A view that begins at 0.
pub fn view(param: usize, strides: &[usize], step: usize) -> View {
    View { param, offset: 0, strides: strides.to_vec(), step }
}

/// A part without a prologue.
pub fn part(rows: &[Dim], cols: usize, anchor: Anchor, body: Vec<Instr>) -> Part {
    Part { rows: rows.to_vec(), cols, prologue: None, anchor, body }
}

/// A stack of equal matrices in a parameter, one after another.
pub fn matrices(param: usize, pick: Pick, count: usize, n: usize, k: usize) -> Matrices {
    Matrices { param, pick, from: None, count, n, k, first: 0, stride: n }
}

/// A product of rows with matrices.
pub fn product(x: View, w: Matrices, transposed: bool) -> Product {
    Product { x: Factor::View(x), w, transposed }
}

/// Loads `len` values of a parameter.
pub fn load_of(param: usize, strides: &[usize], len: usize) -> Instr {
    Instr::Load { view: view(param, strides, 1), indexed: None, len }
}

/// Stores a value to a parameter.
pub fn store_to(param: usize, strides: &[usize], value: usize) -> Instr {
    Instr::Store { value, view: view(param, strides, 1), indexed: None }
}

/// A constant.
pub fn constant(value: f32) -> Instr {
    Instr::Const(F32(value))
}

/// Roundings of a dot's output. Each addition is of a product that was itself rounded a few times.
/// Partial sums of random terms are about as large as the largest output, so this is a generous
/// bound.
pub fn roundings(ty: GgmlType, k: usize) -> usize {
    match ty.int_layout() {
        Some(_) => 8 + 2 * k / 16,
        None => 8 + 2 * k,
    }
}
