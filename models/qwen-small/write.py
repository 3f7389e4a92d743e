#!/usr/bin/env python3
"""Writes trained weights as GGUF files, with the names and keys of llama.cpp's converter for Qwen3.6-35B-A3B.

    python3 write.py --run run --tokenizer data/tokenizer.json qwen-small-f32.gguf qwen-small-q8_0.gguf

A file whose name has `q8_0` gets matrices of 8 bits; the routers and what is not a matrix stay F32.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import shared  # noqa: F401: it makes the next imports find glm-small's files.
import ggufio
from export import vocabulary
from ggufio import ARRAY, BOOL, F32, I32, STRING, U32
from hybrid import Shape
from rows import END, STOP, TEMPLATE

Q8_0 = 8


def metadata(s, tokenizer, name, version, file_type):
    """Keys of the model and its tokenizer, in the converter's order."""
    a = lambda key: f"qwen35moe.{key}"
    special, tokens, merges = vocabulary(tokenizer, s.vocab)
    pairs = s.rope // 2
    sections = [pairs - 2 * (pairs // 3), pairs // 3, pairs // 3, 0]
    return [
        ("general.architecture", STRING, "qwen35moe"),
        ("general.type", STRING, "model"),
        ("general.name", STRING, name),
        ("general.version", STRING, version),
        ("general.license", STRING, "apache-2.0"),
        ("general.languages", (ARRAY, STRING), ["en"]),
        (a("block_count"), U32, s.layers + 1),
        (a("context_length"), U32, s.context),
        (a("embedding_length"), U32, s.hidden),
        (a("attention.head_count"), U32, s.heads),
        (a("attention.head_count_kv"), U32, s.kv_heads),
        (a("rope.dimension_sections"), (ARRAY, I32), sections),
        (a("rope.freq_base"), F32, s.base),
        (a("attention.layer_norm_rms_epsilon"), F32, s.eps),
        (a("expert_used_count"), U32, s.used),
        (a("attention.key_length"), U32, s.width),
        (a("attention.value_length"), U32, s.width),
        (a("expert_count"), U32, s.experts),
        (a("expert_feed_forward_length"), U32, s.expert),
        (a("expert_shared_feed_forward_length"), U32, s.shared),
        (a("vocab_size"), U32, s.vocab),
        (a("ssm.conv_kernel"), U32, s.taps),
        (a("ssm.state_size"), U32, s.state),
        (a("ssm.group_count"), U32, s.keys),
        (a("ssm.time_step_rank"), U32, s.values),
        (a("ssm.inner_size"), U32, s.values * s.state),
        (a("full_attention_interval"), U32, s.interval),
        (a("rope.dimension_count"), U32, s.rope),
        (a("nextn_predict_layers"), U32, 1),
        ("tokenizer.ggml.model", STRING, "gpt2"),
        ("tokenizer.ggml.pre", STRING, "qwen35"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), tokens),
        ("tokenizer.ggml.token_type", (ARRAY, I32), [3 if t in special else 1 for t in tokens]),
        ("tokenizer.ggml.merges", (ARRAY, STRING), merges),
        ("tokenizer.ggml.eos_token_id", U32, special[STOP]),
        ("tokenizer.ggml.padding_token_id", U32, special[END]),
        ("tokenizer.ggml.bos_token_id", U32, special[END]),
        ("tokenizer.ggml.add_bos_token", BOOL, False),
        ("tokenizer.chat_template", STRING, TEMPLATE),
        ("general.quantization_version", U32, 2),
        ("general.file_type", U32, file_type),
    ]


def tensors(s, w):
    """Names and arrays, in the converter's order. Heads of values need no reordering: they are trained in the file's order."""
    out = [("token_embd.weight", w["embed.weight"]), ("output_norm.weight", w["norm.weight"]), ("output.weight", w["head.weight"])]
    for i in range(s.layers + 1):
        mtp = i == s.layers
        source = "mtp.layer." if mtp else f"layers.{i}."
        t = lambda name: w[source + name]
        add = lambda name, array: out.append((f"blk.{i}.{name}", array))
        add("attn_norm.weight", t("mix_norm.weight"))
        add("post_attention_norm.weight", t("ffn_norm.weight"))
        if mtp or not s.recurrent(i):
            for name in ("q", "k", "v", "output", "q_norm", "k_norm"):
                add(f"attn_{name}.weight", t(f"mix.{name}.weight"))
        else:
            add("attn_qkv.weight", t("mix.qkv.weight"))
            add("attn_gate.weight", t("mix.z.weight"))
            add("ssm_conv1d.weight", t("mix.conv"))
            add("ssm_dt.bias", t("mix.dt"))
            add("ssm_a", -np.exp(t("mix.a_log")))
            for name in ("alpha", "beta"):
                add(f"ssm_{name}.weight", t(f"mix.{name}.weight"))
            add("ssm_norm.weight", t("mix.norm.weight"))
            add("ssm_out.weight", t("mix.output.weight"))
        add("ffn_gate_inp.weight", t("ffn.router"))
        for part in ("gate", "up", "down"):
            add(f"ffn_{part}_exps.weight", t(f"ffn.{part}"))
        add("ffn_gate_inp_shexp.weight", t("ffn.shared_score"))
        for part in ("gate", "up", "down"):
            add(f"ffn_{part}_shexp.weight", t(f"ffn.shared_{part}.weight"))
        if mtp:
            add("nextn.eh_proj.weight", w["mtp.eh_proj.weight"])
            add("nextn.enorm.weight", w["mtp.enorm.weight"])
            add("nextn.hnorm.weight", w["mtp.hnorm.weight"])
            add("nextn.shared_head_norm.weight", w["mtp.norm.weight"])
    return [(name, np.ascontiguousarray(array, np.float32)) for name, array in out]


def quantised(name, array):
    """A matrix in blocks of 32 values of 8 bits and a scale; anything else as it is."""
    if array.ndim < 2 or array.shape[-1] % 32 or "ffn_gate_inp" in name:
        return array
    blocks = array.reshape(-1, 32)
    scale = np.abs(blocks).max(1, keepdims=True) / np.float32(127)
    values = np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)
    packed = np.zeros(len(blocks), np.dtype([("d", "<f2"), ("q", "i1", 32)]))
    packed["d"], packed["q"] = scale[:, 0], np.copysign(np.floor(np.abs(values) + 0.5), values)
    return list(array.shape[::-1]), Q8_0, packed.tobytes()


def write(shape, weights, tokenizer, path, name="qwen-small", version="1"):
    small = "q8_0" in path.name
    arrays = tensors(shape, weights)
    if small:
        arrays = [(name, quantised(name, array)) for name, array in arrays]
    ggufio.write(path, metadata(shape, tokenizer, name, version, 7 if small else 0), arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the folder with shape.json and weights.safetensors")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--version", default="1")
    parser.add_argument("out", type=Path, nargs="+")
    args = parser.parse_args()
    shape = Shape(**json.loads((args.run / "shape.json").read_text()))
    weights, tokenizer = load_file(args.run / "weights.safetensors"), json.loads(args.tokenizer.read_text())
    for path in args.out:
        write(shape, weights, tokenizer, path, version=args.version)
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
