"""Reads and writes GGUF files: as much of the format as this recipe needs, with nothing but numpy."""

import struct
from pathlib import Path

import numpy as np

# Numbers of value types, as in the GGUF specification.
U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q", 11: "<q", 12: "<d"}
ALIGNMENT = 32


def read_bytes(paths):
    """The bytes of a file that was cut into parts."""
    return b"".join(Path(path).read_bytes() for path in paths)


def header(data):
    """The metadata as a list of `(key, type, value)`, with a pair as the type of an array; the tensors as a list of `(name,
    shape with the fastest dimension first, type, offset)`; and where the tensors' data begins."""
    at = 0

    def take(fmt):
        nonlocal at
        value = struct.unpack_from(fmt, data, at)[0]
        at += struct.calcsize(fmt)
        return value

    def string():
        nonlocal at
        length = take("<Q")
        at += length
        return bytes(data[at - length : at]).decode()

    def typed(kind):
        if kind == STRING:
            return kind, string()
        if kind == ARRAY:
            item, count = take("<I"), take("<Q")
            return (ARRAY, item), [typed(item)[1] for _ in range(count)]
        return kind, take(SCALARS[kind])

    magic, version = bytes(data[:4]), struct.unpack_from("<I", data, 4)[0]
    if magic != b"GGUF" or version != 3:
        raise ValueError(f"expected a GGUF file of version 3, found {magic!r} of version {version}")
    at = 8
    tensors, keys = take("<Q"), take("<Q")
    metadata = []
    for _ in range(keys):
        name = string()
        metadata.append((name, *typed(take("<I"))))
    infos = []
    for _ in range(tensors):
        name = string()
        shape = [take("<Q") for _ in range(take("<I"))]
        infos.append((name, shape, take("<I"), take("<Q")))
    if dict((k, v) for k, _, v in metadata).get("general.alignment", ALIGNMENT) != ALIGNMENT:
        raise ValueError(f"expected an alignment of {ALIGNMENT} bytes")
    return metadata, infos, -(-at // ALIGNMENT) * ALIGNMENT


def read(paths):
    """Reads the metadata as a dictionary, and all tensors as float32 arrays in row-major order."""
    data = memoryview(read_bytes(paths))
    metadata, infos, start = header(data)
    tensors = {name: decode(data, start + offset, shape, kind) for name, shape, kind, offset in infos}
    return {key: value for key, _, value in metadata}, tensors


def decode(data, start, shape, kind):
    """Decodes a tensor. `shape` has the fastest dimension first."""
    count = int(np.prod(shape))
    if kind in (0, 1):
        raw = np.frombuffer(data, "<f4" if kind == 0 else "<f2", count, start)
        values = raw.astype(np.float32)
    elif kind == 3:  # Q4_1: 32 values of 4 bits, scaled and shifted
        block = np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)])
        raw = np.frombuffer(data, block, count // 32, start)
        q = np.concatenate([raw["q"] & 15, raw["q"] >> 4], axis=1).astype(np.float32)
        values = q * raw["d"].astype(np.float32)[:, None] + raw["m"].astype(np.float32)[:, None]
    elif kind == 8:  # Q8_0: 32 values of 8 bits, scaled
        block = np.dtype([("d", "<f2"), ("q", "i1", 32)])
        raw = np.frombuffer(data, block, count // 32, start)
        values = raw["q"].astype(np.float32) * raw["d"].astype(np.float32)[:, None]
    else:
        raise ValueError(f"tensors of type {kind} are not supported")
    return values.reshape(shape[::-1])


def write(path, metadata, tensors):
    """Writes a file. `metadata` is as `header` returns it; `tensors` lists `(name, array)`, with arrays of float32 or float16
    in row-major order, or `(name, (shape with the fastest dimension first, type, bytes))`."""

    def string(text):
        raw = text.encode()
        return struct.pack("<Q", len(raw)) + raw

    def value(kind, item):
        if kind == STRING:
            return string(item)
        if isinstance(kind, tuple):
            return struct.pack("<IQ", kind[1], len(item)) + b"".join(value(kind[1], i) for i in item)
        return struct.pack(SCALARS[kind], item)

    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, kind, item in metadata:
        number = ARRAY if isinstance(kind, tuple) else kind
        head.append(string(key) + struct.pack("<I", number) + value(kind, item))
    offset = 0
    parts = []
    for name, array in tensors:
        if isinstance(array, tuple):
            shape, kind, raw = array
        else:
            shape, kind = array.shape[::-1], {"float32": 0, "float16": 1}[array.dtype.name]
            raw = np.ascontiguousarray(array).tobytes()
        parts.append(raw)
        head.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        offset += -(-len(raw) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        pad = lambda: file.write(bytes(-file.tell() % ALIGNMENT))
        file.write(b"".join(head))
        pad()
        for raw in parts:
            file.write(raw)
            pad()
