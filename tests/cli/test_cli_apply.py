"""`spillway apply`: what it says, what it writes, and what it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from planners.audits.readers.tflm import METADATA, offline_offsets
from planners.cli import main
from planners.importers.tflite.file import read_tflite
from tests.audits.cure.networks import NETWORKS
from tests.importers.tflite_models import TfliteWriter


def ran(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return int(stop.value.code or 0), out, err


def test_facts_and_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = NETWORKS["mobilenet"]().save(tmp_path / "net.tflite")
    out = tmp_path / "planned.tflite"
    code, said, _ = ran(capfd, "apply", source, "--out", out, "--overlap", "--json")
    facts = json.loads(said)
    assert code == 0
    assert facts["bound_bytes"] == facts["head_bytes"] < facts["own_bytes"]
    assert facts["proven"] is True
    assert "CONV_2D" in facts["overlapped"]
    placed = [at for at in offline_offsets(read_tflite(out)).values() if at >= 0]
    assert len(placed) == facts["tensors"]
    assert max(placed) < facts["head_bytes"]
    code, said, _ = ran(capfd, "apply", source, "--out", out)
    first, *table = said.splitlines()
    assert first.endswith("proven least for this order with all apart.")
    assert table[0].split()[0] == "written"
    assert list(read_tflite(out).metadata) == [METADATA]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: install gcc")
def test_the_plan_as_c(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = NETWORKS["inverted_residuals"]().save(tmp_path / "net.tflite")
    out, text = tmp_path / "planned.tflite", tmp_path / "plan.c"
    _, said, _ = ran(capfd, "apply", source, "--out", out, "--c", text, "--overlap", "--json")
    facts = json.loads(said)
    main_c = tmp_path / "main.c"
    main_c.write_text(
        '#include <stdio.h>\n#include "plan.c"\nint main(void) {\n'
        "  for (int k = 0; k < spillway_buffer_plan.buffer_count; ++k)\n"
        '    printf("%d\\n", (int)spillway_buffer_plan.offsets[k]);\n  return 0;\n}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    program = tmp_path / "main"
    subprocess.run(["cc", *flags, str(main_c), "-o", str(program)], check=True)
    told = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    offsets = [int(line) for line in told.split()]
    assert len(offsets) == facts["tensors"] + facts["scratch_buffers"]
    assert facts["scratch_buffers"] == 3
    given = offline_offsets(read_tflite(out))
    assert offsets[: facts["tensors"]] == [at for at in given.values() if at >= 0]


def test_refusals_write_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = NETWORKS["mobilenet"]().save(tmp_path / "net.tflite")
    other, none = tmp_path / "other.tflite", tmp_path / "none.tflite"
    other.write_bytes(b"TFL3" * 40)
    own = TfliteWriter()
    x = own.tensor((1, 4), "int8")
    own.inputs, own.outputs = [x], [own.operator("MINE", [x], [own.tensor((1, 4), "int8")])]
    custom = own.save(tmp_path / "custom.tflite")
    for arguments, words in (
        ((source, "--out", source), "is read by this command"),
        ((source, "--out", none, "--c", none), "name another file"),
        ((other, "--out", none), "is not a TensorFlow Lite file"),
        ((tmp_path / "missing.tflite", "--out", none), "cannot read"),
        ((custom, "--out", none, "--c", tmp_path / "plan.c"), "MINE may ask for scratch"),
        ((source, "--out", tmp_path / "no" / "folder.tflite"), "cannot write"),
    ):
        code, _, err = ran(capfd, "apply", *arguments)
        assert code == 2, arguments
        (line,) = err.strip().splitlines()
        assert words in line
        assert not none.exists()
    assert not (tmp_path / "plan.c").exists()


def test_what_is_not_known_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own = TfliteWriter()
    x = own.tensor((1, 4), "int8")
    own.inputs, own.outputs = [x], [own.operator("MINE", [x], [own.tensor((1, 4), "int8")])]
    source = own.save(tmp_path / "custom.tflite")
    code, said, _ = ran(capfd, "apply", source, "--out", tmp_path / "planned.tflite")
    assert code == 0
    assert "scratch of MINE: the head may be larger" in said
