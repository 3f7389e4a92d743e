#!/usr/bin/env python3
"""Runs a Dynamo front end and workers of Weft on one machine, and checks what docs/cluster.md promises.

    loopback.py WORKER MODEL [--measure]

WORKER is the program weft-dynamo, MODEL a GGUF file. Needs the packages ai-dynamo and openai, and neither etcd nor NATS. The
checks: texts do not depend on which worker, or how many, write them; a second turn goes to the worker that has the first; streams
survive a worker that is killed and one that is drained; a worker that joins takes load. With --measure, also what two workers
serve beside one, each on a core of its own, and the front end's share.
"""

import argparse
import asyncio
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from openai import AsyncOpenAI

NAME = "loopback"
STREAMS = 16
PROMPTS = ["a fox", "a small boat", "two friends", "a lost key", "an old clock", "a garden", "the moon", "a brave mouse"]


class Cluster:
    """The processes, and a client."""

    def __init__(self, worker, model, folder):
        self.worker, self.model, self.folder = worker, model, pathlib.Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = dict(
            os.environ,
            DYN_DISCOVERY_BACKEND="file",
            DYN_FILE_KV=str(self.folder / "discovery"),
            DYN_REQUEST_PLANE="tcp",
            DYN_EVENT_PLANE="zmq",
            DYN_TCP_RPC_HOST="127.0.0.1",
            DYN_TCP_RESPONSE_STREAM_HOST="127.0.0.1",
            HF_HUB_OFFLINE="1",
        )
        self.workers, self.started, self.parts = {}, 0, 0
        self.client = AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=120, max_retries=0)
        self.frontend = None

    def run(self, name, command, core=None):
        pin = ["taskset", "-c", str(core)] if core is not None else []
        log = open(self.folder / f"{name}.log", "w")
        return subprocess.Popen(pin + command, env=self.env, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)

    async def start(self):
        command = [sys.executable, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(self.port)]
        self.frontend = self.run("frontend", command + ["--router-mode", "kv", "--migration-limit", "3"])
        await self.until("the front end answers", self.answers)

    async def join(self, core=None):
        """Adds a worker and returns its number once the front end sends it requests."""
        self.started += 1
        name = f"worker{self.started}"
        card = self.folder / "card"
        command = [str(self.worker), str(self.model), "--served-model-name", NAME, "--card", str(card), "--threads", "1"]
        self.workers[self.started] = self.run(name, command + ["--context", "1024", "--sequences", "16"], core)
        await self.until(f"{name} is known", self.knows)
        # Until the front end has heard of it, too.
        await asyncio.sleep(2)
        return self.started

    async def until(self, what, is_so, seconds=120):
        begun = time.monotonic()
        while not await is_so():
            for name, process in [("frontend", self.frontend), *self.workers.items()]:
                if process.poll() not in (None, 0, -9):
                    raise SystemExit(f"{name} ended with {process.returncode}; see its log")
            if time.monotonic() - begun > seconds:
                raise SystemExit(f"{what}: not within {seconds} s; see the logs in {self.folder}")
            await asyncio.sleep(0.2)

    async def answers(self):
        try:
            await self.client.models.list()
            return True
        except Exception:
            return False

    async def knows(self):
        folder = self.folder / "discovery"
        alive = sum(process.poll() is None for process in self.workers.values())
        endpoints = [path for path in folder.rglob("instances/*") if "%2Fgenerate%2F" in path.name]
        models = [model.id for model in (await self.client.models.list()).data]
        return NAME in models and len(endpoints) >= alive

    async def reply(self, messages, seed, tokens=200, stream=True, **more):
        """A reply: its text, its usage, and the worker that gave it."""
        ask = dict(model=NAME, messages=messages, seed=seed, max_tokens=tokens, temperature=0.8, **more)
        ask["extra_body"] = {"nvext": {"extra_fields": ["worker_id"]}}
        if not stream:
            done = await self.client.chat.completions.create(**ask)
            return done.choices[0].message.content or "", done.usage, worker_of(done)
        text, usage, worker = "", None, None
        options = {"include_usage": True}
        async for part in await self.client.chat.completions.create(stream=True, stream_options=options, **ask):
            usage, worker = part.usage or usage, worker_of(part) or worker
            if part.choices:
                self.parts += 1
                text += part.choices[0].delta.content or ""
        return text, usage, worker

    async def stories(self, **more):
        """Replies to many prompts at once, in order."""
        ask = lambda i: [{"role": "user", "content": f"Tell me a story about {PROMPTS[i % len(PROMPTS)]}"}]
        return await asyncio.gather(*(self.reply(ask(i), seed=i, **more) for i in range(STREAMS)))

    async def half_way(self):
        """Begins the stories, and returns them when a few words of each have come."""
        end = self.parts + STREAMS * 12
        stories = asyncio.create_task(self.stories())
        while self.parts < end and not stories.done():
            await asyncio.sleep(0.001)
        return stories

    async def moved(self):
        """The requests so far that the front end moved to another worker."""
        page = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{self.url}/metrics").read().decode())
        counts = [line.split()[-1] for line in page.splitlines() if "migration_total" in line and line[0] != "#"]
        return sum(map(float, counts))

    def stop(self):
        for process in [*self.workers.values(), self.frontend]:
            if process and process.poll() is None:
                process.kill()
                process.wait()


