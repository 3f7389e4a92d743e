//! Models with linear attention: where their tensors are, what they leave out, 8-bit weights, and what is
//! refused.

use std::fs;

use serde_json::{Value as Json, json};
use weft_convert::Conversion;

use crate::fixtures::listing;
use crate::support::{Copy, changed};
use crate::weights;

/// Writes the weights of a copy anew, after a change of each line that lists them: none of it leaves a tensor
/// out.
fn rewrite(copy: &Copy, change: impl Fn(&str) -> Vec<String>) {
    let listed = fs::read_to_string(copy.path("weights.txt")).unwrap();
    let lines: Vec<String> = listed.lines().flat_map(change).collect();
    fs::write(copy.path("weights.txt"), lines.join("\n")).unwrap();
    weights::write(&copy.0);
}

/// The values of a tensor of 8 bits. `factor` is the index of the factor that multiplies each, of `factors`.
fn eight_bits(name: &str, count: usize, factors: usize, factor: impl Fn(usize) -> usize) -> Vec<f32> {
    let bytes = weights::hashed(name).map(|bits| (bits ^ bits >> 8) as u8 & 0xbf);
    let factors: Vec<f32> = weights::hashed(&format!("{name}_scale_inv"))
        .take(factors)
        .map(|bits| f32::from_bits(u32::from(bits) << 16))
        .collect();
    let value = |(at, byte): (usize, u8)| {
        let (exponent, mantissa) = (i32::from(byte >> 3 & 15), f32::from(byte & 7) / 8.0);
        let size = match exponent {
            0 => mantissa * 2f32.powi(-6),
            _ => (1.0 + mantissa) * 2f32.powi(exponent - 7),
        };
        let sign = if byte < 128 { 1.0 } else { -1.0 };
        sign * size * factors[factor(at)]
    };
    bytes.take(count).enumerate().map(value).collect()
}

fn refusal(copy: &Copy) -> String {
    Conversion::open(&copy.0).unwrap_err().to_string()
}

/// Versions of `transformers` differ in where the text's part of a model is.
#[test]
fn tensors_of_a_part_have_several_names() {
    let copy = Copy::of("qwen35");
    let expected = listing(&Conversion::open(&copy.0).unwrap());
    let names = [
        ("model.language_model.", "language_model.model."),
        ("mtp.", "model.mtp."),
        ("model.visual.", "visual."),
    ];
    copy.edit_header("model.safetensors", |header| {
        let all = std::mem::take(header.as_object_mut().unwrap());
        let renamed = |name: &String| {
            let (old, new) = *names.iter().find(|(old, _)| name.starts_with(old)).unwrap();
            name.replacen(old, new, 1)
        };
        *header = all.iter().map(|(name, value)| (renamed(name), value.clone())).collect();
    });
    assert_eq!(listing(&Conversion::open(&copy.0).unwrap()), expected);
}

/// A model that was trained further often has no layer for multi-token prediction, though its configuration
/// says so.
#[test]
fn a_layer_for_multi_token_prediction_that_is_not_there() {
    let copy = Copy::of("qwen35-moe");
    let whole = listing(&Conversion::open(&copy.0).unwrap());
    rewrite(&copy, |line| if line.starts_with("mtp.") { vec![] } else { vec![line.into()] });
    let found = listing(&Conversion::open(&copy.0).unwrap());
    let more: Vec<&String> = whole.keys().filter(|key| !found.contains_key(*key)).collect();
    assert!(more.iter().all(|key| key.starts_with("blk.3.") || key.ends_with(".nextn_predict_layers")));
    assert_eq!(found["qwen35moe.block_count"].1, 3);
    assert_eq!(found["qwen35moe.attention.recurrent_layers"].1, json!([true, true, false]));
    // One that is there in part.
    let copy = Copy::of("qwen35-moe");
    rewrite(&copy, |line| if line.starts_with("mtp.norm") { vec![] } else { vec![line.into()] });
    assert!(refusal(&copy).contains("tensor `mtp.norm.weight` is missing"), "{}", refusal(&copy));
}

