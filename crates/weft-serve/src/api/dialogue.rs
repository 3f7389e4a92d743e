//! A conversation as every chat-like API asks for it, and how it becomes a prompt.

use std::sync::Arc;

use serde_json::{Map, Value};
use weft_engine::{ChatTemplate, Message, RenderOptions, TemplateError, Tokenizer};
use weft_grammar::{CallForm, CallSpec, Callable, GrammarSpec, Reasoning, TextSpec};
use weft_text::reply::{ReplyFormat, Tool, ToolSyntax};

use super::continued::Said;
use super::fallback;
use super::thinking::{self, Thinking};
use crate::error::{ApiError, Kind};
use crate::models::{Facts, Loaded};
use crate::reply::Reading;

/// Which tools the model has to call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum ToolChoice {
    /// Those it chooses, if any.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

/// A form that the reply must have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OutputFormat {
    /// A JSON object.
    JsonObject,
    /// JSON that is valid for a schema.
    JsonSchema(Value),
    /// A text that this regular expression matches as a whole.
    Pattern(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// A text by this grammar, in GBNF or Lark.
    Grammar(String),
}

impl OutputFormat {
    /// The form as the grammar has it.
    pub(crate) fn spec(format: Option<&OutputFormat>) -> TextSpec {
        match format {
            None => TextSpec::Free,
            Some(OutputFormat::JsonObject) => TextSpec::JsonObject,
            Some(OutputFormat::JsonSchema(schema)) => TextSpec::JsonSchema(schema.clone()),
            Some(OutputFormat::Pattern(pattern)) => TextSpec::Pattern(pattern.clone()),
            Some(OutputFormat::Choice(texts)) => TextSpec::Choice(texts.clone()),
            Some(OutputFormat::Grammar(text)) => TextSpec::Grammar(text.clone()),
        }
    }
}

/// A conversation, and the requirements of its reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialogue {
    /// The messages, as OpenAI writes them.
    pub(crate) messages: Vec<Message>,
    /// The tools that the model may call.
    pub(crate) tools: Vec<Tool>,
    /// Which of them it has to call.
    pub(crate) choice: ToolChoice,
    /// Whether it may call several.
    pub(crate) parallel: bool,
    /// The form of the reply.
    pub(crate) format: Option<OutputFormat>,
    /// Whether the last message, which is the assistant's, is to be continued.
    pub(crate) continues: bool,
    /// The requested reasoning.
    pub(crate) thinking: Thinking,
}

/// A conversation as a prompt.
pub(crate) struct Prompt {
    /// Its tokens.
    pub(crate) tokens: Vec<u32>,
    /// Its text.
    pub(crate) text: Arc<str>,
    /// Control tokens that the reader must see.
    pub(crate) shown: Vec<u32>,
    /// How the reply to it is read.
    pub(crate) reading: Reading,
    /// The grammar that the reply must follow.
    pub(crate) grammar: GrammarSpec,
    /// The beginning of the reply, which its grammar includes.
    pub(crate) begun: String,
}

impl Dialogue {
    /// Makes a prompt, with the model's template. If it has more than `most` tokens for certain, it is not tokenised.
    ///
    /// # Errors
    /// If the model has no template, the template refuses the messages, or the prompt is too long for certain.
    pub(crate) async fn prompt(
        mut self,
        model: &Arc<Loaded>,
        most: Option<usize>,
    ) -> Result<(Dialogue, Prompt), ApiError> {
        self.complete(model.system.as_deref(), model.think, model.reasoning_budget);
        self.thinking.preserve = self.thinking.preserve.or(Some(model.preserve));
        let model = Arc::clone(model);
        // Templates are programs, and long prompts take a while.
        let rendered = tokio::task::spawn_blocking(move || {
            let prompt = self.render(&model, most)?;
            Ok((self, prompt))
        });
        rendered.await.unwrap_or_else(|_| Err(ApiError::new(Kind::Internal, "the chat template panicked")))
    }

    /// Adds what the conversation leaves to the model: a system message, whether it reasons, and for how many tokens at most.
    fn complete(&mut self, system: Option<&str>, think: Option<bool>, budget: Option<usize>) {
        let instructs = |message: &Message| matches!(message.role.as_str(), "system" | "developer");
        if let Some(system) = system.filter(|_| !self.messages.iter().any(instructs)) {
            self.messages.insert(0, Message::new("system", system));
        }
        let says = |name: &String| ["enable_thinking", "thinking", thinking::EFFORT].contains(&name.as_str());
        // A continued reply has ended its reasoning, or had none.
        let answers = self.continues && self.messages.last().is_some_and(|last| last.content != "");
        let think = if answers { Some(false) } else { think };
        if budget == Some(0) {
            // Whoever runs the server allows no reasoning, whatever a request asks for.
            thinking::set_budget(&mut self.thinking, 0);
        }
        // Otherwise the request's own budget comes before the server's.
        self.thinking.budget = self.thinking.budget.or(budget);
        if let Some(think) = think.filter(|_| !self.thinking.variables.keys().any(says)) {
            thinking::set(&mut self.thinking, think);
        }
    }

