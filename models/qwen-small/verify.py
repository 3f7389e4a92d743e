#!/usr/bin/env python3
"""Checks that Weft computes what PyTorch computes.

    python3 verify.py --run run --data data --weft weft qwen-small-f32.gguf qwen-small-q8_0.gguf
    python3 verify.py --random --weft weft                # without training: random weights

For the first file: the same tokens, and logits as close as rounding allows. For every file: the perplexity of `valid.txt`,
by llama.cpp's rules, at most 1.02 times PyTorch's.
"""

import rows
from check import Recipe, main, widen
from hybrid import Shape, build
from write import write


def widen_hybrid(model, generator):
    widen(model, generator, lambda name: name.endswith(("conv", "a_log", "dt", "shared_score")))


if __name__ == "__main__":
    main(Recipe(Shape, build, widen_hybrid, write, lambda tokenizer: tokenizer.encode(rows.USER).ids), __doc__)
