#!/usr/bin/env python3
"""Generates the raw text of glm-small's training data with SmolLM2-135M-Instruct.

    python3 generate.py --weights SmolLM2-135M-Instruct.Q4_1.gguf --out raw --seconds 240

The weights may be cut into parts (`--weights a b c`). Replies follow scripts: given text alternates with generated
sentences (see `plots.py`). Writes `OUT/raw-GROUP-BATCH.jsonl.gz`, each line a conversation: `{"k": kind, "u": [what the
user says], "r": [replies], "n": [who is in the story]}`. A reply is a list of `[given, generated, instead]`, the last as in
`prompts.Turn`. A second run goes on with the groups that are missing.
"""

import argparse
import collections
import gzip
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

import torch

import ggufio
import prompts
import smollm

TURN = "<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def frame(tokenizer, job):
    """A job as tokens: the head, and segments, each given tokens and a number of sentences to generate after them."""
    encode = lambda text: tokenizer.encode(text).ids
    head = encode(f"<|im_start|>user\n{job.turns[0].ask}<|im_end|>\n<|im_start|>assistant\n")
    segments = []
    pending = ""
    for i, turn in enumerate(job.turns):
        if i:
            pending += TURN.format(turn.ask)
        for text, sentences, _ in turn.reply:
            pending += text
            if sentences:
                segments.append((encode(pending), sentences))
                pending = ""
    if pending:
        segments.append((encode(pending), 0))
    return head, segments


def replies(tokenizer, tokens, job):
    """The replies in the text after the head; None if they are not as many as the turns."""
    text = tokenizer.decode(tokens, skip_special_tokens=False)
    parts = text.split("<|im_end|>\n<|im_start|>user\n")
    texts = [parts[0]] + [part.split("<|im_start|>assistant\n", 1)[-1] for part in parts[1:]]
    return texts if len(texts) == len(job.turns) and "<|" not in "".join(texts) else None


def part(turn, text):
    """A reply as pairs of given and generated text, each with what may take the place of the latter; None if they are not found."""
    parts, at = [], 0
    for i, (given, sentences, instead) in enumerate(turn.reply):
        if not text.startswith(given, at):
            return None
        at += len(given)
        if not sentences:
            parts.append([given, "", None])
            continue
        following = turn.reply[i + 1][0] if i + 1 < len(turn.reply) else ""
        end = text.find(following, at) if following else len(text)
        if end < 0:
            return None
        parts.append([given, text[at:end], instead])
        at = end
    return parts if at == len(text) else None


def prepare(work):
    """The frames and jobs of a group, with those that take about as long next to each other."""
    seed, number, size = work
    jobs = [prompts.job(seed, number * size + i) for i in range(size)]
    framed = [(*frame(TOKENIZER, job), job) for job in jobs]
    framed.sort(key=lambda f: sum(len(tokens) + 16 * sentences for tokens, sentences in f[1]))
    return number, framed


def finish(path, results):
    """Writes what came of a batch: pairs of tokens and job. Returns how many conversations it has."""
    lines = []
    for tokens, job in results:
        texts = replies(TOKENIZER, tokens, job)
        parts = [part(turn, text) for turn, text in zip(job.turns, texts)] if texts else [None]
        if all(parts):
            lines.append(json.dumps({"k": job.kind, "u": [t.user for t in job.turns], "r": parts, "n": job.people}))
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("\n".join(lines) + "\n" if lines else "")
    return len(lines)


TOKENIZER = None  # Of this process: workers get it when they are forked.


def main():
    global TOKENIZER
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", nargs="+", required=True, help="the GGUF file, or its parts in order")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240, help="no batch begins later than this, less the time of one")
    parser.add_argument("--batch", type=int, default=4096, help="sequences at a time")
    parser.add_argument("--group", type=int, default=4, help="batches that are prepared and sorted by length together")
    parser.add_argument("--first", type=int, default=0, help="number of the first group, for further runs elsewhere")
    parser.add_argument("--most", type=int, default=10_000, help="groups at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocab", type=int, default=24000, help="reply with the most common tokens only")
    parser.add_argument("--workers", type=int, default=max(1, min(10, (os.cpu_count() or 2) - 2)))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    start = time.monotonic()
    clock = lambda: time.monotonic() - start
    args.out.mkdir(parents=True, exist_ok=True)
    metadata, tensors = ggufio.read(args.weights)
    TOKENIZER = smollm.tokenizer(metadata)
    there = {path.name.split("-")[1] for path in args.out.glob("raw-*.jsonl.gz")}
    groups = [g for g in range(args.first, args.first + args.most) if f"{g:05}" not in there]

    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        # A few groups are prepared ahead, while the device works.
        size = args.batch * args.group
        ahead = collections.deque(pool.apply_async(prepare, ((args.seed, g, size),)) for g in groups[: args.workers])
        waiting = collections.deque(groups[args.workers :])
        torch.backends.cuda.enable_cudnn_sdp(False)  # It would plan anew for every length.
        dtype = torch.bfloat16 if args.device == "cuda" else torch.float32
        model = smollm.SmolLM(metadata, tensors, TOKENIZER, args.device, dtype, args.vocab)
        print(f"loaded after {clock():.1f} s; {len(model.choices)} tokens to choose from", flush=True)
        made = tokens = 0
        longest = 0.0
        writing = []
        while ahead:
            group, framed = ahead.popleft().get()
            if waiting:
                ahead.append(pool.apply_async(prepare, ((args.seed, waiting.popleft(), size),)))
            generator = torch.Generator(args.device).manual_seed(args.seed * 1_000_003 + group)
            for number, at in enumerate(range(0, size, args.batch)):
                if clock() + longest > args.seconds:
                    ahead = None
                    break
                part = framed[at : at + args.batch]
                began = clock()
                results, steps = model.follow([f[0] for f in part], [f[1] for f in part], smollm.Options(), generator)
                took = clock() - began
                longest = max(longest, took)
                good = [(ids, job) for (_, _, job), (ids, done) in zip(part, results) if done]
                writing.append(pool.apply_async(finish, (args.out / f"raw-{group:05}-{number}.jsonl.gz", good)))
                made += len(good)
                new = sum(len(ids) for ids, _ in results)
                tokens += new
                print(f"{clock():5.0f} s  group {group}.{number}: {len(good)} of {len(part)} came to an end, {steps} steps in {took:.1f} s, "
                      f"{new / took / 1e3:.0f} k tokens/s; in all {made} with {tokens / 1e6:.1f} M tokens", flush=True)
        kept = sum(w.get() for w in writing)
        pool.terminate()
    print(f"done: {kept} conversations, {tokens} tokens, {clock():.0f} s")


if __name__ == "__main__":
    sys.exit(main())
