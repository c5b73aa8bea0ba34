"""Pictures of the tables beside the pages, each drawn from its CSV file.

    python benchmarks/tables.py [--data docs/data]

Commands that write a page (`spillway reproduce cosma --out … --data …`) write both. Other
benchmarks print rows: put them into a CSV file, say below how they are drawn, and run this, which
also prints what their pages show. Forms of papers' tables are in the papers' templates.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from planners.core.files import write_text
from planners.study.long_tables import MARK
from planners.study.table_charts import Chart, TableForm

ROOT = Path(__file__).parents[1]
FORMS = (
    "joined_two_minutes: network | ms: proven; best other; joined | ms; log",
    "joined_cells: network | floor; joined; fusion; cosma | ms; log",
    "joined_cells_in_place: network | floor; joined; overlap; cosma | ms; log",
    "joined_boxes: network | 256 KiB: ms; 1 MiB: ms | ms; log",
    "joined_parts: network | all together; no overlap; no slices; no early loads; no pool "
    "| ms; log",
    "joined_memories: network | without; with; floor | ms; log",
    "machines_cascades: network; arena, KiB; by | SRAM, KiB; ms | KiB and ms; log",
    "npu_small_winners: model | MR; MH; MP; 256KiB; 1MiB | winner; tiles",
    "npu_ideal_winners: model | MR; MH; MP; 256KiB; 1MiB | winner; tiles",
    "tflite_counts: file | MACs; here | MACs; log",
    "winners_floor: machine; planner; budget | geometric mean; median "
    "| latency over its floor; log",
    "write-back_executorch: model | greedy; packed, proven least | bytes; log",
    "write-back_mediapipe: model | the runtime's own; apart; overlap | bytes of the head; log",
    "write-back_memories: model; fast memory | BankedGreedy; PackMemory "
    "| bytes of slow memory; log",
    "zoo_networks: family; network | cosma; fusion; overlap; streaming "
    "| what became of the plans; tiles",
)


def forms() -> Iterator[tuple[str, TableForm]]:
    """The names of the files of all pictures, and how these are drawn."""
    for description in FORMS:
        form = TableForm.parse(description)
        yield form.name, form
    for template in sorted((ROOT / "planners" / "papers").glob("*/report.md")):
        for description in MARK.findall(template.read_text(encoding="utf-8")):
            form = TableForm.parse(description)
            yield f"{template.parent.name}_{form.name}", form


def pictures(data: Path) -> Mapping[str, Chart]:
    """Every table of the folder that has a picture, by the name of its file."""
    charts = {}
    for name, form in forms():
        with (data / f"{name}.csv").open(encoding="utf-8", newline="") as opened:
            head, *rows = csv.reader(opened)
        charts[name] = Chart(form, head, rows)
    return {name: chart for name, chart in charts.items() if chart.svg()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "docs" / "data")
    data = parser.parse_args().data
    for name, chart in pictures(data).items():
        write_text(data / f"{name}.svg", chart.svg())
        print(f"![{chart.about}]({data.name}/{name}.svg)\n")
        print(f"[All {len(chart.rows)} rows]({data.name}/{name}.csv)\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
