//! Measurements of machines: a small text file in the cache folder for each kind of hardware and its driver, and for
//! each build of Weft, because its own kernels are measured.
//!
//! Measurements affect only decisions that change no bit ([`CostModel`]). A file that is missing, damaged or of other
//! hardware or another build therefore costs only time: the built-in numbers are used instead.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::{fs, io};

use weft_device::Hardware;
use weft_fuse::CostModel;
use weft_kern::Machine;

/// The prefix of file names.
const PREFIX: &str = "machine-";

/// The size of the largest file that is read.
const MAX_BYTES: u64 = 4096;

/// The most workers that are plausible, and the most nanoseconds of a launch.
const MOST_WORKERS: u64 = 1_000_000;
const MOST_LAUNCH_NS: u64 = 1_000_000_000;

/// The range of plausible rates per second.
const RATES: RangeInclusive<u64> = 1_000_000..=100_000_000_000_000_000;

/// The version and the kind of this build.
pub(crate) const BUILD: &str = if cfg!(debug_assertions) {
    concat!(env!("CARGO_PKG_VERSION"), " debug")
} else {
    env!("CARGO_PKG_VERSION")
};

/// Returns the cost model of this hardware, from the measurements in `folder` or, if there are none, from built-in
/// numbers.
pub fn cost_model(hardware: &Hardware, folder: Option<&Path>) -> CostModel {
    let Hardware { machine: fixed, rules_keep_bits, distant, .. } = *hardware;
    let machine = folder.and_then(|folder| read(hardware, folder)).unwrap_or(fixed);
    CostModel { machine, fixed, rules_keep_bits, distant }
}

