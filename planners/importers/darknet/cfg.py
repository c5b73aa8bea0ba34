"""Darknet's `.cfg` text as a network: sections of options, every complaint with file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from planners.core.errors import BadInput
from planners.importers.darknet.layers import IDENTITIES, Builder, Network

LARGEST_FILE = 2**22
"""Bytes; the largest published files are a hundredth of it."""

_ALIASES = {
    "network": "net",
    "conv": "convolutional",
    "conn": "connected",
    "max": "maxpool",
    "avg": "avgpool",
    "soft": "softmax",
}
_OPTIONS = {
    "net": "width height channels",
    "convolutional": "filters size stride stride_x stride_y pad padding dilation groups "
    "batch_normalize activation",
    "connected": "output activation batch_normalize",
    "maxpool": "size stride stride_x stride_y padding",
    "avgpool": "",
    "route": "layers groups group_id",
    "shortcut": "from activation",
    "upsample": "stride",
    "reorg": "stride",
    "softmax": "groups",
    "yolo": "mask num classes",
    "region": "num classes coords",
    "dropout": "",
    "cost": "",
}
"""The options that decide what a section computes; the others are for training and are left."""

_REFUSED = {
    "convolutional": "binary xnor share_index antialiasing deform sway rotate stretch stretch_sway",
    "maxpool": "maxpool_depth antialiasing",
    "shortcut": "weights_type",
    "upsample": "reverse",
    "reorg": "reverse flatten extra",
    "softmax": "spatial tree",
}
"""Options that would compute something else, and are not supported."""


@dataclass(frozen=True, slots=True)
class Section:
    """`[kind]` at a line, and its options with the line of each."""

    kind: str
    file: str
    line: int
    options: dict[str, tuple[str, int]] = field(default_factory=dict)

    def bad(self, reason: str, option: str = "") -> BadInput:
        """The error to raise, at the option's line where it is given."""
        line = self.options[option][1] if option in self.options else self.line
        return BadInput(f"{self.file}:{line}: {reason}")

    def text(self, option: str, default: str | None = None) -> str:
        if option in self.options:
            return self.options[option][0]
        if default is None:
            raise self.bad(f"[{self.kind}] has no {option}: write {option}=…; is the file cut?")
        return default

    def number(self, option: str, default: int | None = None, least: int = 1) -> int:
        """A whole number of at least `least`. Raises `BadInput`."""
        text = self.text(option, None if default is None else str(default))
        if not re.fullmatch(r"[+-]?[0-9]{1,9}", text) or int(text) < least:
            raise self.bad(
                f"{option} is {text!r:.40}, not a whole number from {least} to 999999999", option
            )
        return int(text)

    def numbers(self, option: str) -> tuple[int, ...]:
        """Whole numbers between commas. Raises `BadInput`."""
        texts = self.text(option).rstrip(",").split(",")
        if not all(re.fullmatch(r"[+-]?[0-9]{1,9}", text) for text in texts):
            raise self.bad(f"{option} is {','.join(texts)!r:.60}, not whole numbers", option)
        return tuple(map(int, texts))

    def sources(self, option: str, index: int) -> tuple[int, ...]:
        """Layers by number; below zero they count back from this one, which is `index`."""
        layers = tuple(n if n >= 0 else index + n for n in self.numbers(option))
        for given, number in zip(self.numbers(option), layers):
            if not 0 <= number < index:
                there = f"layers 0 to {index - 1} come before" if index else "none comes before"
                raise self.bad(f"{option}={given} is not an earlier layer: {there}", option)
        return layers

    def stride(self) -> tuple[int, int]:
        """Down and across."""
        both = self.number("stride", 1)
        return self.number("stride_y", both), self.number("stride_x", both)


