//! Linking: plans, bound to weights and states, become one program.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use weft_kern::{Buffer, F32, Format, Kernel, Plan, Sizes, Source};

use crate::device::Device;
use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::program::{KernelLaunch, Program, Region};

/// A plan and the buffers that it is applied to: one layer, for example.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The kernels.
    pub plan: Arc<Plan>,
    /// A packed weight for each [`Source::Weight`] of the plan.
    pub weights: BTreeMap<String, BufferId>,
    /// A buffer for each [`Source::State`] of the plan.
    pub states: BTreeMap<String, BufferId>,
    /// For each [`Source::Input`] of which the plan reads columns: how many columns come before those that are this instance's. The plan
    /// itself reads the first columns of its input.
    pub columns: BTreeMap<String, usize>,
    /// The outputs that are kept when the program has run, and where.
    pub kept: BTreeMap<String, Region>,
    /// Whether it may run at the same time as the instances around it: then it shares no arena with them.
    pub beside: bool,
}

/// Columns that a plan reads of a wider value begin at a multiple of this many bytes: devices load whole vectors, and the CPU whole cache
/// lines.
pub const COLUMN_BYTES: usize = 64;

/// Why plans could not be linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A plan reads something that nothing provides.
    #[error("plan `{plan}` reads {what}, which nothing provides")]
    Missing {
        /// The plan's name.
        plan: String,
        /// The value that it reads.
        what: String,
    },
    /// A plan reads a value as another kind than an earlier plan wrote it.
    #[error("plan `{plan}` reads `{name}` as {expected}, but an earlier plan wrote {found}")]
    Kind {
        /// The plan's name.
        plan: String,
        /// The value's name.
        name: String,
        /// The kind it reads.
        expected: String,
        /// The kind that was written.
        found: String,
    },
    /// A plan reads columns that it cannot.
    #[error("plan `{plan}` cannot read columns of `{name}`: {why}")]
    Columns {
        /// The plan's name.
        plan: String,
        /// The value's name.
        name: String,
        /// What was expected, and what was found.
        why: String,
    },
    /// Plans have different maximum sizes.
    #[error("plan `{plan}` was compiled for {found:?}, the others for {expected:?}")]
    Sizes {
        /// The plan's name.
        plan: String,
        /// Sizes of the first plan.
        expected: Sizes,
        /// Its own sizes.
        found: Sizes,
    },
    /// The device is out of memory, or refused a write.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A linked program.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The program, to be compiled.
    pub program: Program,
    /// Where each of the requested results will be.
    pub results: BTreeMap<String, Region>,
    /// The part of each instance, in order.
    pub parts: Vec<LinkedPart>,
}

/// The part of a linked program that one instance became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkedPart {
    /// Its launches.
    pub launches: Range<usize>,
    /// Where its outputs are when these have run. Later instances may overwrite those that nothing reads.
    pub outputs: BTreeMap<String, Region>,
}

impl Linked {
    /// One part as a program of its own. Run in order, the parts compute what the whole program does.
    pub fn part(&self, part: &LinkedPart) -> Program {
        let mut kernels: Vec<Arc<Kernel>> = Vec::new();
        let mut launches = self.program.launches[part.launches.clone()].to_vec();
        for launch in &mut launches {
            let kernel = &self.program.kernels[launch.kernel];
            let known = kernels.iter().position(|known| Arc::ptr_eq(known, kernel));
            launch.kernel = known.unwrap_or_else(|| {
                kernels.push(Arc::clone(kernel));
                kernels.len() - 1
            });
        }
        Program { max: self.program.max, kernels, launches }
    }
}

