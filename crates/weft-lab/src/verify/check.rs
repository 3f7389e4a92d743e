//! Checks one launch: a device and the interpreter get the same bits, and their results are compared.
//!
//! Outputs are poisoned first, with bits that no computation gives, so that it shows what was not written, and what was written
//! where nothing belongs. Values that the kernel leaves alone are put back afterwards.

use std::collections::BTreeMap;
use std::ops::Range;

use weft_device::{BufferId, Device, DeviceError, ProgramId, Region, Weight};
use weft_kern::{Access, Bar, Format, Instr, Kernel, Sizes, interp, q8};

use super::findings::{Checked, Difference, FaultKind, Place};
use super::sample::{Origin, sampled};

/// A byte of poison for values of a format. Of floats, four of them are a NaN that no operation gives, and two of them one in half
/// precision. Four of an index's are a negative number other than −1, with which a list of positions ends.
fn poison(format: Format) -> u8 {
    match format {
        Format::I32 => 0x80,
        _ => 0xff,
    }
}

/// Float weights of more values are decoded row by row.
const MOST_DECODED: usize = 1 << 20;

/// A launch, and what is needed to check it.
pub(super) struct Launch<'a> {
    /// A program of this launch alone.
    pub(super) program: ProgramId,
    pub(super) kernel: &'a Kernel,
    pub(super) args: &'a [Region],
    /// The bytes of weights, which cannot be read back from the device.
    pub(super) weights: &'a BTreeMap<BufferId, Weight>,
    /// Columns of each product that are compared; 0 for all.
    pub(super) most: usize,
}