#[test]
fn layers_by_their_interval() {
    let copy = Copy::of("qwen35");
    let mut expected = listing(&Conversion::open(&copy.0).unwrap());
    copy.edit("config.json", |config| {
        config["text_config"]["layer_types"] = Json::Null;
        config["text_config"]["full_attention_interval"] = json!(3);
    });
    expected.get_mut("qwen35.full_attention_interval").unwrap().1 = json!(3);
    assert_eq!(listing(&Conversion::open(&copy.0).unwrap()), expected);
}

/// The heads of values change places after the factors of 8-bit weights are applied, which are not put in
/// order.
#[test]
fn eight_bit_weights_in_another_order() {
    let copy = Copy::of("qwen35");
    let stem = "model.language_model.layers.1.linear_attn";
    let [out, gate] = ["out_proj", "in_proj_z"].map(|name| format!("{stem}.{name}.weight"));
    rewrite(&copy, |line| {
        let name = line.split(' ').next().unwrap();
        // 48 rows of 48 columns, in blocks of 32 rows and 16 columns.
        match [&out, &gate].contains(&&name.to_owned()) {
            true => vec![format!("{name} F8_E4M3 48x48"), format!("{name}_scale_inv BF16 2x3")],
            false => vec![line.into()],
        }
    });
    copy.edit("config.json", |config| {
        config["quantization_config"] = json!({ "quant_method": "fp8", "weight_block_size": [32, 16] });
    });
    let found = Conversion::open(&copy.0).unwrap();
    let values = |name: &str| {
        let tensor = found.tensors().iter().find(|tensor| tensor.name == name).unwrap();
        assert_eq!(tensor.shape, [48, 48]);
        found.values(tensor, 0..48 * 48)
    };
    // Blocks of 32 rows and 16 columns.
    let stored = |name: &str| eight_bits(name, 48 * 48, 6, |at| at / 48 / 32 * 3 + at % 48 / 16);
    // Two heads of keys, three of values for each, of 8 values: which stored one is at a place.
    let place = |at: usize| (at / 8 % 2 * 3 + at / 16) * 8 + at % 8;
    let (stored_out, stored_gate) = (stored(&out), stored(&gate));
    let (out, gate) = (values("blk.1.ssm_out.weight"), values("blk.1.attn_gate.weight"));
    for (row, column) in (0..48).flat_map(|row| (0..48).map(move |column| (row, column))) {
        assert_eq!(out[row * 48 + column], stored_out[row * 48 + place(column)], "{row} {column}");
        assert_eq!(gate[row * 48 + column], stored_gate[place(row) * 48 + column], "{row} {column}");
    }
}

#[test]
fn qwen_that_readers_do_not_compute() {
    let moe = |key: &str, value: Json, expected: &str| changed("qwen35-moe", key, value, expected);
    moe(
        "linear_value_head_dim",
        json!(16),
        "`linear_value_head_dim` is 16; expected 8, as `linear_key_head_dim`",
    );
    moe(
        "linear_num_key_heads",
        json!(4),
        "6 heads of values cannot share 4 heads of keys in linear attention",
    );
    moe("linear_num_value_heads", json!(4), "by config.json it should be");
    moe("linear_num_key_heads", json!(0), "`linear_num_key_heads` is 0; expected an integer from 1");
    moe("linear_conv_kernel_dim", json!(3), "by config.json it should be [80, 1, 3]");
    moe("attn_output_gate", json!(false), "`attn_output_gate` is false; expected true");
    moe("mtp_num_hidden_layers", json!(2), "`mtp_num_hidden_layers` is 2; expected 0 or 1");
    moe("norm_topk_prob", json!(false), "`norm_topk_prob` is false; expected true");
    moe("decoder_sparse_step", json!(2), "`decoder_sparse_step` is 2; expected 1");
    moe("mlp_only_layers", json!([1]), "`mlp_only_layers` is [1]; expected none");
    moe("hidden_act", json!("gelu"), "`hidden_act` is \"gelu\"; expected \"silu\"");
    moe("rope_parameters", json!({ "rope_type": "llama3" }), "`rope_parameters.rope_type` is \"llama3\"");
    for sections in [json!([]), json!([1, 1, 1, 1, 1]), json!([-1, 1]), json!(["a"])] {
        let expected = "expected a list of up to 4 counts";
        moe("rope_parameters", json!({ "mrope_section": sections }), expected);
    }
    let types = "expected a list of 3, each linear_attention or full_attention";
    for found in [json!(["linear_attention", "full_attention"]), json!(vec!["sliding_attention"; 3])] {
        moe("layer_types", found, types);
    }
    moe("layer_types", json!(vec!["full_attention"; 3]), "layers.0.self_attn.q_proj.weight` is missing");
    moe("full_attention_interval", json!(0), "`full_attention_interval` is 0; expected an integer from 1");
    // A bias that the family does not have.
    let copy = Copy::of("qwen3-next");
    rewrite(&copy, |line| match line.starts_with("model.norm") {
        true => vec![line.into(), "model.layers.3.self_attn.q_proj.bias BF16 384".into()],
        false => vec![line.into()],
    });
    assert!(
        refusal(&copy).contains("self_attn.q_proj.bias` is none that a model of the family `qwen3next` has")
    );
}

