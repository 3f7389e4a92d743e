//! Ctrl-C: ends the program, but while something listens for it, only that. SIGTERM and SIGHUP count as Ctrl-C, so that
//! nothing unfinished is left behind.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::out::note;

/// The exit code of a program that Ctrl-C ended, by the shells' convention (128 + SIGINT).
pub(crate) const EXIT_CODE: u8 = 130;

static LISTENING: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicBool = AtomicBool::new(false);

/// Takes Ctrl-C over from the operating system.
pub(crate) fn install() {
    // Where that cannot be done, Ctrl-C ends the program as it would any other. Whoever has us ignore one of the signals
    // (`nohup`) means it, so none is taken over then.
    let _ = ctrlc::try_set_handler(|| {
        // Whoever presses it twice does not want to wait for a listener.
        if !LISTENING.load(Ordering::SeqCst) || PRESSED.swap(true, Ordering::SeqCst) {
            if std::io::stderr().is_terminal() {
                // Whatever stands in the last line stays there, and the shell begins a new one.
                note!();
            }
            std::process::exit(EXIT_CODE.into());
        }
    });
}

/// Listens for Ctrl-C for as long as it lives.
pub(crate) struct Listener(());

impl Listener {
    /// Starts to listen. One at a time.
    pub(crate) fn new() -> Listener {
        PRESSED.store(false, Ordering::SeqCst);
        LISTENING.store(true, Ordering::SeqCst);
        Listener(())
    }

    /// Whether it has been pressed, to look at again and again.
    pub(crate) fn pressed(&self) -> &'static AtomicBool {
        &PRESSED
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENING.store(false, Ordering::SeqCst);
    }
}
