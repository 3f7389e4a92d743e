#!/usr/bin/env python3
"""Cleans the generated text: leaves out sentences that do not fit, and drops broken, repetitive and duplicate conversations.

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
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import fit
import plots
import words
from fit import WORD

AI = re.compile(r"\b(AI|language model|chatbot|digital assistant|virtual assistant|as an assistant|I cannot|I can't (help|assist)|I'm unable|I am unable|"
                r"OpenAI|Hugging ?Face|SmolLM|in one short sentence|short sentence)\b", re.I)
UNFIT = re.compile(r"\b(kill\w*|murder\w*|suicid\w*|rape\w*|sex\w*|porn\w*|naked|drugs?|cocaine|heroin|alcohol\w*|drunk|gun|guns|terror\w*|nazi\w*|slave\w*|"
                   r"bomb\w*|corpse|torture\w*|bitch|damn|shit|fuck\w*|racis\w*|abus\w*)\b", re.I)
TWICE = re.compile(r"\b(\w+)(?:,? \1\b)+", re.I)
MAY_COME_TWICE = {"very", "so", "really", "many", "had", "that", "no", "ha", "bye", "up", "far", "too", "yes"}
GIVEN = {w.lower() for text in (plots.OPENINGS, plots.SEA_OPENINGS, *zip(*plots.PLOTS), *zip(*plots.SEA_PLOTS)) for w in WORD.findall(re.sub(r"{\w+}", " ", str(text)))}
GIVEN |= {w.lower() for name, value in vars(words).items() if isinstance(value, list) for w in WORD.findall(str(value))}
OFF = re.compile(r"\b(tip|like that|game-changer|quick|this answer|example of|unique|numerous|various|essential|crucial|significant|overall|complex|"
                 r"dynamic|perspective|environments?|ecosystem|mental|well-being|process|provide)\b", re.I)


def flaw(record):
    """Why a conversation is dropped; None if it is not."""
    for reply in record["r"]:
        found = WORD.findall(reply)
        if not reply.isascii():
            return "characters"
        if len(found) < 2 or (record["k"] == "story" and len(found) < 45):
            return "short"
        if record["k"] != "story" and AI.search(reply):
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
        if record["k"] != "story" and (OFF.search(reply) or any(len(WORD.findall(s)) > 18 for s in sentences)):
            return "talk"
        if record["k"] != "story" and any(sum(fit.same(a, b) for b in mine[:i]) > 1 for mine in [fit.content(reply)] for i, a in enumerate(mine)):
            return "repetitive"
        if re.search(r"[a-z][A-Z]|[.!?][A-Za-z]|\d{5}| ,| \.", reply):
            return "broken"
    return None


def tidy(text):
    """One space between words, one empty line between paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def assemble(parts, people, counts):
    """A reply without the generated sentences that do not fit; None if one of those cannot be left out.

    Returns the text and the sentences that stayed, and counts the reasons of the others in `counts`."""
    text, stayed = "", []
    for i, (given, made, instead) in enumerate(parts):
        text += given
        if not made:
            continue
        if not people:
            text += made
            continue
        after = parts[i + 1][0] if i + 1 < len(parts) else ""
        # What was given of this sentence: nothing, if the sentence before it is complete.
        stem = "" if re.search(r'[.!?]"?$', given.rstrip()) or not given.strip() else re.split(r'(?<=[.!?])"?\s+', given.rstrip())[-1]
        if re.search(r'[a-z:,!?.] ?"$', given) and given.count('"') % 2:
            stem = given[given.rstrip('"').rfind('"') + 1 :].strip()[-60:]
        why = fit.misfit(made, stem, text[: len(text) - len(stem)] if stem else text, after, people)
        if not why and KNOWN and not all(w.lower() in KNOWN for w in WORD.findall(made)):
            why = "rare words"
        counts[f"sentence: {why or 'good'}"] += 1
        if why and instead is None:
            return None, stayed
        if why:
            text += ("" if given.endswith('"') else " ") + instead if instead else ""
        else:
            text += made
            stayed.append(made)
    return tidy(text), stayed


def records(path):
    """The records of a file with tidy texts, each with the sentences that stayed, its flaw, if any, and counts of sentences."""
    with gzip.open(path, "rt") as file:
        for line in file:
            record = json.loads(line)
            counts = Counter()
            both = [assemble(reply, record["n"], counts) for reply in record["r"]]
            record["u"] = [tidy(user) for user in record["u"]]
            if any(text is None for text, _ in both):
                yield record, [], "misfit", counts
                continue
            record["r"] = [tidy(text) for text, _ in both]
            yield record, [re.sub("|".join(p[0] for p in record["n"]) or "$^", "@", s.strip()) for _, ss in both for s in ss], flaw(record), counts


def used(record):
    """The words of the replies."""
    return {w.lower() for reply in record["r"] for w in WORD.findall(reply)}


def count(path):
    """How many good records of a file have each word."""
    counts = Counter()
    number = 0
    for record, _, why, _ in records(path):
        if not why:
            counts.update(used(record))
            number += 1
    return counts, number


KNOWN = set()  # Words that are common enough: workers get it when they are forked.


def read(path):
    """The good records of a file, each with its generated sentences, and counts of flaws."""
    flaws, good = Counter(), []
    for record, stayed, why, counts in records(path):
        if not why and record["k"] != "story" and not used(record) <= KNOWN:
            why = "rare words"
        flaws[why or "good"] += 1
        flaws.update(counts)
        if not why:
            good.append((record, stayed))
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
    parser.add_argument("--rare", type=float, default=1 / 4000, help="words that a smaller share of conversations has do not stay")
    parser.add_argument("--often", type=int, default=150, help="drop conversations with a sentence that more often came before")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    args = parser.parse_args()
    began = time.monotonic()
    paths = sorted(args.raw.glob("raw-*.jsonl.gz"))
    flaws, counts, kept, number = Counter(), Counter(), [], 0
    with Pool(args.cores) as pool:
        for c, n in pool.imap(count, paths):
            counts.update(c)
            number += n
    global KNOWN
    KNOWN = GIVEN | {w for w, n in counts.items() if n >= max(2, args.rare * number)}
    print(f"{len(KNOWN)} of {len(counts)} words are common; {time.monotonic() - began:.0f} s", flush=True)
    with Pool(args.cores) as pool:
        for good, f in pool.imap(read, paths):
            flaws.update(f)
            kept += good
    total = sum(n for why, n in flaws.items() if not why.startswith("sentence"))
    random.Random(args.seed).shuffle(kept)
    often, exact, fresh = Counter(), set(), []
    for record, stayed in kept:
        whole = (tuple(record["u"][1:]), tuple(record["r"]))
        if whole in exact or any(often[s] >= args.often for s in stayed):
            flaws["duplicates"] += 1
            continue
        exact.add(whole)
        often.update(stayed)
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
