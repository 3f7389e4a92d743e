//! JSON pointers of `$ref`.

use serde_json::Value;

/// The value that a reference within one document refers to, such as `#/$defs/node`.
///
/// # Errors
/// Why there is none.
pub(super) fn resolve<'v>(root: &'v Value, reference: &str) -> Result<&'v Value, String> {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Err(format!(
            "expected a reference within this schema, such as \"#/$defs/name\", found {reference:?}; nothing is fetched"
        ));
    };
    let pointer = unpercent(pointer).ok_or_else(|| format!("{reference:?} has an invalid % escape"))?;
    if pointer.is_empty() {
        return Ok(root);
    }
    if !pointer.starts_with('/') {
        return Err(format!("expected a path such as \"#/$defs/name\", found the anchor {reference:?}"));
    }
    root.pointer(&pointer).ok_or_else(|| format!("{reference:?} refers to nothing in this schema"))
}

/// Decodes `%41`.
fn unpercent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_are_decoded() {
        let root = json!({"$defs": {"a/b": 1, "c~d": 2, "e f": 3, "é": 4}, "list": [5]});
        let found = |reference: &str| resolve(&root, reference).map(Value::to_string);
        assert_eq!(found("#/$defs/a~1b"), Ok("1".into()));
        assert_eq!(found("#/$defs/c~0d"), Ok("2".into()));
        assert_eq!(found("#/%24defs/e%20f"), Ok("3".into()));
        assert_eq!(found("#/$defs/%C3%A9"), Ok("4".into()));
        assert_eq!(found("#/list/0"), Ok("5".into()));
        assert_eq!(found("#"), Ok(root.to_string()));
        for wrong in ["", "#x", "#/$defs/z", "#/%2", "#/%zz", "#/%ff", "http://localhost/a", "other.json#/a"]
        {
            assert!(found(wrong).is_err(), "{wrong}");
        }
    }
}
