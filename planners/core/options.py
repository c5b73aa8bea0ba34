"""The options of a planner: a frozen dataclass whose fields declare all there is to know of them.

Each field is made by `flag`, `choice`, `whole`, `number`, `size`, `text` or `names`, with its help,
default, and choices or bounds; `rules` is the one method for what goes together. Validation here,
the command line, widgets, links, sweep labels, scripts and the documentation's tables are derived
from these types, for third-party planners too: an option is declared once.

>>> @dataclass(frozen=True, kw_only=True)
... class MyOptions(Options):
...     tile: int = whole(4, "rows at once", least=1)
...     greedy: bool = flag("take the first that fits", label="first fit")
...
...     def rules(self) -> Iterator[Rule]:
...         if self.greedy:
...             yield Rule("tile", "the first that fits has no tiles")
>>> MyOptions.from_values({"tile": 8}).unusual()
{'tile': 8}
>>> MyOptions.spec("tile").flag
'--tile'
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from planners.core.errors import BadInput
from planners.core.units import parse_size
from planners.core.weights import COUNTED, WEIGHTS, WORDS, asked_weights

Kind: TypeAlias = Literal["flag", "choice", "whole", "number", "size", "text", "names", "texts"]
Place: TypeAlias = Literal["front", "more", "none"]
"""Where a page shows an option: in front, folded away, or not at all."""
KEY = "option"
SHARED = ("weights", "time_limit", "wishes")
"""Fields that belong to the problem: pages, links and sweeps have them once for all planners."""
O = TypeVar("O", bound="Options")  # noqa: E741


class Rule(NamedTuple):
    """An option that the others leave no choice in, and why.

    A value of one that is `idle` is taken and without effect; any other must stay at its default.
    """

    option: str
    reason: str
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of an option: bounds are inclusive, but for `least` where `above` is set.

    `label` is what a page calls it, `words` what it calls each value that it offers, `short` how it
    names in a word or two what is set (with `{}` for the value); `empty` is what an empty value
    stands for. Of a `file`, which a planner would read, a link may say no more than `words`.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[Any, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    unit: str = ""
    label: str = ""
    words: Mapping[Any, str] = field(default_factory=dict)
    short: str = ""
    empty: str = ""
    place: Place = "more"
    file: bool = False

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def shared(self) -> bool:
        """Whether it belongs to the problem rather than to a planner."""
        return self.name in SHARED

    def word(self, value: Any) -> str:
        """A value as a person reads it."""
        if value in ("", None) and self.empty:
            return self.empty
        return self.words.get(value, str(value))

    def checked(self, value: Any) -> Any:
        """The value as the planner takes it. Raises `BadInput` that says what it may be."""
        return _CHECKS[self.kind](self, value)

    def text(self, value: Any) -> str:
        """A value in a link or on a command line: `read` gives it back."""
        if self.kind == "flag":
            return str(int(value))
        if self.kind in ("names", "texts") and not isinstance(value, str):
            return json.dumps(list(value), separators=(",", ":"), ensure_ascii=False)
        return repr(value) if self.kind == "number" else str(value)

    def read(self, text: str) -> Any:
        """The value of a text. Raises `BadInput`."""
        return self.checked(_READERS.get(self.kind, _as_it_is)(self, text))

    def wrong(self, value: Any, must: str) -> BadInput:
        """The error that says what the value must be."""
        return BadInput(f"{self.name} must be {must}, not {value!r:.60}")


def _flag(spec: Spec, value: Any) -> bool:
    if not isinstance(value, bool):
        raise spec.wrong(value, "True or False")
    return value


def _choice(spec: Spec, value: Any) -> Any:
    same = [choice for choice in spec.choices if choice == value and type(choice) is type(value)]
    if not same:
        names = ", ".join(str(choice) for choice in spec.choices if choice != "")
        raise BadInput(f"{spec.name}={value!r:.40}: choose one of {names}")
    return value


def _whole(spec: Spec, value: Any) -> int:
    if type(value) is not int or not spec.least <= value <= spec.most:
        raise spec.wrong(value, f"a whole number{_unit(spec)} {_bounds(spec)}".rstrip())
    return value


def _number(spec: Spec, value: Any) -> float:
    # Written so that NaN fails.
    fits = type(value) in (int, float) and spec.least <= value <= spec.most and value < math.inf
    if not fits or (spec.above and value == spec.least):
        raise spec.wrong(value, f"a number{_unit(spec)} {_bounds(spec)}".rstrip())
    return float(value)


def _size(spec: Spec, value: Any) -> int:
    if type(value) not in (int, str):
        raise spec.wrong(value, "bytes, or a text such as 18MiB")
    try:
        size = 0 if value in (0, "0", "") else parse_size(value)
    except BadInput as error:
        raise BadInput(f"{spec.name}: {error}") from error
    if not spec.least <= size <= spec.most:
        raise spec.wrong(value, f"bytes {_bounds(spec)}")
    return size


def _text(spec: Spec, value: Any) -> str:
    if not isinstance(value, str):
        raise spec.wrong(value, "a text")
    return value


def _names(spec: Spec, value: Any) -> Any:
    if value == spec.default:
        return spec.default
    given = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, Sequence) or not all(isinstance(n, str) and n for n in given):
        usual = f"{spec.default!r} or " if isinstance(spec.default, str) else ""
        raise spec.wrong(value, f"{usual}names")
    return tuple(given)


def _texts(spec: Spec, value: Any) -> tuple[Any, ...]:
    if value is None or isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, Sequence):
        raise spec.wrong(value, "texts")
    return tuple(value)


_CHECKS = {
    "flag": _flag,
    "choice": _choice,
    "whole": _whole,
    "number": _number,
    "size": _size,
    "text": _text,
    "names": _names,
    "texts": _texts,
}


def _read_flag(spec: Spec, text: str) -> bool:
    if text not in ("0", "1"):
        raise spec.wrong(text, "0 or 1")
    return text == "1"


def _read_choice(spec: Spec, text: str) -> Any:
    return next((choice for choice in spec.choices if str(choice) == text), text)


def _read_whole(spec: Spec, text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _read_number(spec: Spec, text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _read_list(spec: Spec, text: str) -> Any:
    if not text.startswith("["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _as_it_is(spec: Spec, text: str) -> Any:
    return text


_READERS = {
    "flag": _read_flag,
    "choice": _read_choice,
    "whole": _read_whole,
    "number": _read_number,
    "names": _read_list,
    "texts": _read_list,
}


def _unit(spec: Spec) -> str:
    return f" of {spec.unit}" if spec.unit else ""


def _bounds(spec: Spec) -> str:
    if spec.above:
        return f"above {spec.least:g}"
    if spec.most < math.inf:
        return f"from {spec.least:g} to {spec.most:,.0f}"
    return f"from {spec.least:g} on" if spec.least > -math.inf else ""


def _option(kind: Kind, default: Any, help: str, more: Mapping[str, Any]) -> Any:
    """A dataclass field that carries what is known of an option."""
    return field(default=default, metadata={KEY: (kind, help, more)})


def flag(help: str, *, default: bool = False, **more: Any) -> Any:
    """An option that is on or off. `more`, here and below: further fields of `Spec`."""
    return _option("flag", default, help, more)


def choice(choices: Sequence[Any], help: str, *, default: Any = MISSING, **more: Any) -> Any:
    """One of some values; the first is the default unless another is given."""
    usual = choices[0] if default is MISSING else default
    return _option("choice", usual, help, {"choices": tuple(choices), **more})


def whole(default: int, help: str, *, least: int = 0, **more: Any) -> Any:
    """A whole number within bounds."""
    return _option("whole", default, help, {"least": least, **more})


def number(default: float, help: str, *, least: float = 0.0, **more: Any) -> Any:
    """A finite number within bounds."""
    return _option("number", default, help, {"least": least, **more})


def size(default: int, help: str, *, least: int = 0, **more: Any) -> Any:
    """Bytes, given as a number or as a text such as `18MiB`."""
    return _option("size", default, help, {"least": least, "unit": "bytes", **more})


def text(default: str, help: str, **more: Any) -> Any:
    """Any text; `words` are those that a page offers."""
    return _option("text", default, help, more)


def names(default: Any, help: str, **more: Any) -> Any:
    """Names with commas between, or a sequence of them; the default may be a word as `auto`."""
    return _option("names", default, help, more)


def texts(help: str, **more: Any) -> Any:
    """Any number of texts, none as the default."""
    return _option("texts", (), help, more)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every planner has; a planner's own options are fields of a subclass.

    `weights`: what they do, see `planners.core.weights`; `parameters=True` is short for `counted`.
    `time_limit`: seconds for the whole answer.
    """

    weights: str = choice(
        WEIGHTS,
        "what weights do: left out, counted against the budget, or read in place",
        words=WORDS,
        place="none",
    )
    time_limit: float = number(
        60.0, "seconds for the whole answer", above=True, unit="seconds", place="none"
    )

    @property
    def parameters(self) -> bool:
        """Whether weights count against the budget."""
        return bool(self.weights == COUNTED)

    def rules(self) -> Iterator[Rule]:
        """Options that the others leave no choice in, each with the reason."""
        return iter(())

    @classmethod
    def specs(cls) -> Mapping[str, Spec]:
        """What is known of each option, by name, as they are declared."""
        return _specs(cls)

    @classmethod
    def spec(cls, name: str) -> Spec:
        """What is known of one option. Raises `KeyError`."""
        return _specs(cls)[name]

    @classmethod
    def own(cls) -> Mapping[str, Spec]:
        """Those that are the planner's own, not the problem's."""
        return {name: spec for name, spec in _specs(cls).items() if not spec.shared}

    @classmethod
    def from_values(cls: type[O], given: Mapping[str, Any] | Options) -> O:
        """Options with defaults for those not given. Raises `BadInput` that says what to do."""
        if isinstance(given, cls):
            return given
        values = dict(given.values() if isinstance(given, Options) else given)
        specs = cls.specs()
        if {"parameters", "weights"} & values.keys() and "parameters" not in specs:
            values["weights"] = asked_weights(values)
            values.pop("parameters", None)
        for name in values:
            if name not in specs:
                raise BadInput(f"{cls.planner()} has no option {name!r}; it has {', '.join(specs)}")
        options = cls(**{name: specs[name].checked(value) for name, value in values.items()})
        for option, reason, idle in options.rules():
            value = getattr(options, option)
            if value != specs[option].default and not idle:
                raise BadInput(f"{option}={value!r:.60}: {reason}")
        return options

    @classmethod
    def planner(cls) -> str:
        """The planner's name, as errors say it."""
        return cls.__name__.removesuffix("Options").lower()

    def settled(self: O) -> O:
        """The same with the usual value wherever the others leave no choice, first rules first."""
        specs = self.specs()
        for rule in self.rules():
            if getattr(self, rule.option) != (usual := specs[rule.option].default):
                return replace(self, **{rule.option: usual}).settled()
        return self

    def ruled_out(self) -> dict[str, str]:
        """Why options have no choice, by name, whatever their values are."""
        return {rule.option: rule.reason for rule in self.rules()}

    def values(self) -> dict[str, Any]:
        """All options as plain data: what a plan keeps and JSON can hold."""
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in self.specs()
        }

    def unusual(self) -> dict[str, Any]:
        """Those that are not the default."""
        specs = self.specs()
        return {
            name: value
            for name, value in self.values().items()
            if getattr(self, name) != specs[name].default
        }


_known: dict[type[Any], Mapping[str, Spec]] = {}


def _specs(cls: type[Options]) -> Mapping[str, Spec]:
    """The specs of a type of options: its own first, then what every planner has."""
    if cls not in _known:
        shared = {f.name for f in fields(Options)}
        declared = sorted(fields(cls), key=lambda f: f.name in shared)
        _known[cls] = {f.name: _spec(f) for f in declared if KEY in f.metadata}
    return _known[cls]


def _spec(declared: Field[Any]) -> Spec:
    kind, help, more = declared.metadata[KEY]
    return Spec(declared.name, kind, declared.default, help, **more)
