"""What the command prints: answers on standard output, progress on standard error."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType, TracebackType
from typing import Any

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from planners.core.plan import Plan
from planners.core.progress import Progress
from planners.core.records import plain
from planners.core.registry import FUSION
from planners.core.units import format_bytes


@contextmanager
def answers_only() -> Iterator[None]:
    """Send what libraries print from C (HiGHS does) to standard error; Python's prints stay."""
    sys.stdout.flush()
    before, kept = sys.stdout, os.dup(1)
    os.dup2(2, 1)
    answers = os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="backslashreplace")
    sys.stdout = answers
    try:
        yield
    finally:
        sys.stdout = before
        os.dup2(kept, 1)
        os.close(kept)
        answers.close()


@contextmanager
def one_line_at_most() -> Iterator[None]:
    """Leave with exit code 1 where the answer cannot be written; quietly where nobody reads it.

    A character that the terminal's encoding lacks is escaped.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # For what is still in buffers.
        if not isinstance(error, BrokenPipeError):
            print(f"spillway: {error}", file=sys.stderr)
        sys.exit(1)


class CommandAnswer:
    """The answer of a command: one JSON object, or text for people."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def give(self, facts: Mapping[str, Any], text: str) -> None:
        print(json.dumps(facts) if self.as_json else text)


class Reporter:
    """A line on standard error that lives while something runs; Ctrl-C asks it to stop once."""

    def __init__(self, quiet: bool, title: str) -> None:
        self.title, self.stop = title, False
        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        hidden = not console.is_terminal
        self.bar = Bar(*columns, console=console, transient=True, disable=hidden)
        self.plain = None if not hidden or quiet else console
        self.console = console

    def __enter__(self) -> Reporter:
        self.bar.start()
        self.task = self.bar.add_task(self.title)
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)
        self.bar.stop()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True
        self.console.print("stopping: the best plan so far is kept (again to abort)")

    def say(self, text: str) -> None:
        """Show what is being done now."""
        self.bar.update(self.task, description=f"{self.title}: {text}")

    def progress(self, moment: Progress) -> bool:
        """A planner's progress: stage, best so far and bound. False once a stop was asked for."""
        parts = [moment.stage]
        if moment.incumbent_bytes is not None:
            parts.append(f"best {format_bytes(moment.incumbent_bytes)}")
        if moment.bound_bytes is not None:
            parts.append(f"bound {format_bytes(moment.bound_bytes)}")
        self.say(", ".join(parts))
        return not self.stop


def fail(message: str, facts: dict[str, Any], as_json: bool, code: int) -> int:
    """One line on standard error, and the facts as JSON where asked for."""
    print(f"spillway: {' '.join(message.split())}", file=sys.stderr)
    if as_json:
        print(json.dumps(facts))
    return code


def size_text(count: Any) -> str:
    """Bytes in full and in binary units."""
    return f"{int(count)} ({format_bytes(int(count))})"


def print_table(facts: Mapping[str, Any]) -> str:
    """Facts as two aligned columns."""
    width = max(len(name) for name in facts)
    return "\n".join(f"{name:<{width}}  {_text(value)}" for name, value in facts.items())


def planning_table(plan: Plan, row: Mapping[str, Any]) -> str:
    """A plan for people: what it is for, how good it is proven to be, and what it costs."""
    claims = plan.claims
    proof = {
        "optimal": "proven optimal",
        "feasible": f"within {plan.gap:.2%} of the bound",
    }[claims.status]
    if plan.details.latency:
        proof = f"latency {proof}"
    if plan.details.best:
        proof = plan.details.best.words
    facts = {
        "model": f"{row['model']} ({row['operators']} operators, {plan.graph.granularity})",
        "planner": f"{plan.planner}: {claims.solver}",
        "budget": size_text(plan.budget_bytes),
        "status": f"{claims.status}: {proof}",
        **_objective(plan),
        "compulsory traffic": size_text(claims.compulsory_bytes),
        "peak": size_text(claims.peak_bytes),
        "extent": size_text(claims.extent_bytes),
        "latency": f"{row['makespan_s'] * 1e3:.4g} ms on {plan.machine.name}{_over_floor(row)}",
        "energy": f"{row['energy_j'] * 1e3:.4g} mJ",
        **_streaming_lines(plan),
        **_overlap_lines(plan),
        "planned in": f"{claims.plan_s:.3f} s",
    }
    return "\n".join([print_table(facts), *plan.notes, *_group_lines(plan)])


