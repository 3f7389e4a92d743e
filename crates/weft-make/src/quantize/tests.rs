//! Conversions of tiny models, and what is refused.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use weft_gguf::Writer;

use super::*;
use crate::synth::testing::write_tiny;
use crate::tensor_types::QUANT_MIXES;
use crate::test_folder::TestFolder;

fn options(mix: &str) -> QuantizeOptions {
    QuantizeOptions {
        mix: QuantMix::named(mix).unwrap(),
        output: None,
        embedding: None,
        imatrix: None,
        allow_requantize: false,
        threads: NonZeroUsize::new(2).unwrap(),
    }
}

/// A tiny model of two layers.
fn tiny(folder: &TestFolder, mix: &str) -> PathBuf {
    let path = folder.join(format!("{mix}.gguf"));
    write_tiny(&path, 2, mix);
    path
}

fn quantize(input: &Path, out: &Path, options: &QuantizeOptions) -> Result<Conversion> {
    let done = super::quantize(input, out, options, &mut |_, _| ControlFlow::Continue(()))?;
    Ok(done.expect("nothing stopped it"))
}

fn convert_to(folder: &TestFolder, input: &Path, options: &QuantizeOptions) -> Result<(Gguf, Conversion)> {
    let out = folder.join(format!("to-{}.gguf", options.mix.name));
    let done = quantize(input, &out, options)?;
    Ok((Gguf::open(&out)?, done))
}

/// The error of a conversion that is refused.
fn refusal(folder: &TestFolder, input: &Path, options: &QuantizeOptions) -> String {
    let out = folder.join(format!("to-{}.gguf", options.mix.name));
    let error = quantize(input, &out, options).expect_err("this should be refused");
    assert!(!out.exists(), "a failed conversion must leave no file");
    folder.relative(&format!("{error:#}"))
}

fn values(gguf: &Gguf, name: &str) -> Vec<f32> {
    let tensor = gguf.tensor(name).unwrap();
    let mut values = vec![0.0; tensor.values() as usize];
    decode(tensor.ty, gguf.data(tensor), &mut values).unwrap();
    values
}

fn relative_error(found: &[f32], expected: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let error: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(a - b))).sum();
    (error / expected.iter().map(|b| square(f64::from(*b))).sum::<f64>()).sqrt()
}

/// An upper bound of the relative error of rounding normally distributed values.
fn most_error(ty: GgmlType) -> f64 {
    match ty {
        GgmlType::F32 => 0.0,
        GgmlType::F16 => 0.0003,
        GgmlType::BF16 => 0.002,
        GgmlType::Q8_0 => 0.007,
        GgmlType::Q6_K => 0.02,
        GgmlType::Q5_0 | GgmlType::Q5_1 | GgmlType::Q5_K => 0.05,
        GgmlType::MXFP4 => 0.12,
        GgmlType::Q3_K => 0.16,
        GgmlType::Q2_K => 0.31,
        // Made for weights that were trained with three values.
        GgmlType::TQ1_0 | GgmlType::TQ2_0 => 0.85,
        _ => 0.1,
    }
}

#[test]
fn every_mix_approximates_the_model() {
    let folder = TestFolder::new("quantize-all");
    let path = tiny(&folder, "f32");
    let model = Gguf::open(&path).unwrap();
    for mix in QUANT_MIXES {
        let (result, done) = convert_to(&folder, &path, &options(mix.name)).unwrap();
        let types = types(&model, &options(mix.name)).unwrap();
        assert_eq!(result.tensors().len(), model.tensors().len());
        for (tensor, original) in result.tensors().iter().zip(model.tensors()) {
            assert_eq!((&tensor.name, &tensor.shape), (&original.name, &original.shape));
            match types.type_of(&tensor.name, &tensor.shape) {
                Some(ty) => assert_eq!(tensor.ty, ty, "{}", tensor.name),
                None => assert_eq!(result.data(tensor), model.data(original), "{}", tensor.name),
            }
            let error = relative_error(&values(&result, &tensor.name), &values(&model, &tensor.name));
            assert!(error <= most_error(tensor.ty), "{} as {}: {error}", tensor.name, tensor.ty);
        }
        assert_eq!(done.before.bytes(), model.tensors().iter().map(|t| t.bytes).sum::<u64>());
        assert_eq!(done.after.bytes(), result.tensors().iter().map(|t| t.bytes).sum::<u64>());
        assert_eq!(done.before.0[&GgmlType::F32].tensors, model.tensors().len());
    }
}

