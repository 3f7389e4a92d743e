//! Verification finds no fault in a correct device, and names a wrong value exactly.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{DeviceError, Forward, Program, ProgramId, ReferenceDevice, Region};
use weft_kern::{Access, Dim, Format, Instr, Kernel, Sizes};
use weft_quant::GgmlType;

use super::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).with_extension("gguf")
}

fn verifier(name: &str, device: Box<dyn Device>) -> Verifier {
    verifier_with(name, device, GgmlType::F16)
}

fn verifier_with(name: &str, device: Box<dyn Device>, kv: GgmlType) -> Verifier {
    let options = EngineOptions::default().context(64).batch(24).kv(kv);
    let model = Model::open(&fixture(name), options.kv).unwrap();
    Verifier::new(model, device, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn cpu() -> CpuDevice {
    CpuDevice::new(CpuOptions { threads: Some(2), isa: None }).unwrap()
}

fn verify(verifier: &mut Verifier, tokens: usize, options: &VerifyOptions) -> Verification {
    let tokens: Vec<u32> = (0..tokens as u32).map(|i| 7 + i * i % 251).collect();
    verifier.verify(&tokens, options, &AtomicBool::new(false), &mut |_, _| {}).unwrap()
}

#[test]
fn the_cpu_is_right_on_every_model() {
    let fixtures = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")).unwrap();
    let models = fixtures
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "gguf"));
    for path in models {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut verifier = verifier(name, Box::new(cpu()));
        let found = verify(&mut verifier, 27, &VerifyOptions { all: false, columns: 64 });
        assert_eq!(found.steps, [18, 8, 1], "{name}");
        assert_eq!(found.faults().collect::<Vec<_>>(), [""; 0], "{name}");
        let worst = found.launches.iter().filter_map(|launch| launch.checked.worst.as_ref());
        let worst = worst.map(Difference::share).fold(0.0, f64::max);
        let sum = |of: fn(&Checked) -> u64| found.launches.iter().map(|l| of(&l.checked)).sum::<u64>();
        let [values, compared, unknown] = [sum(|c| c.values), sum(|c| c.compared), sum(|c| c.unknown)];
        println!("{name}: {compared} of {values} values, {unknown} unknown, worst {worst:.3}");
        assert!(worst > 0.0, "the device does round");
        assert!(compared > 10_000 && unknown < compared / 20, "{name}: {compared} compared, {unknown} not");
        // Where many layers are equal, some are verified.
        let many =
            ["ds2", "gemma3", "smollm3-odd", "muse-glimmer-odd"].iter().any(|many| name.starts_with(many));
        assert_eq!(found.launches.len() < found.of, many, "{name}");
    }
}

#[test]
fn other_cache_types_are_right() {
    for kv in [GgmlType::BF16, GgmlType::F32] {
        let found =
            verify(&mut verifier_with("glm-tiny-q4_0", Box::new(cpu()), kv), 12, &VerifyOptions::default());
        assert_eq!(found.faults().collect::<Vec<_>>(), [""; 0], "{kv}");
    }
}

#[test]
fn the_interpreter_agrees_with_itself_to_the_bit() {
    let mut verifier = verifier("glm-tiny-q4_k_m", Box::new(ReferenceDevice::default()));
    let found = verify(&mut verifier, 3, &VerifyOptions { all: true, columns: 0 });
    assert_eq!((found.steps.as_slice(), found.launches.len()), (&[2, 1][..], found.of));
    for launch in &found.launches {
        let Checked { values, compared, unknown, worst, faults } = &launch.checked;
        assert!(faults.is_empty() && worst.as_ref().is_none_or(|worst| worst.share() == 0.0), "{launch:?}");
        assert_eq!(compared + unknown, *values, "all columns are compared");
    }
}

/// A fault of a device, applied after it has run a program.
type Wrong = Box<dyn FnMut(&Program, &mut CpuDevice) + Send>;

/// A device that is wrong.
struct Faulty {
    device: CpuDevice,
    programs: BTreeMap<ProgramId, Program>,
    wrong: Wrong,
}

impl Forward for Faulty {
    fn inner(&self) -> &dyn Device {
        &self.device
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let id = self.device.compile(program)?;
        self.programs.insert(id, program.clone());
        Ok(id)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        self.device.replay(program, sizes)?;
        (self.wrong)(&self.programs[&program], &mut self.device);
        Ok(())
    }
}

