"""Runs a program in a terminal of its own, for replay.py: a pseudo-terminal whose modes and output can be looked at."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

PATIENCE = 60


class Terminal:
    """A program in a terminal of some columns and 24 lines."""

    def __init__(self, arguments, environment, columns=80):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def own_terminal():
            os.setsid()
            # Under nohup, say, they are ignored.
            for name in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(name, signal.SIG_DFL)
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        streams = dict(stdin=self.slave, stdout=self.slave, stderr=self.slave)
        environment = {**environment, "TERM": "xterm"}
        self.process = subprocess.Popen(arguments, env=environment, preexec_fn=own_terminal, **streams)
        self.seen = ""
        self.looked = 0

    def read(self, seconds):
        """Takes what comes within this time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self.master], [], [], left)
            if not ready:
                return
            try:
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:
                return

    def wait_for(self, text, patience=PATIENCE):
        """What came up to this text; an error if it does not come."""
        end = time.monotonic() + patience
        while text not in self.seen[self.looked :]:
            if time.monotonic() > end or self.process.poll() is not None:
                self.read(0.2)
                if text in self.seen[self.looked :]:
                    break
                raise AssertionError(f"no {text!r} in {self.seen[self.looked :][-300:]!r}")
            self.read(0.05)
        at = self.seen.index(text, self.looked) + len(text)
        part, self.looked = self.seen[self.looked : at], at
        return part

    def send(self, keys):
        os.write(self.master, keys.encode())

    def signal(self, name):
        self.process.send_signal(getattr(signal, name))

    def is_cooked(self):
        """Whether it echoes and assembles lines, as a shell leaves it."""
        mode = termios.tcgetattr(self.slave)[3]
        return bool(mode & termios.ECHO) and bool(mode & termios.ICANON)

    def end(self, patience=20):
        """The exit code, as shells give it."""
        end = time.monotonic() + patience
        while self.process.poll() is None:
            if time.monotonic() > end:
                self.close()
                raise AssertionError("it does not end")
            self.read(0.05)
        self.read(0.1)
        code = self.process.returncode
        return 128 - code if code < 0 else code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for end in (self.master, self.slave):
            try:
                os.close(end)
            except OSError:
                pass


def plain(text):
    """A text without the sequences that control a terminal."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", text)
