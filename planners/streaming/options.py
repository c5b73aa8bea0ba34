"""The options of layered streaming: the pipeline, its rings, slices and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.options import Options, Rule, choice, flag, number, size, text, whole

PIPELINES = {
    "exact": "exact: all ring sizes",
    "pre": "Pre: preloaded",
    "seq": "Seq: one after the other",
    "sync": "Sync: three stages in step",
    "async": "Async: three stages",
    "async-md": "Async-MD: the paper's search",
    "2s": "2S: two stages, zero-copy",
    "2s-md": "2S-MD: the paper's search",
}
STEP_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class StreamingOptions(Options):
    """Options of the planner that streams parameters; its plans always count them."""

    pipeline: str = choice(
        tuple(PIPELINES),
        "a pipeline of the paper's, or the exact search of all rings",
        label="Pipeline",
        words=PIPELINES,
        place="front",
    )
    slices: int = whole(
        1,
        "cut layers to at most the largest divided by this; 0: the planner's choice",
        most=65536,
        label="Layers",
        words={
            1: "whole",
            0: "planner's choice",
            **{n: f"≤ largest / {n}" for n in (2, 3, 4, 6, 8, 12, 16)},
        },
        place="front",
    )
    stages: int = choice(
        (0, 2, 3),
        "exact: stages of the search; 0: the better of both",
        label="Stages",
        words={0: "the better", 2: "two (zero-copy)", 3: "three"},
        place="front",
    )
    joint: bool = flag(
        "streamed weights and activations in one memory",
        label="weights and activations in one memory",
        place="front",
    )
    twice: bool = flag(
        "rings mapped twice, so that layers may wrap and no gap is lost",
        label="rings mapped twice: no gap is lost",
        short="mapped twice",
    )
    ring: int = size(
        0,
        "async and 2s: bytes of each ring, as 18MiB; 0: the largest layer's",
        label="Each ring",
        empty="the largest layer",
        short="ring size",
    )
    step: int = size(
        STEP_BYTES,
        "-md: bytes by which rings grow in the paper's search",
        least=1,
        label="Step of the search",
        empty="1 MiB",
        short="step",
    )
    times: str = text(
        "",
        "times of layers: roofline, or a CSV file layer,read_s,copy_s,kernel_s; other planners "
        "take layer,kernel_s too, and what Vela, PyTorch's profiler or TFLite's benchmark export",
        label="Times",
        words={"": "what suits the machine", "roofline": "its roofline"},
        short="{}",
        file=True,
    )
    spread: float = number(
        0.0,
        "the share by which times may be longer: gives a bound on the delay",
        most=1_000_000,
        label="Bound: times may be",
        words={
            0.0: "fixed",
            **{n / 100: f"up to {n} % longer" for n in (5, 10, 20, 50, 100)},
        },
        short="bound",
    )
    draws: int = whole(
        0,
        "draws of a Monte Carlo band of delays",
        most=1_000_000,
        label="Monte Carlo band",
        words={0: "none", 100: "100 draws", 1000: "1,000 draws"},
        short="band",
    )
    seed: int = whole(
        0, "seed of the draws", most=2**32 - 1, label="Seed of the draws", short="seed {}"
    )

    def rules(self) -> Iterator[Rule]:
        if self.pipeline != "exact":
            yield Rule("stages", "only for pipeline exact: the others have fixed stages")
            yield Rule("joint", "only for pipeline exact")
        elif self.stages == 3 or self.twice:
            yield Rule("joint", "one memory needs two stages, and rings that are not mapped twice")
        if self.pipeline not in ("async", "2s"):
            yield Rule(
                "ring",
                f"pipeline {self.pipeline} finds its rings: a ring size is for async and 2s",
            )
        if not self.pipeline.endswith("-md"):
            yield Rule("step", "only the paper's search of rings (-md) has a step", idle=True)
        if self.pipeline in ("pre", "seq", "sync"):
            yield Rule("twice", f"pipeline {self.pipeline} has no rings that could be mapped twice")
        if not self.draws:
            yield Rule("seed", "only draws have a seed", idle=True)
