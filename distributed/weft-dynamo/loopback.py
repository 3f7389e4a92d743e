#!/usr/bin/env python3
"""Runs a Dynamo front end and workers of Weft on one machine, and checks what docs/cluster.md promises.

    loopback.py WORKER MODEL [--measure]

WORKER is the program weft-dynamo, MODEL a GGUF file. Needs the packages ai-dynamo and openai, and neither etcd nor NATS. The
checks: texts do not depend on which worker, or how many, write them; a second turn goes to the worker that has the first; tools
and forms of replies are enforced; streams survive a worker that is killed and one that is drained; a worker that joins takes load.
With --measure instead, what two workers serve beside one, each on a core of its own, and the front end's share.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from openai import APIStatusError, AsyncOpenAI

NAME = "loopback"
STREAMS = 16
# Of the measurement: pairs, and tokens of a reply.
ROUNDS = 3
LONG = 64
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
            # A development build's workers are given 5 seconds by default, which a busy machine takes for 16 replies.
            DYN_WORKER_GRACEFUL_SHUTDOWN_TIMEOUT="120",
            HF_HUB_OFFLINE="1",
        )
        self.workers, self.started, self.parts = {}, 0, 0
        self.client = AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=120, max_retries=0)
        self.frontend = None

    def run(self, name, command, core=None):
        pin = ["taskset", "-c", str(core)] if core is not None else []
        log = open(self.folder / f"{name}.log", "w")
        return subprocess.Popen(pin + command, env=self.env, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)

    async def start(self, routing="kv"):
        command = [sys.executable, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(self.port)]
        self.frontend = self.run("frontend", command + ["--router-mode", routing, "--migration-limit", "3"])
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
        """A reply: its text, its usage, and the worker that gave it. `more` is what the client does not know by name."""
        ask = dict(model=NAME, messages=messages, seed=seed, max_tokens=tokens, temperature=0.8)
        ask["extra_body"] = {"nvext": {"extra_fields": ["worker_id"]}, **more}
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

    async def stories(self, count=STREAMS, **more):
        """Replies to many prompts at once, in order."""
        ask = lambda i: [{"role": "user", "content": f"Tell me a story about {PROMPTS[i % len(PROMPTS)]}"}]
        return await asyncio.gather(*(self.reply(ask(i), seed=i, **more) for i in range(count)))

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


async def forms(cluster):
    """Replies of a form that is asked for: calls of tools, and text. The model knows nothing of either."""
    city = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}}}
    city |= {"required": ["city", "days"], "additionalProperties": False}
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    schemas = {"weather": city, "now": nothing}
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in schemas.items()]
    create = cluster.client.chat.completions.create
    ask = dict(model=NAME, messages=[{"role": "user", "content": "What is the weather in Rome?"}], max_tokens=100)
    done = await create(**ask, tools=tools)
    check("a request with tools is served", done.choices[0].finish_reason is not None)

    def fits(call):
        arguments = json.loads(call.function.arguments)
        if call.function.name == "now":
            return arguments == {}
        return call.function.name == "weather" and arguments["city"] in ("Rome", "Oslo") and 1 <= arguments["days"] <= 9

    for name, choice in {"required": "required", **{name: {"type": "function", "function": {"name": name}} for name in schemas}}.items():
        for stream in (False, True):
            found = await calls(create, stream, **ask, tools=tools, tool_choice=choice)
            right = bool(found) and all(map(fits, found)) and (name == "required" or found[0].function.name == name)
            said = [(call.function.name, call.function.arguments) for call in found]
            check(f"tool_choice {name}{', streamed' if stream else ''}", right, f"{said}")
    schema = {"type": "json_schema", "json_schema": {"name": "city", "schema": city, "strict": True}}
    for what, more, holds in [
        ("a JSON schema", dict(response_format=schema), lambda text: json.loads(text)["city"] in ("Rome", "Oslo")),
        ("a choice", dict(extra_body={"guided_choice": ["yes", "no"]}), lambda text: text in ("yes", "no")),
        ("a regex", dict(extra_body={"guided_regex": "[ab]{3}-\\d"}), lambda text: re.fullmatch("[ab]{3}-\\d", text)),
        ("a grammar", dict(extra_body={"guided_grammar": 'start: "x" "y" | "z"'}), lambda text: text in ("xy", "z")),
    ]:
        text = (await create(**ask, **more)).choices[0].message.content
        check(f"a reply follows {what}", bool(holds(text)), repr(text))
    try:
        await create(**ask, response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": {"not": {}}}})
        why = ""
    except APIStatusError as error:
        why = str(error)
    check("a schema that cannot be enforced is refused by name", "`not`" in why, why)


async def calls(create, stream, **ask):
    """The calls of tools in a reply."""
    if not stream:
        return (await create(**ask)).choices[0].message.tool_calls or []
    found = {}
    async for part in await create(**ask, stream=True):
        for call in (part.choices[0].delta.tool_calls or []) if part.choices else []:
            known = found.setdefault(call.index, call)
            if known is not call:
                known.function.arguments = (known.function.arguments or "") + (call.function.arguments or "")
    return list(found.values())


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

    await forms(cluster)

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


def cpu(process):
    """Seconds of processor time that a process has taken."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(float, fields[11:13])) / os.sysconf("SC_CLK_TCK")


