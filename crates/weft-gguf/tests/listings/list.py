#!/usr/bin/env python3
"""Lists what is in a GGUF file as the Python package `gguf` (0.19) reads it, for the test `fixtures.rs` to compare.

    python3 list.py ../../../../fixtures/glm-tiny-q4_0.gguf > glm-tiny-q4_0.txt

One line a key: `key NAME TYPE VALUE`, an array as `array TYPE COUNT SUM`. One line a tensor: `tensor NAME TYPE SHAPE
OFFSET BYTES SUM`, the shape in GGML's order, the offset within the data section. A SUM is that of all bytes.
Floating-point values are given as their bits.
"""
import json
import struct
import sys

from gguf import GGUFReader, GGUFValueType as T

reader = GGUFReader(sys.argv[1])
NAMES = {T.UINT32: "u32", T.INT32: "i32", T.UINT16: "u16", T.FLOAT32: "f32", T.BOOL: "bool", T.STRING: "string"}


def scalar(field):
    value = field.contents()
    if field.types[0] == T.FLOAT32:
        return "%08x" % struct.unpack("<I", struct.pack("<f", value))
    return json.dumps(value, ensure_ascii=False)


for name, field in reader.fields.items():
    if name.startswith("GGUF."):
        continue
    if field.types[0] == T.ARRAY:
        total = sum(int(field.parts[i].view("u1").sum()) for i in field.data)
        print("key", name, "array", NAMES[field.types[1]], len(field.data), total)
    else:
        print("key", name, NAMES[field.types[0]], scalar(field))
for tensor in reader.tensors:
    shape = "x".join(str(size) for size in tensor.shape.tolist())
    offset = tensor.data_offset - reader.data_offset
    total = int(tensor.data.reshape(-1).view("u1").sum(dtype="u8"))
    print("tensor", tensor.name, tensor.tensor_type.name.lower(), shape, offset, tensor.n_bytes, total)
