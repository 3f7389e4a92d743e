//! Handles Ctrl-C: it ends the program, or only the current task while a [`Listener`] exists. SIGTERM and SIGHUP are
//! treated alike, so that no unfinished files are left behind.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::out::note;

/// The exit code after Ctrl-C, by the convention of shells (128 + SIGINT).
pub(crate) const EXIT_CODE: u8 = 130;

static LISTENING: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicBool = AtomicBool::new(false);

/// Installs the signal handler.
pub(crate) fn install() {
    // If this fails, signals end the program as usual. If the parent had a signal ignored (`nohup`), no handler is
    // installed, to respect that.
    let _ = ctrlc::try_set_handler(|| {
        // Pressed twice, it does not wait for the listener.
        if !LISTENING.load(Ordering::SeqCst) || PRESSED.swap(true, Ordering::SeqCst) {
            if std::io::stderr().is_terminal() {
                // Leave the last line as it is and let the shell's prompt start on a new one.
                note!();
            }
            std::process::exit(EXIT_CODE.into());
        }
    });
}

/// Listens for Ctrl-C until it is dropped.
pub(crate) struct Listener(());

impl Listener {
    /// Starts listening. There must be only one listener at a time.
    pub(crate) fn new() -> Listener {
        PRESSED.store(false, Ordering::SeqCst);
        LISTENING.store(true, Ordering::SeqCst);
        Listener(())
    }

    /// The flag that is set once Ctrl-C has been pressed.
    pub(crate) fn pressed(&self) -> &'static AtomicBool {
        &PRESSED
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENING.store(false, Ordering::SeqCst);
    }
}
