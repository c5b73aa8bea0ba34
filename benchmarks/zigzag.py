"""Cycles, bytes off chip and energy of `npu_small` beside ZigZag's estimate, layer by layer.

    python benchmarks/zigzag.py [NETWORK …] [--layers] [--python PATH]

ZigZag 3.9.1 runs in an environment of its own, which is made unless `--python` has it. It is given
the shapes of the catalogue's convolutions and linear layers, an array of 16 outputs by 16 inputs
(depthwise on its diagonal), weights that stay in it, partial sums beside it, and the memories of
`npu_small`; it looks for the order of loops with the fewest cycles. Each layer is by itself, from
the memory off chip and back to it.

Ours: `setup + max(array, scratchpad, bytes off chip)`. Beside it ZigZag's cycles with stalls, what
is loaded before the first step, and what is stored after the last.

Why ratios lie beyond 1.5. Cycles, 0.5 to 0.66 in small layers: what is loaded and stored runs
beside the array in ours, before and after it in ZigZag's. Energy, 0.34 to 0.66 of windows above
1 x 1: where weights stay, ZigZag's array reads an input again for each element of the window, ours
once for each 16 output channels. Bytes and energy, 2.3 to 3.6 of 1 x 1 windows at stride 2: ZigZag
reads the pixels that are used, ours the whole map.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters_parts.environments import PARTS, python_of

import planners as sp
from planners.core.compute_seconds import ComputeSeconds
from planners.core.graph import Graph, Operator
from planners.core.loop_nest import loop_nest
from planners.core.machine import Machine
from planners.core.program import whole

NETWORKS = ("mobilenet_v2", "resnet18")
ARRAY = 16
PARTIAL_SUM_BITS = 32
PARTIAL_SUMS = 4096
"""Of each column: as many pixels as are computed before another weight comes."""
DEPTHWISE = "Conv_downsample"
"""A type of ZigZag's that we need for nothing else."""
LEAST, MOST = 1 / 1.5, 1.5
"""Ratios beyond these are named."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a layer by itself."""

    array: float
    cycles: float
    read_bytes: float
    written_bytes: float
    onchip_pj: float


COLUMNS = [each.name for each in fields(Figures)]


# ---- ours ----


def our_figures(graph: Graph, op: Operator, machine: Machine) -> Figures:
    seconds = ComputeSeconds(graph, machine)
    onchip, outside = machine.memory(machine.onchip), machine.memory(machine.offchip)
    data, weights = _bytes(graph, op.inputs), _bytes(graph, op.parameters)
    written = _bytes(graph, op.outputs)
    array_s = seconds.whole_s(op)
    times = seconds.input_reads(op.name, whole(graph.tensors[op.outputs[0]]).box, None)
    by_scratchpad = max(
        (data + weights) / onchip.read_bytes_per_s, written / onchip.write_bytes_per_s
    )
    by_outside = max(
        (data + weights) / outside.read_bytes_per_s, written / outside.write_bytes_per_s
    )
    setup = machine.engine("compute").latency_s
    reads = data * times + weights + written  # The array's, and what goes out again.
    writes = data + weights + written
    return Figures(
        array=array_s * machine.clock_hz,
        cycles=(setup + max(array_s, by_scratchpad, by_outside)) * machine.clock_hz,
        read_bytes=data + weights,
        written_bytes=written,
        onchip_pj=op.macs * machine.mac_pj
        + reads * onchip.read_pj_per_byte
        + writes * onchip.write_pj_per_byte,
    )


def _bytes(graph: Graph, names: Sequence[str]) -> int:
    return sum(map(graph.size_bytes, names))


# ---- ZigZag ----


