#!/usr/bin/env python3
"""Cleans the generated text: drops broken, repetitive and near-duplicate conversations.

    python3 clean.py --raw raw --out clean

Reads `RAW/*.jsonl.gz`; writes `OUT/clean-NN.jsonl.xz`, of at most 15 MiB each, and `OUT/stats.json`.
"""

import argparse
import gzip
import json
import lzma
import os
import random
import re
import sys
import time
import zlib
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import words

NAMES = set(words.GIRLS + words.BOYS)
AI = re.compile(r"\b(AI|language model|chatbot|digital assistant|virtual assistant|as an assistant|I cannot|I can't (help|assist)|I'm unable|I am unable|"
                r"OpenAI|Hugging ?Face|SmolLM|in one short sentence|short sentence)\b", re.I)
UNFIT = re.compile(r"\b(kill\w*|murder\w*|suicid\w*|rape\w*|sex\w*|porn\w*|naked|drugs?|cocaine|heroin|alcohol\w*|drunk|gun|guns|terror\w*|nazi\w*|slave\w*|"
                   r"bomb\w*|corpse|torture\w*|bitch|damn|shit|fuck\w*|racis\w*|abus\w*)\b", re.I)
TWICE = re.compile(r"\b(\w+)(?:,? \1\b)+", re.I)
MAY_COME_TWICE = {"very", "so", "really", "many", "had", "that", "no", "ha", "bye", "up", "far", "too", "yes"}
WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
SHINGLE = 8  # Words.


def flaw(record):
    """Why a conversation is dropped; None if it is not."""
    for reply in record["r"]:
        found = WORD.findall(reply)
        if not reply.isascii():
            return "characters"
        if len(found) < 2 or (record["k"] == "story" and len(found) < 45):
            return "short"
        if AI.search(reply):
            return "assistant"
        if UNFIT.search(reply):
            return "unfit"
        if reply.count('"') % 2 or not reply.endswith((".", "!", "?", '"')):
            return "broken"
        if any(m[1].lower() not in MAY_COME_TWICE or len(m[0].split()) > 2 for m in TWICE.finditer(reply)):
            return "stutter"
        if len(found) > 40 and len({w.lower() for w in found}) < 0.36 * len(found):
            return "repetitive"
        sentences = [s.strip().lower() for s in re.split(r'(?<=[.!?])"?\s+', reply) if len(s) > 12]
        if len(set(sentences)) < len(sentences):
            return "repetitive"
        if record["k"] == "story" and any(w in NAMES and w not in record["n"] for w in found):
            return "names"
        if re.search(r"[a-z][A-Z]|[.!?][A-Za-z]|\d{5}| ,| \.", reply):
            return "broken"
    return None


def tidy(text):
    """One space between words, one empty line between paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def shingles(record):
    """Hashes of a quarter of the runs of words in the replies."""
    found = [w.lower() for w in WORD.findall(" ".join(record["r"]))]
    hashes = (zlib.crc32(" ".join(found[i : i + SHINGLE]).encode()) for i in range(max(1, len(found) - SHINGLE + 1)))
    every = list(hashes)
    return [h for h in every if h % 4 == 0] or every[:1]


def records(path):
    """The records of a file with tidy texts, each with its flaw, if any."""
    with gzip.open(path, "rt") as file:
        for line in file:
            record = json.loads(line)
            record["r"] = [tidy(reply) for reply in record["r"]]
            record["u"] = [tidy(user) for user in record["u"]]
            yield record, flaw(record)


def used(record):
    """The words of the replies."""
    return {w.lower() for reply in record["r"] for w in WORD.findall(reply)}


def count(path):
    """How many good records of a file have each word."""
    counts = Counter()
    for record, why in records(path):
        if not why:
            counts.update(used(record))
    return counts


KNOWN = set()  # Words that are common enough: workers get it when they are forked.


def read(path):
    """The good records of a file, each with its shingles, and counts of flaws."""
    flaws, good = Counter(), []
    for record, why in records(path):
        if not why and not used(record) <= KNOWN:
            why = "rare words"
        flaws[why or "good"] += 1
        if not why:
            good.append((record, shingles(record)))
    return good, flaws


def pack(text):
    return lzma.compress(text, preset=6)


def write(folder, kept, cores, limit=15 << 20, piece=12 << 20):
    """Writes records in parts of at most `limit` bytes, each of pieces that are compressed side by side. Returns how many."""
    text = "".join(json.dumps({k: v for k, v in r.items() if k != "n"}, separators=(",", ":")) + "\n" for r in kept).encode()
    pieces, at = [], 0
    while at < len(text):
        end = text.rfind(b"\n", at, at + piece) + 1
        pieces.append(text[at:end])
        at = end
    parts = [b""]
    with Pool(cores) as pool:
        for packed in pool.imap(pack, pieces):
            if len(parts[-1]) + len(packed) > limit:
                parts.append(b"")
            parts[-1] += packed
    for i, part in enumerate(parts):
        (folder / f"clean-{i:02}.jsonl.xz").write_bytes(part)
    return len(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rare", type=int, default=4, help="drop conversations with words that fewer conversations have")
    parser.add_argument("--seen", type=float, default=0.6, help="drop conversations of which a larger share was seen before")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    args = parser.parse_args()
    began = time.monotonic()
    paths = sorted(args.raw.glob("raw-*.jsonl.gz"))
    flaws, counts, kept = Counter(), Counter(), []
    with Pool(args.cores) as pool:
        for c in pool.imap(count, paths):
            counts.update(c)
    global KNOWN
    KNOWN = {w for w, n in counts.items() if n >= args.rare}
    print(f"{len(KNOWN)} of {len(counts)} words are common; {time.monotonic() - began:.0f} s", flush=True)
    with Pool(args.cores) as pool:
        for good, f in pool.imap(read, paths):
            flaws.update(f)
            kept += good
    total = sum(flaws.values())
    random.Random(args.seed).shuffle(kept)
    seen, exact, fresh = set(), set(), []
    for record, hashes in kept:
        whole = (tuple(record["u"][1:]), tuple(record["r"]))
        share = sum(h in seen for h in hashes) / len(hashes)
        if whole in exact or (record["k"] == "story" and share > args.seen):
            flaws["near duplicates"] += 1
            continue
        exact.add(whole)
        seen.update(hashes)
        fresh.append(record)
    args.out.mkdir(parents=True, exist_ok=True)
    parts = write(args.out, fresh, args.cores)
    kinds = Counter(r["k"] for r in fresh)
    characters = sum(len(x) for r in fresh for x in r["r"] + r["u"])
    stats = dict(read=total, flaws=dict(flaws), kept=len(fresh), kinds=dict(kinds), characters=characters, words=len(KNOWN),
                 parts=parts, seconds=round(time.monotonic() - began, 1))
    (args.out / "stats.json").write_text(json.dumps(stats, indent=1))
    print(json.dumps(stats))


if __name__ == "__main__":
    sys.exit(main())
