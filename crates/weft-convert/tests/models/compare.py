#!/usr/bin/env python3
"""Converts what `make.py LLAMA_CPP OUT` made, and shows which keys and tensors differ from llama.cpp's.

    python3 compare.py WEFT OUT [NAME...]
"""

import difflib
import pathlib
import subprocess
import sys
import tempfile

from make import KINDS, listing

weft, out = sys.argv[1], pathlib.Path(sys.argv[2])
for name in sys.argv[3:] or KINDS:
    with tempfile.TemporaryDirectory() as folder:
        converted = pathlib.Path(folder) / "converted.gguf"
        run = subprocess.run([weft, "convert", out / name, converted], capture_output=True, text=True)
        if run.returncode:
            print(f"{name}: {run.stderr.strip()}")
            continue
        expected = (out / f"{name}.txt").read_text().splitlines()
        found = listing(converted).splitlines()
        lines = [line for line in difflib.unified_diff(expected, found, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")]
        print(f"{name}: {len(found)} lines, {len(lines)} differ")
        print("".join(f"    {line[:300]}\n" for line in lines), end="")
