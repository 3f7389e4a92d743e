//! The terminal's mode and width: no echo while a reply runs, and the mode it had when the program ends.
//!
//! What is typed while a reply runs must neither appear within the reply nor get lost. So echo is off then, and lines are not
//! assembled by the terminal; the bytes wait for the next prompt.

#[cfg(not(unix))]
pub(crate) use other::{Quiet, columns, restore};
#[cfg(unix)]
pub(crate) use unix::{Quiet, columns, quiet_again, restore};

/// Whether the terminal cannot move its cursor, as those of Emacs and of CI. The line editor then reads plain lines.
pub(crate) fn is_dumb() -> bool {
    let term = std::env::var_os("TERM").unwrap_or_default();
    ["dumb", "cons25", "emacs"].iter().any(|dumb| term.eq_ignore_ascii_case(dumb))
}

#[cfg(unix)]
mod unix {
    use std::io::{IsTerminal as _, Write as _, stdin, stdout};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::process::getpgrp;
    use rustix::termios::{
        LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
    };

    /// The mode to return to.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    fn before() -> MutexGuard<'static, Option<Termios>> {
        BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns echo off until it is dropped.
    pub(crate) struct Quiet(());

    impl Quiet {
        /// Begins to be quiet. Does nothing if standard input or output is not a terminal, or belongs to another job of the
        /// shell.
        pub(crate) fn new() -> Quiet {
            let input = stdin();
            // A background job that changes the mode would be stopped.
            let foreground = || tcgetpgrp(&input).map_or(true, |group| group == getpgrp());
            if input.is_terminal()
                && stdout().is_terminal()
                && foreground()
                && let Ok(mode) = tcgetattr(&input)
            {
                let mut saved = before();
                if saved.is_none() && silence(&mode) {
                    *saved = Some(mode);
                }
            }
            Quiet(())
        }
    }

    /// Turns echo off. Returns whether the terminal did.
    fn silence(mode: &Termios) -> bool {
        let mut quiet = mode.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        tcsetattr(stdin(), OptionalActions::Now, &quiet).is_ok()
    }

    /// Turns echo off again after the program was stopped, when the shell has set its own mode. Does nothing if there is no [`Quiet`], or
    /// the program continues in the background.
    pub(crate) fn quiet_again() {
        let saved = before();
        let foreground = tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
        if foreground && let Some(mode) = &*saved {
            silence(mode);
        }
    }

    impl Drop for Quiet {
        fn drop(&mut self) {
            restore();
        }
    }

    /// Gives the terminal the mode it had before the first [`Quiet`]. Called before the program ends early, when the line editor
    /// may be at work.
    pub(crate) fn restore() {
        if let Some(mode) = before().take() {
            let input = stdin();
            // The line editor's mode: it also switched on bracketed paste.
            let raw = tcgetattr(&input).is_ok_and(|now| !now.local_modes.contains(LocalModes::ISIG));
            let _ = tcsetattr(&input, OptionalActions::Now, &mode);
            if raw {
                let mut out = stdout();
                let _ = out.write_all(b"\x1b[?2004l").and_then(|()| out.flush());
            }
        }
    }

    /// The width of the terminal that standard output is, in columns.
    pub(crate) fn columns() -> Option<usize> {
        let size = tcgetwinsize(stdout()).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    }
}

#[cfg(not(unix))]
mod other {
    /// Does nothing: only Unix terminals echo what is typed while a program does not read.
    pub(crate) struct Quiet(());

    impl Quiet {
        pub(crate) fn new() -> Quiet {
            Quiet(())
        }
    }

    /// Does nothing.
    pub(crate) fn restore() {}

    pub(crate) use weft_host::console::columns;
}
