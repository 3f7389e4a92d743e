//! Written files read back the same, and are written again as the same bytes.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use weft_gguf::{Gguf, Metadata, Strings, Value, Writer};
use weft_quant::GgmlType;

/// A tensor to write: name, type, shape.
type Declared = (String, GgmlType, Vec<u64>);

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u8>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<u16>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        vec(any::<u8>(), 0..9).prop_map(Value::from),
        vec(any::<i8>(), 0..9).prop_map(Value::from),
        vec(any::<u16>(), 0..9).prop_map(Value::from),
        vec(any::<i16>(), 0..9).prop_map(Value::from),
        vec(any::<u32>(), 0..9).prop_map(Value::from),
        vec(any::<i32>(), 0..9).prop_map(Value::from),
        vec(any::<f32>(), 0..9).prop_map(Value::from),
        vec(any::<bool>(), 0..9).prop_map(Value::from),
        vec(vec(any::<u8>(), 0..9), 0..9).prop_map(|strings| Value::from(Strings::from_iter(strings))),
        vec(any::<u64>(), 0..9).prop_map(Value::from),
        vec(any::<i64>(), 0..9).prop_map(Value::from),
        vec(any::<f64>(), 0..9).prop_map(Value::from),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let alignment = proptest::option::of((0..10u32).prop_map(|log| 1 << log));
    (btree_map("[a-z_.]{1,20}", value(), 0..12), alignment).prop_map(|(entries, alignment)| {
        let mut metadata = Metadata::new();
        entries.into_iter().for_each(|(key, value)| drop(metadata.insert(&key, value)));
        alignment.map(|alignment: u32| metadata.insert("general.alignment", alignment));
        metadata
    })
}

fn tensors() -> impl Strategy<Value = Vec<Declared>> {
    let shape = (1..4u64, vec(1..4u64, 0..4));
    let entry = (prop::sample::select(GgmlType::ALL), shape).prop_map(|(ty, (blocks, rest))| {
        let row = blocks * ty.block_len() as u64;
        (ty, [vec![row], rest].concat())
    });
    let named = btree_map("\\PC{1,20}", entry, 0..8);
    named.prop_map(|tensors| tensors.into_iter().map(|(name, (ty, shape))| (name, ty, shape)).collect())
}

/// Data for the `index`th tensor, different from all others.
fn data(index: usize, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (i as usize * 31 + index * 7) as u8).collect()
}

fn write(metadata: &Metadata, tensors: &[Declared], chunk: usize) -> Vec<u8> {
    let mut writer = Writer::new(metadata.clone()).unwrap();
    tensors.iter().for_each(|(name, ty, shape)| writer.declare(name, *ty, shape).unwrap());
    let mut file = Vec::new();
    let mut out = writer.to_stream(&mut file).unwrap();
    for (index, (name, ty, shape)) in tensors.iter().enumerate() {
        let bytes = ty.row_bytes(shape.iter().product()).unwrap();
        data(index, bytes).chunks(chunk).for_each(|chunk| out.write(name, chunk).unwrap());
    }
    out.finish().unwrap();
    file
}

proptest! {
    #[test]
    fn files_round_trip(metadata in metadata(), tensors in tensors(), chunk in 1..5000usize) {
        let file = write(&metadata, &tensors, chunk);
        let model = Gguf::parse(file.clone()).unwrap();
        for (index, (tensor, (name, ty, shape))) in model.tensors().iter().zip(&tensors).enumerate() {
            prop_assert_eq!((&tensor.name, tensor.ty, &tensor.shape), (name, *ty, shape));
            prop_assert_eq!(model.data(tensor), data(index, tensor.bytes));
            prop_assert_eq!(model.tensor(name), Some(tensor));
        }
        prop_assert_eq!(model.tensors().len(), tensors.len());
        // Compare bytes rather than values, since NaN != NaN.
        prop_assert_eq!(write(model.metadata(), &tensors, usize::MAX), file);
        for (key, value) in metadata.iter() {
            prop_assert_eq!(format!("{:?}", model.metadata().get(key)), format!("{:?}", Some(value)));
        }
    }
}
