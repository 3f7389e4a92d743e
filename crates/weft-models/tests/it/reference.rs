//! Families with grouped-query attention, compared with an independent implementation: loops over `f64`, written from the
//! papers.

use weft_gguf::Gguf;

use crate::support::{self, File, HIDDEN, VOCAB, logits, relative_l2};

const TOKENS: [i32; 6] = [1, 60, 7, 22, 7, 95];
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const WIDTH: usize = 16;

/// The reference implementation.
struct Reference<'a> {
    gguf: &'a Gguf,
    /// The number of values of a head that are rotated.
    rotated: usize,
    /// The factor that rotary frequencies are divided by.
    scaling: f64,
}

impl Reference<'_> {
    fn tensor(&self, name: &str) -> Option<Vec<f64>> {
        let tensor = self.gguf.tensor(name)?;
        let mut values = vec![0.0; tensor.values() as usize];
        weft_quant::decode(tensor.ty, self.gguf.data(tensor), &mut values).unwrap();
        Some(values.into_iter().map(f64::from).collect())
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let weight = self.tensor(name).unwrap();
        x.iter().zip(weight).map(|(x, w)| x * w / (mean + 1e-5f32 as f64).sqrt()).collect()
    }

    fn architecture(&self) -> &str {
        self.gguf.metadata().require_str("general.architecture").unwrap()
    }

    /// `w x + b`, where `w` is a matrix, or matrix `part` of a stack, and `b` its bias.
    fn linear(&self, name: &str, x: &[f64], part: Option<usize>, rows: usize) -> Vec<f64> {
        let w = self.tensor(&format!("{name}.weight")).unwrap();
        let w = &w[part.unwrap_or(0) * rows * x.len()..][..rows * x.len()];
        let bias = self.tensor(&format!("{name}.bias"));
        let bias = bias.map_or(vec![0.0; rows], |bias| bias[part.unwrap_or(0) * rows..][..rows].to_vec());
        let row = |w: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        w.chunks_exact(x.len()).zip(bias).map(|(w, b)| row(w) + b).collect()
    }

    /// Multiplies each pair, as a complex number, by e^(i·angle). Pairs are neighbours, or in some families values half a head apart.
    /// Gemma's frequencies are other ones, and are not scaled, in layers with a window.
    fn rotate(&self, head: &mut [f64], pos: usize, is_windowed: bool) {
        let factors = self.tensor("rope_freqs.weight").unwrap_or(vec![1.0; self.rotated / 2]);
        let halves =
            self.architecture().starts_with("qwen") || ["gpt-oss", "gemma3"].contains(&self.architecture());
        let (base, scaling): (f64, f64) = match (self.architecture(), is_windowed) {
            ("gemma3", true) => (1e4, 1.0),
            ("gemma3", false) => (1e5, self.scaling),
            _ => (1e4, self.scaling),
        };
        for (i, factor) in factors.into_iter().enumerate() {
            let angle = pos as f64 / base.powf(2.0 * i as f64 / self.rotated as f64) / factor / scaling;
            let (sin, cos) = angle.sin_cos();
            let [a, b] = if halves { [i, i + self.rotated / 2] } else { [2 * i, 2 * i + 1] };
            (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
        }
    }

    /// The factor of queries at this position.
    fn temperature(&self, pos: usize) -> f64 {
        let key = |name: &str| format!("{}.{name}", self.architecture());
        let metadata = self.gguf.metadata();
        let Some(scale) = metadata.f32(&key("attention.temperature_scale")).unwrap() else { return 1.0 };
        let length = metadata.require_u32(&key("rope.scaling.original_context_length")).unwrap() as usize;
        1.0 + f64::from(scale) * ((1 + pos / length) as f64).ln()
    }

    /// Norms each head, if the file has a norm for heads.
    fn norm_heads(&self, name: &str, heads: &mut [f64]) {
        if self.gguf.tensor(name).is_some() {
            heads.chunks_exact_mut(WIDTH).for_each(|head| head.copy_from_slice(&self.norm(name, head)));
        }
    }

    fn gated(&self, block: usize, suffix: &str, x: &[f64], part: Option<usize>) -> Vec<f64> {
        let gate = self.linear(&format!("blk.{block}.ffn_gate{suffix}"), x, part, 96);
        let up = self.linear(&format!("blk.{block}.ffn_up{suffix}"), x, part, 96);
        let swiglu = |(g, u): (&f64, f64)| match self.architecture() {
            "gpt-oss" => {
                let g = g.min(7.0);
                g / (1.0 + (-1.702 * g).exp()) * (u.clamp(-7.0, 7.0) + 1.0)
            }
            "gemma3" => {
                let z = (2.0 / std::f64::consts::PI).sqrt() * (g + 0.044715 * g.powi(3));
                g / 2.0 * (1.0 + z.tanh()) * u
            }
            _ => g / (1.0 + (-g).exp()) * u,
        };
        let inner: Vec<f64> = gate.iter().zip(up).map(swiglu).collect();
        self.linear(&format!("blk.{block}.ffn_down{suffix}"), &inner, part, HIDDEN)
    }

    /// A mixture as in Mixtral: softmax over the router's two highest logits.
    fn mixture(&self, block: usize, x: &[f64]) -> Vec<f64> {
        let logits = self.linear(&format!("blk.{block}.ffn_gate_inp"), x, None, 4);
        let mut best: Vec<usize> = (0..4).collect();
        best.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
        let share = 1.0 / (1.0 + (logits[best[1]] - logits[best[0]]).exp());
        let [a, b] = [best[0], best[1]].map(|expert| self.gated(block, "_exps", x, Some(expert)));
        a.iter().zip(b).map(|(a, b)| share * a + (1.0 - share) * b).collect()
    }

    fn layer(&self, block: usize, xs: &mut [Vec<f64>]) {
        let name = |tensor: &str| format!("blk.{block}.{tensor}");
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let sinks = self.tensor(&name("attn_sinks.weight"));
        let window = self.gguf.metadata().u32(&format!("{}.attention.sliding_window", self.architecture()));
        let window =
            window.unwrap().filter(|_| block.is_multiple_of(2)).map_or(usize::MAX, |window| window as usize);
        for (pos, x) in xs.iter_mut().enumerate() {
            let h = self.norm(&name("attn_norm.weight"), x);
            let mut q = self.linear(&name("attn_q"), &h, None, HEADS * WIDTH);
            let mut k = self.linear(&name("attn_k"), &h, None, KV_HEADS * WIDTH);
            self.norm_heads(&name("attn_q_norm.weight"), &mut q);
            self.norm_heads(&name("attn_k_norm.weight"), &mut k);
            q.chunks_exact_mut(WIDTH)
                .chain(k.chunks_exact_mut(WIDTH))
                .for_each(|head| self.rotate(head, pos, window < usize::MAX));
            q.iter_mut().for_each(|q| *q *= self.temperature(pos));
            keys.push(k);
            values.push(self.linear(&name("attn_v"), &h, None, KV_HEADS * WIDTH));
            let mut joined = vec![0.0; HEADS * WIDTH];
            for head in 0..HEADS {
                let (q, group) = (&q[head * WIDTH..][..WIDTH], head / (HEADS / KV_HEADS) * WIDTH);
                let score = |k: &Vec<f64>| q.iter().zip(&k[group..]).map(|(q, k)| q * k).sum::<f64>() / 4.0;
                let sees = |at: usize| if at.saturating_add(window) > pos { 1.0 } else { 0.0 };
                let weights: Vec<f64> =
                    keys.iter().enumerate().map(|(at, k)| score(k).exp() * sees(at)).collect();
                let sink = sinks.as_ref().map_or(0.0, |sinks| sinks[head].exp());
                let sum: f64 = weights.iter().sum::<f64>() + sink;
                for (i, out) in joined[head * WIDTH..][..WIDTH].iter_mut().enumerate() {
                    *out = values.iter().zip(&weights).map(|(v, w)| v[group + i] * w / sum).sum();
                }
            }
            let post_norms = self.gguf.tensor(&name("post_ffw_norm.weight")).is_some();
            let post_norm =
                |tensor: &str, x: Vec<f64>| if post_norms { self.norm(&name(tensor), &x) } else { x };
            let attended = self.linear(&name("attn_output"), &joined, None, HIDDEN);
            let attended = post_norm("post_attention_norm.weight", attended);
            x.iter_mut().zip(attended).for_each(|(x, y)| *x += y);
            let norm = if sinks.is_some() { "post_attention_norm.weight" } else { "ffn_norm.weight" };
            let h = self.norm(&name(norm), x);
            let mixture = self.gguf.tensor(&name("ffn_gate_inp.weight")).is_some();
            let fed = if mixture { self.mixture(block, &h) } else { self.gated(block, "", &h, None) };
            let fed = post_norm("post_ffw_norm.weight", fed);
            x.iter_mut().zip(fed).for_each(|(x, y)| *x += y);
        }
    }

    fn logits(&self) -> Vec<f32> {
        let table = self.tensor("token_embd.weight").unwrap();
        let scale = if self.architecture() == "gemma3" { (HIDDEN as f64).sqrt() } else { 1.0 };
        let row = |token: &i32| {
            table[*token as usize * HIDDEN..][..HIDDEN].iter().map(|x| x * scale).collect::<Vec<f64>>()
        };
        let mut xs: Vec<Vec<f64>> = TOKENS.iter().map(row).collect();
        (0..2).for_each(|block| self.layer(block, &mut xs));
        let head = |x: &Vec<f64>| self.linear("token_embd", &self.norm("output_norm.weight", x), None, VOCAB);
        xs.iter().flat_map(head).map(|x| x as f32).collect()
    }
}

