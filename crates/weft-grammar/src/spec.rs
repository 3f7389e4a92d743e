//! The required form of a reply, as data.

use serde_json::Value;
use weft_text::reply::ReplyFormat;

/// The required form of a reply: perhaps reasoning, then text or calls of tools.
#[derive(Clone, Debug, PartialEq)]
pub struct GrammarSpec {
    /// Whether the reply begins with reasoning, which is free text.
    pub reasoning: Reasoning,
    /// The required form of the reply's text.
    pub text: TextSpec,
    /// The tools that the reply may or must call.
    pub calls: Option<CallSpec>,
}

impl GrammarSpec {
    /// Whether the reply is constrained at all. Free text needs no grammar, nor do calls that are neither required nor
    /// strict.
    pub fn constrains(&self) -> bool {
        self.text != TextSpec::Free
            || self.calls.as_ref().is_some_and(|calls| {
                calls.choice != ToolChoice::Auto || calls.tools.iter().any(|tool| tool.strict)
            })
    }
}

/// Whether a reply begins with reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// The model does not reason, or the prompt has ended its reasoning.
    None,
    /// The reply may begin with reasoning: `begin`, free text, `end`.
    Optional {
        /// The text that begins it.
        begin: String,
        /// The text that ends it.
        end: String,
    },
    /// The prompt ends inside reasoning: the reply begins with free text up to `end`.
    Open {
        /// The text that ends it.
        end: String,
    },
    /// The reply is messages in the harmony format, and those of the channel `analysis` are reasoning. Calls are
    /// [`CallForm::Harmony`].
    Messages {
        /// The part of the reply that the prompt has begun.
        begun: Begun,
    },
}

/// The part of a reply in the harmony format that a prompt has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The header of a message: the prompt ends with `<|start|>assistant`.
    Header,
    /// A message of reasoning.
    Reasoning,
    /// A message of text.
    Text,
}

impl Reasoning {
    /// How a reply of this format to this rendered prompt begins.
    pub fn after(format: &ReplyFormat, prompt: &str) -> Reasoning {
        match &format.reasoning {
            _ if format.harmony => {
                let begun = if format.begins_in_reasoning(prompt) {
                    Begun::Reasoning
                } else if prompt.trim_end().ends_with("<|message|>") {
                    Begun::Text
                } else {
                    Begun::Header
                };
                Reasoning::Messages { begun }
            }
            None => Reasoning::None,
            Some(tags) if format.begins_in_reasoning(prompt) => Reasoning::Open { end: tags.end.into() },
            // The template has ended the reasoning before it began.
            Some(tags) if prompt.trim_end().ends_with(tags.end) => Reasoning::None,
            Some(tags) => Reasoning::Optional { begin: tags.begin.into(), end: tags.end.into() },
        }
    }
}

/// The required form of a reply's text.
#[derive(Clone, Debug, PartialEq)]
pub enum TextSpec {
    /// Anything.
    Free,
    /// A JSON object.
    JsonObject,
    /// JSON that is valid by this schema.
    JsonSchema(Value),
    /// A text that this regular expression matches as a whole.
    Pattern(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// A text that follows this grammar: llama.cpp's GBNF, which begins with the rule `root`, or llguidance's dialect of Lark, which
    /// begins with `start`.
    Grammar(String),
}

/// The tools that a reply may or must call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpec {
    /// How the model writes them.
    pub form: CallForm,
    /// The tools.
    pub tools: Vec<Callable>,
    /// Whether one must be called.
    pub choice: ToolChoice,
    /// Whether one reply may have several calls.
    pub parallel: bool,
}

/// How a model writes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`
    Glm,
    /// DeepSeek V3: between its own markers, with the arguments in a fenced block.
    DeepSeekV3,
    /// DeepSeek V3.1: between its own markers.
    DeepSeekV31,
    /// Hermes and Qwen: `<tool_call>{"name": …, "arguments": …}</tool_call>`
    Hermes,
    /// Llama 3: `{"name": …, "parameters": …}`, perhaps after `<|python_tag|>`.
    Llama3,
    /// gpt-oss: `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}`. The whole reply is then in the harmony
    /// format.
    Harmony,
    /// Qwen3-Coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`, with newlines between.
    Qwen3Coder,
    /// Kimi K2: between its own markers, with ids that contain the name.
    KimiK2,
    /// Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>}<tool_call|>`
    Gemma4,
    /// Mistral: `[TOOL_CALLS]name[ARGS]{…}`, perhaps with an id.
    Mistral,
    /// Earlier models of Mistral: `[TOOL_CALLS][{"name": …, "arguments": …}]`
    MistralList,
}

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Callable {
    /// Its name.
    pub name: String,
    /// The JSON schema of its arguments; null if it takes none.
    pub parameters: Value,
    /// Whether its arguments must be valid by the schema to the letter. Otherwise keywords that grammars cannot
    /// enforce are left out.
    pub strict: bool,
}

/// Whether a tool must be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// Some tool must be called.
    Required,
    /// The tool of this name must be called.
    Named(String),
}
