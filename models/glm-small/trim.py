#!/usr/bin/env python3
"""Cuts the vocabulary of SmolLM2's file to its most common tokens, and the file into parts, for a narrow way to the GPU.

    python3 trim.py SmolLM2-135M-Instruct.Q4_1.gguf weights --vocab 24000 --parts 3
"""

import argparse
import sys
from pathlib import Path

import ggufio

EMBEDDING = "token_embd.weight"


def cut(metadata, count):
    """Leaves the first `count` tokens, and the merges that lead to them."""
    tokens = next(value for key, _, value in metadata if key == "tokenizer.ggml.tokens")
    kept = set(tokens[:count])
    for i, (key, kind, value) in enumerate(metadata):
        if key in ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type"):
            value = value[:count]
        elif key == "tokenizer.ggml.merges":
            value = [merge for merge in value if merge.replace(" ", "") in kept]
        elif key == "llama.vocab_size":
            value = count
        metadata[i] = key, kind, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("out", help="the parts' name before .00, .01, ...")
    parser.add_argument("--vocab", type=int, default=24000)
    parser.add_argument("--parts", type=int, default=3)
    args = parser.parse_args()
    data = memoryview(args.file.read_bytes())
    metadata, infos, start = ggufio.header(data)
    cut(metadata, args.vocab)
    ends = sorted(offset for *_, offset in infos)[1:] + [len(data) - start]
    end_of = dict(zip(sorted(offset for *_, offset in infos), ends))
    tensors = []
    for name, shape, kind, offset in infos:
        raw = bytes(data[start + offset : start + end_of[offset]])
        if name == EMBEDDING:
            raw = raw[: len(raw) // shape[1] * args.vocab]
            shape = [shape[0], args.vocab]
        tensors.append((name, (shape, kind, raw)))
    whole = Path(f"{args.out}.whole")
    ggufio.write(whole, metadata, tensors)
    data = whole.read_bytes()
    size = -(-len(data) // args.parts)
    for i in range(args.parts):
        Path(f"{args.out}.{i:02}").write_bytes(data[i * size : (i + 1) * size])
    whole.unlink()
    print(f"{args.parts} parts of {size} bytes")


if __name__ == "__main__":
    sys.exit(main())
