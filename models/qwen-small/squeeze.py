#!/usr/bin/env python3
"""Makes the generator's file small enough to travel in one piece, and undoes it.

    python3 squeeze.py pack SmolLM2-135M-Instruct.Q4_1.gguf smollm2.bin --vocab 24000
    python3 squeeze.py unpack smollm2.bin smollm2-f16.gguf

The vocabulary is cut to its most common tokens. Each row of a matrix gets one scale, of a share of its standard deviation, and
its whole numbers are coded by Huffman: at 0.33, about 3.7 bits a weight, with 0.9 % of the weights' energy as error.
"""

import argparse
import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

import shared  # noqa: F401: it makes the next imports find glm-small's files.
import ggufio
from trim import EMBEDDING, cut


def pack(args):
    data = memoryview(args.file.read_bytes())
    metadata, infos, start = ggufio.header(data)
    cut(metadata, args.vocab)
    listed, parts = [], []
    for name, shape, kind, offset in infos:
        array = ggufio.decode(data, start + offset, shape, kind)
        if name == EMBEDDING:
            array = array[: args.vocab]
        if array.ndim < 2:
            scale, values = None, array.astype("<f4").tobytes()
        else:
            step = args.embedding if name == EMBEDDING else args.step
            scale = (array.std(1, keepdims=True) * step).astype("<f2")
            divisor = scale.astype(np.float32)
            whole = np.rint(np.divide(array, divisor, out=np.zeros_like(array), where=divisor > 0)).clip(-127, 127).astype(np.int8)
            coder = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_HUFFMAN_ONLY)
            values = coder.compress(whole.tobytes()) + coder.flush()
        scales = b"" if scale is None else scale.tobytes()
        listed.append((name, list(array.shape), len(scales), len(values)))
        parts += [scales, values]
    head = zlib.compress(json.dumps([metadata, listed]).encode(), 9)
    args.out.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(parts))


def unpack(args):
    data = args.file.read_bytes()
    at = 8 + struct.unpack_from("<Q", data)[0]
    metadata, listed = json.loads(zlib.decompress(data[8:at]))
    tensors = []
    for name, shape, scales, values in listed:
        scale, raw = data[at : at + scales], data[at + scales : at + scales + values]
        at += scales + values
        if scales:
            whole = np.frombuffer(zlib.decompress(raw), np.int8).reshape(shape)
            array = whole * np.frombuffer(scale, "<f2").astype(np.float32)[:, None]
            tensors.append((name, array.astype(np.float16)))
        else:
            tensors.append((name, np.frombuffer(raw, "<f4").reshape(shape)))
    metadata = [(key, tuple(kind) if isinstance(kind, list) else kind, value) for key, kind, value in metadata]
    ggufio.write(args.out, metadata, tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pack", "unpack"])
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--vocab", type=int, default=24000)
    parser.add_argument("--step", type=float, default=0.33)
    parser.add_argument("--embedding", type=float, default=0.25)
    args = parser.parse_args()
    {"pack": pack, "unpack": unpack}[args.what](args)
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
