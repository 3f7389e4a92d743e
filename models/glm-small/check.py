#!/usr/bin/env python3
"""Checks that Weft computes what PyTorch computes.

    python3 check.py --run run --data data --weft weft glm-small-f32.gguf glm-small-q8_0.gguf
    python3 check.py --random --weft weft                 # without training: random weights

For the first file: the same tokens, and logits as close as rounding allows. For every file: the perplexity of `valid.txt`,
by llama.cpp's rules, at most 1.02 times PyTorch's.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from export import export
from model import Shape, build
from tokens import make_tokenizer

# What differs between models: the shape and what builds it; `widen(model, generator)` makes random weights large enough that
# every part matters; `write(shape, weights, tokenizer, path)`; and `begin(tokenizer)`, the tokens before a text.
Recipe = namedtuple("Recipe", "shape build widen write begin")


def weft(args, *command):
    return subprocess.run([args.weft, *map(str, command)], check=True, capture_output=True, text=True).stdout


@torch.no_grad()
def perplexity(model, ids, size, windows):
    """Of the second half of each window of `size` tokens."""
    losses = []
    for i in range(windows):
        window = torch.tensor([ids[i * size : (i + 1) * size]])
        log_p = model(window)[0].log_softmax(-1)
        half = size // 2
        losses.append(-log_p[half:-1].gather(1, window[0, half + 1 :, None]).squeeze(1))
    return math.exp(torch.cat(losses).mean())


def widen(model, generator, special=lambda name: False):
    """Random weights; between -1 and 1 where they are `special`."""
    for name, p in model.named_parameters():
        if special(name):
            torch.nn.init.uniform_(p, -1, 1, generator=generator)
        elif p.dim() > 1:
            torch.nn.init.normal_(p, std=1.2 / p.shape[-1] ** 0.5, generator=generator)
        else:
            torch.nn.init.uniform_(p, 0.5, 1.5, generator=generator)
    model.head.weight.data *= 4
    model.embed.weight.data *= 4


def widen_glm(model, generator):
    widen(model, generator)
    for e in model.experts():
        e.bias.uniform_(-0.2, 0.2, generator=generator)


def random_run(recipe, folder, fields):
    """A model with random weights, and a tokenizer of next to no text."""
    shape = recipe.shape(**fields)
    model = recipe.build(shape, 1)
    recipe.widen(model, torch.Generator().manual_seed(1))
    save_file(model.state_dict(), folder / "weights.safetensors")
    (folder / "shape.json").write_text(json.dumps(shape.dict()))
    text = Path(__file__).with_name("plots.py").read_text()
    make_tokenizer([text], shape.vocab).save(str(folder / "tokenizer.json"))
    (folder / "valid.txt").write_text(text[:8000])
    return folder


def main(recipe, doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="the folder of the trained weights")
    parser.add_argument("--data", type=Path, help="the folder of the tokenizer and of valid.txt")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--shape", type=json.loads, default={}, help="fields of Shape for random weights, as JSON")
    parser.add_argument("--keep", type=Path, help="a folder for the files of random weights")
    parser.add_argument("--weft", default="weft")
    parser.add_argument("--tokens", type=int, default=200, help="tokens whose logits are compared")
    parser.add_argument("--windows", type=int, default=40)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = args.keep or Path(folder)
        folder.mkdir(exist_ok=True)
        if args.random:
            args.run = args.data = random_run(recipe, folder, args.shape)
        shape = recipe.shape(**json.loads((args.run / "shape.json").read_text()))
        weights = load_file(args.run / "weights.safetensors")
        model = recipe.build(shape, 0).eval()
        model.load_state_dict(weights)
        tokenizer = Tokenizer.from_file(str(args.data / "tokenizer.json"))
        if not args.files:
            args.files = [folder / "f32.gguf"]
            plain = {k: v.numpy() for k, v in weights.items()}
            recipe.write(shape, plain, json.loads((args.data / "tokenizer.json").read_text()), args.files[0])
        text = (args.data / "valid.txt").read_text()
        ids = tokenizer.encode(text).ids
        ok = True

        part = text[:2000]
        theirs = [t["id"] for t in json.loads(weft(args, "tokenize", "--json", "--no-special", args.files[0], part))]
        ours = tokenizer.encode(part).ids
        print(f"tokens: {len(ours)}, {'equal' if ours == theirs else f'DIFFERENT: {len(theirs)}'}")
        ok &= ours == theirs

        some = recipe.begin(tokenizer) + ids[: args.tokens]
        out = folder / "logits.f32"
        for exact in (True, False):
            options = ["--oracle"] if exact else ["--kv", "f32", "--no-cache"]
            weft(args, "logits", args.files[0], "--tokens", ",".join(map(str, some)), "--out", out, *options)
            got = torch.from_numpy(np.fromfile(out, "<f4").reshape(len(some), -1))
            with torch.no_grad():
                wanted = model(torch.tensor([some]))[0]
            kl = (wanted.softmax(-1) * (wanted.log_softmax(-1) - got.log_softmax(-1))).sum(-1)
            distance = ((got - wanted).norm() / wanted.norm()).item()
            same = (got.argmax(-1) == wanted.argmax(-1)).float().mean().item()
            print(f"logits, {'float oracle' if exact else 'as it runs'}: relative distance {distance:.2e}, mean KL {kl.mean():.2e}, same argmax {same:.3f}")
            if exact and "q8_0" not in args.files[0].name:
                ok &= distance < 1e-4

        size = min(512, shape.context)
        windows = min(args.windows, len(ids) // size)
        if windows:
            wanted = perplexity(model, ids, size, windows)
            print(f"perplexity of {windows} windows of {size}: PyTorch {wanted:.4f}")
            for file in args.files:
                options = ["--context", size, "--windows", windows, "--json", "--no-journal", "--no-cache"]
                found = json.loads(weft(args, "perplexity", file, args.data / "valid.txt", *options))
                value = found.get("perplexity") or found["ppl"]
                print(f"  {file.name}: {value:.4f}, {value / wanted:.4f} times")
                ok &= value <= 1.02 * wanted
    print("ok" if ok else "FAILED")
    sys.exit(not ok)


if __name__ == "__main__":
    begin = lambda tokenizer: [tokenizer.token_to_id(token) for token in ("[gMASK]", "<sop>", "<|user|>")]
    main(Recipe(Shape, build, widen_glm, export, begin), __doc__)
