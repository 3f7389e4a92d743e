//! The forms of replies that chat templates show, and whether prompts have begun them.

use std::fs;
use std::path::Path;

use weft_text::reply::{ReplyFormat, ToolSyntax, law};

fn template(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates").join(format!("{name}.jinja"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn formats_of_templates() {
    let found = |source: &str| {
        let format = ReplyFormat::of(source);
        (format.reasoning.map(|tags| tags.begin), format.tools)
    };
    let think = Some("<think>");
    assert_eq!(found(&template("glm")), (think, Some(ToolSyntax::Glm)));
    assert_eq!(found(&template("deepseek")), (think, Some(ToolSyntax::DeepSeekV3)));
    assert_eq!(found(&template("llama3")), (None, Some(ToolSyntax::Llama3)));
    assert_eq!(found(&template("chatml")), (None, None));
    assert_eq!(found(&template("features")), (None, None));
    assert_eq!(found(weft_text::CHATML), (None, None));
    assert_eq!(found(""), (None, None));

    let harmony = ReplyFormat::of(&template("harmony"));
    assert_eq!((harmony.harmony, harmony.reasoning, harmony.tools), (true, None, Some(ToolSyntax::Harmony)));
    let without_tools = ReplyFormat::of("<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>");
    assert_eq!((without_tools.harmony, without_tools.tools), (true, None));

    // Marks like gpt-oss's, with other ends.
    assert!(!ReplyFormat::of("<|start|>{{ m.role }}<|message|>{{ m.content }}<|eot|>").harmony);

    // The lines by which others are recognised.
    let qwen3 = r#"{{- "<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>" }}
        {%- if enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{% endif %}"#;
    assert_eq!(found(qwen3), (think, Some(ToolSyntax::Hermes)));
    let qwen25 = r#"{{- '<tool_call>\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}"#;
    assert_eq!(found(qwen25), (None, Some(ToolSyntax::Hermes)));
    let coder = "{{- '<tool_call>\\n<function=' + tool_call.name + '>\\n' }}<parameter=";
    assert_eq!(found(coder), (None, Some(ToolSyntax::Qwen3Coder)));
    // JSON within, and a tag of its own around it.
    assert_eq!(found("'<function=' + name + '>' + arguments + '</function>'"), (None, None));
    assert_eq!(found("<seed:think></seed:think><seed:tool_call><function=f><parameter=a>").1, None);
    let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>{{ id }}<|tool_call_argument_begin|>";
    assert_eq!(found(kimi), (None, Some(ToolSyntax::KimiK2)));
    let mistral = "{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}";
    assert_eq!(found(mistral), (None, Some(ToolSyntax::Mistral)));
    assert_eq!(found("{{ '[TOOL_CALLS][' }}"), (None, Some(ToolSyntax::MistralList)));
    let v31 = "{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>'+ name + '<｜tool▁sep｜>' + arguments + '<｜tool▁call▁end｜>'}}</think>";
    assert_eq!(found(v31), (think, Some(ToolSyntax::DeepSeekV31)));
    let llama = r#"{{- 'Answer in the form {"name": function name, "parameters": its arguments}.' }}"#;
    assert_eq!(found(llama), (None, Some(ToolSyntax::Llama3)));
    assert_eq!(found("{{- '<|python_tag|>' + code }}"), (None, Some(ToolSyntax::Llama3)));
    assert_eq!(found("{{ '[THINK]' + m.thinking + '[/THINK]' }}").0, Some("[THINK]"));
}

#[test]
fn a_prompt_says_whether_the_reply_begins_inside_reasoning() {
    let formats = law::formats();
    let format = &formats.iter().find(|(name, _)| *name == "glm").unwrap().1;
    for (prompt, expected) in [
        ("<|assistant|><think>", true),
        ("<|im_start|>assistant\n<think>\n", true),
        ("<|assistant|></think>", false),
        ("<think>\n\n</think>\n\n", false),
        ("<|assistant|>", false),
        ("", false),
    ] {
        assert_eq!(format.begins_in_reasoning(prompt), expected, "{prompt:?}");
    }
    assert!(!ReplyFormat::default().begins_in_reasoning("<think>"));
}
