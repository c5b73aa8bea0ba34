"""A run of the layout as C: its operators' structs, its buffers, and a function of its loops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent

from planners.backends.c.operators import Coded
from planners.backends.c.places import (
    PlaceFields,
    as_image,
    buffer_of,
    distance,
    flat,
    kept,
    shown_as,
)
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph

# ---- C identifiers for the names of tensors and operators ----------------------------------------


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """A distinct identifier for each name, to stand behind a prefix such as `op_`.

    >>> identifiers(["features.0", "features_0", "x"])
    {'features.0': 'features_0', 'features_0': 'features_0_2', 'x': 'x'}
    """
    identifier_of: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        word, number = plain, 1
        while word in taken:
            number += 1
            word = f"{plain}_{number}"
        taken.add(word)
        identifier_of[name] = word
    return identifier_of


def comment(text: str) -> str:
    """Text that cannot end the comment it stands in, on one line, and reads as it is written: what
    turns the direction of writing, or is not seen, is shown by its number."""
    seen = "".join(c if c.isprintable() or c.isspace() else f"\\u{ord(c):04x}" for c in text)
    return " ".join(seen.split()).replace("*/", "* /").replace("/*", "/ *")


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """What all runs share: `tensors` are the identifiers of tensors, `whole` their places."""

    graph: Graph
    layout: PoolLayout
    coded: Mapping[str, Coded]
    tensors: Mapping[str, str]
    whole: Mapping[str, PlaceFields]


class RunCode:
    """Run number `number` of the layout."""

    def __init__(self, scope: Scope, number: int) -> None:
        self.scope, self.number = scope, number
        self.run: KernelRun = scope.layout.runs[number]
        self.name = f"run_{number}"
        self.ops = [scope.coded[name] for name in self.run.operators]
        if not self.ops or (self.run.form == "alone" and len(self.ops) != 1):
            raise BadInput(f"run {number} of the layout has {len(self.ops)} operators")
        self.made = {op.op.output: i for i, op in enumerate(self.ops)}
        kept_here = {buffer.tensor for buffer in self.run.buffers}
        if missing := [t for t in list(self.made)[:-1] if t not in kept_here]:
            raise BadInput(f"run {number} of the layout has no buffer for tensor {missing[0]!r}")
        self.local: dict[str, PlaceFields] = {}  # by identifier: places of this run alone
        self.shared: set[str] = set()  # tensors whose whole places it names
        self.last = self.ops[-1]

    @property
    def text(self) -> str:
        """All of it; the function is named `run_N`."""
        body = {"alone": self._line, "line": self._line}.get(self.run.form, self._bottleneck)()
        places = "".join(
            f"static const place {name} = {place.initializer};\n"
            for name, place in self.local.items()
        )
        structs = "".join(op.definition for op in self.ops)
        return f"/* {self._title}\n */\n{structs}{places}\n{body}"

    @property
    def _title(self) -> str:
        """What the run does, from where to where, for people."""
        run, layout = self.run, self.scope.layout
        channels = f" of {run.channels} channels" if run.channels else ""
        lines = [f"Run {self.number}, {run.form}{channels}:"]
        for coded in self.ops:
            op = coded.op
            shapes = ", ".join(shown_as(source) for source in coded.sources)
            lines.append(f"{op.name}: {_does(coded)}, {shapes} -> {shown_as(coded.target)}")
        target = self.last.op.output
        for name in self._outside:
            apart = distance(layout, name, target)
            lines.append(
                f"reads {name}, {self._lies(name)}: "
                f"the output begins {apart} bytes before it, modulo the pool"
            )
        lines.append(f"writes {target}, {self._lies(target)}")
        for buffer in run.buffers:
            at = buffer.offset % layout.pool_bytes
            what = "sums" if buffer.sums else f"{buffer.pixels} pixel{'s'[: buffer.pixels > 1]}"
            lines.append(f"keeps {what} of {buffer.tensor}, {buffer.size_bytes} bytes at {at}")
        return "\n *   ".join(comment(line) for line in lines)

    def _lies(self, name: str) -> str:
        """How many bytes a tensor has and where they are, for people."""
        pitch = self.scope.layout.pitches.get(name)
        apart = f", a pixel every {pitch} bytes" if pitch else ""
        bytes_ = self.scope.graph.size_bytes(name)
        return f"{bytes_} bytes at {self.scope.layout.offsets[name]}{apart}"

    @property
    def _outside(self) -> list[str]:
        """Tensors that the run reads and does not make."""
        read = dict.fromkeys(name for coded in self.ops for name in coded.op.inputs)
        return [name for name in read if name not in self.made]

    def _place(self, name: str, columns: int = 0) -> str:
        """The C expression of where a tensor lies: a buffer of this run, or whole in the pool."""
        buffer = buffer_of(self.run, name)
        if buffer is not None:
            where = kept(self.scope.graph, self.scope.layout, buffer, columns)
            return self._own(name, "kept", where)
        self._whole(name)
        self.shared.add(name)
        return f"&at_{self.scope.tensors[name]}"

    def _whole(self, name: str) -> PlaceFields:
        if name not in self.scope.whole:
            raise BadInput(f"run {self.number} of the layout has no place for tensor {name!r}")
        return self.scope.whole[name]

    def _own(self, name: str, prefix: str, where: PlaceFields) -> str:
        identifier = f"{prefix}_{self.scope.tensors[name]}_{self.number}"
        self.local[identifier] = where
        return f"&{identifier}"

    def _sources(self, coded: Coded) -> list[str]:
        """Where the inputs of an operator lie, as its kernel takes them."""
        if not coded.flattens:
            return [self._place(name) for name in coded.op.inputs]
        name, graph = coded.op.inputs[0], self.scope.graph
        buffer = buffer_of(self.run, name)
        if buffer is not None:
            where = kept(graph, self.scope.layout, buffer)
        else:
            where = self._whole(name)
        return [self._own(name, "flat", flat(where, as_image(graph, name), name))]

    # ---- operators that pull pixels from one another

    def _line(self) -> str:
        """The last operator pixel by pixel, and a function for each one that it pulls from."""
        functions = [self._pull(i) for i in range(len(self.ops) - 1)]
        count = self.last.target.pixels
        body = [f"for (int32_t q = 0; q < {count}; q++) {{"]
        body += [f"    {line}" for line in self._pixel(self.last, "q")]
        body.append("}")
        if functions:
            counters = f"int32_t done[{len(functions)}] = {{0}}; /* pixels made by each operator */"
            body.insert(0, counters)
        return "\n".join([*functions, _function(self.name, "void", body)])

    def _pull(self, i: int) -> str:
        coded = self.ops[i]
        what = f"/* Makes the pixels of {comment(coded.op.output)} up to number `last`. */\n"
        body = [f"for (; done[{i}] <= last; done[{i}]++) {{"]
        body += [f"    {line}" for line in self._pixel(coded, f"done[{i}]")]
        body.append("}")
        arguments = "int32_t *done, int32_t last"
        return what + _function(f"{self.name}_{coded.name}", arguments, body)

    def _pixel(self, coded: Coded, pixel: str) -> Iterator[str]:
        """What it takes to make one pixel: first what it reads, then itself."""
        target = self._place(coded.op.output)
        for index, name in enumerate(coded.op.inputs):
            if name in self.made:
                last = coded.last_needed(index, self._place(name), target, pixel)
                yield f"{self.name}_{self.ops[self.made[name]].name}(done, {last});"
        yield from coded.calls(self._sources(coded), target, pixel)

    # ---- the paper's inverted bottleneck

    def _bottleneck(self) -> str:
        block = _Block.from_run(self.run, self.ops)
        columns = block.depthwise.op.kernel[1] if block.expand else 0
        source = self._place(block.depthwise.op.inputs[0], columns)
        middle = self._place(block.depthwise.op.output)
        written = self._tile if self.run.form == "tile" else self._window
        body = [f"for (int32_t q = 0; q < {self.last.target.pixels}; q++) {{"]
        body += [f"    {line}" for line in written(block, source, middle)]
        return _function(self.name, "void", [*body, "}"])

    def _window(self, block: _Block, source: str, middle: str) -> Iterator[str]:
        channels = block.depthwise.target.channels
        if block.expand:
            keep = int(self.run.form == "columns")
            yield self._expand(block, source, middle, f"0, {channels}, {keep}")
        yield from block.depthwise.calls([source], middle, "q")
        yield from block.project.calls([middle], self._place(block.project.op.output), "q")
        yield from self._added(block, self._place(block.project.op.output))

    def _tile(self, block: _Block, source: str, middle: str) -> Iterator[str]:
        channels, tile = block.depthwise.target.channels, self.run.channels
        if block.depthwise.op.channels:
            raise BadInput(f"run {self.number} of the layout has tiles of chosen channels")
        name = block.project.op.output
        buffer = buffer_of(self.run, name, sums=True)
        if buffer is None or not 0 < tile:
            raise BadInput(f"run {self.number} of the layout has no tiles or no sums for {name!r}")
        where = kept(self.scope.graph, self.scope.layout, buffer)
        sums = self._own(name, "sums", where)
        yield f"sums_begin({block.project.struct}, {sums});"
        yield f"for (int32_t c = 0; c < {channels}; c += {tile}) {{"
        count = str(tile)
        if channels % tile:
            count = "count"
            yield f"    const int32_t count = c + {tile} < {channels} ? {tile} : {channels} - c;"
        if block.expand:
            yield f"    {self._expand(block, source, middle, f'c, {count}, 0')}"
        whole = int(block.expand is None)
        args = f"{block.depthwise.struct}, {source}, {middle}, q, c, {count}, {whole}"
        yield f"    depthwise_tile({args});"
        yield f"    sums_add({block.project.struct}, {middle}, {sums}, c, {count});"
        yield "}"
        if block.add is None:
            target = self._place(name)
        else:  # Values are written over sums that have been read.
            seen = block.project.target
            over = PlaceFields(where.at, seen.height, seen.width, seen.channels, seen.channels, 1)
            target = self._own(name, "kept", over)
        yield f"sums_end({block.project.struct}, {sums}, {target}, q);"
        yield from self._added(block, target)

    def _expand(self, block: _Block, expanded: str, middle: str, rest: str) -> str:
        assert block.expand is not None
        source = self._place(block.expand.op.inputs[0])
        places = f"{source}, {expanded}, {block.depthwise.struct}.window, {middle}"
        return f"expand_window({block.expand.struct}, {places}, q, {rest});"

    def _added(self, block: _Block, projected: str) -> Iterator[str]:
        if block.add is not None:
            name = block.project.op.output
            sources = [projected if t == name else self._place(t) for t in block.add.op.inputs]
            yield from block.add.calls(sources, self._place(block.add.op.output), "q")


@dataclass(frozen=True, slots=True)
class _Block:
    """The operators of an inverted bottleneck."""

    expand: Coded | None
    depthwise: Coded
    project: Coded
    add: Coded | None

    @staticmethod
    def from_run(run: KernelRun, ops: list[Coded]) -> _Block:
        """The run's operators by what they do. Raises `BadInput` where they are none."""
        rest = list(ops)
        add = rest.pop() if rest[-1].op.kind == "add" else None
        if len(rest) not in (2, 3):
            raise BadInput(f"form {run.form!r} is for two to four operators, not {len(ops)}")
        expand = rest.pop(0) if len(rest) == 3 else None
        depthwise, project = rest
        plain = depthwise.depthwise and depthwise.op.dilation == (1, 1) and project.pointwise
        if not plain or (expand is not None and expand.op.kind != "conv"):
            raise BadInput(f"operators {run.operators} are not a block for form {run.form!r}")
        return _Block(expand, depthwise, project, add)


def _does(coded: Coded) -> str:
    op = coded.op
    kernel = coded.kernel.removesuffix("_pixel")
    if op.kind not in ("conv", "max_pool", "avg_pool"):
        return kernel
    stride = f" stride {op.stride[0]}x{op.stride[1]}" if op.stride != (1, 1) else ""
    return f"{kernel} {op.kernel[0]}x{op.kernel[1]}{stride}"


def _function(name: str, arguments: str, body: list[str]) -> str:
    return f"static void {name}({arguments})\n{{\n{indent(chr(10).join(body), '    ')}\n}}\n"
