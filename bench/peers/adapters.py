#!/usr/bin/env python3
"""Puts `weft serve` with LoRA adapters beside itself without any: replies and prompts, of one client and of eight, in turns.

    weft synth --preset qwen3-0.6b --layers 8 --quant q4_0 model.gguf
    python bench/peers/adapters.py --weft target/release/weft --model model.gguf --out runs.json

Writes adapters of random numbers for all matrices of the model's layers, starts three servers, without adapters, with one and with eight,
and asks each in turns, each time with other prompts of random tokens, so that no cache helps. A case is measured by the processor time of
the server (user and system), and by a clock. Prints a Markdown table of medians.
"""

import argparse
import json
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TICK = os.sysconf("SC_CLK_TCK")
# Tokens of a prompt, of a reply, and the requests of one client: with one client, and with several.
SHAPES = {"replies": (8, 40, 8, 2), "prompts": (256, 1, 8, 2)}


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write_adapter(path, rank, seed, layers, hidden, feed_forward, query, key):
    """Writes an adapter in F16 for all matrices of so many layers of a Qwen3."""
    matrices = {
        "attn_q": (hidden, query),
        "attn_k": (hidden, key),
        "attn_v": (hidden, key),
        "attn_output": (query, hidden),
        "ffn_gate": (hidden, feed_forward),
        "ffn_up": (hidden, feed_forward),
        "ffn_down": (feed_forward, hidden),
    }
    strings = {"general.type": "adapter", "adapter.type": "lora", "general.architecture": "qwen3"}
    keys = b"".join(text(name) + struct.pack("<I", 8) + text(value) for name, value in strings.items())
    keys += text("adapter.lora.alpha") + struct.pack("<If", 6, float(rank))
    tensors, about, offset = [], b"", 0
    for layer in range(layers):
        for name, (from_, to) in matrices.items():
            for which, shape in (("lora_a", (from_, rank)), ("lora_b", (rank, to))):
                about += text(f"blk.{layer}.{name}.weight.{which}") + struct.pack("<IQQIQ", 2, *shape, 1, offset)
                count = shape[0] * shape[1]
                tensors.append(count)
                offset += -(-count * 2 // 32) * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(strings) + 1) + keys + about
    values = [random.Random(seed).gauss(0, 0.02) for _ in range(4096)]
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32))
        for count in tensors:
            data = struct.pack(f"<{count}e", *(values * (count // 4096 + 1))[:count])
            file.write(data + b"\0" * (-len(data) % 32))


class Server:
    """A server of the model with these adapters."""

    def __init__(self, weft, model, adapters, folder):
        lora = [part for i, path in enumerate(adapters) for part in ("--lora", f"a{i}={path}")]
        command = [weft, "serve", model, "--port", "0", "--threads", "1", "-c", "1024", "--kv-tokens", "16384", "--parallel", "8", *lora]
        self.process = subprocess.Popen(command, env={**os.environ, "WEFT_CACHE": folder}, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"at (http://[\d.:]+)", line):
                self.url = found[1]
                break
        else:
            sys.exit("the server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def spent(self):
        """The processor time so far, in seconds."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def ask(self, names, clients, prompt, reply, requests, seed):
        """Sends requests from so many clients at once. Client i names adapter i of `names`, which may be none."""

        def client(i):
            tokens = random.Random(seed * 64 + i)
            for _ in range(requests):
                body = {"prompt": [tokens.randrange(1000, 100000) for _ in range(prompt)], "max_tokens": reply}
                body |= {"temperature": 0, "ignore_eos": True}
                if names:
                    body["model"] = names[i % len(names)]
                data = json.dumps(body).encode()
                request = urllib.request.Request(f"{self.url}/v1/completions", data, {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=600) as answer:
                    usage = json.load(answer)["usage"]
                assert (usage["completion_tokens"], usage["prompt_tokens"]) == (reply, prompt), usage

        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]


def measure(servers, most, rounds, out):
    """The milliseconds of each token in all cases and rounds, by the processor and by a clock. The first round does not count."""
    cases = [(0, []), (1, []), (1, ["a0"]), (most, []), (most, ["a0"]), (most, [f"a{i}" for i in range(most)])]
    found = {}
    for round_ in range(rounds + 1):
        for shape, (prompt, reply, alone, together) in SHAPES.items():
            for clients, requests in ((1, alone), (most, together)):
                for count, names in cases:
                    if len(names) > clients:
                        continue
                    server, tokens = servers[count], (reply if shape == "replies" else prompt) * requests * clients
                    before, begun = server.spent(), time.monotonic()
                    server.ask(names, clients, prompt, reply, requests, round_)
                    times = [1e3 * (server.spent() - before) / tokens, 1e3 * (time.monotonic() - begun) / tokens]
                    used = ("none", "one", *["each its own"] * most)[len(names)]
                    if round_ > 0:
                        found.setdefault((shape, clients, count, used), []).append(times)
                    print(round_, shape, clients, count, used, times, file=sys.stderr, flush=True)
        if out:
            with open(out, "w") as file:
                json.dump([[*key, times] for key, times in found.items()], file)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", required=True)
    options.add_argument("--model", required=True)
    options.add_argument("--rank", type=int, default=16)
    options.add_argument("--adapters", type=int, default=8)
    options.add_argument("--shape", type=int, nargs=5, default=[8, 1024, 3072, 2048, 1024], help="layers, hidden, feed-forward, query, key")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--out")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        adapters = [os.path.join(folder, f"a{i}.gguf") for i in range(options.adapters)]
        for seed, path in enumerate(adapters):
            write_adapter(path, options.rank, seed, *options.shape)
        servers = {n: Server(options.weft, options.model, adapters[:n], folder) for n in (0, 1, options.adapters)}
        try:
            found = measure(servers, options.adapters, options.rounds, options.out)
        finally:
            for server in servers.values():
                server.process.terminate()
                server.process.wait()
    print("| | clients | adapters | used | ms of the processor a token | to none loaded |")
    print("|---|--:|--:|---|--:|--:|")
    for (shape, clients, count, used), times in found.items():
        median = statistics.median(one[0] for one in times)
        base = statistics.median(one[0] for one in found[shape, clients, 0, "none"])
        print(f"| {shape} | {clients} | {count} | {used} | {median:.2f} | {median / base:.2f} |")


if __name__ == "__main__":
    main()
