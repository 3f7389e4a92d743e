//! Parts of the JSON that several reports share.

use serde_json::{Value, json};

/// Merges two objects.
pub fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(all), Value::Object(more)) = (&mut first, second) {
        all.extend(more);
    }
    first
}

/// This program: `version`, `commit` if known, and whether it is a `debug` build.
pub fn this_weft() -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": commit(),
        "debug": cfg!(debug_assertions),
    })
}

/// The commit that this program is built from, if the build knows it.
pub fn commit() -> Option<&'static str> {
    option_env!("WEFT_COMMIT")
}