/// Versions of the weights differ in the shapes of short convolutions and decays, files do not.
#[test]
fn convolutions_and_decays_in_other_shapes() {
    for (name, decays) in [("kimi-linear", "3"), ("ling3", "1x1x3x1")] {
        let copy = Copy::of(name);
        let expected = listing(&Conversion::open(&copy.0).unwrap());
        rewrite(&copy, |line| {
            let [stored, dtype, shape] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let shape = match stored.rsplit_once('.').unwrap() {
                (_, "A_log") => decays,
                _ if stored.contains("conv1d") => "48x4",
                _ => shape,
            };
            vec![format!("{stored} {dtype} {shape}")]
        });
        let found = listing(&Conversion::open(&copy.0).unwrap());
        let differs = expected.iter().find(|(key, value)| found.get(*key) != Some(value));
        assert!(differs.is_none() && found.len() == expected.len(), "{name}: {differs:?}");
    }
}

/// Kimi's special tokens are those after the ranked ones, 256 at most.
#[test]
fn tokens_of_kimi_that_have_no_name() {
    let copy = Copy::of("kimi-linear");
    let ranked = fs::read_to_string(copy.path("tiktoken.model")).unwrap().lines().count();
    let all = ranked + 256 + 2;
    copy.edit("config.json", |config| config["vocab_size"] = json!(all));
    rewrite(&copy, |line| vec![line.replace("304x48", &format!("{all}x48"))]);
    let found = Conversion::open(&copy.0).unwrap();
    let tokens = found.metadata().strings("tokenizer.ggml.tokens").unwrap().unwrap();
    let text = |id: usize| String::from_utf8_lossy(tokens.iter().nth(id).unwrap()).into_owned();
    assert_eq!([text(ranked), text(ranked + 3)], ["[BOS]", "<|im_end|>"]);
    let last = [text(ranked + 255), text(ranked + 256)];
    assert_eq!(last, [format!("<|reserved_token_{}|>", ranked + 255), format!("[PAD{}]", ranked + 256)]);
    let refused = |change: &dyn Fn(&Copy), expected: &str| {
        let copy = Copy::of("kimi-linear");
        change(&copy);
        assert!(refusal(&copy).contains(expected), "{}", refusal(&copy));
    };
    let edit = |copy: &Copy| copy.edit("config.json", |config| config["vocab_size"] = json!(ranked - 1));
    let expected = format!("it has {ranked} tokens, but config.json has a `vocab_size` of {}", ranked - 1);
    refused(
        &|copy| {
            edit(copy);
            rewrite(copy, |line| vec![line.replace("304x48", &format!("{}x48", ranked - 1))]);
        },
        &expected,
    );
    refused(
        &|copy| fs::write(copy.path("tiktoken.model"), "YQ== x").unwrap(),
        "tiktoken.model: line 1 is not a token",
    );
    refused(
        &|copy| copy.edit("tokenizer_config.json", |json| json["added_tokens_decoder"]["a"] = json!({})),
        "`added_tokens_decoder.a` is {}; expected an added token with `content`",
    );
    // A ranked tokenizer of another model splits text as another program does.
    let copy = Copy::of("llama");
    fs::remove_file(copy.path("tokenizer.json")).unwrap();
    fs::write(copy.path("tiktoken.model"), "YQ== 0").unwrap();
    assert!(refusal(&copy).contains("tiktoken.model: a program splits the text"), "{}", refusal(&copy));
}

