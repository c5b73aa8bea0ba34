"""XLA's dumps of programs of JAX drawn by chance: loops, branches, calls and chance in each other.

A program is a state of a few arrays and statements that change it; a loop or a branch has a list of
statements of its own. What was there before a loop is often read again after it. The oracle is
XLA's own report of bytes, what it lists as live at the peak, and which values its program has at
one address: those that a loop carries, and what branches give.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from making import Write, write_all

State = list[Any]
Step = Callable[[State], State]
DEEPEST = 3

# ---- Statements ----------------------------------------------------------------------------------


def plain(draw: Random, count: int, _: int) -> Step:
    at, by, kind = draw.randrange(count), draw.randrange(count), draw.randrange(8)

    def run(state: State) -> State:
        one, scale = state[at], jnp.mean(state[by])
        new = (
            lambda: jnp.sin(one @ one) * scale,
            lambda: jnp.tanh(one) + scale,
            lambda: jnp.sort(one, axis=-1) - scale,
            lambda: jnp.cumsum(one, axis=0) / (1 + scale * scale),
            lambda: one.T[::-1] * scale,
            lambda: jnp.concatenate((one[1:], one[:1] + scale)),
            lambda: jax.nn.softmax(one @ one.T) * scale,
            lambda: one.at[jnp.argmax(one[:, 0])].set(scale),
        )[kind]()
        return [new if k == at else old for k, old in enumerate(state)]

    return run


def random(draw: Random, count: int, _: int) -> Step:
    at, kind = draw.randrange(count), draw.randrange(5)

    def run(state: State) -> State:
        one = state[at]
        key = jax.random.key(one[0, 0].astype(int))
        first, second = jax.random.split(key)
        new = (
            lambda: one + jax.random.normal(key, one.shape),
            lambda: one * jax.random.uniform(second, one.shape),
            lambda: jax.random.permutation(first, one),
            lambda: jnp.where(jax.random.bernoulli(first, 0.5, one.shape), one, 0),
            lambda: one + jax.random.randint(second, one.shape, 0, 9) * jax.random.normal(first),
        )[kind]()
        return [new if k == at else old for k, old in enumerate(state)]

    return run


def called(draw: Random, count: int, depth: int) -> Step:
    inner, kind = block(draw, count, depth), draw.randrange(3)
    return (jax.jit(inner, inline=False), jax.checkpoint(inner), inner)[kind]


def counted(draw: Random, count: int, depth: int) -> Step:
    inner, most = block(draw, count, depth), draw.randint(1, 6)
    data = draw.random() < 0.3

    def run(state: State) -> State:
        end = jnp.abs(state[0][0, 0]).astype(int) if data else most
        return list(lax.fori_loop(0, end, lambda k, s: [v + k for v in inner(s)], state))

    return run


def looped(draw: Random, count: int, depth: int) -> Step:
    inner, test = block(draw, count, depth), block(draw, count, DEEPEST)
    at, costly = draw.randrange(count), draw.random() < 0.4

    def go_on(carried: tuple[Any, State]) -> Any:
        k, state = carried
        value = test(state)[at] if costly else state[at]
        return (k < 4) & (jnp.sum(value) < 9)

    return lambda state: list(
        lax.while_loop(go_on, lambda c: (c[0] + 1, inner(c[1])), (0, state))[1]
    )


def scanned(draw: Random, count: int, depth: int) -> Step:
    inner, at, back = block(draw, count, depth), draw.randrange(count), draw.random() < 0.5

    def run(state: State) -> State:
        def body(carry: State, row: Any) -> tuple[State, Any]:
            new = inner([v + row[0] for v in carry])
            return new, (jnp.sum(new[at], 0), row * 2)

        end, (sums, rows) = lax.scan(body, state, state[at], reverse=back)
        return [v + jnp.mean(sums) + jnp.mean(rows) for v in end]

    return run


def branched(draw: Random, count: int, depth: int) -> Step:
    at, ways = draw.randrange(count), draw.choice((2, 2, 3, 4))
    ends = [block(draw, count, depth) if draw.random() < 0.8 else list for _ in range(ways)]

    def run(state: State) -> State:
        value = state[at][0, 0]
        if ways == 2:
            return list(lax.cond(value > 0, *ends, state))
        return list(lax.switch(value.astype(int), ends, state))

    return run


def mapped(draw: Random, count: int, depth: int) -> Step:
    inner, at = block(draw, count, depth), draw.randrange(count)

    def run(state: State) -> State:
        def each(row: Any) -> Any:
            new = inner([v + row[0] for v in state])
            return row + jnp.mean(new[at])

        return [lax.map(each, v) if k == at else v for k, v in enumerate(state)]

    return run


def derived(draw: Random, count: int, depth: int) -> Step:
    inner, at, steps = plain(draw, count, depth), draw.randrange(count), draw.randint(2, 4)

    def run(state: State) -> State:
        def loss(value: Any) -> Any:
            start = [value if k == at else v for k, v in enumerate(state)]
            return jnp.sum(lax.scan(lambda s, _: (inner(s), None), start, None, steps)[0][at])

        return [jax.grad(loss)(v) if k == at else v for k, v in enumerate(state)]

    return run


KINDS = {
    made.__name__: made
    for made in (counted, looped, scanned, branched, mapped, called, derived, random)
}


def block(draw: Random, count: int, depth: int, first: str = "") -> Step:
    """Statements one after the other, of which one may add what was there before."""
    steps = []
    for number in range(draw.randint(1, 3)):
        nests = depth < DEEPEST and (first or draw.random() < 0.5)
        made = KINDS[first if first and not number else draw.choice([*KINDS])] if nests else plain
        again, step = draw.random() < 0.4, made(draw, count, depth + 1)
        steps.append((step, again))

    def run(state: State) -> State:
        for step, again in steps:
            before, state = state, list(step(state))
            if again:
                state = [new + old for new, old in zip(state, before, strict=True)]
        return state

    return run


# ---- What XLA says -------------------------------------------------------------------------------

FILE, LIVE, REPORT = "-buffer-assignment.txt", "-live-range.txt", "-memory-usage-report.txt"
VALUES, PROGRAM = "-buffer-assignment-values.txt", ".txt"
KEPT = (FILE, LIVE, REPORT, VALUES, PROGRAM)


def positions_of(text: str) -> dict[str, str]:
    """The value at each position of a program, `tuple.8{2}` or `copy.3{}`, as its own position."""
    found: dict[str, str] = {}
    value, inside = "", False
    for line in text.splitlines():
        if name := re.match(r"<\d+ (\S+)", line):
            value = name[1] if name[1].endswith("}") else f"{name[1]}{{}}"
        elif line.endswith(":"):
            inside = line == " positions:"
        elif inside and (at := re.fullmatch(r"  (\S+)(?: (\{[\d,]*\}))?", line)):
            found[at[1] + (at[2] or "{}")] = value
    return found


def at_one_address(program: str, positions: dict[str, str]) -> Iterator[list[str]]:
    """Values that XLA has in one buffer: what a loop carries, and what branches give."""
    roots: dict[str, str] = {}
    parameters: dict[str, str] = {}
    sites: list[tuple[str, str]] = []
    inside = ""
    for line in program.splitlines():
        if begin := re.match(r"(?:ENTRY )?%(\S+) \(", line):
            inside = begin[1]
        elif made := re.match(r"  (ROOT )?%(\S+) = .*? ([a-z-]+)\(", line):
            roots |= {inside: made[2]} if made[1] else {}
            if made[3] in ("while", "conditional"):
                sites.append((made[2], line.split(f" {made[3]}(", 1)[1]))
        if given := re.match(r"  (?:ROOT )?%(\S+) = .* parameter\(0\)", line):
            parameters[inside] = given[1]
    for name, words in sites:
        called = re.search(
            r"(condition|branch_computations|true_computation).*", words.split(", meta")[0]
        )
        inner = re.findall(r"%([^\s,}]+)", called[0]) if called else []
        one = [name, *(roots[c] for c in inner)]
        if "body=" in words:
            one = [name, words[1:].split(")")[0], *(parameters[c] for c in inner), roots[inner[1]]]
        for index in {p.removeprefix(name) for p in positions if p.startswith(f"{name}{{")}:
            same = {positions[p + index] for p in one if p + index in positions}
            if len(same) > 1:
                yield sorted(same)


def _write(first: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        count = draw.randint(1, 3)
        shapes = [(n, n) for n in (draw.choice((5, 8, 24)) for _ in range(count))]
        program = block(draw, count, 0, first)
        given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
        flags = {"xla_dump_to": str(path), "xla_dump_hlo_as_text": True}
        lowered = jax.jit(lambda *state: program(list(state))).lower(*given)
        sizes = lowered.compile(compiler_options=flags).memory_analysis()
        (report,) = path.glob(f"*{REPORT}")
        stem = report.name.removesuffix(REPORT)
        for file in path.iterdir():
            if file.is_file() and file.name not in {stem + end for end in KEPT}:
                file.unlink()
        text = {end: (path / (stem + end)).read_text() for end in KEPT}
        step = re.findall(r"Live ranges at (\d+) \(peak\)", text[LIVE])[0]
        return {
            "file": f"{path.name}/{stem}{FILE}",
            "total": int(re.findall(r"Total bytes: (\d+)", text[REPORT])[0]),
            "temporary": sizes.temp_size_in_bytes,
            "one": list(at_one_address(text[PROGRAM], positions_of(text[VALUES]))),
            "step": int(step),
            "live": re.findall(r"    (\S+): (\d+) bytes \(cumulative", text[LIVE]),
        }

    return write


if __name__ == "__main__":
    write_all({name: _write(name) for name in KINDS})
