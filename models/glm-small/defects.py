#!/usr/bin/env python3
"""Counts defects of stories, by tests on their text alone.

    python3 defects.py clean-00.jsonl.xz...
"""

import json
import lzma
import re
import sys
from collections import Counter

import words
from fit import NAMES, WORD, content, same

KINDS = sorted(set(words.ANIMALS + words.SEA_ANIMALS + words.BIRDS + words.GIRL_ROLES + words.BOY_ROLES + words.THINGS), key=len, reverse=True)
KIND = "|".join(KINDS)
INTRODUCED = re.compile(rf"\b({KIND}) (?:named|called) ([A-Z]\w+)|\b([A-Z]\w+) (?:was an?(?: \w+)?|the) ({KIND})\b")


def defects(text):
    """The kinds of defects of a story."""
    found = set()
    kinds = {}
    for a, name, name2, b in INTRODUCED.findall(text):
        kinds.setdefault(name or name2, set()).add(a or b)
    if any(len(k) > 1 for name, k in kinds.items() if name in NAMES):
        found.add("one name, two kinds of being")
    if len({w for w in WORD.findall(text) if w in NAMES}) > 2:
        found.add("more than two names")
    parts = [s for s in re.split(r'(?<=[.!?])"?\s+', text) if s]
    sets = [set(content(s)) - {n.lower() for n in NAMES} for s in parts]
    for a, b in zip(sets, sets[1:]):
        if len(b) > 2 and sum(any(same(x, y) for x in a) for y in b) >= 0.6 * len(b):
            found.add("a sentence that echoes the one before")
    for s in parts:
        names = [w for w in WORD.findall(re.sub(r'"[^"]*"', " ", s)) if w in NAMES]
        if any(names.count(n) > 1 for n in names):
            found.add("a name twice in a sentence")
        mine = [w for w in content(s) if w.capitalize() not in NAMES]
        if any(same(x, y) for i, x in enumerate(mine) for y in mine[:i]):
            found.add("a word twice in a sentence")
        if (said := re.search(r'"([^"]*)"? said ([A-Z]\w+)', s)) and said[2] in WORD.findall(said[1]):
            found.add("somebody speaks to himself")
    return found


def main():
    counts, stories = Counter(), 0
    for path in sys.argv[1:]:
        for line in lzma.open(path, "rt"):
            record = json.loads(line)
            if record["k"] == "story":
                found = defects(record["r"][0])
                stories += 1
                counts.update(found or {"none"})
    print(f"{stories} stories")
    for kind, n in counts.most_common():
        print(f"{100 * n / stories:5.1f} %  {kind}")


if __name__ == "__main__":
    sys.exit(main())