/// Links instances that run one after another into one program.
///
/// Values pass from one instance to the next by name: an output replaces the earlier value of its name. `inputs` are the values that come
/// from outside, `results` the names whose final values are wanted. A buffer whose value is never read again is reused, and all plans
/// share one arena, but for those that may run [beside](Instance::beside) others: these share another one.
///
/// # Errors
/// If a name has no value, plans do not fit together, or the device is out of memory.
pub fn link(
    device: &mut dyn Device,
    instances: &[Instance],
    inputs: &BTreeMap<String, Region>,
    results: &[&str],
) -> Result<Linked, LinkError> {
    let max = instances.first().map(|i| i.plan.max).unwrap_or_default();
    let mut arenas = Vec::with_capacity(2);
    for beside in [false, true] {
        let own = instances.iter().filter(|instance| instance.beside == beside);
        let most = own.map(|instance| instance.plan.arena).max();
        arenas.push(most.map(|bytes| device.alloc(bytes)).transpose()?);
    }
    let mut linker = Linker {
        arenas,
        device,
        values: inputs.clone(),
        kinds: BTreeMap::new(),
        pool: Vec::new(),
        constants: Vec::new(),
        kept: BTreeSet::new(),
        program: Program { max, kernels: Vec::new(), launches: Vec::new() },
    };
    let mut parts = Vec::with_capacity(instances.len());
    for (i, instance) in instances.iter().enumerate() {
        if instance.plan.max != max {
            let (plan, found) = (instance.plan.name.clone(), instance.plan.max);
            return Err(LinkError::Sizes { plan, expected: max, found });
        }
        let first = linker.program.launches.len();
        let outputs = linker.instance(instance, inputs)?;
        parts.push(LinkedPart { launches: first..linker.program.launches.len(), outputs });
        linker.release(&instances[i + 1..], inputs, results);
    }
    let missing = |name: &str| LinkError::Missing { plan: "results".into(), what: format!("value `{name}`") };
    let results = results
        .iter()
        .map(|name| Ok((name.to_string(), *linker.values.get(*name).ok_or_else(|| missing(name))?)))
        .collect::<Result<_, LinkError>>()?;
    Ok(Linked { program: linker.program, results, parts })
}

/// A value's format and shape as text.
fn kind(buffer: &Buffer) -> String {
    format!("{}{}", buffer.format, buffer.shape)
}

/// A value without its first `before` columns.
///
/// # Errors
/// If they are not there, or the others do not begin where devices can load them.
fn after_columns(region: Region, before: usize, format: Format) -> Result<Region, String> {
    if before == 0 {
        return Ok(region);
    }
    let Format::Ggml(_) = format else {
        return Err(format!("expected values that are stored one after another, found {format}"));
    };
    let (Some(bytes), Some(values)) = (format.bytes(before), region.values.checked_sub(before)) else {
        return Err(format!("expected {before} columns before its own, found {} values", region.values));
    };
    match bytes.is_multiple_of(COLUMN_BYTES) {
        true => Ok(Region { offset: region.offset + bytes, values, ..region }),
        false => {
            Err(format!("expected columns from a multiple of {COLUMN_BYTES} bytes on, found byte {bytes}"))
        }
    }
}

struct Linker<'d> {
    device: &'d mut dyn Device,
    /// That of most instances, and that of those beside others, if there are any.
    arenas: Vec<Option<BufferId>>,
    /// Where the current value of each name is.
    values: BTreeMap<String, Region>,
    /// The kind of each value that an earlier plan wrote.
    kinds: BTreeMap<String, String>,
    /// Buffers whose values are not needed any more, with their sizes in bytes.
    pool: Vec<(BufferId, usize)>,
    constants: Vec<(Vec<F32>, BufferId)>,
    /// The buffers of values that are kept.
    kept: BTreeSet<BufferId>,
    program: Program,
}

