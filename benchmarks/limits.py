"""How long an answer takes beside the limit that was asked for, in every form of every planner.

    python benchmarks/limits.py [NETWORK ...] [--limit 2] [--budget 256KiB] [--form TEXT] [--over]

For each network, budget and form of each planner, in a process of its own that knows nothing yet:
wall and processor seconds of `plan` (search and writing), `check` and `simulate`, the instructions
of the program, and the plan's objective in bytes. `--form` picks forms with that text, `--over`
prints only what took longer than the limit allows. `timm:` networks want timm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import planners as sp
from planners.core.errors import SpillwayError

NETWORKS = (
    "mobilenet_v2",
    "squeezenet1_0",
    "resnet50",
    "googlenet",
    "densenet201",
    "timm:nasnetalarge",
    "raft_large",
    "swin_b",
    "r3d_18",
    "mcunet_in0",
)
BUDGETS = ("256KiB", "MR", "MP")
FORMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "cosma default": ("cosma", {"schedule": "default"}),
    "cosma mpmf": ("cosma", {"schedule": "mpmf"}),
    "cosma joint": ("cosma", {"schedule": "joint"}),
    "cosma dnc": ("cosma", {"schedule": "dnc"}),
    "cosma counted": ("cosma", {"schedule": "joint", "weights": "counted"}),
    "cosma peak": ("cosma", {"schedule": "joint", "objective": "peak"}),
    "cosma latency": ("cosma", {"schedule": "joint", "objective": "traffic_then_latency"}),
    "cosma belady": ("cosma", {"replacement": "belady"}),
    "cosma climb": ("cosma", {"replacement": "hill_climb"}),
    "fusion": ("fusion", {}),
    "fusion joint": ("fusion", {"joint": True}),
    "fusion latency": ("fusion", {"objective": "latency"}),
    "fusion online": ("fusion", {"online": True}),
    "fusion no_fusion": ("fusion", {"baseline": "no_fusion"}),
    "fusion fused_layer": ("fusion", {"baseline": "fused_layer"}),
    "fusion dnnvm": ("fusion", {"baseline": "dnnvm"}),
    "fusion efficient_s": ("fusion", {"baseline": "efficient_s"}),
    "overlap": ("overlap", {}),
    "overlap latency": ("overlap", {"objective": "latency"}),
    "streaming": ("streaming", {}),
    "streaming joint": ("streaming", {"joint": True}),
    "streaming md": ("streaming", {"pipeline": "async-md"}),
    "auto": ("auto", {}),
}
ALLOWED = 1.1  # Of the limit, or a second more.
PATIENCE_S = 150.0
HEAD = (
    "| network | budget | form | plan wall s | cpu s | check wall s | cpu s | simulate wall s "
    "| cpu s | whole wall s | instructions | objective | status |\n|" + "---|" * 13
)


class Watch:
    """Wall and processor seconds of one call after the other."""

    def __init__(self) -> None:
        self.seconds: list[tuple[float, float]] = []

    def __call__(self, work: Callable[[], Any]) -> Any:
        wall, own = time.perf_counter(), time.process_time()
        try:
            return work()
        finally:
            self.seconds.append((time.perf_counter() - wall, time.process_time() - own))


def measured(graph: Any, form: str, budget: str, limit_s: float, pipe: Connection) -> None:
    """Plan, check and time once; send the seconds, and what came out, in words."""
    planner, options = FORMS[form]
    watch = Watch()
    found: tuple[Any, ...] = ("", "")
    try:
        plan = watch(
            lambda: sp.plan(
                graph, planner, budget, time_limit=limit_s, replay=False, **dict(options)
            )
        )
        watch(lambda: sp.check(plan))
        watch(lambda: sp.simulate(plan))
        found = (sum(1 for _ in plan.program.instructions), plan.claims.objective_bytes)
        outcome = plan.claims.status
    except SpillwayError as error:
        outcome = f"{type(error).__name__}: {error}"[:60]
    pipe.send((watch.seconds, found, outcome))


def row(graph: Any, form: str, budget: str, limit_s: float) -> tuple[bool, str]:
    """Whether it took longer than allowed, and a row of the table."""
    context = get_context("fork")  # Each starts from the same process: nothing is known yet.
    here, there = context.Pipe()
    process = context.Process(target=measured, args=(graph, form, budget, limit_s, there))
    process.start()
    there.close()
    seconds: list[tuple[float, float]] = []
    found, outcome = ("", ""), f"more than {PATIENCE_S:g} s"
    if here.poll(PATIENCE_S):
        try:
            seconds, found, outcome = here.recv()
        except EOFError:
            outcome = "died"
    process.kill()
    process.join()
    whole_s = sum(wall for wall, _ in seconds)
    over = not seconds or min(whole_s, sum(own for _, own in seconds)) > max(
        ALLOWED * limit_s, limit_s + 1
    )
    cells = [f"{s:.2f}" for pair in (*seconds, *[("", "")] * 3)[:3] for s in pair if s != ""]
    cells += [""] * (6 - len(cells))
    return over, " | ".join(
        map(str, (graph.name, budget, form, *cells, f"{whole_s:.2f}", *found, outcome))
    )


def main(names: list[str], budgets: list[str], form: str, limit_s: float, only_over: bool) -> None:
    print(HEAD, flush=True)
    for name in names:
        graph = sp.load(name)
        for budget in budgets:
            for each in (text for text in FORMS if form in text):
                over, cells = row(graph, each, budget, limit_s)
                if over or not only_over:
                    print(f"| {cells}{' | over' * over} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--budget", action="append", default=[])
    parser.add_argument("--form", default="", help="only forms with this text")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds")
    parser.add_argument("--over", action="store_true", help="only what took too long")
    options = parser.parse_args()
    main(
        options.networks,
        options.budget or list(BUDGETS),
        options.form,
        options.limit,
        options.over,
    )
