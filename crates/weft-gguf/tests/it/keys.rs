//! Typed access to metadata: conversions and errors.

use expect_test::expect;
use weft_gguf::{Array, KeyError, Metadata, Strings, Value};

#[test]
fn integers_of_any_type_are_converted_if_they_fit() {
    let mut metadata = Metadata::new();
    let values: [Value; 8] = [
        7u8.into(),
        7i8.into(),
        7u16.into(),
        7i16.into(),
        7u32.into(),
        7i32.into(),
        7u64.into(),
        7i64.into(),
    ];
    for value in values {
        metadata.insert("n", value);
        assert_eq!(metadata.u32("n"), Ok(Some(7)));
        assert_eq!(metadata.require_u32("n"), Ok(7));
    }
    metadata.insert("n", u64::from(u32::MAX));
    assert_eq!(metadata.u32("n"), Ok(Some(u32::MAX)));
    assert_eq!(metadata.u32("absent"), Ok(None));
}

#[test]
fn scalars_are_read_by_type() {
    let mut metadata = Metadata::new();
    metadata.insert("f", 0.5f32);
    metadata.insert("d", 1e-5f64);
    metadata.insert("b", true);
    metadata.insert("s", "text");
    assert_eq!(metadata.f32("f"), Ok(Some(0.5)));
    assert_eq!(metadata.require_f32("d"), Ok(1e-5f32));
    assert_eq!(metadata.bool("b"), Ok(Some(true)));
    assert_eq!(metadata.require_str("s"), Ok("text"));
    assert_eq!(metadata.str("absent"), Ok(None));
}

#[test]
fn arrays_are_read_by_type() {
    let mut metadata = Metadata::new();
    metadata.insert("i32", vec![1i32, 2]);
    metadata.insert("u16", vec![3u16]);
    metadata.insert("f64", vec![0.25f64]);
    metadata.insert("bool", vec![true, false]);
    metadata.insert("str", Strings::from_iter(["a", "b"]));
    assert_eq!(metadata.u32s("i32"), Ok(Some(vec![1, 2])));
    assert_eq!(metadata.require_i32s("u16"), Ok(vec![3]));
    assert_eq!(metadata.require_f32s("f64"), Ok(vec![0.25]));
    assert_eq!(metadata.require_bools("bool"), Ok([true, false].as_slice()));
    assert_eq!(metadata.require_strings("str").unwrap().len(), 2);
    assert_eq!(metadata.strings("absent"), Ok(None));
}

#[test]
fn equal_values_of_all_layers_are_one_value() {
    let mut metadata = Metadata::new();
    metadata.insert("one", 4u32);
    metadata.insert("same", vec![4i32, 4, 4]);
    metadata.insert("other", vec![4u32, 2, 4]);
    metadata.insert("none", Vec::<u32>::new());
    metadata.insert("scale", vec![0.5f32, 0.5, 0.5]);
    assert_eq!(metadata.u32_of_layers("one", 3), Ok(Some(4)));
    assert_eq!(metadata.u32_of_layers("same", 3), Ok(Some(4)));
    assert_eq!(metadata.u32_of_layers("absent", 3), Ok(None));
    assert_eq!(metadata.f32_of_layers("scale", 3), Ok(Some(0.5)));
    for (key, layers, found) in [
        ("same", 2, "an array of 3"),
        ("other", 3, "an array with 4 and 2"),
        ("none", 3, "an array of 0"),
        ("none", 0, "an array of 0"),
    ] {
        let error = metadata.u32_of_layers(key, layers).unwrap_err().to_string();
        assert!(
            error.contains(found) && error.contains(&format!("each of the {layers} layers")),
            "{key}: {error}"
        );
    }
}

#[test]
fn a_single_value_is_repeated_for_every_layer() {
    let mut metadata = Metadata::new();
    metadata.insert("one", 4u32);
    metadata.insert("each", vec![1u32, 2, 3]);
    assert_eq!(metadata.u32_per_layer("one", 3), Ok(Some(vec![4, 4, 4])));
    assert_eq!(metadata.u32_per_layer("each", 3), Ok(Some(vec![1, 2, 3])));
    assert_eq!(metadata.u32_per_layer("absent", 3), Ok(None));
    let message = |result: Result<Vec<u32>, KeyError>| result.unwrap_err().to_string();
    expect!["metadata in memory: key `each` should hold one u32 or an array with one for each of the 2 layers, but holds an array of 3"].assert_eq(&message(metadata.require_u32_per_layer("each", 2)));
    expect!["metadata in memory: the metadata has no key `absent`, which should hold one u32 or an array with one for each layer"].assert_eq(&message(metadata.require_u32_per_layer("absent", 2)));
}

#[test]
fn errors_name_the_key_and_both_types() {
    let mut metadata = Metadata::new();
    metadata.insert("n", -1i32);
    metadata.insert("s", "text");
    metadata.insert("a", vec![1i64, -5, 1 << 40]);
    metadata.insert("f", 1.0f32);
    let errors = [
        metadata.require_u32("absent").unwrap_err(),
        metadata.u32("n").unwrap_err(),
        metadata.u32("s").unwrap_err(),
        metadata.u32("f").unwrap_err(),
        metadata.f32("n").unwrap_err(),
        metadata.bool("n").unwrap_err(),
        metadata.str("a").unwrap_err(),
        metadata.u32s("a").unwrap_err(),
        metadata.i32s("a").unwrap_err(),
        metadata.f32s("a").unwrap_err(),
        metadata.bools("a").unwrap_err(),
        metadata.strings("a").unwrap_err(),
        metadata.u32s("n").unwrap_err(),
    ];
    let messages: Vec<String> = errors.iter().map(KeyError::to_string).collect();
    expect![[r#"
        metadata in memory: the metadata has no key `absent`, which should hold an integer from 0 to 4294967295
        metadata in memory: key `n` should hold an integer from 0 to 4294967295, but holds -1
        metadata in memory: key `s` should hold an integer from 0 to 4294967295, but holds a value of type string
        metadata in memory: key `f` should hold an integer from 0 to 4294967295, but holds a value of type f32
        metadata in memory: key `n` should hold a floating-point number, but holds a value of type i32
        metadata in memory: key `n` should hold a bool, but holds a value of type i32
        metadata in memory: key `a` should hold a string, but holds an array of 3 i64
        metadata in memory: key `a` should hold an array of integers from 0 to 4294967295, but holds -5 as element 1
        metadata in memory: key `a` should hold an array of integers from -2147483648 to 2147483647, but holds 1099511627776 as element 2
        metadata in memory: key `a` should hold an array of floating-point numbers, but holds an array of 3 i64
        metadata in memory: key `a` should hold an array of bool, but holds an array of 3 i64
        metadata in memory: key `a` should hold an array of strings, but holds an array of 3 i64
        metadata in memory: key `n` should hold an array of integers from 0 to 4294967295, but holds a value of type i32"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn inserting_keeps_the_place_of_a_key() {
    let mut metadata = Metadata::new();
    assert_eq!(metadata.insert("a", 1u8), None);
    assert_eq!(metadata.insert("b", vec![1u8, 2]), None);
    assert_eq!(metadata.insert("a", "new"), Some(Value::U8(1)));
    let entries: Vec<(&str, &Value)> = metadata.iter().collect();
    assert_eq!(entries, [("a", &"new".into()), ("b", &Value::Array(Array::U8(vec![1, 2])))]);
    let names: Vec<&str> = metadata.iter().map(|(_, value)| value.type_name()).collect();
    assert_eq!(names, ["string", "array"]);
}
