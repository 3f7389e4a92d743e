//! `format`: of strings, enforced; of numbers, the integer types of OpenAPI as bounds.

/// Whether grammars enforce this format of strings.
pub(super) fn of_string(format: &str) -> bool {
    const ENFORCED: &[&str] =
        &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];
    ENFORCED.contains(&format)
}

/// The bounds of an integer type. `None` for those that bound nothing a JSON number keeps exactly, and other formats.
pub(super) fn bounds(format: &str) -> Option<(i64, i64)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        _ => return None,
    })
}
