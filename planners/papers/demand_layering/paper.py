"""What the Demand Layering paper prints, and no more: beside it our numbers stand.

Figures 4 to 6 and 12 to 16 are images; only what the text says of them is in numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from planners.papers.report import Stated

WITHIN = 3.0
"""Points of a percentage: what a delay of the model may be off. Memories may be 1 point off."""

TABLE_1: Mapping[str, tuple[float, int, float]] = {
    "yolov3": (236.5, 107, 18.0),
    "yolov4": (245.8, 162, 18.0),
    "yolov4_p6": (487.2, 305, 36.0),
    "darknet_resnet152": (219.6, 206, 9.0),
    "darknet_densenet201": (65.6, 306, 5.9),
}
"""Size in MB, layers, largest layer in MB."""

NETWORKS = tuple(TABLE_1)
PIPELINES = ("seq", "sync", "async", "async-md", "2s", "2s-md")
TITLES = {
    "pre": "Pre",
    "seq": "Seq",
    "sync": "Sync",
    "async": "Async",
    "async-md": "Async-MD",
    "2s": "2S",
    "2s-md": "2S-MD",
}

TABLE_2: Mapping[str, tuple[tuple[float, float], ...]] = {
    "yolov3": ((92.4, 44.9), (84.8, 18.9), (92.4, 18.1), (83.1, 1.7), (96.2, 21.8), (84.8, 0.5)),
    "yolov4": ((92.7, 52.1), (85.4, 23.7), (92.7, 12.7), (83.1, 1.7), (96.3, 21.5), (89.3, 0.4)),
    "yolov4_p6": ((92.6, 70.2), (85.2, 38.4), (92.6, 8.7), (84.2, 2.0), (96.3, 16.7), (85.7, 0.3)),
    "darknet_resnet152": (
        (95.9, 45.8),
        (91.8, 11.4),
        (95.9, 2.7),
        (92.0, 1.2),
        (98.0, 5.1),
        (93.9, 0.2),
    ),
    "darknet_densenet201": (
        (91.0, 65.4),
        (82.0, 22.9),
        (91.0, 2.0),
        (86.9, 1.0),
        (95.5, 8.9),
        (88.2, 0.4),
    ),
}
"""Percent of memory saved against Pre, and of delay added, by network in order of `PIPELINES`."""

YOLOV4: Mapping[str, tuple[float, float]] = {
    "pre": (491.6, 160.8),
    "seq": (36.0, 244.7),
    "sync": (72.0, 198.9),
    "async": (36.0, 181.2),
    "async-md": (82.9, 163.5),
    "2s": (18.0, 195.3),
    "2s-md": (52.8, 161.4),
}
"""MB (of 1024² bytes) and milliseconds of YOLOv4 at 608 × 608 (sections I and VII-B)."""

MEANS = {
    ("2s", "saved"): Stated("2S: memory saved, on average (abstract)", 96.5, 1.0, "{:.1f} %"),
    ("2s", "added"): Stated("2S: delay added, on average (abstract)", 14.8, WITHIN, "{:.1f} %"),
    ("2s-md", "saved"): Stated(
        "2S-MD: memory saved, on average (abstract)",
        88.4,
        1.0,
        "{:.1f} %",
        "where the sweep first finds the least delay, which depends on single layers' times",
    ),
}
"""Percent by pipeline, and what of it (abstract, section IX)."""
MOST_ADDED_MS = 1.0  # 2S-MD's delay beyond Pre (abstract)

YOLOV4_SECTIONS = {
    "convolutional": 110,
    "route": 21,
    "shortcut": 23,
    "maxpool": 3,
    "yolo": 3,
    "upsample": 2,
}
"""Section III-A, which also says: 75 layers under 0.1 MB, six of the largest size."""

SMALL_LAYERS, LARGEST_LAYERS = 75, 6
RESOLUTIONS: Mapping[str, tuple[int, ...]] = dict.fromkeys(
    NETWORKS, (224, 320, 416, 512, 608, 704)
) | {"yolov4_p6": (256, 384, 512, 640, 768)}
"""Those of Figures 14 and 15 are in images (224 and 608 are named); P6 divides its input by 64."""
