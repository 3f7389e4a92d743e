//! Decisions that were measured to pay: a small text file in the cache folder for each model on each kind of hardware.
//!
//! `weft ablate --keep` and `weft optimize` write it, and whatever opens the model reads it. A file that is missing, damaged,
//! or of another model, other hardware or another build counts as none: the defaults apply.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use weft_device::Hardware;
use weft_fuse::{Decision, Mode, decision};
use weft_gguf::Gguf;
use weft_ir::Switches;
use weft_pack::fingerprint;

use crate::devices::machines::{BUILD, checksum};

/// The prefix of file names.
const PREFIX: &str = "decisions-";

/// The size of the largest file that is read.
const MAX_BYTES: u64 = 16 << 10;

/// The longest reason, in bytes.
const MAX_WHY: usize = 120;

/// A decision that was measured to pay for a model on some hardware.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunedDecision {
    /// The decision.
    pub decision: &'static Decision,
    /// The mode that pays.
    pub mode: Mode,
    /// The measured gain in a few words: `decode +3.1 %, prefill +0.2 %`. Characters other than printable ASCII are replaced when it is
    /// kept, and it is cut if it is too long.
    pub why: String,
}

/// Returns the decisions kept for a model on this hardware; none without a folder.
pub fn tuned_decisions(hardware: &Hardware, folder: Option<&Path>, model: &Gguf) -> Vec<TunedDecision> {
    let Some(folder) = folder else { return Vec::new() };
    let is_own = |name: &str| weft_file::is_keyed(name, PREFIX, ".txt");
    let entries = weft_file::entries(folder).unwrap_or_default();
    // Identifying a model reads parts of it.
    if !entries.iter().any(|entry| entry.file_name().to_str().is_some_and(is_own)) {
        return Vec::new();
    }
    read(hardware, folder, fingerprint(model)).unwrap_or_default()
}

/// Returns the settings of decisions.
pub fn switches_of(decisions: &[TunedDecision]) -> Switches {
    let mut switches = Switches::default();
    decisions.iter().for_each(|one| switches.set(one.decision, one.mode));
    switches
}

/// Keeps decisions for a model on this hardware, in place of those kept before. Everything that opens the model with this
/// cache folder uses them. Returns the path of the file; `None` if there are no decisions, and then there is no file.
///
/// # Errors
/// If the file cannot be written or removed.
pub fn keep_decisions(
    hardware: &Hardware,
    folder: &Path,
    model: &Gguf,
    decisions: &[TunedDecision],
) -> io::Result<Option<PathBuf>> {
    let model = fingerprint(model);
    let path = path(hardware, folder, model);
    if decisions.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        };
    }
    fs::create_dir_all(folder)?;
    weft_file::write(&path, text(hardware, model, decisions).as_bytes())?;
    Ok(Some(path))
}

/// Removes all kept decisions. Returns the number of bytes freed.
pub(crate) fn clear(folder: &Path) -> io::Result<u64> {
    weft_file::remove_files(folder, |name| weft_file::is_keyed(name, PREFIX, ".txt"))
}

fn path(hardware: &Hardware, folder: &Path, model: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{:016x}.txt", checksum(head(hardware, model).as_bytes())))
}

/// The first line of a file. Keys contain text from drivers, and could contain line breaks.
fn head(hardware: &Hardware, model: u64) -> String {
    format!("weft {BUILD}, decisions 1 for model {model:016x} on {}", hardware.key.escape_debug())
}

fn text(hardware: &Hardware, model: u64, decisions: &[TunedDecision]) -> String {
    let mut text = head(hardware, model) + "\n";
    for TunedDecision { decision, mode, why } in decisions {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {} {}", decision.name, mode.name(), printable(why));
    }
    let sum = checksum(text.as_bytes());
    text + &format!("checksum {sum:016x}\n")
}

fn printable(why: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    why.chars().take(MAX_WHY).map(plain).collect()
}

fn read(hardware: &Hardware, folder: &Path, model: u64) -> Option<Vec<TunedDecision>> {
    let path = path(hardware, folder, model);
    if fs::metadata(&path).ok()?.len() > MAX_BYTES {
        return None;
    }
    parse(hardware, model, &fs::read_to_string(&path).ok()?)
}

