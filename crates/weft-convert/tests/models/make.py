#!/usr/bin/env python3
"""Makes tiny Hugging Face models and what llama.cpp's converter makes of them.

    pip install torch transformers tokenizers sentencepiece gguf
    python3 make.py LLAMA_CPP [OUT] [NAME...]

LLAMA_CPP is a folder with llama.cpp's `convert_hf_to_gguf.py` and its `conversion` and `gguf-py`. Without OUT, the fixtures of this
folder are written anew; with it, all models are written there, with the converted file as NAME.gguf, to compare with `compare.py`.

A fixture is a folder as `save_pretrained` writes it, with random weights, and `NAME.txt`: each key of llama.cpp's file, and each tensor
with its type, its shape in GGML's order and the SHA-256 of its data. Most fixtures have the names, types and shapes of their weights in
`weights.txt` instead of the weights, whose values are those of `hashed`; the tests compute them again. llama.cpp recognises a tokenizer by what it makes of a text, which
a tokenizer trained here cannot match, so the name is given.
"""

import contextlib
import hashlib
import json
import pathlib
import re
import shutil
import sys
from unittest import mock

import torch
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, Mistral4ForCausalLM
from transformers.models.glm5_next import Glm5NextTextModel

HERE = pathlib.Path(__file__).resolve().parent
# Fixtures with their weights, and those without.
FIXTURES = ["llama", "glm4-moe-lite", "mistral-pieces"]
HASHED = ["mixtral", "qwen2", "qwen2-moe", "qwen3", "qwen3-moe", "deepseek-v2", "deepseek-v3", "glm4-moe", "phi3-long", "gpt-oss", "gemma3", "ministral3",
          "qwen35", "qwen35-moe", "qwen3-next", "kimi-linear", "ling3", "mistral4", "glm-dsa", "deepseek-v32", "glm5-next", "gemma4", "gemma4-moe"]

TEXT = ["The quick brown fox jumps over the lazy dog.", "It's 12345 o'clock, isn't it?", "naïve café — 東京 1 2 3", "    four spaces\n\n"] * 3
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
DEEPSEEK3 = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
GPT4O = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"

LING = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
TEKKEN = GPT4O.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
GLM = "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"

ROPE3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
YARN = {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 64}

