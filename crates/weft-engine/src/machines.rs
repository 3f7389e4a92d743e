//! Machines that have been measured: a small text file for each in the cache folder, kept by the hardware and its driver.
//!
//! What was measured decides only what changes no bit ([`CostModel`]), so a file that is missing, damaged or of other hardware costs time and
//! nothing else: the table's numbers stand in for it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use weft_device::Hardware;
use weft_fuse::CostModel;
use weft_kern::Machine;

/// How names of the files begin.
const PREFIX: &str = "machine-";

/// A larger file is not read.
const MOST: u64 = 4096;

/// Numbers beyond these are a mistake: nothing is so slow, or so fast.
const PLAUSIBLE: [u64; 2] = [1, 1 << 60];

/// What decisions by cost are taken by on this hardware: as it was measured if the folder says, otherwise as the table has it.
pub fn cost_model(hardware: &Hardware, folder: Option<&Path>) -> CostModel {
    let Hardware { machine: fixed, rules_keep_bits, .. } = *hardware;
    let machine = folder.and_then(|folder| read(hardware, folder)).unwrap_or(fixed);
    CostModel { machine, fixed, rules_keep_bits }
}

/// Keeps what was measured on this hardware, for every engine that is loaded with this cache folder from now on.
///
/// # Errors
/// If the file cannot be written, or the numbers are not those of a machine.
pub fn keep_machine(hardware: &Hardware, folder: &Path, machine: &Machine) -> io::Result<PathBuf> {
    if !is_plausible(machine) {
        let problem = format!("no machine is as fast, or as slow, as this: {machine:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let path = path(hardware, folder);
    fs::create_dir_all(folder)?;
    weft_file::write(&path, text(hardware, machine).as_bytes())?;
    Ok(path)
}

/// Removes all that was measured. Returns how many bytes that frees.
pub(crate) fn clear(folder: &Path) -> io::Result<u64> {
    weft_file::remove_files(folder, |name| name.starts_with(PREFIX))
}

fn path(hardware: &Hardware, folder: &Path) -> PathBuf {
    folder.join(format!("{PREFIX}{:016x}.txt", checksum(hardware.key.as_bytes())))
}

/// The first line of a file of this hardware. A key is partly a driver's own text, and might have lines.
fn head(hardware: &Hardware) -> String {
    format!("weft machine 1 for {}", hardware.key.escape_debug())
}

fn text(hardware: &Hardware, machine: &Machine) -> String {
    let mut text = head(hardware) + "\n";
    for (name, number) in machine.numbers() {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name} {number}");
    }
    let sum = checksum(text.as_bytes());
    text + &format!("checksum {sum:016x}\n")
}

fn read(hardware: &Hardware, folder: &Path) -> Option<Machine> {
    let path = path(hardware, folder);
    if fs::metadata(&path).ok()?.len() > MOST {
        return None;
    }
    parse(hardware, &fs::read_to_string(&path).ok()?)
}

fn parse(hardware: &Hardware, found: &str) -> Option<Machine> {
    let line = |name: &str| found.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let machine = Machine::from_numbers(|name| line(name)?.parse().ok())?;
    // The one text that has these numbers, byte for byte.
    (is_plausible(&machine) && found == text(hardware, &machine)).then_some(machine)
}

fn is_plausible(machine: &Machine) -> bool {
    let [least, most] = PLAUSIBLE;
    machine.numbers().iter().all(|(_, number)| (least..=most).contains(number))
}

/// FNV-1a, 64 bits: finds accidental damage.
fn checksum(bytes: &[u8]) -> u64 {
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
        test(&folder);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_was_measured_is_known_to_the_same_hardware_and_driver_alone() {
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
            assert_eq!(cost_model(&own, None), table, "without a folder it is not looked for");

            let other = hardware("card 10de:1 driver 2");
            assert_eq!(cost_model(&other, Some(folder)).machine, other.machine);
            // Renamed to look like another driver's.
            fs::copy(&path, super::path(&other, folder)).unwrap();
            assert_eq!(cost_model(&other, Some(folder)).machine, other.machine);

            fs::write(folder.join("something-else.txt"), "x").unwrap();
            assert_eq!(clear(folder).unwrap(), 2 * text(&own, &measured()).len() as u64);
            assert_eq!(cost_model(&own, Some(folder)), table);
            assert!(folder.join("something-else.txt").exists());
        });
        assert_eq!(clear(Path::new("/nonexistent/weft")).unwrap(), 0);
    }

    #[test]
    fn a_damaged_file_counts_as_none() {
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
    fn what_is_no_machine_is_not_kept() {
        with_folder("implausible", |folder| {
            for (launch_ns, bytes) in [(0, 1 << 30), (1000, 0), (1000, u64::MAX)] {
                let machine = Machine { launch_ns, bytes, ..measured() };
                assert!(keep_machine(&hardware("a card"), folder, &machine).is_err());
            }
            assert!(!folder.exists());
        });
    }
}
