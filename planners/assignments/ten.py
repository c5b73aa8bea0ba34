"""The ten tasks, from easy to hard, over all four papers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache, partial

from planners.assignments.assignment import Exercise, Goal
from planners.catalogue import load
from planners.core.errors import UnknownName
from planners.core.graph import Graph, Operator, Tensor
from planners.core.registry import COSMA, FUSION, OVERLAP, STREAMING
from planners.core.weights import COUNTED

KIB = 1024


def small_graph(name: str, kib: Mapping[str, int], reads: Mapping[str, str]) -> Graph:
    """A graph of tensors of so many KiB: `reads` names what each is made of, in running order.

    What nothing makes is the graph's input, what nothing reads its output.
    """
    tensors = {
        tensor: Tensor(tensor, (size * KIB,), "activation" if tensor in reads else "input")
        for tensor, size in kib.items()
    }
    operators = tuple(
        Operator(f"make_{output}", "layer", tuple(read.split()), (output,), macs=kib[output] * KIB)
        for output, read in reads.items()
    )
    read = {tensor for op in operators for tensor in op.inputs}
    inputs = tuple(tensor for tensor in tensors if tensor not in reads)
    return Graph(name, tensors, operators, inputs, tuple(t for t in tensors if t not in read))


CHAIN = partial(
    small_graph,
    "chain",
    {"x": 8, "a": 16, "b": 8, "c": 16, "y": 4},
    {"a": "x", "b": "a", "c": "b", "y": "c"},
)
EIGHT = partial(
    small_graph,
    "eight tensors",
    {"x": 4, "a": 20, "b": 20, "c": 24, "d": 12, "e": 28, "f": 4, "y": 32},
    {"a": "x", "b": "a", "c": "b", "d": "c a", "e": "c d", "f": "e", "y": "e f"},
)
BRANCHES = partial(
    small_graph,
    "two branches",
    {"x": 30, "a": 50, "b": 130, "c": 30, "d": 130, "e": 50, "f": 90, "g": 20, "h": 70, "y": 80},
    {"a": "x", "b": "a", "c": "b", "d": "c", "e": "d", "f": "b c", "g": "e f", "h": "e g"}
    | {"y": "h"},
)
SPILLED = partial(
    small_graph,
    "one too many",
    {"x": 16, "a": 32, "b": 28, "c": 24, "d": 4, "e": 20, "y": 28},
    {"a": "x", "b": "a", "c": "x b", "d": "c x", "e": "d a", "y": "e d"},
)
ALL_AT_ONCE = partial(
    small_graph,
    "all at once",
    {"x": 12, "a": 16, "b": 32, "c": 8, "d": 16, "e": 32, "f": 24, "g": 24, "h": 8, "y": 12},
    {"a": "x", "b": "a x", "c": "x a", "d": "b x", "e": "b c", "f": "d", "g": "e", "h": "f g"}
    | {"y": "h g"},
)

TEN = (
    Exercise(
        "chain",
        "Five tensors in 24 KiB",
        "Operators run one after the other, and a tensor may take the bytes of one that nobody "
        "reads any more. Give each tensor an address so that all of them run in 24 KiB.",
        CHAIN,
        "addresses",
        (Goal("extent_bytes", 24 * KIB),),
        COSMA,
        24 * KIB,
        starter={"addresses": {"x": 0, "a": 8192, "b": 0, "c": 0, "y": 0}},
    ),
    Exercise(
        "eight",
        "Eight tensors in 64 KiB",
        "No step needs more than 64 KiB, but the first free place (96 KiB) and the largest tensor "
        "first (72 KiB) both fail. Give each tensor an address below 64 KiB.",
        EIGHT,
        "addresses",
        (Goal("extent_bytes", 64 * KIB),),
        COSMA,
        64 * KIB,
        starter={"addresses": dict.fromkeys("xabcdefy", 0)},
    ),
    Exercise(
        "order",
        "An order that peaks below 300 KiB",
        "In the order in which it is written this network has 340 KiB on chip at once. Find an "
        "order of its operators with at most 300 KiB; addresses do not count here.",
        BRANCHES,
        "order",
        (Goal("peak_bytes", 300 * KIB),),
        COSMA,
        starter={"order": [f"make_{output}" for output in "abcdefghy"]},
        options={"schedule": "mpmf"},
    ),
    Exercise(
        "spill",
        "What leaves?",
        "72 KiB are too few for all that is needed later. Write the moves: load, run, store, drop. "
        "Every byte that moves beyond the input's one load and the output's one store counts; "
        "80 KiB of them are enough, Belady's rule moves 168.",
        SPILLED,
        "moves",
        (Goal("noncompulsory_bytes", 80 * KIB),),
        COSMA,
        72 * KIB,
        starter={"moves": ["load x 0", "run make_a 16KiB"]},
    ),
    Exercise(
        "googlenet",
        "GoogLeNet without a spill",
        "At the least memory of whole tensors (MR, 980 KiB) Belady's rule moves 1.531 MiB that "
        "need not move. Plan GoogLeNet in MR so that nothing leaves that comes back.",
        partial(load, "googlenet"),
        "plan",
        (Goal("noncompulsory_bytes", 0),),
        COSMA,
        1_003_520,
    ),
    Exercise(
        "over-the-input",
        "MobileNetV2 in 192 KiB",
        "As whole tensors, its activations need 1.436 MiB. Plan it with addresses below 192 KiB "
        "and without a byte that moves twice; weights are left out.",
        partial(load, "mobilenet_v2"),
        "plan",
        (Goal("extent_bytes", 192 * KIB), Goal("noncompulsory_bytes", 0)),
        OVERLAP,
        192 * KIB,
    ),
    Exercise(
        "fused",
        "MobileNetV2 in groups",
        "Weights count now, and 256 KiB do not hold what one operator needs. Run operators "
        "together, so that 3.85 MB at most move over the bus.",
        partial(load, "mobilenet_v2"),
        "plan",
        (Goal("traffic_bytes", 3_850_000),),
        FUSION,
        256 * KIB,
        weights=COUNTED,
    ),
    Exercise(
        "streamed",
        "Weights on demand",
        "SqueezeNet's weights and activations have 3.3 MiB in all. Stream the weights so that it "
        "runs in 1,050 KiB and loads each of them once.",
        partial(load, "squeezenet1_1"),
        "plan",
        (Goal("extent_bytes", 1050 * KIB), Goal("noncompulsory_bytes", 0)),
        STREAMING,
        1050 * KIB,
        weights=COUNTED,
        options={"joint": True},
    ),
    Exercise(
        "all-at-once",
        "Order, addresses and spills by hand",
        "76 KiB. In the order in which it is written the best plan moves 80 KiB that need not "
        "move; in another order 32 KiB are enough. Write the moves.",
        ALL_AT_ONCE,
        "moves",
        (Goal("noncompulsory_bytes", 32 * KIB),),
        COSMA,
        76 * KIB,
        starter={"moves": ["load x 0", "run make_a 12KiB"]},
        options={"schedule": "joint"},
    ),
    Exercise(
        "quickest",
        "The quickest MobileNetV2 in 256 KiB",
        "The plan that moves the least takes 2.5 ms on npu_ideal. Plan one that takes 1.6 ms at "
        "most, with weights counted, by whatever means.",
        partial(load, "mobilenet_v2"),
        "plan",
        (Goal("latency_s", 1.6e-3),),
        FUSION,
        256 * KIB,
        weights=COUNTED,
        options={"objective": "latency"},
    ),
)


def assignments() -> tuple[Exercise, ...]:
    """The ten tasks, the easiest first."""
    return TEN


@cache
def assignment(name: str | int) -> Exercise:
    """A task by its name, or by its number from 1. Raises `UnknownName`."""
    for number, task in enumerate(TEN, 1):
        if str(name) in (task.name, str(number)):
            return task
    names = [task.name for task in TEN]
    nearest = difflib.get_close_matches(str(name), names, 1)
    raise UnknownName("assignment", str(name), nearest, "1 to 10, or: " + ", ".join(names))
