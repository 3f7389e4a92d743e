//! Calls as Gemma 4 writes them: keys without quotes, strings between marks, other values as JSON.
//!
//! Of a strict tool, arguments are JSON, which the parser of replies reads in their place: only JSON can be constrained by
//! all of a schema. Of other tools, they come in the order of the schema's `properties`; required ones must come, strings and
//! numbers are such, and listed values are those. Where the schema lists no properties, any key may come.

use serde_json::Value;

use super::arguments::{Argument, Arguments};
use super::parts::{Calls, Opening, Tool, plain_name, repeated};
use super::value::resolve;
use crate::error::{GrammarError, Place};
use crate::lark::{Lark, mark, quoted};
use crate::schema::{Mode, Schemas};
use crate::vocabulary::Mark;

/// The characters that a key cannot have.
const NO_KEY: &str = ":{}[],\"<>|\n\r";

/// The rules of values that any call may have.
struct Values {
    /// The mark around strings.
    quote: String,
    /// A string that is not empty, without its marks.
    text: String,
    number: String,
    integer: String,
    /// A key and a colon.
    key: String,
    any: String,
}

/// `<|tool_call>call:name{key:<|"|>text<|"|>}<tool_call|>`
pub(super) fn rules(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let (begin, end) = (of("<|tool_call>"), of("<tool_call|>"));
    let values = Values::new(lark, &of("<|\"|>"));
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = match tool.mode {
            Mode::Exact => lark.json(|| schemas.document(&tool.arguments)),
            Mode::Relaxed => arguments(lark, schemas, tool, &values)?,
        };
        options.push(lark.rule(&format!("{} {arguments}", quoted(&format!("call:{}", tool.name)))));
    }
    let call = lark.rule(&format!("({}) {}", options.join(" | "), mark(&end)));
    let next = lark.rule(&format!("{} {call}", mark(&begin)));
    let calls = repeated(lark, &call, &next, parallel);
    Ok(Calls { opening: Opening::Mark { begin, never: Vec::new() }, calls })
}

impl Values {
    fn new(lark: &mut Lark, quote: &Mark) -> Values {
        let text = lark.text(&[quote]);
        let quote = mark(quote);
        let integer = lark.terminal("/-?(0|[1-9][0-9]{0,14})/");
        let number = lark.terminal(r"/-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+\-]?[0-9]{1,2})?/");
        let key = lark.terminal(r#"/[^:\{\}\[\],"<>|\s][^:\{\}\[\],"<>|\n\r]{0,63}:/"#);
        let any = lark.recursive(|any| {
            let several = |one: &str| format!("({one} (\",\" {one})*)?");
            let (items, pairs) = (several(any), several(&format!("{key} {any}")));
            format!(
                "{quote} {text}? {quote} | {number} | \"true\" | \"false\" | \"null\" | \"[\" {items} \"]\" | \"{{\" {pairs} \"}}\""
            )
        });
        Values { quote, text, number, integer, key, any }
    }

    /// The rule of a value.
    fn of(&self, lark: &mut Lark, schemas: &Schemas<'_>, schema: &Value) -> String {
        let Value::Object(schema) = resolve(schemas, schema) else { return self.any.clone() };
        let listed = match (schema.get("const"), schema.get("enum")) {
            (Some(one), _) => vec![one.clone()],
            (None, Some(Value::Array(several))) => several.clone(),
            _ => Vec::new(),
        };
        let spelled: Option<Vec<String>> = listed.iter().map(|value| self.listed(value)).collect();
        if let Some(spelled) = spelled.filter(|spelled| !spelled.is_empty()) {
            return lark.rule(&spelled.join(" | "));
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => lark.rule(&format!("{0} {1}? {0}", self.quote, self.text)),
            Some("integer") => self.integer.clone(),
            Some("number") => self.number.clone(),
            Some("boolean") => lark.rule("\"true\" | \"false\""),
            Some("null") => lark.rule("\"null\""),
            Some("array") => {
                let item = schema.get("items").map_or(self.any.clone(), |items| self.of_shallow(lark, items));
                lark.rule(&format!("\"[\" ({item} (\",\" {item})*)? \"]\""))
            }
            Some("object") => {
                let pair = format!("{} {}", self.key, self.any);
                lark.rule(&format!("\"{{\" ({pair} (\",\" {pair})*)? \"}}\""))
            }
            _ => self.any.clone(),
        }
    }

    /// The rule of a value of an array, whose schema may refer to itself.
    fn of_shallow(&self, lark: &mut Lark, schema: &Value) -> String {
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => lark.rule(&format!("{0} {1}? {0}", self.quote, self.text)),
            Some("integer") => self.integer.clone(),
            Some("number") => self.number.clone(),
            _ => self.any.clone(),
        }
    }

    /// A value that a schema lists; `None` if it cannot be spelled here.
    fn listed(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) if text.contains("<|") => None,
            Value::String(text) => Some(format!("{0} {1} {0}", self.quote, quoted(text))),
            Value::Array(_) | Value::Object(_) => None,
            other => Some(quoted(&other.to_string())),
        }
    }
}

/// The rule of a tool's arguments.
///
/// # Errors
/// If one that must come cannot be written.
fn arguments(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    values: &Values,
) -> Result<String, GrammarError> {
    let Arguments { named, more } = Arguments::of(schemas, tool)?;
    let spelled = |key: &str| !key.is_empty() && key.trim() == key && !key.contains(|c| NO_KEY.contains(c));
    if let Some(Argument { key, .. }) = named.iter().find(|one| one.required && !spelled(one.key)) {
        let message = "expected a name that this model can write before a colon: not empty, without whitespace around it and \
                       without any of :{}[],\"<>| and line breaks";
        return Err(GrammarError::new(Place::Tool(tool.index), format!("properties.{key}"), message));
    }
    let named: Vec<Argument<'_>> = named.into_iter().filter(|one| spelled(one.key)).collect();
    if named.is_empty() && more.is_some() {
        let pair = format!("{} {}", values.key, values.any);
        return Ok(lark.rule(&format!("\"{{\" ({pair} (\",\" {pair})*)? \"}}\"")));
    }
    // From the last one: what may come after others, and what may come first.
    let (mut after, mut first) = (String::from("\"\""), String::from("\"\""));
    for Argument { key, schema, required } in named.into_iter().rev() {
        let value = values.of(lark, schemas, schema);
        let pair = lark.rule(&format!("{} {value} {after}", quoted(&format!("{key}:"))));
        let with_comma = lark.rule(&format!("\",\" {pair}"));
        (after, first) = match required {
            true => (with_comma, pair),
            false => (lark.rule(&format!("{with_comma} | {after}")), lark.rule(&format!("{pair} | {first}"))),
        };
    }
    Ok(lark.rule(&format!("\"{{\" {first} \"}}\"")))
}
