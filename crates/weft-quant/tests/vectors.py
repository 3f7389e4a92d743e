#!/usr/bin/env python3
"""Makes the golden vectors that it/golden.rs checks the codec against, with GGML's own Python package.

    python3 -m pip install gguf==0.19.0 numpy
    python3 crates/weft-quant/tests/vectors.py

Writes next to this file, in vectors/, all little-endian and reproducible from the seed below:

    types.txt     every type: its id, name, values per block and bytes per block
    TYPE.blocks   blocks of a type: random bits, and the corner cases listed in `corners`
    TYPE.f32      the values that `gguf.quants.dequantize` reads from them
    input.f32     the input of the encoders: blocks of 32 values
    grids.txt     a hash of each grid of IQ1 to IQ3, whose codes the blocks have a few of only
    TYPE.encoded  the blocks that `gguf.quants.quantize` makes of them, for the types it can write

For every one of these types `gguf` does its f32 arithmetic in the order of GGML's C reference (`dequantize_row_*` and
`quantize_row_*_ref`), for example d * q + m for Q4_1 and (d * sc) * q - dmin * m for Q4_K, so both must match bit for
bit. The inputs avoid the one difference between the two: for a block of zeros that begins with -0.0, `gguf` writes a scale
of +0.0 and C one of -0.0.
"""

from pathlib import Path

import gguf
import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type

OUT = Path(__file__).parent / "vectors"
SEED = 20240229

# The offsets of a block's half-precision numbers; None for types that are only such a number.
HALVES = {
    Type.F16: None,
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.Q8_0: [0],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.IQ1_S: [0],
    Type.IQ1_M: [],
    Type.IQ2_XXS: [0],
    Type.IQ2_XS: [0],
    Type.IQ2_S: [0],
    Type.IQ3_XXS: [0],
    Type.IQ3_S: [0],
    Type.IQ4_NL: [0],
    Type.IQ4_XS: [0],
    Type.TQ1_0: [52],
    Type.TQ2_0: [64],
    Type.MXFP4: [],
    Type.NVFP4: [],
    Type.BF16: None,
    Type.F32: None,
}
ENCODERS = [Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.TQ1_0, Type.TQ2_0, Type.MXFP4]


def halves(rng: np.random.Generator, shape: tuple[int, ...], exponents: range) -> np.ndarray:
    """Half-precision numbers of any sign and mantissa whose biased exponents are in `exponents`."""
    sign = rng.integers(0, 2, shape) << 15
    exponent = rng.integers(exponents.start, exponents.stop, shape) << 10
    return (sign | exponent | rng.integers(0, 1 << 10, shape)).astype("<u2")


def corners(rng: np.random.Generator, size: int, at: list[int]) -> np.ndarray:
    """Blocks of `size` bytes with half-precision numbers at the offsets `at`."""
    blocks = rng.integers(0, 256, ((12 if size > 40 else 40), size), dtype=np.uint8)
    blocks[1, :] = 0xFF  # all quants and scales at their largest
    blocks[2, :] = 0x00  # and at their smallest
    numbers = halves(rng, (len(blocks), len(at)), range(1, 31))  # normal
    numbers[3] = 0x0000  # zero
    numbers[4] = 0x8000  # minus zero
    numbers[5] = halves(rng, (len(at),), range(0, 1))  # subnormal
    numbers[6] = 0x0001  # the smallest
    numbers[7] = 0x7BFF  # the largest
    for i, offset in enumerate(at):
        blocks[:, offset : offset + 2] = numbers[:, i : i + 1].view(np.uint8)
    return blocks


def spread_half(rng: np.random.Generator, blocks: np.ndarray) -> None:
    """Gives blocks of IQ1_M the half-precision numbers of `corners`, four bits in each of the last four words."""
    numbers = corners(rng, 50, [0])[:, :2].copy().view("<u2")
    words = blocks[:, 48:].copy().view("<u2") & 0x0FFF
    for i in range(4):
        words[:, i] |= ((numbers[:, 0] >> (4 * i)) & 15) << 12
    blocks[:, 48:] = words.view(np.uint8)


