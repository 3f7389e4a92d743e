//! The console that a program writes to.

/// Makes the console understand escape sequences for colours and cursor moves. Terminals of Unix and Windows Terminal do so anyway; the
/// older console of Windows has to be asked. Returns whether standard error, if it is a console, understands them now.
pub fn enable_escapes() -> bool {
    #[cfg(windows)]
    {
        crate::windows::enable_escapes()
    }
    #[cfg(not(windows))]
    {
        true
    }
}

/// The width of the console that standard output is, in columns. `None` if it is none. On Unix, the terminal has to be asked.
pub fn columns() -> Option<usize> {
    #[cfg(windows)]
    {
        crate::windows::columns()
    }
    #[cfg(not(windows))]
    {
        None
    }
}
