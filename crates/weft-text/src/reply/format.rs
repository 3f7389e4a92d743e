//! How a model writes reasoning and tool calls, recognised from its chat template.

use super::{gemma, harmony};
use crate::tokenizer::Tokenizer;

/// How a model writes reasoning and tool calls.
///
/// The default has neither. A model whose template has no tools has `tools: None`; [`ToolSyntax::Hermes`] is what such
/// models understand best when a prompt explains it to them, but that is for the caller to decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyFormat {
    /// The tags around reasoning; `None` for models that do not reason.
    pub reasoning: Option<ReasoningTags>,
    /// The form of calls; `None` if the template has no tools, or an unknown form.
    pub tools: Option<ToolSyntax>,
    /// Whether a reply is a sequence of messages in the harmony format, as gpt-oss writes them. Then there are no tags around
    /// reasoning, and calls are [`ToolSyntax::Harmony`] or none.
    pub harmony: bool,
}

/// The tags around reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReasoningTags {
    /// For example `<think>`.
    pub begin: &'static str,
    /// For example `</think>`.
    pub end: &'static str,
}

/// How a model writes tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ToolSyntax {
    /// `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`. Strings are written as they are,
    /// other values as JSON. GLM-4.5 and later.
    Glm,
    /// `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, arguments in a fenced block of JSON,
    /// `<｜tool▁call▁end｜><｜tool▁calls▁end｜>`. DeepSeek V3 and R1.
    DeepSeekV3,
    /// The same with `name<｜tool▁sep｜>arguments` and no fence. DeepSeek V3.1.
    DeepSeekV31,
    /// `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Hermes, Qwen and many others.
    Hermes,
    /// `{"name": …, "parameters": {…}}` as the whole reply, optionally after `<|python_tag|>`; further calls follow after
    /// `;`. Llama 3.
    Llama3,
    /// `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`. gpt-oss.
    Harmony,
    /// `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`, each tag and each value on lines of
    /// their own. Strings are written as they are, other values as JSON. Qwen3-Coder, Qwen3.5, Nemotron 3.
    Qwen3Coder,
    /// `<|tool_calls_section_begin|><|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`
    /// `<|tool_calls_section_end|>`. Kimi K2.
    KimiK2,
    /// `[TOOL_CALLS]name[ARGS]{…}`, with an id after `[CALL_ID]` in between or without. Mistral Small 3.2, Ministral 3, Devstral.
    Mistral,
    /// `<|tool_call>call:name{key:<|"|>text<|"|>,other:3}<tool_call|>`. Strings are between marks, keys without quotes, other values are
    /// JSON. Gemma 4.
    Gemma4,
    /// `[TOOL_CALLS][{"name": …, "arguments": {…}}]`. Mistral 7B v0.3, Mixtral and Nemo. The parser reads this form and the one
    /// before alike.
    MistralList,
}

impl ReasoningTags {
    const THINK: ReasoningTags = ReasoningTags { begin: "<think>", end: "</think>" };
    const MISTRAL: ReasoningTags = ReasoningTags { begin: "[THINK]", end: "[/THINK]" };
    const SEED: ReasoningTags = ReasoningTags { begin: "<seed:think>", end: "</seed:think>" };
    const COMMAND: ReasoningTags = ReasoningTags { begin: "<|START_THINKING|>", end: "<|END_THINKING|>" };
    /// The channel of Gemma 4's thoughts.
    const GEMMA: ReasoningTags = ReasoningTags { begin: "<|channel>thought", end: "<channel|>" };
    /// All of them. A template that has several has the first for its own: others come in examples.
    const ALL: [ReasoningTags; 5] = [Self::SEED, Self::COMMAND, Self::GEMMA, Self::THINK, Self::MISTRAL];
}

