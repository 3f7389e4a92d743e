//! Where a user's files go, by the conventions of the operating system.

use std::env;
use std::path::PathBuf;

/// Where things are kept that can be fetched again; `None` if the environment does not say who the user is.
pub(crate) fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache", "Library/Caches")
}

/// Where things are kept that the user made.
pub(crate) fn data() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", ".local/share", "Library/Application Support")
}

/// Our folder in that of the variable, or else in the one that is usual on this system.
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