#[test]
fn kimi_that_readers_do_not_compute() {
    let kimi = |key: &str, value: Json, expected: &str| changed("kimi-linear", key, value, expected);
    kimi("mla_use_nope", json!(false), "`mla_use_nope` is false; expected true");
    kimi("moe_renormalize", json!(false), "`moe_renormalize` is false; expected true");
    kimi("moe_layer_freq", json!(2), "`moe_layer_freq` is 2; expected 1");
    kimi("num_expert_group", json!(2), "`num_expert_group` is 2; expected 1");
    kimi("num_nextn_predict_layers", json!(1), "`num_nextn_predict_layers` is 1; expected 0");
    kimi("moe_router_activation_func", json!("relu"), "`moe_router_activation_func` is \"relu\"");
    kimi("q_lora_rank", json!(20), "`q_lora_rank` is 20; expected null");
    kimi(
        "rope_scaling",
        json!({ "type": "yarn" }),
        "`rope_scaling.type` is \"yarn\"; expected one of default",
    );
    kimi("linear_attn_config", Json::Null, "`linear_attn_config` is missing");
    let linear = |key: &str, value: Json, expected: &str| {
        let mut keys = json!({
            "full_attn_layers": [3], "kda_layers": [1, 2], "head_dim": 16, "num_heads": 3, "short_conv_kernel_size": 4,
        });
        keys[key] = value;
        kimi("linear_attn_config", keys, expected);
    };
    linear(
        "num_heads",
        json!(6),
        "`linear_attn_config.num_heads` is 6; expected 3, as `num_attention_heads`",
    );
    linear("head_dim", json!(0), "`linear_attn_config.head_dim` is 0; expected an integer from 1");
    linear("full_attn_layers", Json::Null, "`linear_attn_config.full_attn_layers` is missing");
    for layers in [json!([0]), json!([4]), json!(["a"]), json!([-1])] {
        linear("full_attn_layers", layers, "expected a list of layers, from 1 to 3");
    }
    linear("kda_layers", json!([1, 2, 3]), "expected all layers that `full_attn_layers` does not name");
    linear("kda_layers", json!([1]), "expected all layers that `full_attn_layers` does not name");
    linear("short_conv_kernel_size", json!(3), "by config.json it should be [48, 1, 3]");
}

#[test]
fn ling_that_readers_do_not_compute() {
    let ling = |key: &str, value: Json, expected: &str| changed("ling3", key, value, expected);
    ling("no_kda_lora", json!(false), "`no_kda_lora` is false; expected true");
    ling("kda_safe_gate", json!(false), "`kda_safe_gate` is false; expected true");
    let key = "gated_attention_proj_granularity_type";
    ling(key, json!("element_wise"), "granularity_type` is \"element_wise\"; expected \"head_wise\"");
    ling(key, Json::Null, "granularity_type` is missing");
    ling("rope_interleave", json!(false), "`rope_interleave` is false; expected true");
    ling("kda_lower_bound", json!(0.0), "`kda_lower_bound` is 0.0; expected a number below zero");
    ling("num_nextn_predict_layers", json!(2), "`num_nextn_predict_layers` is 2; expected 0 or 1");
    ling("layer_group_size", json!(0), "`layer_group_size` is 0; expected an integer from 1");
    ling("expert_swiglu_limit_list", json!(["a"]), "expected a list with a number or null for each layer");
    ling("score_function", json!("sqrtsoftplus"), "`score_function` is \"sqrtsoftplus\"");
    ling("vision_config", json!({}), "`mrope_section` is missing");
    for sections in [json!([1, 1, 1]), json!([2, 2, "a"]), json!([-1, 3, 2])] {
        ling("mrope_section", sections, "expected three counts whose sum is 4, half of `qk_rope_head_dim`");
    }
}

/// The text's part of Ling that sees has sections, for which readers rotate other pairs.
#[test]
fn ling_that_sees() {
    let copy = Copy::of("ling3");
    let mut expected = listing(&Conversion::open(&copy.0).unwrap());
    copy.edit("config.json", |config| {
        let mut text = config.take();
        text["mrope_section"] = json!([2, 1, 1]);
        let end = text.as_object_mut().unwrap().remove("eos_token_id");
        let name = "BailingMoeV3VLForConditionalGeneration";
        *config =
            json!({ "architectures": [name], "text_config": text, "vision_config": {}, "eos_token_id": end });
    });
    rewrite(&copy, |line| match line.starts_with("model.norm") {
        true => vec![line.into(), "model.visual.a BF16 2".into(), "linear_proj.0.weight BF16 2".into()],
        false => vec![line.into()],
    });
    let sections = ("array int32".to_owned(), json!([2, 1, 1, 0]));
    expected.insert("bailingmoe3.rope.dimension_sections".into(), sections);
    assert_eq!(listing(&Conversion::open(&copy.0).unwrap()), expected);
}

