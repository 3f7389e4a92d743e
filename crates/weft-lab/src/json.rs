//! What the JSON of several reports has in common.

use serde_json::{Value, json};

/// Two objects as one.
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
        // Told by whoever builds it, since a package knows no repository.
        "commit": option_env!("WEFT_COMMIT"),
        "debug": cfg!(debug_assertions),
    })
}
