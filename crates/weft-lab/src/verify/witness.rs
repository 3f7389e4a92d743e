//! A device that wraps another one, runs its programs launch by launch, and checks the wanted launches.
//!
//! It stands between the engine and the device, so that it checks what the engine runs, on the activations that the device itself
//! computed. It keeps the bytes of weights, because a device has them in a layout of its own. At the end, each program is run once
//! more as a whole and must give the same bits. Outside of checked steps it passes everything on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_device::{
    BufferId, Checkpoints, Device, DeviceError, Forward, KernelLaunch, Mark, Program, ProgramId, Region,
    Weight,
};
use weft_kern::Sizes;

use super::check::Launch;
use super::findings::{Checked, FaultKind};

/// The task of a witness, and its findings.
#[derive(Debug, Default)]
pub(super) struct Shared {
    step: Mutex<StepCheck>,
    /// Launches checked so far.
    pub(super) done: AtomicU64,
    /// Whether to stop.
    pub(super) cancel: AtomicBool,
}

/// A step, and which of its launches to check.
#[derive(Debug, Default)]
pub(super) struct StepCheck {
    /// Whether any should be checked.
    is_checked: bool,
    /// For each launch of the step, in order, whether it is checked.
    wanted: Vec<bool>,
    /// Launches of the first program, the body. Those after them are of the second, the head, for each time it runs.
    body: usize,
    /// Columns of each product that are compared; 0 for all.
    most: usize,
    /// Whether the body has run.
    after_body: bool,
    /// The results of the checked launches, by their index in the step.
    pub(super) found: Vec<(usize, Checked)>,
}

impl StepCheck {
    /// A step whose first program has `body` launches. The `wanted` ones of all its launches are checked, in up to `most` columns of
    /// each product; 0 is for all.
    pub(super) fn new(wanted: Vec<bool>, body: usize, most: usize) -> StepCheck {
        StepCheck { is_checked: true, wanted, body, most, ..StepCheck::default() }
    }
}

impl Shared {
    pub(super) fn step(&self) -> MutexGuard<'_, StepCheck> {
        // After a panic, what was left half done matters less than the panic.
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The witness.
pub(super) struct Witness {
    device: Box<dyn Device>,
    weights: BTreeMap<BufferId, Weight>,
    programs: BTreeMap<ProgramId, Watched>,
    shared: Arc<Shared>,
}

/// A program, and ranges of its launches that have been compiled separately.
struct Watched {
    program: Program,
    pieces: BTreeMap<(usize, usize), ProgramId>,
}

impl Witness {
    pub(super) fn new(device: Box<dyn Device>, shared: Arc<Shared>) -> Witness {
        Witness { device, weights: BTreeMap::new(), programs: BTreeMap::new(), shared }
    }

    /// Compiles some launches of a program as a separate program.
    fn piece(&mut self, id: ProgramId, launches: Range<usize>) -> Result<ProgramId, DeviceError> {
        let unknown = || DeviceError::Usage(format!("{id:?} has no launches {launches:?}"));
        let Watched { program, pieces } = self.programs.get_mut(&id).ok_or_else(unknown)?;
        if let Some(known) = pieces.get(&(launches.start, launches.end)) {
            return Ok(*known);
        }
        let part = program.launches.get(launches.clone()).ok_or_else(unknown)?.to_vec();
        let part = Program { max: program.max, kernels: program.kernels.clone(), launches: part };
        let compiled = self.device.compile(&part)?;
        pieces.insert((launches.start, launches.end), compiled);
        Ok(compiled)
    }