/// Mistral's 8-bit weights have a factor for each matrix, and others for inputs, which are left out.
#[test]
fn eight_bit_weights_with_a_factor_for_each_matrix() {
    let layer = "language_model.model.layers.1";
    let (output, experts) =
        (format!("{layer}.self_attn.o_proj.weight"), format!("{layer}.mlp.experts.gate_up_proj"));
    let quantised = |scale: &str, experts_scale: &str, block: Json| {
        let copy = Copy::of("mistral4");
        rewrite(&copy, |line| {
            let [name, _, shape] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let [scale, activation] = match name {
                _ if *name == output => [scale, "output_scale F32 1"].map(str::to_owned),
                _ if *name == experts => {
                    [experts_scale, "gate_up_proj_activation_scale F32 4"].map(str::to_owned)
                }
                _ => return vec![line.into()],
            };
            let stem = name.rsplit_once('.').unwrap().0;
            let activation = activation.replace("output_scale", "activation_scale");
            vec![
                format!("{name} F8_E4M3 {shape}"),
                format!("{name}_scale_inv BF16 {scale}"),
                format!("{stem}.{activation}"),
            ]
        });
        copy.edit("config.json", |config| {
            config["quantization_config"] = json!({ "quant_method": "fp8", "weight_block_size": block });
        });
        copy
    };
    let check = |copy: &Copy, name: &str, expected: Vec<f32>| {
        let found = Conversion::open(&copy.0).unwrap();
        let tensor = found.tensors().iter().find(|tensor| tensor.name == name).unwrap();
        assert!(found.values(tensor, 0..expected.len() as u64) == expected, "{name}");
    };
    let (wide, all) = (80 * 48, 4 * 80 * 48);
    for (scale, experts_scale) in [("1", "4"), ("1x1", "4x1x1")] {
        let copy = quantised(scale, experts_scale, Json::Null);
        check(&copy, "blk.1.attn_output.weight", eight_bits(&output, 48 * 72, 1, |_| 0));
        check(&copy, "blk.1.ffn_gate_up_exps.weight", eight_bits(&experts, all, 4, |at| at / wide));
        // A scalar has no dimensions.
        copy.edit_header("model.safetensors", |header| {
            header[format!("{output}_scale_inv")]["shape"] = json!([])
        });
        check(&copy, "blk.1.attn_output.weight", eight_bits(&output, 48 * 72, 1, |_| 0));
    }
    // Blocks of each expert.
    let copy = quantised("2x5", "4x2x3", json!([40, 16]));
    let block = |at: usize| at / wide * 6 + at % wide / 48 / 40 * 3 + at % 48 / 16;
    check(&copy, "blk.1.ffn_gate_up_exps.weight", eight_bits(&experts, all, 24, block));
    for (copy, expected) in [
        (
            quantised("2", "4", Json::Null),
            "o_proj.weight_scale_inv` has the type BF16 and shape [2]; expected",
        ),
        (
            quantised("1", "1", Json::Null),
            "gate_up_proj_scale_inv` has the type BF16 and shape [1]; expected",
        ),
        (
            quantised("2x5", "10x3", json!([32, 16])),
            "has matrices of 80 rows, which are not whole blocks of 32",
        ),
        (
            quantised("1", "4", json!([0, 16])),
            "`quantization_config.weight_block_size` is [0,16]; expected rows",
        ),
    ] {
        assert!(refusal(&copy).contains(expected), "{}", refusal(&copy));
    }
}

