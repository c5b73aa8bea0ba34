"""Inputs made of others: changed where the format has its joints, then wherever chance says.

Everything follows from the generator that is given: the same seed, the same input.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Any

Change = Callable[[bytes, Random], bytes]

WORDS = (0, 1, 2, 4, 127, 128, 255, 256, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
NUMBERS = (0, -1, 1, 2, 3, 1000, 2**31, -(2**31), 2**53, 2**63, 2**64, 10**30)
TEXTS = (
    *("", " ", "0", "-1", "1e999", "nan", "inf", "9" * 30, "0x10", "\u0000", "\u202e", "\u00e9"),
    *("Mul('a', Integer(99999999))", "Rational('1e9999999')", "a" + ".a" * 9000, "..." * 30),
    *("a" * 3000, "../../etc/passwd", "%s%n", "=1+1", "<script>", "[" * 2000, "\n", '"', ",", "\\"),
)
VALUES = (None, True, False, *NUMBERS, 0.5, -0.0, 1e308, float("nan"), float("inf"), [], {})
TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
MOST_BYTES = 200_000
LONG = 0.01
"""Of packed texts, those that are long: each takes a fifth of a second to make."""


def _number(rng: Random) -> int:
    return rng.choice(NUMBERS) if rng.random() < 0.8 else rng.randint(-70, 70)


def bits(data: bytes, rng: Random) -> bytes:
    """Bytes, words and ranges changed, taken out and doubled."""
    held = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(held) + 1)
        what = rng.randrange(7)
        if what == 0 and at < len(held):
            held[at] = rng.randrange(256)
        elif what == 1 and at < len(held):
            held[at] ^= 1 << rng.randrange(8)
        elif what == 2:
            width = rng.choice((1, 2, 4, 8))
            at -= at % width
            word = rng.choice(WORDS) & ((1 << 8 * width) - 1)
            held[at : at + width] = word.to_bytes(width, "little")
        elif what == 3:
            del held[at : at + rng.choice((1, 4, 64))]
        elif what == 4:
            held[at:at] = held[at : at + rng.choice((1, 4, 64))]
        elif what == 5:
            held[at:at] = rng.randbytes(rng.choice((1, 4, 16)))
        elif rng.random() < 0.2:
            del held[at:]
    return bytes(held)


def text(data: bytes, rng: Random) -> bytes:
    """Words, numbers, signs and lines changed, taken out, doubled and put elsewhere."""
    words = data.decode("utf-8", "replace")
    if rng.random() < 0.3:
        parts, glue = words.splitlines(), "\n"
    else:
        parts, glue = TOKEN.findall(words), ""
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not parts:
            break
        at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        what = rng.randrange(6)
        if what == 0:
            parts[at] = str(_number(rng)) if rng.random() < 0.6 else rng.choice(TEXTS)
        elif what == 1:
            del parts[at]
        elif what == 2:
            parts.insert(at, parts[other])
        elif what == 3:
            parts[at], parts[other] = parts[other], parts[at]
        elif what == 4:
            parts[at] = rng.choice((*TEXTS, parts[at] * 2, parts[at][:-1]))
        else:
            numbers = [k for k, part in enumerate(parts) if part.isdecimal()]
            if numbers:
                parts[rng.choice(numbers)] = str(_number(rng))
    return glue.join(parts).encode("utf-8", "replace")


def json_text(data: bytes, rng: Random) -> bytes:
    """Values of JSON put elsewhere, taken out, doubled, or of another kind; what is long is cut."""
    if len(data) > 10 * MOST_BYTES:
        return data[: len(data) // 2]
    root = [json.loads(data)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = _place(root, rng)
        what = rng.randrange(6)
        if what == 0 and holder is not root:
            del holder[key]
        elif what == 1:
            holder[key] = rng.choice(VALUES)
        elif what == 2 and isinstance(holder[key], int):
            holder[key] = (
                holder[key] + rng.choice((-1, 1, 2**31)) if rng.random() < 0.5 else _number(rng)
            )
        elif what == 3:
            there, name = _place(root, rng)
            holder[key] = json.loads(json.dumps(there[name]))
        elif what == 4 and isinstance(holder, list) and holder is not root:
            holder.insert(key, json.loads(json.dumps(holder[key])))
        elif isinstance(holder[key], str):
            held = holder[key]
            holder[key] = rng.choice((*TEXTS, held + held, held[:-1]))
    return json.dumps(root[0], separators=(",", ":")).encode()


def _place(root: list[Any], rng: Random) -> tuple[Any, Any]:
    """A holder and a key within it, at any depth."""
    holder, key = root, 0
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.9:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    return holder, key


def protobuf(data: bytes, rng: Random) -> bytes:
    """A message's fields changed, taken out, doubled, within one another; lengths stay right."""
    fields = _fields(data)
    if not fields:
        return bits(data, rng)
    at = rng.randrange(len(fields))
    tag, kind, value = fields[at]
    inner = _fields(value) if kind == 2 else None
    if inner and rng.random() < 0.85:
        fields[at] = (tag, kind, protobuf(value, rng))
    else:
        what = rng.randrange(5)
        if what == 0:
            del fields[at]
        elif what == 1:
            fields.insert(at, fields[rng.randrange(len(fields))])
        elif kind == 0:
            fields[at] = (tag, kind, _varint(_number(rng) % 2**64))
        elif kind == 2:
            made = rng.choice(TEXTS).encode() if what == 2 else bits(value, rng)
            fields[at] = (tag, kind, made)
        else:
            fields[at] = (tag, kind, bits(value, rng)[: len(value)].ljust(len(value), b"\0"))
    return b"".join(_field(*each) for each in fields)


