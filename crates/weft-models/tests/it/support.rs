//! Tiny models in memory: the keys and tensors of a real file, with random weights, for tests to change.

use std::collections::BTreeMap;

use weft_gguf::{Gguf, Metadata, Value, Writer};
use weft_ir::{Sizes, Tensor, Values};
use weft_models::{BuildOptions, ModelGraph, build};
use weft_quant::GgmlType;

/// Options for the oracle, with pages small enough that a short prompt fills several.
pub(crate) const ORACLE: BuildOptions = BuildOptions { kv: GgmlType::F32, page: 4, pooling: None };

pub(crate) const VOCAB: usize = 96;
pub(crate) const HIDDEN: usize = 64;

/// A file to be written.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) keys: BTreeMap<String, Value>,
    pub(crate) tensors: Vec<Stored>,
}

/// A tensor of a [`File`].
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) ty: GgmlType,
    /// In GGML's order.
    pub(crate) shape: Vec<u64>,
    pub(crate) values: Vec<f32>,
}

impl File {
    pub(crate) fn new(architecture: &str) -> File {
        let mut file = File { keys: BTreeMap::new(), tensors: Vec::new() };
        file.set("general.architecture", architecture);
        file
    }

    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.keys.insert(key.to_string(), value.into());
    }

    pub(crate) fn architecture(&self) -> String {
        match &self.keys["general.architecture"] {
            Value::String(name) => name.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Adds a matrix or a stack of matrices. `shape` is outermost axis first.
    pub(crate) fn matrix(&mut self, name: &str, shape: &[usize]) {
        let scale = 1.0 / (shape[shape.len() - 1] as f32).sqrt();
        let values = random(name, shape.iter().product()).map(|x| x * scale).collect();
        self.add(name, GgmlType::Q8_0, shape, values);
    }

    /// Adds a vector of values around `centre`: 1 for norms, 0 for biases.
    pub(crate) fn vector(&mut self, name: &str, len: usize, centre: f32) {
        let values = random(name, len).map(|x| centre + 0.1 * x).collect();
        self.add(name, GgmlType::F32, &[len], values);
    }

    pub(crate) fn add(&mut self, name: &str, ty: GgmlType, shape: &[usize], values: Vec<f32>) {
        let shape = shape.iter().rev().map(|n| *n as u64).collect();
        self.tensors.push(Stored { name: name.to_string(), ty, shape, values });
    }

    pub(crate) fn tensor(&mut self, name: &str) -> &mut Stored {
        self.tensors.iter_mut().find(|t| t.name == name).unwrap_or_else(|| panic!("no tensor {name}"))
    }

    /// Removes and returns a tensor.
    pub(crate) fn take(&mut self, name: &str) -> Stored {
        let at = self.tensors.iter().position(|t| t.name == name);
        self.tensors.remove(at.unwrap_or_else(|| panic!("no tensor {name}")))
    }

    /// Writes the file and parses it. If a shape was changed, surplus values are dropped and missing ones are zero.
    pub(crate) fn open(&self) -> Gguf {
        let mut metadata = Metadata::new();
        for (key, value) in &self.keys {
            metadata.insert(key, value.clone());
        }
        let mut writer = Writer::new(metadata).unwrap();
        for tensor in &self.tensors {
            writer.declare(&tensor.name, tensor.ty, &tensor.shape).unwrap();
        }
        let mut bytes = Vec::new();
        let mut data = writer.to_stream(&mut bytes).unwrap();
        for tensor in &self.tensors {
            data.write(&tensor.name, &tensor.encoded()).unwrap();
        }
        data.finish().unwrap();
        Gguf::parse(bytes).unwrap()
    }

    pub(crate) fn build(&self) -> Result<ModelGraph, weft_models::Error> {
        build(&self.open(), &BuildOptions::default())
    }

    /// The message of the error that building returns.
    pub(crate) fn refusal(&self) -> String {
        self.build().map(drop).expect_err("this file must be refused").to_string()
    }
}

impl Stored {
    fn encoded(&self) -> Vec<u8> {
        let count = self.shape.iter().product::<u64>();
        let mut bytes = vec![0; self.ty.row_bytes(count).unwrap() as usize];
        if self.ty.can_encode() {
            let mut values = self.values.clone();
            values.resize(count as usize, 0.0);
            weft_quant::encode(self.ty, &values, &mut bytes).unwrap();
        }
        bytes
    }
}

/// Values from -1 to 1 that depend only on the name.
pub(crate) fn random(name: &str, len: usize) -> impl Iterator<Item = f32> {
    // FNV-1a for the seed, then a linear congruential generator (Knuth's MMIX constants).
    let seed =
        name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(Some(seed), next)
        .skip(1)
        .take(len)
        .map(|x| (x >> 40) as f32 / (1 << 23) as f32 - 1.0)
}

/// A `deepseek2` like GLM-4.7-Flash: compressed queries, one dense layer and two with experts, sigmoid gating with
/// bias.
pub(crate) fn glm() -> File {
    let mut file = deepseek2(1);
    file.set("deepseek2.attention.q_lora_rank", 32u32);
    file.set("deepseek2.expert_weights_norm", true);
    file.set("deepseek2.expert_weights_scale", 1.8f32);
    file.set("deepseek2.expert_gating_func", 2u32);
    for block in 0..3 {
        file.matrix(&format!("blk.{block}.attn_q_a.weight"), &[32, HIDDEN]);
        file.vector(&format!("blk.{block}.attn_q_a_norm.weight"), 32, 1.0);
        file.matrix(&format!("blk.{block}.attn_q_b.weight"), &[2 * 48, 32]);
    }
    for block in 1..3 {
        file.vector(&format!("blk.{block}.exp_probs_b.bias"), 4, 0.0);
    }
    file
}

/// A `deepseek2` like DeepSeek-V2-Lite: queries directly from the hidden state, softmax gating, two shared experts,
/// YaRN.
pub(crate) fn v2_lite() -> File {
    let mut file = deepseek2(2);
    file.set("deepseek2.expert_weights_scale", 1.0f32);
    file.set("deepseek2.expert_gating_func", 1u32);
    file.set("deepseek2.rope.scaling.type", "yarn");
    file.set("deepseek2.rope.scaling.factor", 40.0f32);
    file.set("deepseek2.rope.scaling.original_context_length", 4096u32);
    file.set("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707f32);
    for block in 0..3 {
        file.matrix(&format!("blk.{block}.attn_q.weight"), &[2 * 48, HIDDEN]);
    }
    file
}

/// The common part of both: 2 heads of 32 + 16 with values of 32, a latent vector of 32, 2 of 4 experts.
fn deepseek2(shared: usize) -> File {
    let mut file = File::new("deepseek2");
    for (key, value) in [
        ("block_count", 3),
        ("context_length", 4096),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", 96),
        ("attention.head_count", 2),
        ("attention.head_count_kv", 1),
        ("attention.key_length", 48),
        ("attention.value_length", 32),
        ("attention.key_length_mla", 48),
        ("attention.value_length_mla", 32),
        ("attention.kv_lora_rank", 32),
        ("rope.dimension_count", 16),
        ("leading_dense_block_count", 1),
        ("expert_count", 4),
        ("expert_used_count", 2),
        ("expert_shared_count", shared),
        ("expert_feed_forward_length", 32),
        ("vocab_size", VOCAB),
    ] {
        file.set(&format!("deepseek2.{key}"), value as u32);
    }
    file.set("deepseek2.attention.layer_norm_rms_epsilon", 1e-5f32);
    file.set("deepseek2.rope.freq_base", 1e4f32);
    ends(&mut file);
    file.matrix("output.weight", &[VOCAB, HIDDEN]);
    for block in 0..3 {
        let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
        file.vector(&name("attn_norm"), HIDDEN, 1.0);
        file.matrix(&name("attn_kv_a_mqa"), &[48, HIDDEN]);
        file.vector(&name("attn_kv_a_norm"), 32, 1.0);
        file.matrix(&name("attn_k_b"), &[2, 32, 32]);
        file.matrix(&name("attn_v_b"), &[2, 32, 32]);
        file.matrix(&name("attn_output"), &[HIDDEN, 64]);
        file.vector(&name("ffn_norm"), HIDDEN, 1.0);
        if block == 0 {
            gated(&mut file, block, "", 96);
        } else {
            file.matrix(&name("ffn_gate_inp"), &[4, HIDDEN]);
            file.tensor(&name("ffn_gate_inp")).ty = GgmlType::F32;
            file.matrix(&name("ffn_gate_exps"), &[4, 32, HIDDEN]);
            file.matrix(&name("ffn_up_exps"), &[4, 32, HIDDEN]);
            file.matrix(&name("ffn_down_exps"), &[4, HIDDEN, 32]);
            gated(&mut file, block, "_shexp", shared * 32);
        }
    }
    file
}

/// A `llama` with tied embeddings: 2 layers, 4 heads of 16, 2 key/value heads.
pub(crate) fn llama() -> File {
    let mut file = File::new("llama");
    for (key, value) in [
        ("block_count", 2),
        ("context_length", 4096),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", 96),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
        ("rope.dimension_count", 16),
        ("vocab_size", VOCAB),
    ] {
        file.set(&format!("llama.{key}"), value as u32);
    }
    file.set("llama.attention.layer_norm_rms_epsilon", 1e-5f32);
    file.set("llama.rope.freq_base", 1e4f32);
    ends(&mut file);
    for block in 0..2 {
        let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
        file.vector(&name("attn_norm"), HIDDEN, 1.0);
        file.matrix(&name("attn_q"), &[64, HIDDEN]);
        file.matrix(&name("attn_k"), &[32, HIDDEN]);
        file.matrix(&name("attn_v"), &[32, HIDDEN]);
        file.matrix(&name("attn_output"), &[HIDDEN, 64]);
        file.vector(&name("ffn_norm"), HIDDEN, 1.0);
        gated(&mut file, block, "", 96);
    }
    file
}

/// The `llama` with 2 of 4 experts instead of each gated network: Mixtral.
pub(crate) fn mixtral() -> File {
    let mut file = llama();
    file.set("llama.expert_count", 4u32);
    file.set("llama.expert_used_count", 2u32);
    with_experts(&mut file);
    file
}

/// Replaces each gated network with 4 experts.
fn with_experts(file: &mut File) {
    for block in 0..2 {
        for tensor in ["ffn_gate", "ffn_up", "ffn_down"] {
            file.take(&format!("blk.{block}.{tensor}.weight"));
        }
        let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
        file.matrix(&name("ffn_gate_inp"), &[4, HIDDEN]);
        file.matrix(&name("ffn_gate_exps"), &[4, 96, HIDDEN]);
        file.matrix(&name("ffn_up_exps"), &[4, 96, HIDDEN]);
        file.matrix(&name("ffn_down_exps"), &[4, HIDDEN, 96]);
    }
}

/// The `v2_lite` with joined matrices of experts: Mistral 4.
pub(crate) fn mistral4() -> File {
    let mut file = renamed(v2_lite(), "deepseek2", "mistral4");
    fuse_gate_and_up(&mut file);
    file
}

/// The `llama` with YaRN that leaves the tables as they are, and queries scaled from position 2, 4, … on: Ministral 3.
pub(crate) fn mistral3() -> File {
    let mut file = renamed(llama(), "llama", "mistral3");
    file.set("mistral3.context_length", 32u32);
    file.set("mistral3.rope.scaling.type", "yarn");
    file.set("mistral3.rope.scaling.factor", 16f32);
    file.set("mistral3.rope.scaling.original_context_length", 2u32);
    file.set("mistral3.rope.scaling.yarn_log_multiplier", 1f32);
    file.set("mistral3.attention.temperature_scale", 0.5f32);
    file
}

/// The `llama` with biases on queries, keys and values: Qwen2.
pub(crate) fn qwen2() -> File {
    let mut file = renamed(llama(), "llama", "qwen2");
    for block in 0..2 {
        for (tensor, len) in [("attn_q", 64), ("attn_k", 32), ("attn_v", 32)] {
            file.vector(&format!("blk.{block}.{tensor}.bias"), len, 0.0);
        }
    }
    file
}

/// The `llama` with a norm of every query and key head: Qwen3.
pub(crate) fn qwen3() -> File {
    let mut file = renamed(llama(), "llama", "qwen3");
    file.set("qwen3.attention.key_length", 16u32);
    file.set("qwen3.attention.value_length", 16u32);
    for block in 0..2 {
        file.vector(&format!("blk.{block}.attn_q_norm.weight"), 16, 1.0);
        file.vector(&format!("blk.{block}.attn_k_norm.weight"), 16, 1.0);
    }
    file
}

/// The `qwen3` with 2 of 4 experts instead of each gated network: Qwen3-MoE.
pub(crate) fn qwen3moe() -> File {
    let mut file = renamed(qwen3(), "qwen3", "qwen3moe");
    file.keys.remove("qwen3moe.feed_forward_length");
    with_experts(&mut file);
    file.set("qwen3moe.expert_count", 4u32);
    file.set("qwen3moe.expert_used_count", 2u32);
    file.set("qwen3moe.expert_feed_forward_length", 96u32);
    file
}

/// The `qwen2` with experts, and a shared one that tokens score: Qwen2-MoE.
pub(crate) fn qwen2moe() -> File {
    let mut file = renamed(qwen2(), "qwen2", "qwen2moe");
    file.set("qwen2moe.feed_forward_length", 160u32);
    with_experts(&mut file);
    file.set("qwen2moe.expert_count", 4u32);
    file.set("qwen2moe.expert_used_count", 2u32);
    file.set("qwen2moe.expert_feed_forward_length", 96u32);
    file.set("qwen2moe.expert_shared_feed_forward_length", 160u32);
    for block in 0..2 {
        gated(&mut file, block, "_shexp", 160);
        file.vector(&format!("blk.{block}.ffn_gate_inp_shexp.weight"), HIDDEN, 0.0);
    }
    file
}

/// A `glm4moe` like GLM-4.5: biases, half of each head rotated, a dense layer and one with experts and a shared one.
pub(crate) fn glm4moe() -> File {
    let mut file = renamed(qwen2(), "qwen2", "glm4moe");
    file.set("glm4moe.rope.dimension_count", 8u32);
    for (key, value) in [
        ("leading_dense_block_count", 1),
        ("expert_count", 4),
        ("expert_used_count", 2),
        ("expert_shared_count", 1),
        ("expert_feed_forward_length", 32),
    ] {
        file.set(&format!("glm4moe.{key}"), value as u32);
    }
    file.set("glm4moe.expert_weights_norm", true);
    file.set("glm4moe.expert_weights_scale", 1.5f32);
    for block in 0..2 {
        let name = |tensor: &str| format!("blk.{block}.{tensor}");
        file.tensor(&name("ffn_norm.weight")).name = name("post_attention_norm.weight");
        file.vector(&name("attn_q_norm.weight"), 16, 1.0);
        file.vector(&name("attn_k_norm.weight"), 16, 1.0);
    }
    for tensor in ["ffn_gate", "ffn_up", "ffn_down"] {
        file.take(&format!("blk.1.{tensor}.weight"));
    }
    file.matrix("blk.1.ffn_gate_inp.weight", &[4, HIDDEN]);
    file.vector("blk.1.exp_probs_b.bias", 4, 0.0);
    file.matrix("blk.1.ffn_gate_exps.weight", &[4, 32, HIDDEN]);
    file.matrix("blk.1.ffn_up_exps.weight", &[4, 32, HIDDEN]);
    file.matrix("blk.1.ffn_down_exps.weight", &[4, HIDDEN, 32]);
    gated(&mut file, 1, "_shexp", 32);
    file
}

/// The `llama` with joined tensors and two lists of rotary factors: Phi-3.
pub(crate) fn phi3() -> File {
    let mut file = renamed(llama(), "llama", "phi3");
    file.set("phi3.rope.scaling.original_context_length", 1024u32);
    file.vector("rope_factors_short.weight", 8, 1.0);
    file.vector("rope_factors_long.weight", 8, 4.0);
    for block in 0..2 {
        let mut join = |parts: &[&str], joined: &str| {
            let parts: Vec<Stored> =
                parts.iter().map(|part| file.take(&format!("blk.{block}.{part}.weight"))).collect();
            let values: Vec<f32> = parts.iter().flat_map(|part| &part.values).copied().collect();
            let rows = values.len() / HIDDEN;
            file.add(&format!("blk.{block}.{joined}.weight"), parts[0].ty, &[rows, HIDDEN], values);
        };
        join(&["attn_q", "attn_k", "attn_v"], "attn_qkv");
        join(&["ffn_gate", "ffn_up"], "ffn_up");
    }
    file
}

/// The `mixtral` with a window of 3 positions in the first layer, sinks, and biases everywhere: gpt-oss.
pub(crate) fn gpt_oss() -> File {
    let mut file = renamed(mixtral(), "llama", "gpt-oss");
    file.set("gpt-oss.expert_feed_forward_length", 96u32);
    file.set("gpt-oss.attention.sliding_window", 3u32);
    for block in 0..2 {
        let name = |tensor: &str| format!("blk.{block}.{tensor}");
        file.tensor(&name("ffn_norm.weight")).name = name("post_attention_norm.weight");
        file.vector(&name("attn_sinks.weight"), 4, 0.5);
        let biases =
            [("attn_q", 64), ("attn_k", 32), ("attn_v", 32), ("attn_output", 64), ("ffn_gate_inp", 4)];
        for (tensor, len) in biases {
            file.vector(&name(&format!("{tensor}.bias")), len, 0.0);
        }
        for (tensor, len) in [("ffn_gate_exps", 96), ("ffn_up_exps", 96), ("ffn_down_exps", 64)] {
            let name = name(&format!("{tensor}.bias"));
            file.vector(&name, 4 * len, 0.0);
            file.tensor(&name).shape = vec![len as u64, 4];
        }
    }
    file
}

/// The `qwen3` with a window of 3 positions in the first layer, other rotary frequencies in the second, and norms after each branch:
/// Gemma 3.
pub(crate) fn gemma3() -> File {
    let mut file = renamed(qwen3(), "qwen3", "gemma3");
    file.set("gemma3.attention.sliding_window", 3u32);
    file.set("gemma3.attention.sliding_window_pattern", 2u32);
    file.set("gemma3.rope.freq_base", 1e5f32);
    file.set("gemma3.rope.scaling.type", "linear");
    file.set("gemma3.rope.scaling.factor", 8f32);
    for block in 0..2 {
        for norm in ["post_attention_norm", "post_ffw_norm"] {
            file.vector(&format!("blk.{block}.{norm}.weight"), HIDDEN, 1.0);
        }
    }
    file
}

/// The `glm` with 8 experts in 4 groups, of which 2 are chosen: DeepSeek-V3.
pub(crate) fn v3() -> File {
    let mut file = glm();
    file.set("deepseek2.expert_count", 8u32);
    file.set("deepseek2.expert_group_count", 4u32);
    file.set("deepseek2.expert_group_used_count", 2u32);
    for block in 1..3 {
        for (tensor, shape) in [
            ("ffn_gate_inp.weight", vec![8, HIDDEN]),
            ("ffn_gate_exps.weight", vec![8, 32, HIDDEN]),
            ("ffn_up_exps.weight", vec![8, 32, HIDDEN]),
            ("ffn_down_exps.weight", vec![8, HIDDEN, 32]),
        ] {
            file.take(&format!("blk.{block}.{tensor}"));
            file.matrix(&format!("blk.{block}.{tensor}"), &shape);
        }
        file.take(&format!("blk.{block}.exp_probs_b.bias"));
        file.vector(&format!("blk.{block}.exp_probs_b.bias"), 8, 0.0);
    }
    file
}

/// Renames the architecture of a file.
fn renamed(mut file: File, from: &str, to: &str) -> File {
    file.keys = file
        .keys
        .into_iter()
        .map(|(key, value)| match key.strip_prefix(from) {
            Some(rest) => (format!("{to}{rest}"), value),
            None => (key, value),
        })
        .collect();
    file.set("general.architecture", to);
    file
}

pub(crate) fn ends(file: &mut File) {
    file.matrix("token_embd.weight", &[VOCAB, HIDDEN]);
    file.vector("output_norm.weight", HIDDEN, 1.0);
}

pub(crate) fn gated(file: &mut File, block: usize, suffix: &str, width: usize) {
    file.matrix(&format!("blk.{block}.ffn_gate{suffix}.weight"), &[width, HIDDEN]);
    file.matrix(&format!("blk.{block}.ffn_up{suffix}.weight"), &[width, HIDDEN]);
    file.matrix(&format!("blk.{block}.ffn_down{suffix}.weight"), &[HIDDEN, width]);
}

/// All logits of one sequence, computed by the oracle in steps of `chunk` tokens. Its pages are in reverse order.
pub(crate) fn logits(gguf: &Gguf, tokens: &[i32], chunk: usize) -> Vec<f32> {
    logits_of(&build(gguf, &ORACLE).unwrap(), gguf, tokens, chunk)
}

/// Like [`logits`], of a model that was built with pages as the oracle's.
pub(crate) fn logits_of(model: &ModelGraph, gguf: &Gguf, tokens: &[i32], chunk: usize) -> Vec<f32> {
    let pages = tokens.len().div_ceil(ORACLE.page);
    let slots = pages * ORACLE.page;
    let mut values: Values = model.oracle_states(slots);
    let mut logits = Vec::new();
    let mut start = 0;
    for chunk in tokens.chunks(chunk) {
        let n = chunk.len();
        let slot = |pos: usize| (pages - 1 - pos / ORACLE.page) * ORACLE.page + pos % ORACLE.page;
        let mut give = |name: &str, data: Vec<i32>| {
            values.insert(name.to_string(), Tensor::i32([data.len()], data));
        };
        give("tokens", chunk.to_vec());
        give("pos", (start..start + n).map(|pos| pos as i32).collect());
        give("slots", (start..start + n).map(|pos| slot(pos) as i32).collect());
        give("first", vec![0; n]);
        give("pages", (0..pages as i32).rev().collect());
        give("out_rows", (0..n as i32).collect());
        give("ends", vec![n as i32]);
        give("from", vec![if start == 0 { -1 } else { 1 }]);
        give("to", vec![1]);
        give("certain", vec![n as i32]);
        give("kept", vec![0]);
        let sizes = Sizes::of(n).rows(n).slots(slots).pages(pages).sequences(1);
        model.eval(gguf, &sizes, &mut values).unwrap();
        logits.extend_from_slice(values["logits"].as_f32().unwrap());
        start += n;
    }
    logits
}

/// ‖a − b‖ / ‖b‖
pub(crate) fn relative_l2(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let difference: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    let norm: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    (difference / norm).sqrt()
}

/// Changes a `deepseek2` file to the form used before 2025: `attn_kv_b` instead of `attn_k_b` and `attn_v_b`, and no
/// keys for the sizes of the latent row.
pub(crate) fn join_keys_and_values(file: &mut File) {
    for key in ["attention.key_length_mla", "attention.value_length_mla"] {
        file.keys.remove(&format!("deepseek2.{key}"));
    }
    file.set("deepseek2.attention.head_count_kv", 2u32);
    let (heads, nope, rank) = (2, 32, 32);
    for block in 0..3 {
        let Stored { ty, values: key, .. } = file.take(&format!("blk.{block}.attn_k_b.weight"));
        let value = file.take(&format!("blk.{block}.attn_v_b.weight")).values;
        let mut joined = Vec::new();
        for head in 0..heads {
            let key = &key[head * rank * nope..][..rank * nope];
            joined.extend((0..nope).flat_map(|i| (0..rank).map(move |j| key[j * nope + i])));
            joined.extend_from_slice(&value[head * 32 * rank..][..32 * rank]);
        }
        let rows = joined.len() / rank;
        file.add(&format!("blk.{block}.attn_kv_b.weight"), ty, &[rows, rank], joined);
    }
}

/// Changes a `deepseek2` file to the form with `ffn_gate_up_exps` instead of `ffn_gate_exps` and `ffn_up_exps`.
pub(crate) fn fuse_gate_and_up(file: &mut File) {
    for block in 1..3 {
        let gate = file.take(&format!("blk.{block}.ffn_gate_exps.weight"));
        let up = file.take(&format!("blk.{block}.ffn_up_exps.weight"));
        let expert = 32 * HIDDEN;
        let experts = gate.values.chunks_exact(expert).zip(up.values.chunks_exact(expert));
        let both = experts.flat_map(|(gate, up)| gate.iter().chain(up)).copied().collect();
        file.add(&format!("blk.{block}.ffn_gate_up_exps.weight"), gate.ty, &[4, 64, HIDDEN], both);
    }
}
