"""The Demand Layering paper's evaluation, computed anew, and what lies beyond it.

Tables I and II, Figures 5 and 12 to 16 on the fitted model of its board; exact fronts, a guaranteed
bound, slices, rings of separate sizes, and one memory for weights and activations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from planners.core.errors import UnknownName
from planners.papers.demand_layering.extensions import joint_row, slices_row
from planners.papers.demand_layering.fronts import fronts_row, resolution_row
from planners.papers.demand_layering.paper import NETWORKS, RESOLUTIONS, TABLE_1
from planners.papers.demand_layering.pipelines import bounds_row, pipelines_row, sizes_row
from planners.papers.demand_layering.sections import darknet_table
from planners.papers.memo import Memo
from planners.papers.report import Row
from planners.streaming.search.ways import SLICES

BOUNDED = ("2s", "2s-md", "async-md")
"""The pipelines whose delay is bounded."""


@dataclass(frozen=True, slots=True)
class StreamingStudy:
    """What is compared: networks, draws of times, and fractions of the largest layer as slices.

    `quick` is for the report, which says how it was made.
    """

    networks: tuple[str, ...] = NETWORKS
    draws: int = 10_000
    fractions: tuple[int, ...] = SLICES
    quick: bool = False

    def only(self, names: tuple[str, ...]) -> StreamingStudy:
        """The same of these networks. Raises `UnknownName`."""
        for name in names:
            if name not in NETWORKS:
                raise UnknownName("model", name, [], f"choose among {', '.join(NETWORKS)}")
        return replace(self, networks=names)

    @staticmethod
    def small() -> StreamingStudy:
        """A cut that takes seconds."""
        return StreamingStudy(networks=("yolov4",), draws=1_000, fractions=(1, 2, 3, 4), quick=True)


@dataclass(frozen=True, slots=True)
class StreamingTables:
    """Rows by table or figure."""

    table_1: list[Row] = field(default_factory=list)
    pipelines: list[Row] = field(default_factory=list)
    fronts: list[Row] = field(default_factory=list)
    resolutions: list[Row] = field(default_factory=list)
    sizes: list[Row] = field(default_factory=list)
    bounds: list[Row] = field(default_factory=list)
    slices: list[Row] = field(default_factory=list)
    joint: list[Row] = field(default_factory=list)


def reproduce(study: StreamingStudy, memo: Memo) -> StreamingTables:
    """All tables of a study, with what the memo has of them."""
    each, names = memo.each, study.networks

    def keys(what: str, *more: object) -> list[tuple[object, ...]]:
        return [(what, name, *more) for name in names]

    return StreamingTables(
        table_1=[asdict(darknet_table(name)) | {"printed": list(TABLE_1[name])} for name in names],
        pipelines=each(keys("pipelines"), pipelines_row),
        fronts=each(keys("fronts"), fronts_row),
        resolutions=each(
            [("resolution", name, size) for name in names for size in RESOLUTIONS[name]],
            resolution_row,
        ),
        sizes=each(keys("sizes"), sizes_row),
        bounds=each(
            [("bounds", name, way, study.draws) for name in names for way in BOUNDED], bounds_row
        ),
        slices=each(keys("slices", *study.fractions), lambda name, *parts: slices_row(name, parts)),
        joint=each(keys("joint"), joint_row),
    )
