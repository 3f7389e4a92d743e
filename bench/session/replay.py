#!/usr/bin/env python3
"""Replays what a first user met on the command line, in a terminal, and prints which of it is as it should be.

usage: bench/session/replay.py WEFT [--only WORD] [--smollm2 FILE]

WEFT is the program, of today or of any earlier day; `cargo build --release` makes one. Models are the fixtures; with --smollm2, one
case also compares that model by its path and by its name. The table is Markdown. The exit code is the number of cases that fail.
"""

import argparse
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from terminal import Terminal, plain

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "..", "fixtures")
MODEL = os.path.realpath(os.path.join(FIXTURES, "glm-tiny-q4_0.gguf"))
LARGER = os.path.realpath(os.path.join(FIXTURES, "glm-tiny-q8_0.gguf"))
CASES = []


def case(group, title):
    """Registers a case: a function of a Session that returns nothing, or fails an assertion."""

    def register(function):
        CASES.append((group, title, function))
        return function

    return register


class Session:
    """A user with empty folders."""

    def __init__(self, weft, smollm2):
        self.weft, self.smollm2 = weft, smollm2
        self.folder = tempfile.mkdtemp(prefix="weft-replay-")
        home = self.path("home")
        os.mkdir(home)
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "WEFT_CACHE": self.path("cache"),
            "WEFT_JOURNAL": self.path("journal.db"),
            # Nothing listens there.
            "HF_ENDPOINT": "http://127.0.0.1:9",
            "NO_COLOR": "1",
        }
        self.terminals = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, *arguments, input="", limit_kb=None, timeout=120, **environment):
        command = [self.weft, *arguments]
        if limit_kb:
            command = ["sh", "-c", f'ulimit -v {limit_kb}; exec "$@"', "sh", *command]
        environment = {**self.environment, **environment}
        return subprocess.run(
            command, input=input, capture_output=True, text=True, errors="replace", env=environment, timeout=timeout, cwd=self.folder
        )

    def start(self, *arguments, columns=80, **environment):
        terminal = Terminal([self.weft, *arguments], {**self.environment, **environment}, columns)
        self.terminals.append(terminal)
        return terminal

    def chat(self, *arguments, tokens="4", **options):
        """A conversation at its first prompt."""
        greedy = ["--temperature", "0", "--seed", "1", "--max-tokens", tokens]
        terminal = self.start("chat", MODEL, *greedy, *arguments, **options)
        terminal.wait_for("> ")
        return terminal

    def replying(self, tokens):
        """Starts a conversation, and returns it in the middle of a reply of so many tokens."""
        terminal = self.chat(tokens=tokens)
        terminal.send("Hello\r")
        terminal.wait_for("\n")
        terminal.wait_for(" ")
        return terminal

    def close(self):
        for terminal in self.terminals:
            terminal.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def files(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in {text.strip()[-300:]!r}"


def lacks(text, *parts):
    for part in parts:
        assert part not in text, f"{part!r} in {text.strip()[-300:]!r}"


# --- 1. Signals and the terminal.


def ends(terminal, code):
    found = terminal.end()
    assert found == code, f"exit code {found}, expected {code}"
    assert terminal.is_cooked(), "the terminal is left raw"


@case(1, "SIGTERM at the prompt restores the terminal, exit 143")
def _(s):
    terminal = s.chat()
    terminal.signal("SIGTERM")
    ends(terminal, 143)


@case(1, "SIGHUP at the prompt restores the terminal, exit 129")
def _(s):
    terminal = s.chat()
    terminal.signal("SIGHUP")
    ends(terminal, 129)


@case(1, "SIGTERM during a reply ends the conversation")
def _(s):
    terminal = s.replying("4000")
    terminal.signal("SIGTERM")
    ends(terminal, 143)


@case(1, "Ctrl-C leaves no trace in the text, and the conversation goes on")
def _(s):
    terminal = s.replying("4000")
    terminal.send("\x03")
    lacks(terminal.wait_for("> "), "^C")
    terminal.send("\x04")
    ends(terminal, 0)


# --- 2. What killed processes leave.


def left_by_killed(s, *arguments):
    """Kills a process once it has begun to write in `out`, and returns what it left there."""
    os.makedirs(s.path("out"), exist_ok=True)
    process = subprocess.Popen([s.weft, *arguments], env=s.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not files(s.path("out")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.kill()
    process.wait()
    left = files(s.path("out"))
    assert left, "it wrote nothing before it was killed"
    return left


@case(2, "what a killed synth left is swept by the next run")
def _(s):
    left_by_killed(s, "synth", "--layers", "2", s.path("out", "a.gguf"))
    assert s.run("synth", "--layers", "1", "--preset", "tiny", s.path("out", "b.gguf")).returncode == 0
    assert files(s.path("out")) == [s.path("out", "b.gguf")], files(s.path("out"))


@case(2, "what a killed quantize left is swept by the next run")
def _(s):
    source = s.path("f32.gguf")
    assert s.run("synth", "--preset", "tiny", "--quant", "f32", source).returncode == 0
    os.makedirs(s.path("out"))
    # As a killed run leaves it: this one is too short to be killed in time.
    with open(s.path("out", "a.gguf.0123456789abcdef.part"), "w") as part:
        part.write("unfinished")
    assert s.run("quantize", source, s.path("out", "a.gguf"), "--quant", "q8_0").returncode == 0
    assert files(s.path("out")) == [s.path("out", "a.gguf")], files(s.path("out"))


@case(2, "`cache` tells and clears what a killed packing left")
def _(s):
    folder = s.path("cache", "packed")
    os.makedirs(folder)
    with open(os.path.join(folder, "0123456789abcdef.weftpack.0123456789abcdef.part"), "wb") as part:
        part.write(bytes(5_000_000))
    has(s.run("cache").stdout + s.run("cache").stderr, "5.00 MB")
    cleared = s.run("cache", "clear")
    has(cleared.stdout + cleared.stderr, "5.00 MB")
    assert not files(folder), files(folder)


# --- 3. The hub.


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub with one file, whose connection breaks, and which refuses the next."""

    content = bytes(range(256)) * 4000
    refuses = False

    def do_GET(self):
        size, sha = len(self.content), hashlib.sha256(self.content).hexdigest()
        if self.path.startswith("/api/models/org/repo"):
            file = {"rfilename": "a-Q8_0.gguf", "size": size, "lfs": {"size": size, "sha256": sha}}
            return self.answer(200, json.dumps({"sha": "abc123", "siblings": [file]}).encode(), None)
        if Hub.refuses:
            return self.answer(503, b"", None)
        Hub.refuses = True
        self.answer(200, self.content, 400_000)

    def answer(self, status, body, cut):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body[:cut])
        self.close_connection = True

    def log_message(self, *_):
        pass


@case(3, "a refused reconnection says that running it again continues")
def _(s):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Hub.refuses = False
    ran = s.run("pull", "hf:org/repo:Q8_0", HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    assert ran.returncode == 1
    has(ran.stderr, "503", "run this again to continue")


@case(3, "`pull` takes a cached name without the hub, as `run` does")
def _(s):
    folder = s.path("cache", "models", "org", "repo")
    os.makedirs(folder)
    shutil.copy(LARGER, os.path.join(folder, "a-Q8_0.gguf"))
    assert s.run("run", "hf:org/repo:Q8_0", "hi", "-n", "1").returncode == 0
    ran = s.run("pull", "hf:org/repo:Q8_0")
    assert ran.returncode == 0, ran.stderr
    has(ran.stdout, "a-Q8_0.gguf")


# --- 4. Reports and explanations.

SHORT = ["-d", "0", "-t", "1"]


def report(s, *ids):
    ran = s.run("report", *ids, "-o", "-")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@case(4, "a report of a profile names the kernels in its advice")
def _(s):
    ran = s.run("profile", MODEL, "-n", "5", *SHORT)
    assert ran.returncode == 0, ran.stderr
    page = report(s, "1")
    advice = page[page.index("Advice") :] if "Advice" in page else ""
    assert re.search(r"<li>.*?<code>[^<]*</code>: ", advice, re.S), f"no kernel in {advice[:300]!r}"


@case(4, "a report numbers threads and gives shares as the terminal does")
def _(s):
    told = s.run("profile", MODEL, "-n", "5", "-d", "0", "-t", "2").stdout
    page = report(s, "1")
    has(page, ">thread 0<", ">thread 1<")
    share = re.search(r"(\d+\.\d) ?%", told)
    assert share and share.group(1) in page, f"{share and share.group(0)} is not in the report"


@case(4, "reports of bench-block and perplexity are not empty")
def _(s):
    assert s.run("bench-block", MODEL, "-r", "2", *SHORT[2:]).returncode == 0
    text = s.path("text.txt")
    with open(text, "w") as file:
        file.write("the quick brown fox jumps over the lazy dog " * 40)
    assert s.run("perplexity", MODEL, text, "-c", "64").returncode == 0
    has(report(s, "1"), "<h3>Blocks")
    has(report(s, "2"), "<h3>Windows", "perplexity</")


@case(4, "a report of two benchmarks draws them together")
def _(s):
    for _ in range(2):
        assert s.run("bench", MODEL, "-p", "2", "-n", "1", "-r", "2", *SHORT).returncode == 0
    has(report(s, "1", "2"), "together</h2>")


@case(4, "the labels of a roofline do not cover each other")
def _(s):
    assert s.run("profile", MODEL, "-n", "5", *SHORT).returncode == 0
    page = report(s, "1")
    plot = page[page.index('class="plot"') :].split("</svg>")[0]
    labels = []
    # The numbers of kernels, at the place where each begins.
    for x, y, text in re.findall(r'<text[^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>(\d+)</text>', plot):
        for other_x, other_y, other in labels:
            near = abs(float(x) - other_x) < 6 * len(text) and abs(float(y) - other_y) < 9
            assert not near, f"{text} and {other} at {x}, {y}"
        labels.append((float(x), float(y), text))
    assert labels, "there are no labels"


@case(4, "`explain --html` has a diagram, contents, a legend and a search")
def _(s):
    page = s.path("explain.html")
    assert s.run("explain", MODEL, "--html", page).returncode == 0
    with open(page) as file:
        text = file.read()
    has(text, "<svg", "<nav", "legend", 'type="search"')
    lacks(text, "nothing matches it")


# --- 5. What is typed.


@case(5, "what is typed during a reply does not appear in it, and waits for the prompt")
def _(s):
    terminal = s.replying("300")
    terminal.send("/system typed ahead\r/system\r")
    lacks(terminal.wait_for("> "), "typed")
    terminal.wait_for("\r\ntyped ahead", 20)


@case(5, "all lines of a paste without bracketed paste arrive")
def _(s):
    terminal = s.chat()
    terminal.send("/system one\r/system\r/system two\r/system\r")
    terminal.wait_for("\r\none", 20)
    terminal.wait_for("\r\ntwo", 20)


@case(5, 'Ctrl-D inside """ does not send the message')
def _(s):
    terminal = s.chat()
    terminal.send('"""one\r')
    terminal.wait_for("… ")
    terminal.send("\x04")
    lacks(plain(terminal.wait_for("> ", 20)).replace("… ", ""), "\r\n\r\n")
    has(terminal.seen, "was not sent")


@case(5, '`/system ""` removes the system message')
def _(s):
    ran = s.run("chat", MODEL, "--system", "Be brief.", input='/system ""\n/system\n')
    assert ran.stdout.strip() == "there is no system message", ran.stdout


@case(5, "`WEFT_VERBOSE=maybe` is refused")
def _(s):
    ran = s.run("run", MODEL, "hi", "-n", "1", WEFT_VERBOSE="maybe")
    assert ran.returncode == 2, f"exit code {ran.returncode}"
    has(ran.stderr, "maybe")


@case(5, "`perplexity MODEL -` reads standard input")
def _(s):
    ran = s.run("perplexity", MODEL, "-", "-c", "64", input="the quick brown fox jumps over the lazy dog " * 40)
    assert ran.returncode == 0, ran.stderr


@case(5, "packed weights that cannot be mapped are not written again")
def _(s):
    assert s.run("run", MODEL, "hi", "-n", "1", "--raw").returncode == 0
    packed = next(file for file in files(s.path("cache")) if file.endswith(".weftpack"))
    before, told = os.stat(packed), ""
    model = os.stat(MODEL).st_size
    for step in range(60):
        limit = (model + step * before.st_size // 3) // 1024
        ran = s.run("run", MODEL, "hi", "-n", "1", "--raw", "--context", "64", limit_kb=limit)
        after = os.stat(packed)
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), f"written again with {limit} kB"
        told += ran.stderr
        if ran.returncode == 0:
            break
    lacks(told, "packing the weights again")


# --- 6. Messages.


@case(6, "a full context says how many tokens, and which -c to use")
def _(s):
    ran = s.run("run", MODEL, "word " * 200, "-c", "64")
    assert ran.returncode == 1
    assert re.search(r"the prompt has \d+ tokens and the context only 64; use --context \d+", ran.stderr), ran.stderr
    assert re.search(r"allows up to \d+", ran.stderr), ran.stderr


@case(6, "a missing ./file is named as such")
def _(s):
    has(s.run("run", "./none.gguf", "hi").stderr.lower(), "no such file")


@case(6, "a chat template can be chosen")
def _(s):
    ran = s.run("run", MODEL, "hi", "-n", "1", "--chat-template", "chatml")
    assert ran.returncode == 0, ran.stderr


@case(6, "too little memory says what helps")
def _(s):
    ran = s.run("run", MODEL, "hi", "--raw", "-c", "200000", "--kv", "f32", "--no-cache", limit_kb=500_000)
    assert ran.returncode == 1
    has(ran.stderr, "too little memory", "smaller --context or --kv q8_0")


@case(6, "the suggestion of `weft chat` names the model")
def _(s):
    terminal = s.start("run", MODEL, columns=300)
    terminal.end()
    has(plain(terminal.seen), f"`weft chat {MODEL}`")


@case(6, "an error of the journal gives its cause once")
def _(s):
    os.mkdir(s.path("journal.db"))
    ran = s.run("bench", MODEL, "-p", "2", "-n", "1", "-r", "1", *SHORT)
    has(ran.stderr, "unable to open")
    assert ran.stderr.count("unable to open") == 1, ran.stderr


@case(6, "SmolLM2 by its path has the defaults that it has by its name")
def _(s):
    if not s.smollm2:
        return "skipped: no --smollm2"
    folder = s.path("cache", "models", "QuantFactory", "SmolLM2-135M-Instruct-GGUF")
    os.makedirs(folder)
    path = os.path.join(folder, os.path.basename(s.smollm2))
    os.symlink(os.path.realpath(s.smollm2), path)
    call = ["--seed", "1", "-n", "30", "--json", "Write a poem about rain."]
    texts = [json.loads(s.run("run", name, *call).stdout)["text"] for name in ("smollm2", path)]
    assert texts[0] == texts[1], texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--only", default="", help="only cases whose title has this word")
    parser.add_argument("--smollm2", help="the file of SmolLM2-135M-Instruct.Q4_1.gguf")
    options = parser.parse_args()
    weft = os.path.realpath(options.weft)
    version = subprocess.run([weft, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{version}\n\n| item | case | result |\n|--:|---|---|", flush=True)
    failed = 0
    for group, title, function in CASES:
        if options.only not in title:
            continue
        session = Session(weft, options.smollm2)
        try:
            result = function(session) or "pass"
        except Exception as error:  # Whatever it is, the other cases are of interest.
            failed += 1
            why = " ".join(str(error).split()) or type(error).__name__
            why = why.replace(session.folder, "").replace(FIXTURES, "").replace("|", "\\|").replace("`", "'")
            result = f"FAIL: {why[:160]}"
        finally:
            session.close()
        print(f"| {group} | {title} | {result} |", flush=True)
    sys.exit(min(failed, 100))


if __name__ == "__main__":
    main()
