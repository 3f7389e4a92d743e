//! The tokenizers of model families, with special tokens at their real ids.

use super::{CONTROL, Family, Kind, UNKNOWN, USER_DEFINED};

/// GLM-4.5 to 4.7. The vocabulary ends in unused tokens.
pub(crate) const GLM: Family = Family {
    kind: Kind::Words { pre: "glm4", from_end: 60 },
    special: &[
        ("<|endoftext|>", CONTROL),
        ("[MASK]", CONTROL),
        ("[gMASK]", CONTROL),
        ("[sMASK]", CONTROL),
        ("<sop>", CONTROL),
        ("<eop>", CONTROL),
        ("<|system|>", CONTROL),
        ("<|user|>", CONTROL),
        ("<|assistant|>", CONTROL),
        ("<|observation|>", CONTROL),
        ("<|begin_of_image|>", CONTROL),
        ("<|end_of_image|>", CONTROL),
        ("<|begin_of_video|>", CONTROL),
        ("<|end_of_video|>", CONTROL),
        ("<|begin_of_audio|>", CONTROL),
        ("<|end_of_audio|>", CONTROL),
        ("<|begin_of_transcription|>", CONTROL),
        ("<|end_of_transcription|>", CONTROL),
        ("<|code_prefix|>", CONTROL),
        ("<|code_middle|>", CONTROL),
        ("<|code_suffix|>", CONTROL),
        ("<think>", USER_DEFINED),
        ("</think>", USER_DEFINED),
        ("<tool_call>", USER_DEFINED),
        ("</tool_call>", USER_DEFINED),
        ("<tool_response>", USER_DEFINED),
        ("</tool_response>", USER_DEFINED),
        ("<arg_key>", USER_DEFINED),
        ("</arg_key>", USER_DEFINED),
        ("<arg_value>", USER_DEFINED),
        ("</arg_value>", USER_DEFINED),
        ("/nothink", USER_DEFINED),
        ("<|begin_of_box|>", USER_DEFINED),
        ("<|end_of_box|>", USER_DEFINED),
        ("<|image|>", USER_DEFINED),
        ("<|video|>", USER_DEFINED),
    ],
    roles: &[("bos", 2), ("eos", 0), ("eot", 7), ("eom", 9), ("unknown", 0), ("padding", 0)],
    add_bos: false,
    chat_template: "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}\
                    {% if add_generation_prompt %}<|assistant|>\n{% endif %}",
};