impl Launch<'_> {
    /// Runs it on the device and in the interpreter. An index out of bounds is a fault of the launch; then nothing is compared, and
    /// the device's error is returned, if it has one, because its values are void.
    pub(super) fn check(
        &self,
        device: &mut dyn Device,
        sizes: &Sizes,
    ) -> Result<(Checked, Option<DeviceError>), DeviceError> {
        let before = self.read(device)?;
        // A state that is updated in place is also read.
        for (region, poison) in self.only_written(&before) {
            device.write(region.buffer, region.offset, &poison)?;
        }
        let given: Vec<Vec<u8>> = (before.iter().zip(&self.kernel.params))
            .map(|(bytes, param)| match param.access {
                Access::Read | Access::ReadWrite => bytes.clone(),
                Access::Write => vec![poison(param.format); bytes.len()],
            })
            .collect();
        let (kernel, origins) = sampled(self.kernel, self.most);
        let mut oracle = self.buffers(&given)?;
        let ran = interp::run(&kernel, &mut oracle, sizes);
        let replayed = device.replay(self.program, sizes);
        let device_error = match replayed {
            Ok(()) => None,
            Err(error @ DeviceError::Index { .. }) => Some(error),
            Err(error) => return Err(error),
        };
        if ran.is_err() || device_error.is_some() {
            let oracle = ran.err().map(|error| error.why);
            let mut checked = Checked::default();
            checked.fault(FaultKind::Index { oracle, device: device_error.is_some() }, 1);
            return Ok((checked, device_error));
        }
        let after = self.read(device)?;
        let args = self.buffers(&given)?;
        let mut checked = Checked::default();
        let mask = self.coverage(&args, &after, sizes, &mut checked);
        for (param, mask) in mask {
            self.put_back(device, param, &mask, &before[param], &after[param], &mut checked)?;
        }
        let found = self.buffers(&after)?;
        let compare =
            Compare { kernel: &kernel, origins: &origins, args: &args, oracle: &oracle, found: &found };
        compare.all(self, &after, sizes, &mut checked);
        Ok((checked, None))
    }

    /// The bytes of every argument except weights.
    fn read(&self, device: &dyn Device) -> Result<Vec<Vec<u8>>, DeviceError> {
        let each = self.args.iter().zip(&self.kernel.params).map(|(region, param)| {
            if self.weights.contains_key(&region.buffer) {
                return Ok(Vec::new());
            }
            let mut bytes = vec![0; param.format.bytes(region.values).unwrap_or(0)];
            device.read(region.buffer, region.offset, &mut bytes)?;
            Ok(bytes)
        });
        each.collect()
    }

    fn only_written<'b>(&'b self, bytes: &'b [Vec<u8>]) -> impl Iterator<Item = (&'b Region, Vec<u8>)> {
        let all = self.args.iter().zip(bytes).zip(&self.kernel.params);
        let written = all.filter(|(_, param)| param.access == Access::Write);
        written.map(|((region, bytes), param)| (region, vec![poison(param.format); bytes.len()]))
    }

    /// The bytes of an argument that is a weight.
    fn weight(&self, param: usize) -> Option<&[u8]> {
        let Region { buffer, offset, values } = self.args[param];
        let len = self.kernel.params[param].format.bytes(values)?;
        (*self.weights.get(&buffer)?.bytes).as_ref().get(offset..)?.get(..len)
    }

    /// The arguments in the interpreter's form.
    fn buffers<'b>(&'b self, bytes: &'b [Vec<u8>]) -> Result<Vec<interp::Buffer<'b>>, DeviceError> {
        let each = (0..self.args.len()).map(|p| {
            let (format, values) = (self.kernel.params[p].format, self.args[p].values);
            let buffer = match (self.weight(p), format) {
                (Some(bytes), Format::Ggml(ty)) if values > MOST_DECODED => {
                    interp::Buffer::weight(ty, values, bytes)
                }
                (weight, _) => interp::Buffer::from_bytes(format, values, weight.unwrap_or(&bytes[p])),
            };
            buffer.map_err(|error| DeviceError::Usage(error.to_string()))
        });
        each.collect()
    }

    /// Which units of each parameter the kernel writes. Those that are still poison are a fault.
    fn coverage(
        &self,
        args: &[interp::Buffer<'_>],
        after: &[Vec<u8>],
        sizes: &Sizes,
        checked: &mut Checked,
    ) -> BTreeMap<usize, Vec<bool>> {
        let mut masks = BTreeMap::new();
        for (p, param) in self.kernel.params.iter().enumerate() {
            if param.access == Access::Write {
                masks.insert(p, vec![false; self.args[p].values / unit(param.format)]);
            }
        }
        for (part, it) in self.kernel.parts.iter().enumerate() {
            let lens = it.lens();
            for row in interp::rows(&it.rows, sizes) {
                for instr in &it.body {
                    let Instr::Store { value, view, indexed } = instr else { continue };
                    let Ok(at) = interp::place(args, view, indexed.as_ref(), &row) else { continue };
                    let format = self.kernel.params[view.param].format;
                    let (unit, values) = (unit(format), self.args[view.param].values);
                    let Some(mask) = masks.get_mut(&view.param) else { continue };
                    for column in (0..lens[*value]).step_by(unit) {
                        let index = (at + column * view.step) / unit;
                        let Some(written) = mask.get_mut(index) else { continue };
                        *written = true;
                        checked.values += unit as u64;
                        if is_poison(format, values, &after[view.param], index) {
                            let place = Place { param: view.param, part, row: row.clone(), column };
                            checked.fault(FaultKind::Unwritten(place), unit as u64);
                        }
                    }
                }
            }
        }
        masks
    }

    /// Puts back what was where nothing should be written, and finds what was written there nevertheless.
    fn put_back(
        &self,
        device: &mut dyn Device,
        param: usize,
        mask: &[bool],
        before: &[u8],
        after: &[u8],
        checked: &mut Checked,
    ) -> Result<(), DeviceError> {
        let (format, region) = (self.kernel.params[param].format, self.args[param]);
        let mut bytes = after.to_vec();
        for (index, _) in mask.iter().enumerate().filter(|(_, written)| !**written) {
            if !is_poison(format, region.values, after, index) {
                let value = index * unit(format);
                checked.fault(FaultKind::Stray { param, value }, unit(format) as u64);
            }
            for range in ranges(format, region.values, index) {
                bytes[range.clone()].copy_from_slice(&before[range]);
            }
        }
        device.write(region.buffer, region.offset, &bytes)
    }
}

/// Values that are written together: a block.
fn unit(format: Format) -> usize {
    match format {
        Format::Q8 => q8::BLOCK,
        Format::Ggml(ty) => ty.block_len(),
    }
}

/// The bytes of a unit. For `q8` these are its quants, its scale and its sums.
fn ranges(format: Format, values: usize, index: usize) -> [Range<usize>; 3] {
    match format {
        Format::Q8 => {
            let (quants, scale) = (index * q8::BLOCK, values + index * 4);
            let sums = values + values / 8 + index * 8;
            [quants..quants + q8::BLOCK, scale..scale + 4, sums..sums + 8]
        }
        Format::Ggml(ty) => [index * ty.block_bytes()..(index + 1) * ty.block_bytes(), 0..0, 0..0],
    }
}