/// Verifies a model, in steps of two tokens and of one, on a device that is wrong about launches run alone. Returns the faults, without
/// those of whole steps that follow.
fn faults(
    mut wrong: impl FnMut(&Kernel, &[Region], &mut CpuDevice) + Send + 'static,
) -> Vec<(Verified, Fault)> {
    let alone = move |program: &Program, device: &mut CpuDevice| {
        if let [launch] = &program.launches[..] {
            wrong(&program.kernels[launch.kernel], &launch.args, device);
        }
    };
    let device = Faulty { device: cpu(), programs: BTreeMap::new(), wrong: Box::new(alone) };
    let mut verifier = verifier("glm-tiny-q4_0", Box::new(device));
    let found = verify(&mut verifier, 3, &VerifyOptions { all: true, columns: 64 });
    let all = found
        .launches
        .iter()
        .flat_map(|launch| launch.checked.faults.iter().map(|fault| (launch.clone(), fault.clone())));
    all.filter(|(_, fault)| !matches!(fault.kind, FaultKind::WholeStep { .. })).collect()
}

/// The first parameter of a kernel with this access and format.
fn param(kernel: &Kernel, access: Access, format: Format) -> Option<usize> {
    kernel.params.iter().position(|param| param.access == access && param.format == format)
}

/// Changes bytes of a region.
fn change(device: &mut CpuDevice, region: Region, at: usize, to: &[u8]) {
    device.write(region.buffer, region.offset + at, to).unwrap();
}

/// A value of the second token that a kernel writes as `f32`: its place and its first byte.
fn some_value(kernel: &Kernel) -> Option<(Place, usize)> {
    kernel.parts.iter().enumerate().find_map(|(part, it)| {
        it.body.iter().find_map(|instr| {
            let Instr::Store { value, view, indexed: None } = instr else { return None };
            let column = it.lens()[*value].checked_sub(1)?;
            let mut row = vec![0; it.rows.len()];
            *row.first_mut()? = 1;
            let at = view.offset + view.strides[0] + column * view.step;
            let wanted = it.rows[0] == Dim::T && kernel.params[view.param].format == Format::F32;
            wanted.then_some((Place { param: view.param, part, row, column }, at * 4))
        })
    })
}

#[test]
fn a_wrong_value_is_named_exactly_wherever_it_is() {
    let mut named = BTreeSet::new();
    for nth in 0..30 {
        let (mut launch, injected) = (0, Arc::new(Mutex::new(None)));
        let told = Arc::clone(&injected);
        let found = faults(move |kernel, args, device| {
            if launch == nth
                && let Some((place, at)) = some_value(kernel)
            {
                let mut bytes = [0; 4];
                device.read(args[place.param].buffer, args[place.param].offset + at, &mut bytes).unwrap();
                let wrong = f32::from_le_bytes(bytes) * 1.01 + 1e-2;
                change(device, args[place.param], at, &wrong.to_le_bytes());
                *told.lock().unwrap() = Some((kernel.name.clone(), place, wrong));
            }
            launch += 1;
        });
        let Some((kernel, place, wrong)) = injected.lock().unwrap().take() else { continue };
        let [(launch, Fault { kind: FaultKind::Value(worst), count: 1 })] = &found[..] else {
            panic!("{kernel}, {place}: {found:?}")
        };
        assert_eq!((&launch.kernel, &worst.place, worst.found), (&kernel, &place, wrong));
        assert_eq!(launch.tokens, 2);
        let said = launch.faults().next().unwrap();
        let where_to = format!("`{kernel}` in {}, step of 2, p{} being ", launch.segment, place.param);
        assert!(said.starts_with(&where_to) && said.contains(&place.to_string()), "{said}");
        named.insert(launch.segment.clone());
    }
    let all = ["head", "layer 0", "layer 1", "layer 2", "tables"];
    assert!(all.iter().filter(|segment| named.contains(**segment)).count() >= 4, "{named:?}");
}

/// Bars are narrow enough for errors of a thousandth of a product's values.
#[test]
fn small_errors_of_products_show() {
    let found = faults(move |kernel, args, device| {
        if !kernel.parts.iter().any(|part| part.products().iter().any(|p| p.w.n == 2048)) {
            return;
        }
        // The logits: one of the last columns.
        let p = param(kernel, Access::Write, Format::F32).unwrap();
        let mut bytes = [0; 4];
        let at = 2047 * 4;
        device.read(args[p].buffer, args[p].offset + at, &mut bytes).unwrap();
        change(device, args[p], at, &(f32::from_le_bytes(bytes) + 1e-3).to_le_bytes());
    });
    // In the steps of two and of one.
    assert_eq!(found.len(), 2, "{found:?}");
    for (launch, fault) in found {
        let FaultKind::Value(worst) = &fault.kind else { panic!("{fault:?}") };
        assert_eq!((launch.segment.as_str(), worst.place.column, fault.count), ("head", 2047, 1));
    }
}

