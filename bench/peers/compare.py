#!/usr/bin/env python3
"""Puts Weft and llama.cpp side by side on one model: in turns, on this machine, with every sample kept.

    python bench/peers/compare.py --weft target/release/weft --model model.gguf --threads 2 --out runs.json

README.md beside this file says how, and why that is fair. Prints a Markdown table of medians and ratios.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = ("weft", "llama.cpp")


def command(engine, arguments, depth):
    """The command line of one turn of an engine."""
    measured = ["-p", arguments.prefill, "-n", arguments.decode, "-d", depth, "-r", 1]
    common = ["--threads", arguments.threads, "--batch", arguments.batch, "--kv", arguments.kv]
    if engine == "weft":
        line = [arguments.weft, "bench", arguments.model, "--json", *measured, *common]
        line += [part for decision in arguments.set for part in ("--set", decision)]
        line += ["--device", arguments.device] if arguments.device else []
    else:
        line = [arguments.python, HERE / "run_llama_cpp.py", arguments.model, *measured, *common]
        line += ["--copy"] if arguments.copy else []
        line += ["--gpu"] if arguments.device and not arguments.device.startswith("cpu") else []
    return [str(part) for part in line]


def take_turn(engine, arguments, depth):
    """Starts an engine, has it measure once, and returns what it prints."""
    line = command(engine, arguments, depth)
    started = time.time()
    printed = run(line)
    try:
        measured = json.loads(printed)
    except json.JSONDecodeError as error:
        raise SystemExit(f"{' '.join(line)}\nprinted no JSON: {error}\n{printed[:500]}") from error
    return {"engine": engine, "depth": depth, "started": started, "seconds": time.time() - started, "measured": measured}


def prepare(arguments):
    """Has Weft pack the weights, so that no sample is taken while they are written."""
    line = [arguments.weft, "bench", arguments.model, "-p", 1, "-n", 0, "-d", 0, "-r", 1, "--threads", arguments.threads]
    line += [part for decision in arguments.set for part in ("--set", decision)]
    line += ["--device", arguments.device] if arguments.device else []
    run([str(part) for part in line])


def run(line):
    """Runs a program, and returns its standard output."""
    try:
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise SystemExit(f"cannot run {line[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(line)}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def summary(turns):
    """Medians, ratios and shares of the limit of every setting, in the order they were first measured.

    The limit is what Weft measured of the machine in its own turns; the same for both engines.
    """
    settings = {}
    for turn in turns:
        for setting in turn["measured"]["settings"]:
            key = (setting["phase"], setting["depth"], setting["tokens"])
            found = settings.setdefault(key, {"limits": [], **{engine: [] for engine in ENGINES}})
            found[turn["engine"]] += setting["tokens_per_second"]["samples"]
            if "limit_tokens_per_second" in setting:
                found["limits"].append(setting["limit_tokens_per_second"])
    results = []
    for (phase, depth, tokens), found in settings.items():
        result = {"phase": phase, "depth": depth, "tokens": tokens}
        limit = statistics.median(found["limits"]) if found["limits"] else None
        result["limit_tokens_per_second"] = limit
        for engine in ENGINES:
            samples = found[engine]
            median = statistics.median(samples) if samples else None
            share = median / limit if median and limit else None
            result[engine] = {"median": median, "samples": samples, "share_of_limit": share}
        ours, theirs = (result[engine]["median"] for engine in ENGINES)
        result["ratio"] = ours / theirs if ours and theirs else None
        results.append(result)
    return results


def table(results):
    """The results as a Markdown table."""
    lines = [
        "| | depth | tokens | Weft, tokens/s | of limit | llama.cpp, tokens/s | of limit | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        cells = [result["phase"], str(result["depth"]), str(result["tokens"])]
        for engine in ENGINES:
            found = result[engine]
            samples = ", ".join(f"{sample:.2f}" for sample in found["samples"])
            cells.append("–" if found["median"] is None else f"{found['median']:.2f} ({samples})")
            cells.append("–" if found["share_of_limit"] is None else f"{100 * found['share_of_limit']:.0f} %")
        cells.append("–" if result["ratio"] is None else f"{result['ratio']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def save(path, report):
    """Writes the report beside its place and renames it, so that an interrupted run leaves the last whole one."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps(report, indent=1) + "\n")
    os.replace(beside, path)


def depths(text):
    return [int(part) for part in text.split(",")]


def parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, type=pathlib.Path, help="the program")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("-p", "--prefill", type=int, default=512, help="tokens of a prompt; 0 to measure none")
    parser.add_argument("-n", "--decode", type=int, default=32, help="tokens of a reply; 0 to measure none")
    parser.add_argument("-d", "--depth", type=depths, default=[0, 4096], help="tokens that stand before either: 0,4096")
    parser.add_argument("-r", "--repeat", type=int, default=3, help="turns of each engine")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--kv", choices=["f16", "bf16", "f32"], default="f16")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=MODE", help="a decision of Weft's compiler")
    parser.add_argument("--device", help="Weft's device, such as cuda, for which llama.cpp has all layers on its GPU, or cpu:avx2, for which its build decides")
    parser.add_argument("--python", default=sys.executable, help="the Python that has llama-cpp-python; this one if not given")
    parser.add_argument("--copy", action="store_true", help="have llama.cpp fill contexts with copies of its first step")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="where every sample goes, as JSON")
    return parser


def main():
    arguments = parser().parse_args()
    options = {name: str(value) if isinstance(value, pathlib.Path) else value for name, value in vars(arguments).items()}
    report = {"options": options, "turns": [], "results": []}
    prepare(arguments)
    for turn in range(arguments.repeat):
        for depth in arguments.depth:
            for engine in ENGINES:
                taken = take_turn(engine, arguments, depth)
                report["turns"].append(taken)
                report["results"] = summary(report["turns"])
                save(arguments.out, report)
                rates = ", ".join(
                    f"{setting['phase']} {setting['tokens_per_second']['samples'][0]:.2f}"
                    for setting in taken["measured"]["settings"]
                )
                progress = f"turn {turn + 1} of {arguments.repeat}, depth {depth}, {engine}"
                print(f"{progress}: {rates} tokens/s; {taken['seconds']:.0f} s", file=sys.stderr)
    print(table(report["results"]))


if __name__ == "__main__":
    main()
