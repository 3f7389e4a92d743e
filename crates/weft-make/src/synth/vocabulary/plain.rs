//! The tokenizers of the families in `preset/plain.rs`, with the marks of turns. Their ids are the real ones, but where a comment says
//! otherwise.

use super::{CONTROL, Family, Kind, UNKNOWN, USER_DEFINED};

/// Seed-OSS. The marks of turns are the first tokens.
pub(crate) const SEED: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "seed-coder", first_word: 3 },
    special: &[("<seed:bos>", CONTROL), ("<seed:pad>", CONTROL), ("<seed:eos>", CONTROL)],
    roles: &[("bos", 0), ("eos", 2), ("padding", 1)],
    add_bos: true,
    chat_template: "{% for m in messages %}<seed:bos>{{ m.role }}\n{{ m.content }}<seed:eos>{% endfor %}\
                    {% if add_generation_prompt %}<seed:bos>assistant\n{% endif %}",
};

/// ERNIE 4.5. In real vocabularies the last two are tokens 100273 and 100272.
pub(crate) const ERNIE: Family = Family {
    kind: Kind::Pieces { begins_with_space: false },
    special: &[
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<|begin_of_sentence|>", CONTROL),
        ("<|end_of_sentence|>", CONTROL),
    ],
    roles: &[("bos", 1), ("eos", 2), ("unknown", 0)],
    add_bos: false,
    chat_template: "<|begin_of_sentence|>{% for m in messages %}\
                    {% if m.role == 'user' %}User: {{ m.content }}\n\
                    {% elif m.role == 'assistant' %}Assistant: {{ m.content }}<|end_of_sentence|>\
                    {% else %}{{ m.content }}\n{% endif %}{% endfor %}\
                    {% if add_generation_prompt %}Assistant: {% endif %}",
};

/// MiniMax-M2. The vocabulary ends in unused tokens. In real ones, the marks of thoughts and calls are tokens 200050 to 200053.
pub(crate) const MINIMAX: Family = Family {
    kind: Kind::Words { pre: "minimax-m2", from_end: 45 },
    special: &[
        ("]~b]", CONTROL),
        ("[e~[", CONTROL),
        ("<think>", USER_DEFINED),
        ("</think>", USER_DEFINED),
        ("<minimax:tool_call>", USER_DEFINED),
        ("</minimax:tool_call>", USER_DEFINED),
    ],
    roles: &[("bos", 0), ("eos", 1)],
    add_bos: false,
    chat_template: "{% for m in messages %}]~b]{{ 'ai' if m.role == 'assistant' else m.role }}\n{{ m.content }}[e~[\n\
                    {% endfor %}{% if add_generation_prompt %}]~b]ai\n{% endif %}",
};

/// Hunyuan. The vocabulary ends in unused tokens.
pub(crate) const HUNYUAN: Family = Family {
    kind: Kind::Words { pre: "hunyuan", from_end: 209 },
    special: &[
        ("<|startoftext|>", CONTROL),
        ("<|bos|>", CONTROL),
        ("<|eos|>", CONTROL),
        ("<|pad|>", CONTROL),
        ("<|extra_0|>", CONTROL),
        ("<|extra_1|>", CONTROL),
        ("<|extra_2|>", CONTROL),
        ("<|extra_3|>", CONTROL),
        ("<|extra_4|>", CONTROL),
    ],
    roles: &[("bos", 1), ("eos", 2), ("padding", 3)],
    add_bos: false,
    chat_template: "{% for m in messages %}\
                    {% if m.role == 'user' %}<|startoftext|>{{ m.content }}<|extra_0|>\
                    {% elif m.role == 'assistant' %}{{ m.content }}<|eos|>\
                    {% else %}<|startoftext|>{{ m.content }}<|extra_4|>{% endif %}{% endfor %}",
};

