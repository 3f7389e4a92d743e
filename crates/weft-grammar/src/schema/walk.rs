//! The walk through the schemas of a request.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::additional::name_all_properties;
use super::conjunction::patterns;
use super::finite::{finite, finite_definitions};
use super::format;
use super::keywords::{Keyword, TYPES, keyword};
use super::pattern;
use super::reference::resolve;
use super::values::{count, kind, literal, multiple, name, number};
use crate::error::{GrammarError, Place};
use crate::limits;

/// The handling of keywords that grammars cannot enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are refused.
    Exact,
    /// They are left out.
    Relaxed,
}

/// The schemas of a request, checked and reduced.
pub(crate) struct Schemas<'r> {
    roots: Vec<Root<'r>>,
    definitions: Map<String, Value>,
    /// The names of definitions by root and address of the value that `$ref` refers to.
    names: BTreeMap<(usize, *const Value), String>,
    pending: VecDeque<(usize, &'r Value, String, String)>,
    /// Where the walk is.
    path: Vec<String>,
    subschemas: usize,
    enum_values: usize,
    patterns: usize,
    multiples: BTreeSet<u64>,
    bytes: usize,
}

struct Root<'r> {
    schema: &'r Value,
    place: Place,
    mode: Mode,
}

impl<'r> Schemas<'r> {
    pub(crate) fn new() -> Schemas<'r> {
        Schemas {
            roots: Vec::new(),
            definitions: Map::new(),
            names: BTreeMap::new(),
            pending: VecDeque::new(),
            path: Vec::new(),
            subschemas: 0,
            enum_values: 0,
            patterns: 0,
            multiples: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// Adds a schema and returns it reduced. Its references are to [`definition`](Self::definition)s.
    ///
    /// # Errors
    /// If it is not a valid schema, is too complex, accepts nothing, or has a keyword that `mode` refuses.
    pub(crate) fn add(&mut self, schema: &'r Value, place: Place, mode: Mode) -> Result<Value, GrammarError> {
        self.bytes += schema.to_string().len();
        let root = self.roots.len();
        self.roots.push(Root { schema, place, mode });
        self.path.clear();
        if self.bytes > limits::SCHEMA_BYTES {
            let most = limits::SCHEMA_BYTES;
            return Err(self.error(
                root,
                format!("expected schemas of at most {most} bytes in all, found {}", self.bytes),
            ));
        }
        let reduced = self.schema(root, schema, 0)?;
        while let Some((root, value, name, from)) = self.pending.pop_front() {
            self.path = vec![from];
            let reduced = self.schema(root, value, 0)?;
            self.definitions.insert(name, reduced);
        }
        self.path.clear();
        if reduced == Value::Bool(false) {
            return Err(self.error(root, "the schema accepts no value".into()));
        }
        if !finite(&reduced, &finite_definitions(&self.definitions)) {
            return Err(self.error(
                root,
                "the schema accepts no value that ends: something that it requires refers back to it".into(),
            ));
        }
        let together = patterns(&reduced, &self.definitions);
        if together > limits::PATTERNS_TOGETHER {
            let most = limits::PATTERNS_TOGETHER;
            return Err(self.error(
                root,
                format!("expected at most {most} `pattern` and `format` that constrain one string together, found {together}"),
            ));
        }
        Ok(reduced)
    }

    /// The definition that a reduced schema refers to.
    pub(crate) fn definition(&self, reference: &str) -> Option<&Value> {
        self.definitions.get(reference.strip_prefix("#/$defs/")?)
    }

    /// A complete document for the compiler of grammars: `schema`, the definitions, and options.
    pub(crate) fn document(&self, schema: &Value) -> Value {
        // `additionalProperties` cannot become a pattern next to other patterns, because the compiler refuses patterns that overlap, or if
        // it is a schema, which would then hold for listed properties too. `\u` is forbidden there instead.
        let patterns = self.roots.iter().any(|root| {
            mentions(root.schema, "patternProperties", &|_| true)
                || mentions(root.schema, "additionalProperties", &Value::is_object)
        });
        let mut options = json!({ "whitespace_pattern": SPACE });
        if patterns {
            options["json_allowed_escapes"] = ESCAPES.into();
        }
        let mut document = match schema {
            Value::Object(schema) => schema.clone(),
            Value::Bool(false) => Map::from_iter([("allOf".to_owned(), json!([false]))]),
            _ => Map::new(),
        };
        let definitions = self.reachable(schema);
        if !definitions.is_empty() {
            document.insert("$defs".into(), Value::Object(definitions));
        }
        let mut document = Value::Object(document);
        if !patterns {
            name_all_properties(&mut document);
        }
        document["x-guidance"] = options;
        document
    }

    /// The definitions that a reduced schema refers to, also through others.
    fn reachable(&self, schema: &Value) -> Map<String, Value> {
        let mut found = BTreeMap::new();
        let mut pending = vec![schema];
        while let Some(schema) = pending.pop() {
            references(schema, &mut |name| {
                if let (Some(definition), false) = (self.definitions.get(name), found.contains_key(name)) {
                    found.insert(name.to_owned(), definition.clone());
                    pending.push(definition);
                }
            });
        }
        found.into_iter().collect()
    }

    fn error(&self, root: usize, message: String) -> GrammarError {
        GrammarError::new(self.roots[root].place, self.path.concat().trim_start_matches('.'), message)
    }

    fn at<T>(
        &mut self,
        step: String,
        visit: impl FnOnce(&mut Self) -> Result<T, GrammarError>,
    ) -> Result<T, GrammarError> {
        self.path.push(step);
        let result = visit(self)?;
        self.path.pop();
        Ok(result)
    }

    /// Reduces a schema.
    fn schema(&mut self, root: usize, schema: &'r Value, depth: usize) -> Result<Value, GrammarError> {
        self.subschemas += 1;
        if depth > limits::SCHEMA_DEPTH {
            return Err(
                self.error(root, format!("expected schemas nested at most {} deep", limits::SCHEMA_DEPTH))
            );
        }
        if self.subschemas > limits::SUBSCHEMAS {
            return Err(
                self.error(root, format!("expected at most {} subschemas in all", limits::SUBSCHEMAS))
            );
        }
        let members = match schema {
            Value::Bool(_) => return Ok(schema.clone()),
            Value::Object(members) => members,
            other => {
                return Err(self
                    .error(root, format!("expected a schema, an object or boolean, found {}", kind(other))));
            }
        };
        let mut out = Map::new();
        let exact = self.roots[root].mode == Mode::Exact;
        for (key, value) in members {
            self.at(format!(".{key}"), |this| match keyword(key) {
                Keyword::Annotation => Ok(()),
                Keyword::Enforced => this.member(root, key, value, depth, &mut out),
                _ if neutral(key, value) => Ok(()),
                _ if !exact => Ok(()),
                Keyword::Unsupported => {
                    Err(this.error(root, format!("the keyword `{key}` is not supported: grammars cannot enforce it")))
                }
                Keyword::Unknown => Err(this.error(
                    root,
                    format!("`{key}` is not a keyword of JSON Schema; remove it, or rename it to `x-{key}` if it is a note"),
                )),
            })?;
        }
        self.settle(root, members, &mut out)?;
        Ok(Value::Object(out))
    }

    /// Reduces one keyword.
    fn member(
        &mut self,
        root: usize,
        key: &str,
        value: &'r Value,
        depth: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), GrammarError> {
        let exact = self.roots[root].mode == Mode::Exact;
        let reduced = match key {
            "type" => self.types(root, value)?,
            "enum" => {
                let Value::Array(values) = value else {
                    return Err(self.expected(root, "an array", value));
                };
                self.enum_values += values.len();
                if values.is_empty() || self.enum_values > limits::ENUM_VALUES {
                    let most = limits::ENUM_VALUES;
                    return Err(self.error(
                        root,
                        format!("expected between 1 and {most} values in all `enum` together"),
                    ));
                }
                let checked = values.iter().try_for_each(|value| literal(value, 0));
                checked.map_err(|why| self.error(root, why))?;
                value.clone()
            }
            "const" => {
                literal(value, 0).map_err(|why| self.error(root, why))?;
                value.clone()
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.list(root, value, depth)?,
            "$ref" => self.reference(root, value)?,
            "properties" | "patternProperties" => self.map(root, key, value, depth)?,
            "items" if value.is_array() => self.list(root, value, depth)?,
            "items" | "additionalItems" | "additionalProperties" => self.schema(root, value, depth + 1)?,
            "required" => self.required(root, value)?,
            "minProperties" | "maxProperties" | "minItems" | "maxItems" => {
                count(value, limits::ITEMS).map_err(|why| self.error(root, why))?.into()
            }
            "minLength" | "maxLength" => {
                match count(value, limits::STRING_LENGTH) {
                    Ok(count) => count.into(),
                    // Whoever sets such a limit does not expect it to be reached.
                    Err(_) if !exact && count(value, u64::MAX).is_ok() => return Ok(()),
                    Err(why) => return Err(self.error(root, why)),
                }
            }
            "pattern" => {
                let Value::String(text) = value else { return Err(self.expected(root, "a string", value)) };
                match self.pattern(root, text) {
                    Ok(()) => value.clone(),
                    Err(_) if !exact => return Ok(()),
                    Err(why) => return Err(why),
                }
            }
            "format" => match value {
                Value::String(_) => value.clone(),
                other => return Err(self.expected(root, "a string", other)),
            },
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => value.clone(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                number(value).map_err(|why| self.error(root, why))?;
                value.clone()
            }
            "multipleOf" => match multiple(value) {
                Ok(coefficient) => {
                    self.multiples.insert(coefficient);
                    let product =
                        self.multiples.iter().try_fold(1, |product: u64, &each| product.checked_mul(each));
                    if product.is_none_or(|product| product > limits::MULTIPLES) {
                        let most = limits::MULTIPLES;
                        return Err(self.error(root, format!(
                            "expected at most {most} as the product of all different `multipleOf`, without their decimal points"
                        )));
                    }
                    value.clone()
                }
                Err(_) if !exact && value.as_f64().is_some_and(|value| value > 0.0) => return Ok(()),
                Err(why) => return Err(self.error(root, why)),
            },
            _ => unreachable!("`{key}` is listed as enforced"),
        };
        out.insert(key.to_owned(), reduced);
        Ok(())
    }

    /// Applies rules that depend on several keywords.
    fn settle(
        &mut self,
        root: usize,
        members: &'r Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), GrammarError> {
        let exact = self.roots[root].mode == Mode::Exact;
        // The older form of tuples.
        let more = out.shift_remove("additionalItems");
        if out.get("items").is_some_and(Value::is_array) {
            if out.contains_key("prefixItems") {
                return Err(self
                    .error(root, "expected either `prefixItems` or an array of `items`, found both".into()));
            }
            let first = out.shift_remove("items").unwrap_or_default();
            out.insert("prefixItems".into(), first);
            if let Some(more) = more {
                out.insert("items".into(), more);
            }
        }
        for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            if let Some(Value::Bool(is)) = out.get(exclusive) {
                let is = *is;
                out.shift_remove(exclusive);
                if is && let Some(value) = out.shift_remove(bound) {
                    out.insert(exclusive.into(), value);
                }
            }
        }
        if let Some(Value::String(format)) = out.get("format") {
            let format = format.clone();
            let types = out.get("type").cloned();
            let is = |name: &str| match &types {
                Some(Value::String(one)) => one == name,
                Some(Value::Array(several)) => several.iter().any(|each| each == name),
                _ => true,
            };
            if !is("string") || (!format::of_string(&format) && format::bounds(&format).is_some()) {
                out.shift_remove("format");
            } else if !format::of_string(&format) {
                if exact {
                    self.path.push(".format".into());
                    return Err(
                        self.error(root, format!("the format `{format}` of strings is not supported"))
                    );
                }
                out.shift_remove("format");
            }
            if let Some((least, most)) = format::bounds(&format).filter(|_| is("integer") || is("number")) {
                tighten(out, "minimum", least, |bound, limit| bound < limit);
                tighten(out, "maximum", most, |bound, limit| bound > limit);
            }
        }
        let required = out.get("required").and_then(Value::as_array).map_or(0, Vec::len) as u64;
        if let Some(least) = out.get("minProperties").and_then(Value::as_u64)
            && least > required.max(1)
        {
            // Names that the schema does not list may come twice, and count once.
            if exact {
                self.path.push(".minProperties".into());
                return Err(self.error(root, format!(
                    "expected at most 1 or the number of required properties, found {least}: grammars cannot count others"
                )));
            }
            out.shift_remove("minProperties");
        }
        if !exact {
            let all = members.get("properties").and_then(Value::as_object).map_or(0, Map::len) as u64;
            if all > required {
                // Supported only where all listed properties are required.
                out.shift_remove("minProperties");
                out.shift_remove("maxProperties");
            }
            if let Some(options) = out.shift_remove("oneOf") {
                // Weaker: several may match.
                let any = json!({ "anyOf": options });
                match out.get_mut("allOf") {
                    Some(Value::Array(all)) => all.push(any),
                    _ => {
                        out.insert("allOf".into(), json!([any]));
                    }
                }
            }
        }
        // In this order the compiler sees all that concerns objects, arrays, … together.
        for key in ["$ref", "const", "enum", "allOf", "anyOf", "oneOf"] {
            if let Some(value) = out.shift_remove(key) {
                out.insert(key.into(), value);
            }
        }
        Ok(())
    }

    fn expected(&self, root: usize, expected: &str, found: &Value) -> GrammarError {
        self.error(root, format!("expected {expected}, found {}", kind(found)))
    }

    fn types(&self, root: usize, value: &Value) -> Result<Value, GrammarError> {
        let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        let valid = match value {
            Value::Array(several) => !several.is_empty() && several.iter().all(known),
            one => known(one),
        };
        if !valid {
            let all = TYPES.join(", ");
            return Err(self
                .error(root, format!("expected one of {all}, or an array of them, found {}", brief(value))));
        }
        // A number is also an integer.
        let Value::Array(several) = value else { return Ok(value.clone()) };
        let mut kept: Vec<Value> = Vec::new();
        for each in several {
            let covered = each == "integer" && several.iter().any(|other| other == "number");
            if !covered && !kept.contains(each) {
                kept.push(each.clone());
            }
        }
        Ok(if kept.len() == 1 { kept.remove(0) } else { Value::Array(kept) })
    }

    fn list(&mut self, root: usize, value: &'r Value, depth: usize) -> Result<Value, GrammarError> {
        let Value::Array(schemas) = value else {
            return Err(self.expected(root, "an array of schemas", value));
        };
        if schemas.is_empty() {
            return Err(self.error(root, "expected at least one schema, found none".into()));
        }
        if schemas.len() > limits::OPTIONS {
            let most = limits::OPTIONS;
            return Err(self.error(root, format!("expected at most {most} schemas, found {}", schemas.len())));
        }
        let mut out = Vec::with_capacity(schemas.len());
        for (index, schema) in schemas.iter().enumerate() {
            out.push(self.at(format!("[{index}]"), |this| this.schema(root, schema, depth + 1))?);
        }
        Ok(Value::Array(out))
    }

    fn map(&mut self, root: usize, key: &str, value: &'r Value, depth: usize) -> Result<Value, GrammarError> {
        let Value::Object(schemas) = value else {
            return Err(self.expected(root, "an object of schemas", value));
        };
        if schemas.len() > limits::PROPERTIES {
            let most = limits::PROPERTIES;
            return Err(
                self.error(root, format!("expected at most {most} properties, found {}", schemas.len()))
            );
        }
        let mut out = Map::new();
        for (property, schema) in schemas {
            let step = if property.len() > 64 { ".…".to_owned() } else { format!(".{property}") };
            let reduced = self.at(step, |this| {
                name(property).map_err(|why| this.error(root, why))?;
                if key == "patternProperties" {
                    this.pattern(root, property)?;
                }
                this.schema(root, schema, depth + 1)
            })?;
            out.insert(property.clone(), reduced);
        }
        Ok(Value::Object(out))
    }

    fn required(&self, root: usize, value: &Value) -> Result<Value, GrammarError> {
        let names =
            value.as_array().and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let Some(names) = names else { return Err(self.error(root, "expected an array of strings".into())) };
        for each in &names {
            name(each).map_err(|why| self.error(root, why))?;
        }
        let mut seen = BTreeSet::new();
        Ok(names.into_iter().filter(|name| seen.insert(*name)).collect())
    }

    fn pattern(&mut self, root: usize, text: &str) -> Result<(), GrammarError> {
        self.patterns += 1;
        if self.patterns > limits::PATTERNS {
            return Err(self.error(root, format!("expected at most {} patterns in all", limits::PATTERNS)));
        }
        pattern::check(text).map_err(|why| self.error(root, why))
    }

    fn reference(&mut self, root: usize, value: &Value) -> Result<Value, GrammarError> {
        let Value::String(reference) = value else { return Err(self.expected(root, "a string", value)) };
        let target = resolve(self.roots[root].schema, reference).map_err(|why| self.error(root, why))?;
        let key = (root, std::ptr::from_ref(target));
        if !self.names.contains_key(&key) {
            if self.names.len() == limits::REFERENCES {
                let most = limits::REFERENCES;
                return Err(
                    self.error(root, format!("expected references to at most {most} different places"))
                );
            }
            let name = format!("d{}", self.names.len());
            self.pending.push_back((root, target, name.clone(), reference.clone()));
            self.names.insert(key, name);
        }
        Ok(format!("#/$defs/{}", self.names[&key]).into())
    }
}

/// Whitespace between the parts of JSON: enough for indented lines, not enough to get lost in.
const SPACE: &str = r"[\x20\x09]{1,16}|(\x0D?\x0A){1,2}[\x20\x09]{0,64}";

/// The escapes of strings without `\u`.
const ESCAPES: &str = "nrbtf\\\"";

/// Whether a keyword that is not supported has a value that constrains nothing.
fn neutral(key: &str, value: &Value) -> bool {
    match key {
        "uniqueItems" => value == &Value::Bool(false),
        "unevaluatedProperties" | "unevaluatedItems" => value == &Value::Bool(true),
        // Names are always strings.
        "propertyNames" => match value {
            Value::Bool(true) => true,
            Value::Object(schema) => schema.iter().all(|(key, value)| match keyword(key) {
                Keyword::Annotation => true,
                _ => key == "type" && value == "string",
            }),
            _ => false,
        },
        "not" => value == &Value::Bool(false),
        "dependentRequired" | "dependentSchemas" | "dependencies" => {
            value.as_object().is_some_and(Map::is_empty)
        }
        _ => false,
    }
}

/// Sets a bound unless there is a stricter one.
fn tighten(out: &mut Map<String, Value>, key: &str, limit: i64, weaker: fn(f64, f64) -> bool) {
    let bound = out.get(key).and_then(Value::as_f64);
    if bound.is_none_or(|bound| weaker(bound, limit as f64)) {
        out.insert(key.into(), limit.into());
    }
}

/// A value for an error, cut short.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether `key` occurs anywhere in a value, with a value that `is` so.
fn mentions(value: &Value, key: &str, is: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| mentions(item, key, is)),
        Value::Object(members) => {
            members.iter().any(|(name, value)| (name == key && is(value)) || mentions(value, key, is))
        }
        _ => false,
    }
}

/// Calls `found` with the name of each definition that a reduced schema refers to.
fn references<'v>(schema: &'v Value, found: &mut impl FnMut(&'v str)) {
    match schema {
        Value::Array(schemas) => schemas.iter().for_each(|schema| references(schema, found)),
        Value::Object(members) => members.iter().for_each(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(to)) => found(to.strip_prefix("#/$defs/").unwrap_or_default()),
            ("const" | "enum" | "required", _) => {}
            ("properties" | "patternProperties", Value::Object(schemas)) => {
                schemas.values().for_each(|schema| references(schema, found));
            }
            _ => references(value, found),
        }),
        _ => {}
    }
}