async def measure(cluster):
    """Tokens per second of one worker and of two, in turns, and the processor time of all that take part."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return print("one core: two workers are not measured")
    # Routing by cache would send most of these short prompts to the worker that had them before.
    await cluster.start("least-loaded")
    await cluster.join(cores[0])
    rounds = {1: [], 2: []}
    for turn in range(2 * ROUNDS):
        # In the order 1 2, 2 1, 1 2 …, so that what changes slowly concerns both.
        count = 1 + (turn + 1) // 2 % 2
        running = [cluster.workers[n] for n in cluster.workers if cluster.workers[n].poll() is None]
        if count == 2 and len(running) == 1:
            running.append(cluster.workers[await cluster.join(cores[1])])
        elif count == 1 and len(running) == 2:
            running[1].send_signal(signal.SIGTERM)
            await asyncio.to_thread(running.pop().wait)
            await asyncio.sleep(2)
        ask = dict(stream=False, ignore_eos=True)
        await cluster.stories(tokens=16, **ask)
        begun, parts = time.monotonic(), [cpu(cluster.frontend), time.process_time(), sum(map(cpu, running))]
        # More than both workers compute at once, so that each is as full alone as beside the other.
        done = await cluster.stories(4 * STREAMS, tokens=LONG, **ask)
        wall = time.monotonic() - begun
        spent = [cpu(cluster.frontend), time.process_time(), sum(map(cpu, running))]
        tokens = sum(usage.completion_tokens for _, usage, _ in done)
        took = [after - before for before, after in zip(parts, spent)]
        rounds[count].append((tokens / wall, *(1e6 * part / tokens for part in took)))
        shares = sorted(collections.Counter(worker for _, _, worker in done).values())
        print(f"{count} (replies by worker: {shares}): {tokens / wall:.0f} tokens/s, {wall:.1f} s; µs of processor time for a token: "
              f"front end {rounds[count][-1][1]:.0f}, client {rounds[count][-1][2]:.0f}, workers {rounds[count][-1][3]:.0f}", flush=True)
    median = lambda count, at: statistics.median(row[at] for row in rounds[count])
    pairs = [two[0] / one[0] for one, two in zip(rounds[1], rounds[2])]
    print(f"one worker {median(1, 0):.0f} tokens/s, two {median(2, 0):.0f}: {median(2, 0) / median(1, 0):.2f}x "
          f"(pairs {', '.join(f'{pair:.2f}' for pair in pairs)})")
    # What they would serve if each had its core for itself.
    print(f"by the workers' own processor time: {2 * median(1, 3) / median(2, 3):.2f}x")
    front, client, worker = (median(2, at) for at in (1, 2, 3))
    print(f"the front end: {front:.0f} µs of a core for a token, {front * LONG / 1000:.1f} ms for a reply of {LONG}; "
          f"{100 * front / worker:.1f} % of a worker's time; the client: {client:.0f} µs")


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