def grids() -> str:
    """For each grid its name, its number of points, and the FNV-1a hash of the points as `src/grids.rs` has them."""
    lines = []
    for name in ["IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"]:
        kind = getattr(gguf.quants, name)
        kind.init_grid()
        width = 2 if kind.grid_shape[1] == 8 else 3
        digits = np.searchsorted(np.array(kind.grid_map), kind.grid.reshape(kind.grid_shape))
        points = (digits << (width * np.arange(kind.grid_shape[1]))).sum(axis=1).astype("<u2")
        value = 0xCBF29CE484222325
        for byte in points.tobytes():
            value = ((value ^ byte) * 0x100000001B3) % (1 << 64)
        lines.append(f"{name.lower()} {len(points)} {value:016x}\n")
    return "".join(lines)


def plain_numbers(rng: np.random.Generator, kind: Type) -> np.ndarray:
    """Random bits, without infinities and NaNs (whose payloads are nobody's contract), and the corners of the type."""
    bits = {Type.F32: "<u4", Type.F16: "<u2", Type.BF16: "<u2"}[kind]
    numbers = np.frombuffer(rng.bytes(1024), dtype=bits)
    width, mantissa = np.dtype(bits).itemsize * 8, {Type.F32: 23, Type.F16: 10, Type.BF16: 7}[kind]
    sign, infinity = 1 << (width - 1), ((1 << (width - 1 - mantissa)) - 1) << mantissa
    numbers = numbers[(numbers & infinity) != infinity]
    edges = [0, sign, 1, sign | 1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, infinity, sign | infinity]
    return np.concatenate([numbers, np.array(edges, dtype=bits)]).view(np.uint8)


def encoder_input(rng: np.random.Generator) -> np.ndarray:
    """Blocks of 32 finite values, of every size from far below to just above what a half-precision scale can hold."""
    blocks = [rng.standard_normal(32) * 10.0**e for e in range(-9, 7)]
    blocks += [rng.uniform(-1, 1, 32) for _ in range(8)]
    blocks += [rng.uniform(0, 1, 32), rng.uniform(-1, 0, 32), rng.uniform(9, 10, 32), rng.standard_t(2, 32)]
    blocks += [np.full(32, c) for c in (0.0, 1.0, -1.0, 0.3, -0.3, 1e-30)]
    blocks += [np.arange(32) - 16.0, 15.5 - np.arange(32), np.arange(32) / 31]
    blocks += [np.where(np.arange(32) == 7, 1.0, 0.0), np.where(np.arange(32) == 7, -1.0, 0.0)]
    # The farthest from zero on both sides: the first one counts.
    blocks += [np.where(np.arange(32) % 2 == first, 2.0, -2.0) for first in (0, 1)]
    # Values half-way between two steps of an eight-bit and of a four-bit scale of 1.
    blocks += [np.append(np.arange(31) + 0.5, 127.0), np.append(np.arange(31) / 2 - 7.5, -8.0)]
    return np.array(blocks, dtype="<f4")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with open(OUT / "types.txt", "w") as file:
        for kind, (length, size) in GGML_QUANT_SIZES.items():
            # Q8_1 is in no file; C has made its two f32 halves since, and `gguf` has not.
            if kind != Type.Q8_1:
                print(kind.value, kind.name.lower(), length, size, file=file)
    for kind, at in HALVES.items():
        rng = np.random.default_rng([SEED, kind.value])
        if at is None:
            blocks = plain_numbers(rng, kind)
        else:
            blocks = corners(rng, GGML_QUANT_SIZES[kind][1], at)
            if kind == Type.IQ1_M:
                spread_half(rng, blocks)
        (OUT / f"{kind.name.lower()}.blocks").write_bytes(blocks.tobytes())
        with np.errstate(over="ignore"):  # the largest E8M0 scale times the largest number is infinite
            values = gguf.quants.dequantize(blocks, kind)
        (OUT / f"{kind.name.lower()}.f32").write_bytes(values.astype("<f4").tobytes())

    (OUT / "grids.txt").write_text(grids())

    values = encoder_input(np.random.default_rng(SEED))
    (OUT / "input.f32").write_bytes(values.tobytes())
    for kind in ENCODERS:
        with np.errstate(over="ignore"):  # scales above 65504 become infinite, in C as well
            # Whole blocks; the rest is left out.
            length = GGML_QUANT_SIZES[kind][0]
            blocks = gguf.quants.quantize(values.ravel()[: values.size // length * length].reshape(-1, length), kind)
        (OUT / f"{kind.name.lower()}.encoded").write_bytes(blocks.tobytes())


if __name__ == "__main__":
    main()
