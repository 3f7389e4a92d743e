//! The weights of fixtures that come without them: `weights.txt` has their names, types and shapes, and the values depend on the name.
//!
//! `hashed` in `tests/models/make.py` computes the same values, of which llama.cpp's converter made what is expected.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Writes `model.safetensors` in a folder that has `weights.txt`.
pub(crate) fn write(folder: &Path) {
    let listed = fs::read_to_string(folder.join("weights.txt")).unwrap();
    let (mut header, mut data) = (String::new(), Vec::new());
    for line in listed.lines() {
        let [name, dtype, shape] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let sizes: Vec<usize> = shape.split('x').map(|size| size.parse().unwrap()).collect();
        let begin = data.len();
        for bits in hashed(name).take(sizes.iter().product()) {
            match dtype {
                "BF16" => data.extend(bits.to_le_bytes()),
                "F32" => data.extend((u32::from(bits) << 16).to_le_bytes()),
                // Without bytes that stand for NaN.
                "F8_E4M3" => data.push((bits ^ bits >> 8) as u8 & 0xbf),
                "U8" if name.ends_with("_scales") => data.push(116 + (bits ^ bits >> 8) as u8 % 8),
                "U8" => data.push((bits ^ bits >> 8) as u8),
                _ => panic!("{line}"),
            }
        }
        let comma = if header.is_empty() { "" } else { "," };
        let end = data.len();
        write!(
            header,
            "{comma}{name:?}:{{\"dtype\":{dtype:?},\"shape\":{sizes:?},\"data_offsets\":[{begin},{end}]}}"
        )
        .unwrap();
    }
    let header = format!("{{{header}}}");
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    fs::write(folder.join("model.safetensors"), file).unwrap();
}

/// The values of a tensor, as bf16: from 2^-7 to 2^-2, of both signs.
pub(crate) fn hashed(name: &str) -> impl Iterator<Item = u16> {
    let seed = name.bytes().fold(2166136261u32, |seed, byte| (seed ^ u32::from(byte)).wrapping_mul(16777619));
    (0u32..).map(move |at| {
        let mut h = at.wrapping_mul(40503).wrapping_add(seed);
        h = (h ^ h >> 15).wrapping_mul(739);
        h = (h ^ h >> 13).wrapping_mul(1013);
        (h & 0x8000) as u16 | (0x3c00 + (h >> 16) % 0x0280) as u16
    })
}