pub(crate) const TOOL_CALL: &str = "<tool_call>";
pub(crate) const TOOL_CALL_END: &str = "</tool_call>";
pub(crate) const ARG_KEY: &str = "<arg_key>";
pub(crate) const ARG_KEY_END: &str = "</arg_key>";
pub(crate) const ARG_VALUE: &str = "<arg_value>";
pub(crate) const ARG_VALUE_END: &str = "</arg_value>";
pub(crate) const CALLS_BEGIN: &str = "<｜tool▁calls▁begin｜>";
pub(crate) const CALLS_END: &str = "<｜tool▁calls▁end｜>";
pub(crate) const CALL_BEGIN: &str = "<｜tool▁call▁begin｜>";
pub(crate) const CALL_SEP: &str = "<｜tool▁sep｜>";
pub(crate) const CALL_END: &str = "<｜tool▁call▁end｜>";
pub(crate) const FENCE: &str = "```";
pub(crate) const PYTHON_TAG: &str = "<|python_tag|>";
pub(crate) const FUNCTION: &str = "<function=";
pub(crate) const FUNCTION_END: &str = "</function>";
pub(crate) const PARAMETER: &str = "<parameter=";
pub(crate) const PARAMETER_END: &str = "</parameter>";
const KIMI_CALLS: &str = "<|tool_calls_section_begin|>";
const KIMI_CALLS_END: &str = "<|tool_calls_section_end|>";
pub(crate) const KIMI_CALL: &str = "<|tool_call_begin|>";
pub(crate) const KIMI_ARGUMENTS: &str = "<|tool_call_argument_begin|>";
pub(crate) const KIMI_CALL_END: &str = "<|tool_call_end|>";
const GEMMA_CALL: &str = "<|tool_call>";
pub(crate) const GEMMA_CALL_END: &str = "<tool_call|>";
const MISTRAL_CALLS: &str = "[TOOL_CALLS]";
pub(crate) const MISTRAL_ID: &str = "[CALL_ID]";
pub(crate) const MISTRAL_ARGUMENTS: &str = "[ARGS]";

impl ToolSyntax {
    /// The text that begins a call or a list of calls. For Llama 3 this counts only where `first` is true, at the beginning of a reply,
    /// or right after another call.
    pub(crate) fn openers(self, first: bool, after_call: bool) -> &'static [&'static str] {
        match self {
            ToolSyntax::Glm | ToolSyntax::Hermes => &[TOOL_CALL],
            ToolSyntax::DeepSeekV3 | ToolSyntax::DeepSeekV31 => &[CALLS_BEGIN, CALL_BEGIN],
            ToolSyntax::Llama3 if first => &[PYTHON_TAG, "{"],
            ToolSyntax::Llama3 if after_call => &[PYTHON_TAG, "{", ";"],
            ToolSyntax::Llama3 | ToolSyntax::Harmony => &[],
            // Models leave the first out at times.
            ToolSyntax::Qwen3Coder => &[TOOL_CALL, FUNCTION],
            ToolSyntax::KimiK2 => &[KIMI_CALLS, KIMI_CALL],
            ToolSyntax::Gemma4 => &[GEMMA_CALL],
            ToolSyntax::Mistral | ToolSyntax::MistralList if after_call => &[MISTRAL_CALLS, ","],
            ToolSyntax::Mistral | ToolSyntax::MistralList => &[MISTRAL_CALLS],
        }
    }

    /// The tags that may follow a call's arguments, in this order, and belong to the call. The last may come again.
    pub(crate) fn closers(self) -> &'static [&'static str] {
        match self {
            ToolSyntax::Hermes | ToolSyntax::Glm | ToolSyntax::Qwen3Coder => &[TOOL_CALL_END],
            ToolSyntax::DeepSeekV3 => &[FENCE, CALL_END, CALLS_END],
            ToolSyntax::DeepSeekV31 => &[CALL_END, CALLS_END],
            ToolSyntax::KimiK2 => &[KIMI_CALL_END, KIMI_CALLS_END],
            ToolSyntax::Gemma4 => &[GEMMA_CALL_END],
            ToolSyntax::Mistral | ToolSyntax::MistralList => &["]"],
            ToolSyntax::Llama3 | ToolSyntax::Harmony => &[],
        }
    }

    /// All tags that can be a token of their own.
    fn tags(self) -> &'static [&'static str] {
        match self {
            ToolSyntax::Glm => &[TOOL_CALL, TOOL_CALL_END, ARG_KEY, ARG_KEY_END, ARG_VALUE, ARG_VALUE_END],
            ToolSyntax::Hermes | ToolSyntax::Qwen3Coder => &[TOOL_CALL, TOOL_CALL_END],
            ToolSyntax::KimiK2 => &[KIMI_CALLS, KIMI_CALLS_END, KIMI_CALL, KIMI_ARGUMENTS, KIMI_CALL_END],
            ToolSyntax::Mistral | ToolSyntax::MistralList => &[MISTRAL_CALLS, MISTRAL_ID, MISTRAL_ARGUMENTS],
            ToolSyntax::Gemma4 => &[GEMMA_CALL, GEMMA_CALL_END, gemma::QUOTE],
            ToolSyntax::DeepSeekV3 | ToolSyntax::DeepSeekV31 => {
                &[CALLS_BEGIN, CALLS_END, CALL_BEGIN, CALL_SEP, CALL_END]
            }
            ToolSyntax::Llama3 => &[PYTHON_TAG],
            // Those of the format, with or without tools.
            ToolSyntax::Harmony => &[],
        }
    }
}