fn parse(hardware: &Hardware, model: u64, found: &str) -> Option<Vec<TunedDecision>> {
    let lines: Vec<&str> = found.lines().collect();
    let [_, lines @ .., _] = &lines[..] else { return None };
    let one = |line: &&str| {
        let mut words = line.splitn(3, ' ');
        let (decision, mode) = (decision(words.next()?)?, Mode::from_name(words.next()?)?);
        Some(TunedDecision { decision, mode, why: words.next()?.into() })
    };
    let decisions: Vec<TunedDecision> = lines.iter().map(one).collect::<Option<_>>()?;
    let is_new = |at: usize| decisions[..at].iter().all(|other| other.decision != decisions[at].decision);
    // Exactly one text is valid for these decisions.
    let is_valid = (0..decisions.len()).all(is_new) && found == text(hardware, model, &decisions);
    is_valid.then_some(decisions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hardware(key: &str) -> Hardware {
        Hardware::common(key)
    }

    fn fixture(name: &str) -> Gguf {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
        crate::open_file(&path).unwrap()
    }

    fn tail(mode: Mode, why: &str) -> TunedDecision {
        TunedDecision { decision: decision("fuse.tail").unwrap(), mode, why: why.into() }
    }

    #[test]
    fn decisions_are_used_for_the_same_model_and_hardware_only() {
        let folder = std::env::temp_dir().join(format!("weft-decisions-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (own, model) = (hardware("a card\n"), fixture("glm-tiny-q4_0.gguf"));
        let known = |hardware: &Hardware, model: &Gguf| tuned_decisions(hardware, Some(&folder), model);
        assert_eq!(known(&own, &model), [], "there is no folder yet");
        assert_eq!(keep_decisions(&own, &folder, &model, &[]).unwrap(), None);
        assert!(!folder.exists());

        let why = format!("decode +3.1 %\n\u{1b}[31m{}", "x".repeat(MAX_WHY));
        let kept = keep_decisions(&own, &folder, &model, &[tail(Mode::Off, &why)]).unwrap().unwrap();
        let found = known(&own, &model);
        let [TunedDecision { mode: Mode::Off, why, .. }] = &found[..] else { panic!("{found:?}") };
        assert!(why.len() == MAX_WHY && why.starts_with("decode +3.1 %??[31mxxx"), "{why}");
        assert_eq!(known(&hardware("another"), &model), []);
        assert_eq!(known(&own, &fixture("glm-tiny-q8_0.gguf")), []);
        assert_eq!(tuned_decisions(&own, None, &model), []);

        // The later decisions replace the earlier.
        let router = TunedDecision { decision: decision("fuse.router").unwrap(), ..tail(Mode::ByCost, "x") };
        keep_decisions(&own, &folder, &model, std::slice::from_ref(&router)).unwrap();
        assert_eq!(known(&own, &model), [router]);
        fs::write(folder.join("decisions-of-mine.txt"), "x").unwrap();
        let bytes = fs::metadata(&kept).unwrap().len();
        assert_eq!(clear(&folder).unwrap(), bytes);
        assert!(!kept.exists() && folder.join("decisions-of-mine.txt").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn damaged_and_hostile_files_count_as_none() {
        let (own, all) = (hardware("a card"), [tail(Mode::Off, "decode +3 %")]);
        let good = text(&own, 7, &all);
        assert_eq!(parse(&own, 7, &good).as_deref(), Some(&all[..]));
        for at in 0..good.len() {
            let mut damaged = good.clone().into_bytes();
            damaged[at] ^= 1;
            let damaged = String::from_utf8(damaged).unwrap();
            assert_eq!(parse(&own, 7, &damaged), None, "byte {at}");
            assert_eq!(parse(&own, 7, &good[..at]), None, "{at} bytes of it");
        }
        assert_eq!(parse(&own, 8, &good), None, "another model's");
        assert_eq!(parse(&own, 7, &text(&own, 7, &[all.clone(), all].concat())), None, "set twice");
        let sealed = |lines: &str| {
            let text = format!("{}\n{lines}", head(&own, 7));
            format!("{text}checksum {:016x}\n", checksum(text.as_bytes()))
        };
        assert!(parse(&own, 7, &sealed("fuse.tail on why\n")).is_some());
        for lines in ["fuse.tale on why\n", "fuse.tail maybe why\n", "fuse.tail on\n", "fuse.tail\n", "\n"] {
            assert_eq!(parse(&own, 7, &sealed(lines)), None, "{lines:?}");
        }
    }

    #[test]
    fn settings_by_hand_win() {
        let (tail, router) = (decision("fuse.tail").unwrap(), decision("fuse.router").unwrap());
        let mut kept = Switches::default();
        kept.set(tail, Mode::Off);
        kept.set(router, Mode::Off);
        let mut own = Switches::default();
        own.set(tail, Mode::On);
        let all = own.on_top_of(&kept);
        assert_eq!((all.mode(tail), all.mode(router)), (Mode::On, Mode::Off));
    }
}
