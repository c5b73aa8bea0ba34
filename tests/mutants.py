"""Do the tests notice a wrong program? One small change at a time, and the tests run on it.

    python -m tests.mutants planners/simulator/symbolic.py tests/simulator/test_corruptions.py \
        tests/simulator/test_loops.py --sample 30 --seed 1

A change turns a comparison, an operator of arithmetic or logic, a number or a truth value, or takes
out a `raise`. Files stay as they are: a child process gets the changed module in place of its own.
Prints each change that the tests did not notice, and how many there were of each kind.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.plans import AFRESH

ROOT = Path(__file__).parents[1]
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
KILLED, SURVIVED, HUNG = "noticed", "not noticed", "did not end"


class Change(ast.NodeTransformer):
    """Changes place `number` of a program, or with -1 none, and counts the places."""

    def __init__(self, number: int) -> None:
        self.number, self.places = number, 0
        self.told = ""

    def _here(self, node: ast.AST, told: str) -> bool:
        self.places += 1
        if self.places - 1 != self.number:
            return False
        self.told = f"line {getattr(node, 'lineno', 0)}: {told}"
        return True

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.ops = [self._swapped(op, node) for op in node.ops]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in SWAPPED:
            node.op = self._swapped(node.op, node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        node.op = self._swapped(node.op, node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and self._here(node, "without its not"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self._here(node, f"{node.value} the other way"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, int) and self._here(node, f"{node.value} + 1"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:  # what it says is no matter
        return ast.copy_location(ast.Pass(), node) if self._here(node, "no raise") else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(line) for line in node.body]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def _swapped(self, op: Any, node: ast.AST) -> Any:
        other = SWAPPED[type(op)]
        if self._here(node, f"{type(op).__name__} is {other.__name__}"):
            return other()
        return op


def changed(source: str, number: int) -> tuple[ast.Module, Change]:
    """A program with one place changed, and what was changed."""
    change = Change(number)
    return ast.fix_missing_locations(change.visit(ast.parse(source))), change


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module as another program."""

    def __init__(self, path: Path, program: ast.Module) -> None:
        self.path, self.program = path, program
        self.name = ".".join(path.relative_to(ROOT).with_suffix("").parts)

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=str(self.path))

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.program, str(self.path), "exec"), vars(module))


def outcome(path: Path, number: int, tests: list[str], limit_s: float) -> tuple[str, str]:
    """What the tests make of a change, and the change in words."""
    program, change = changed(path.read_text(encoding="utf-8"), number)
    child = os.fork()
    if child == 0:
        _run(path, program, tests)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return (SURVIVED if status == 0 else KILLED), change.told
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG, change.told


def _run(path: Path, program: ast.Module, tests: list[str]) -> None:
    """Run the tests on a program in this process, which is a child; never returns."""
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.environ[AFRESH] = "1"  # Plans kept on disk are those of the program as it is.
        sys.meta_path.insert(0, Instead(path, program))
        code = int(
            pytest.main(
                ["-x", "-q", "--ceiling=0", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
            )
        )
    finally:
        os._exit(code)


def sampled(path: Path, most: int, seed: int) -> Iterator[int]:
    """Places of a file in the order of chance."""
    places = changed(path.read_text(encoding="utf-8"), -1)[1].places
    yield from random.Random(seed).sample(range(places), min(most, places))


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    ask.add_argument("file", type=Path)
    ask.add_argument("tests", nargs="+")
    ask.add_argument("--sample", type=int, default=30, help="how many changes, by chance")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--seconds", type=float, default=300.0, help="for the tests on one change")
    asked = ask.parse_args()
    path, counts = asked.file.resolve(), Counter[str]()
    for name in ("numpy", "networkx", "torch"):  # once, and not in each child
        importlib.import_module(name)
    whole, _ = outcome(path, -1, asked.tests, asked.seconds)
    if whole != SURVIVED:
        print(f"the tests {whole} on the program as it is", file=sys.stderr)
        return 2
    for number in sampled(path, asked.sample, asked.seed):
        found, told = outcome(path, number, asked.tests, asked.seconds)
        counts[found] += 1
        if found != KILLED:
            print(f"{asked.file} {told} ({number}): {found}", flush=True)
    print(f"{asked.file}: " + ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
