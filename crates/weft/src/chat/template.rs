//! Chooses the chat template: the model's own, a file's, or a built-in one.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use weft_engine::Model;
use weft_text::{CHATML, ChatTemplate, TemplateError};

use crate::cli::args::Args;
use crate::cli::text_file;

/// Built-in templates and their names.
pub(crate) const BUILT_IN: &[(&str, &str)] = &[
    ("chatml", CHATML),
    ("llama2", include_str!("template/llama2.jinja")),
    ("llama3", include_str!("template/llama3.jinja")),
    ("mistral", include_str!("template/mistral.jinja")),
    ("gemma", include_str!("template/gemma.jinja")),
    ("phi3", include_str!("template/phi3.jinja")),
    ("zephyr", include_str!("template/zephyr.jinja")),
    ("vicuna", include_str!("template/vicuna.jinja")),
    ("alpaca", include_str!("template/alpaca.jinja")),
];

/// The template of `--chat-template`, or else the model's own.
///
/// # Errors
/// If there is none, the file cannot be read, or the template is invalid.
pub(crate) fn choose(args: Args<'_>, model: &Model) -> anyhow::Result<Arc<ChatTemplate>> {
    match args.path("chat-template") {
        Some(name) => {
            let source = source(name)?;
            let template = ChatTemplate::new(&source, model.tokenizer());
            Ok(Arc::new(
                template.with_context(|| format!("cannot use the chat template {}", name.display()))?,
            ))
        }
        None => match model.chat_template() {
            Err(TemplateError::Missing) => Err(anyhow!(
                "this model has no chat template: choose one with --chat-template NAME, where NAME is {} or a file, or \
                 continue plain text with `weft run --raw`",
                names()
            )),
            template => Ok(template?),
        },
    }
}

/// The names of the built-in templates.
pub(crate) fn names() -> String {
    BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn source(path: &Path) -> anyhow::Result<String> {
    if let Some((_, source)) = BUILT_IN.iter().find(|(known, _)| path == Path::new(known)) {
        return Ok((*source).to_string());
    }
    let is_path = path.to_str().is_none_or(|name| name.contains(['/', '.', std::path::MAIN_SEPARATOR]));
    if !is_path && !path.exists() {
        return Err(anyhow!(
            "there is no chat template {}: expected a file, or one of {}",
            path.display(),
            names()
        ));
    }
    text_file::text(path, "the chat template")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use weft_text::{Message, RenderOptions};

    use super::*;

    #[test]
    fn built_in_templates_write_every_message_in_order() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
        let model = Model::open(&fixture, weft_quant::GgmlType::F16).unwrap();
        for (name, source) in BUILT_IN {
            let template = ChatTemplate::new(source, model.tokenizer()).unwrap();
            let message = |role: &str, text: &str| Message::new(role, Value::from(text));
            let messages = [
                message("system", "Esse"),
                message("user", "Quid"),
                message("assistant", "Hoc"),
                message("user", "Cur"),
            ];
            let messages = template.adapt(&messages).unwrap();
            let prompt = template.render(&messages, &RenderOptions::default()).unwrap();
            let text = prompt.text();
            let mut from = 0;
            for word in ["Esse", "Quid", "Hoc", "Cur"] {
                let at = text[from..].find(word);
                from += at.unwrap_or_else(|| panic!("{name}: no {word} in {text:?}"));
            }
        }
    }

    #[test]
    fn names_and_files_are_told_apart() {
        assert_eq!(source(Path::new("chatml")).unwrap(), CHATML);
        let error = source(Path::new("chatlm")).unwrap_err().to_string();
        assert!(
            error.contains("there is no chat template chatlm: expected a file, or one of chatml, "),
            "{error}"
        );
        assert!(format!("{:#}", source(Path::new("./none.jinja")).unwrap_err()).contains("cannot read"));
    }
}
