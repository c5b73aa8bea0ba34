"""Fronts as lines: a plan for less memory serves for more, until the next one. No Panel here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def staircase(
    points: Iterable[Sequence[float]], reach: float | None = None
) -> dict[str, list[float]]:
    """The columns `x` and `y` of a line that stays level until the next point.

    From the last point on it goes to `reach`, where that is given.
    """
    xs: list[float] = []
    ys: list[float] = []
    for x, y in points:
        if xs:
            xs.append(x)
            ys.append(ys[-1])
        xs.append(x)
        ys.append(y)
    if xs and reach is not None:
        xs.append(reach)
        ys.append(ys[-1])
    return {"x": xs, "y": ys}