def worker_of(part):
    more = (part.model_extra or {}).get("nvext") or {}
    found = more.get("worker_id")
    return json.dumps(found, sort_keys=True) if found is not None else None


def check(what, holds, detail=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what}{f': {detail}' if detail else ''}", flush=True)
    if not holds:
        check.failed += 1


check.failed = 0


def texts(replies):
    return [text for text, _, _ in replies]


async def checks(cluster):
    await cluster.start()
    first = await cluster.join()
    alone = await cluster.stories()
    check("one worker writes all stories", all(texts(alone)), f"{sum(map(len, texts(alone)))} characters")
    whole = await cluster.stories(stream=False)
    check("a stream has the text of a whole reply", texts(whole) == texts(alone))

    await cluster.join()
    both = await cluster.stories()
    used = {worker for _, _, worker in both}
    check("two workers write the same stories", texts(both) == texts(alone))
    check("both take part", len(used) == 2, f"{len(used)} of 2 workers")

    prompt = cached = same = 0
    for i in range(8):
        about = " ".join(f"{word} and {i}" for word in PROMPTS * 6)
        turns = [{"role": "user", "content": f"Tell me a story about {about}"}]
        said, _, here = await cluster.reply(turns, seed=i)
        turns += [{"role": "assistant", "content": said}, {"role": "user", "content": "Another one, please."}]
        _, usage, there = await cluster.reply(turns, seed=i)
        details = usage.prompt_tokens_details
        prompt, cached = prompt + usage.prompt_tokens, cached + ((details and details.cached_tokens) or 0)
        same += here == there
    check("second turns go to the worker that has the first", same == 8, f"{same} of 8")
    check("their prompts come from its cache", cached > prompt // 2, f"{cached} of {prompt} tokens")

    tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
    done = await cluster.client.chat.completions.create(
        model=NAME, messages=[{"role": "user", "content": "What time is it?"}], tools=[tool], max_tokens=8
    )
    check("a request with tools is served", done.choices[0].finish_reason is not None)

    moved = await cluster.moved()
    streams = await cluster.half_way()
    cluster.workers[first].send_signal(signal.SIGKILL)
    check("16 streams survive a killed worker, with the same texts", texts(await streams) == texts(alone))
    cluster.workers[first].wait()
    moved = await cluster.moved() - moved
    check("some of them were cut off and moved", moved > 0, f"{moved:.0f}")

    third = await cluster.join()
    more = await cluster.stories()
    new = {worker for _, _, worker in more} - used
    check("a worker that joins takes load", len(new) == 1 and texts(more) == texts(alone), f"{len(new)} new")

    streams = await cluster.half_way()
    cluster.workers[third].send_signal(signal.SIGTERM)
    check("16 streams survive a drained worker, with the same texts", texts(await streams) == texts(alone))
    ended = await asyncio.to_thread(cluster.workers[third].wait, 60)
    check("the drained worker ends by itself", ended == 0, f"status {ended}")


async def measure(cluster):
    """Tokens per second of one worker and of two, in turns, and the front end's time."""
    await cluster.start()
    cores = sorted(os.sched_getaffinity(0))
    one = await cluster.join(cores[0])
    if len(cores) < 2:
        return print("one core: two workers are not measured")
    two, rates = None, {1: [], 2: []}
    busy = lambda: sum(float(n) for n in pathlib.Path(f"/proc/{cluster.frontend.pid}/stat").read_text().split()[13:15])
    begun, replies = busy(), 0
    for _ in range(3):
        for count in (1, 2):
            if count == 2:
                two = await cluster.join(cores[1])
            await cluster.stories(tokens=16)
            start = time.monotonic()
            done = await cluster.stories(tokens=256) + await cluster.stories(tokens=256)
            rates[count].append(sum(usage.completion_tokens for _, usage, _ in done) / (time.monotonic() - start))
            replies += len(done) + STREAMS
        cluster.workers[two].send_signal(signal.SIGTERM)
        await asyncio.to_thread(cluster.workers[two].wait)
        await asyncio.sleep(1)
    middle = {count: sorted(found)[1] for count, found in rates.items()}
    spent = (busy() - begun) / os.sysconf("SC_CLK_TCK") / replies
    print(f"one worker {middle[1]:.0f} tokens/s, two {middle[2]:.0f}: {middle[2] / middle[1]:.2f}x; rates {rates}")
    print(f"the front end: {1000 * spent:.1f} ms of a core for a reply; worker {one}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worker", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="loopback-")
    cluster = Cluster(options.worker.resolve(), options.model.resolve(), folder)
    try:
        asyncio.run((measure if options.measure else checks)(cluster))
    finally:
        cluster.stop()
    if check.failed:
        sys.exit(f"{check.failed} checks failed; the logs are in {folder}")
    shutil.rmtree(folder)
    print("all checks passed")


if __name__ == "__main__":
    main()
