"""Plain data read into typed dataclasses and back; errors name their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from planners.core.errors import BadInput

T = TypeVar("T")
LARGEST = 1e30
"""Of a number: what is larger, infinite or no number measures nothing here."""
KEY = "key"
"""In a field's metadata: what plain data call it."""
SPARSE = {"sparse": True}
"""A field's metadata: plain data have it only where it is something else than its default."""


@dataclass(frozen=True, slots=True)
class Within:
    """The bounds of a number, both allowed: `Annotated[int, Within(0, 7)]`."""

    least: float
    most: float = LARGEST


def read(kind: type[T], data: Any, where: str) -> T:
    """The dataclass in plain data; keys that it does not have are ignored.

    Raises `BadInput` that names the place, such as `layers[3].size_bytes`; `where` may be empty.
    """
    if not isinstance(data, Mapping):
        raise _wrong(where, data, "an object")
    values = {}
    for item, wanted in _fields_of(cast(Any, kind)):
        key = item.metadata.get(KEY, item.name)
        if key in data:
            values[item.name] = read_value(wanted, data[key], f"{where}.{key}" if where else key)
        elif _default(item) is MISSING:
            raise BadInput(f"{where}: {key!r} is missing")
    return kind(**values)


def read_value(kind: Any, data: Any, where: str) -> Any:
    """The value of a type in plain data. Raises `BadInput` that names the place."""
    if is_dataclass(kind):
        return read(kind, data, where)  # type: ignore[arg-type]  # a class, not one of its own
    inside = get_args(kind)
    match get_origin(kind):
        case None:
            return data if kind is Any else _scalar(kind, data, where, Within(-LARGEST))
        case origin if origin is Annotated:
            return _scalar(inside[0], data, where, inside[1])
        case origin if origin in (Union, UnionType):
            wanted = next(one for one in inside if one is not NoneType)
            return None if data is None else read_value(wanted, data, where)
        case origin if origin is Literal:
            if data not in inside:
                raise _wrong(where, data, f"one of {', '.join(map(str, inside))}")
            return data
        case origin if origin is tuple:
            return tuple(_items(inside, data, where))
        case _:
            return dict(_entries(inside, data, where))


def plain(value: Any) -> Any:
    """Plain data of a dataclass and all that it holds, for `json.dumps`; `read` reads it."""
    if is_dataclass(value):
        return {
            item.metadata.get(KEY, item.name): plain(getattr(value, item.name))
            for item in fields(value)
            if item.metadata != SPARSE or getattr(value, item.name) != _default(item)
        }
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


@cache
def _fields_of(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple((item, hints[item.name]) for item in fields(kind))


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def _items(inside: tuple[Any, ...], data: Any, where: str) -> Iterator[Any]:
    if not isinstance(data, (list, tuple)):
        raise _wrong(where, data, "a list")
    many = len(inside) == 2 and inside[1] is Ellipsis
    if not many and len(data) != len(inside):
        raise _wrong(where, data, f"a list of {len(inside)}")
    for number, item in enumerate(data):
        yield read_value(inside[0 if many else number], item, f"{where}[{number}]")


def _entries(inside: tuple[Any, ...], data: Any, where: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(data, Mapping):
        raise _wrong(where, data, "an object")
    for key, item in data.items():
        name = read_value(inside[0], key, f"a key of {where}")
        yield name, read_value(inside[1], item, f"{where}[{key!r:.60}]")


def _scalar(kind: Any, data: Any, where: str, within: Within) -> Any:
    """Text, yes or no, a whole number or a number; a whole number is a number too."""
    wanted = (int, float) if kind is float else (kind,)
    if type(data) not in wanted:
        raise _wrong(where, data, _words(kind, within))
    # Written so that NaN fails.
    if kind in (int, float) and not within.least <= data <= within.most:
        raise _wrong(where, data, _words(kind, within))
    return kind(data)


def _words(kind: Any, within: Within) -> str:
    if kind not in (int, float):
        return {str: "text", bool: "true or false"}[kind]
    name = "a whole number" if kind is int else "a number"
    if within.least == -LARGEST:
        return name
    return f"{name} of {within.least} " + (
        "or more" if within.most == LARGEST else f"to {within.most}"
    )


def _wrong(where: str, data: Any, wanted: str) -> BadInput:
    return BadInput(f"{where} is {data!r:.40}, not {wanted}")
