#!/usr/bin/env python3
"""Puts the embeddings of `weft serve` and llama-server side by side: the same file and texts, one request for all, in turns.

    python bench/peers/embeddings.py --weft target/release/weft --llama-server llama-server --model embedding.gguf --out runs.json

Each turn starts a server anew and sends one request that does not count, and then as many as asked for, each with other texts, so that
no cache helps.
Prints a Markdown table of medians and ratios, and how far the embeddings of both agree.
"""

import argparse
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand part place case "
    "week company system program question work government number night point home water room mother area money story fact month lot "
    "right study book eye job word business issue side kind head house service friend father power hour game line end member law car"
).split()


def texts(generator, count, words):
    """Texts of random words, of half to one and a half times so many."""
    return [" ".join(generator.choices(WORDS, k=generator.randint(words // 2, words * 3 // 2))) for _ in range(count)]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A server as a process, until it is closed."""

    def __init__(self, line, port):
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            if self.process.poll() is not None:
                sys.exit(f"{' '.join(line)}\nended with {self.process.returncode}")
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5).read()
                return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        sys.exit(f"{' '.join(line)}\nis not ready")

    def embed(self, inputs):
        """The embeddings of texts, their tokens, and the seconds that the request took."""
        body = json.dumps({"input": inputs, "encoding_format": "float"}).encode()
        request = urllib.request.Request(f"{self.url}/v1/embeddings", body, {"Content-Type": "application/json"})
        begun = time.perf_counter()
        answer = urllib.request.urlopen(request, timeout=600).read()
        took = time.perf_counter() - begun
        answer = json.loads(answer)
        return [one["embedding"] for one in answer["data"]], answer["usage"]["prompt_tokens"], took

    def cpu(self):
        """The seconds of processor time that the server took so far, on Linux; else 0."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.terminate()
        self.process.wait(60)


def lines(arguments):
    """The command line of each server, without its port."""
    threads, tokens = str(arguments.threads), str(arguments.tokens)
    weft = [arguments.weft, "serve", arguments.model, "--pooling", "last", "-c", "2048", "--kv-tokens", tokens, "--threads", threads]
    llama = [arguments.llama_server, "-m", arguments.model, "--embeddings", "--pooling", "last", "-c", tokens, "-fa", "on"]
    llama += ["-t", threads, "-tb", threads]
    found = {"weft": weft + arguments.weft_option, "llama-server": llama}
    for slots in arguments.slots:
        batch = ["-np", str(slots), "-kvu", "-b", "2048", "-ub", "2048"]
        found[f"llama-server, {slots} slots, steps of 2048"] = llama + batch
    return found


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--llama-server", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--words", type=int, default=64)
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=16384, help="room of the KV cache")
    parser.add_argument("--slots", type=int, nargs="*", default=[16, 64])
    parser.add_argument("--weft-option", action="append", default=[])
    parser.add_argument("--out", help="file for every sample")
    arguments = parser.parse_args()
    generator = random.Random(1)
    rounds = [texts(generator, arguments.texts, arguments.words) for _ in range(arguments.requests + 1)]
    samples, first, counted = {}, {}, {}
    for turn in range(arguments.turns):
        for name, line in lines(arguments).items():
            port = free_port()
            server = Server([*line, "--port", str(port)], port)
            try:
                server.embed(rounds[0])
                for inputs in rounds[1:]:
                    before = server.cpu()
                    embedded, counted[name], took = server.embed(inputs)
                    sample = {"turn": turn, "seconds": took, "cpu": server.cpu() - before, "tokens": counted[name]}
                    samples.setdefault(name, []).append(sample)
                first.setdefault(name, embedded)
            finally:
                server.close()
            last = samples[name][-arguments.requests :]
            print(name, [(one["tokens"], round(one["seconds"], 3), one["cpu"]) for one in last], file=sys.stderr, flush=True)
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as out:
            json.dump({"arguments": vars(arguments), "samples": samples}, out, indent=1)
    middle = lambda name, of: statistics.median(map(of, samples[name]))
    weft = {of: middle("weft", lambda one: one[of] / one["tokens"]) for of in ("seconds", "cpu")}
    print("| server | tokens/s | texts/s | Weft's rate to it | by processor time | least cosine to Weft's |\n|---|--:|--:|--:|--:|--:|")
    for name in samples:
        tokens = middle(name, lambda one: one["tokens"] / one["seconds"])
        per_text = middle(name, lambda one: arguments.texts / one["seconds"])
        ratios = [middle(name, lambda one: one[of] / one["tokens"]) / weft[of] if weft[of] else math.nan for of in ("seconds", "cpu")]
        least = min(cosine(a, b) for a, b in zip(first["weft"], first[name]))
        print(f"| {name} | {tokens:.0f} | {per_text:.1f} | {ratios[0]:.2f} | {ratios[1]:.2f} | {least:.5f} |")
    if len(set(counted.values())) > 1:
        sys.exit(f"the servers count other tokens: {counted}")


main()
