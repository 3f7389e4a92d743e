//! The types that a JSON schema allows for each parameter of a tool.
//!
//! A schema is a client's data and can be hostile: references can form circles, and a few of them can unfold to more than
//! memory holds. So each tool has a budget of schemas to look at; what is beyond it may have any type.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most schemas of one tool that are read.
const BUDGET: usize = 4096;
/// How deep schemas are followed into each other.
const DEPTH: usize = 32;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Types = Types(0);
    pub(crate) const STRING: Types = Types(1);
    pub(crate) const NULL: Types = Types(2);
    pub(crate) const BOOLEAN: Types = Types(4);
    pub(crate) const INTEGER: Types = Types(8);
    /// Numbers that are not integers.
    pub(crate) const FRACTION: Types = Types(16);
    pub(crate) const NUMBER: Types = Types(8 | 16);
    pub(crate) const OBJECT: Types = Types(32);
    pub(crate) const ARRAY: Types = Types(64);
    pub(crate) const ANY: Types = Types(127);

    fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    pub(crate) fn without(self, other: Types) -> Types {
        Types(self.0 & !other.0)
    }

    /// Whether the sets have a type in common.
    pub(crate) fn meets(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    /// The type of a value.
    pub(crate) fn of(value: &Value) -> Types {
        match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Number(number) => {
                let integer = number.is_i64()
                    || number.is_u64()
                    || number.as_f64().is_some_and(|value| value.fract() == 0.0);
                if integer { Types::INTEGER } else { Types::FRACTION }
            }
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
        }
    }

    /// The types that the keyword `type` names. An unknown name allows anything.
    fn named(name: &Value) -> Types {
        match name {
            Value::Array(names) => names.iter().map(Types::named).fold(Types::NONE, Types::or),
            Value::String(name) => match name.to_ascii_lowercase().as_str() {
                "string" => Types::STRING,
                "null" => Types::NULL,
                "boolean" => Types::BOOLEAN,
                "integer" => Types::INTEGER,
                "number" => Types::NUMBER,
                "object" => Types::OBJECT,
                "array" => Types::ARRAY,
                _ => Types::ANY,
            },
            _ => Types::ANY,
        }
    }
}

/// The types of a tool's parameters.
pub(crate) struct Parameters {
    named: BTreeMap<String, Types>,
    /// The types of those that the schema does not name.
    others: Types,
}

impl Parameters {
    /// Reads the schema of a tool's arguments.
    pub(crate) fn new(schema: &Value) -> Parameters {
        let mut reader = Reader { root: schema, budget: BUDGET };
        let mut parameters = Parameters { named: BTreeMap::new(), others: Types::NONE };
        reader.collect(schema, 0, &mut parameters);
        if parameters.others == Types::NONE {
            parameters.others = Types::ANY;
        }
        parameters
    }

    /// The types allowed for a parameter.
    pub(crate) fn types(&self, name: &str) -> Types {
        self.named.get(name).copied().unwrap_or(self.others)
    }
}

struct Reader<'s> {
    root: &'s Value,
    budget: usize,
}

