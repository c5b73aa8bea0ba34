"""Storage that fails in the middle of a run: exact errors, no hang, no partial output."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from planners.backends.disk import reader
from planners.backends.disk.kernels import DiskKernels
from planners.backends.disk.run import stream
from planners.core.backends import StreamedRun
from planners.core.errors import BadInput
from tests.backends.disk.runtime_nets import Small, case

STREAMING = {"reads", "copies", "kernels"}


class Net:
    """A small network on disk, streamed with something that happens at its third request."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, stages: int) -> None:
        self.small = case(Small)
        self.plan = self.small.plan(pipeline="2s" if stages == 2 else "async")
        self.path = self.small.write(folder, self.plan)
        self.monkeypatch = monkeypatch

    def run(
        self, at_third: Callable[[int, list, int], int], stall_s: float = 20.0, **options: bool
    ) -> StreamedRun:
        """Stream; the third read of a layer is `at_third` in place of the system's."""
        calls = iter(range(1000))

        def preadv(descriptor: int, buffers: list, offset: int) -> int:
            wanted = sum(map(len, buffers))
            if offset > 512 and wanted and next(calls) == 2:
                return at_third(descriptor, buffers, offset)
            return os.preadv(descriptor, buffers, offset)

        self.monkeypatch.setattr(reader, "preadv", preadv)
        small = self.small
        given = (self.plan, small.empty, small.inputs, self.path)
        return stream(*given, stall_s=stall_s, **options)


@pytest.fixture(params=[2, 3])
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request) -> Iterator[Net]:
    yield Net(tmp_path, monkeypatch, request.param)
    limit = time.monotonic() + 5
    while (left := living()) and time.monotonic() < limit:
        time.sleep(0.01)
    assert not left


def living() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name in STREAMING]


def test_a_file_that_shrinks(net: Net) -> None:
    def shrink(descriptor: int, buffers: list, offset: int) -> int:
        os.truncate(net.path, 8192)
        return os.preadv(descriptor, buffers, offset)

    with pytest.raises(BadInput, match=r"ended at byte \d+ while it was read: \d+ bytes are miss"):
        net.run(shrink)
    assert living() == []


def test_a_file_that_changes_is_no_result(net: Net) -> None:
    def change(descriptor: int, buffers: list, offset: int) -> int:
        with open(net.path, "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"1234")
        os.utime(net.path, ns=(0, 0))
        return os.preadv(descriptor, buffers, offset)

    with pytest.raises(BadInput, match="changed while it was read: run again"):
        net.run(change)


@pytest.mark.parametrize(("code", "text"), [(errno.EIO, "Input/output"), (errno.ESTALE, "Stale")])
def test_storage_that_fails(net: Net, code: int, text: str) -> None:
    def fail(descriptor: int, buffers: list, offset: int) -> int:
        raise OSError(code, os.strerror(code))

    with pytest.raises(BadInput, match=rf"reading at byte \d+ failed: {text}"):
        net.run(fail)
    assert living() == []


def test_a_file_that_vanishes_is_still_read(net: Net) -> None:
    """The system keeps what is open: the outputs are right."""

    def vanish(descriptor: int, buffers: list, offset: int) -> int:
        net.path.rename(net.path.with_name("elsewhere"))
        return os.preadv(descriptor, buffers, offset)

    done, small = net.run(vanish, compare=False), net.small
    assert torch.equal(done.outputs, small.reference)
    with pytest.raises(BadInput, match="cannot read .*: No such file"):
        stream(net.plan, small.empty, small.inputs, net.path)


def test_storage_that_stalls(net: Net) -> None:
    release = threading.Event()

    def stall(descriptor: int, buffers: list, offset: int) -> int:
        release.wait(30)
        return os.preadv(descriptor, buffers, offset)

    began = time.monotonic()
    with pytest.raises(
        BadInput, match=r"storage has not answered for 0.3 s, at layer '.*' with 0 of \d+ bytes"
    ):
        net.run(stall, stall_s=0.3)
    assert time.monotonic() - began < 20
    release.set()  # The request returns at last, and its thread ends.


def test_short_reads_are_gone_on_with(net: Net) -> None:
    def short(descriptor: int, buffers: list, offset: int) -> int:
        return os.preadv(descriptor, [buffers[0][:512]], offset)

    assert net.run(short).equal


def test_reads_without_bytes_are_an_end(net: Net) -> None:
    with pytest.raises(BadInput, match=r"ended at byte \d+ while it was read"):
        net.run(lambda descriptor, buffers, offset: 0)


def test_a_kernel_that_fails_stops_the_reader(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self, layer: int, parameters: list) -> None:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(DiskKernels, "run", fail)
    small = net.small
    with pytest.raises(RuntimeError, match="no such kernel"):
        stream(net.plan, small.empty, small.inputs, net.path)
    assert living() == []


def test_an_interrupt_stops_everything(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self, layer: int, parameters: list) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DiskKernels, "run", interrupt)
    small = net.small
    with pytest.raises(KeyboardInterrupt):
        stream(net.plan, small.empty, small.inputs, net.path)
    assert living() == []
