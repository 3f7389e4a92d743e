#!/usr/bin/env python3
"""Writes trained weights as a GGUF file, with the names and keys of llama.cpp's converter for GLM-4.7-Flash.

    python3 export.py --run run --tokenizer data/tokenizer.json glm-small-f32.gguf
    weft quantize glm-small-f32.gguf glm-small-q8_0.gguf --quant q8_0
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import ggufio
from ggufio import ARRAY, BOOL, F32, I32, STRING, U32
from model import Shape

TEMPLATE = (
    "[gMASK]<sop>{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def vocabulary(tokenizer, count):
    """The special tokens with their numbers, all tokens by number, and the merges of a tokenizer of so many tokens."""
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    by_id = {i: token for token, i in (tokenizer["model"]["vocab"] | special).items()}
    if sorted(by_id) != list(range(count)):
        raise SystemExit(f"expected a tokenizer of {count} tokens, found {len(by_id)}")
    merges = [" ".join(m) if isinstance(m, list) else m for m in tokenizer["model"]["merges"]]
    return special, [by_id[i] for i in range(count)], merges


def metadata(s, tokenizer, name, version):
    """Keys of the model and its tokenizer, in the converter's order."""
    a = lambda key: f"deepseek2.{key}"
    special, tokens, merges = vocabulary(tokenizer, s.vocab)
    return [
        ("general.architecture", STRING, "deepseek2"),
        ("general.type", STRING, "model"),
        ("general.name", STRING, name),
        ("general.version", STRING, version),
        ("general.license", STRING, "apache-2.0"),
        ("general.languages", (ARRAY, STRING), ["en"]),
        (a("block_count"), U32, s.layers + 1),
        (a("context_length"), U32, s.context),
        (a("embedding_length"), U32, s.hidden),
        (a("feed_forward_length"), U32, s.dense),
        (a("attention.head_count"), U32, s.heads),
        (a("attention.head_count_kv"), U32, 1),
        (a("rope.freq_base"), F32, s.base),
        (a("attention.layer_norm_rms_epsilon"), F32, s.eps),
        (a("expert_used_count"), U32, s.used),
        (a("expert_group_count"), U32, 1),
        (a("expert_group_used_count"), U32, 1),
        (a("leading_dense_block_count"), U32, s.dense_layers),
        (a("vocab_size"), U32, s.vocab),
        (a("attention.q_lora_rank"), U32, s.q_rank),
        (a("attention.kv_lora_rank"), U32, s.kv_rank),
        (a("attention.key_length"), U32, s.kv_rank + s.rope),
        (a("attention.value_length"), U32, s.kv_rank),
        (a("attention.key_length_mla"), U32, s.nope + s.rope),
        (a("attention.value_length_mla"), U32, s.value),
        (a("expert_feed_forward_length"), U32, s.expert),
        (a("expert_count"), U32, s.experts),
        (a("expert_shared_count"), U32, 1),
        (a("expert_weights_scale"), F32, s.scale),
        (a("expert_weights_norm"), BOOL, True),
        (a("expert_gating_func"), U32, 2),
        (a("rope.dimension_count"), U32, s.rope),
        (a("nextn_predict_layers"), U32, 1),
        ("tokenizer.ggml.model", STRING, "gpt2"),
        ("tokenizer.ggml.pre", STRING, "glm4"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), tokens),
        ("tokenizer.ggml.token_type", (ARRAY, I32), [3 if t in special else 1 for t in tokens]),
        ("tokenizer.ggml.merges", (ARRAY, STRING), merges),
        ("tokenizer.ggml.eos_token_id", U32, special["<|endoftext|>"]),
        ("tokenizer.ggml.padding_token_id", U32, special["<|endoftext|>"]),
        ("tokenizer.ggml.eot_token_id", U32, special["<|user|>"]),
        ("tokenizer.ggml.bos_token_id", U32, special["[gMASK]"]),
        ("tokenizer.ggml.add_bos_token", BOOL, False),
        ("tokenizer.chat_template", STRING, TEMPLATE),
        ("general.quantization_version", U32, 2),
        ("general.file_type", U32, 0),
    ]



def tensors(s, w):
    """Names and arrays, in the converter's order."""
    out = [("token_embd.weight", w["embed.weight"]), ("output.weight", w["head.weight"]), ("output_norm.weight", w["norm.weight"])]
    for i in range(s.layers + 1):
        mtp = i == s.layers
        source = "mtp.layer." if mtp else f"layers.{i}."
        t = lambda name: w[source + name]
        add = lambda name, array: out.append((f"blk.{i}.{name}", array))
        # The matrices of a head's keys are stored transposed: they are applied to queries.
        k_b = t("attn.k_b.weight").reshape(s.heads, s.nope, s.kv_rank).transpose(0, 2, 1)
        v_b = t("attn.v_b.weight").reshape(s.heads, s.value, s.kv_rank)
        add("attn_norm.weight", t("attn_norm.weight"))
        add("attn_q_a.weight", t("attn.q_a.weight"))
        add("attn_q_a_norm.weight", t("attn.q_a_norm.weight"))
        add("attn_q_b.weight", t("attn.q_b.weight"))
        add("attn_kv_a_mqa.weight", t("attn.kv_a.weight"))
        add("attn_kv_a_norm.weight", t("attn.kv_a_norm.weight"))
        add("attn_k_b.weight", k_b)
        add("attn_v_b.weight", v_b)
        add("attn_output.weight", t("attn.output.weight"))
        add("ffn_norm.weight", t("ffn_norm.weight"))
        if i < s.dense_layers:
            for part in ("gate", "up", "down"):
                add(f"ffn_{part}.weight", t(f"ffn.{part}.weight"))
            continue
        add("ffn_gate_inp.weight", t("ffn.router"))
        add("exp_probs_b.bias", t("ffn.bias"))
        for part in ("gate", "up", "down"):
            add(f"ffn_{part}_exps.weight", t(f"ffn.{part}")[:-1])
        for part in ("gate", "up", "down"):
            add(f"ffn_{part}_shexp.weight", t(f"ffn.{part}")[-1])
        if mtp:
            add("nextn.eh_proj.weight", w["mtp.eh_proj.weight"])
            add("nextn.enorm.weight", w["mtp.enorm.weight"])
            add("nextn.hnorm.weight", w["mtp.hnorm.weight"])
            add("nextn.shared_head_norm.weight", w["mtp.norm.weight"])
    return [(name, np.ascontiguousarray(array, np.float32)) for name, array in out]


def export(shape, weights, tokenizer, path, name="glm-small", version="1"):
    ggufio.write(path, metadata(shape, tokenizer, name, version), tensors(shape, weights))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the folder with shape.json and weights.safetensors")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--version", default="1")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    shape = Shape(**json.loads((args.run / "shape.json").read_text()))
    export(shape, load_file(args.run / "weights.safetensors"), json.loads(args.tokenizer.read_text()), args.out, version=args.version)
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