#[test]
fn only_the_type_changes_in_the_metadata() {
    let folder = TestFolder::new("quantize-metadata");
    let path = tiny(&folder, "f16");
    let model = Gguf::open(&path).unwrap();
    let (result, _) = convert_to(&folder, &path, &options("q4_k_m")).unwrap();
    assert_eq!(result.metadata().len(), model.metadata().len());
    for ((key, value), original) in result.metadata().iter().zip(model.metadata().iter()) {
        match key {
            "general.file_type" => assert_eq!(*value, 15u32.into()),
            _ => assert_eq!((key, value), original),
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = TestFolder::new("quantize-threads");
    let path = tiny(&folder, "f16");
    let convert = |threads| {
        let out = folder.join(format!("{threads}.gguf"));
        let options = QuantizeOptions { threads: NonZeroUsize::new(threads).unwrap(), ..options("q4_k_m") };
        quantize(&path, &out, &options).unwrap();
        fs::read(out).unwrap()
    };
    let one = convert(1);
    assert!(one == convert(2) && one == convert(7));
}

#[test]
fn quantised_weights_may_become_smaller_or_floats() {
    let folder = TestFolder::new("quantize-down");
    let path = tiny(&folder, "q8_0");
    let model = Gguf::open(&path).unwrap();
    convert_to(&folder, &path, &options("q4_k_m")).unwrap();
    let (plain, _) = convert_to(&folder, &path, &options("f32")).unwrap();
    for tensor in model.tensors() {
        assert_eq!(values(&plain, &tensor.name), values(&model, &tensor.name), "{}", tensor.name);
    }
}

#[test]
fn conversions_that_only_lose_precision_are_refused() {
    let folder = TestFolder::new("quantize-up");
    let path = tiny(&folder, "q4_0");
    let expected = "tensor `token_embd.weight` is already quantised as q4_0; converting it to q8_0, which is no smaller, \
                    only loses precision (as for 22 more tensors). Start from a more precise model, or allow it with \
                    --allow-requantize";
    assert_eq!(refusal(&folder, &path, &options("q8_0")), expected);
    assert!(
        refusal(&folder, &path, &options("q4_k_m")).contains("converting it to q4_k, which is no smaller")
    );
    let (result, _) =
        convert_to(&folder, &path, &QuantizeOptions { allow_requantize: true, ..options("q8_0") }).unwrap();
    assert_eq!(result.tensor("token_embd.weight").unwrap().ty, GgmlType::Q8_0);
    // Converting to the same types changes nothing.
    convert_to(&folder, &path, &options("q4_0")).unwrap();
    assert!(fs::read(folder.join("to-q4_0.gguf")).unwrap() == fs::read(&path).unwrap());
}

#[test]
fn the_types_of_embedding_and_output_can_be_set() {
    let folder = TestFolder::new("quantize-ends");
    let path = tiny(&folder, "f16");
    let ends =
        QuantizeOptions { output: Some(GgmlType::F16), embedding: Some(GgmlType::Q8_0), ..options("q4_0") };
    let (result, _) = convert_to(&folder, &path, &ends).unwrap();
    assert_eq!(result.tensor("output.weight").unwrap().ty, GgmlType::F16);
    assert_eq!(result.tensor("token_embd.weight").unwrap().ty, GgmlType::Q8_0);
}

#[test]
fn a_model_is_not_overwritten() {
    let folder = TestFolder::new("quantize-own");
    let path = tiny(&folder, "f16");
    let before = fs::read(&path).unwrap();
    let mut others = vec![path.clone(), folder.join(".").join("f16.gguf")];
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink(&path, folder.join("link.gguf")).unwrap();
        others.push(folder.join("link.gguf"));
    }
    for out in others {
        let message = quantize(&path, &out, &options("q8_0")).unwrap_err().to_string();
        assert!(message.contains("is a file of the model itself"), "{message}");
    }
    assert!(fs::read(&path).unwrap() == before);
}

/// Writes a file with these metadata and tensors. Each tensor repeats one value.
fn write(path: &Path, metadata: &[(&str, u32)], tensors: &[(&str, GgmlType, f32)]) {
    let mut all = Metadata::new();
    all.insert("general.architecture", "llama");
    for (key, value) in metadata {
        all.insert(key, *value);
    }
    let mut writer = Writer::new(all).unwrap();
    for (name, ty, _) in tensors {
        writer.declare(name, *ty, &[256, 2]).unwrap();
    }
    let mut data = writer.create(path).unwrap();
    for (name, ty, value) in tensors {
        let mut bytes = vec![0; ty.row_bytes(512).unwrap() as usize];
        if ty.can_encode() {
            encode(*ty, &[*value; 512], &mut bytes).unwrap();
        }
        data.write(name, &bytes).unwrap();
    }
    data.finish().unwrap();
}

const LAYERS: (&str, u32) = ("llama.block_count", 1);

#[test]
fn a_model_in_parts_becomes_one_file() {
    let folder = TestFolder::new("quantize-split");
    let part = |n: usize| folder.join(format!("m-0000{n}-of-00002.gguf"));
    for n in [1, 2] {
        let split = [LAYERS, ("split.no", n - 1), ("split.count", 2), ("split.tensors.count", 2)];
        write(
            &part(n as usize),
            &split,
            &[(["", "a.weight", "b.weight"][n as usize], GgmlType::F32, n as f32)],
        );
    }
    let (result, _) = convert_to(&folder, &part(2), &options("f16")).unwrap();
    assert_eq!(values(&result, "b.weight"), [2.0; 512]);
    let keys: Vec<&str> = result.metadata().iter().map(|(key, _)| key).collect();
    assert_eq!(keys[..2], ["general.architecture", "llama.block_count"]);
    assert_eq!(keys[2..], ["general.quantization_version", "general.file_type"]);
    let message = quantize(&part(2), &part(1), &options("f16")).unwrap_err().to_string();
    assert!(message.contains("is a file of the model itself"), "{message}");
}

#[test]
fn tensors_that_cannot_be_converted_are_named() {
    let folder = TestFolder::new("quantize-refused");
    let path = folder.join("m.gguf");
    let check = |metadata: &[(&str, u32)], tensor: (&str, GgmlType, f32), mix, expected: &str| {
        write(&path, metadata, &[("a.weight", GgmlType::F32, 1.0), tensor]);
        assert_eq!(refusal(&folder, &path, &options(mix)), expected);
    };
    check(
        &[LAYERS],
        ("b.weight", GgmlType::Q1_0, 0.0),
        "q4_0",
        "cannot read tensor `b.weight`: its type q1_0 is not supported",
    );
    check(
        &[LAYERS],
        ("b.weight", GgmlType::F32, 1e5),
        "f16",
        "cannot make tensor `b.weight`: its value 100000 is outside the range of f16, which is -65504 to 65504",
    );
    check(
        &[LAYERS],
        ("b.weight", GgmlType::F32, f32::NAN),
        "bf16",
        "cannot make tensor `b.weight`: its value NaN is outside the range of bf16, which is \
         -340282350000000000000000000000000000000 to 340282350000000000000000000000000000000",
    );
    check(
        &[],
        ("b.weight", GgmlType::F32, 1.0),
        "f16",
        "m.gguf: the metadata has no key `llama.block_count`, which should hold an integer from 0 to 4294967295",
    );
}

#[test]
fn a_file_without_tensors_can_be_converted() {
    let folder = TestFolder::new("quantize-empty");
    let path = folder.join("m.gguf");
    write(&path, &[LAYERS], &[]);
    let (result, done) = convert_to(&folder, &path, &options("q4_0")).unwrap();
    assert_eq!((result.tensors().len(), done.after.bytes()), (0, 0));
}
