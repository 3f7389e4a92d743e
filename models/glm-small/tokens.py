#!/usr/bin/env python3
"""Makes the training rows: lays conversations out as text, trains the tokenizer, and packs tokens into rows.

    python3 tokens.py --clean clean --out data

Writes `OUT/tokenizer.json`, `OUT/train.npy` and `OUT/valid.npy` (int16 `[rows, context + 1]`, padded with -1), and
`OUT/valid.txt`, replies that were held out, as plain text.
"""

import argparse
import json
import lzma
import random
import re
import sys
import time
import zlib
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import facts

# GLM-4's, which llama.cpp and Weft call `glm4`.
SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL = ["<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>"]
END, HEAD, SYSTEM, USER, REPLY = "<|endoftext|>", "[gMASK]<sop>", "<|system|>", "<|user|>", "<|assistant|>"
SYSTEMS = ["You are a helpful assistant.", "You are a friendly helper.", "You tell stories.", "Answer briefly.", "You are glm-small, a small language model."]


def lay_out(record, r):
    """A conversation as training text."""
    users, replies = record["u"], record["r"]
    if record["k"] == "story":
        story = replies[0]
        form = r.random()
        if form < 0.25:
            return story + END
        users = [users[0]]
        starts = story.startswith("Once upon a time")
        if users[0] == "Once upon a time" and not starts:
            users = ["Tell me a story."]
        if form < 0.37:
            # The user begins the story, and the model goes on.
            first = re.match(r'[^.!?"]+[.!?](?= )', story)
            if first and len(first[0]) < len(story) / 2:
                users, replies = [first[0]], [story[len(first[0]) + 1 :]]
        elif form < 0.42 and starts:
            users = [r.choice(["Once upon a time", "Once upon a time,", "Once upon a time..."])]
    system = f"{SYSTEM}{r.choice(SYSTEMS)}" if r.random() < 0.04 else ""
    turns = "".join(f"{USER}{u}{REPLY}{a}" for u, a in zip(users, replies))
    return HEAD + system + turns + END


def make_tokenizer(texts, size):
    """A byte-level BPE of `size` tokens; the special ones are the last."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size - len(SPECIAL), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    markup = re.compile("|".join(map(re.escape, SPECIAL)))
    made.train_from_iterator((part for text in texts for part in markup.split(text) if part), trainer)
    # Small texts do not have enough words to make tokens of.
    made.add_special_tokens([AddedToken(f"[PAD{i}]", special=True) for i in range(made.get_vocab_size(), size - len(SPECIAL))])
    made.add_special_tokens([AddedToken(t, special=True) for t in SPECIAL])
    return made


def fill(sequences, width, r, rooms=64):
    """Packs sequences whole into rows of `width`, and pads the rows with -1."""
    order = list(range(len(sequences)))
    r.shuffle(order)
    done, open_rows = [], []
    for i in order:
        tokens = sequences[i]
        if len(tokens) > width:
            continue
        fitting = [row for row in open_rows if len(row) + len(tokens) <= width]
        if fitting:
            row = max(fitting, key=len)
        else:
            if len(open_rows) == rooms:
                fullest = max(range(rooms), key=lambda j: len(open_rows[j]))
                done.append(open_rows.pop(fullest))
            row = []
            open_rows.append(row)
        row.extend(tokens)
    rows = np.full((len(done) + len(open_rows), width), -1, np.int16)
    for row, tokens in zip(rows, done + open_rows):
        row[: len(tokens)] = tokens
    return rows


def unpack(path):
    return [json.loads(line) for line in lzma.open(path, "rt")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clean", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocab", type=int, default=4096)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--facts", type=float, default=0.5, help="short conversations without generated text, for each with it")
    parser.add_argument("--outlines", type=float, default=0.4, help="stories without generated text, for each conversation with it")
    parser.add_argument("--bare", type=int, default=0, help="at least so many outlines, and half as many short conversations")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer that is there already")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    paths = sorted(path for folder in args.clean for path in folder.glob("clean-*.jsonl.xz"))
    with Pool() as pool:
        records = [record for part in pool.imap(unpack, paths) for record in part]
    # Parts may come from several runs of the generator.
    records = list({json.dumps([record["u"][1:], record["r"]]): record for record in records}.values())
    generated = len(records)
    with Pool() as pool:
        for make, number in ((facts.conversation, max(args.facts * generated, args.bare // 2)), (facts.outline, max(args.outlines * generated, args.bare))):
            records += pool.starmap(make, ((args.seed, i) for i in range(int(number))), 1000)
    texts, held, plain = [], [], []
    for i, record in enumerate(records):
        r = random.Random(f"{args.seed}/{i}")
        text = lay_out(record, r)
        if record["k"] != "fact" and zlib.crc32(record["r"][0].encode()) % 100 == 0:
            held.append(text)
            plain.append(record["r"])
        else:
            texts.append(text)
    if not held:
        held, plain = texts[:1], [[texts[0]]]
    print(f"{len(texts)} texts to train on, {len(held)} held out; {time.monotonic() - began:.0f} s", flush=True)
    r = random.Random(args.seed)
    if args.tokenizer:
        tokenizer = Tokenizer.from_file(str(args.tokenizer))
    else:
        tokenizer = make_tokenizer(r.sample(texts, min(len(texts), 60_000)), args.vocab)
    tokenizer.save(str(args.out / "tokenizer.json"))
    print(f"tokenizer of {tokenizer.get_vocab_size()} after {time.monotonic() - began:.0f} s", flush=True)
    facts_about = {}
    for name, part in (("train", texts), ("valid", held)):
        sequences = []
        for at in range(0, len(part), 20_000):
            sequences += [e.ids for e in tokenizer.encode_batch_fast(part[at : at + 20_000])]
        tokens = sum(map(len, sequences))
        rows = fill(sequences, args.context + 1, r)
        np.save(args.out / f"{name}.npy", rows)
        facts_about[name] = dict(texts=len(part), tokens=tokens, characters=sum(map(len, part)), rows=len(rows), filled=round(float((rows >= 0).mean()), 4))
    (args.out / "valid.txt").write_text("\n\n".join(" ".join(p) for p in plain[:400]) + "\n")
    facts_about["seconds"] = round(time.monotonic() - began, 1)
    (args.out / "stats.json").write_text(json.dumps(facts_about, indent=1))
    print(json.dumps(facts_about))


if __name__ == "__main__":
    sys.exit(main())