def operator(data: bytes, rng: Random) -> bytes:
    """A node of an ONNX file made another operator, with attributes of odd numbers and words."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        return bits(data, rng)
    node = rng.choice(model.graph.node)
    schema = rng.choice([s for s in onnx.defs.get_all_schemas() if not s.domain])
    node.op_type = schema.name
    del node.attribute[:]
    for name, asked in schema.attributes.items():
        if asked.required or rng.random() < 0.5:
            odd = [_number(rng) % 2**63 * rng.choice((1, -1)) for _ in range(rng.randint(1, 4))]
            made = {"INT": odd[0], "INTS": odd, "STRING": rng.choice(TEXTS)}
            if asked.type.name in made:
                node.attribute.append(onnx.helper.make_attribute(name, made[asked.type.name]))
    return model.SerializeToString()


def either(one: Change, other: Change) -> Change:
    """One of two changes, by chance."""
    return lambda data, rng: rng.choice((one, other))(data, rng)


def _field(tag: int, kind: int, value: bytes) -> bytes:
    length = _varint(len(value)) if kind == 2 else b""
    return _varint(tag << 3 | kind) + length + value


def _fields(data: bytes) -> list[tuple[int, int, bytes]]:
    """Tag, wire type and bytes of each field; none where it is no message."""
    found, at = [], 0
    with suppress(IndexError):
        while at < len(data):
            key, at = _read(data, at)
            tag, kind = key >> 3, key & 7
            if not tag or kind not in (0, 1, 2, 5):
                return []
            start = at
            if kind == 0:
                _, at = _read(data, at)
            elif kind == 2:
                size, start = _read(data, at)
                at = start + size
            else:
                at += 8 if kind == 1 else 4
            if at > len(data):
                return []
            found.append((tag, kind, data[start:at]))
        return found
    return []


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 128:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def flatbuffer(data: bytes, rng: Random) -> bytes:
    """Aligned words changed: numbers, offsets and the tables that say where fields are."""
    held = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        width = rng.choice((1, 2, 4, 4, 4))
        at = rng.randrange(8, len(held) - width)
        at -= at % width
        before = int.from_bytes(held[at : at + width], "little")
        near = before + rng.choice((-4, -1, 1, 4, 64))
        word = rng.choice(WORDS) if rng.random() < 0.5 else near
        if rng.random() < 0.2:
            other = rng.randrange(0, len(held) - width, width)
            word = int.from_bytes(held[other : other + width], "little")
        held[at : at + width] = (word & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(held)


def packed(change: Change) -> Change:
    """What is compressed is changed within."""

    def within(data: bytes, rng: Random) -> bytes:
        return gzip.compress(change(gzip.decompress(data), rng), 1, mtime=0)

    return within


def long_json(rng: Random) -> bytes:
    """JSON of a thousand times the bytes that it has when it is packed."""
    one = rng.choice((b"[],", b"{},", b'{"a":1},', b'"",', b" "))
    return b"[" + one * (10**7 * rng.randint(1, 4) // len(one)) + b"0]"


def page(data: bytes, rng: Random) -> bytes:
    """The plan within a page is changed."""
    start = data.index(b'plan">') + 6
    stop = data.index(b"</script>", start)
    held = gzip.decompress(base64.b64decode(data[start:stop]))
    new = long_json(rng) if rng.random() < LONG else json_text(held, rng)
    made = base64.b64encode(gzip.compress(new, 6, mtime=0))
    return data[:start] + made + data[stop:]


def archive(data: bytes, rng: Random) -> bytes:
    """An entry of a ZIP archive is changed: its JSON, its name, or its bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        entries = old.infolist()
        chosen = (
            max(entries, key=lambda e: e.file_size) if rng.random() < 0.9 else rng.choice(entries)
        )
        for entry in entries:
            name, held = entry.filename, old.read(entry)
            method = rng.choice((0, 0, 0, 8, 12, 14)) if rng.random() < 0.05 else 0
            if entry is chosen:
                if rng.random() < 0.05:
                    name = rng.choice(TEXTS) or "x"
                elif name.endswith(".json") and rng.random() < LONG:
                    held, method = long_json(rng), 8
                elif name.endswith(".json"):
                    held = json_text(held, rng)
                else:
                    held = bits(held, rng)
            new.writestr(zipfile.ZipInfo(name), held, method)
    return made.getvalue()


