"""Writes golden.json: texts and their ids by llama.cpp, with as much of two SentencePiece vocabularies as they need.

Only tokens that occur in a text affect how it is encoded, so the tokens that do encode it like the whole vocabulary.
Needs `pip install gguf llama-cpp-python`, and of llama.cpp's `models/` folder the vocabularies of Llama 2 and Phi 3 and the
texts of its own tests:

    python make.py ggml-vocab-llama-spm.gguf ggml-vocab-phi-3.gguf
"""

import json
import sys
from pathlib import Path

import llama_cpp
from gguf import GGUFReader

# Beside llama.cpp's: special tokens, runs of spaces, characters without a token, SentencePiece's own space.
TEXTS = [
    "<s>[INST] What is the capital of France? [/INST] Paris.</s>",
    "<s> a</s>b </s>",
    "def main():\n    for i in range(10):\n\t\tprint(f\"{i:>3}\")  # done\n",
    "▁▁ a▁b \u2581c",
    "Größe, naïve café, Привет, 你好世界, مرحبا, हिन्दी, 😀👩‍👩‍👧 \u0001\u0004\u00f1",
    "<|user|>\n Hi<|end|>\n<|assistant|>\nHo",
    "<unk> <0x0A> </s",
]


def golden(path):
    fields = GGUFReader(path).fields
    field = lambda name: fields["tokenizer.ggml." + name].contents()
    tokens, types, scores = field("tokens"), field("token_type"), field("scores")
    texts = Path(f"{path}.inp").read_text().split("\n__ggml_vocab_test__\n")
    texts = TEXTS + [text for text in texts if text]
    model = llama_cpp.Llama(path, vocab_only=True, verbose=False)
    encode = lambda text, special: model.tokenize(text.encode(), add_bos=False, special=special)
    spelled = [" " + text.replace(" ", "▁") for text in texts]
    spelled = [text.replace(" ", "▁") for text in spelled]
    cases = [{"text": text, "plain": encode(text, False), "special": encode(text, True)} for text in texts]
    used = {id for case in cases for id in case["plain"] + case["special"]}
    needed = lambda id: id in used or types[id] not in (1, 5) or any(tokens[id] in text for text in spelled)
    optional = lambda name: field(name) if f"tokenizer.ggml.{name}" in fields else None
    return {
        "vocabulary_length": len(tokens),
        "add_space_prefix": optional("add_space_prefix"),
        "strip_after_special": "phi-3" in path,
        "tokens": [[id, tokens[id], types[id], scores[id]] for id in range(len(tokens)) if needed(id)],
        "cases": cases,
    }


with open(Path(__file__).parent / "golden.json", "w", encoding="utf-8") as file:
    json.dump([golden(path) for path in sys.argv[1:]], file, ensure_ascii=True, separators=(",", ":"))
    file.write("\n")
