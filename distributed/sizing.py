#!/usr/bin/env python3
"""Simulates workers of a cluster: the requests per second that they serve within limits on waiting.

A worker computes steps. A step has one token of every reply, and up to CHUNK prompt tokens beside them (BATCH if nobody replies).
Its time comes from what one H200 was measured to do with GLM-4.7-Flash's shape in Q4_0 (bench/runs/2026-11-22-cuda-fourth.md).
Requests come at random times, as turns of conversations: all but the new part of a prompt is in the cache of the worker that had the
turn before. Round robin finds it there once in as many times as there are workers; routing by cache finds it every time, unless that
worker has more than twice the work of the least busy one. docs/cluster.md has the table and its assumptions. It takes five minutes;
with numbers of workers as arguments, it prints only their rows.
"""

import bisect
import random
import sys

# Replies that run together, and tokens per second of all, after 256 tokens each.
REPLIES = [(1, 621), (2, 909), (4, 1322), (8, 1694), (16, 1878), (32, 3019), (64, 4886)]
# The same at a depth of 4096, where it was measured: 1 reply and 8.
DEEP = 1189 / 1694
PREFILL = 15_960
CHUNK, BATCH = 128, 512
PROMPT, REPLY = 2000, 300
# The limits: 95 of 100 first tokens within this time, and so many tokens per second for half of the replies.
FIRST, SPEED = 2.0, 20.0
SECONDS = 120


def step_time(replies):
    """Seconds of a step with so many replies, between the measured numbers by straight lines."""
    if not replies:
        return 0.0
    slow = DEEP if PROMPT > 1024 else 1.0
    points = [(n, n / (rate * slow)) for n, rate in REPLIES]
    if replies >= 64:
        return points[-1][1] * replies / 64
    at = bisect.bisect_left(points, (replies, 0.0))
    (n1, t1), (n0, t0) = points[at], points[max(at - 1, 0)]
    return t1 if n1 == n0 or n1 == replies else t0 + (t1 - t0) * (replies - n0) / (n1 - n0)


class Worker:
    def __init__(self):
        self.now, self.prompts, self.replies = 0.0, [], []

    def work(self):
        return sum(left for left, _ in self.prompts) + 8 * sum(left for left, *_ in self.replies)

    def run(self, until, firsts, speeds):
        while self.now < until and (self.prompts or self.replies):
            room = CHUNK if self.replies else BATCH
            begun, taken, still = [], 0, []
            for left, came in self.prompts:
                part = min(left, room - taken)
                taken, left = taken + part, left - part
                (still.append((left, came)) if left else begun.append(came))
            self.now += step_time(len(self.replies)) + taken / PREFILL
            going = []
            for left, first in self.replies:
                if left > 1:
                    going.append((left - 1, first))
                else:
                    speeds.append(REPLY / (self.now - first))
            self.prompts = still
            self.replies = going + [(REPLY - 1, self.now) for _ in begun]
            firsts.extend(self.now - came for came in begun)
        self.now = max(self.now, until)


def served(rate, workers, hits, by_cache, seed):
    """Whether so many requests per second are served within the limits."""
    chance = random.Random(seed)
    all_workers = [Worker() for _ in range(workers)]
    firsts, speeds, now, turn = [], [], 0.0, 0
    while now < SECONDS:
        now += chance.expovariate(rate)
        for worker in all_workers:
            worker.run(now, firsts, speeds)
        home = chance.randrange(workers)
        if by_cache:
            least = min(range(workers), key=lambda n: all_workers[n].work())
            busy = all_workers[home].work() > 2 * all_workers[least].work() + PROMPT
            chosen = least if busy else home
        else:
            chosen = turn % workers
        turn += 1
        known = hits if chosen == home else 0.0
        all_workers[chosen].prompts.append((max(1, round(PROMPT * (1 - known))), now))
    late = len(firsts) < 0.9 * turn
    firsts, speeds = sorted(firsts), sorted(speeds)
    return not late and firsts[int(0.95 * len(firsts))] <= FIRST and speeds[len(speeds) // 2] >= SPEED


def most(workers, hits, by_cache):
    """The most requests per second, to half a percent, with each of three seeds."""
    low, high = 0.0, 40.0 * workers
    while high - low > 0.005 * high:
        middle = (low + high) / 2
        fine = all(served(middle, workers, hits, by_cache, seed) for seed in range(3))
        low, high = (middle, high) if fine else (low, middle)
    return low


def main():
    print(f"prompts of {PROMPT} tokens, replies of {REPLY}; requests/s")
    print("| workers | nothing cached | half, round robin | half, by cache | 90 %, round robin | 90 %, by cache |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for workers in map(int, sys.argv[1:] or (1, 2, 4, 8)):
        cells = [most(workers, 0.0, False)]
        cells += [most(workers, hits, by_cache) for hits in (0.5, 0.9) for by_cache in (False, True)]
        print(f"| {workers} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