def arguments(data: bytes, rng: Random) -> bytes:
    """Words of a command line changed, taken out, doubled and exchanged."""
    words = data.decode("utf-8", "replace").split(" ")
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(1, len(words)) if len(words) > 1 else 0
        what = rng.randrange(5)
        if what == 0 and len(words) > 1:
            del words[at]
        elif what == 1:
            words.insert(at, rng.choice(words))
        elif what == 2:
            words[at] = rng.choice(TEXTS).replace("\0", "").replace(" ", "_") or "''"
        elif what == 3:
            words[at] = str(_number(rng))
        else:
            words[at] = text(words[at].encode(), rng).decode().replace("\0", "").replace(" ", "_")
    return " ".join(words).encode()


BY_FORMAT: Mapping[str, Change] = {
    "onnx": either(protobuf, operator),
    "pt2": archive,
    "tflite": flatbuffer,
    "pte": flatbuffer,
    "plan": json_text,
    "graph": json_text,
    "page": page,
    "cache": packed(json_text),
    "result": packed(text),
    "command": arguments,
}
"""What knows a format's joints; texts and lines have words."""
SHARE = 0.85
"""Of the changes, those that know the format."""


def mutated(loader: str, data: bytes, rng: Random) -> bytes:
    """An input made of another. Whatever cannot be taken apart any more is changed byte by byte."""
    change = BY_FORMAT.get(loader, text)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        how = change if rng.random() < SHARE or loader == "command" else bits
        try:
            data = how(data, rng)
        except (
            ValueError,
            KeyError,
            IndexError,
            EOFError,
            OSError,
            zlib.error,
            RecursionError,
            zipfile.BadZipFile,
            UnicodeError,
            AttributeError,
            TypeError,
            lzma.LZMAError,
            NotImplementedError,  # a version or a method of a ZIP archive
        ):
            data = bits(data, rng)
    return data[:MOST_BYTES]