/// Stores the measurements of this hardware, for all engines that are loaded with this cache folder later. Returns the
/// path of the file.
///
/// # Errors
/// If the file cannot be written, or the numbers are not plausible.
pub fn keep_machine(hardware: &Hardware, folder: &Path, machine: &Machine) -> io::Result<PathBuf> {
    if !is_plausible(machine) {
        let problem = format!("the measurements are not plausible: {machine:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let path = path(hardware, folder);
    fs::create_dir_all(folder)?;
    weft_file::write(&path, text(hardware, machine).as_bytes())?;
    Ok(path)
}

/// Removes all measurements. Returns the number of bytes freed.
pub(crate) fn clear(folder: &Path) -> io::Result<u64> {
    weft_file::remove_files(folder, |name| weft_file::is_keyed(name, PREFIX, ".txt"))
}

fn path(hardware: &Hardware, folder: &Path) -> PathBuf {
    folder.join(format!("{PREFIX}{:016x}.txt", checksum(head(hardware).as_bytes())))
}

/// The first line of a file. Keys contain text from drivers, and could contain line breaks.
fn head(hardware: &Hardware) -> String {
    format!("weft {BUILD}, machine 2 for {}", hardware.key.escape_debug())
}

fn text(hardware: &Hardware, machine: &Machine) -> String {
    sealed(&head(hardware), machine)
}

/// The text of a file with this first line.
fn sealed(head: &str, machine: &Machine) -> String {
    let mut text = format!("{head}\n");
    for (name, number) in machine.numbers() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {number}");
    }
    let sum = checksum(text.as_bytes());
    text + &format!("checksum {sum:016x}\n")
}

fn read(hardware: &Hardware, folder: &Path) -> Option<Machine> {
    let path = path(hardware, folder);
    if fs::metadata(&path).ok()?.len() > MAX_BYTES {
        return None;
    }
    parse(hardware, &fs::read_to_string(&path).ok()?)
}

fn parse(hardware: &Hardware, found: &str) -> Option<Machine> {
    let line = |name: &str| found.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let machine = Machine::from_numbers(|name| line(name)?.parse().ok())?;
    // Exactly one text is valid for these numbers.
    (is_plausible(&machine) && found == text(hardware, &machine)).then_some(machine)
}

fn is_plausible(machine: &Machine) -> bool {
    let Machine {
        workers,
        launch_ns,
        worker_bytes,
        bytes,
        worker_multiplications,
        worker_float_multiplications,
        worker_values,
        row_workers,
        columns,
    } = *machine;
    let rates = [worker_bytes, bytes, worker_multiplications, worker_float_multiplications, worker_values];
    (1..=MOST_WORKERS).contains(&workers)
        && (1..=MOST_WORKERS).contains(&row_workers)
        && (1..=MOST_WORKERS).contains(&columns)
        && (1..=MOST_LAUNCH_NS).contains(&launch_ns)
        && rates.iter().all(|rate| RATES.contains(rate))
        && worker_bytes <= bytes
}

/// 64-bit FNV-1a, to detect accidental damage.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hardware(key: &str) -> Hardware {
        Hardware { rules_keep_bits: false, ..Hardware::common(key) }
    }

    fn measured() -> Machine {
        Machine { workers: 132, bytes: 4_230_000_000_000, ..Machine::default() }
    }

    fn with_folder(name: &str, test: impl FnOnce(&Path)) {
        let folder = std::env::temp_dir().join(format!("weft-machines-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        test(&folder);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn measurements_are_used_for_the_same_hardware_and_driver_only() {
        with_folder("known", |folder| {
            let own = hardware("card 10de:1 driver 1\n");
            let table = cost_model(&own, None);
            assert_eq!(
                (table.machine, table.fixed, table.rules_keep_bits),
                (own.machine, own.machine, false)
            );
            assert_eq!(cost_model(&own, Some(folder)), table, "there is no file yet");
            let path = keep_machine(&own, folder, &measured()).unwrap();
            let known = cost_model(&own, Some(folder));
            assert_eq!(
                known,
                CostModel { machine: measured(), ..table },
                "the table still decides what changes bits"
            );
            assert_eq!(cost_model(&own, None), table, "without a folder");

            let other = hardware("card 10de:1 driver 2");
            assert_eq!(cost_model(&other, Some(folder)).machine, other.machine);
            // A file renamed to another driver's name.
            fs::copy(&path, super::path(&other, folder)).unwrap();
            assert_eq!(cost_model(&other, Some(folder)).machine, other.machine);

            for foreign in ["something-else.txt", "machine-notes.txt"] {
                fs::write(folder.join(foreign), "x").unwrap();
            }
            assert_eq!(clear(folder).unwrap(), 2 * text(&own, &measured()).len() as u64);
            assert_eq!(cost_model(&own, Some(folder)), table);
            assert!(folder.join("something-else.txt").exists() && folder.join("machine-notes.txt").exists());
            assert_eq!(clear(&folder.join("none")).unwrap(), 0);
        });
    }

    #[test]
    fn damaged_files_are_ignored() {
        let own = hardware("a card");
        let text = text(&own, &measured());
        assert_eq!(parse(&own, &text), Some(measured()));
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            assert_eq!(
                String::from_utf8(damaged).ok().and_then(|text| parse(&own, &text)),
                None,
                "byte {at}"
            );
            assert_eq!(parse(&own, &text[..at]), None, "{at} bytes of it");
        }
        assert_eq!(parse(&own, &format!("{text}\n")), None);
    }

    #[test]
    fn measurements_of_other_builds_are_ignored() {
        let (own, version) = (hardware("a card"), env!("CARGO_PKG_VERSION"));
        let head = head(&own);
        assert_eq!(head.contains("debug"), cfg!(debug_assertions), "{head}");
        let other_kind = match head.contains("debug") {
            true => head.replacen(" debug", "", 1),
            false => head.replacen(version, &format!("{version} debug"), 1),
        };
        for other in [head.replacen(version, "0.0.0", 1), other_kind] {
            assert_ne!(other, head);
            assert_eq!(parse(&own, &sealed(&other, &measured())), None, "{other}");
        }
        assert_eq!(parse(&own, &sealed(&head, &measured())), Some(measured()));
    }

    #[test]
    fn implausible_measurements_are_refused() {
        with_folder("implausible", |folder| {
            let (own, fine) = (hardware("a card"), measured());
            let (least, most) = (*RATES.start(), *RATES.end());
            for machine in [
                Machine { workers: 0, ..fine },
                Machine { columns: 0, ..fine },
                Machine { workers: 1_000_001, ..fine },
                Machine { launch_ns: 0, ..fine },
                Machine { launch_ns: 1_000_000_001, ..fine },
                Machine { bytes: most + 1, ..fine },
                Machine { worker_bytes: fine.bytes + 1, ..fine },
                Machine { worker_bytes: least - 1, ..fine },
                Machine { worker_multiplications: least - 1, ..fine },
                Machine { worker_float_multiplications: most + 1, ..fine },
                Machine { worker_values: u64::MAX, ..fine },
            ] {
                assert!(keep_machine(&own, folder, &machine).is_err(), "{machine:?}");
                assert_eq!(parse(&own, &text(&own, &machine)), None, "{machine:?}");
            }
            assert!(!folder.exists());
            let extreme = Machine {
                workers: MOST_WORKERS,
                launch_ns: MOST_LAUNCH_NS,
                worker_bytes: most,
                bytes: most,
                worker_multiplications: least,
                worker_float_multiplications: least,
                worker_values: most,
                row_workers: MOST_WORKERS,
                columns: MOST_WORKERS,
            };
            assert_eq!(parse(&own, &text(&own, &extreme)), Some(extreme));
        });
    }
}
