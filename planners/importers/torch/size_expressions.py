"""Sizes that an exported program leaves open: expressions, and the numbers of their symbols.

A size is a number or an expression such as `Mul(Integer(2), Symbol('s0', integer=True))`: sympy's
`srepr`, which is what `.pt2` files hold. Expressions are read as data: Python evaluates none.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

from planners.core.errors import BadInput

Size: TypeAlias = int | str
Range: TypeAlias = tuple[int | None, int | None]

LARGEST = 2**63
LONGEST_EXPRESSION = 2**16
MOST_POWER = 64
_SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")
_CONSTANTS = {"true": True, "false": False}
_IN_WORDS: Mapping[str, Callable[[str], Any]] = {"Integer": int, "Float": float}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "Integer": int,
    "Float": float,
    "Rational": Fraction,
    "ToFloat": float,
    "Identity": lambda a: a,
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: prod(factors),
    "Pow": lambda a, b: _power(a, b),
    "PowByNatural": lambda a, b: _power(a, b),
    "FloatPow": lambda a, b: float(a) ** b,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "FloorDiv": lambda a, b: a // b,
    "CleanDiv": lambda a, b: a // b,
    "IntTrueDiv": lambda a, b: a / b,
    "FloatTrueDiv": lambda a, b: a / b,
    "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b,
    "ModularIndexing": lambda a, b, c: a // b % c,
    "TruncToInt": math.trunc,
    "TruncToFloat": lambda a: float(math.trunc(a)),
    "FloorToInt": math.floor,
    "floor": math.floor,
    "CeilToInt": math.ceil,
    "ceiling": math.ceil,
    "RoundToInt": round,
    "RoundDecimal": round,
    "OpaqueUnaryFn_sqrt": math.sqrt,
    "OpaqueUnaryFn_log2": math.log2,
    "Where": lambda a, b, c: b if a else c,
    "Equality": lambda a, b: a == b,
    "Unequality": lambda a, b: a != b,
    "StrictLessThan": lambda a, b: a < b,
    "LessThan": lambda a, b: a <= b,
    "StrictGreaterThan": lambda a, b: a > b,
    "GreaterThan": lambda a, b: a >= b,
    "And": lambda *parts: all(parts),
    "Or": lambda *parts: any(parts),
    "Not": lambda a: not a,
}


def evaluated(expression: str, symbols: Mapping[str, int]) -> Any:
    """The number that an expression is.

    Raises `KeyError` where a symbol has no value, `ValueError` for what is no such expression.
    """
    try:
        return _number(_parsed(expression), symbols)
    except (ArithmeticError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{expression!r:.80} is no size: {error}") from error


@lru_cache(4096)
def _parsed(expression: str) -> ast.expr:
    if len(expression) > LONGEST_EXPRESSION:
        raise ValueError(f"an expression of {len(expression)} letters is no size")
    return ast.parse(expression, mode="eval").body


def _number(node: ast.expr, symbols: Mapping[str, int]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str() as text)]) if (
            name in _IN_WORDS
        ):
            return _IN_WORDS[name](text)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str() as name)]):
            return symbols[name]
        case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
            value = _FUNCTIONS[name](*(_number(part, symbols) for part in args))
            if not isinstance(value, float) and _is_longer(value):
                raise ValueError(f"a number of more than {LARGEST} is no size")
            whole = isinstance(value, Fraction) and value.denominator == 1
            return int(value) if whole else value
    raise ValueError(f"{ast.unparse(node):.80} is not known among sizes")


def _is_longer(value: Any) -> bool:
    return bool(abs(value) > LARGEST or value.denominator > LARGEST)


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > MOST_POWER:
        raise ValueError(f"a power of {exponent} is no size")
    return Fraction(base) ** exponent if isinstance(base, int) and exponent < 0 else base**exponent


# ---- Which number each symbol is -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GivenSize:
    """One size of what a program is given: `axis 0 of x`, as exported and as a run has it."""

    where: str
    size: Size
    value: int | None


def solved(label: str, sizes: Sequence[GivenSize], ranges: Mapping[str, Range]) -> dict[str, int]:
    """The number of each symbol for inputs of these sizes.

    Raises `BadInput`, with `label` in front, for the first size that the program does not take.
    """
    given = [one for one in sizes if one.value is not None]
    symbols: dict[str, int] = {}
    for plain in (True, False):
        for one in given:
            if isinstance(one.size, str) and bool(_SYMBOL.fullmatch(one.size)) == plain:
                _solve(one, symbols)
    for one in given:
        names = _SYMBOL.findall(one.size) if isinstance(one.size, str) else []
        inside = all(_inside(symbols[name], ranges.get(name)) for name in names if name in symbols)
        fits = not symbols.keys() >= set(names) or _at(one.size, symbols) == one.value
        if not (inside and fits):
            taken = _taken(one, symbols, ranges, inside)
            raise BadInput(f"{label}: {one.where} is {one.value}, and it was exported for {taken}")
    return symbols


def _at(size: Size, symbols: Mapping[str, int]) -> Any:
    return evaluated(size, symbols) if isinstance(size, str) else size


def _solve(one: GivenSize, symbols: dict[str, int]) -> None:
    """Find the one symbol of a linear expression that has no number yet."""
    expression, value = str(one.size), one.value
    unknown = list(dict.fromkeys(n for n in _SYMBOL.findall(expression) if n not in symbols))
    if len(unknown) == 1 and value is not None:
        slope, start = _line(expression, unknown[0], symbols)
        if slope:
            symbols[unknown[0]] = (value - start) // slope


def _line(expression: str, name: str, symbols: Mapping[str, int]) -> tuple[int, int]:
    """`a` and `b` of an expression `a * name + b`; `a` is 0 where it is none."""
    a, b, c = (evaluated(expression, {**symbols, name: n}) for n in (0, 1, 2))
    return (b - a, a) if type(a) is int and b - a == c - b else (0, 0)


def _inside(value: int, limits: Range | None) -> bool:
    low, high = limits or (None, None)
    return (low is None or value >= low) and (high is None or value <= high)


def _taken(
    one: GivenSize, symbols: Mapping[str, int], ranges: Mapping[str, Range], inside: bool
) -> str:
    """The sizes that a program takes in a place, in words."""
    if isinstance(one.size, int):
        return f"{one.size} alone"
    names = list(dict.fromkeys(_SYMBOL.findall(one.size)))
    if _SYMBOL.fullmatch(one.size) and not inside:
        return _words(ranges[names[0]])
    if len(names) > 1:
        return f"what follows from its other sizes, {_at(one.size, symbols)}"
    name = names[0]
    slope, start = _line(one.size, name, {})
    if (slope, start) == (1, 0):
        return f"the same size as another axis, {symbols[name]}"
    product = f"{slope} * {name}" if slope != 1 else name
    line = product + (f" {'-' if start < 0 else '+'} {abs(start)}" if start else "")
    return f"{line}, where {name} is {_words(ranges.get(name, (None, None)))}"


def _words(limits: Range) -> str:
    low, high = limits
    return f"{low or 0} or more" if high is None else f"{low or 0} to {high}"