    /// Continues the last message if it is the assistant's, which is at `path` in the request.
    ///
    /// # Errors
    /// If it has calls: what follows is their results.
    pub(crate) fn continue_last(&mut self, path: &str) -> Result<(), ApiError> {
        let Some(last) = self.messages.last().filter(|last| last.role == "assistant") else { return Ok(()) };
        if Said::of(last).is_none() {
            let message = format!(
                "{path}: the last message is the assistant's, and its calls cannot be continued; send their results"
            );
            return Err(ApiError::unsupported(path, message));
        }
        self.continues = true;
        Ok(())
    }

    fn render(&self, model: &Loaded, most: Option<usize>) -> Result<Prompt, ApiError> {
        let Facts { template, tokenizer, format, tools, .. } = &model.facts;
        match tools {
            Err(error) if self.offers() => self.render_for(Err(error), tokenizer, format, most),
            Ok(Some((template, format))) if self.offers() => {
                self.render_for(Ok(&**template), tokenizer, format, most)
            }
            _ => self.render_for(template.as_deref(), tokenizer, format, most),
        }
    }

    /// Whether the model may call tools.
    fn offers(&self) -> bool {
        !self.tools.is_empty() && self.choice != ToolChoice::None
    }

    /// The prompt for this template, by which a model writes replies of this format.
    pub(super) fn render_for(
        &self,
        template: Result<&ChatTemplate, &TemplateError>,
        tokenizer: &Tokenizer,
        format: &ReplyFormat,
        most: Option<usize>,
    ) -> Result<Prompt, ApiError> {
        let wrong = |error: &TemplateError| match error {
            TemplateError::Missing => {
                let message = "this model has no chat template; use /v1/completions";
                ApiError::new(Kind::Invalid, message).code("no_chat_template")
            }
            error => ApiError::invalid("messages", format!("the model's chat template: {error}")),
        };
        let (template, offered) = (template.map_err(wrong)?, self.offers());
        let features = template.features();
        let now = i64::try_from(super::wire::now()).ok();
        let mut options = RenderOptions { now, ..RenderOptions::default() };
        for (name, value) in &self.thinking.variables {
            if name == thinking::EFFORT {
                if format.harmony {
                    let effort = thinking::nearest(value.as_str().unwrap_or_default());
                    options.extra.insert(name.clone(), effort.into());
                }
                continue;
            }
            // Templates name this switch in two ways.
            let name = if name == "enable_thinking" { features.thinking.unwrap_or(name) } else { name };
            options.extra.insert(name.into(), value.clone());
        }
        if let (Some((name, keeps)), Some(preserve)) = (features.preserve, self.thinking.preserve) {
            options.extra.insert(name.into(), (preserve == keeps).into());
        }
        let tools = if offered { self.tools.as_slice() } else { &[] };
        let mut format = format.clone();
        let has_calls = self.messages.iter().any(|message| {
            message.extra.contains_key("tool_calls") || matches!(message.role.as_str(), "tool" | "function")
        });
        let messages = if (offered && !(features.tools && format.tools.is_some()))
            || (has_calls && !(features.tool_calls && features.tool_results))
        {
            if format.harmony {
                let message = "this model's replies are in the harmony format, in which calls are messages, but its chat \
                               template writes no tools and calls; use the template of gpt-oss, or no tools";
                return Err(ApiError::invalid("tools", message));
            }
            format.tools = Some(ToolSyntax::Hermes);
            fallback::rewrite(&self.messages, tools)
        } else {
            if offered {
                options.extra.insert("tools".into(), tools.iter().map(tool_json).collect());
            }
            self.messages.clone()
        };
        if !offered {
            // Marks of calls are text then, and some are control tokens.
            format.tools = None;
        }
        let mut messages = messages;
        let last = if self.continues { messages.pop() } else { None };
        let mut rendered = template.prompt(&messages, &options).or_else(|error| match error {
            // Calls without results and results without calls become text, if the template cannot write them.
            TemplateError::Refused(_) | TemplateError::Failed(_) if has_calls => {
                let all = &self.messages[..self.messages.len() - usize::from(last.is_some())];
                template.prompt(&fallback::rewrite(all, &[]), &options).map_err(|_| wrong(&error))
            }
            error => Err(wrong(&error)),
        })?;
        let said = last.as_ref().and_then(Said::of);
        let seen = said.map(|said| said.write(&mut rendered, &format));
        if let Some(most) = most {
            check_length(tokenizer, rendered.text(), most)?;
        }
        let tokens = tokenizer.encode_chat(&rendered);
        // As the parser of the reply sees it.
        let seen: Arc<str> = seen.map_or_else(|| rendered.text().into(), Arc::from);
        let begun = said.map_or(String::new(), |said| said.text.to_string());
        let text: Arc<str> = rendered.text().into();
        let shown = format.shown(tokenizer);
        let grammar = self.grammar(&format, &seen, offered);
        let reading = Reading::Chat { format, tools: tools.into(), prompt: seen };
        Ok(Prompt { tokens, text, shown, reading, grammar, begun })
    }