impl ReplyFormat {
    /// Recognises the format from the source of a chat template.
    pub fn of(template: &str) -> ReplyFormat {
        // Within a string of the template, quotes may be escaped.
        let source = template.replace("\\\"", "\"");
        let has = |text: &str| source.contains(text);
        // Others have the first two marks and different ends.
        if has(harmony::START) && has(harmony::MESSAGE) && (has(harmony::END) || has(harmony::CHANNEL)) {
            let tools = has(harmony::FUNCTIONS).then_some(ToolSyntax::Harmony);
            return ReplyFormat { reasoning: None, tools, harmony: true };
        }
        let reasons = |tags: &ReasoningTags| match tags.begin {
            // The model may begin, and the template only look for the end.
            "<think>" => has(tags.begin) || has(tags.end),
            _ => has(tags.begin) && has(tags.end),
        };
        let reasoning = ReasoningTags::ALL.into_iter().find(reasons);
        let tools = if has(MISTRAL_CALLS) {
            Some(if has(MISTRAL_ARGUMENTS) { ToolSyntax::Mistral } else { ToolSyntax::MistralList })
        } else if has(&format!("{GEMMA_CALL}call:")) {
            Some(ToolSyntax::Gemma4)
        } else if has(KIMI_CALL) {
            Some(ToolSyntax::KimiK2)
        } else if has(ARG_KEY) && has(TOOL_CALL) {
            Some(ToolSyntax::Glm)
        } else if has(CALL_BEGIN) {
            Some(if has("```json") { ToolSyntax::DeepSeekV3 } else { ToolSyntax::DeepSeekV31 })
        } else if has(FUNCTION) {
            // Others have a tag of their own around it, or JSON within.
            (has(TOOL_CALL) && has(PARAMETER)).then_some(ToolSyntax::Qwen3Coder)
        } else if has(TOOL_CALL) {
            Some(ToolSyntax::Hermes)
        } else if has(PYTHON_TAG) || (has(r#"{"name": "#) && has(r#""parameters": "#)) {
            Some(ToolSyntax::Llama3)
        } else {
            None
        };
        ReplyFormat { reasoning, tools, harmony: false }
    }

    /// The control tokens whose text a [`ReplyParser`](crate::reply::ReplyParser) must see, in ascending order.
    ///
    /// Text of control tokens is usually left out of a reply. Tags that the vocabulary has as ordinary tokens, or that are
    /// several tokens, are not listed, nor are tokens that end a reply. With a tool syntax in a request without tools,
    /// `<|python_tag|>` and the like would come out as text; remove [`tools`](ReplyFormat::tools) from the format first.
    pub fn shown(&self, tokenizer: &Tokenizer) -> Vec<u32> {
        let mut shown: Vec<u32> = self
            .tags()
            .filter_map(|tag| tokenizer.find(tag))
            .filter(|&id| tokenizer.is_control(id) && !tokenizer.is_end_of_generation(id))
            .collect();
        shown.sort_unstable();
        shown.dedup();
        shown
    }

    /// Whether a reply to this rendered prompt begins inside reasoning.
    pub fn begins_in_reasoning(&self, prompt: &str) -> bool {
        if self.harmony {
            return harmony::begins_in_reasoning(prompt);
        }
        self.reasoning.is_some_and(|tags| prompt.trim_end().ends_with(tags.begin))
    }

    fn tags(&self) -> impl Iterator<Item = &'static str> {
        let reasoning = self.reasoning.into_iter().flat_map(|tags| [tags.begin, tags.end]);
        let harmony = if self.harmony { harmony::MARKS } else { &[] };
        let tools = self.tools.into_iter().flat_map(|syntax| syntax.tags().iter().copied());
        reasoning.chain(harmony.iter().copied()).chain(tools)
    }
}