#[test]
fn unwritten_values_are_named_even_in_columns_not_compared() {
    let found = faults(move |kernel, args, device| {
        if kernel.parts.iter().any(|part| part.products().iter().any(|p| p.w.n == 2048)) {
            let p = param(kernel, Access::Write, Format::F32).unwrap();
            change(device, args[p], 1000 * 4, &[0xff; 8]);
        }
    });
    let (launch, fault) = &found[0];
    let FaultKind::Unwritten(first) = &fault.kind else { panic!("{fault:?}") };
    assert_eq!((launch.segment.as_str(), first.column, fault.count), ("head", 1000, 2));
}

#[test]
fn stray_writes_are_named_and_put_back() {
    let mut first = true;
    let found = faults(move |kernel, args, device| {
        // A row of the cache that belongs to no token.
        let half = Format::Ggml(GgmlType::F16);
        if let Some(p) = param(kernel, Access::Write, half).filter(|_| std::mem::take(&mut first)) {
            change(device, args[p], 50 * 2 * 48, &[0x00, 0x3c]);
        }
    });
    let [(launch, Fault { kind: FaultKind::Stray { param, value }, count: 1 })] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((launch.segment.as_str(), *value), ("layer 0", 50 * 48));
    assert!(
        launch.arguments[*param].starts_with("output kv") || launch.arguments[*param].starts_with("state kv")
    );
}

#[test]
fn wrong_sums_of_quants_are_named() {
    let mut first = true;
    let found = faults(move |kernel, args, device| {
        let Some(p) = param(kernel, Access::Write, Format::Q8).filter(|_| std::mem::take(&mut first)) else {
            return;
        };
        let sums = args[p].values + args[p].values / 8;
        change(device, args[p], sums, &12.5f32.to_le_bytes());
    });
    let [(_, Fault { kind: FaultKind::Sums(first), count: 1 })] = &found[..] else { panic!("{found:?}") };
    assert_eq!(first.column, 0);
}

#[test]
fn a_launch_that_does_not_wait_shows_in_the_step_as_a_whole() {
    let wrong = |program: &Program, device: &mut CpuDevice| {
        let Program { kernels, launches, .. } = program;
        if let [_, .., last] = &launches[..] {
            let p = param(&kernels[last.kernel], Access::Write, Format::F32).unwrap();
            change(device, last.args[p], 8, &7.0f32.to_le_bytes());
        }
    };
    let device = Faulty { device: cpu(), programs: BTreeMap::new(), wrong: Box::new(wrong) };
    let found = verify(&mut verifier("glm-tiny-q4_0", Box::new(device)), 1, &VerifyOptions::default());
    let said: Vec<String> = found.faults().collect();
    // The last launch of the body, and of the head if it has several.
    assert!(
        !said.is_empty()
            && said.iter().all(|s| s.contains("bytes differ when the whole step runs at once, first byte 8"))
    );
}

#[test]
fn it_can_be_cancelled_and_refuses_bad_tokens() {
    let mut verifier = verifier("glm-tiny-q4_0", Box::new(cpu()));
    let options = VerifyOptions::default();
    let cancel = AtomicBool::new(true);
    let ended = verifier.verify(&[1, 2, 3], &options, &cancel, &mut |_, _| {});
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    let cancel = AtomicBool::new(false);
    let refused = verifier.verify(&[], &options, &cancel, &mut |_, _| {}).unwrap_err();
    assert!(refused.to_string().contains("no tokens"), "{refused}");
    let refused = verifier.verify(&[999_999], &options, &cancel, &mut |_, _| {}).unwrap_err();
    assert!(refused.to_string().contains("token 999999 is not in the vocabulary"), "{refused}");
    // The verifier can be used again.
    let mut told = Vec::new();
    let found = verifier.verify(&[1, 2], &options, &cancel, &mut |done, total| told.push((done, total)));
    let found = found.unwrap();
    assert_eq!(found.faults().count(), 0);
    let total = found.launches.len() as u64;
    assert_eq!(told.last(), Some(&(total, total)));
}

#[test]
fn steps_are_a_prompt_a_few_tokens_and_one() {
    let verifier = verifier("glm-tiny-q4_0", Box::new(cpu()));
    for (tokens, steps) in [(1, &[1][..]), (2, &[1, 1]), (9, &[8, 1]), (10, &[1, 8, 1]), (40, &[24, 7, 8, 1])]
    {
        assert_eq!(verifier.steps(tokens), steps);
    }
}
