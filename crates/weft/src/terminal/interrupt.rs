//! Handles Ctrl-C, SIGTERM and SIGHUP, and on Windows Ctrl-Break, a console that closes and a system that shuts down. Each ends the
//! program, or first the current task while a [`Listener`] exists, so that no unfinished files are left behind. After Ctrl-C a
//! conversation goes on; after the others the program ends.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::terminal::mode;
use crate::terminal::streams::note;

/// The exit code after Ctrl-C, by the convention of shells: 128 + SIGINT.
const CTRL_C: u8 = 130;

static LISTENING: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicBool = AtomicBool::new(false);
/// Whether something other than Ctrl-C has told the program to end.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The exit code for the last signal.
static CODE: AtomicU8 = AtomicU8::new(CTRL_C);
/// Whether each signal is told from the others.
static TOLD_APART: AtomicBool = AtomicBool::new(false);

/// Installs the signal handlers.
pub(crate) fn install() {
    // If this fails, signals end the program as usual. If the parent had a signal ignored (`nohup`), no handler is
    // installed, to respect that.
    let installed = ctrlc::try_set_handler(|| {
        if !TOLD_APART.load(Ordering::SeqCst) {
            received(CTRL_C);
        }
    });
    if installed.is_ok() {
        TOLD_APART.store(tell_apart().is_ok(), Ordering::SeqCst);
    }
}

/// The exit code after a task was interrupted: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP. On Windows, Ctrl-Break and the end of
/// the session count as SIGTERM, a console that closes as SIGHUP.
pub(crate) fn exit_code() -> u8 {
    CODE.load(Ordering::SeqCst)
}

/// Whether SIGTERM or SIGHUP has told the program to end.
pub(crate) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

/// Handles the signal with this exit code.
fn received(code: u8) {
    CODE.store(code, Ordering::SeqCst);
    if code != CTRL_C {
        ENDING.store(true, Ordering::SeqCst);
    }
    // The second signal does not wait for the listener.
    if !LISTENING.load(Ordering::SeqCst) || PRESSED.swap(true, Ordering::SeqCst) {
        mode::restore();
        if std::io::stderr().is_terminal() {
            // Leave the last line as it is and let the shell's prompt start on a new one.
            note!();
        }
        std::process::exit(code.into());
    }
}

/// Tells the signals apart. The handlers chain to those of `ctrlc`, which refused if a signal is ignored.
#[cfg(unix)]
fn tell_apart() -> std::io::Result<()> {
    use tokio::runtime;
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut resume = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
    drop(entered);
    let watch = async move {
        loop {
            received(tokio::select! {
                _ = interrupt.recv() => CTRL_C,
                _ = terminate.recv() => 143,
                _ = hang_up.recv() => 129,
                _ = resume.recv() => {
                    // Elsewhere the line editor sees to it.
                    if LISTENING.load(Ordering::SeqCst) {
                        mode::quiet_again();
                    }
                    continue;
                }
            });
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(watch))?;
    Ok(())
}

/// Tells what ended the program apart. While a handler of these is installed, Windows waits a few seconds for the program to end: five when
/// its console closes or the user logs off, twenty when the system shuts down.
#[cfg(windows)]
fn tell_apart() -> std::io::Result<()> {
    use tokio::runtime;
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    let (mut interrupt, mut hang_up) = (ctrl_c()?, ctrl_close()?);
    let (mut terminate, mut log_off, mut shut_down) = (ctrl_break()?, ctrl_logoff()?, ctrl_shutdown()?);
    drop(entered);
    let watch = async move {
        loop {
            received(tokio::select! {
                _ = interrupt.recv() => CTRL_C,
                _ = hang_up.recv() => 129,
                _ = terminate.recv() => 143,
                _ = log_off.recv() => 143,
                _ = shut_down.recv() => 143,
            });
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(watch))?;
    Ok(())
}

/// Nothing tells them apart: each counts as Ctrl-C.
#[cfg(not(any(unix, windows)))]
fn tell_apart() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Listens for Ctrl-C until it is dropped.
pub(crate) struct Listener(());

impl Listener {
    /// Starts listening. There must be only one listener at a time.
    pub(crate) fn new() -> Listener {
        PRESSED.store(is_ending(), Ordering::SeqCst);
        LISTENING.store(true, Ordering::SeqCst);
        Listener(())
    }

    /// The flag that is set once Ctrl-C has been pressed, or the program has been told to end.
    pub(crate) fn pressed(&self) -> &'static AtomicBool {
        &PRESSED
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENING.store(false, Ordering::SeqCst);
    }
}
