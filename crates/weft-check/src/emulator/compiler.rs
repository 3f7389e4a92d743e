//! The system's C++ compiler, and a folder of what it has compiled.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use weft_render::checksum;

use crate::emulator::text::SHIM;

const RUNTIME: &str = include_str!("runtime.cpp");

/// How texts are compiled. Numbers are rounded as [`weft_render::CUDA_OPTIONS`] say: every operation by itself. Indices
/// of arrays are checked, by a function of the runtime.
const OPTIONS: [&str; 12] = [
    "-x",
    "c++",
    "-std=c++17",
    "-w",
    "-O1",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fsanitize=bounds",
    "-fPIC",
    "-fvisibility=hidden",
    "-c",
];

/// How the runtime is compiled.
const RUNTIME_OPTIONS: [&str; 8] =
    ["-x", "c++", "-std=c++17", "-w", "-O2", "-U_FORTIFY_SOURCE", "-fPIC", "-fvisibility=hidden"];

/// The compiler, and the folder of what it has compiled.
#[derive(Debug)]
pub(crate) struct Compiler {
    program: &'static str,
    /// Options for instructions that this machine has.
    machine: Vec<&'static str>,
    /// Identifies the compiler, its options, the shim and the runtime.
    key: String,
    folder: PathBuf,
}

impl Compiler {
    /// `g++`, or else `clang++`. `None` if there is neither, or the linker and fibers are not those of Linux.
    pub(crate) fn find(folder: &Path) -> Option<Compiler> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let (program, version) = ["g++", "clang++"].into_iter().find_map(|program| {
            let output = Command::new(program).arg("--version").output().ok()?;
            Some((program, String::from_utf8_lossy(&output.stdout).into_owned()))
        })?;
        let machine = machine_options();
        let key = format!("{version}\n{OPTIONS:?}{RUNTIME_OPTIONS:?}{machine:?}\n{SHIM}{RUNTIME}");
        Some(Compiler { program, machine, key, folder: folder.to_path_buf() })
    }

    /// Compiles a file to a library together with the runtime, unless it has been before. Returns its path.
    ///
    /// # Errors
    /// What the compiler says.
    pub(crate) fn library(&self, source: &str) -> Result<PathBuf, String> {
        let library = self.path(&format!("{}{source}", self.key), "so");
        if library.exists() {
            return Ok(library);
        }
        let text = |error: io::Error| format!("{}: {error}", self.folder.display());
        fs::create_dir_all(&self.folder).map_err(text)?;
        // A file of each name is complete: it is renamed when it is.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let part = |extension: &str| self.folder.join(format!("part-{unique}.{extension}"));
        let runtime = self.path(&self.key, "o");
        let [from, object, linked] = ["cpp", "o", "so"].map(part);
        if !runtime.exists() {
            fs::write(&from, RUNTIME.replace("#include \"cuda_shim.h\"", SHIM)).map_err(text)?;
            self.run(&RUNTIME_OPTIONS, &["-c".as_ref(), "-o".as_ref(), &object, &from])?;
            fs::rename(&object, &runtime).map_err(text)?;
        }
        fs::write(&from, source).map_err(text)?;
        self.run(&OPTIONS, &["-o".as_ref(), &object, &from])?;
        self.run(&["-shared"], &["-o".as_ref(), &linked, &object, &runtime, "-lm".as_ref()])?;
        fs::remove_file(&object).map_err(text)?;
        fs::rename(&from, library.with_extension("cpp")).map_err(text)?;
        fs::rename(&linked, &library).map_err(text)?;
        Ok(library)
    }

    fn path(&self, of: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.{extension}", checksum(of.as_bytes())))
    }

    fn run(&self, options: &[&str], rest: &[&Path]) -> Result<(), String> {
        let output = Command::new(self.program).args(options).args(&self.machine).args(rest).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(format!("{}: {error}", self.program)),
        }
    }
}

/// With an instruction for it, `fma` is not a function of the system's library.
fn machine_options() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        return vec!["-mfma"];
    }
    Vec::new()
}