/// Whether a unit is still poison.
fn is_poison(format: Format, values: usize, bytes: &[u8], index: usize) -> bool {
    let poison = poison(format);
    ranges(format, values, index).into_iter().all(|range| bytes[range].iter().all(|byte| *byte == poison))
}

/// The device's results, and the expected ones.
struct Compare<'a> {
    /// The columns that are compared.
    kernel: &'a Kernel,
    origins: &'a [Origin],
    args: &'a [interp::Buffer<'a>],
    oracle: &'a [interp::Buffer<'a>],
    found: &'a [interp::Buffer<'a>],
}

impl Compare<'_> {
    fn all(&self, launch: &Launch<'_>, after: &[Vec<u8>], sizes: &Sizes, checked: &mut Checked) {
        for (part, origin) in self.kernel.parts.iter().zip(self.origins) {
            for row in interp::rows(&part.rows, sizes) {
                // An index out of bounds has been reported, and nothing is compared then.
                let stored = interp::stores::<Bar>(self.kernel, part, self.args, &row);
                for mut stored in stored.unwrap_or_default() {
                    let param = stored.param;
                    let format = self.kernel.params[param].format;
                    Bar::round_stored(format, &mut stored.values);
                    let values = launch.args[param].values;
                    for (c, bar) in stored.values.iter().enumerate() {
                        let at = stored.at + c * stored.step;
                        if at >= values || is_poison(format, values, &after[param], at / unit(format)) {
                            // Already reported.
                            continue;
                        }
                        let column = origin.column + c;
                        let place = || Place { param, part: origin.part, row: row.clone(), column };
                        self.value(param, at, format, bar, place, checked);
                    }
                    if format == Format::Q8 {
                        let blocks = stored.at / q8::BLOCK..(stored.at + stored.values.len()) / q8::BLOCK;
                        for block in blocks.filter(|block| !sums_fit(values, &after[param], *block)) {
                            let column = origin.column + block * q8::BLOCK - stored.at;
                            let place = Place { param, part: origin.part, row: row.clone(), column };
                            checked.fault(FaultKind::Sums(place), 1);
                        }
                    }
                }
            }
            // The states of whole sequences.
            let updated = interp::updates::<Bar>(self.kernel, part, self.args, sizes);
            for stored in updated.unwrap_or_default() {
                let format = self.kernel.params[stored.param].format;
                for (c, bar) in stored.values.iter().enumerate() {
                    let at = stored.at + c * stored.step;
                    let param = stored.param;
                    let place = || Place { param, part: origin.part, row: Vec::new(), column: at };
                    checked.values += 1;
                    self.value(param, at, format, bar, place, checked);
                }
            }
        }
    }

    /// One value.
    fn value(
        &self,
        param: usize,
        at: usize,
        format: Format,
        bar: &Bar,
        place: impl Fn() -> Place,
        checked: &mut Checked,
    ) {
        let (expected, found) = (self.oracle[param].float(at), self.found[param].float(at));
        let expected_wide = f64::from(expected);
        let [low, value, high] = bar.stored(format);
        debug_assert!(
            value == expected_wide || value.is_nan() && expected.is_nan(),
            "the interpreter has {expected}, its error bars are around {value}"
        );
        if expected.is_nan() && found.is_nan() {
            checked.compared += 1;
            checked.fault(FaultKind::NotNumber(place()), 1);
        } else if expected.is_nan() {
            // Rounding never turns a NaN into a number. It can turn a number into a NaN, after the root of a value near 0 or an
            // uncertain choice, but then the error is infinite; no NaN is within a finite bar.
            checked.compare(Difference { place: place(), expected, found, bound: 0.0 });
        } else if !bar.error.is_finite() {
            checked.unknown += 1;
        } else {
            let bound = (high - expected_wide).max(expected_wide - low);
            checked.compare(Difference { place: place(), expected, found, bound });
        }
    }
}

/// Whether the sums of a `q8` block are exactly those of its quants.
fn sums_fit(values: usize, bytes: &[u8], block: usize) -> bool {
    let [quants, scale, sums] = ranges(Format::Q8, values, block).map(|range| &bytes[range]);
    let float = |bytes: &[u8]| bytes.first_chunk().map_or(f32::NAN, |b| f32::from_le_bytes(*b));
    let scale = float(scale);
    quants.chunks(16).zip(sums.chunks(4)).all(|(quants, sum)| {
        let total: i32 = quants.iter().map(|q| i32::from(*q as i8)).sum();
        let (expected, found) = (total as f32 * scale, float(sum));
        expected == found || expected.is_nan() && found.is_nan()
    })
}

#[cfg(test)]
mod tests;