    /// Runs a program whose first launch is launch `first` of the step.
    fn watch(
        &mut self,
        id: ProgramId,
        sizes: &Sizes,
        step: &mut StepCheck,
        first: usize,
    ) -> Result<(), DeviceError> {
        let wanted: Vec<bool> = {
            let launches = self.programs.get(&id).map_or(0, |watched| watched.program.launches.len());
            (first..first + launches).map(|i| step.wanted.get(i).copied().unwrap_or(false)).collect()
        };
        let mut at = 0;
        while at < wanted.len() {
            if self.shared.cancel.load(Ordering::Relaxed) {
                return Err(DeviceError::Usage("verifying was interrupted".into()));
            }
            if !wanted[at] {
                let end = (at..wanted.len()).find(|i| wanted[*i]).unwrap_or(wanted.len());
                let piece = self.piece(id, at..end)?;
                self.device.replay(piece, sizes)?;
                at = end;
                continue;
            }
            let piece = self.piece(id, at..at + 1)?;
            let Witness { device, weights, programs, shared, .. } = self;
            let program = &programs[&id].program;
            let KernelLaunch { kernel, args } = &program.launches[at];
            let kernel = &program.kernels[*kernel];
            let launch = Launch { program: piece, kernel, args, weights, most: step.most };
            let (checked, error) = launch.check(&mut **device, sizes)?;
            step.found.push((first + at, checked));
            shared.done.fetch_add(1, Ordering::Relaxed);
            if let Some(error) = error {
                return Err(error);
            }
            at += 1;
        }
        self.replay_whole(id, sizes, step, first)
    }

    /// Runs a program as a whole on what its launches left behind, and compares the results.
    fn replay_whole(
        &mut self,
        id: ProgramId,
        sizes: &Sizes,
        step: &mut StepCheck,
        first: usize,
    ) -> Result<(), DeviceError> {
        let Some(Watched { program, .. }) = self.programs.get(&id) else { return Ok(()) };
        let mut seen = BTreeSet::new();
        let mut left: Vec<(usize, usize, Region, Vec<u8>)> = Vec::new();
        // The last launch that wrote to a place is responsible for it.
        for (launch, KernelLaunch { kernel, args }) in program.launches.iter().enumerate().rev() {
            for (p, (region, param)) in args.iter().zip(&program.kernels[*kernel].params).enumerate() {
                let Region { buffer, offset, values } = *region;
                if param.access.writes() && seen.insert((buffer, offset, values)) {
                    let mut bytes = vec![0; param.format.bytes(values).unwrap_or(0)];
                    self.device.read(buffer, offset, &mut bytes)?;
                    left.push((launch, p, *region, bytes));
                }
            }
        }
        self.device.replay(id, sizes)?;
        for (launch, param, region, expected) in left {
            let mut found = vec![0; expected.len()];
            self.device.read(region.buffer, region.offset, &mut found)?;
            let other = |byte: &usize| expected[*byte] != found[*byte];
            let count = (0..found.len()).filter(other).count() as u64;
            if let Some(byte) = (0..found.len()).find(other) {
                let at = first + launch;
                let index = step.found.iter().rposition(|(known, _)| *known == at).unwrap_or_else(|| {
                    step.found.push((at, Checked::default()));
                    step.found.len() - 1
                });
                step.found[index].1.fault(FaultKind::WholeStep { param, byte }, count);
            }
        }
        Ok(())
    }
}

impl Forward for Witness {
    fn inner(&self) -> &dyn Device {
        &*self.device
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        let buffer = self.device.pack(weight.clone())?;
        self.weights.insert(buffer, Weight { tiles: None, ..weight });
        Ok(buffer)
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let id = self.device.compile(program)?;
        self.programs.insert(id, Watched { program: program.clone(), pieces: BTreeMap::new() });
        Ok(id)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let shared = Arc::clone(&self.shared);
        let mut step = shared.step();
        if !step.is_checked {
            return self.device.replay(program, sizes);
        }
        let first = if step.after_body { step.body } else { 0 };
        step.after_body = true;
        self.watch(program, sizes, &mut step, first)
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        if self.device.checkpoints().is_some() { Some(self) } else { None }
    }
}

impl Checkpoints for Witness {
    fn mark(&mut self) -> Mark {
        // A device without checkpoints frees nothing.
        let all = Mark { buffers: usize::MAX, programs: usize::MAX };
        Mark::of(&mut *self.device).unwrap_or(all)
    }

    fn rewind(&mut self, mark: Mark) {
        self.weights.retain(|buffer, _| (buffer.0 as usize) < mark.buffers);
        let stays = |program: ProgramId| (program.0 as usize) < mark.programs;
        self.programs.retain(|program, _| stays(*program));
        // A piece is compiled when it is first needed, perhaps after programs that are newer than its own.
        self.programs.values_mut().for_each(|watched| watched.pieces.retain(|_, piece| stays(*piece)));
        mark.restore(&mut *self.device);
    }
}
