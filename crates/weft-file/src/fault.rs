//! The stages of writing a file. Tests make each of them fail, or end the process there.

/// A stage of writing a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Create,
    Permissions,
    Write,
    SyncFile,
    Rename,
    SyncFolder,
}

#[cfg(test)]
impl Stage {
    pub(crate) const ALL: [Stage; 6] =
        [Stage::Create, Stage::Permissions, Stage::Write, Stage::SyncFile, Stage::Rename, Stage::SyncFolder];
}

/// A fault at a stage, in a test.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The call fails, as on a full disk.
    Fails,
    /// The process ends at once, as if killed.
    Kills,
}

#[cfg(test)]
thread_local! {
    /// The fault that this thread will run into.
    pub(crate) static FAULT: std::cell::Cell<Option<(Stage, Fault)>> = const { std::cell::Cell::new(None) };
}

/// Called before the system call of each stage.
#[cfg(test)]
pub(crate) fn reach(stage: Stage) -> std::io::Result<()> {
    match FAULT.get() {
        Some((at, Fault::Fails)) if at == stage => Err(std::io::ErrorKind::StorageFull.into()),
        Some((at, Fault::Kills)) if at == stage => std::process::abort(),
        _ => Ok(()),
    }
}

/// Called before the system call of each stage.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn reach(_: Stage) -> std::io::Result<()> {
    Ok(())
}