/// SmolLM3, whose words are Llama 3's.
pub(crate) const SMOLLM3: Family = Family {
    kind: Kind::Words { pre: "smaug-bpe", from_end: 256 },
    special: &[
        ("<|begin_of_text|>", CONTROL),
        ("<|end_of_text|>", CONTROL),
        ("<think>", USER_DEFINED),
        ("</think>", USER_DEFINED),
        ("<|finetune_right_pad_id|>", CONTROL),
        ("<|reserved_special_token_2|>", CONTROL),
        ("<|start_header_id|>", CONTROL),
        ("<|end_header_id|>", CONTROL),
        ("<|eom_id|>", CONTROL),
        ("<|eot_id|>", CONTROL),
        ("<|python_tag|>", CONTROL),
        ("<|im_start|>", CONTROL),
        ("<|im_end|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 12), ("padding", 12)],
    add_bos: false,
    chat_template: CHATML,
};

const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                      {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// OLMo 2 and 3. The vocabulary ends in unused tokens.
pub(crate) const OLMO: Family = Family {
    kind: Kind::Words { pre: "dbrx", from_end: 21 },
    special: &[
        ("<|endoftext|>", CONTROL),
        ("<|fim_prefix|>", CONTROL),
        ("<|fim_middle|>", CONTROL),
        ("<|fim_suffix|>", CONTROL),
        ("|||PHONE_NUMBER|||", USER_DEFINED),
        ("|||EMAIL_ADDRESS|||", USER_DEFINED),
        ("|||IP_ADDRESS|||", USER_DEFINED),
        ("<|im_start|>", CONTROL),
        ("<|im_end|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 8), ("padding", 0)],
    add_bos: false,
    chat_template: CHATML,
};

/// EXAONE 4.0. In real vocabularies the end of a turn is token 361, and the other marks of turns come before it.
pub(crate) const EXAONE: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "exaone4", first_word: 362 },
    special: &[
        ("[PAD]", CONTROL),
        ("[BOS]", CONTROL),
        ("[EOS]", CONTROL),
        ("[UNK]", CONTROL),
        ("[|system|]", CONTROL),
        ("[|user|]", CONTROL),
        ("[|assistant|]", CONTROL),
        ("[|endofturn|]", CONTROL),
    ],
    roles: &[("bos", 1), ("eos", 7), ("unknown", 3), ("padding", 0)],
    add_bos: false,
    chat_template: "{% for m in messages %}[|{{ m.role }}|]\n{{ m.content }}[|endofturn|]\n{% endfor %}\
                    {% if add_generation_prompt %}[|assistant|]\n{% endif %}",
};

/// Granite 3. In real vocabularies the end of a text is token 0.
pub(crate) const GRANITE: Family = Family {
    kind: Kind::Words { pre: "refact", from_end: 7 },
    special: &[
        ("<|start_of_role|>", CONTROL),
        ("<|end_of_role|>", CONTROL),
        ("<|tool_call|>", CONTROL),
        ("<|end_of_text|>", CONTROL),
    ],
    roles: &[("bos", 3), ("eos", 3), ("padding", 3)],
    add_bos: false,
    chat_template: "{% for m in messages %}<|start_of_role|>{{ m.role }}<|end_of_role|>{{ m.content }}<|end_of_text|>\n\
                    {% endfor %}{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}",
};

/// Granite 4, whose words are DBRX's. The vocabulary ends in unused tokens.
pub(crate) const GRANITE4: Family = Family {
    kind: Kind::Words { pre: "dbrx", from_end: 96 },
    special: &[
        ("<|pad|>", CONTROL),
        ("<|end_of_text|>", CONTROL),
        ("<|fim_prefix|>", CONTROL),
        ("<|fim_middle|>", CONTROL),
        ("<|fim_suffix|>", CONTROL),
        ("<|fim_pad|>", CONTROL),
        ("<|filename|>", CONTROL),
        ("<|reponame|>", CONTROL),
        ("<|start_of_role|>", CONTROL),
        ("<|end_of_role|>", CONTROL),
    ],
    roles: &[("bos", 1), ("eos", 1), ("padding", 0)],
    add_bos: false,
    chat_template: GRANITE.chat_template,
};

/// LFM2. How many special tokens real vocabularies begin with is not known here.
pub(crate) const LFM2: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "lfm2", first_word: 500 },
    special: &[
        ("<|pad|>", CONTROL),
        ("<|startoftext|>", CONTROL),
        ("<|endoftext|>", CONTROL),
        ("<|fim_pre|>", CONTROL),
        ("<|fim_mid|>", CONTROL),
        ("<|fim_suf|>", CONTROL),
        ("<|im_start|>", CONTROL),
        ("<|im_end|>", CONTROL),
    ],
    roles: &[("bos", 1), ("eos", 7), ("padding", 0)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
};

/// Nemotron Nano, with Mistral's words. The ids in real vocabularies are not known here.
pub(crate) const NEMOTRON: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "tekken", first_word: 1000 },
    special: &[
        ("<unk>", CONTROL),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<|im_start|>", CONTROL),
        ("<|im_end|>", CONTROL),
        ("<think>", USER_DEFINED),
        ("</think>", USER_DEFINED),
    ],
    roles: &[("bos", 1), ("eos", 4), ("unknown", 0)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                    {% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
};

/// Muse Glimmer. The ids in real vocabularies are not known here.
pub(crate) const MUSE: Family = Family {
    kind: Kind::Words { pre: "llama4", from_end: 256 },
    special: &[
        ("<|begin_of_text|>", CONTROL),
        ("<|end_of_text|>", CONTROL),
        ("<|header_start|>", CONTROL),
        ("<|header_end|>", CONTROL),
        ("<|eot|>", CONTROL),
    ],
    roles: &[("bos", 0), ("eos", 1), ("eot", 4)],
    add_bos: true,
    chat_template: "{{ bos_token }}{% for m in messages %}\
                    <|header_start|>{{ m.role }}<|header_end|>\n\n{{ m.content }}<|eot|>{% endfor %}\
                    {% if add_generation_prompt %}<|header_start|>assistant<|header_end|>\n\n{% endif %}",
};

const COHERE_SPECIAL: &[(&str, i32)] = &[
    ("<PAD>", CONTROL),
    ("<UNK>", CONTROL),
    ("<CLS>", CONTROL),
    ("<SEP>", CONTROL),
    ("<MASK_TOKEN>", CONTROL),
    ("<BOS_TOKEN>", CONTROL),
    ("<EOS_TOKEN>", CONTROL),
    ("<EOP_TOKEN>", CONTROL),
    ("<|START_OF_TURN_TOKEN|>", CONTROL),
    ("<|END_OF_TURN_TOKEN|>", CONTROL),
    ("<|USER_TOKEN|>", CONTROL),
    ("<|CHATBOT_TOKEN|>", CONTROL),
    ("<|SYSTEM_TOKEN|>", CONTROL),
];

const COHERE_ROLES: &[(&str, u32)] = &[("bos", 5), ("eos", 9), ("padding", 0)];

const COHERE_TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}<|START_OF_TURN_TOKEN|>\
                    {{ '<|CHATBOT_TOKEN|>' if m.role == 'assistant' else '<|' + m.role | upper + '_TOKEN|>' }}\
                    {{ m.content }}<|END_OF_TURN_TOKEN|>{% endfor %}\
                    {% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}";

/// Command R. In real vocabularies the marks of turns are tokens from 255000 on.
pub(crate) const COMMAND_R: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "command-r", first_word: 13 },
    special: COHERE_SPECIAL,
    roles: COHERE_ROLES,
    add_bos: true,
    chat_template: COHERE_TEMPLATE,
};

/// North Mini, as Command R but for how words are split.
pub(crate) const COHERE2MOE: Family = Family {
    kind: Kind::WordsAfterSpecial { pre: "cohere2moe", first_word: 13 },
    special: COHERE_SPECIAL,
    roles: COHERE_ROLES,
    add_bos: true,
    chat_template: COHERE_TEMPLATE,
};