def _over_floor(row: Mapping[str, Any]) -> str:
    """How far a plan's latency is above what no plan of its problem takes less than."""
    floor, took = row["latency_floor_s"], row["makespan_s"]
    if not floor:
        return ""
    return f", {max(0.0, took / floor - 1):.1%} above its floor of {floor * 1e3:.4g} ms"


def groups_fact(plan: Plan) -> dict[str, Any]:
    """The operators of each fused group, for a plan that has groups."""
    groups = _groups(plan)
    return {"groups": [list(group.operators) for group in groups]} if groups else {}


def streaming_fact(plan: Plan) -> dict[str, Any]:
    """Rings, delays and the front of a plan whose parameters stream."""
    if plan.details.streamed is None:
        return {}
    streamed = plain(plan.details.streamed)
    names = ("pipeline", "times", "slices", "rings", "activation_bytes", "delay_s", "preload_s")
    more = ("kernel_s", "bound_s", "band", "front")
    return {name: streamed[name] for name in (*names, *more)}


def _streaming_lines(plan: Plan) -> dict[str, str]:
    """The same for people."""
    facts = streaming_fact(plan)
    if not facts:
        return {}
    rings = ", ".join(f"{name} {size_text(size)}" for name, size in facts["rings"].items())
    lines = {
        "pipeline": f"{facts['pipeline']}, times: {facts['times']}",
        "rings": rings,
        "activations": size_text(facts["activation_bytes"]),
        "delay": f"{facts['delay_s'] * 1e3:.4g} ms, kernels alone {facts['kernel_s'] * 1e3:.4g} ms",
    }
    if facts["bound_s"] is not None:
        lines["never above"] = f"{facts['bound_s'] * 1e3:.4g} ms"
    if band := facts["band"]:
        within = f"{band['p5_s'] * 1e3:.4g} to {band['p95_s'] * 1e3:.4g} ms"
        lines["90 % of draws"] = f"{within}, median {band['median_s'] * 1e3:.4g} ms"
    return lines


def overlap_fact(plan: Plan) -> dict[str, Any]:
    """The front of RAM against repeated work and modulo operations, of a plan with a pool."""
    pool = plan.details.pool
    return {"front": plain(pool.front), "modulos": pool.modulos} if pool else {}


def _overlap_lines(plan: Plan) -> dict[str, str]:
    """The same for people, with the operators that need all of the RAM."""
    facts = overlap_fact(plan)
    lines = {}
    for point in facts.get("front", []):
        if point["ram_bytes"] == plan.claims.objective_bytes:
            lines["RAM bound by"] = ", ".join(point["binding"])
            lines["repeated work"] = f"{point['extra_macs']:,} of {plan.graph.macs:,} MACs"
    if len(facts.get("front", [])) > 1:
        least = facts["front"][-1]
        size = size_text(least["ram_bytes"])
        lines["least RAM"] = f"{size}, {least['extra_macs']:,} MACs repeated"
    return lines


def _groups(plan: Plan) -> tuple[Any, ...]:
    if plan.planner != FUSION:
        return ()
    from planners.fusion.explain import groups_of  # numpy takes a while, and most commands none

    return groups_of(plan)


def _group_lines(plan: Plan) -> list[str]:
    """A line for each fused group: its tiles, what it moves and its operators."""
    return [
        f"{group.name:<5}{group.tiles:>5} tiles {format_bytes(group.traffic_bytes):>10}  "
        + ", ".join(group.operators)
        for group in _groups(plan)
    ]


def _objective(plan: Plan) -> dict[str, str]:
    """What was minimised, and the bound on it; the other of traffic and memory in its place."""
    claims = plan.claims
    traffic = {"non-compulsory traffic": size_text(claims.noncompulsory_bytes)}
    bound = {"  proven bound": size_text(claims.bound_bytes)}
    if plan.slow_memories:
        through = f"read and written in {' and '.join(plan.slow_memories)}"
        return traffic | {through: size_text(claims.objective_bytes)} | bound
    if plan.details.pool:
        return {"RAM": size_text(claims.objective_bytes)} | bound
    if plan.details.streamed:
        return traffic | {"rings and activations": size_text(claims.objective_bytes)} | bound
    if plan.options.get("objective") == "peak":
        return traffic | {"extent": size_text(claims.extent_bytes)} | bound
    everything = claims.compulsory_bytes + claims.noncompulsory_bytes
    if claims.objective_bytes == everything != claims.noncompulsory_bytes:
        return traffic | {"off-chip traffic": size_text(everything)} | bound
    return traffic | bound


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
