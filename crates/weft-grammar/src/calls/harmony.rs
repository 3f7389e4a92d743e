//! Calls in the harmony format: messages to a tool, whose text is JSON.

use super::parts::{Calls, Opening, Tool, plain_name};
use crate::error::GrammarError;
use crate::lark::{Lark, mark, quoted};
use crate::schema::Schemas;
use crate::vocabulary::Mark;

/// `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}`; the recipient may come before the channel.
pub(super) fn rules(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let [start, end, channel, message, constrain] =
        ["<|start|>", "<|end|>", "<|channel|>", "<|message|>", "<|constrain|>"].map(|text| mark(&of(text)));
    let kind = lark.rule(&format!("\" json\" | \" \"? {constrain} \"json\""));
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let to = quoted(&format!(" to=functions.{}", tool.name));
        let arguments = lark.json(|| schemas.document(&tool.arguments));
        let header = lark.rule(&format!(
            "{channel} \"commentary\" {to} {kind}? {message} | {to} {channel} \"commentary\" {kind}? {message}"
        ));
        options.push(lark.rule(&format!("{header} WS? {arguments}")));
    }
    let call = lark.rule(&options.join(" | "));
    let calls =
        if parallel { lark.rule(&format!("{call} ({end} {start} \"assistant\" {call})*")) } else { call };
    Ok(Calls { opening: Opening::Header, calls })
}
