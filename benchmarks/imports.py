"""Import every catalogue model from scratch and print what it became and how long it took.

python benchmarks/imports.py [--out table.csv] [--granularity fused] [NAME ...]
"""

from __future__ import annotations

import argparse
import csv
import sys
import time

from planners.catalogue import models
from planners.catalogue.loading import _shapes, trace
from planners.catalogue.names import TIMM_SUGGESTED
from planners.errors import SpillwayError

COLUMNS = ("model", "operators", "parameters", "macs", "import_s", "error")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--granularity", default="fused")
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    for name in options.names or [*models(), *TIMM_SUGGESTED]:
        began = time.perf_counter()
        row = {"model": name}
        try:
            graph = trace(name, _shapes(name, None), options.granularity)
            row |= {"operators": len(graph.operators), "parameters": graph.parameter_count}
            row |= {"macs": graph.macs}
        except SpillwayError as error:
            row |= {"error": str(error)}
        row["import_s"] = f"{time.perf_counter() - began:.2f}"
        rows.append(row)
        print("  ".join(str(row.get(column, "")) for column in COLUMNS), flush=True)
    failed = [row["model"] for row in rows if "error" in row]
    print(f"{len(rows) - len(failed)} of {len(rows)} imported; failed: {failed}")
    if options.out:
        with open(options.out, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