def read_cfg(path: str | Path) -> str:
    """The text of a file. Raises `BadInput` where it cannot be read or is no text."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    if len(data) > LARGEST_FILE:
        raise BadInput(f"{path} is larger than {LARGEST_FILE} bytes: no Darknet .cfg file is")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}:{line}: not text; give a Darknet .cfg file, not weights") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInput(f"{path}:{line}: not text; give a Darknet .cfg file, not weights")
    return text


def sections(text: str, file: str) -> list[Section]:
    """The sections of a file in order, `[net]` first. Raises `BadInput` with file and line."""
    parsed: list[Section] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.sub(r"[ \t\r]", "", re.split(r"[#;]", raw, maxsplit=1)[0])
        if line.startswith("["):
            if not re.fullmatch(r"\[\w+\]", line):
                raise BadInput(f"{file}:{number}: {line!r:.40} is no [section]; is the file cut?")
            kind = line[1:-1]
            parsed.append(Section(_ALIASES.get(kind, kind), file, number))
            _check_kind(parsed)
        elif line:
            _add_option(parsed, line, file, number)
    if not parsed:
        raise BadInput(f"{file}:1: no [net] section: give a Darknet .cfg file")
    if len(parsed) == 1:
        raise BadInput(f"{file}:{parsed[0].line}: no layers come after [net]; is the file cut?")
    for section in parsed:
        _check_options(section)
    return parsed


def parse(text: str, file: str, name: str, size: tuple[int, int] | None = None) -> Network:
    """The network of a `.cfg` text, at another height and width where `size` gives them.

    `file` is what complaints call the text. Raises `BadInput` with file and line.
    """
    net, *layers = sections(text, file)
    height, width = size or (net.number("height"), net.number("width"))
    builder = Builder((net.number("channels"), height, width))
    for section in layers:
        try:
            _ADD[section.kind](section, builder)
        except BadInput as error:
            message = str(error)
            if message.startswith(f"{file}:"):
                raise
            where = f"layer {len(builder.layers)} [{section.kind}]"
            raise section.bad(f"{where}: {message}") from None
    return builder.network(name)


def essence(text: str, file: str) -> str:
    """The text without comments and without what concerns training: the same network.

    Raises `BadInput` with file and line.
    """
    lines = []
    for section in sections(text, file):
        lines.append(f"[{section.kind}]")
        kept = _OPTIONS[section.kind].split()
        lines += (f"{key}={section.options[key][0]}" for key in kept if key in section.options)
    return "\n".join(lines)


def _check_kind(sections: list[Section]) -> None:
    section = sections[-1]
    if (section.kind == "net") != (len(sections) == 1):
        wrong = "a second [net]" if len(sections) > 1 else f"[{section.kind}] comes before [net]"
        raise section.bad(f"{wrong}: a file begins with its one [net] section")
    if section.kind not in _OPTIONS:
        kinds = ", ".join(kind for kind in _OPTIONS if kind != "net")
        raise section.bad(f"no section [{section.kind:.40}]: supported are {kinds}")


def _add_option(sections: list[Section], line: str, file: str, number: int) -> None:
    key, equals, value = line.partition("=")
    if not equals or not key or not key.isprintable():
        raise BadInput(f"{file}:{number}: {line!r:.40} is neither [section] nor option=value")
    if not sections:
        raise BadInput(f"{file}:{number}: {key:.40}= comes before any section: begin with [net]")
    options = sections[-1].options
    if key in _OPTIONS[sections[-1].kind].split():
        if not value:
            raise BadInput(f"{file}:{number}: {key}= has no value; is the file cut?")
        if key in options and options[key][0] != value:
            first = options[key][1]
            raise BadInput(
                f"{file}:{number}: {key} is {value!r:.40} here and another at line {first}"
            )
    options.setdefault(key, (value, number))


def _check_options(section: Section) -> None:
    """No option that computes something else, and none misspelt."""
    options = _OPTIONS[section.kind].split()
    for key in _REFUSED.get(section.kind, "").split():
        if section.text(key, "0") not in ("0", "none"):
            raise section.bad(f"[{section.kind}] with {key} is not supported", key)
    for key in section.options:
        near = get_close_matches(key, options, 1, 0.8)
        if section.kind != "net" and key not in options and near and near[0] not in section.options:
            raise section.bad(f"no option {key:.40}; did you mean {near[0]}?", key)


def _convolutional(section: Section, builder: Builder) -> None:
    size = section.number("size", 1)
    pad = section.number("pad", 0, least=0)
    builder.conv(
        section.number("filters"),
        size,
        section.stride(),
        padding=size // 2 if pad else section.number("padding", 0, least=0),
        dilation=section.number("dilation", 1),
        groups=section.number("groups", 1),
        norm=section.number("batch_normalize", 0, least=0) > 0,
        activation=section.text("activation"),
    )


def _connected(section: Section, builder: Builder) -> None:
    norm = section.number("batch_normalize", 0, least=0) > 0
    builder.connected(section.number("output"), norm=norm, activation=section.text("activation"))


def _maxpool(section: Section, builder: Builder) -> None:
    down, across = section.stride()
    size = section.number("size", max(down, across))
    builder.maxpool(size, (down, across), section.number("padding", size - 1, least=0))


def _route(section: Section, builder: Builder) -> None:
    groups, group = section.number("groups", 1), section.number("group_id", 0, least=0)
    builder.route(*section.sources("layers", len(builder.layers)), groups=groups, group=group)


def _shortcut(section: Section, builder: Builder) -> None:
    sources = section.sources("from", len(builder.layers))
    builder.shortcut(*sources, activation=section.text("activation", "linear"))


def _upsample(section: Section, builder: Builder) -> None:
    if section.text("scale", "1") not in ("1", "1.", "1.0"):
        raise section.bad("[upsample] with a scale is not supported", "scale")
    builder.upsample(section.number("stride", 2))


def _yolo(section: Section, builder: Builder) -> None:
    masks = len(section.numbers("mask")) if "mask" in section.options else 0
    _head(section, builder, masks or section.number("num", 1), 5)


def _region(section: Section, builder: Builder) -> None:
    _head(section, builder, section.number("num", 1), section.number("coords", 4) + 1)


def _head(section: Section, builder: Builder, boxes: int, numbers: int) -> None:
    wanted = boxes * (section.number("classes", 20) + numbers)
    if builder.shape[0] != wanted:
        raise BadInput(
            f"{boxes} boxes of {numbers} numbers and {section.number('classes', 20)} classes are "
            f"{wanted} channels, and the layer before has {builder.shape[0]} (its filters)"
        )
    builder.identity(section.kind)


def _identity(section: Section, builder: Builder) -> None:
    builder.identity(section.kind)


_ADD: dict[str, Callable[[Section, Builder], object]] = {
    **dict.fromkeys(IDENTITIES, _identity),
    "convolutional": _convolutional,
    "connected": _connected,
    "maxpool": _maxpool,
    "avgpool": lambda section, builder: builder.avgpool(),
    "route": _route,
    "shortcut": _shortcut,
    "upsample": _upsample,
    "reorg": lambda section, builder: builder.reorg(section.number("stride", 1)),
    "softmax": lambda section, builder: builder.softmax(section.number("groups", 1)),
    "yolo": _yolo,
    "region": _region,
}
