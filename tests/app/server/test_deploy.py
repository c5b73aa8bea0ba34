"""The files that whoever runs a server copies are what they say, and what they name is there."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from app.server import install

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "docs" / "deploy"


def started(state: Path, *arguments: str, panel: str = "panel") -> list[str]:
    """What `start.sh` would run, and with which secrets."""
    told = state.parent / "panel"
    told.write_text(
        '#!/bin/sh\necho "$*"\necho "$BOKEH_SIGN_SESSIONS"\n'
        'echo "$BOKEH_SECRET_KEY"\necho "$BOKEH_COOKIE_SECRET"\npwd\n'
    )
    told.chmod(0o755)
    done = subprocess.run(
        [str(DEPLOY / "start.sh"), *arguments],
        env={
            "PATH": os.environ["PATH"],
            "STATE_DIRECTORY": str(state),
            "PANEL": str(told.with_name(panel)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_first_start_makes_secrets_and_later_ones_keep_them(tmp_path: Path) -> None:
    line, signs, session, cookie, where = started(tmp_path / "state", "--port", "5007")
    assert line == "serve --setup app/setup.py --port 5007 app/main.py"
    assert (signs, where) == ("yes", str(ROOT))
    assert re.fullmatch("[0-9a-f]{64}", session)
    assert re.fullmatch("[0-9a-f]{64}", cookie)
    assert session != cookie
    for file in (tmp_path / "state").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert started(tmp_path / "state")[2:4] == [session, cookie]
    assert started(tmp_path / "other")[2] != session


def test_whoever_has_installed_nothing_reads_how(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        started(tmp_path / "state", panel="absent")
    assert refused.value.returncode == 2
    assert "absent: python3 run.py explorer --help installs it" in refused.value.stderr


@pytest.mark.parametrize("asked", [["--num-procs", "2"], ["--num-procs=0"]])
def test_several_processes_of_one_server_are_refused(asked: list[str], tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        started(tmp_path / "state", *asked)
    assert refused.value.returncode == 2
    assert "docs/deployment.md" in refused.value.stderr


def test_one_of_several_processes_ends_before_anybody_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(install.os, "_exit", ended)
    for number, told in ((0, install.SEVERAL + "\n"), (1, "")):
        monkeypatch.setattr(install, "task_id", lambda number=number: number)
        with pytest.raises(SystemExit) as left:
            install.install_guards()
        assert (left.value.code, capsys.readouterr().err) == (0, told)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "spillway.service"
    text = (DEPLOY / "spillway.service").read_text(encoding="utf-8")
    assert "/srv/spillway/docs/deploy/start.sh" in text
    unit.write_text(text.replace("/srv/spillway", str(ROOT)))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_has_what_it_copies_and_no_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    assert len(copied) > 5
    assert all((ROOT / name).exists() for name in copied)
    trees = [ROOT / name for name in copied]
    links = [path for tree in trees for path in tree.rglob("*") if path.is_symlink()]
    assert links
    for path in links:  # what they lead to is in the image too
        assert any(path.resolve().is_relative_to(tree) for tree in trees), path
    users = [line.split()[1] for line in lines if line.startswith("USER")]
    assert users[-1] == "10001"
    assert (ROOT / "docs/deploy/start.sh").stat().st_mode & stat.S_IXUSR


def test_the_proxy_and_the_unit_agree() -> None:
    """Prefix, port, name and forwarded addresses."""
    unit = (DEPLOY / "spillway.service").read_text(encoding="utf-8")
    proxy = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    found = dict(re.findall(r"--(prefix|port|allow-websocket-origin) (\S+)", unit))
    assert f"location /{found['prefix']}/ {{" in proxy
    assert "proxy_pass http://spillway;" in proxy
    servers = f"hash $remote_addr consistent;\n    server 127.0.0.1:{found['port']};"
    assert f"upstream spillway {{\n    {servers}" in proxy
    assert f"server_name {found['allow-websocket-origin']};" in proxy
    assert "--use-xheaders" in unit
    assert "proxy_set_header X-Real-IP $remote_addr;" in proxy
