#!/usr/bin/env python3
"""Checks tokenizers against llama.cpp's vocabulary suites.

    git clone --depth 1 https://github.com/ggml-org/llama.cpp
    cargo build -p weft
    python3 crates/weft-text/tests/suites/check.py llama.cpp/models

`models/ggml-vocab-NAME.gguf` is the vocabulary of a published model, `.inp` has texts, and `.out` the tokens of each, which
llama.cpp took from the model's own tokenizer. Prints one line for each vocabulary: how many texts get the same tokens, or why Weft
refuses it. Vocabularies without texts are only opened. Fails if a text gets other tokens. The results are in docs/tokenizers.md.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEPARATOR = "\n__ggml_vocab_test__\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the vocabularies, `models` in llama.cpp")
    parser.add_argument("--weft", default=HERE.parents[3] / "target/debug/weft", help="the program [target/debug/weft]")
    args = parser.parse_args()
    files = sorted(args.folder.glob("ggml-vocab-*.gguf"))
    if not files:
        parser.error(f"there are no vocabularies in {args.folder}")
    sys.exit(0 if all([check(args.weft, path) for path in files]) else 1)


def check(weft, path):
    """Whether all texts of a vocabulary get the tokens that they should, or Weft refuses it."""
    name = path.stem.removeprefix("ggml-vocab-")
    refusal, _ = tokenize(weft, path, "")
    if refusal:
        print(f"{name}: refused: {refusal}")
        return True
    if not Path(f"{path}.inp").exists():
        print(f"{name}: opened; it has no texts")
        return True
    # Most files end with a separator.
    texts = Path(f"{path}.inp").read_bytes().decode().removesuffix(SEPARATOR).split(SEPARATOR)
    lines = Path(f"{path}.out").read_text().splitlines()
    assert len(texts) == len(lines), f"{path}: {len(texts)} texts and {len(lines)} lines of tokens"
    same = 0
    for text, line in zip(texts, lines):
        expected = [int(token) for token in line.split()]
        _, found = tokenize(weft, path, text)
        if found == expected:
            same += 1
        else:
            print(f"{name}: {text!r} is {found}, expected {expected}")
    print(f"{name}: {same} of {len(texts)} texts")
    return same == len(texts)


def tokenize(weft, path, text):
    """Why Weft refuses a vocabulary, if it does, and the tokens of a text, without special ones."""
    call = [weft, "tokenize", path, "-", "--no-special", "--json"]
    told = subprocess.run(call, input=text.encode(), capture_output=True)
    if told.returncode != 0:
        return told.stderr.decode().strip(), None
    return None, [token["id"] for token in json.loads(told.stdout)]


if __name__ == "__main__":
    main()
