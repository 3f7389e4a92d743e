#!/usr/bin/env python3
"""Writes a copy of a GGUF file with another chat template: with_template.py MODEL TEMPLATE COPY.

The templates of the fixtures are too simple for tools and reasoning, although their vocabularies have the tokens.
"""

import struct
import sys

KEY = b"tokenizer.chat_template"
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Reader:
    """Reads the header of a GGUF file (version 3, little-endian)."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def string(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length : self.at]

    def skip(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            inner, count = self.number("I"), self.number("Q")
            if inner in SIZES:
                self.at += SIZES[inner] * count
            else:
                for _ in range(count):
                    self.skip(inner)
        else:
            self.at += SIZES[kind]


def string(text):
    return struct.pack("<Q", len(text)) + text


def with_template(data, template):
    """The bytes of a model with another template."""
    reader = Reader(data)
    assert reader.data[:4] == b"GGUF", "not a GGUF file"
    reader.at = 4
    reader.number("I")
    tensors, pairs = reader.number("Q"), reader.number("Q")
    head, alignment = bytearray(data[: reader.at]), 32
    for _ in range(pairs):
        begin = reader.at
        key, kind = reader.string(), reader.number("I")
        value = reader.at
        reader.skip(kind)
        if key == KEY:
            head += string(KEY) + struct.pack("<I", STRING) + string(template)
        else:
            head += data[begin : reader.at]
        if key == b"general.alignment":
            (alignment,) = struct.unpack_from("<I", data, value)
    begin = reader.at
    for _ in range(tensors):
        reader.string()
        dimensions = reader.number("I")
        reader.at += 8 * dimensions + 4 + 8
    head += data[begin : reader.at]
    body = -(-reader.at // alignment) * alignment
    head += bytes(-len(head) % alignment)
    return bytes(head) + data[body:]


if __name__ == "__main__":
    model, template, copy = sys.argv[1:]
    with open(model, "rb") as source, open(template, "rb") as text:
        changed = with_template(source.read(), text.read())
    with open(copy, "wb") as target:
        target.write(changed)
