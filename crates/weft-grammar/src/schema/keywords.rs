//! The keywords of JSON Schema, by their role in a grammar.

/// The role of a keyword in a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    /// Enforced.
    Enforced,
    /// Says nothing about which values are valid.
    Annotation,
    /// Constrains values in a way that grammars cannot enforce.
    Unsupported,
    /// Not a keyword of JSON Schema.
    Unknown,
}

pub(super) fn keyword(name: &str) -> Keyword {
    match name {
        "type" | "enum" | "const" | "anyOf" | "oneOf" | "allOf" | "$ref" => Keyword::Enforced,
        "properties" | "patternProperties" | "additionalProperties" | "required" => Keyword::Enforced,
        "minProperties" | "maxProperties" => Keyword::Enforced,
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" => Keyword::Enforced,
        "minLength" | "maxLength" | "pattern" | "format" => Keyword::Enforced,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Keyword::Enforced,

        "title" | "description" | "default" | "examples" | "example" | "deprecated" | "readOnly"
        | "writeOnly" | "contentMediaType" | "contentEncoding" | "contentSchema" | "$schema" | "$id"
        | "id" | "$anchor" | "$comment" | "$defs" | "definitions" | "$vocabulary" => Keyword::Annotation,
        // Of editors and generators.
        "markdownDescription"
        | "enumNames"
        | "enumDescriptions"
        | "markdownEnumDescriptions"
        | "deprecationMessage"
        | "errorMessage"
        | "externalDocs"
        | "propertyOrdering" => Keyword::Annotation,
        _ if name.starts_with("x-") => Keyword::Annotation,

        "not" | "if" | "then" | "else" | "dependentRequired" | "dependentSchemas" | "dependencies" => {
            Keyword::Unsupported
        }
        "uniqueItems" | "contains" | "minContains" | "maxContains" | "propertyNames" => Keyword::Unsupported,
        "unevaluatedProperties" | "unevaluatedItems" => Keyword::Unsupported,
        "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" => Keyword::Unsupported,
        _ => Keyword::Unknown,
    }
}

/// The names of types, as `type` has them.
pub(super) const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];