    /// The grammar of the reply to a prompt that ends like this.
    fn grammar(&self, format: &ReplyFormat, prompt: &str, offered: bool) -> GrammarSpec {
        let reasoning = Reasoning::after(format, prompt);
        let text = OutputFormat::spec(self.format.as_ref());
        let form = match format.tools {
            Some(ToolSyntax::Glm) => CallForm::Glm,
            Some(ToolSyntax::DeepSeekV3) => CallForm::DeepSeekV3,
            Some(ToolSyntax::DeepSeekV31) => CallForm::DeepSeekV31,
            Some(ToolSyntax::Llama3) => CallForm::Llama3,
            Some(ToolSyntax::Harmony) => CallForm::Harmony,
            Some(ToolSyntax::Qwen3Coder) => CallForm::Qwen3Coder,
            Some(ToolSyntax::KimiK2) => CallForm::KimiK2,
            Some(ToolSyntax::Gemma4) => CallForm::Gemma4,
            Some(ToolSyntax::Mistral) => CallForm::Mistral,
            Some(ToolSyntax::MistralList) => CallForm::MistralList,
            _ => CallForm::Hermes,
        };
        let choice = match &self.choice {
            ToolChoice::Auto | ToolChoice::None => weft_grammar::ToolChoice::Auto,
            ToolChoice::Required => weft_grammar::ToolChoice::Required,
            ToolChoice::Named(name) => weft_grammar::ToolChoice::Named(name.clone()),
        };
        let callable = |tool: &Tool| Callable {
            name: tool.name.clone(),
            parameters: tool.parameters.clone(),
            strict: tool.strict,
        };
        let tools = self.tools.iter().map(callable).collect();
        let calls = offered.then_some(CallSpec { form, tools, choice, parallel: self.parallel });
        GrammarSpec { reasoning, text, calls }
    }
}

/// Refuses a text that has more than `most` tokens for certain, in less time than it takes to tokenise it.
///
/// # Errors
/// If it has.
pub(crate) fn check_length(tokenizer: &Tokenizer, text: &str, most: usize) -> Result<(), ApiError> {
    let fewest = if text.len() > most { tokenizer.fewest_tokens(text) } else { 0 };
    if fewest > most { Err(ApiError::context(fewest, most)) } else { Ok(()) }
}

/// A tool as templates expect it.
fn tool_json(tool: &Tool) -> Value {
    let mut function = Map::new();
    function.insert("name".into(), tool.name.clone().into());
    if let Some(description) = &tool.description {
        function.insert("description".into(), description.clone().into());
    }
    function.insert("parameters".into(), tool.parameters.clone());
    let mut value = Map::new();
    value.insert("type".into(), "function".into());
    value.insert("function".into(), Value::Object(function));
    Value::Object(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_completes_what_a_conversation_leaves_to_it() {
        let with = |messages: &[(&str, &str)], variables: &[(&str, Value)]| {
            let mut dialogue = Dialogue {
                messages: messages.iter().map(|(role, text)| Message::new(*role, *text)).collect(),
                ..Dialogue::default()
            };
            let variables = variables.iter().map(|(name, value)| (name.to_string(), value.clone()));
            dialogue.thinking.variables = variables.collect();
            dialogue.complete(Some("Be brief."), Some(false), None);
            let roles: Vec<String> = dialogue.messages.iter().map(|message| message.role.clone()).collect();
            (roles.join(" "), Value::Object(dialogue.thinking.variables).to_string())
        };
        let off = r#"{"enable_thinking":false}"#.to_string();
        assert_eq!(with(&[("user", "Hi")], &[]), ("system user".into(), off.clone()));
        assert_eq!(with(&[("developer", "x"), ("user", "Hi")], &[]), ("developer user".into(), off));
        let asked = with(&[("system", ""), ("user", "Hi")], &[("reasoning_effort", "low".into())]);
        assert_eq!(asked, ("system user".into(), r#"{"reasoning_effort":"low"}"#.into()));
        let budgets = |own: Option<usize>, most: usize| {
            let mut dialogue = Dialogue::default();
            own.into_iter().for_each(|own| thinking::set_budget(&mut dialogue.thinking, own));
            dialogue.complete(None, Some(true), Some(most));
            let Thinking { variables, budget, .. } = dialogue.thinking;
            (Value::Object(variables).to_string(), budget)
        };
        let [on, off] = [true, false].map(|on| format!("{{\"enable_thinking\":{on}}}"));
        assert_eq!(budgets(None, 50), (on.clone(), Some(50)));
        assert_eq!(budgets(Some(7), 50), (on.clone(), Some(7)));
        assert_eq!(budgets(Some(700), 50), (on, Some(700)));
        assert_eq!(budgets(Some(0), 50), (off.clone(), Some(0)));
        // A server without reasoning has none for any request.
        assert_eq!(budgets(None, 0), (off.clone(), Some(0)));
        assert_eq!(budgets(Some(700), 0), (off, Some(0)));
    }
}