fn agree(file: &File, rotated: usize, scaling: f64) {
    let gguf = file.open();
    let reference = Reference { gguf: &gguf, rotated, scaling }.logits();
    let error = relative_l2(&logits(&gguf, &TOKENS, TOKENS.len()), &reference);
    assert!(error < 1e-6, "{error:e}");
}

#[test]
fn dense() {
    agree(&support::llama(), 16, 1.0);
}

#[test]
fn mixture_of_experts() {
    agree(&support::mixtral(), 16, 1.0);
    agree(&support::qwen3moe(), 16, 1.0);
}

#[test]
fn with_a_window_and_sinks() {
    agree(&support::gpt_oss(), 16, 1.0);
    let mut file = support::gpt_oss();
    file.set("gpt-oss.attention.sliding_window", 4096u32);
    agree(&file, 16, 1.0);
    // Values beyond the bounds of the activation.
    for block in 0..2 {
        for tensor in ["ffn_gate_exps", "ffn_up_exps"] {
            let bias = file.tensor(&format!("blk.{block}.{tensor}.bias"));
            bias.values.iter_mut().for_each(|value| *value *= 100.0);
        }
    }
    agree(&file, 16, 1.0);
}

#[test]
fn with_queries_scaled_by_position() {
    let mut file = support::mistral3();
    file.set("mistral3.rope.scaling.type", "linear");
    agree(&file, 16, 16.0);
    // Without a step within the context, and without the key, there is no scale.
    let plain = |file: &File| file.build().unwrap().segments[1].graph.to_string();
    file.set("mistral3.rope.scaling.original_context_length", 32u32);
    let short = plain(&file);
    file.keys.remove("mistral3.attention.temperature_scale");
    assert_eq!(short, plain(&file));
    assert_ne!(short, plain(&support::mistral3()));
}

