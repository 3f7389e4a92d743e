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
        // Set by the build, since a package does not know its repository.
        "commit": option_env!("WEFT_COMMIT"),
        "debug": cfg!(debug_assertions),
    })
}
