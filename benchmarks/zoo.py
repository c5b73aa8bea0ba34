"""Networks from outside: read right, planned by every planner, computed as their makers do?

    python benchmarks/zoo.py [--only FAMILY ...] [--seconds 3600] [--again] [--page]

Each is read, its facts are compared with independent sources, it is planned by all planners at two
budgets, every plan is checked, and the plans of modules are executed. A network has a process, a
time limit and a memory limit of its own: one that dies is a row like the others. Results go to
`--results`, a line each, and a run takes up where the last one ended; `--again` does anew those
that are chosen. `docs/zoo.md` is written from all results. Packages that only this needs are
installed beside the project's own: `--packages` prints the commands.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from zoo_parts.children import run_in_child
from zoo_parts.exports import FAMILIES as EXPORTED
from zoo_parts.files import FAMILIES as FILES
from zoo_parts.language import FAMILIES as LANGUAGE
from zoo_parts.page import PAGE, commands, page, versions
from zoo_parts.results import Results
from zoo_parts.sound import FAMILIES as SOUND
from zoo_parts.vision import FAMILIES as VISION

FAMILIES = (*VISION, *LANGUAGE, *SOUND, *FILES, *EXPORTED)


def main() -> int:
    """The networks that have no result yet, one after the other; then the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=(), help="families, or FAMILY/NAME")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of the whole run")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds a network")
    parser.add_argument("--plan-seconds", type=float, default=3.0, help="of processor, a plan")
    parser.add_argument("--memory", type=float, default=10.0, help="GiB a network")
    parser.add_argument("--results", type=Path, default=Path("zoo.jsonl"))
    parser.add_argument("--again", action="store_true", help="those that have a result too")
    parser.add_argument("--page", action="store_true", help="write the page only")
    parser.add_argument("--packages", action="store_true", help="how to install what this needs")
    given = parser.parse_args()
    if given.packages:
        print(commands(FAMILIES))
        return 0
    results = Results(given.results)
    if not given.page:
        _run(given, results)
    wrong = page(FAMILIES, results, versions(FAMILIES))
    print(f"{PAGE} is written; wrong: {len(wrong)}")
    return int(bool(wrong))


def _run(given: argparse.Namespace, results: Results) -> None:
    ends = time.monotonic() + given.seconds
    for family in FAMILIES:
        names = [n for n in family.names() if _chosen(given.only, family.name, n)]
        names = [n for n in names if given.again or not results.has(family.name, n)]
        if not names:
            continue
        try:
            family.prepare()
        except Exception as error:
            print(f"{family.name}: {error}", flush=True)
            continue
        for name in names:
            if time.monotonic() > ends:
                return
            row = run_in_child(family, name, given.limit, given.memory, given.plan_seconds)
            results.add(family.name, name, row)
            print(f"{family.name}/{name}: {row}"[:600], flush=True)


def _chosen(only: list[str], family: str, name: str) -> bool:
    return not only or family in only or f"{family}/{name}" in only


if __name__ == "__main__":
    sys.exit(main())