#[test]
fn with_norms_after_branches() {
    agree(&support::gemma3(), 16, 8.0);
    let mut file = support::gemma3();
    file.set("gemma3.attention.sliding_window", 4096u32);
    agree(&file, 16, 8.0);
}

#[test]
fn with_normed_heads() {
    agree(&support::qwen3(), 16, 1.0);
    let mut file = support::qwen3();
    file.set("qwen3.rope.dimension_count", 10u32);
    agree(&file, 10, 1.0);
}

#[test]
fn with_biases() {
    let mut file = support::llama();
    for block in 0..2 {
        for (tensor, len) in [
            ("attn_q", 64),
            ("attn_k", 32),
            ("attn_v", 32),
            ("attn_output", 64),
            ("ffn_gate", 96),
            ("ffn_up", 96),
            ("ffn_down", 64),
        ] {
            file.vector(&format!("blk.{block}.{tensor}.bias"), len, 0.0);
        }
    }
    agree(&file, 16, 1.0);
    agree(&support::qwen2(), 16, 1.0);
}

#[test]
fn with_part_of_each_head_rotated() {
    let mut file = support::llama();
    file.set("llama.rope.dimension_count", 6u32);
    agree(&file, 6, 1.0);
}

#[test]
fn with_a_factor_for_each_frequency() {
    let mut file = support::llama();
    file.vector("rope_freqs.weight", 8, 2.0);
    agree(&file, 16, 1.0);
}

#[test]
fn with_frequencies_scaled_by_either_key() {
    for (key, scaling) in [("llama.rope.scaling.factor", 4.0f32), ("llama.rope.scale_linear", 2.0)] {
        let mut file = support::llama();
        file.set(key, scaling);
        agree(&file, 16, f64::from(scaling));
    }
}
