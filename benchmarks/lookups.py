"""Random modules that look rows up: is what crosses the interface what a run of them picks?

    python benchmarks/lookups.py [--count 1000] [--first 0]

Parameters are read in place, in room for everything; what a run picks of its tables is counted as
PyTorch runs it. Plans are executed. Exits 1 where bytes or numbers differ.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from tests.importers.lookup_modules import LooksUp, moved_bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for seed in range(asked.first, asked.first + asked.count):
        module = LooksUp(seed)
        try:
            graph = sp.from_torch(
                module, (module.indices,), granularity="aten", bytes_per_element="native"
            )
        except sp.SpillwayError:  # all of it is of parameters alone
            counts["refused"] += 1
            continue
        plan = sp.plan(graph, "cosma", "1MiB", weights="in-place", time_limit=5)
        error = sp.execute(plan, module, (module.indices,)).max_abs_error
        right = moved_bytes(module, graph)
        same = plan.claims.offchip_bytes == right and error < 1e-5
        counts["right" if same else "wrong"] += 1
        if not same:
            print(seed, module.ways, plan.claims.offchip_bytes, "for", right, "error", error)
    print(dict(counts))
    return bool(counts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
