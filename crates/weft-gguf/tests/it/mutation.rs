//! Random damage: files truncated anywhere, and bits flipped anywhere. Nothing may panic, and accepted files
//! must be sound.

use weft_gguf::{Gguf, Metadata, Strings, Writer};
use weft_quant::GgmlType;
use weft_random::Random;

/// A small file with a key of every kind and tensors of several types.
fn small() -> Vec<u8> {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "llama");
    metadata.insert("general.alignment", 64u32);
    metadata.insert("llama.rope.freq_base", 1e4f32);
    metadata.insert("llama.vocab_only", false);
    metadata.insert("tokenizer.ggml.tokens", Strings::from_iter(["<s>", "a", "ab"]));
    metadata.insert("tokenizer.ggml.scores", vec![0.0f32, -1.0, -2.0]);
    metadata.insert("tokenizer.ggml.flags", vec![true, false]);
    let tensors = [
        ("token_embd.weight", GgmlType::Q8_0, [32u64, 3].as_slice()),
        ("output_norm.weight", GgmlType::F32, &[32]),
        ("blk.0.ffn_down_exps.weight", GgmlType::Q4_K, &[256, 1, 2]),
    ];
    let mut writer = Writer::new(metadata).unwrap();
    tensors.iter().for_each(|(name, ty, shape)| writer.declare(name, *ty, shape).unwrap());
    let mut file = Vec::new();
    let mut data = writer.to_stream(&mut file).unwrap();
    for (name, ty, shape) in tensors {
        data.write(name, &vec![1; ty.row_bytes(shape.iter().product()).unwrap() as usize]).unwrap();
    }
    data.finish().unwrap();
    file
}

/// Opens a possibly damaged file, and reads all of it if it is accepted.
fn exercise(bytes: &[u8]) -> bool {
    let Ok(model) = Gguf::parse(bytes) else { return false };
    for tensor in model.tensors() {
        assert_eq!(model.data(tensor).len() as u64, tensor.bytes);
        assert_eq!(tensor.ty.row_bytes(tensor.values()), Some(tensor.bytes));
        assert_eq!(model.tensor(&tensor.name), Some(tensor));
    }
    true
}

#[test]
fn truncation_at_every_byte() {
    let file = small();
    assert!(exercise(&file));
    // The data ends before the file does: the last tensor is padded to the alignment.
    let model = Gguf::parse(file.as_slice()).unwrap();
    let last = model.tensors().last().unwrap();
    let padding = (last.bytes.next_multiple_of(64) - last.bytes) as usize;
    for length in 0..file.len() {
        assert_eq!(exercise(&file[..length]), length >= file.len() - padding, "cut to {length} bytes");
    }
}

#[test]
fn changing_any_byte() {
    let file = small();
    for at in 0..file.len() {
        for byte in [0x00, 0x01, 0x7f, 0x80, 0xff, file[at].wrapping_add(1)] {
            let mut damaged = file.clone();
            damaged[at] = byte;
            exercise(&damaged);
        }
    }
}

#[test]
fn changing_many_bytes() {
    let file = small();
    let mut random = Random::new(1);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut damaged = file.clone();
        for _ in 0..=random.below(8) {
            let at = random.below(damaged.len());
            damaged[at] = random.below(256) as u8;
        }
        // Half of them are also truncated, or get a duplicate piece that shifts everything after it.
        match random.below(4) {
            0 => damaged.truncate(random.below(file.len())),
            1 => {
                let at = random.below(file.len() - 16);
                let piece = damaged[at..at + 16].to_vec();
                damaged.splice(at..at, piece);
            }
            _ => {}
        }
        accepted += usize::from(exercise(&damaged));
    }
    // Changes of data go unnoticed, so some files survive; changes of the header do not.
    assert!((1000..19_000).contains(&accepted), "{accepted} of 20000 accepted");
}
