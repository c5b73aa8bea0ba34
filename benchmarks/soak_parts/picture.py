"""Samples over time as a picture: a strip for each kind of number."""

from __future__ import annotations

from collections.abc import Sequence

from soak_parts.served import Sample

WIDE, HIGH, LEFT, GAP = 640, 90, 56, 34
STRIPS = (
    ("server, MiB", "server_mib", "#0072B2"),
    ("workers, MiB", "workers_mib", "#E69F00"),
    ("descriptors of the server", "descriptors", "#009E73"),
    ("processes", "processes", "#D55E00"),
    ("sessions", "sessions", "#CC79A7"),
    ("temporary files", "files", "#56B4E9"),
)


def svg(samples: Sequence[Sample], title: str) -> str:
    """The picture, as SVG."""
    high = 30 + len(STRIPS) * (HIGH + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDE + 20} {high}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{LEFT}" y="16">{title}</text>',
    ]
    for number, (words, name, ink) in enumerate(STRIPS):
        values = [float(getattr(sample, name)) for sample in samples]
        parts += _strip(30 + number * (HIGH + GAP), words, values, samples, ink)
    return "\n".join([*parts, "</svg>\n"])


def _strip(
    top: int, words: str, values: list[float], samples: Sequence[Sample], ink: str
) -> list[str]:
    most, last = max(*values, 1.0), max(samples[-1].at_s, 1.0)
    points = " ".join(
        f"{LEFT + WIDE * sample.at_s / last:.1f},{top + HIGH * (1 - value / most):.1f}"
        for sample, value in zip(samples, values, strict=True)
    )
    bottom = top + HIGH
    return [
        f'<path d="M{LEFT} {top}V{bottom}H{LEFT + WIDE}" fill="none" stroke="#888"/>',
        f'<text x="{LEFT + 4}" y="{top - 3}">{words}</text>',
        f'<text x="{LEFT - 4}" y="{top + 8}" text-anchor="end">{most:,.0f}</text>',
        f'<text x="{LEFT - 4}" y="{bottom}" text-anchor="end">0</text>',
        f'<text x="{LEFT + WIDE}" y="{bottom + 12}" text-anchor="end">{last / 60:.0f} min</text>',
        f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.2"/>',
    ]
