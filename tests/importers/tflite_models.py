"""TensorFlow Lite files made by hand: tensors and operators in, bytes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite

TYPES = {name.lower(): n for name, n in vars(tflite.TensorType).items() if isinstance(n, int)}
TYPES |= {"int2": 19, "uint4": 20, "float8_e4m3fn": 21, "float8_e5m2": 22}  # of LiteRT 2.3
_ALIGNMENT = 16  # of constants behind the flatbuffer


@dataclass
class TfliteWriter:
    """A subgraph in the making: tensors by number, operators in order."""

    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[tuple[str, Sequence[int], Sequence[int], str, Mapping[str, Any]]] = field(
        default_factory=list
    )
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    metadata: dict[str, bytes] = field(default_factory=dict)
    times: int = 1  # that the graph is in the file
    others: list[TfliteWriter] = field(default_factory=list)  # further subgraphs
    codes: str = "both"  # `old` or `new`: an operator's code in one of its two fields alone
    open_batch: bool = False  # shapes are written a second time, with the first axis open
    behind: bool = False  # constants lie behind the flatbuffer
    versions: dict[str, int] = field(default_factory=dict)  # of operators, where not 1

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "float32",
        data: np.ndarray | None = None,
        name: str | None = None,
        **more: Any,
    ) -> int:
        """A tensor; its number."""
        number = len(self.tensors)
        name = f"t{number}" if name is None else name
        self.tensors.append({"shape": shape, "dtype": dtype, "data": data, "name": name, **more})
        return number

    def numbers(self, values: Sequence[int]) -> int:
        """A constant of whole numbers."""
        array = np.array(values, dtype=np.int32)
        return self.tensor(array.shape, "int32", array)

    def weight(self, shape: Sequence[int], dtype: str = "float32") -> int:
        rng = np.random.default_rng(len(self.tensors))
        return self.tensor(shape, dtype, rng.integers(-3, 4, shape).astype(dtype))

    def operator(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str = "",
        **given: Any,
    ) -> int:
        """An operator; its first output."""
        self.operators.append((kind, inputs, outputs, options, given))
        return outputs[0]

    def save(self, path: Path) -> Path:
        """Write the file."""
        path.write_bytes(self.to_bytes())
        return path

    def to_bytes(self) -> bytes:
        """The file."""
        if not self.behind:
            return self._flatbuffer()
        start = _aligned(len(self._flatbuffer(_ALIGNMENT)))
        data = [t["data"] for graph in (self, *self.others) for t in graph.tensors]
        parts = [self._flatbuffer(start), *(np.asarray(d).tobytes() for d in data if d is not None)]
        return b"".join(part.ljust(_aligned(len(part)), b"\0") for part in parts)

    def _flatbuffer(self, behind: int = 0) -> bytes:
        """The tables, with the constants in them unless these lie behind, from this place on."""
        b = flatbuffers.Builder(1024)
        graphs = [self, *self.others]
        buffers = [None, *(t["data"] for graph in graphs for t in graph.tensors)]
        entries = []
        for name, data in self.metadata.items():
            buffers.append(np.frombuffer(data, np.uint8))
            entries.append(
                _table(b, "Metadata", Name=b.CreateString(name), Buffer=len(buffers) - 1)
            )
        made = []
        for data in buffers:
            at = None
            if data is not None:
                raw = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
                if behind:
                    made.append(_table(b, "Buffer", Offset=behind, Size=raw.size))
                    behind += _aligned(raw.size)
                    continue
                at = b.CreateNumpyVector(raw) if raw.size else None
            made.append(_table(b, "Buffer", **({} if at is None else {"Data": at})))
        kinds = list(dict.fromkeys(kind for graph in graphs for kind, *_ in graph.operators))
        codes = []
        for kind in kinds:
            number = getattr(tflite.BuiltinOperator, kind, tflite.BuiltinOperator.CUSTOM)
            custom = {}
            if number == tflite.BuiltinOperator.CUSTOM:
                custom = {"CustomCode": b.CreateString(kind)}
            written = {"DeprecatedBuiltinCode": min(number, 127), "BuiltinCode": number}
            if self.codes != "both" and number < 127:
                del written["BuiltinCode" if self.codes == "old" else "DeprecatedBuiltinCode"]
            written["Version"] = self.versions.get(kind, 1)
            codes.append(_table(b, "OperatorCode", **written, **custom))
        subgraphs, first = [], 0
        for graph in graphs:
            subgraphs.append(graph._graph(b, kinds, first))
            first += len(graph.tensors)
        model = _table(
            b,
            "Model",
            Version=3,
            OperatorCodes=_offsets(b, codes),
            Subgraphs=_offsets(b, subgraphs * self.times),
            Buffers=_offsets(b, made),
            **({"Metadata": _offsets(b, entries)} if entries else {}),
        )
        b.Finish(model, b"TFL3")
        return bytes(b.Output())

    def _graph(self, b: Any, kinds: Sequence[str], first: int) -> int:
        """The subgraph, whose tensors have the buffers behind the first so many."""
        tensors = [self._tensor(b, first + k, each) for k, each in enumerate(self.tensors)]
        operators = [self._operator(b, kinds, *each) for each in self.operators]
        return _table(
            b,
            "SubGraph",
            Tensors=_offsets(b, tensors),
            Inputs=_ints(b, self.inputs),
            Outputs=_ints(b, self.outputs),
            Operators=_offsets(b, operators),
            Name=b.CreateString("main"),
        )

    def _tensor(self, b: Any, number: int, tensor: Mapping[str, Any]) -> int:
        more = {}
        if "scale" in tensor:
            each = np.atleast_1d(np.array(tensor["scale"], np.float32))  # several: along axis 0
            scales = b.CreateNumpyVector(each)
            zeros = b.CreateNumpyVector(np.full(each.shape, tensor.get("zero", 0), np.int64))
            quantised = _table(b, "QuantizationParameters", Scale=scales, ZeroPoint=zeros)
            more["Quantization"] = quantised
        if tensor.get("variable"):
            more["IsVariable"] = True
        if self.open_batch and tensor["data"] is None and tensor["shape"]:
            more["ShapeSignature"] = _ints(b, (-1, *tensor["shape"][1:]))
            more["HasRank"] = True
        if "signature" in tensor:  # -1 for each axis that is open
            more["ShapeSignature"] = _ints(b, tensor["signature"])
            more["HasRank"] = True
        if "sparsity" in tensor:
            more["Sparsity"] = _sparsity(b, *tensor["sparsity"])
        return _table(
            b,
            "Tensor",
            Shape=_ints(b, tensor["shape"]),
            Type=TYPES[tensor["dtype"]],
            Buffer=number + 1,
            Name=b.CreateString(tensor["name"]),
            **more,
        )

    def _operator(
        self,
        b: Any,
        kinds: Sequence[str],
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str,
        given: Mapping[str, Any],
    ) -> int:
        more = {}
        if custom := given.get("custom"):  # bytes that the kernel reads
            more["CustomOptions"] = _bytes(b, custom)
        if large := given.get("large_custom"):  # where they lie behind the flatbuffer, and how many
            more["LargeCustomOptionsOffset"], more["LargeCustomOptionsSize"] = large
        if options:
            second = "2" if options in vars(tflite.BuiltinOptions2) else ""
            numbers = tflite.BuiltinOptions2 if second else tflite.BuiltinOptions
            more[f"BuiltinOptions{second}Type"] = getattr(numbers, options)
            made = {k: b.CreateString(v) for k, v in given.items() if isinstance(v, str)}
            made |= {k: _ints(b, v) for k, v in given.items() if isinstance(v, (list, tuple))}
            made |= {k: _bytes(b, v) for k, v in given.items() if isinstance(v, bytes)}
            more[f"BuiltinOptions{second}"] = _table(b, options, **{**given, **made})
        return _table(
            b,
            "Operator",
            OpcodeIndex=kinds.index(kind),
            Inputs=_ints(b, inputs),
            Outputs=_ints(b, outputs),
            **more,
        )


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _table(b: Any, kind: str, **fields: Any) -> int:
    """A table of the schema; vectors, strings and tables in it are there already."""
    module = __import__(f"tflite.{kind}", fromlist=["Start"])
    module.Start(b)
    for name, value in fields.items():
        getattr(module, f"Add{name}")(b, value)
    return int(module.End(b))


def _sparsity(b: Any, order: Sequence[int], blocks: Sequence[int], levels: Sequence[Any]) -> int:
    """Levels are a count of places, or segments and indices of a width that differs."""
    made = []
    for number, level in enumerate(levels):
        if isinstance(level, int):
            made.append(_table(b, "DimensionMetadata", Format=0, DenseSize=level))
            continue
        fields: dict[str, int] = {"Format": 1}
        for name, values in zip(("ArraySegments", "ArrayIndices"), level, strict=True):
            width, kind = [("Int32", 1), ("Uint16", 2), ("Uint8", 3)][number % 3]
            vector = b.CreateNumpyVector(np.array(values, width.lower()))
            fields |= {f"{name}Type": kind, name: _table(b, f"{width}Vector", Values=vector)}
        made.append(_table(b, "DimensionMetadata", **fields))
    vectors = {"TraversalOrder": _ints(b, order), "BlockMap": _ints(b, blocks)}
    return _table(b, "SparsityParameters", **vectors, DimMetadata=_offsets(b, made))


def _ints(b: Any, values: Sequence[int]) -> int:
    return int(b.CreateNumpyVector(np.array(values, dtype=np.int32)))


def _bytes(b: Any, values: bytes) -> int:
    return int(b.CreateNumpyVector(np.frombuffer(values, np.uint8)))


def _offsets(b: Any, tables: Sequence[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for at in reversed(tables):
        b.PrependUOffsetTRelative(at)
    return int(b.EndVector())
