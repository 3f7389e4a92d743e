//! Finds NVRTC: in the user's choice, the toolkit's folders and Python's packages.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::library::Nvrtc;

/// The environment variable that names the library.
const VARIABLE: &str = "WEFT_NVRTC";

/// The major versions of CUDA whose NVRTC can be used, the newest first.
const MAJORS: [i32; 2] = [13, 12];

/// Loads the first NVRTC whose kernels a driver of this CUDA version can load.
///
/// # Errors
/// That there is none, and how to get one.
pub fn find(driver: (i32, i32)) -> Result<Nvrtc, String> {
    if let Some(file) = env::var_os(VARIABLE) {
        let file = PathBuf::from(file);
        return Nvrtc::load(&file).map_err(|why| format!("cannot load {VARIABLE}={}: {why}", file.display()));
    }
    for major in MAJORS.into_iter().filter(|major| *major <= driver.0) {
        for file in candidates(major) {
            if let Ok(nvrtc) = Nvrtc::load(&file)
                && nvrtc.version().0 == major
            {
                return Ok(nvrtc);
            }
        }
    }
    Err(missing(driver))
}

impl Nvrtc {
    /// The library that `WEFT_NVRTC` names, for a test. Without it the test has nothing to do, and says so; if
    /// `WEFT_TEST_NVRTC` is set, that is a failure.
    ///
    /// # Panics
    /// If the library is required and missing, or cannot be loaded.
    pub fn for_test(test: &str) -> Option<Nvrtc> {
        let Some(path) = env::var_os(VARIABLE) else {
            let why = format!("{VARIABLE} does not say where NVRTC is; .ci/nvrtc installs it");
            assert!(env::var_os("WEFT_TEST_NVRTC").is_none(), "{test}: {why}");
            // Past the harness, which keeps what passing tests print to itself.
            let _ = writeln!(std::io::stderr(), "{test} SKIPPED: {why}");
            return None;
        };
        let path = Path::new(&path);
        Some(Nvrtc::load(path).unwrap_or_else(|why| panic!("{}: {why}", path.display())))
    }
}

/// Advice for a system without an NVRTC for a driver of this CUDA version.
fn missing(driver: (i32, i32)) -> String {
    format!(
        "NVRTC, NVIDIA's run-time compiler, was not found. Install it with `pip install nvidia-cuda-nvrtc` (in a virtual \
         environment that is active), or install the CUDA toolkit, or set {VARIABLE} to the path of \
         {}",
        file_name(driver.0.min(MAJORS[0]))
    )
}

/// The name of the library of a major version.
fn file_name(major: i32) -> String {
    // On Windows, the library of all minor versions has the name of the first.
    if cfg!(windows) { format!("nvrtc64_{major}0_0.dll") } else { format!("libnvrtc.so.{major}") }
}

/// The folders with libraries in one of the toolkit.
const TOOLKIT: &[&str] = if cfg!(windows) { &["bin/x64", "bin"] } else { &["lib64", "lib"] };

/// The folder with libraries in a Python package.
const PACKAGE: &str = if cfg!(windows) { "bin" } else { "lib" };

/// Files that may be the library of a major version.
fn candidates(major: i32) -> Vec<PathBuf> {
    let name = file_name(major);
    // The libraries that the system's loader finds.
    let mut files = vec![PathBuf::from(&name)];
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let usual = ["/usr/local/cuda", "/opt/cuda"].into_iter().map(PathBuf::from);
    let versions = subfolders(Path::new("/usr/local"), |name| name.starts_with("cuda-"));
    for toolkit in toolkits.chain(usual).chain(versions) {
        files.extend(TOOLKIT.iter().map(|lib| toolkit.join(lib).join(&name)));
    }
    for packages in python_packages() {
        // The package's layout since CUDA 13, and before.
        let now = packages.join(format!("nvidia/cu{major}")).join(PACKAGE);
        files.extend([now.join(&name), now.join("x86_64").join(&name)]);
        files.push(packages.join("nvidia/cuda_nvrtc").join(PACKAGE).join(&name));
    }
    files.retain(|file| file.components().count() == 1 || file.exists());
    files
}

/// Folders of Python packages: of the active environment, of the user, of the first Python, of the system.
fn python_packages() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let first = |python: &str| env::split_paths(&path).find(|folder| folder.join(python).exists());
    if cfg!(windows) {
        let user = env::var_os("APPDATA").map(|folder| PathBuf::from(folder).join("Python"));
        roots.extend(user.iter().flat_map(|folder| subfolders(folder, |name| name.starts_with("Python3"))));
        // That of the Microsoft Store is a link to a program elsewhere, which has its packages in the user's folder.
        roots.extend(first("python.exe"));
        // Of an installation and of an environment; of the user.
        return roots
            .iter()
            .flat_map(|root| ["Lib/site-packages", "site-packages"].map(|name| root.join(name)))
            .collect();
    }
    roots.extend(env::var_os("HOME").map(|home| PathBuf::from(home).join(".local")));
    roots.extend(first("python3").and_then(|bin| bin.parent().map(Path::to_path_buf)));
    roots.extend(["/usr/local", "/usr"].map(PathBuf::from));
    let mut packages = Vec::new();
    for root in roots {
        for lib in ["lib", "lib64"] {
            for version in subfolders(&root.join(lib), |name| name.starts_with("python3")) {
                packages.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
            }
        }
    }
    packages
}

/// The folders in a folder with such names, in order.
fn subfolders(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted)).map(|e| e.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_nvrtc_an_error_says_how_to_get_it() {
        let said = missing((12, 8));
        let file = if cfg!(windows) { "nvrtc64_120_0.dll" } else { "libnvrtc.so.12" };
        for way in ["pip install nvidia-cuda-nvrtc", "CUDA toolkit", "WEFT_NVRTC", file] {
            assert!(said.contains(way), "{said}");
        }
        assert!(candidates(99).iter().all(|file| file.components().count() == 1), "there is no CUDA 99");
    }

    #[test]
    fn python_packages_are_found_by_their_layout() {
        let root = env::temp_dir().join(format!("weft-nvrtc-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for version in ["python3.12", "python3.9", "perl5"] {
            fs::create_dir_all(root.join(version)).unwrap();
        }
        let found = subfolders(&root, |name| name.starts_with("python3"));
        assert_eq!(found, ["python3.12", "python3.9"].map(|name| root.join(name)));
        assert!(subfolders(&root.join("none"), |_| true).is_empty());
        fs::remove_dir_all(root).unwrap();
    }
}
