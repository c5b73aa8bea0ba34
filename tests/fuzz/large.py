"""Small files that say they are large: of each reader's kinds, built as their formats have them."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import flatbuffers
import numpy as np

from tests.fuzz.corpus import inputs
from tests.importers.onnx_models import model, node

UNITS = (b"[],", b"{},", b'{"a":1},', b'"",')
SIZES = (
    "Mul('a', Integer(2147483647))",
    "Rational('1e999999999')",
    "Pow(" * 6 + "Rational(1, 3)" + ", Integer(64))" * 6,
    "Pow(Pow(Integer(9), Integer(64)), Integer(64))",
    f"Integer('{'9' * 60_000}')",
)


def long_texts() -> Iterator[bytes]:
    """JSON of which each byte takes up to thirty once it is read, and blanks."""
    for unit in UNITS:
        yield b"[" + unit * (3 * 10**7 // len(unit)) + b"0]"
    yield b" " * 5 * 10**7


def pages() -> Iterator[bytes]:
    for text in long_texts():
        held = base64.b64encode(gzip.compress(text, 1, mtime=0))
        script = b'<script type="application/gzip" id="spillway-plan">' + held + b"</script>"
        yield b"<!doctype html><title>plan</title>" + script


def archives() -> Iterator[bytes]:
    """`.pt2` archives: long programs, and sizes that are no numbers."""
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        yield _pt2(b"[" + b"[]," * 10**7 + b"0]", method)
    for text in long_texts():
        yield _pt2(text, zipfile.ZIP_DEFLATED)
    for size in SIZES:
        yield _pt2(_with_size(size), zipfile.ZIP_STORED)


def _pt2(program: bytes, method: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("net/models/model.json"), program, method)
    return made.getvalue()


def _with_size(size: str) -> bytes:
    (data,) = inputs("pt2")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("model.json"))
        program = json.loads(archive.read(name))
    for value in program["graph_module"]["graph"]["tensor_values"].values():
        value["sizes"][0] = {"as_expr": {"expr_str": size, "hint": None}}
    return json.dumps(program).encode()


def onnx_files() -> Iterator[bytes]:
    """Attributes that onnx's inference believes, and constants of which files say a size alone."""
    believed: Sequence[tuple[str, str, str, dict[str, Any]]] = (
        ("Split", "x", "y z", {"num_outputs": 2**40}),
        ("LayerNormalization", "x x", "y", {"axis": 2**31}),
        ("GatherND", "x i", "y", {"batch_dims": -6}),
        ("GatherND", "x i", "y", {"batch_dims": -(2**31)}),
        ("Einsum", "x x", "y", {"equation": "..." * 100}),
        ("Einsum", "x", "y", {"equation": "a" * 100_000}),
        ("Softmax", "x", "y", {"axis": 2**62}),
        ("ConstantOfShape", "many", "y", {}),
        ("Reshape", "x many", "y", {}),
        ("Pad", "x far", "y", {}),
    )
    given = {
        "i": np.zeros((1, 1), np.int64),
        "many": np.full(4000, 2**40, np.int64),
        "far": np.full(4, 2**62, np.int64),
    }
    for kind, reads, gives, attributes in believed:
        used = {name: array for name, array in given.items() if name in reads.split()}
        made = model([node(kind, reads, gives, **attributes)], {"x": [2, 3]}, {"y": None}, used)
        yield made.SerializeToString()


# ---- flatbuffers whose tables are one and the same -----------------------------------------------


class _Tables(flatbuffers.Builder):
    def tables(self, items: Sequence[int]) -> int:
        self.StartVector(4, len(items), 4)
        for item in reversed(items):
            self.PrependUOffsetTRelative(item)
        return int(self.EndVector())

    def ints(self, items: Sequence[int]) -> int:
        self.StartVector(4, len(items), 4)
        for item in reversed(items):
            self.PrependInt32(item)
        return int(self.EndVector())

    def table(self, **fields: int) -> int:
        """A table of references, by the number of each field: `f0=…`."""
        self.StartObject(10)
        for name, at in fields.items():
            self.PrependUOffsetTRelativeSlot(int(name[1:]), at, 0)
        return int(self.EndObject())


def programs() -> Iterator[bytes]:
    """`.pte` programs: names, values and methods that are one."""
    for operators, letters, methods, values in (
        (50_000, 100_000, 1, 1),
        (1, 10, 30_000, 30_000),
        (1, 10, 1, 300_000),
    ):
        b = _Tables(1024)
        named = b.table(f0=b.CreateString("a" * letters))
        one, name = b.table(), b.CreateString("forward")
        held, run = b.tables([one] * values), b.tables([named] * operators)
        method = b.table(f0=name, f2=held, f5=b.tables([b.table(f2=b.tables([]))]), f6=run)
        b.Finish(b.table(f1=b.tables([method] * methods)), file_identifier=b"ET12")
        yield bytes(b.Output())


def networks() -> Iterator[bytes]:
    """`.tflite` files: operands, scales, tensors and subgraphs that are one."""
    for operators, operands, tensors, scales, subgraphs in (
        (5_000, 10_000, 4, 0, 1),
        (2_000, 2_000, 4, 0, 1),
        (2, 1, 10_000, 10_000, 1),
        (2_000, 2, 2_000, 0, 250),
    ):
        b = _Tables(1024)
        shape, name = b.ints([4]), b.CreateString("t")
        quantised = b.table(f2=b.ints([0] * scales))
        tensor = b.table(f0=shape, f3=name, f4=quantised)
        held, reads, gives = b.tables([tensor] * tensors), b.ints([0] * operands), b.ints([1])
        run = b.tables([b.table(f1=reads, f2=gives)] * operators)
        graph = b.table(f0=held, f1=b.ints([0]), f2=gives, f3=run, f4=name)
        graphs, codes = b.tables([graph] * subgraphs), b.tables([b.table()])
        b.Finish(b.table(f1=codes, f2=graphs, f4=b.tables([b.table()])), file_identifier=b"TFL3")
        yield bytes(b.Output())


def machines() -> Iterator[bytes]:
    yield (".".join(["a"] * 60_000) + " = 1").encode()
    yield "\n".join("[a" + ".b" * k + "]" for k in range(1_500)).encode()
    yield b"a = " + b"[" * 150_000
    yield b"a = " + b"9" * 100_000


LARGE = {
    "onnx": onnx_files,
    "pt2": archives,
    "tflite": networks,
    "pte": programs,
    "page": pages,
    "machine": machines,
}
