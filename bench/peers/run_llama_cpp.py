#!/usr/bin/env python3
"""Measures llama.cpp on a model at one depth, the way `weft bench` measures Weft.

The same tokens are drawn, the context is filled to the depth once, each sample starts there again, and one round does not
count. A prompt's logits are those of its last token, a reply's those of every token. It prints one JSON object:
`settings` is shaped as in `weft bench --json`, every sample is in it. Needs the Python package llama-cpp-python.
"""

import argparse
import ctypes
import json
import time

import llama_cpp as L

KV_TYPES = {"f32": 0, "f16": 1, "q8_0": 8, "bf16": 30}  # enum ggml_type


class Tokens:
    """Tokens of a vocabulary, drawn by SplitMix64: those that `weft bench` draws."""

    MASK = (1 << 64) - 1

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.state = 0

    def draw(self, count):
        return [self._next() % self.vocabulary for _ in range(count)]

    def _next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        return z ^ (z >> 31)


class Engine:
    """A loaded model with room for one sequence."""

    def __init__(self, arguments, context):
        L.llama_backend_init()
        # Kept, since llama.cpp calls it as long as it lives.
        self.quiet = L.llama_log_callback(lambda level, text, data: None)
        L.llama_log_set(self.quiet, ctypes.c_void_p(0))
        if arguments.gpu and not L.llama_supports_gpu_offload():
            raise SystemExit("llama.cpp was built without a GPU; CMAKE_ARGS=-DGGML_CUDA=on builds it for CUDA")
        parameters = L.llama_model_default_params()
        parameters.n_gpu_layers = 999 if arguments.gpu else 0
        self.model = L.llama_model_load_from_file(arguments.model.encode(), parameters)
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {arguments.model}")
        parameters = L.llama_context_default_params()
        parameters.n_ctx = context
        parameters.n_batch = parameters.n_ubatch = self.batch_size = min(arguments.batch, context)
        parameters.n_threads = parameters.n_threads_batch = arguments.threads
        parameters.type_k = parameters.type_v = KV_TYPES[arguments.kv]
        if arguments.copy:
            # A second sequence, in the same cells, to copy through: it needs room for a step, even if less of it is kept.
            parameters.n_seq_max, parameters.kv_unified = 2, True
            parameters.n_ctx += self.batch_size
        self.context = L.llama_init_from_model(self.model, parameters)
        if not self.context:
            raise SystemExit(f"llama.cpp has no room for {context} tokens")
        self.memory = L.llama_get_memory(self.context)
        self.batch = L.llama_batch_init(self.batch_size, 0, 1)
        self.length = 0

    def vocabulary(self):
        return L.llama_vocab_n_tokens(L.llama_model_get_vocab(self.model))

    def compute(self, tokens, at_once, every_logits):
        """Computes tokens at the end of the sequence."""
        for begin in range(0, len(tokens), at_once):
            part = tokens[begin : begin + at_once]
            for i, token in enumerate(part):
                self.batch.token[i] = token
                self.batch.pos[i] = self.length + i
                self.batch.n_seq_id[i] = 1
                self.batch.seq_id[i][0] = 0
                self.batch.logits[i] = int(every_logits or begin + i + 1 == len(tokens))
            self.batch.n_tokens = len(part)
            if L.llama_decode(self.context, self.batch) != 0:
                raise SystemExit("llama_decode failed")
            L.llama_synchronize(self.context)
            self.length += len(part)

    def copy(self, length):
        """Lengthens the sequence by copies of itself, at later positions."""
        size = L.llama_state_seq_get_size(self.context, 0)
        state = (ctypes.c_uint8 * size)()
        if L.llama_state_seq_get_data(self.context, state, size, 0) != size:
            raise SystemExit("llama.cpp does not give its cache")
        own = self.length
        for begin in range(own, length, own):
            if L.llama_state_seq_set_data(self.context, state, size, 1) != size:
                raise SystemExit("llama.cpp does not take its cache back")
            L.llama_memory_seq_rm(self.memory, 1, min(own, length - begin), -1)
            L.llama_memory_seq_add(self.memory, 1, 0, -1, begin)
            L.llama_memory_seq_cp(self.memory, 1, 0, -1, -1)
            L.llama_memory_seq_rm(self.memory, 1, -1, -1)
        self.length = length

    def truncate(self, length):
        """Forgets all but the first tokens of the sequence."""
        L.llama_memory_seq_rm(self.memory, 0, length, -1)
        self.length = length


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("-p", "--prefill", type=int, default=512, help="tokens of a prompt; 0 to measure none")
    parser.add_argument("-n", "--decode", type=int, default=32, help="tokens of a reply; 0 to measure none")
    parser.add_argument("-d", "--depth", type=int, default=0, help="tokens that stand before either")
    parser.add_argument("-r", "--repeat", type=int, default=5)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--kv", choices=KV_TYPES, default="f16")
    parser.add_argument("--gpu", action="store_true", help="all layers on the GPU that llama.cpp was built for")
    parser.add_argument("--copy", action="store_true", help="fill the context with copies of its first step")
    arguments = parser.parse_args()

    started = time.perf_counter()
    engine = Engine(arguments, arguments.depth + max(arguments.prefill, arguments.decode))
    load_seconds = time.perf_counter() - started
    tokens = Tokens(engine.vocabulary())
    before = tokens.draw(arguments.depth)
    if arguments.copy and arguments.depth > engine.batch_size:
        engine.compute(before[: engine.batch_size], engine.batch_size, False)
        engine.copy(arguments.depth)
    else:
        engine.compute(before, engine.batch_size, False)

    phases = [("prefill", arguments.prefill, engine.batch_size), ("decode", arguments.decode, 1)]
    settings = [
        {"phase": phase, "depth": arguments.depth, "tokens": count, "tokens_per_second": {"samples": []}}
        for phase, count, _ in phases
    ]
    for turn in range(arguments.repeat + 1):
        for setting, (phase, count, at_once) in zip(settings, phases):
            if not count:
                continue
            drawn = tokens.draw(count)
            started = time.perf_counter()
            engine.compute(drawn, at_once, phase == "decode")
            seconds = time.perf_counter() - started
            if turn > 0:
                setting["tokens_per_second"]["samples"].append(count / seconds)
            engine.truncate(arguments.depth)
    report = {
        "llama-cpp-python": L.__version__,
        "system": L.llama_print_system_info().decode().strip(),
        "threads": arguments.threads,
        "kv": arguments.kv,
        "batch": engine.batch_size,
        "load_seconds": load_seconds,
        "settings": [setting for setting in settings if setting["tokens"]],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
