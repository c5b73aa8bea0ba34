"""A `.tflite` file with other metadata, all else as it was, byte for byte.

What the file had stays as it is, behind a new head of a few hundred bytes: a model table that leads
to the old operators, weights and names, and to vectors with the new metadata added. References in a
flatbuffer lead forward, so nothing that is referred to has to move, and what must be aligned to 64
bytes or fewer stays so. An entry of one of the new names is left out of the vector.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping

import tflite

from planners.core.errors import BadInput
from planners.core.integers import rounded_up
from planners.importers.tflite.file import BROKEN, IDENTIFIER, TfliteFile

KEPT_ALIGNMENT = 64
DATA_ALIGNMENT = 16
# Fields of the schema's table `Model` in their order; all but the first refer to something.
_VERSION, _BUFFERS, _METADATA = 0, 4, 6
_FIELDS = 8
_BEHIND = "weights lie behind its flatbuffer: it cannot be given metadata"


def with_metadata(
    file: TfliteFile, entries: Mapping[str, bytes], without: Collection[str] = ()
) -> bytes:
    """The file with these metadata by name, and none named in `without` but them.

    Raises `BadInput` where it cannot be done.
    """
    try:
        old = _Old(file)
    except BROKEN as error:
        raise BadInput(f"{file.path} is broken: its model table leads nowhere") from error
    kept = [at for at, name in old.metadata if name not in entries and name not in without]
    most = _sizes(old, kept, entries)
    head = _Head(rounded_up(most, KEPT_ALIGNMENT))
    table = head.model(old)
    buffers = head.vector(len(old.buffers) + len(entries))
    metadata = head.vector(len(kept) + len(entries))
    head.refer(table[_BUFFERS], buffers)
    head.refer(table[_METADATA], metadata)
    for k, at in enumerate(old.buffers):
        head.refer_behind(buffers + 4 + 4 * k, at)
    for k, at in enumerate(kept):
        head.refer_behind(metadata + 4 + 4 * k, at)
    for k, (name, data) in enumerate(entries.items()):
        number = len(old.buffers) + k
        head.refer(metadata + 4 + 4 * (len(kept) + k), head.entry(name, number))
        head.refer(buffers + 4 + 4 * number, head.buffer(data))
    return head.data() + file.data


class _Old:
    """Where the parts of a file are that has been read without an error."""

    def __init__(self, file: TfliteFile) -> None:
        model = tflite.Model.GetRootAs(file.data, 0)
        table = model._tab
        start = table.Pos - struct.unpack_from("<i", file.data, table.Pos)[0]
        size = struct.unpack_from("<H", file.data, start)[0]
        self.version: int = model.Version()
        self.fields: list[int | None] = []
        for k in range(max(_FIELDS, (size - 4) // 2)):
            at = table.Offset(4 + 2 * k)
            target = table.Indirect(table.Pos + at) if at and k else None
            self.fields.append(target)
            if target is not None and target >= len(file.data):
                raise BadInput(f"{file.path} is broken: field {k} of its model lies behind its end")
            if at and k >= _FIELDS:
                raise BadInput(f"{file.path}: its model table has a field {k} that is not known")
        self.buffers = [b._tab.Pos for b in map(model.Buffers, range(model.BuffersLength()))]
        entries = [model.Metadata(k) for k in range(model.MetadataLength())]
        self.metadata = [(e._tab.Pos, (e.Name() or b"").decode(errors="replace")) for e in entries]
        far = any(model.Buffers(k).Offset() > 1 for k in range(model.BuffersLength()))
        if far or any(_far_options(model.Subgraphs(k)) for k in range(model.SubgraphsLength())):
            raise BadInput(f"{file.path}: {_BEHIND}")


def _far_options(graph: tflite.SubGraph) -> bool:
    operators = (graph.Operators(k) for k in range(graph.OperatorsLength()))
    return any(operator.LargeCustomOptionsOffset() > 1 for operator in operators)


def _sizes(old: _Old, kept: list[int], entries: Mapping[str, bytes]) -> int:
    """The most bytes that a head may take."""
    vectors = 4 * (len(old.buffers) + len(kept) + 2 * len(entries))
    added = sum(
        2 * DATA_ALIGNMENT + 64 + len(name.encode()) + len(d) for name, d in entries.items()
    )
    return 128 + vectors + added


class _Head:
    """Bytes in front of the old file, filled from the lowest on."""

    def __init__(self, size: int) -> None:
        self._bytes, self._end = bytearray(size), 8
        self._bytes[4:8] = IDENTIFIER

    def data(self) -> bytes:
        return bytes(self._bytes)

    def _take(self, size: int, alignment: int = 4, ahead: int = 0) -> int:
        """Room of `size` bytes; what comes `ahead` bytes after its beginning is aligned."""
        at = rounded_up(self._end + ahead, alignment) - ahead
        self._end = at + size
        assert self._end <= len(self._bytes)
        return at

    def _number(self, at: int, value: int, kind: str = "<I") -> None:
        struct.pack_into(kind, self._bytes, at, value)

    def refer(self, at: int, target: int) -> None:
        """Lead from `at` to a place in the head, further on."""
        self._number(at, target - at)

    def refer_behind(self, at: int, target: int) -> None:
        """The same to a place of the old file."""
        self.refer(at, len(self._bytes) + target)

    def table(self, present: list[bool]) -> list[int]:
        """A table of fields of four bytes each; where they are (0: left out)."""
        count = sum(present)
        tags = self._take(4 + 2 * len(present))
        at = self._take(4 + 4 * count)
        self._number(tags, 4 + 2 * len(present), "<H")
        self._number(tags + 2, 4 + 4 * count, "<H")
        self._number(at, at - tags, "<i")
        places, place = [], at + 4
        for k, there in enumerate(present):
            places.append(place if there else 0)
            if there:
                self._number(tags + 4 + 2 * k, place - at, "<H")
                place += 4
        return [at, *places]

    def model(self, old: _Old) -> list[int]:
        """The root: a table as the old one, its new vectors not yet there; where its fields are."""
        ours = (_VERSION, _BUFFERS, _METADATA)
        at, *fields = self.table([k in ours or old.fields[k] is not None for k in range(_FIELDS)])
        self.refer(0, at)
        self._number(fields[_VERSION], old.version)
        for place, target in zip(fields, old.fields[:_FIELDS], strict=True):
            if place and target is not None:
                self.refer_behind(place, target)
        return fields

    def vector(self, count: int) -> int:
        at = self._take(4 + 4 * count)
        self._number(at, count)
        return at

    def entry(self, name: str, buffer: int) -> int:
        """A table `Metadata`: a name and the number of a buffer."""
        at, fields, number = self.table([True, True])
        text = name.encode()
        string = self._take(4 + len(text) + 1)
        self._number(string, len(text))
        self._bytes[string + 4 : string + 4 + len(text)] = text
        self.refer(fields, string)
        self._number(number, buffer)
        return at

    def buffer(self, data: bytes) -> int:
        """A table `Buffer` of these bytes."""
        at, place = self.table([True])
        vector = self._take(4 + len(data), DATA_ALIGNMENT, ahead=4)
        self._number(vector, len(data))
        self._bytes[vector + 4 : vector + 4 + len(data)] = data
        self.refer(place, vector)
        return at