DEEPSEEK = {
    "model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 48, "intermediate_size": 72, "moe_intermediate_size": 40,
    "num_hidden_layers": 3, "num_attention_heads": 3, "num_key_value_heads": 3, "n_routed_experts": 4, "n_shared_experts": 2,
    "num_experts_per_tok": 2, "first_k_dense_replace": 1, "kv_lora_rank": 32, "q_lora_rank": None, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
    "v_head_dim": 24, "rms_norm_eps": 1e-6, "norm_topk_prob": False, "routed_scaling_factor": 1.0, "scoring_func": "softmax", "topk_method": "greedy",
    "n_group": 1, "topk_group": 1, "max_position_embeddings": 2560, "rope_theta": 10000, "rope_scaling": YARN, "tie_word_embeddings": False,
}
GEMMA4 = {
    "model_type": "gemma4_text", "hidden_size": 32, "intermediate_size": 56, "head_dim": 16, "global_head_dim": 32, "sliding_window": 64, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
    "rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
}
KINDS = {
    # As files were before transformers 5: `rope_theta` by itself, `rope_scaling`, `torch_dtype`.
    "llama": dict(
        config={"model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                "head_dim": 18, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "rope_scaling": ROPE3, "max_position_embeddings": 512, "tie_word_embeddings": False},
        old=True, pre="llama-bpe", splits=[LLAMA3], ignore_merges=True, dtype="bfloat16", shards="60KB", bos="<|begin_of_text|>", eos="<|eot_id|>"),
    "llama-tied-f16": dict(
        config={"model_type": "llama", "hidden_size": 36, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 3,
                "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": False},
        pre="smollm", digits=True, dtype="float16", space=False, bos="<|im_start|>", eos="<|im_end|>"),
    "mistral": dict(
        config={"model_type": "mistral", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1,
                "head_dim": 32, "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "tie_word_embeddings": False},
        pre="llama-bpe", splits=[LLAMA3], ignore_merges=True, dtype="float32", bos="<s>", eos="</s>"),
    "mixtral": dict(
        config={"model_type": "mixtral", "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
                "num_local_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "tie_word_embeddings": False},
        pre="llama-bpe", splits=[LLAMA3], ignore_merges=True, dtype="bfloat16", bos="<s>", eos="</s>"),
    # SentencePiece, without and with a tokenizer.json.
    "mistral-pieces": dict(
        config={"model_type": "mistral", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 1, "num_attention_heads": 3, "num_key_value_heads": 1,
                "head_dim": 32, "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "tie_word_embeddings": False},
        dtype="bfloat16", bos="<s>", eos="</s>", pieces=True),
    "phi3-pieces": dict(
        config={"model_type": "phi3", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 2,
                "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "original_max_position_embeddings": 512, "tie_word_embeddings": True, "sliding_window": 200,
                "rope_theta": 10000.0, "pad_token_id": 0},
        old=True, dtype="bfloat16", bos="<s>", eos="</s>", pieces=True, json=True),
    "qwen2": dict(
        config={"model_type": "qwen2", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
                "rms_norm_eps": 1e-6, "max_position_embeddings": 512, "tie_word_embeddings": True, "rope_theta": 1000000.0},
        pre="qwen2", splits=[QWEN2], dtype="bfloat16", eos="<|im_end|>", pad="<|endoftext|>", old=True),
    "qwen2-moe": dict(
        config={"model_type": "qwen2_moe", "hidden_size": 48, "intermediate_size": 80, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 56,
                "num_experts": 3, "num_experts_per_tok": 2, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 6, "rms_norm_eps": 1e-6,
                "max_position_embeddings": 512, "tie_word_embeddings": False},
        pre="qwen2", splits=[QWEN2], dtype="bfloat16", eos="<|im_end|>"),
    "qwen3": dict(
        config={"model_type": "qwen3", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
                "head_dim": 16, "rms_norm_eps": 1e-6, "max_position_embeddings": 512, "tie_word_embeddings": True},
        pre="qwen2", splits=[QWEN2], dtype="bfloat16", eos="<|im_end|>"),
    "qwen3-moe": dict(
        config={"model_type": "qwen3_moe", "hidden_size": 48, "intermediate_size": 80, "moe_intermediate_size": 40, "num_experts": 5, "num_experts_per_tok": 2,
                "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-6,
                "max_position_embeddings": 512, "tie_word_embeddings": False, "norm_topk_prob": True},
        pre="qwen2", splits=[QWEN2], dtype="bfloat16", eos="<|im_end|>", shards="60KB"),
    "deepseek-v2": dict(config=DEEPSEEK, old=True, pre="deepseek-v3", splits=DEEPSEEK3, dtype="bfloat16", bos="<|begin_of_text|>", eos="<|eot_id|>"),
    "deepseek-v3": dict(
        config=DEEPSEEK | {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "q_lora_rank": 24, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
                           "n_group": 2, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "num_nextn_predict_layers": 1},
        old=True, pre="deepseek-v3", splits=DEEPSEEK3, dtype="bfloat16", bos="<|begin_of_text|>", eos="<|eot_id|>", mtp=True),
    "deepseek-v3-fp8": dict(
        config=DEEPSEEK | {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 160, "num_hidden_layers": 2, "q_lora_rank": 24,
                           "scoring_func": "sigmoid", "topk_method": "noaux_tc", "n_group": 2, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5},
        old=True, pre="deepseek-v3", splits=DEEPSEEK3, dtype="bfloat16", bos="<|begin_of_text|>", eos="<|eot_id|>", fp8=True),
    "glm4-moe": dict(
        config={"model_type": "glm4_moe", "hidden_size": 48, "intermediate_size": 80, "moe_intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 6,
                "num_key_value_heads": 2, "head_dim": 16, "attention_bias": True, "use_qk_norm": True, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
                "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 1.5, "num_nextn_predict_layers": 1,
                "rms_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "rope_theta": 1000000.0, "max_position_embeddings": 512, "tie_word_embeddings": False},
        old=True, pre="glm4", splits=[LLAMA3], dtype="bfloat16", eos="<|endoftext|>", glm=True, mtp=True),
    "glm4-moe-lite": dict(
        config={"model_type": "glm4_moe_lite", "hidden_size": 32, "intermediate_size": 56, "moe_intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
                "num_key_value_heads": 2, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "head_dim": 8,
                "n_routed_experts": 3, "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
                "topk_method": "noaux_tc", "norm_topk_prob": True, "routed_scaling_factor": 1.8, "num_nextn_predict_layers": 1, "rms_norm_eps": 1e-5,
                "max_position_embeddings": 512, "rope_theta": 1000000.0, "tie_word_embeddings": False},
        old=True, pre="glm4", splits=[LLAMA3], dtype="bfloat16", eos="<|endoftext|>", glm=True, mtp=True),
    "phi3-long": dict(
        config={"model_type": "phi3", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 6,
                "rms_norm_eps": 1e-5, "max_position_embeddings": 2048, "original_max_position_embeddings": 512, "tie_word_embeddings": False, "sliding_window": 2048,
                "rope_theta": 10000.0, "pad_token_id": 0,
                "rope_scaling": {"type": "longrope", "long_factor": [1.0, 1.3, 2.5, 4.1], "short_factor": [1.0, 1.1, 1.2, 1.3]}},
        old=True, pre="gpt-4o", splits=[GPT4O], dtype="bfloat16", bos="<|endoftext|>", eos="<|im_end|>", tokenizer_class="GPT2Tokenizer"),
    "phi3": dict(
        config={"model_type": "phi3", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
                "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "original_max_position_embeddings": 512, "tie_word_embeddings": True, "sliding_window": None,
                "rope_theta": 10000.0, "partial_rotary_factor": 0.75, "pad_token_id": 0},
        old=True, pre="gpt-4o", splits=[GPT4O], dtype="bfloat16", bos="<|endoftext|>", eos="<|endoftext|>", tokenizer_class="GPT2Tokenizer"),
}
KINDS |= {
    "gpt-oss": dict(
        config={"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                "head_dim": 24, "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": 32, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
                "attention_bias": True, "swiglu_limit": 7.0, "rope_theta": 150000, "tie_word_embeddings": False,
                "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False, "original_max_position_embeddings": 64}},
        old=True, pre="gpt-4o", splits=[GPT4O], dtype="bfloat16", eos="<|endoftext|>", mxfp4=True),
    "gemma3": dict(
        config={"model_type": "gemma3_text", "hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 7, "num_attention_heads": 4, "num_key_value_heads": 2,
                "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 64, "sliding_window_pattern": 6, "max_position_embeddings": 512, "rms_norm_eps": 1e-6,
                "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "hidden_activation": "gelu_pytorch_tanh"},
        old=True, dtype="bfloat16", bos="<s>", eos="</s>", pieces=True),
    # A small E2B: embeddings for each layer, and last layers without keys and values, which have wider networks.
    "gemma4": dict(
        config={**GEMMA4, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "num_kv_shared_layers": 2, "use_double_wide_mlp": True,
                "hidden_size_per_layer_input": 8, "layer_types": ["sliding_attention", "full_attention"] * 3, "final_logit_softcapping": 30.0},
        merged=True, dtype="bfloat16", bos="<bos>", eos="<eos>"),
    # A small 26B-A4B: experts, and values that are the keys where all positions are seen.
    "gemma4-moe": dict(
        config={**GEMMA4, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "num_global_key_value_heads": 1, "attention_k_eq_v": True,
                "enable_moe_block": True, "num_experts": 3, "top_k_experts": 2, "moe_intermediate_size": 24, "hidden_size_per_layer_input": 0,
                "layer_types": ["sliding_attention", "full_attention"], "final_logit_softcapping": 30.0},
        merged=True, dtype="bfloat16", bos="<bos>", eos="<eos>", published=True,
        more={"architectures": ["Gemma4UnifiedForConditionalGeneration"]}, generation={"suppress_tokens": [6, 4]}),
    "ministral3": dict(
        config={"model_type": "ministral3", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1,
                "head_dim": 32, "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "tie_word_embeddings": True, "sliding_window": None,
                "rope_parameters": {"type": "yarn", "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 32, "beta_fast": 32.0,
                                    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}},
        pre="tekken", splits=[TEKKEN], ignore_merges=True, dtype="bfloat16", bos="<s>", eos="</s>"),
}
# Two heads of keys, three of values for each; of three layers the last has attention, as has the one for multi-token prediction.
DELTA = {
    "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 512, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
    "linear_num_value_heads": 6, "layer_types": ["linear_attention", "linear_attention", "full_attention"],
}
DELTA_MOE = DELTA | {"moe_intermediate_size": 40, "shared_expert_intermediate_size": 56, "num_experts": 3, "num_experts_per_tok": 2}
MROPE = {"rope_type": "default", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1], "mrope_interleaved": True}
KINDS |= {
    # A part of a model that sees, with the embedding for a head.
    "qwen35": dict(
        config=DELTA | {"model_type": "qwen3_5_text", "intermediate_size": 80, "tie_word_embeddings": True, "rope_parameters": MROPE, "mtp_num_hidden_layers": 1},
        pre="qwen35", splits=[QWEN35], dtype="bfloat16", eos="<|im_end|>", qwen_mtp=True, sees="Qwen3_5ForConditionalGeneration"),
    # The experts of a layer in two tensors, in a layer for multi-token prediction in many.
    "qwen35-moe": dict(
        config=DELTA_MOE | {"model_type": "qwen3_5_moe_text", "tie_word_embeddings": False, "rope_theta": 1000000.0, "mtp_num_hidden_layers": 1},
        pre="qwen35", splits=[QWEN35], dtype="bfloat16", eos="<|im_end|>", qwen_mtp=True, separate="mtp."),
    "qwen3-next": dict(
        config=DELTA_MOE | {"model_type": "qwen3_next", "num_hidden_layers": 4, "layer_types": None, "intermediate_size": 80, "tie_word_embeddings": False, "rope_theta": 1000000.0, "norm_topk_prob": True},
        old=True, pre="qwen2", splits=[QWEN2], dtype="bfloat16", eos="<|im_end|>", qwen_mtp=True, separate="", drop=["layer_types"],
        more={"full_attention_interval": 4, "partial_rotary_factor": 0.25}),
}
LATENT = {
    "hidden_size": 48, "intermediate_size": 72, "moe_intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 3, "num_key_value_heads": 3,
    "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 24, "rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_theta": 10000.0,
    "first_k_dense_replace": 1, "num_experts": 4, "num_shared_experts": 1, "routed_scaling_factor": 2.446, "topk_group": 1, "tie_word_embeddings": False, "pad_token_id": None,
}
KINDS |= {
    "kimi-linear": dict(
        config=LATENT | {"model_type": "kimi_linear", "num_experts_per_token": 2, "model_max_length": 512, "q_lora_rank": None, "linear_attn_config": {
            "full_attn_layers": [3], "kda_layers": [1, 2], "head_dim": 16, "num_heads": 3, "short_conv_kernel_size": 4}},
        # As the published configuration has them.
        old=True, raw=True, ranks=True, drop=["pad_token_id"], pre="kimi-k2", dtype="bfloat16", bos="[BOS]", eos="<|im_end|>", more={
            "head_dim": 20, "mla_use_nope": True, "moe_layer_freq": 1, "moe_renormalize": True, "moe_router_activation_func": "sigmoid", "num_expert_group": 1,
            "num_nextn_predict_layers": 0, "rope_scaling": None, "use_grouped_topk": True}),
    "ling3": dict(
        config=LATENT | {"model_type": "bailing_hybrid", "num_experts_per_tok": 2, "max_position_embeddings": 512, "q_lora_rank": 20, "head_dim": 16, "n_group": 2,
                         "layer_group_size": 3, "num_mtp_layers": 0, "short_conv_kernel_size": 4, "kda_lower_bound": -5.0},
        old=True, raw=True, pre="bailingmoe2", splits=[LING], dtype="bfloat16", eos="<|im_end|>", ling_mtp=True, drop=["num_mtp_layers", "pad_token_id"], more={
            "architectures": ["BailingMoeV3ForCausalLM"], "model_type": "bailing_moe_v3", "no_kda_lora": True, "kda_safe_gate": True, "score_function": "sigmoid",
            "gated_attention_proj_granularity_type": "head_wise", "moe_shared_expert_intermediate_size": 40, "norm_topk_prob": True, "num_nextn_predict_layers": 1,
            "expert_swiglu_limit_list": [None, 7.0, 8.0], "share_expert_swiglu_limit_list": [None, None, 9.5, 6.0]}),
}
KINDS |= {
    # A part of a model that sees, by the names of older versions.
    "mistral4": dict(
        config={"model_type": "mistral4", "hidden_size": 48, "intermediate_size": 72, "moe_intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3,
                "num_key_value_heads": 3, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "kv_lora_rank": 32,
                "q_lora_rank": 20, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 24, "rms_norm_eps": 1e-6, "norm_topk_prob": True,
                "max_position_embeddings": 512, "tie_word_embeddings": False, "pad_token_id": None,
                "rope_parameters": {"type": "yarn", "rope_type": "yarn", "rope_theta": 10000.0, "factor": 16.0, "original_max_position_embeddings": 32, "beta_fast": 32.0,
                                    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.0}},
        pre="tekken", splits=[TEKKEN], ignore_merges=True, dtype="bfloat16", bos="<s>", eos="</s>", model=Mistral4ForCausalLM, sees="Mistral3ForConditionalGeneration"),
}
# Layers that choose the positions that a token attends to.
CHOOSING = {"index_n_heads": 3, "index_head_dim": 16, "index_topk": 40}
KINDS |= {
    "glm-dsa": dict(
        config=KINDS["glm4-moe-lite"]["config"] | CHOOSING | {"model_type": "glm_moe_dsa", "num_hidden_layers": 3, "indexer_types": ["full", "shared", "full"],
                                                              "scoring_func": "sigmoid"},
        old=True, pre="glm4", splits=[LLAMA3], dtype="bfloat16", eos="<|endoftext|>", glm=True, mtp=True),
    "deepseek-v32": dict(
        config=DEEPSEEK | CHOOSING | {"model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"], "q_lora_rank": 24, "scoring_func": "sigmoid",
                                      "topk_method": "noaux_tc", "n_group": 2, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
                                      "num_nextn_predict_layers": 1},
        old=True, pre="deepseek-v3", splits=DEEPSEEK3, dtype="bfloat16", bos="<|begin_of_text|>", eos="<|eot_id|>", mtp=True, begins=True),
    # Four streams; the last layer chooses pools of positions, the others have a recurrent state.
    "glm5-next": dict(
        config=CHOOSING | {
            "model_type": "glm5_next_text", "hidden_size": 32, "intermediate_size": 56, "moe_intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2,
            "num_key_value_heads": 2, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 0, "v_head_dim": 12, "n_routed_experts": 3,
            "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "swiglu_limit": 7.5,
            "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "tie_word_embeddings": False, "pad_token_id": None, "index_kpool": 4, "hc_mult": 4, "hc_eps": 1e-6,
            "hc_sinkhorn_iters": 20, "layer_types": ["linear_attention", "linear_attention", "indexed_attention"], "mlp_layer_types": ["dense", "sparse", "sparse"],
            "linear_attn_config": {"head_dim": 20, "num_heads": 2, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0}},
        raw=True, pre="glm4", splits=[LLAMA3], dtype="bfloat16", eos="<|endoftext|>", glm=True, mtp=True, headless=True, model=Glm5NextTextModel,
        sees="Glm5NextForConditionalGeneration", more={
            "mhc": True, "mla_use_nope": True, "first_k_dense_replace": 1, "scoring_func": "sigmoid", "num_nextn_predict_layers": 1, "indexer_types": ["full"] * 3,
            "linear_attn_config": {"head_dim": 20, "num_heads": 2, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0}}),
}
CONTROL = ["<|begin_of_text|>", "<|eot_id|>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>"]
CONTROL_OF_GLM = ["<|endoftext|>", "[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>"]


def pieces(kind, folder):
    """Writes tokenizer.model and tokenizer_config.json, and returns the number of tokens and the ids of the added ones."""
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 20), model_writer=model, vocab_size=340, model_type="bpe", byte_fallback=True, normalization_rule_name="identity", character_coverage=0.98,
        user_defined_symbols=["<tool>"], minloglevel=2, num_threads=1)
    (folder / "tokenizer.model").write_bytes(model.getvalue())
    ids = {"<unk>": 0, "<s>": 1, "</s>": 2}
    added = {**{id: (text, True) for text, id in ids.items()}, 340: ("<|user|>", False), 341: ("▁▁think", False), 342: ("<|end|>", True)}
    decoder = {str(id): {"content": text, "special": special, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False} for id, (text, special) in added.items()}
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "add_prefix_space": True, "chat_template": CHATML,
              "added_tokens_decoder": decoder, "bos_token": "<s>", "eos_token": "</s>", "unk_token": {"content": "<unk>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n")
    if kind.get("json"):
        template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": []}
        written = {"added_tokens": [{"id": id, "content": text, "special": special} for id, (text, special) in added.items()], "post_processor": template,
                   "model": {"type": "BPE", "byte_fallback": True, "vocab": {}, "merges": []}}
        (folder / "tokenizer.json").write_text(json.dumps(written, ensure_ascii=False) + "\n")
    else:
        (folder / "added_tokens.json").write_text(json.dumps({"<|more|>": 343, "<|end|>": 342}) + "\n")
    return 344, ids


def merged(kind, folder):
    """Writes tokenizer.json and tokenizer_config.json as Gemma 4 has them, and returns the number of tokens and the ids of the special ones."""
    from tokenizers import decoders, normalizers

    named = ["<pad>", "<eos>", "<bos>", "<unk>"]
    more = ["<|channel>", "<channel|>", "<|turn>", "<turn|>"]
    tok = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tok.normalizer = normalizers.Replace(" ", "▁")
    tok.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tok.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=350, special_tokens=named + more + bytes_, show_progress=False))
    written = json.loads(tok.to_str())
    # The bytes are ordinary tokens.
    written["added_tokens"] = [token for token in written["added_tokens"] if not token["content"].startswith("<0x")]
    (folder / "tokenizer.json").write_text(json.dumps(written, ensure_ascii=False) + "\n")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "unk_token": "<unk>",
              "extra_special_tokens": ["<|turn>", "<turn|>", "<|channel>", "<channel|>"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "chat_template.jinja").write_text(CHATML)
    return tok.get_vocab_size(), {text: at for at, text in enumerate(named)}


def ranks(kind, folder):
    """Writes tiktoken.model and tokenizer_config.json as Kimi has them, and returns the number of tokens and the ids of the special ones."""
    import base64

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    byte_of = {char: byte for byte, char in bytes_to_unicode().items()}
    tokens = [bytes(byte_of[char] for char in text) for text in sorted(tok.get_vocab(), key=tok.get_vocab().get)]
    # One that no two tokens merge to.
    tokens.append(b"xyz.q")
    lines = [base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens)]
    (folder / "tiktoken.model").write_bytes(b"\n".join(lines) + b"\n")
    named = ["[BOS]", "[EOS]", "<|im_end|>", "<think>"]
    ids = {text: len(tokens) + at for text, at in zip(named, [0, 1, 3, 4])}
    decoder = {str(id): {"content": text, "special": text != "<think>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False} for text, id in ids.items()}
    config = {"tokenizer_class": "TikTokenTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}, "added_tokens_decoder": decoder,
              "bos_token": "[BOS]", "eos_token": "[EOS]", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "chat_template.jinja").write_text(CHATML)
    return len(tokens) + 8, ids


def bytes_to_unicode():
    """The characters that byte-level BPE spells bytes with."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + at) for at, byte in enumerate(others)}


class Ranked:
    """What llama.cpp's converter asks of Kimi's own tokenizer, which is a program."""

    def __init__(self, folder, vocab):
        import base64

        lines = (line.split() for line in (folder / "tiktoken.model").read_bytes().splitlines())
        self.model = self
        self._mergeable_ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        config = json.loads((folder / "tokenizer_config.json").read_text())
        named = {int(id): token["content"] for id, token in config["added_tokens_decoder"].items()}
        self.special_tokens = {named.get(id, f"<|reserved_token_{id}|>"): id for id in range(len(self._mergeable_ranks), vocab)}
        self.eos_id = self.special_tokens[config["eos_token"]]


def tokenizer(kind, folder):
    """Writes tokenizer.json and tokenizer_config.json, and returns the number of tokens and the ids of the added ones."""
    tok = Tokenizer(models.BPE(ignore_merges=kind.get("ignore_merges", False)))
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex="splits" not in kind)
    stages = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in kind.get("splits", [])]
    stages += [pre_tokenizers.Digits(individual_digits=True)] * kind.get("digits", False) + [bytes_]
    tok.pre_tokenizer = pre_tokenizers.Sequence(stages) if len(stages) > 1 else bytes_
    tok.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    special = CONTROL_OF_GLM if kind.get("glm") else CONTROL
    tok.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tok.add_tokens([AddedToken("<think>", special=False, normalized=False), AddedToken("<|tool|>", special=False, normalized=False)])
    ids = {text: tok.token_to_id(text) for text in special}
    if bos := kind.get("bos"):
        template = processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, ids[bos])])
        tok.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    else:
        tok.post_processor = processors.ByteLevel(trim_offsets=False)
    tok.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": kind.get("tokenizer_class", "PreTrainedTokenizerFast"), "model_max_length": 512, "chat_template": GLM if kind.get("glm") else CHATML}
    config |= {f"{role}_token": kind[role] for role in ("bos", "eos", "pad") if role in kind}
    if "bos" not in kind:
        config["add_bos_token"] = False
    if kind.get("begins"):
        config["add_bos_token"] = True
    if "space" in kind:
        config["add_prefix_space"] = kind["space"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n")
    return tok.get_vocab_size(), ids


def extra_layer(weights, layers, kind):
    """A layer for multi-token prediction: like the last one, with two norms, a matrix, and copies of the embedding and the head."""
    last, new = f"model.layers.{layers - 1}.", f"model.layers.{layers}."
    # It has a single stream.
    more = {name.replace(last, new): tensor for name, tensor in weights.items() if name.startswith(last) and ".hc_" not in name}
    hidden, vocab = weights["model.embed_tokens.weight"].shape[1], weights["model.embed_tokens.weight"].shape[0]
    shapes = {"eh_proj": (hidden, 2 * hidden), "embed_tokens": (vocab, hidden), "shared_head.head": (vocab, hidden),
              "enorm": (hidden,), "hnorm": (hidden,), "shared_head.norm": (hidden,)}
    return more | {f"{new}{name}.weight": torch.zeros(shape) for name, shape in shapes.items()}


def qwen_mtp(weights, layers):
    """Qwen's layer for multi-token prediction: like the last one, under a name of its own, with three norms and a matrix."""
    last, hidden = f"model.layers.{layers - 1}.", weights["model.norm.weight"].shape[0]
    more = {name.replace(last, "mtp.layers.0."): tensor for name, tensor in weights.items() if name.startswith(last)}
    norms = ["pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"]
    return more | {"mtp.fc.weight": torch.zeros(hidden, 2 * hidden)} | {f"mtp.{name}.weight": torch.zeros(hidden) for name in norms}


def ling_mtp(weights, layers):
    """Ling's layer for multi-token prediction: like the last one, with three norms and a matrix."""
    last, new, hidden = f"model.layers.{layers - 1}.", f"model.layers.{layers}.", weights["model.norm.weight"].shape[0]
    more = {name.replace(last, new): tensor for name, tensor in weights.items() if name.startswith(last)}
    norms = ["enorm", "hnorm", "final_layernorm"]
    return more | {f"{new}eh_proj.weight": torch.zeros(hidden, 2 * hidden)} | {f"{new}{name}.weight": torch.zeros(hidden) for name in norms}


def separate(weights, start):
    """A tensor for each matrix of each expert, as published models have them, in the place of two for all."""
    for name in [name for name in weights if name.startswith(start) and name.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        stem, _, kind = name.rpartition(".")
        for expert, matrix in enumerate(weights.pop(name)):
            for end, part in zip(["gate_proj", "up_proj"], matrix.chunk(2)) if kind == "gate_up_proj" else [("down_proj", matrix)]:
                weights[f"{stem}.{expert}.{end}.weight"] = part.contiguous()


def to_fp8(weights):
    """Matrices of layers as E4M3 in blocks of 128 by 128, each with the factor that restores it."""
    for name in [name for name in weights if ".layers." in name and weights[name].ndim == 2 and not name.endswith("gate.weight")]:
        weight = weights[name].float()
        rows, columns = (-(-n // 128) for n in weight.shape)
        scales = torch.ones(rows, columns)
        stored = torch.zeros(weight.shape, dtype=torch.float8_e4m3fn)
        for r in range(rows):
            for c in range(columns):
                at = (slice(r * 128, r * 128 + 128), slice(c * 128, c * 128 + 128))
                scales[r, c] = weight[at].abs().max() / 448
                stored[at] = (weight[at] / scales[r, c]).to(torch.float8_e4m3fn)
        weights[name], weights[name + "_scale_inv"] = stored, scales


def hashed(name, shape):
    """Values of a tensor that depend on its name alone, each with a bf16 that is the same value: from 2^-7 to 2^-2, of both signs."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    n = 1
    for size in shape:
        n *= size
    h = (torch.arange(n, dtype=torch.int64) * 40503 + seed) % 2**32
    h = (h ^ h >> 15) * 739 % 2**32
    h = (h ^ h >> 13) * 1013 % 2**32
    bits = (h & 0x8000) | (0x3C00 + (h >> 16) % 0x0280)
    bits = torch.where(bits >= 0x8000, bits - 0x10000, bits)
    return bits.to(torch.int16).view(torch.bfloat16).reshape(shape)


def hashed_bytes(name, shape):
    """The same for bytes; those of scales are small exponents."""
    bits = hashed(name, shape).view(torch.int16).to(torch.int64) & 0xFFFF
    low = (bits ^ bits >> 8) & 0xFF
    return (116 + low % 8 if name.endswith("_scales") else low).to(torch.uint8)


def to_mxfp4(weights):
    """The weights of experts as gpt-oss has them: of 32 values in a row, 16 bytes of codes and one of the scale."""
    for name in [name for name in weights if name.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, columns, rows = weights.pop(name).shape
        for end, shape in [("_blocks", (experts, rows, columns // 32, 16)), ("_scales", (experts, rows, columns // 32))]:
            weights[name + end] = hashed_bytes(name + end, shape)


def make(name, folder):
    kind = KINDS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    vocab, ids = (pieces if kind.get("pieces") else ranks if kind.get("ranks") else merged if kind.get("merged") else tokenizer)(kind, folder)
    # Rows for which there is no token, as most real models have them.
    values = kind["config"] | {"vocab_size": vocab if kind.get("merged") else vocab + 5}
    if kind.get("merged"):
        values["vocab_size_per_layer_input"] = vocab
    values |= {f"{role}_token_id": ids[kind[role]] for role in ("bos", "eos") if role in kind}
    config = AutoConfig.for_model(**values)
    torch.manual_seed(1)
    own = kind.get("model")
    model = (own(config) if own else AutoModelForCausalLM.from_config(config)).to(getattr(torch, kind["dtype"]))
    model.save_pretrained(folder, max_shard_size="10GB")
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    if kind.get("headless"):
        weights = {f"model.{key}": tensor for key, tensor in weights.items()}
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    if kind.get("mtp"):
        weights |= extra_layer(weights, config.num_hidden_layers, kind)
    if kind.get("qwen_mtp"):
        weights |= qwen_mtp(weights, config.num_hidden_layers)
    # As published models have them, which `transformers` renames when it reads them, and not back.
    for key in list(weights):
        if kind.get("ranks"):
            weights[re.sub(r"(?<!\w)block_sparse_moe\.(?=(gate|up|down)_proj)", "mlp.", key)] = weights.pop(key)
        if kind.get("ling_mtp") and key.replace("dense.weight", "A_log") in weights:
            weights[key.replace("dense", "o_proj")] = weights.pop(key)
    if kind.get("ling_mtp"):
        weights |= ling_mtp(weights, config.num_hidden_layers)
    if "separate" in kind:
        separate(weights, kind["separate"])
    if kind.get("sees"):
        if config.model_type == "mistral4":
            weights = {f"language_model.{key}": tensor for key, tensor in weights.items()}
            weights["vision_tower.ln_pre.weight"] = weights["multi_modal_projector.norm.weight"] = torch.zeros(16)
        else:
            weights = {key.replace("model.", "model.language_model.") if key.startswith("model.") else key: tensor for key, tensor in weights.items()}
            weights["model.visual.merger.norm.weight"] = torch.zeros(16)
    if kind.get("published"):
        # As in published models, which also see; what sees is left out.
        weights = {key.replace("model.", "model.language_model.", 1): tensor for key, tensor in weights.items()}
        weights["model.embed_vision.embedding_projection.weight"] = torch.zeros(32, 16)
    generator = torch.Generator().manual_seed(2)
    if kind.get("mxfp4"):
        to_mxfp4(weights)
    for key in sorted(key for key in weights if weights[key].dtype != torch.uint8):
        scale = 1.0 if "norm" in key else 0.2
        dtype = torch.float32 if key.endswith("e_score_correction_bias") else getattr(torch, kind["dtype"])
        value = hashed(key, weights[key].shape) if name in HASHED else scale * torch.randn(weights[key].shape, generator=generator)
        weights[key] = value.to(dtype)
    if kind.get("fp8"):
        to_fp8(weights)
    parts = [{}]
    limit = int(kind.get("shards", "1000KB").removesuffix("KB")) * 1000
    for key, tensor in weights.items():
        if parts[-1] and sum(t.nbytes for t in parts[-1].values()) + tensor.nbytes > limit:
            parts.append({})
        parts[-1][key] = tensor.contiguous()
    names = [f"model-{i + 1:05}-of-{len(parts):05}.safetensors" for i in range(len(parts))] if len(parts) > 1 else ["model.safetensors"]
    for file, part in zip(names, parts):
        save_file(part, folder / file, metadata={"format": "pt"})
    if len(parts) > 1:
        index = {"metadata": {"total_size": sum(t.nbytes for t in weights.values())}, "weight_map": {key: file for file, part in zip(names, parts) for key in part}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    written = json.loads((folder / "config.json").read_text())
    if kind.get("old"):
        kept = values | {"architectures": written["architectures"], "torch_dtype": kind["dtype"]}
        written = dict(sorted(kept.items()))
    written = {key: value for key, value in (written | kind.get("more", {})).items() if key not in kind.get("drop", [])}
    if kind.get("sees"):
        inner = written | {"architectures": None}
        written = {"architectures": [kind["sees"]], "model_type": config.model_type.removesuffix("_text").replace("mistral4", "mistral3"), "text_config": inner, "vision_config": {"hidden_size": 16}, "tie_word_embeddings": written.get("tie_word_embeddings", False)}
        written |= {key: inner.pop(key) for key in list(inner) if key.endswith("_token_id")}
        del inner["architectures"]
    if kind.get("mxfp4"):
        written["quantization_config"] = {"modules_to_not_convert": ["model.layers.*.self_attn"], "quant_method": "mxfp4"}
    if kind.get("fp8"):
        written["quantization_config"] = {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps(written, indent=1) + "\n")
    generation = {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "eos_token_id": [ids[kind["eos"]]]} | kind.get("generation", {})
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=1) + "\n")


def convert(name, folder, out, llama_cpp):
    """What llama.cpp's converter writes, in this process, so that the tokenizer's name can be given."""
    sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]
    import convert_hf_to_gguf
    from conversion.base import TextModel

    TextModel.get_vocab_base_pre = lambda self, tokenizer: KINDS[name].get("pre")
    sys.argv = ["convert_hf_to_gguf.py", str(folder), "--outfile", str(out), "--outtype", "auto"]
    with contextlib.ExitStack() as stack:
        if KINDS[name].get("raw"):
            # As with versions of transformers that do not know the model.
            stack.enter_context(mock.patch("conversion.base.AutoConfig", None))
        if KINDS[name].get("begins"):
            # The class of the published tokenizer has it as an attribute.
            read = AutoTokenizer.from_pretrained
            begins = lambda *args, **keys: (lambda found: setattr(found, "add_bos_token", True) or found)(read(*args, **keys))
            stack.enter_context(mock.patch("transformers.AutoTokenizer.from_pretrained", begins))
        if KINDS[name].get("ranks"):
            vocab = json.loads((folder / "config.json").read_text())["vocab_size"]
            stack.enter_context(mock.patch("transformers.AutoTokenizer.from_pretrained", lambda *_, **__: Ranked(folder, vocab)))
            stack.enter_context(mock.patch("conversion.qwen.QwenModel.token_bytes_to_string", lambda token: "".join(bytes_to_unicode()[byte] for byte in token)))
        convert_hf_to_gguf.main()


def listing(path):
    """The keys and tensors of a GGUF file as text."""
    from gguf import GGUFReader

    reader = GGUFReader(path)
    lines = []
    for key, field in sorted(reader.fields.items()):
        if not key.startswith("GGUF."):
            types = [kind.name for kind in field.types]
            value = json.dumps(field.contents(), ensure_ascii=False)
            if types[0] == "ARRAY":
                value = f"{len(field.data)} values, sha256 {hashlib.sha256(value.encode()).hexdigest()}" if len(value) > 300 else value
            lines.append(f"{key} {' '.join(types).lower()} {value}")
    for tensor in sorted(reader.tensors, key=lambda tensor: tensor.name):
        shape = "x".join(str(n) for n in tensor.shape)
        lines.append(f"{tensor.name} {tensor.tensor_type.name.lower()} {shape} {hashlib.sha256(tensor.data.tobytes()).hexdigest()}")
    return "\n".join(lines) + "\n"


def strip(folder):
    """Puts names, types and shapes of the weights in the place of the weights, in the order of the file."""
    from safetensors import safe_open

    for file in sorted(folder.glob("*.safetensors*")):
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as weights, open(folder / "weights.txt", "a") as out:
                for key in weights.keys():
                    tensor = weights.get_slice(key)
                    out.write(f"{key} {tensor.get_dtype()} {'x'.join(str(n) for n in tensor.get_shape())}\n")
        file.unlink()


def main():
    llama_cpp = pathlib.Path(sys.argv[1]).resolve()
    out = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else HERE
    for name in sys.argv[3:] or (FIXTURES + HASHED if out == HERE else KINDS):
        make(name, out / name)
        gguf = out / f"{name}.gguf"
        convert(name, out / name, gguf, llama_cpp)
        (out / f"{name}.txt").write_text(listing(gguf))
        if out == HERE:
            gguf.unlink()
            if name in HASHED:
                strip(out / name)


if __name__ == "__main__":
    main()