impl<'s> Reader<'s> {
    /// The schema as an object, unless a limit is reached.
    fn enter(&mut self, schema: &'s Value, depth: usize) -> Option<&'s Map<String, Value>> {
        self.budget = self.budget.checked_sub(1)?;
        schema.as_object().filter(|_| depth < DEPTH)
    }

    /// The schema that a local reference such as `#/$defs/Place` points to.
    fn resolve(&self, reference: &Value) -> Option<&'s Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    /// Adds the parameters of a schema of arguments.
    fn collect(&mut self, schema: &'s Value, depth: usize, into: &mut Parameters) {
        let Some(schema) = self.enter(schema, depth) else { return };
        if let Some(target) = schema.get("$ref").and_then(|reference| self.resolve(reference)) {
            self.collect(target, depth + 1, into);
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let types = self.types(property, depth + 1);
            let known = into.named.entry(name.clone()).or_insert(Types::NONE);
            *known = known.or(types);
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties").filter(|schema| schema.is_object());
        for other in patterns.into_iter().flat_map(Map::values).chain(additional) {
            into.others = into.others.or(self.types(other, depth + 1));
        }
        for variant in ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| members(schema, keyword)) {
            self.collect(variant, depth + 1, into);
        }
    }

    /// The types that a schema allows. A schema that allows none is taken for a mistake, and any type is allowed.
    fn types(&mut self, schema: &'s Value, depth: usize) -> Types {
        let Some(schema) = self.enter(schema, depth) else { return Types::ANY };
        let mut types = schema.get("type").map_or(Types::ANY, Types::named);
        if let Some(value) = schema.get("const") {
            types = types.and(Types::of(value));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            types = types.and(values.iter().map(Types::of).fold(Types::NONE, Types::or));
        }
        if let Some(target) = schema.get("$ref").and_then(|reference| self.resolve(reference)) {
            types = types.and(self.types(target, depth + 1));
        }
        for keyword in ["anyOf", "oneOf"] {
            let mut variants = members(schema, keyword).peekable();
            if variants.peek().is_some() {
                let all = variants.map(|variant| self.types(variant, depth + 1));
                types = types.and(all.fold(Types::NONE, Types::or));
            }
        }
        for part in members(schema, "allOf") {
            types = types.and(self.types(part, depth + 1));
        }
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            types = types.or(Types::NULL);
        }
        if types == Types::NONE { Types::ANY } else { types }
    }
}

fn members<'s>(schema: &'s Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'s Value> + use<'s> {
    schema.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn types(schema: Value) -> Types {
        let root = json!({
            "properties": {"x": schema},
            "$defs": {
                "Text": {"type": "string"},
                "Circle": {"$ref": "#/$defs/Circle"},
                "Colour": {"enum": ["red", null]},
            },
        });
        Parameters::new(&root).types("x")
    }

    #[test]
    fn types_of_schemas() {
        let nullable = Types::STRING.or(Types::NULL);
        for (schema, expected) in [
            (json!({"type": "string"}), Types::STRING),
            (json!({"type": "STRING"}), Types::STRING),
            (json!({"type": ["string", "null"]}), nullable),
            (json!({"type": "string", "nullable": true}), nullable),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), nullable),
            (json!({"oneOf": [{"$ref": "#/$defs/Text"}, {"const": null}]}), nullable),
            (
                json!({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]}),
                Types::INTEGER,
            ),
            (json!({"$ref": "#/$defs/Colour"}), nullable),
            (json!({"$ref": "#/$defs/Colour", "type": "string"}), Types::STRING),
            (json!({"$ref": "#/$defs/Circle"}), Types::ANY),
            (json!({"$ref": "https://elsewhere"}), Types::ANY),
            (json!({"enum": [1, 2.0, 2.5]}), Types::NUMBER),
            (json!({"enum": [1, 2.0]}), Types::INTEGER),
            (json!({"type": "number"}), Types::NUMBER),
            (json!({"type": "any"}), Types::ANY),
            (json!({"type": 7}), Types::ANY),
            (json!({"type": "string", "const": 1}), Types::ANY),
            (json!({"anyOf": []}), Types::ANY),
            (json!(true), Types::ANY),
            (json!({}), Types::ANY),
        ] {
            assert_eq!(types(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn parameters_come_from_all_variants() {
        let schema = json!({
            "anyOf": [
                {"properties": {"a": {"type": "string"}}},
                {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "boolean"}},
            ],
        });
        let parameters = Parameters::new(&schema);
        assert_eq!(parameters.types("a"), Types::STRING.or(Types::INTEGER));
        assert_eq!(parameters.types("b"), Types::BOOLEAN);
        assert_eq!(Parameters::new(&Value::Null).types("b"), Types::ANY);
    }

    #[test]
    fn hostile_schemas_end() {
        // Each name stands for two of the next: 2³⁰ schemas unless something stops it.
        let twice = |next: usize| json!({"anyOf": [{"$ref": format!("#/d/{next}")}, {"$ref": format!("#/d/{next}")}]});
        let names: Vec<Value> = (1..31).map(twice).collect();
        let schema = json!({"d": names, "properties": {"x": {"$ref": "#/d/0"}}, "$ref": "#"});
        assert_eq!(Parameters::new(&schema).types("x"), Types::ANY);
    }
}