#[test]
fn mistral4_that_readers_do_not_compute() {
    let scaled = |beta: f64, context: u64| {
        let copy = Copy::of("mistral4");
        copy.edit("config.json", |config| {
            config["text_config"]["rope_parameters"]["llama_4_scaling_beta"] = json!(beta);
            config["text_config"]["max_position_embeddings"] = json!(context);
        });
        copy
    };
    let message = refusal(&scaled(0.1, 33));
    let expected = "`rope_parameters.llama_4_scaling_beta` is 0.1; expected 0: files of this family cannot say that \
                    queries are scaled from position 32 on";
    assert!(
        message.contains(expected) && message.contains("or `max_position_embeddings` to 32"),
        "{message}"
    );
    Conversion::open(&scaled(0.1, 32).0).unwrap();
    let copy = Copy::of("mistral4");
    copy.edit("config.json", |config| config["text_config"]["rope_parameters"]["mscale"] = json!(0.5));
    assert!(
        refusal(&copy).contains("`rope_parameters.mscale` is 0.5; expected the same as `mscale_all_dim`, 1")
    );
    copy.edit("config.json", |config| config["text_config"]["rope_parameters"] = Json::Null);
    assert!(refusal(&copy).contains("`rope_parameters` is missing"), "{}", refusal(&copy));
    let copy = Copy::of("mistral4");
    copy.edit("config.json", |config| config["text_config"]["rope_interleave"] = json!(false));
    assert!(refusal(&copy).contains("`rope_interleave` is false; expected true"), "{}", refusal(&copy));
}

/// The text's part alone, and by the names of newer versions.
#[test]
fn mistral4_is_the_same_however_it_is_described() {
    let copy = Copy::of("mistral4");
    let expected = listing(&Conversion::open(&copy.0).unwrap());
    let rename = |copy: &Copy, to: &dyn Fn(&str) -> Option<String>| {
        copy.edit_header("model.safetensors", |header| {
            let all = std::mem::take(header.as_object_mut().unwrap());
            let renamed = |name: &String| to(name).unwrap_or_else(|| name.clone());
            *header = all.iter().map(|(name, value)| (renamed(name), value.clone())).collect();
        });
    };
    rename(&copy, &|name| {
        let rest = name.strip_prefix("language_model.");
        Some(match (rest, rest.and_then(|rest| rest.strip_prefix("model."))) {
            (_, Some(rest)) => format!("model.language_model.{rest}"),
            (Some(rest), _) => rest.to_owned(),
            _ => format!("model.{name}"),
        })
    });
    assert_eq!(listing(&Conversion::open(&copy.0).unwrap()), expected);
    let copy = Copy::of("mistral4");
    copy.edit("config.json", |config| {
        let mut text = config["text_config"].take();
        text["architectures"] = json!(["Mistral4ForCausalLM"]);
        for key in ["bos_token_id", "eos_token_id"] {
            text[key] = config[key].take();
        }
        *config = text;
    });
    fs::write(
        copy.path("weights.txt"),
        fs::read_to_string(copy.path("weights.txt"))
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("language_model."))
            .collect::<Vec<_>>()
            .join("\n"),
    )
    .unwrap();
    weights::write(&copy.0);
    rename(&copy, &|name| Some(name.strip_prefix("language_model.")?.to_owned()));
    assert_eq!(listing(&Conversion::open(&copy.0).unwrap()), expected);
}

/// Kimi-K2 is a model of DeepSeek's family with Kimi's tokenizer, which its settings name.
#[test]
fn the_tokenizer_of_kimi_in_another_family() {
    let (copy, kimi) = (Copy::of("deepseek-v3"), Copy::of("kimi-linear"));
    for file in ["tiktoken.model", "tokenizer_config.json", "chat_template.jinja"] {
        fs::copy(kimi.path(file), copy.path(file)).unwrap();
    }
    fs::remove_file(copy.path("tokenizer.json")).unwrap();
    copy.edit("config.json", |config| {
        config["bos_token_id"] = json!(291);
        config["eos_token_id"] = json!(294);
    });
    let tokenizer = |copy: &Copy| {
        let mut all = listing(&Conversion::open(&copy.0).unwrap());
        all.retain(|key, _| key.starts_with("tokenizer."));
        all
    };
    assert_eq!(tokenizer(&copy), tokenizer(&kimi));
    // The tokenizer of another program may split text differently.
    copy.edit("tokenizer_config.json", |settings| {
        settings["auto_map"]["AutoTokenizer"] = json!(["tokenization_moonshot.TikTokenTokenizer", null]);
    });
    assert!(refusal(&copy).contains("only Kimi's, `tokenization_kimi`, is known"), "{}", refusal(&copy));
}
