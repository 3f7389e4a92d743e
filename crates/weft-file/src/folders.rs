//! The folders for a user's files, by the conventions of the operating system.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder for files that can be fetched or made again: `$XDG_CACHE_HOME/weft`, or `~/.cache/weft`,
/// `~/Library/Caches/weft` (macOS), `%LOCALAPPDATA%\weft` (Windows). It may not exist. `None` if the environment names no
/// home folder.
pub fn cache_folder() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache", "Library/Caches")
}

/// The name of the folder, within the cache folder, of packed weights, compiled pipelines, tuned schedules and measured
/// machines.
pub const PACKED_FOLDER: &str = "packed";

/// The name of the folder, within the cache folder, of computed prompts.
pub const PROMPTS_FOLDER: &str = "prompts";

/// The folder for the user's own data: `$XDG_DATA_HOME/weft`, or `~/.local/share/weft`,
/// `~/Library/Application Support/weft` (macOS), `%LOCALAPPDATA%\weft` (Windows). It may not exist. `None` if the
/// environment names no home folder.
pub fn data_folder() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", ".local/share", "Library/Application Support")
}

/// The folder of the user's configuration: `$XDG_CONFIG_HOME/weft` or `~/.config/weft` (Linux and other Unixes),
/// `~/Library/Application Support/weft` (macOS), or `%LOCALAPPDATA%\weft` (Windows). It may not exist. `None` if the
/// environment names no home folder.
pub fn config_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config", "Library/Application Support")
}

/// Creates a folder, and those above it, that other users cannot read. One that exists is left as it is.
///
/// # Errors
/// If it cannot be created.
pub fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Weft's folder within the folder that the variable names, or within the system's default one.
fn folder(variable: &str, unix: &str, macos: &str) -> Option<PathBuf> {
    let usual = || {
        if cfg!(windows) {
            return absolute("LOCALAPPDATA");
        }
        let home = env::home_dir().filter(|home| home.is_absolute())?;
        Some(home.join(if cfg!(target_os = "macos") { macos } else { unix }))
    };
    Some(absolute(variable).or_else(usual)?.join("weft"))
}

/// The path in a variable. The XDG specification says to ignore relative ones.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
