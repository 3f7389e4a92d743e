//! Calls as GLM and Qwen3-Coder write them: keys and values between tags, strings without quotes, other values as JSON.
//!
//! Arguments come in the order of the schema's `properties`; required ones must come. Where the schema lists none, any key
//! may come.

use serde_json::Value;

use super::arguments::{Argument, Arguments};
use super::parts::{Calls, Opening, Tool, plain_name, repeated};
use super::value::{resolve, value};
use crate::error::{GrammarError, Place};
use crate::lark::{Lark, mark, quoted};
use crate::schema::{Mode, Schemas};
use crate::vocabulary::Mark;

/// The marks around keys and values.
struct Tags {
    key: (Mark, Mark),
    /// Some have no mark before a value but that after the key.
    value: (Option<Mark>, Mark),
}

/// `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`
pub(super) fn glm(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let (begin, end) = (of("<tool_call>"), of("</tool_call>"));
    let tags = Tags {
        key: (of("<arg_key>"), of("</arg_key>")),
        value: (Some(of("<arg_value>")), of("</arg_value>")),
    };
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = arguments(lark, schemas, tool, &tags)?;
        options.push(lark.rule(&format!("{} {arguments}", quoted(tool.name))));
    }
    let after = lark.rule(&format!("WS? ({}) WS? {}", options.join(" | "), mark(&end)));
    let next = lark.rule(&format!("{} {after}", mark(&begin)));
    let calls = repeated(lark, &after, &next, parallel);
    Ok(Calls { opening: Opening::Mark { begin, never: Vec::new() }, calls })
}

/// `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`, with newlines around each part.
pub(super) fn qwen(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let (begin, end) = (of("<tool_call>"), of("</tool_call>"));
    let text = |text: &str| Mark { text: text.to_owned(), token: None };
    // The newlines beside a value are part of the tags.
    let tags = Tags { key: (text("<parameter="), text(">\n")), value: (None, text("\n</parameter>")) };
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = arguments(lark, schemas, tool, &tags)?;
        options.push(lark.rule(&format!("{} {arguments}", quoted(&format!("<function={}>", tool.name)))));
    }
    let function = options.join(" | ");
    let after = lark.rule(&format!("WS? ({function}) WS? \"</function>\" WS? {}", mark(&end)));
    let next = lark.rule(&format!("{} {after}", mark(&begin)));
    let calls = repeated(lark, &after, &next, parallel);
    Ok(Calls { opening: Opening::Mark { begin, never: vec![text("<function=")] }, calls })
}

/// The rule of a tool's arguments.
fn arguments(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    tags: &Tags,
) -> Result<String, GrammarError> {
    const KNOWN: &[&str] = &["type", "properties", "required", "additionalProperties"];
    if tool.mode == Mode::Exact
        && let Value::Object(schema) = resolve(schemas, &tool.arguments)
        && let Some(key) = schema.keys().find(|key| !KNOWN.contains(&key.as_str()))
    {
        let message =
            "this keyword is not supported for all arguments together: this model writes them one by one";
        return Err(GrammarError::new(Place::Tool(tool.index), key, message));
    }
    let Arguments { named, more } = Arguments::of(schemas, tool)?;
    let mut rule = Vec::new();
    for Argument { key, schema, required } in named {
        let argument = argument(lark, schemas, tool, key, schema, tags)?;
        rule.push(format!("(WS? {argument}){}", if required { "" } else { "?" }));
    }
    if let Some(more) = more.filter(|_| rule.is_empty()) {
        let key = lark.ended("/[^<>\\n]+/", false, &tags.key.1, &[]);
        let value = value(lark, schemas, tool, "", more, &tags.value.1)?;
        rule.push(format!("(WS? {} {key}{} {value})*", mark(&tags.key.0), tags.before_value()));
    }
    Ok(if rule.is_empty() { "\"\"".to_owned() } else { lark.rule(&rule.join(" ")) })
}

/// The rule of one argument.
fn argument(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    key: &str,
    schema: &Value,
    tags: &Tags,
) -> Result<String, GrammarError> {
    if key.is_empty() || key.trim() != key || key.contains('<') || key.contains(&tags.key.1.text[..1]) {
        return Err(GrammarError::new(
            Place::Tool(tool.index),
            format!("properties.{key}"),
            "expected a name that this model can write between tags: not empty, without whitespace around it and \
             without < or, in Qwen3-Coder's form, >",
        ));
    }
    let value = value(lark, schemas, tool, key, schema, &tags.value.1)?;
    let [begin, end] = [&tags.key.0, &tags.key.1].map(mark);
    Ok(lark.rule(&format!("{begin} {} {end}{} {value}", quoted(key), tags.before_value())))
}

impl Tags {
    /// The text between a key's end and a value.
    fn before_value(&self) -> String {
        self.value.0.as_ref().map_or(String::new(), |begin| format!(" WS? {}", mark(begin)))
    }
}
