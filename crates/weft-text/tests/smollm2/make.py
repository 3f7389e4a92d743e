"""Writes golden.json: texts and their ids by HF `tokenizers`, with as much of SmolLM2's vocabulary as they need.

Only tokens that are part of a word affect its merges, so the tokens that occur in the texts, and the merges that make
them, encode these texts like the whole vocabulary. Needs `pip install gguf tokenizers` (made with 0.19.0 and 0.23.3)
and a GGUF file of SmolLM2-135M-Instruct:

    python make.py SmolLM2-135M-Instruct.Q4_1.gguf
"""

import json
import sys

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

TEXTS = [
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "The capital of France is Paris. It's 2,140,526 people in 2023; isn't that a lot?",
    "def main():\n    for i in range(10):\n\t\tprint(f\"{i:>3}\", end='')  # done\n\n\n",
    "  leading, trailing  \r\n\r\n\ttabs\t\t and   runs of spaces   \n",
    "Größe, naïve café, Привет, 你好世界, こんにちは, مرحبا, हिन्दी, 😀👩‍👩‍👧 \u0001\u0004\u00f1",
    "DON'T STOP, I'LL I'll we've <|im_end|><|im_ <file_sep><|endoftext|>",
]

reader = GGUFReader(sys.argv[1])
field = lambda name: reader.fields["tokenizer." + name].contents()
tokens, types = field("ggml.tokens"), field("ggml.token_type")
ids = {token: id for id, token in enumerate(tokens)}
merges = field("ggml.merges")

tokenizer = Tokenizer(models.BPE(vocab=ids, merges=[tuple(merge.split(" ")) for merge in merges]))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
)
control = [token for token, type in zip(tokens, types) if type == 3]
tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])

byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
spelled = [byte_level.pre_tokenize_str(text)[0][0] for text in TEXTS]
needed = {token for token in tokens if any(token in text for text in spelled)} | set(control)
golden = {
    "pre": field("ggml.pre"),
    "vocabulary_length": len(tokens),
    "bos": field("ggml.bos_token_id"),
    "eos": field("ggml.eos_token_id"),
    "unk": field("ggml.unknown_token_id"),
    "add_bos": field("ggml.add_bos_token"),
    "chat_template": field("chat_template"),
    "control": {token: ids[token] for token in control},
    "tokens": {token: ids[token] for token in sorted(needed - set(control), key=ids.get)},
    "merges": [merge for merge in merges if merge.replace(" ", "") in needed],
    "cases": [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in TEXTS],
}
with open("golden.json", "w", encoding="utf-8") as file:
    json.dump(golden, file, ensure_ascii=True, separators=(",", ":"))
    file.write("\n")
