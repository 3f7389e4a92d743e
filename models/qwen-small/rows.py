#!/usr/bin/env python3
"""Makes the training rows as glm-small's `tokens.py` does, with Qwen's pre-tokenizer, special tokens and chat template.

    python3 rows.py --clean clean --out data
"""

import sys

import shared  # noqa: F401: it makes the next import find glm-small's file.
import tokens

# Qwen 3.5's, which llama.cpp and Weft call `qwen35`.
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
USER, REPLY = f"{START}user\n", f"{STOP}\n{START}assistant\n"
NAME = "qwen-small"

# A turn's end is a token of its own here, so the text of glm-small's turns needs it before the next one begins.
glm_lay_out = tokens.lay_out


def lay_out(record, r):
    """A conversation as training text."""
    text = glm_lay_out(record, r).replace("glm-small", NAME)
    if START not in text:
        return text
    opening, *turns = text.removesuffix(END).split(USER)
    opening += f"{STOP}\n" if opening else ""
    return opening + f"{STOP}\n".join(USER + turn for turn in turns) + STOP + END


def configure():
    """Sets what differs in `tokens`."""
    tokens.SPLIT, tokens.SPECIAL = SPLIT, [END, START, STOP]
    tokens.HEAD, tokens.SYSTEM, tokens.USER, tokens.REPLY = "", f"{START}system\n", USER, REPLY
    tokens.lay_out = lay_out


def prompt(ask):
    """A user's message, laid out for a reply."""
    return f"{USER}{ask}{REPLY}"


configure()

if __name__ == "__main__":
    sys.exit(tokens.main())
