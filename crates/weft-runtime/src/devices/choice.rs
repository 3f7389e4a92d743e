//! The choice of a device, and its text form.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use weft_device::{Backend, Departure, Device, OpenOptions, Target};

use crate::devices::backends::BACKENDS;
use crate::error::Error;

/// A choice of device: the name of a backend, as in `cpu` or `gpu`, optionally with part of a device's name, as in
/// `gpu:NVIDIA`, or with an instruction set of the CPU, as in `cpu:avx2`. The default is the CPU with the fastest.
///
/// ```
/// # use weft_runtime::DeviceChoice;
/// let choice: DeviceChoice = "gpu:NVIDIA".parse()?;
/// assert_eq!(choice.to_string(), "gpu:NVIDIA");
/// # Ok::<(), weft_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct DeviceChoice {
    backend: &'static dyn Backend,
    /// Part of the device's name, or the CPU's instruction set. `None` selects the best.
    name: Option<String>,
}

impl DeviceChoice {
    /// The forms of a choice, for help and error messages:
    /// `` `cpu`, `cpu:ISA`, `gpu`, `gpu:NAME`, `cuda`, `cuda:NAME` or `reference` ``.
    pub fn forms() -> String {
        let forms = BACKENDS.iter().flat_map(|backend| {
            let name = backend.name();
            let variant = backend.variant().map(|variant| format!("`{name}:{variant}`"));
            std::iter::once(format!("`{name}`")).chain(variant)
        });
        let mut forms: Vec<String> = forms.collect();
        match forms.pop() {
            Some(last) if !forms.is_empty() => format!("{} or {last}", forms.join(", ")),
            last => last.unwrap_or_default(),
        }
    }

    /// Whether this is the CPU, with whatever instruction set.
    pub(crate) fn is_cpu(&self) -> bool {
        self.backend.name() == BACKENDS[0].name()
    }

    /// Opens the device, with this number of host threads. It stores its own files in `folder`.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no such device, or it cannot be opened.
    pub fn open(&self, threads: Option<usize>, folder: Option<&Path>) -> Result<Box<dyn Device>, Error> {
        self.open_with(&OpenOptions {
            threads,
            folder: folder.map(Path::to_path_buf),
            ..OpenOptions::default()
        })
    }

    /// Opens the device.
    pub(crate) fn open_with(&self, options: &OpenOptions) -> Result<Box<dyn Device>, Error> {
        Ok(self.backend.open(self.name.as_deref(), options)?)
    }

    /// Returns the device as a target to compile for, without opening it. `folder` holds the schedules kept for it.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no such device.
    pub fn target(&self, threads: Option<usize>, folder: Option<&Path>) -> Result<Target, Error> {
        let folder = folder.map(Path::to_path_buf);
        let options = OpenOptions { threads, folder, ..OpenOptions::default() };
        Ok(self.backend.target(self.name.as_deref(), &options)?)
    }

    /// The ways in which schedules can depart from the device's own choice. Empty if the device has no schedules.
    pub fn departures(&self) -> Vec<&'static Departure> {
        self.backend.departures()
    }
}

impl Default for DeviceChoice {
    fn default() -> DeviceChoice {
        DeviceChoice { backend: BACKENDS[0], name: None }
    }
}

impl FromStr for DeviceChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<DeviceChoice, Error> {
        let (backend, name) = match text.split_once(':') {
            Some((backend, name)) => (backend, Some(name.trim())),
            None => (text, None),
        };
        let fits = |known: &&&'static dyn Backend| {
            known.name() == backend && name.is_none_or(|name| known.variant().is_some() && !name.is_empty())
        };
        let backend = BACKENDS.iter().find(fits).ok_or_else(|| {
            let forms = DeviceChoice::forms();
            Error::Option(format!(
                "unknown device `{text}`: expected {forms}, with NAME part of a device's name, which `weft devices` \
                 lists, and ISA an instruction set such as `avx2`"
            ))
        })?;
        Ok(DeviceChoice { backend: *backend, name: name.map(str::to_string) })
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.backend.name())?;
        match &self.name {
            Some(name) => write!(f, ":{name}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceChoice({self})")
    }
}

impl PartialEq for DeviceChoice {
    fn eq(&self, other: &DeviceChoice) -> bool {
        self.backend.name() == other.backend.name() && self.name == other.name
    }
}

impl Eq for DeviceChoice {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn choices_round_trip() {
        for text in ["cpu", "cpu:avx2", "gpu", "gpu:NVIDIA H200", "cuda:1", "reference"] {
            let choice: DeviceChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
        }
        let parse = |text: &str| text.parse::<DeviceChoice>().unwrap();
        assert_eq!(parse("cpu"), DeviceChoice::default());
        assert_ne!(parse("gpu:a"), parse("gpu:b"));
        assert_ne!(parse("cpu:avx2"), parse("cpu"));
        assert!(parse("cpu:avx2").is_cpu() && parse("cpu").is_cpu() && !parse("gpu:cpu").is_cpu());
        for wrong in ["", "GPU", "gpu:", "gpu: ", "cpu:", "reference:1", "metal", "cpu gpu", ":", ":gpu"] {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
        assert_eq!(
            "metal".parse::<DeviceChoice>().unwrap_err().to_string(),
            "unknown device `metal`: expected `cpu`, `cpu:ISA`, `gpu`, `gpu:NAME`, `cuda`, `cuda:NAME` or `reference`, with NAME \
             part of a device's name, which `weft devices` lists, and ISA an instruction set such as `avx2`"
        );
    }

    #[test]
    fn backends_have_unique_names_that_parse() {
        let names: BTreeSet<&str> = BACKENDS.iter().map(|backend| backend.name()).collect();
        assert_eq!(names.len(), BACKENDS.len());
        for backend in BACKENDS {
            assert_eq!(backend.name().parse::<DeviceChoice>().unwrap().to_string(), backend.name());
            assert!(!backend.about().is_empty() && !backend.missing().is_empty());
        }
    }
}
