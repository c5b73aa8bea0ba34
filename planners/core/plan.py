"""A plan: a program, what it is for, and what its planner claims about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from planners.core.details import Details
from planners.core.display import Displayed, Fact
from planners.core.errors import BadInput
from planners.core.files import read_plan_json, write_json
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import Program
from planners.core.program_json import program_from_json, program_to_json, whole
from planners.core.times import GivenTimes, times_of_older
from planners.core.units import format_bytes

if TYPE_CHECKING:
    from planners.core.details.streamed import StreamedParameters

Status = Literal["optimal", "feasible"]
FORMAT = "spillway-plan"
VERSION = 2
READABLE = (1, 2)
"""Version 1 has no loops: plans without any are written as such."""


@dataclass(frozen=True, slots=True)
class Claims(Displayed):
    """What a planner claims of its program; `check` replays the program and compares to the byte.

    `objective_bytes` is what was minimised and `bound_bytes` a proven lower bound on it, under
    the options the plan was made with (`schedule=default` compares within that schedule). `gap`
    is (objective − bound) / objective. `optimal` means proven: the gap is zero. `peak_bytes` is
    the most bytes resident on chip at any time, `extent_bytes` the highest address in use.
    """

    status: Status
    objective_bytes: int
    bound_bytes: int
    compulsory_bytes: int
    noncompulsory_bytes: int
    peak_bytes: int
    extent_bytes: int
    plan_s: float
    solver: str

    @property
    def offchip_bytes(self) -> int:
        return self.compulsory_bytes + self.noncompulsory_bytes

    @property
    def gap(self) -> float:
        if self.objective_bytes == self.bound_bytes:
            return 0.0
        return (self.objective_bytes - self.bound_bytes) / self.objective_bytes

    def facts(self) -> list[Fact]:
        return [
            ("Claims", self.status),
            ("gap", f"{self.gap:.1%}"),
            ("minimised", format_bytes(self.objective_bytes)),
            ("proven bound", format_bytes(self.bound_bytes)),
            ("off-chip traffic", format_bytes(self.offchip_bytes)),
            ("of it not compulsory", format_bytes(self.noncompulsory_bytes)),
            ("peak", format_bytes(self.peak_bytes)),
            ("extent", format_bytes(self.extent_bytes)),
            ("found by", f"{self.solver} in {self.plan_s:.3g} s"),
        ]


@dataclass(frozen=True)
class Plan(Displayed):
    """A program for a graph on a machine within a budget, with its planner's claims.

    `budget_bytes` bounds the on-chip memory, `options` are the planner's, `notes` say in words
    what the numbers rest on. `details` are what it carries beside its program; plain data are
    read as those of a file. `times` are those of layers where the problem gives them, in place of
    the machine's roofline.
    """

    planner: str
    graph: Graph
    machine: Machine
    budget_bytes: int
    program: Program
    claims: Claims
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    details: Details = field(default_factory=Details)
    times: GivenTimes | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.details, Details):
            object.__setattr__(self, "details", Details.from_json(self.details))

    @property
    def has_given_times(self) -> bool:
        """Whether its seconds were given, of layers or of operators, and are not the machine's."""
        return self.times is not None or self.graph.is_timed

    @property
    def gap(self) -> float:
        """What is open of what was minimised: the claims' gap, or that of the seconds."""
        latency = self.details.latency
        return self.claims.gap if latency is None else latency.gap

    @property
    def slow_memories(self) -> tuple[str, ...]:
        """The machine's slower memories that the program has: none in a plan for one memory.

        Where there are any, what was minimised is the bytes read and written in them.
        """
        levels = {memory.level or memory.name for memory in self.program.memories}
        return tuple(name for name in self.machine.slower if name in levels)

    def facts(self) -> list[Fact]:
        (_, status), *claimed = self.claims.facts()
        return [
            ("Plan", self.graph.name),
            ("planner", self.planner),
            ("machine", self.machine.title),
            ("budget", format_bytes(self.budget_bytes)),
            ("status", self.details.best.words if self.details.best else status),
            *claimed,
        ]

    def to_json(self) -> dict[str, Any]:
        program = program_to_json(self.program)
        loops = any(row[0] == "repeat" for row in program["instructions"])
        return {
            "format": FORMAT,
            "version": VERSION if loops else 1,
            "planner": self.planner,
            "budget_bytes": self.budget_bytes,
            "options": dict(self.options),
            "notes": list(self.notes),
            **({"details": details} if (details := self.details.to_json()) else {}),
            **({"times": self.times.to_json()} if self.times else {}),
            "claims": asdict(self.claims),
            "machine": self.machine.to_json(),
            "graph": self.graph.to_json(),
            "program": program,
        }

    @staticmethod
    def from_json(data: Any) -> Plan:
        """The plan that `to_json` wrote. Raises `BadInput` for anything else."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadInput(f"not a plan: expected a JSON object with format {FORMAT!r}")
        if isinstance(data.get("version"), bool) or data.get("version") not in READABLE:
            raise BadInput(f"plan version {data.get('version')!r} is not {VERSION} or before")
        try:
            graph = Graph.from_json(data["graph"])
            details = Details.from_json(data.get("details", {}))
            return Plan(
                planner=str(data["planner"]),
                graph=graph,
                machine=Machine.from_json(data["machine"]),
                budget_bytes=whole(data["budget_bytes"]),
                program=program_from_json(data["program"]),
                claims=_claims_from(data["claims"]),
                options=dict(data["options"]),
                notes=tuple(str(note) for note in data["notes"]),
                details=details,
                times=GivenTimes.from_json(data["times"], graph)
                if "times" in data
                else times_of_older(data.get("details", {}), details, graph),
            )
        except (
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            ArithmeticError,
        ) as error:
            reason = f"missing {error}" if isinstance(error, KeyError) else str(error)
            raise BadInput(f"malformed plan: {reason}") from error

    def save(self, path: str | Path) -> None:
        """Write the plan as JSON; the file is replaced whole or not at all."""
        write_json(path, self.to_json())

    @staticmethod
    def load(path: str | Path) -> Plan:
        """Read a plan that `save` wrote, or the one in an HTML page that `spillway export` wrote.

        Raises `BadInput` with the reason.
        """
        return Plan.from_json(read_plan_json(path))


def streamed_of(plan: Plan) -> StreamedParameters:
    """How a plan's parameters stream. Raises `BadInput` for a plan that streams none."""
    if plan.details.streamed is None:
        raise BadInput(f"a {plan.planner} plan does not stream: make one with planner streaming")
    return plan.details.streamed


def _claims_from(data: Any) -> Claims:
    """Claims whose fields are of the declared types. Raises `TypeError`, `ValueError`."""
    claims = Claims(**data)
    for name, value in data.items():
        if name.endswith("_bytes") and (not isinstance(value, int) or isinstance(value, bool)):
            raise ValueError(f"claims: {name} must be a whole number, not {value!r:.60}")
    if claims.status not in get_args(Status):
        raise ValueError(f"claims: unknown status {claims.status!r:.60}")
    # Written so that NaN fails.
    if not 0 <= claims.plan_s < 1e30:
        raise ValueError(f"claims: plan_s must be seconds, not {claims.plan_s!r:.60}")
    return replace(claims, solver=str(claims.solver), plan_s=float(claims.plan_s))


def assert_plan(value: object) -> None:
    """Raises `BadInput` for what is no plan, such as its graph or its file's name."""
    if not isinstance(value, Plan):
        how = "planners.plan(graph) makes one, planners.Plan.load(…) reads one"
        raise BadInput(f"{value!r:.60} is not a plan: {how}")