def layer(graph: Graph, op: Operator, number: int) -> dict[str, Any]:
    """An operator in ZigZag's words."""
    data, out = graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]].shape
    shared = {
        "id": number,
        "name": op.name,
        "operator_type": _type(graph, op),
        "operand_precision": {"W": 8, "I": 8, "O": PARTIAL_SUM_BITS, "O_final": 8},
    }
    if op.kind == "linear":
        return shared | {
            "operator_type": "Gemm",
            "equation": "O[b][k]+=W[k][c]*I[b][c]",
            "loop_dims": ["B", "K", "C"],
            "loop_sizes": [out[0], out[-1], op.macs // (out[0] * out[-1])],
            "dimension_relations": [],
            "operand_source": {"I": number},
        }
    (high, wide), (down, across) = op.kernel, op.stride
    above, left = op.padding
    rows, columns = data[2:]
    return shared | {
        "equation": "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
        "loop_dims": ["B", "K", "G", "OX", "OY", "C", "FX", "FY"],
        "loop_sizes": [
            out[0],
            out[1] // op.groups,
            op.groups,
            out[3],
            out[2],
            data[1] // op.groups,
            wide,
            high,
        ],
        "dimension_relations": [f"ix={across}*ox+1*fx", f"iy={down}*oy+1*fy"],
        "operand_source": {"I": number},
        "pr_loop_dims": ["IX", "IY"],
        "pr_loop_sizes": [columns, rows],
        "padding": [[left, left], [above, above]],
    }


def _type(graph: Graph, op: Operator) -> str:
    """Depthwise layers have a mapping of their own: ZigZag takes it by the type's name."""
    return DEPTHWISE if "depthwise" in loop_nest(graph, op).kinds else "Conv"


def accelerator(machine: Machine) -> dict[str, Any]:
    """The machine's memories, and an array whose registers cost nothing: ours counts none."""
    onchip, outside = machine.memory(machine.onchip), machine.memory(machine.offchip)
    wide = round(onchip.read_bytes_per_s / machine.clock_hz) * 8
    narrow = round(outside.read_bytes_per_s / machine.clock_hz) * 8
    weight = _memory(
        8,
        0,
        0,
        ["I2"],
        [_port("r_port_1", "read", 8, ["I2, tl"]), _port("w_port_1", "write", 8, ["I2, fh"])],
        [],
    )
    sums = _memory(
        PARTIAL_SUMS * PARTIAL_SUM_BITS,
        0,
        0,
        ["O"],
        [
            _port("r_port_1", "read", PARTIAL_SUM_BITS, ["O, tl"]),
            _port("r_port_2", "read", PARTIAL_SUM_BITS, ["O, th"]),
            _port("w_port_1", "write", PARTIAL_SUM_BITS, ["O, fh"]),
            _port("w_port_2", "write", PARTIAL_SUM_BITS, ["O, fl"]),
        ],
        ["D2"],
    )
    scratchpad = _memory(
        onchip.size_bytes * 8,
        onchip.read_pj_per_byte * wide / 8,
        onchip.write_pj_per_byte * wide / 8,
        ["I1", "I2", "O"],
        [
            _port("r_port_1", "read", wide, ["I1, tl", "I2, tl", "O, tl", "O, th"], 8),
            _port("w_port_1", "write", wide, ["I1, fh", "I2, fh", "O, fh", "O, fl"], 8),
        ],
        ["D1", "D2"],
    )
    host = _memory(
        10**12,
        outside.read_pj_per_byte * narrow / 8,
        outside.write_pj_per_byte * narrow / 8,
        ["I1", "I2", "O"],
        [
            _port("r_port_1", "read", narrow, ["I1, tl", "I2, tl", "O, tl", "O, th"], 8),
            _port("w_port_1", "write", narrow, ["I1, fh", "I2, fh", "O, fh", "O, fl"], 8),
        ],
        ["D1", "D2"],
    )
    return {
        "name": machine.name,
        "memories": {"weight": weight, "sums": sums, "scratchpad": scratchpad, "host": host},
        "operational_array": {
            "unit_energy": machine.mac_pj,
            "unit_area": 1,
            "dimensions": ["D1", "D2"],
            "sizes": [ARRAY, ARRAY],
        },
    }


def _memory(
    bits: int, read_pj: float, write_pj: float, operands: list[str], ports: list[Any], served: Any
) -> dict[str, Any]:
    return {
        "size": bits,
        "r_cost": read_pj,
        "w_cost": write_pj,
        "area": 0,
        "latency": 1,
        "operands": operands,
        "ports": ports,
        "served_dimensions": served,
    }


def _port(name: str, kind: str, bits: int, allocation: list[str], least: int = 0) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "bandwidth_min": least or bits,
        "bandwidth_max": bits,
        "allocation": allocation,
    }


