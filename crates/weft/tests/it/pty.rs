//! Runs the program in a terminal of its own, as a person would.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::support::Weft;

/// The longest time to wait for something to appear.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program in a terminal.
pub(crate) struct Pty {
    child: Child,
    keyboard: File,
    /// Kept open, to ask for its mode when the program has ended.
    terminal: OwnedFd,
    screen: Arc<Mutex<String>>,
    /// How much of the screen has been read.
    looked: usize,
}

/// Whether the tests of this file can run: they need `setsid` to give the program a terminal that sends signals.
pub(crate) fn can_run() -> bool {
    let has = ["/usr/bin/setsid", "/bin/setsid"].iter().any(|path| Path::new(path).exists());
    if !has {
        eprintln!("skipped: there is no setsid");
    }
    has && crate::support::signals_work()
}

impl Pty {
    /// Starts a call in a terminal of this many columns.
    pub(crate) fn start(call: &mut Weft, columns: u16) -> Pty {
        Pty::start_in(call, columns, "xterm")
    }

    /// The same in a terminal of this kind.
    pub(crate) fn start_in(call: &mut Weft, columns: u16, term: &str) -> Pty {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&control, size).unwrap();
        let name = ptsname(&control, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = open(&name, flags, Mode::empty()).unwrap();
        let end = || Stdio::from(terminal.try_clone().unwrap());
        let command = call.command();
        let mut in_terminal = Command::new("setsid");
        in_terminal.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        in_terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        in_terminal.env("PATH", "/usr/bin:/bin").env("TERM", term);
        let child = in_terminal.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(control);
        let mut out = keyboard.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut rest = Vec::new();
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                rest.extend_from_slice(&bytes[..read]);
                let valid = match std::str::from_utf8(&rest) {
                    Ok(text) => text.len(),
                    Err(error) => error.valid_up_to(),
                };
                let text: Vec<u8> = rest.drain(..valid).collect();
                shared.lock().unwrap().push_str(std::str::from_utf8(&text).unwrap());
            }
        });
        Pty { child, keyboard, terminal, screen, looked: 0 }
    }

    /// Types a text. `\r` is Enter, `\x03` is Ctrl-C, `\x04` is Ctrl-D.
    pub(crate) fn send(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Types Ctrl-D at the next prompt. Before the prompt is there, the terminal would take it for the end of a line.
    #[track_caller]
    pub(crate) fn leave(&mut self) {
        self.wait_for("> ");
        self.send("\x04");
    }

    /// Waits until a text appears after the text read before, and returns the output up to its end.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().clone();
            if let Some(at) = screen[self.looked..].find(text) {
                let end = self.looked + at + text.len();
                let seen = screen[self.looked..end].to_string();
                self.looked = end;
                return seen;
            }
            assert!(
                since.elapsed() < PATIENCE,
                "no {text:?} in {:?} (all: {screen:?})",
                &screen[self.looked..]
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The number of the process.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Whether the terminal echoes and assembles lines, as a shell leaves it.
    pub(crate) fn is_cooked(&self) -> bool {
        let mode = tcgetattr(self.terminal.as_fd()).unwrap().local_modes;
        mode.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Makes the terminal echo and assemble lines, as a shell does when it stops a program.
    pub(crate) fn cook(&self) {
        let mut mode = tcgetattr(self.terminal.as_fd()).unwrap();
        mode.local_modes |= LocalModes::ECHO | LocalModes::ICANON;
        tcsetattr(self.terminal.as_fd(), OptionalActions::Now, &mode).unwrap();
    }

    /// Waits until the terminal neither echoes nor assembles lines.
    #[track_caller]
    pub(crate) fn wait_until_raw(&self) {
        let since = Instant::now();
        while tcgetattr(self.terminal.as_fd()).unwrap().local_modes.contains(LocalModes::ECHO) {
            assert!(since.elapsed() < PATIENCE, "the terminal still echoes");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of the program. Returns its exit code and all that was on the screen.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let screen = self.screen.lock().unwrap().clone();
            assert!(since.elapsed() < PATIENCE, "the program does not end: {screen:?}");
            thread::sleep(Duration::from_millis(10));
        };
        // Its last output.
        thread::sleep(Duration::from_millis(100));
        assert!(self.is_cooked(), "the terminal is left raw");
        let screen = self.screen.lock().unwrap().clone();
        (status.code(), screen)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