impl Linker<'_> {
    /// Adds the launches of an instance. Returns where its outputs are.
    fn instance(
        &mut self,
        instance: &Instance,
        inputs: &BTreeMap<String, Region>,
    ) -> Result<BTreeMap<String, Region>, LinkError> {
        let plan = &instance.plan;
        let reads = |name: &str| {
            plan.buffers.iter().any(|b| matches!(&b.source, Source::Input(input) if input == name))
        };
        if let Some(name) = instance.columns.keys().find(|name| !reads(name)) {
            let why = "it has no input of that name".to_string();
            return Err(LinkError::Columns { plan: plan.name.clone(), name: name.clone(), why });
        }
        let arena = self.arenas[usize::from(instance.beside)];
        let mut outputs = Vec::new();
        let mut regions = Vec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            let missing =
                || LinkError::Missing { plan: plan.name.clone(), what: format!("`{}`", buffer.source) };
            let values = buffer.values(&plan.max).ok_or_else(missing)?;
            let whole = |buffer: &BufferId| Region { buffer: *buffer, offset: 0, values };
            regions.push(match &buffer.source {
                Source::Arena(offset) => {
                    Region { buffer: arena.ok_or_else(missing)?, offset: *offset, values }
                }
                Source::Weight(name) => whole(instance.weights.get(name).ok_or_else(missing)?),
                Source::State { name, .. } => whole(instance.states.get(name).ok_or_else(missing)?),
                Source::Input(name) => {
                    let expected = kind(buffer);
                    if let Some(found) = self.kinds.get(name).filter(|found| **found != expected) {
                        let (plan, name, found) = (plan.name.clone(), name.clone(), found.clone());
                        return Err(LinkError::Kind { plan, name, expected, found });
                    }
                    let region = *self.values.get(name).ok_or_else(missing)?;
                    let before = instance.columns.get(name).copied().unwrap_or(0);
                    after_columns(region, before, buffer.format).map_err(|why| LinkError::Columns {
                        plan: plan.name.clone(),
                        name: name.clone(),
                        why,
                    })?
                }
                Source::Constant(constant) => whole(&self.constant(constant)?),
                Source::Output(name) => {
                    let region = match instance.kept.get(name) {
                        Some(kept) if kept.values >= values => Region { values, ..*kept },
                        Some(_) => return Err(missing()),
                        None => whole(&self.room(buffer, &plan.max)?),
                    };
                    outputs.push((name.clone(), region, kind(buffer)));
                    region
                }
            });
        }
        let kernels: Vec<usize> = plan.kernels.iter().map(|k| self.kernel(k)).collect();
        self.program.launches.extend(plan.calls.iter().map(|call| KernelLaunch {
            kernel: kernels[call.kernel],
            args: call.args.iter().map(|b| regions[*b]).collect(),
        }));
        let own = outputs.iter().map(|(name, region, _)| (name.clone(), *region)).collect();
        // Not earlier: the instance reads the old values of these names.
        for (name, region, kind) in outputs {
            self.kinds.insert(name.clone(), kind);
            if instance.kept.contains_key(&name) {
                self.kept.insert(region.buffer);
            }
            let from_outside = inputs.contains_key(&name);
            if let Some(old) = self.values.insert(name, region)
                && !from_outside
            {
                self.free(old);
            }
        }
        Ok(own)
    }

    /// The kernel's index in the program. Kernels that differ only in their names are one.
    fn kernel(&mut self, kernel: &Kernel) -> usize {
        let same = self.program.kernels.iter().position(|k| k.same_work(kernel));
        same.unwrap_or_else(|| {
            self.program.kernels.push(Arc::new(kernel.clone()));
            self.program.kernels.len() - 1
        })
    }

    fn constant(&mut self, values: &[F32]) -> Result<BufferId, DeviceError> {
        if let Some((_, buffer)) = self.constants.iter().find(|(v, _)| v == values) {
            return Ok(*buffer);
        }
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.0.to_le_bytes()).collect();
        let buffer = self.device.alloc(bytes.len())?;
        self.device.write(buffer, 0, &bytes)?;
        self.constants.push((values.to_vec(), buffer));
        Ok(buffer)
    }

    /// A buffer for an output: the smallest free one that is large enough, else a new one.
    fn room(&mut self, buffer: &Buffer, max: &Sizes) -> Result<BufferId, DeviceError> {
        let bytes = buffer.bytes(max).unwrap_or(usize::MAX);
        let fits = self.pool.iter().enumerate().filter(|(_, (_, size))| *size >= bytes);
        match fits.min_by_key(|(_, (_, size))| *size).map(|(i, _)| i) {
            Some(i) => Ok(self.pool.swap_remove(i).0),
            None => self.device.alloc(bytes),
        }
    }

    /// Frees every value that is not a result and that no later instance reads before it is replaced.
    fn release(&mut self, later: &[Instance], inputs: &BTreeMap<String, Region>, results: &[&str]) {
        let read_later = |name: &str| {
            for instance in later {
                let buffers = &instance.plan.buffers;
                if buffers.iter().any(|b| matches!(&b.source, Source::Input(n) if n == name)) {
                    return true;
                }
                if buffers.iter().any(|b| matches!(&b.source, Source::Output(n) if n == name)) {
                    return false;
                }
            }
            results.contains(&name)
        };
        let dead: Vec<String> =
            self.values.keys().filter(|n| !inputs.contains_key(*n) && !read_later(n)).cloned().collect();
        for name in dead {
            if let Some(region) = self.values.remove(&name) {
                self.free(region);
            }
        }
    }

    /// Makes a value's buffer available again.
    fn free(&mut self, region: Region) {
        let bytes = Format::F32.bytes(region.values).unwrap_or(0);
        if !self.kept.contains(&region.buffer) {
            self.pool.push((region.buffer, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null::NullDevice;

    /// A plan that copies 16 columns of a value.
    const PLAN: &str = "plan copy T=2 R=1 S=0 P=0 arena=0 {
b0 = input x : f32[T, 48]
b1 = output y : f32[T, 16]
kernel copy {
  p0 read f32
  p1 write f32
  rows [T] cols 16
  map
  v0 = load 16 p0[0; 48; 1]
  v1 = store v0 p1[0; 16; 1]
}
call copy b0 b1
}
";

    /// Links the plan to a value of 2 × 48 values, and returns where it reads it.
    fn reads(columns: &[(&str, usize)]) -> Result<(usize, usize), String> {
        let mut device = NullDevice::default();
        let buffer = device.alloc(2 * 48 * 4).unwrap();
        let plan = Arc::new(weft_kern::parse_plan(PLAN).unwrap());
        let columns = columns.iter().map(|(name, before)| (name.to_string(), *before)).collect();
        let instance = Instance {
            plan,
            weights: BTreeMap::new(),
            states: BTreeMap::new(),
            columns,
            kept: BTreeMap::new(),
            beside: false,
        };
        let inputs = BTreeMap::from([("x".to_string(), Region { buffer, offset: 0, values: 96 })]);
        let linked = link(&mut device, &[instance], &inputs, &["y"]).map_err(|error| error.to_string())?;
        let Region { offset, values, .. } = linked.program.launches[0].args[0];
        Ok((offset, values))
    }

    #[test]
    fn columns_begin_where_devices_can_load_them() {
        assert_eq!(reads(&[]), Ok((0, 96)));
        assert_eq!(reads(&[("x", 0)]), Ok((0, 96)));
        assert_eq!(reads(&[("x", 32)]), Ok((128, 64)));
        for (columns, why) in [
            (("x", 24), "`x`: expected columns from a multiple of 64 bytes on, found byte 96"),
            (("x", 112), "`x`: expected 112 columns before its own, found 96 values"),
            (("z", 16), "`z`: it has no input of that name"),
        ] {
            let expected = format!("plan `copy` cannot read columns of {why}");
            assert_eq!(reads(&[columns]), Err(expected), "{columns:?}");
        }
    }
}