def mapping() -> list[dict[str, Any]]:
    links = {"memory_operand_links": {"O": "O", "W": "I2", "I": "I1"}}
    dense = {"D1": [f"K, {ARRAY}"], "D2": [f"C, {ARRAY}"]}
    return [
        {"name": "default", "spatial_mapping": dense, **links},
        {"name": DEPTHWISE, "spatial_mapping": {"D1": [f"G, {ARRAY}"], "D2": ["C, 1"]}, **links},
    ]


def their_figures(
    python: Path, graph: Graph, ops: Sequence[Operator], machine: Machine, folder: Path
) -> list[Figures]:
    """ZigZag's, each shape once: some minutes for a network, kept in the folder."""
    on, laid = accelerator(machine), mapping()
    layers = [layer(graph, op, number) for number, op in enumerate(ops)]
    keys = [_key(each, on, laid) for each in layers]
    (folder / "layers.json").write_text(json.dumps(dict(zip(keys, layers, strict=True))))
    (folder / "accelerator.yaml").write_text(json.dumps(on))
    (folder / "mapping.yaml").write_text(json.dumps(laid))
    script = PARTS / "run_zigzag.py"
    subprocess.run([python, script, folder], check=True, stdout=subprocess.DEVNULL)
    found = json.loads((folder / "found.json").read_text())
    return [Figures(**{n: found[key][n] for n in COLUMNS}) for key in keys]


def _key(each: dict[str, Any], on: dict[str, Any], laid: list[Any]) -> str:
    """What a layer's figures depend on: they are kept in the folder between runs."""
    named = ("id", "name", "operand_source")
    own = {name: value for name, value in each.items() if name not in named}
    used = [
        entry
        for entry in laid
        if (entry["name"] == DEPTHWISE) == (own["operator_type"] == DEPTHWISE)
    ]
    return sha256(json.dumps([own, on, used]).encode()).hexdigest()


# ---- side by side ----


def multiplied(graph: Graph) -> Iterator[Operator]:
    yield from (op for op in graph.operators if op.kind in ("conv2d", "linear"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--layers", action="store_true", help="a line for each layer")
    parser.add_argument("--python", type=Path)
    asked = parser.parse_args()
    folder = Path(tempfile.gettempdir()) / "spillway-zigzag"
    folder.mkdir(exist_ok=True)
    python = asked.python or python_of("zigzag", folder)
    machine = sp.load_machine("npu_small")
    for name in asked.networks:
        graph = sp.load(name)
        ops = list(multiplied(graph))
        theirs = their_figures(python, graph, ops, machine, folder)
        report(
            name, graph, ops, [our_figures(graph, op, machine) for op in ops], theirs, asked.layers
        )


def report(
    name: str,
    graph: Graph,
    ops: Sequence[Operator],
    ours: Sequence[Figures],
    theirs: Sequence[Figures],
    layers: bool,
) -> None:
    """Ratios of totals by kind, and how many layers lie beyond a half more."""
    print(f"\n{f'ours / ZigZag: {name}':36}", *(f"{column:>14}" for column in COLUMNS))
    kinds: dict[str, list[int]] = {}
    for at, op in enumerate(ops):
        kinds.setdefault(loop_nest(graph, op).kinds[0], []).append(at)
        if layers:
            title = f"{op.name} {'x'.join(map(str, graph.tensors[op.outputs[0]].shape))}"
            print(f"  {title:34}", *(_ratio(ours[at], theirs[at], n) for n in COLUMNS))
    for kind, places in {**kinds, "all": list(range(len(ops)))}.items():
        own, their = (_sum([side[at] for at in places]) for side in (ours, theirs))
        print(f"{f'{kind}, {len(places)} layers':36}", *(_ratio(own, their, n) for n in COLUMNS))
    beyond = [
        sum(not LEAST <= getattr(own, n) / getattr(their, n) <= MOST for own, their in pairs)
        for n in COLUMNS
        for pairs in [list(zip(ours, theirs, strict=True))]
    ]
    print(f"{'layers beyond 1.5':36}", *(f"{count:14}" for count in beyond))


def _sum(some: Sequence[Figures]) -> Figures:
    return Figures(*(sum(getattr(each, name) for each in some) for name in COLUMNS))


def _ratio(ours: Figures, theirs: Figures, name: str) -> str:
    return f"{getattr(ours, name) / getattr(theirs, name):14.2f}"


if __name__ == "__main__":
    main()
