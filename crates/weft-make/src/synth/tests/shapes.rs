//! The shapes of all presets, read from the models that are built from their files.

use std::fmt::Write as _;

use expect_test::expect;
use weft_gguf::Gguf;
use weft_ir::Op;
use weft_models::{BuildOptions, ModelGraph, build};

use crate::synth::preset::PRESETS;
use crate::synth::testing::{options, write, write_header};
use crate::test_folder::TestFolder;

/// The factor that the graphs apply to attention scores.
fn attention_scale(model: &ModelGraph) -> f32 {
    let mut nodes = model.segments.iter().flat_map(|segment| segment.graph.nodes());
    let scale = nodes.find_map(|node| match node.op {
        Op::Attend { scale, .. } => Some(scale),
        _ => None,
    });
    scale.unwrap().0
}

#[test]
fn presets_are_models_of_the_right_shape() {
    let folder = TestFolder::new("synth-shapes");
    let mut text = String::new();
    for preset in PRESETS {
        let path = folder.join(preset.name);
        let options = options(preset.name, 2, "q4_k_m");
        match preset.long_rope {
            None => write_header(&options, &path),
            // The graphs hold the rotary factors, which must not be zero.
            Some(_) => drop(write(&options, &path)),
        }
        let model = build(&Gguf::open(&path).unwrap(), &BuildOptions::default()).unwrap();
        let (config, scale) = (&model.config, attention_scale(&model));
        writeln!(text, "{}: {}, {} tokens, scale {scale}", preset.name, config.architecture, config.vocab)
            .unwrap();
        let mut attention = None;
        for (index, layer) in config.blocks.iter().enumerate() {
            // Most models have one kind in all layers.
            if attention.replace(&layer.attention) != Some(&layer.attention) {
                writeln!(text, "    {}: {}", layer.attention.kind, layer.attention.summary).unwrap();
            }
            let graph = model.segments[1 + index].graph.to_string();
            let router =
                [("sigmoid", "sigmoid"), ("exp", "softmax"), ("max", "normalised"), ("const 1.8", "x 1.8")];
            let summary = &layer.feed_forward.summary;
            let routes = summary.contains(" experts");
            // Streams have exponentials, too.
            let streams = graph.contains("hc_ffn_fn");
            let is = |op: &str| graph.contains(&format!(" = {op} ")) && !(streams && op == "exp");
            let router = router.iter().filter(|(op, _)| routes && is(op));
            let router: String = router.map(|(_, word)| format!(", {word}")).collect();
            writeln!(text, "    {summary}{router}").unwrap();
        }
    }
    expect![[r#"
        glm-4.7-flash: deepseek2, 154880 tokens, scale 0.0625
            latent: 20 heads of 192 + 64, keys and values of rank 512, queries of rank 768
            dense of 10240
            with 4 of 64 experts and 1 shared of 1536, sigmoid, normalised, x 1.8
        deepseek-v2-lite: deepseek2, 102400 tokens, scale 0.11472139
            latent: 16 heads of 128 + 64, keys and values of rank 512
            dense of 10944
            with 6 of 64 experts and 2 shared of 1408, softmax
        llama-3.2-1b: llama, 128256 tokens, scale 0.125
            grouped: 32 heads of 64, 8 of keys and values
            dense of 8192
            dense of 8192
        qwen2.5-0.5b: qwen2, 151936 tokens, scale 0.125
            grouped: 14 heads of 64, 2 of keys and values
            dense of 4864
            dense of 4864
        qwen3-0.6b: qwen3, 151936 tokens, scale 0.088388346
            grouped: 16 heads of 128, 8 of keys and values
            dense of 3072
            dense of 3072
        qwen3-8b: qwen3, 151936 tokens, scale 0.088388346
            grouped: 32 heads of 128, 8 of keys and values
            dense of 12288
            dense of 12288
        qwen3-30b-a3b: qwen3moe, 151936 tokens, scale 0.088388346
            grouped: 32 heads of 128, 4 of keys and values
            with 8 of 128 experts of 768, softmax, normalised
            with 8 of 128 experts of 768, softmax, normalised
        qwen1.5-moe-a2.7b: qwen2moe, 151936 tokens, scale 0.088388346
            grouped: 16 heads of 128, 16 of keys and values
            with 4 of 60 experts of 1408 and a shared one of 5632, sigmoid, softmax
            with 4 of 60 experts of 1408 and a shared one of 5632, sigmoid, softmax
        glm-4.5-air: glm4moe, 151552 tokens, scale 0.088388346
            grouped: 96 heads of 128, 8 of keys and values
            dense of 10944
            with 8 of 128 experts and 1 shared of 1408, sigmoid, normalised
        phi-4: phi3, 100352 tokens, scale 0.088388346
            grouped: 40 heads of 128, 10 of keys and values
            dense of 17920
            dense of 17920
        deepseek-v3: deepseek2, 129280 tokens, scale 0.13523377
            latent: 128 heads of 128 + 64, keys and values of rank 512, queries of rank 1536
            dense of 18432
            dense of 18432
        kimi-k2: deepseek2, 163840 tokens, scale 0.1308608
            latent: 64 heads of 128 + 64, keys and values of rank 512, queries of rank 1536
            dense of 18432
            with 8 of 384 experts and 1 shared of 2048, sigmoid, normalised
        mistral-small-4: mistral4, 131072 tokens, scale 0.19496949
            latent: 32 heads of 64 + 64, keys and values of rank 256, queries of rank 1024
            with 4 of 128 experts and 1 shared of 2048, softmax, normalised
            with 4 of 128 experts and 1 shared of 2048, softmax, normalised
        mixtral-8x7b: llama, 32000 tokens, scale 0.088388346
            grouped: 32 heads of 128, 8 of keys and values
            with 2 of 8 experts of 14336, softmax, normalised
            with 2 of 8 experts of 14336, softmax, normalised
        gpt-oss-20b: gpt-oss, 201088 tokens, scale 0.125
            grouped: 64 heads of 64, 8 of keys and values, over the last 128 positions
            with 4 of 32 experts of 2880, sigmoid, softmax, normalised
            grouped: 64 heads of 64, 8 of keys and values
            with 4 of 32 experts of 2880, sigmoid, softmax, normalised
        gpt-oss-120b: gpt-oss, 201088 tokens, scale 0.125
            grouped: 64 heads of 64, 8 of keys and values, over the last 128 positions
            with 4 of 128 experts of 2880, sigmoid, softmax, normalised
            grouped: 64 heads of 64, 8 of keys and values
            with 4 of 128 experts of 2880, sigmoid, softmax, normalised
        gemma-3-1b: gemma3, 262144 tokens, scale 0.0625
            grouped: 4 heads of 256, 1 of keys and values, over the last 512 positions
            dense of 6912
            dense of 6912
        ministral-3-8b: mistral3, 131072 tokens, scale 0.088388346
            grouped: 32 heads of 128, 8 of keys and values, queries scaled by position
            dense of 14336
            dense of 14336
        qwen3.6-35b-a3b: qwen35moe, 248320 tokens, scale 0.0625
            delta: a gated delta rule of 32 heads of 128, with 16 heads of keys of 128
            with 8 of 256 experts and 1 shared of 512, sigmoid, softmax, normalised
            grouped: 16 heads of 256, 2 of keys and values
            with 8 of 256 experts and 1 shared of 512, sigmoid, softmax, normalised
        qwen3.6-27b: qwen35, 248320 tokens, scale 0.0625
            delta: a gated delta rule of 48 heads of 128, with 16 heads of keys of 128
            dense of 17408
            grouped: 24 heads of 256, 4 of keys and values
            dense of 17408
        qwen3.5-9b: qwen35, 248320 tokens, scale 0.0625
            delta: a gated delta rule of 32 heads of 128, with 16 heads of keys of 128
            dense of 12288
            grouped: 16 heads of 256, 4 of keys and values
            dense of 12288
        qwen3.5-4b: qwen35, 248320 tokens, scale 0.0625
            delta: a gated delta rule of 32 heads of 128, with 16 heads of keys of 128
            dense of 9216
            grouped: 16 heads of 256, 4 of keys and values
            dense of 9216
        qwen3.5-0.8b: qwen35, 248320 tokens, scale 0.0625
            delta: a gated delta rule of 16 heads of 128, with 16 heads of keys of 128
            dense of 3584
            grouped: 8 heads of 256, 2 of keys and values
            dense of 3584
        qwen3-next-80b-a3b: qwen3next, 151936 tokens, scale 0.0625
            delta: a gated delta rule of 32 heads of 128, with 16 heads of keys of 128
            with 10 of 512 experts and 1 shared of 512, sigmoid, softmax, normalised
            grouped: 16 heads of 256, 2 of keys and values
            with 10 of 512 experts and 1 shared of 512, sigmoid, softmax, normalised
        kimi-linear-48b-a3b: kimi-linear, 163840 tokens, scale 0.07216878
            delta: a delta rule with a decay for each channel of 32 heads of 128
            dense of 9216
            latent: 32 heads of 128 + 64, keys and values of rank 512
            with 8 of 256 experts and 1 shared of 1024, sigmoid, normalised
        ling-3.0-tiny: bailingmoe3, 157184 tokens, scale 0.07216878
            delta: a delta rule with a decay for each channel of 16 heads of 128
            dense of 4608
            latent: 16 heads of 128 + 64, keys and values of rank 512, queries of rank 256
            with 8 of 128 experts and 1 shared of 512, sigmoid, normalised
        gemma-4-e2b: gemma4, 262144 tokens, scale 1
            grouped: 8 heads of 256, 1 of keys and values, over the last 512 positions
            dense of 6144
            grouped: 8 heads of 512, 1 of keys and values
            dense of 6144
        gemma-4-e4b: gemma4, 262144 tokens, scale 1
            grouped: 8 heads of 256, 2 of keys and values, over the last 512 positions
            dense of 10240
            grouped: 8 heads of 512, 2 of keys and values
            dense of 10240
        gemma-4-12b: gemma4, 262144 tokens, scale 1
            grouped: 16 heads of 256, 8 of keys and values, over the last 1024 positions
            dense of 15360
            grouped: 16 heads of 512, 1 of keys and values
            dense of 15360
        gemma-4-26b-a4b: gemma4, 262144 tokens, scale 1
            grouped: 16 heads of 256, 8 of keys and values, over the last 1024 positions
            dense of 2112 and with 8 of 128 experts of 704, sigmoid, softmax, normalised
            grouped: 16 heads of 512, 2 of keys and values
            dense of 2112 and with 8 of 128 experts of 704, sigmoid, softmax, normalised
        gemma-4-31b: gemma4, 262144 tokens, scale 1
            grouped: 32 heads of 256, 16 of keys and values, over the last 1024 positions
            dense of 21504
            grouped: 32 heads of 512, 4 of keys and values
            dense of 21504
        seed-oss-36b: seed_oss, 155136 tokens, scale 0.088388346
            grouped: 80 heads of 128, 8 of keys and values
            dense of 27648
            dense of 27648
        ernie-4.5-0.3b: ernie4_5, 103424 tokens, scale 0.088388346
            grouped: 16 heads of 128, 2 of keys and values
            dense of 3072
            dense of 3072
        ernie-4.5-21b-a3b: ernie4_5-moe, 103424 tokens, scale 0.088388346
            grouped: 20 heads of 128, 4 of keys and values
            dense of 12288
            with 6 of 64 experts and 2 shared of 1536, softmax, normalised
        minimax-m2: minimax-m2, 200064 tokens, scale 0.088388346
            grouped: 48 heads of 128, 8 of keys and values
            with 8 of 256 experts of 1536, sigmoid, normalised
            with 8 of 256 experts of 1536, sigmoid, normalised
        hunyuan-7b: hunyuan-dense, 128167 tokens, scale 0.088388346
            grouped: 32 heads of 128, 8 of keys and values
            dense of 14336
            dense of 14336
        hunyuan-a13b: hunyuan-moe, 128167 tokens, scale 0.088388346
            grouped: 32 heads of 128, 8 of keys and values
            with 8 of 64 experts and 1 shared of 3072, softmax, normalised
            with 8 of 64 experts and 1 shared of 3072, softmax, normalised
        smollm3-3b: smollm3, 128256 tokens, scale 0.088388346
            grouped: 16 heads of 128, 4 of keys and values
            dense of 11008
            dense of 11008
        olmo-3-7b: olmo2, 100278 tokens, scale 0.088388346
            grouped: 32 heads of 128, 32 of keys and values, over the last 4096 positions
            dense of 11008
            grouped: 32 heads of 128, 32 of keys and values
            dense of 11008
        exaone-4.0-1.2b: exaone4, 102400 tokens, scale 0.125
            grouped: 32 heads of 64, 8 of keys and values
            dense of 4096
            dense of 4096
        granite-3.3-8b: granite, 49159 tokens, scale 0.0078125
            grouped: 32 heads of 128, 8 of keys and values
            dense of 12800
            dense of 12800
        granite-3.1-3b-a800m: granitemoe, 49155 tokens, scale 0.015625
            grouped: 24 heads of 64, 8 of keys and values
            with 8 of 40 experts of 512, softmax, normalised
            with 8 of 40 experts of 512, softmax, normalised
        glm-4-9b-0414: glm4, 151552 tokens, scale 0.088388346
            grouped: 32 heads of 128, 2 of keys and values
            dense of 13696
            dense of 13696
        command-r7b: cohere2, 256000 tokens, scale 0.088388346
            grouped: 32 heads of 128, 8 of keys and values, over the last 4096 positions
            dense of 14336
            dense of 14336
        command-r-35b: command-r, 256000 tokens, scale 0.088388346
            grouped: 64 heads of 128, 64 of keys and values
            dense of 22528
            dense of 22528
        deepseek-v3.2: deepseek32, 129280 tokens, scale 0.13523377
            latent: 128 heads of 128 + 64, keys and values of rank 512, queries of rank 1536, 2048 positions chosen by 64 heads of 128
            dense of 18432
            dense of 18432
        glm-5: glm-dsa, 154880 tokens, scale 0.0625
            latent: 64 heads of 192 + 64, keys and values of rank 512, queries of rank 2048, 2048 positions chosen by 32 heads of 128
            dense of 12288
            dense of 12288
        glm-5.2: glm-dsa, 154880 tokens, scale 0.0625
            latent: 64 heads of 192 + 64, keys and values of rank 512, queries of rank 2048, 2048 positions chosen by 32 heads of 128
            dense of 12288
            dense of 12288
        glm-5.3-flash: glm5-next, 154880 tokens, scale 0.0625
            delta: a delta rule with a decay for each channel of 64 heads of 128
            dense of 12288
            latent: 64 heads of 256, keys and values of rank 512, queries of rank 1536, 2048 positions chosen in pools of 4 by 32 heads of 128
            dense of 12288
        tiny: deepseek2, 2048 tokens, scale 0.10206208
            latent: 4 heads of 64 + 32, keys and values of rank 256, queries of rank 256
            dense of 1024
            with 4 of 16 experts and 1 shared of 256, sigmoid, normalised, x 1.8
        llama-tiny: llama, 768 tokens, scale 0.17677669
            grouped: 8 heads of 32, 2 of keys and values
            dense of 512
            dense of 512
        mixtral-tiny: llama, 768 tokens, scale 0.17677669
            grouped: 8 heads of 32, 2 of keys and values
            with 2 of 8 experts of 96, softmax, normalised
            with 2 of 8 experts of 96, softmax, normalised
        qwen2-tiny: qwen2, 1024 tokens, scale 0.17677669
            grouped: 10 heads of 32, 2 of keys and values
            dense of 672
            dense of 672
        qwen3-tiny: qwen3, 1024 tokens, scale 0.125
            grouped: 6 heads of 64, 2 of keys and values
            dense of 640
            dense of 640
        qwen3moe-tiny: qwen3moe, 1024 tokens, scale 0.17677669
            grouped: 8 heads of 32, 2 of keys and values
            with 3 of 12 experts of 64, softmax, normalised
            with 3 of 12 experts of 64, softmax, normalised
        qwen2moe-tiny: qwen2moe, 576 tokens, scale 0.17677669
            grouped: 4 heads of 32, 4 of keys and values
            with 2 of 6 experts of 64 and a shared one of 96, sigmoid, softmax
            with 2 of 6 experts of 64 and a shared one of 96, sigmoid, softmax
        glm4moe-tiny: glm4moe, 384 tokens, scale 0.17677669
            grouped: 6 heads of 32, 2 of keys and values
            dense of 160
            with 2 of 6 experts and 1 shared of 64, sigmoid, normalised, x 1.8
        phi4-tiny: phi3, 384 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 224
            dense of 224
        ds3-tiny: deepseek2, 384 tokens, scale 0.23423177
            latent: 4 heads of 32 + 32, keys and values of rank 64, queries of rank 64
            dense of 160
            with 3 of 12 experts and 1 shared of 32, sigmoid, normalised
        mistral4-tiny: mistral4, 320 tokens, scale 0.23423177
            latent: 2 heads of 32 + 32, keys and values of rank 64, queries of rank 32
            with 2 of 6 experts and 1 shared of 32, softmax, normalised
            with 2 of 6 experts and 1 shared of 32, softmax, normalised
        gpt-oss-tiny: gpt-oss, 1536 tokens, scale 0.17677669
            grouped: 6 heads of 32, 2 of keys and values, over the last 12 positions
            with 3 of 8 experts of 96, sigmoid, softmax, normalised
            grouped: 6 heads of 32, 2 of keys and values
            with 3 of 8 experts of 96, sigmoid, softmax, normalised
        gemma3-tiny: gemma3, 512 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values, over the last 12 positions
            dense of 224
            dense of 224
        ministral-tiny: mistral3, 512 tokens, scale 0.17677669
            grouped: 6 heads of 32, 2 of keys and values, queries scaled by position
            dense of 256
            dense of 256
        qwen35moe-tiny: qwen35moe, 576 tokens, scale 0.125
            delta: a gated delta rule of 4 heads of 128, with 2 heads of keys of 128
            with 2 of 6 experts and 1 shared of 64, sigmoid, softmax, normalised
            grouped: 2 heads of 64, 1 of keys and values
            with 2 of 6 experts and 1 shared of 64, sigmoid, softmax, normalised
        qwen35-tiny: qwen35, 576 tokens, scale 0.125
            delta: a gated delta rule of 6 heads of 128, with 2 heads of keys of 128
            dense of 256
            grouped: 2 heads of 64, 1 of keys and values
            dense of 256
        qwen3next-tiny: qwen3next, 576 tokens, scale 0.125
            delta: a gated delta rule of 4 heads of 128, with 2 heads of keys of 128
            with 2 of 6 experts and 1 shared of 64, sigmoid, softmax, normalised
            grouped: 2 heads of 64, 1 of keys and values
            with 2 of 6 experts and 1 shared of 64, sigmoid, softmax, normalised
        kimi-linear-tiny: kimi-linear, 320 tokens, scale 0.125
            delta: a delta rule with a decay for each channel of 2 heads of 128
            dense of 96
            latent: 2 heads of 32 + 32, keys and values of rank 64
            with 2 of 6 experts and 1 shared of 32, sigmoid, normalised
        ling-tiny: bailingmoe3, 320 tokens, scale 0.125
            delta: a delta rule with a decay for each channel of 2 heads of 128
            dense of 96
            latent: 2 heads of 32 + 32, keys and values of rank 64, queries of rank 32
            with 2 of 6 experts and 1 shared of 32, sigmoid, normalised
        gemma4-tiny: gemma4, 373 tokens, scale 1
            grouped: 2 heads of 256, 2 of keys and values, over the last 12 positions
            dense of 64 and with 2 of 6 experts of 32, sigmoid, softmax, normalised
            grouped: 2 heads of 512, 1 of keys and values
            dense of 64 and with 2 of 6 experts of 32, sigmoid, softmax, normalised
        seed-oss-tiny: seed_oss, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 96
            dense of 96
        ernie4_5-moe-tiny: ernie4_5-moe, 384 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 96
            with 2 of 6 experts and 2 shared of 32, softmax, normalised
        minimax-m2-tiny: minimax-m2, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            with 2 of 6 experts of 64, sigmoid, normalised
            with 2 of 6 experts of 64, sigmoid, normalised
        hunyuan-moe-tiny: hunyuan-moe, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            with 2 of 6 experts and 1 shared of 64, softmax, normalised
            with 2 of 6 experts and 1 shared of 64, softmax, normalised
        smollm3-tiny: smollm3, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 96
            dense of 96
        olmo2-tiny: olmo2, 320 tokens, scale 0.17677669
            grouped: 2 heads of 32, 2 of keys and values
            dense of 96
            dense of 96
        exaone4-tiny: exaone4, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 160
            dense of 160
        granitemoe-tiny: granitemoe, 320 tokens, scale 0.03125
            grouped: 4 heads of 32, 2 of keys and values
            with 2 of 6 experts and 1 shared of 64, softmax, normalised
            with 2 of 6 experts and 1 shared of 64, softmax, normalised
        glm4-tiny: glm4, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 96
            dense of 96
        muse-glimmer-tiny: muse-glimmer, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values, over the last 12 positions
            dense of 96
            grouped: 4 heads of 32, 2 of keys and values, without positions
            dense of 96
        cohere2-tiny: cohere2, 320 tokens, scale 0.17677669
            grouped: 2 heads of 32, 1 of keys and values, over the last 12 positions
            dense of 96
            dense of 96
        cohere2moe-tiny: cohere2moe, 320 tokens, scale 0.17677669
            grouped: 4 heads of 32, 2 of keys and values
            dense of 96
            grouped: 4 heads of 32, 2 of keys and values, over the last 12 positions
            with 2 of 6 experts and 1 shared of 32, sigmoid, normalised
        deepseek32-tiny: deepseek32, 320 tokens, scale 0.23423177
            latent: 4 heads of 32 + 32, keys and values of rank 64, queries of rank 64, 16 positions chosen by 13 heads of 64
            dense of 160
            with 2 of 8 experts and 1 shared of 32, sigmoid, normalised
        glm-dsa-tiny: glm-dsa, 320 tokens, scale 0.125
            latent: 3 heads of 32 + 32, keys and values of rank 64, queries of rank 64, 12 positions chosen by 13 heads of 64
            dense of 96
            with 2 of 6 experts and 1 shared of 32, sigmoid, normalised
        glm5-next-tiny: glm5-next, 320 tokens, scale 0.17677669
            delta: a delta rule with a decay for each channel of 2 heads of 128
            dense of 96
            latent: 2 heads of 32, keys and values of rank 64, queries of rank 32, 16 positions chosen in pools of 4 by 13 heads of 32
            with 2 of 6 experts and 1 shared of 32, sigmoid, normalised
        qwen2-odd: qwen2, 576 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        qwen3-odd: qwen3, 576 tokens, scale 0.17677669
            grouped: 5 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        qwen3moe-odd: qwen3moe, 576 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values
            with 2 of 5 experts of 32, softmax, normalised
            with 2 of 5 experts of 32, softmax, normalised
        qwen2moe-odd: qwen2moe, 576 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            with 2 of 5 experts of 32 and a shared one of 96, sigmoid, softmax
            with 2 of 5 experts of 32 and a shared one of 96, sigmoid, softmax
        glm4moe-odd: glm4moe, 352 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values
            dense of 160
            with 2 of 5 experts and 2 shared of 32, sigmoid, normalised
        phi4-odd: phi3, 384 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 224
            dense of 224
        ds3-odd: deepseek2, 352 tokens, scale 0.125
            latent: 3 heads of 32 + 32, keys and values of rank 64, queries of rank 64
            dense of 96
            with 3 of 9 experts and 1 shared of 32, sigmoid, normalised
        mistral-odd: llama, 416 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        gpt-oss-odd: gpt-oss, 384 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values, over the last 7 positions
            with 2 of 5 experts of 32, sigmoid, softmax, normalised
            grouped: 3 heads of 64, 1 of keys and values
            with 2 of 5 experts of 32, sigmoid, softmax, normalised
        gemma3-odd: gemma3, 416 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values, over the last 7 positions
            dense of 160
            dense of 160
        ministral-odd: mistral3, 416 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values, queries scaled by position
            dense of 160
            dense of 160
        qwen35moe-odd: qwen35moe, 557 tokens, scale 0.125
            delta: a gated delta rule of 6 heads of 128, with 2 heads of keys of 128
            with 2 of 5 experts and 1 shared of 32, sigmoid, softmax, normalised
            grouped: 3 heads of 64, 1 of keys and values
            with 2 of 5 experts and 1 shared of 32, sigmoid, softmax, normalised
        qwen35-odd: qwen35, 557 tokens, scale 0.125
            delta: a gated delta rule of 6 heads of 128, with 2 heads of keys of 128
            dense of 160
            grouped: 3 heads of 64, 1 of keys and values
            dense of 160
        kimi-linear-odd: kimi-linear, 307 tokens, scale 0.13363062
            delta: a delta rule with a decay for each channel of 3 heads of 40
            dense of 96
            latent: 3 heads of 24 + 32, keys and values of rank 32
            with 2 of 5 experts and 2 shared of 32, sigmoid, normalised
        ling-odd: bailingmoe3, 305 tokens, scale 0.13867505
            delta: a delta rule with a decay for each channel of 5 heads of 24
            dense of 96
            latent: 5 heads of 20 + 32, keys and values of rank 32
            with 3 of 6 experts and 2 shared of 32, sigmoid, normalised
        gemma4-odd: gemma4, 379 tokens, scale 1
            grouped: 3 heads of 32, 1 of keys and values, over the last 7 positions
            dense of 64
            grouped: 3 heads of 64, 3 of keys and values
            dense of 64
        seed-oss-odd: seed_oss, 307 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values
            dense of 160
            dense of 160
        ernie4_5-odd: ernie4_5, 389 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        minimax-m2-odd: minimax-m2, 307 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values
            with 3 of 5 experts of 32, sigmoid, normalised
            with 3 of 5 experts of 32, sigmoid, normalised
        hunyuan-dense-odd: hunyuan-dense, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        smollm3-odd: smollm3, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 96
            dense of 96
        olmo2-odd: olmo2, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values, over the last 7 positions
            dense of 160
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
        exaone4-odd: exaone4, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        granite-odd: granite, 307 tokens, scale 0.03125
            grouped: 3 heads of 32, 1 of keys and values
            dense of 160
            dense of 160
        glm4-odd: glm4, 307 tokens, scale 0.125
            grouped: 3 heads of 64, 1 of keys and values
            dense of 160
            dense of 160
        muse-glimmer-odd: muse-glimmer, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values, over the last 7 positions
            dense of 96
            grouped: 3 heads of 32, 1 of keys and values, without positions
            dense of 96
        command-r-odd: command-r, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 3 of keys and values
            dense of 160
            dense of 160
        cohere2moe-odd: cohere2moe, 307 tokens, scale 0.17677669
            grouped: 3 heads of 32, 1 of keys and values
            dense of 96
            grouped: 3 heads of 32, 1 of keys and values, over the last 7 positions
            dense of 96
        deepseek32-odd: deepseek32, 307 tokens, scale 0.13363062
            latent: 3 heads of 24 + 32, keys and values of rank 32, queries of rank 64, 9 positions chosen by 11 heads of 128
            dense of 96
            with 2 of 5 experts and 1 shared of 32, sigmoid, normalised
        glm-dsa-odd: glm-dsa, 305 tokens, scale 0.13867505
            latent: 5 heads of 20 + 32, keys and values of rank 64, queries of rank 32, 5 positions chosen by 7 heads of 64
            dense of 96
            with 3 of 6 experts and 2 shared of 32, sigmoid, normalised
        glm5-next-odd: glm5next, 307 tokens, scale 0.20412415
            delta: a delta rule with a decay for each channel of 3 heads of 40
            dense of 96
            latent: 3 heads of 24, keys and values of rank 32, queries of rank 32, 10 positions chosen in pools of 2 by 11 heads of 64
            with 2 of 5 experts and 2 shared of 32, sigmoid, normalised
    "#]]
    .assert_eq(&text);
}
