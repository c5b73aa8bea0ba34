"""Thousands of plans and forgeries: do `check` and the naive replay of `tests/replay` agree?

    python benchmarks/naive_replay.py --count 1000 --seed 1 [--first 400] [--forgeries 20]
        [--keep FOLDER]

Plan number N of a seed is the same whichever it begins with, but where a second was not enough for
its planner: `--first` goes on where a run ended. Each is a small network, a planner with options, a
machine and a budget, and then files with an edit or two. Prints every disagreement, and every
planner's own plan that is refused, with the number that it comes from, and at the end how many
plans and forgeries were tried, how many of these were valid all the same, and of which planners.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from tests.replay.agreement import disagreements, without_details
from tests.replay.forgeries import EDITS, OFTEN, forged
from tests.replay.samples import data_of, drawn_plan

TOLD_EVERY = 10
"""Plans after which counts are told."""


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--count", type=int, default=100, help="how many plans")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--first", type=int, default=0, help="the number of the first plan")
    ask.add_argument("--forgeries", type=int, default=20, help="of each plan")
    ask.add_argument("--keep", type=Path, help="a folder for files that they disagree on")
    asked = ask.parse_args()
    warnings.simplefilter("ignore")
    counts, planners, edits = Counter[str](), Counter[str](), Counter[str]()
    for number in range(asked.first, asked.first + asked.count):
        draw = Random(f"{asked.seed} {number}")
        try:
            plan = drawn_plan(draw)
        except Exception as error:
            counts["planners that failed"] += 1
            print(f"{asked.seed}:{number} {type(error).__name__}: {error}", flush=True)
            continue
        if plan is None:
            counts["not planned"] += 1
            continue
        counts["plans"] += 1
        planners[plan.planner] += 1
        data = data_of(plan)
        label = f"{asked.seed}:{number} {plan.planner}"
        files = [("as it is", data)]
        for at in range(asked.forgeries):
            names = [*EDITS, *OFTEN] if at % 2 else list(EDITS)
            files.append(forged(data, Random(f"{asked.seed} {number} {at}"), names))
        for at, (name, file) in enumerate(files):
            try:
                valid, found = disagreements(file)
            except Exception as error:
                valid, found = False, [f"{type(error).__name__}: {error}"]
            counts["forgeries"] += at > 0
            counts["valid forgeries"] += valid and at > 0
            if at == 0 and not valid:
                counts["refused plans"] += 1
                tell(f"{label} is refused", [refusal(file)], file, asked.keep)
            edits.update(name.split("+") if at else [])
            if found:
                counts["disagreements"] += 1
                tell(f"{label} [{at}] {name}", found, file, asked.keep)
        if number % TOLD_EVERY == TOLD_EVERY - 1:
            print(f"… {number + 1}: {dict(counts)}", file=sys.stderr, flush=True)
    print(f"{dict(counts)}\n{dict(planners)}\n{dict(edits)}")
    return 1 if counts["disagreements"] else 0


def refusal(file: Any) -> str:
    """Why `check` refuses a planner's own plan."""
    try:
        sp.check(sp.Plan.from_json(without_details(file)))
    except sp.SpillwayError as error:
        return str(error)
    return ""


def tell(label: str, found: list[str], file: Any, keep: Path | None) -> None:
    """Print what they disagree on, and write the file where there is a folder for it."""
    print(f"{label}: {'; '.join(each[:200] for each in found)}", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{label.replace(' ', '_')}.json").write_text(json.dumps(file))


if __name__ == "__main__":
    sys.exit(main())
