"""Random modules of many styles: read right, planned by every planner, computed as eager does?

    python benchmarks/random_modules.py [--count 2000] [--first 0] [--seconds 3600]
        [--odder] [--boxes] [--read]

Each is imported and run operator by operator, then planned by all planners within its MR (or four
times that, or 1 MiB, where a planner needs more), checked and executed. With `--odder` the steps of
`tests/importers/odder_steps.py` are among them, and MACs are compared with what
`torch.utils.flop_counter` sees. With `--boxes` they are of the steps of
`tests/importers/boxed_steps.py`, and random boxes of each operator are made of the boxes that they
need, all else spoilt: in some modules none needs all of what it reads, whatever the box. With
`--read` none is planned. What is wrong or refused is printed with its seed and its steps; the last
line counts. Exits 1 where something was wrong.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from zoo_parts.eager import counted

import planners as sp
from planners.importers.torch.source_model import SourceModel
from tests.importers.apart import assert_boxes, calls_read_whole
from tests.importers.boxed_steps import BOXED
from tests.importers.odder_steps import ODDER
from tests.importers.random_modules import StyledModule, fresh
from tests.importers.replay import replayed

PLANNERS = ("cosma", "fusion", "overlap", "streaming")
KINDS = {"": None, "odder": ODDER, "boxes": BOXED}
"""What modules are made of, by the option that asks for it."""


def counted_macs(module: StyledModule, graph: sp.Graph) -> str:
    """What is wrong with a graph's MACs: work on parameters alone may be run again by a reader."""
    counter = counted(copy.deepcopy(module), fresh(module))
    most = sum(counter.macs.values()) + counter.of_weights * len(graph.operators)
    least = sum(counter.macs.values())
    fine = least <= graph.macs <= most or any("recurrent" in line for line in module.lines)
    return "" if fine else f"{graph.macs} MACs, torch counts {least}"


def imported(module: StyledModule) -> sp.Graph:
    """The graph, once its operators computed what eager does. Raises for what is wrong."""
    graph = sp.from_torch(module, fresh(module))
    found, kept = replayed(graph, SourceModel(module, fresh(module)), fresh(module))
    run = copy.deepcopy(module)
    with torch.no_grad():
        expected = run(*fresh(module)), dict(run.named_buffers())
    found = found, {**expected[1], **kept}
    # A kernel may round otherwise where a tensor lies otherwise: two units in the last place.
    torch.testing.assert_close(found, expected, rtol=2.4e-7, atol=1.2e-7, equal_nan=True)
    return graph


def boxed(module: StyledModule, graph: sp.Graph, seed: int) -> str:
    """Whether boxes need boxes alone, or of which calls they do not. Raises where one is wrong."""
    model = SourceModel(module, fresh(module))
    with torch.no_grad():
        assert_boxes(graph, model, model.input_values(fresh(module)), random.Random(seed))
    kinds = {kind for op in graph.operators for kind in calls_read_whole(op)}
    return f"read whole: {', '.join(sorted(kinds))}" if kinds else "read by boxes"


def planned(graph: sp.Graph, planner: str, module: StyledModule) -> str:
    """What became of a plan: equal, other numbers, or too small a budget."""
    need = sp.budgets(graph).MR
    for budget in (need, 4 * need, 2**20):
        try:
            plan = sp.plan(graph, planner, budget, time_limit=5)
        except (sp.BudgetTooSmall, sp.NoPlanFound):
            continue
        sp.check(plan)
        found = sp.execute(plan, copy.deepcopy(module), fresh(module))
        leaves = torch.utils._pytree.tree_leaves([found.reference, found.state])
        size = max(1.0, *(float(leaf.abs().max()) for leaf in leaves))
        error = found.max_abs_error / size
        return "equal" if error < 1e-5 else f"wrong by {error:.3g} of {size:.3g}"
    return "too small"


def examine(seed: int, counts: Counter[str], kind: str, plans: bool) -> None:
    """One module: every verdict is counted, and printed where it is no success."""
    module = StyledModule(seed, KINDS[kind])

    def tell(what: str, said: object) -> None:
        counts[what] += 1
        print(f"{seed} {what}: {str(said).splitlines()[0]:.200} | {'; '.join(module.lines)}")

    try:
        graph = imported(module)
    except sp.SpillwayError as error:
        return tell("refused", error)
    except Exception as error:
        return tell("read wrong", f"{type(error).__name__}: {error}")
    if kind == "odder" and (wrong := counted_macs(module, graph)):
        tell("counted wrong", wrong)
    counts["read right"] += 1
    counts["with state"] += bool(graph.state)
    if kind == "boxes":
        try:
            verdict, *what = boxed(module, graph, seed).split(": ")
        except AssertionError as error:
            return tell("boxes wrong", error)
        counts[verdict] += 1
        counts.update(f"{verdict}: {each}" for line in what for each in line.split(", "))
    for planner in PLANNERS if graph.operators and plans else ():
        try:
            verdict = planned(graph, planner, module)
        except Exception as error:
            tell(f"{planner} failed", f"{type(error).__name__}: {error}")
            continue
        if verdict.startswith("wrong"):
            tell(f"{planner} wrong", verdict)
        else:
            counts[f"{planner} {verdict}"] += 1
    return None


def main() -> int:
    """The modules one after the other, as long as there is time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600)
    kinds = parser.add_mutually_exclusive_group()
    for name in KINDS:
        if name:
            kinds.add_argument(f"--{name}", dest="kind", action="store_const", const=name)
    parser.set_defaults(kind="")
    parser.add_argument("--read", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    began = time.monotonic()
    for seed in range(given.first, given.first + given.count):
        if time.monotonic() - began > given.seconds:
            break
        examine(seed, counts, given.kind, not given.read)
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return int(any(what.endswith(("wrong", "failed")) for what in counts))


if __name__ == "__main__":
    sys.exit(main())
