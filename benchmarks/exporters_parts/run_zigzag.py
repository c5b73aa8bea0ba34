"""ZigZag's estimate of layers, one by one: reads a folder's `layers.json`, adds to `found.json`.

python run_zigzag.py FOLDER

Runs in an environment of its own, with ZigZag and without the rest of the project. The folder has
the accelerator and the mapping, too: `accelerator.yaml` and `mapping.yaml`. Layers have keys, and
what is found already is left as it is.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any

from zigzag.api import get_hardware_performance_zigzag
from zigzag.datatypes import MemoryOperand
from zigzag.hardware.architecture.memory_port import DataDirection


def main() -> None:
    folder = Path(sys.argv[1])
    logging.disable(logging.WARNING)
    layers = json.loads((folder / "layers.json").read_text())
    place = folder / "found.json"
    found = json.loads(place.read_text()) if place.exists() else {}
    for key, layer in layers.items():
        if key in found:
            continue
        _, _, evaluated = get_hardware_performance_zigzag(
            [layer],
            str(folder / "accelerator.yaml"),
            str(folder / "mapping.yaml"),
            opt="latency",
            dump_folder=str(folder / "out"),
            loma_show_progress_bar=False,
        )
        (one,) = evaluated[0][1]
        found[key] = figures(one[0])
        place.write_text(json.dumps(found))


def figures(one: Any) -> dict[str, float]:
    """Of a layer: cycles of the array, with stalls, and with what is loaded first and stored last;
    bytes of the memory off chip; picojoules on the chip."""
    outside = {op: accesses[-1] for op, accesses in one.memory_word_access.items()}
    top = one.accelerator.memory_hierarchy.get_memory_levels(mem_op=MemoryOperand("O"))[-1]
    word = top.get_max_bandwidth(MemoryOperand("O"), DataDirection.RD_OUT_TO_LOW) / 8
    read = sum(each.get(DataDirection.RD_OUT_TO_LOW) for each in outside.values())
    written = sum(each.get(DataDirection.WR_IN_BY_LOW) for each in outside.values())
    onchip = sum(sum(levels[:-1]) for levels in one.mem_energy_breakdown.values())
    return {
        "array": float(one.ideal_temporal_cycle),
        "stalled": float(one.latency_total0),
        "cycles": float(one.latency_total2),
        "read_bytes": read * word,
        "written_bytes": written * word,
        "onchip_pj": onchip + float(one.mac_energy),
    }


if __name__ == "__main__":
    main()
