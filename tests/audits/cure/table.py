"""What our networks' arenas take in the runtime: its own way, planned apart, and with overlap.

python -m tests.audits.cure.table   # needs tflite-micro, as .ci/run installs it
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from planners.audits.cure.tflm import planned, written
from tests.audits.cure.networks import NETWORKS
from tests.audits.cure.runtime import INPUTS, ran, too_short

WORDS = {
    "mobilenet": "MobileNet-like, 24 × 24, int8",
    "inverted_residuals": "MCUNet-like, inverted residuals, 20 × 20, int8",
    "residual": "residual, 16 × 16, int8",
    "branches": "branches joined by channels, 17 × 13, int8",
    "recurrent": "LSTM, 6 steps, float32",
    "recurrent_int8": "LSTM, 6 steps, int8",
}


def row(name: str, folder: Path) -> str:
    """A line: heads in bytes as printed, and of how many inputs the outputs are the same."""
    source = NETWORKS[name]().save(folder / f"{name}.tflite")
    paths, plan = [source], None
    for overlap in (False, True):
        file, plan = planned(source, overlap=overlap)
        paths.append(folder / f"{name}-{overlap}.tflite")
        written(file, plan, paths[-1])
    assert plan is not None
    short = "no overlap"
    if plan.overlapped:
        wrong = too_short(file, plan)
        paths.append(folder / f"{name}-wrong.tflite")
        written(file, wrong, paths[-1])
    told = ran(*paths)
    own, heads = told[0]["outputs"], [each["head"] for each in told]
    same = [sum(a == b for a, b in zip(own, each["outputs"], strict=True)) for each in told]
    if plan.overlapped:
        short = f"{heads[3]:,}: {INPUTS - same[3]} of {INPUTS}"
    saved = 100 * (1 - heads[2] / heads[0])
    figures = " | ".join(f"{head:,}" for head in heads[:3])
    return f"| {WORDS[name]} | {figures} | {saved:.1f} % | {same[1]}, {same[2]} | {short} |"


def main() -> None:
    print("| network | the runtime's own | apart | overlap | saved | same outputs | too short |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with TemporaryDirectory() as folder:
        for name in NETWORKS:
            print(row(name, Path(folder)))


if __name__ == "__main__":
    main()