/// DeepSeek-V2.
pub(crate) const DEEPSEEK: Family = Family {
    kind: Kind::Words { pre: "deepseek-llm", from_end: 2400 },
    special: &[
        ("<｜begin▁of▁sentence｜>", CONTROL),
        ("<｜end▁of▁sentence｜>", CONTROL),
        ("<｜fim▁hole｜>", CONTROL),
        ("<｜fim▁begin｜>", CONTROL),
        ("<｜fim▁end｜>", CONTROL),
        ("<｜completion｜>", CONTROL),
        ("<｜User｜>", CONTROL),
        ("<｜Assistant｜>", CONTROL),
        ("<|EOT|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 1), ("padding", 1)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    {% if m.role == 'user' %}User: {{ m.content }}\n\n\
                    {% elif m.role == 'assistant' %}Assistant: {{ m.content }}{{ eos_token }}\
                    {% else %}{{ m.content }}\n\n{% endif %}{% endfor %}\
                    {% if add_generation_prompt %}Assistant:{% endif %}",
};

/// The special tokens of Qwen, in the order of their ids.
const QWEN_SPECIAL: &[(&str, i32)] = &[
    ("<|endoftext|>", CONTROL),
    ("<|im_start|>", CONTROL),
    ("<|im_end|>", CONTROL),
    ("<|object_ref_start|>", CONTROL),
    ("<|object_ref_end|>", CONTROL),
    ("<|box_start|>", CONTROL),
    ("<|box_end|>", CONTROL),
    ("<|quad_start|>", CONTROL),
    ("<|quad_end|>", CONTROL),
    ("<|vision_start|>", CONTROL),
    ("<|vision_end|>", CONTROL),
    ("<|vision_pad|>", CONTROL),
    ("<|image_pad|>", CONTROL),
    ("<|video_pad|>", CONTROL),
    ("<tool_call>", USER_DEFINED),
    ("</tool_call>", USER_DEFINED),
    ("<|fim_prefix|>", USER_DEFINED),
    ("<|fim_middle|>", USER_DEFINED),
    ("<|fim_suffix|>", USER_DEFINED),
    ("<|fim_pad|>", USER_DEFINED),
    ("<|repo_name|>", USER_DEFINED),
    ("<|file_sep|>", USER_DEFINED),
    ("<tool_response>", USER_DEFINED),
    ("</tool_response>", USER_DEFINED),
    ("<think>", USER_DEFINED),
    ("</think>", USER_DEFINED),
];

const QWEN_TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// Qwen 2 to 3. The vocabulary ends in unused tokens.
pub(crate) const QWEN: Family = Family {
    kind: Kind::Words { pre: "qwen2", from_end: 293 },
    special: QWEN_SPECIAL,
    roles: &[("bos", 0), ("eos", 2), ("padding", 0)],
    add_bos: false,
    chat_template: QWEN_TEMPLATE,
};

/// Qwen 3.5 to 3.8. The vocabulary ends in unused tokens.
pub(crate) const QWEN35: Family = Family {
    kind: Kind::Words { pre: "qwen35", from_end: 276 },
    special: QWEN_SPECIAL,
    roles: &[("bos", 0), ("eos", 2), ("padding", 0)],
    add_bos: false,
    chat_template: QWEN_TEMPLATE,
};

/// Llama 3. The vocabulary ends in unused tokens.
pub(crate) const LLAMA3: Family = Family {
    kind: Kind::Words { pre: "llama-bpe", from_end: 256 },
    special: &[
        ("<|begin_of_text|>", CONTROL),
        ("<|end_of_text|>", CONTROL),
        ("<|reserved_special_token_0|>", CONTROL),
        ("<|reserved_special_token_1|>", CONTROL),
        ("<|finetune_right_pad_id|>", CONTROL),
        ("<|reserved_special_token_2|>", CONTROL),
        ("<|start_header_id|>", CONTROL),
        ("<|end_header_id|>", CONTROL),
        ("<|eom_id|>", CONTROL),
        ("<|eot_id|>", CONTROL),
        ("<|python_tag|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 9), ("eom", 8), ("padding", 4)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    <|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>{% endfor %}\
                    {% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
};

/// gpt-oss, whose messages are in the harmony format. The vocabulary ends in unused tokens.
pub(crate) const GPT_OSS: Family = Family {
    kind: Kind::Words { pre: "gpt-4o", from_end: 1090 },
    special: &[
        ("<|startoftext|>", CONTROL),
        ("<|endoftext|>", CONTROL),
        ("<|reserved_200000|>", CONTROL),
        ("<|reserved_200001|>", CONTROL),
        ("<|return|>", CONTROL),
        ("<|constrain|>", CONTROL),
        ("<|reserved_200004|>", CONTROL),
        ("<|channel|>", CONTROL),
        ("<|start|>", CONTROL),
        ("<|end|>", CONTROL),
        ("<|message|>", CONTROL),
        ("<|reserved_200009|>", CONTROL),
        ("<|reserved_200010|>", CONTROL),
        ("<|reserved_200011|>", CONTROL),
        ("<|call|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 4), ("padding", 1)],
    add_bos: false,
    chat_template: "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}\
                    {% if add_generation_prompt %}<|start|>assistant{% endif %}",
};

/// Phi-4. The vocabulary ends in unused tokens.
pub(crate) const PHI4: Family = Family {
    kind: Kind::Words { pre: "dbrx", from_end: 95 },
    special: &[
        ("<|endoftext|>", CONTROL),
        ("<|fim_prefix|>", CONTROL),
        ("<|fim_middle|>", CONTROL),
        ("<|fim_suffix|>", CONTROL),
        ("<|dummy_0|>", CONTROL),
        ("<|dummy_1|>", CONTROL),
        ("<|dummy_2|>", CONTROL),
        ("<|im_start|>", CONTROL),
        ("<|im_end|>", CONTROL),
        ("<|im_sep|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 8), ("padding", 0)],
    add_bos: false,
    chat_template: "{% for m in messages %}<|im_start|>{{ m.role }}<|im_sep|>{{ m.content }}<|im_end|>{% endfor %}\
                    {% if add_generation_prompt %}<|im_start|>assistant<|im_sep|>{% endif %}",
};

/// Mistral 7B and Mixtral.
pub(crate) const MISTRAL: Family = Family {
    kind: Kind::Pieces { begins_with_space: true },
    special: &[("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)],
    roles: &[("bos", 1), ("eos", 2), ("unknown", 0)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    {% if m.role == 'user' %}[INST] {{ m.content }} [/INST]\
                    {% elif m.role == 'assistant' %} {{ m.content }}{{ eos_token }}\
                    {% else %}{{ m.content }}\n\n{% endif %}{% endfor %}",
};

/// Ministral 3, and other models with Mistral's tokenizer of 2024 and later (Tekken).
pub(crate) const TEKKEN: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "tekken", first_word: 1000 },
    special: &[
        ("<unk>", CONTROL),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("[INST]", CONTROL),
        ("[/INST]", CONTROL),
        ("[AVAILABLE_TOOLS]", CONTROL),
        ("[/AVAILABLE_TOOLS]", CONTROL),
        ("[TOOL_RESULTS]", CONTROL),
        ("[/TOOL_RESULTS]", CONTROL),
        ("[TOOL_CALLS]", CONTROL),
        ("[IMG]", CONTROL),
        ("<pad>", CONTROL),
        ("[IMG_BREAK]", CONTROL),
        ("[IMG_END]", CONTROL),
        ("[PREFIX]", CONTROL),
        ("[MIDDLE]", CONTROL),
        ("[SUFFIX]", CONTROL),
        ("[SYSTEM_PROMPT]", CONTROL),
        ("[/SYSTEM_PROMPT]", CONTROL),
        ("[TOOL_CONTENT]", CONTROL),
    ],
    roles: &[("bos", 1), ("eos", 2), ("unknown", 0), ("padding", 11)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    {% if m.role == 'user' %}[INST]{{ m.content }}[/INST]\
                    {% elif m.role == 'assistant' %}{{ m.content }}{{ eos_token }}\
                    {% else %}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]{% endif %}{% endfor %}",
};

/// Gemma 3. In real vocabularies the ends of turns are tokens 105 and 106.
pub(crate) const GEMMA: Family = Family {
    kind: Kind::Pieces { begins_with_space: false },
    special: &[
        ("<pad>", CONTROL),
        ("<eos>", CONTROL),
        ("<bos>", CONTROL),
        ("<unk>", UNKNOWN),
        ("<mask>", CONTROL),
        ("<start_of_turn>", CONTROL),
        ("<end_of_turn>", CONTROL),
    ],
    roles: &[("bos", 2), ("eos", 1), ("unknown", 3), ("padding", 0)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    <start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content }}<end_of_turn>\n\
                    {% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
};

/// Gemma 4.
pub(crate) const GEMMA4: Family = Family {
    kind: Kind::MergedPieces { places: &[0, 1, 2, 3, 4, 46, 47, 48, 49, 50, 51, 52, 98, 100, 101, 105, 106] },
    special: &[
        ("<pad>", CONTROL),
        ("<eos>", CONTROL),
        ("<bos>", CONTROL),
        ("<unk>", CONTROL),
        ("<mask>", CONTROL),
        ("<|tool>", CONTROL),
        ("<tool|>", CONTROL),
        ("<|tool_call>", USER_DEFINED),
        ("<tool_call|>", USER_DEFINED),
        ("<|tool_response>", USER_DEFINED),
        ("<tool_response|>", USER_DEFINED),
        ("<|\"|>", USER_DEFINED),
        ("<|think|>", CONTROL),
        ("<|channel>", USER_DEFINED),
        ("<channel|>", USER_DEFINED),
        ("<|turn>", CONTROL),
        ("<turn|>", CONTROL),
    ],
    roles: &[("bos", 2), ("eos", 1), ("unknown", 3), ("padding", 0)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    <|turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content }}<turn|>\n\
                    {% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}",
};

/// Kimi-Linear, and Kimi-K2. The vocabulary ends in unused tokens.
pub(crate) const KIMI: Family = Family {
    kind: Kind::Words { pre: "kimi-k2", from_end: 256 },
    special: &[
        ("[BOS]", CONTROL),
        ("[EOS]", CONTROL),
        ("<|im_end|>", CONTROL),
        ("<|im_user|>", CONTROL),
        ("<|im_assistant|>", CONTROL),
        ("<|reserved_token_163589|>", CONTROL),
        ("<|start_header_id|>", CONTROL),
        ("<|end_header_id|>", CONTROL),
        ("<|reserved_token_163592|>", CONTROL),
        ("[EOT]", CONTROL),
        ("<|im_system|>", CONTROL),
        ("<|tool_calls_section_begin|>", CONTROL),
        ("<|tool_calls_section_end|>", CONTROL),
        ("<|tool_call_begin|>", CONTROL),
        ("<|tool_call_argument_begin|>", CONTROL),
        ("<|tool_call_end|>", CONTROL),
        ("<|reserved_token_163600|>", CONTROL),
        ("<|im_middle|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 2)],
    add_bos: false,
    chat_template: "{% for m in messages %}<|im_{{ m.role }}|>{{ m.role }}<|im_middle|>{{ m.content }}<|im_end|>{% endfor %}\
                    {% if add_generation_prompt %}<|im_assistant|>assistant<|im_middle|>{% endif %}",
};

/// Ling 3. The vocabulary ends in unused tokens. `<role>` and `</role>` are ordinary text here.
pub(crate) const LING: Family = Family {
    kind: Kind::Words { pre: "bailingmoe2", from_end: 293 },
    special: &[
        ("<|startoftext|>", CONTROL),
        ("<|endoftext|>", CONTROL),
        ("[CLS]", CONTROL),
        ("[gMASK]", CONTROL),
        ("<|role_end|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 4), ("padding", 1)],
    add_bos: false,
    chat_template: "{% for m in messages %}<role>{{ 'HUMAN' if m.role == 'user' else m.role | upper }}</role>\
                    {{ m.content }}<|role_end|>{% endfor %}{% if add_generation_prompt %}<role>ASSISTANT</role>{% endif %}",
};
