//! The system's C++ compiler, and a folder of what it has compiled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use weft_render::checksum;

use crate::emulator::text::{self, Kernel, SHIM};

const RUNTIME: &str = include_str!("runtime.cpp");

/// The options of compilation. Numbers are rounded as [`weft_render::CUDA_OPTIONS`] say, after every operation. Indices of arrays are
/// checked, by a function of the runtime.
const OPTIONS: [&str; 12] = [
    "-x",
    "c++",
    "-std=c++17",
    "-w",
    "-Og",
    "-fno-exceptions",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fsanitize=bounds",
    "-fPIC",
    "-fvisibility=hidden",
];

/// How the runtime is compiled.
const RUNTIME_OPTIONS: [&str; 9] = [
    "-x",
    "c++",
    "-std=c++17",
    "-w",
    "-O2",
    "-fno-exceptions",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-fvisibility=hidden",
];

/// How a library is linked. Of the system's libraries it names those that this process may not have loaded: it has C's, and reading what a
/// C++ program needs takes two thirds of the time. There are no exceptions, which would need more. What is missing nevertheless is an error
/// when the library is loaded.
const LINK_OPTIONS: [&str; 3] = ["-shared", "-nostdlib", "-Wl,-z,now"];
const LIBRARIES: [&str; 2] = ["-lm", "-lgcc"];

/// The compiler, and the folder of its libraries.
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
        let key =
            format!("{version}\n{OPTIONS:?}{RUNTIME_OPTIONS:?}{LINK_OPTIONS:?}{machine:?}\n{SHIM}{RUNTIME}");
        Some(Compiler { program, machine, key, folder: folder.to_path_buf() })
    }

    /// Makes a library of kernels, with their table and the runtime, unless it has been made before. Returns its path.
    ///
    /// # Errors
    /// What the compiler says.
    pub(crate) fn library(&self, kernels: &[Kernel]) -> Result<PathBuf, String> {
        let table = text::table(kernels);
        let library = self.path(&table, "so");
        if library.exists() {
            return Ok(library);
        }
        fs::create_dir_all(&self.folder).map_err(|error| self.failed(&error))?;
        let runtime = RUNTIME.replace("#include \"cuda_shim.h\"", SHIM);
        let mut objects = vec![self.object(&runtime, &RUNTIME_OPTIONS)?];
        // A kernel's own table is enough for it, and most programs of tests have one kernel.
        if kernels.len() != 1 {
            objects.push(self.object(&table, &OPTIONS)?);
        }
        // One that is there twice is linked once.
        let distinct: BTreeMap<&str, &Kernel> =
            kernels.iter().map(|kernel| (&*kernel.name, kernel)).collect();
        for kernel in distinct.values() {
            objects.push(self.object(&kernel.file, &OPTIONS)?);
        }
        let linked = self.part("so");
        let mut rest: Vec<&Path> = vec!["-o".as_ref(), &linked];
        rest.extend(objects.iter().map(PathBuf::as_path));
        rest.extend(LIBRARIES.map(Path::new));
        self.run(&LINK_OPTIONS, &rest)?;
        fs::rename(&linked, &library).map_err(|error| self.failed(&error))?;
        Ok(library)
    }

    /// Compiles a file to an object, unless it has been before. Returns its path.
    fn object(&self, source: &str, options: &[&str]) -> Result<PathBuf, String> {
        let object = self.path(source, "o");
        if object.exists() {
            return Ok(object);
        }
        // A file of each name is complete: it is renamed when it is.
        let [from, to] = ["cpp", "o"].map(|extension| self.part(extension));
        fs::write(&from, source).map_err(|error| self.failed(&error))?;
        self.run(options, &["-c".as_ref(), "-o".as_ref(), &to, &from])?;
        let renamed = fs::rename(&from, object.with_extension("cpp")).and_then(|()| fs::rename(&to, &object));
        renamed.map_err(|error| self.failed(&error))?;
        Ok(object)
    }

    /// A new path for a file that is not complete.
    fn part(&self, extension: &str) -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("part-{}-{count}.{extension}", std::process::id()))
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.folder.display())
    }

    /// The path of the file that the compiler makes of this source.
    fn path(&self, source: &str, extension: &str) -> PathBuf {
        let sum = checksum(format!("{}{source}", self.key).as_bytes());
        self.folder.join(format!("{sum:016x}.{extension}"))
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
