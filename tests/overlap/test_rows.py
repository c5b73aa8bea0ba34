"""Distances and rings of rows: against naive loops, and as programs, tight to the byte."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import planners as sp
from planners.allocation.overlapping.exact import pack_overlapping
from planners.core.details.pool import PoolLayout
from planners.core.graph import Graph
from planners.overlap.kernels.candidates import RunCandidate, alone
from planners.overlap.kernels.row_lines import alone_in_rows, line_in_rows
from planners.overlap.model.distance import distance
from planners.overlap.model.rows import TensorRows, blocks, in_place, row_distance, spans_read
from planners.overlap.place.packing import packing_of
from planners.overlap.search.chain import ChainWay, turned
from tests.overlap.byte_ring import addresses
from tests.overlap.random_nets import random_net
from tests.overlap.test_tight import random_module, tight_distances, valid


@pytest.mark.parametrize("seed", range(40))
def test_distances_against_naive_loops(seed: int) -> None:
    """No write of a block meets what it or later ones read; a byte less, one does."""
    graph, known = random_net(seed, 6)
    for op in graph.operators:
        out = TensorRows(graph, op.outputs[0])
        places = addresses(out.shape)
        for rows in range(1, out.count + 1):
            for name in op.inputs:
                where = addresses(graph.tensors[name].shape)
                reads = known[op.name][1][name]
                need = 0
                for start, stop in blocks(out.count, rows):
                    later = [t for t in range(len(places)) if places[t] >= start * out.size_bytes]
                    read = [int(where[i]) for t in later for i in reads[t]]
                    need = max(need, stop * out.size_bytes - min(read, default=math.inf))
                found = row_distance(graph, op, name, rows)
                least = distance(graph, op, name)
                if in_place(graph, op, name):
                    assert found == least == 0
                    continue
                whole = graph.size_bytes(op.outputs[0])
                # Rows that are read in part are read as a whole.
                size = TensorRows(graph, name).size_bytes
                assert (whole if found is None else found) in range(int(need), int(need) + size)
                assert found is None or (least is not None and found >= least)


def test_what_is_read_is_covered_by_rows() -> None:
    for seed in range(20):
        graph, known = random_net(seed, 6)
        for op in graph.operators:
            out = TensorRows(graph, op.outputs[0])
            places = addresses(out.shape)
            for name, spans in zip(op.inputs, spans_read(graph, op, 2), strict=True):
                source = TensorRows(graph, name)
                where = addresses(source.shape)
                for (start, stop), (low, high) in zip(blocks(out.count, 2), spans, strict=True):
                    rows = {
                        int(where[i]) // source.size_bytes
                        for t, reads in enumerate(known[op.name][1][name])
                        if start <= places[t] // out.size_bytes < stop
                        for i in reads
                    }
                    assert rows <= set(range(low, high))


def runs_of(graph: Graph) -> list[RunCandidate]:
    """A module's first operators, one or several, in one to four rows at once."""
    found = []
    for rows in (1, 2, 3, 4):
        found.append(alone_in_rows(graph, 0, rows))
        for stop in range(2, len(graph.operators) + 1):
            if (run := line_in_rows(graph, range(stop), rows)) is not None:
                found.append(run)
    return found


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_distance_is_enough_and_one_byte_less_is_not(first: int) -> None:
    # Distances of lines are for kernels by pixels, too.
    assert tight_distances(first, runs_of, lambda run: run.form == "alone") > 5


def test_a_ring_of_a_row_less_is_not_enough() -> None:
    tried = 0
    for seed in range(30):
        graph = random_module(seed)
        count = len(graph.operators)
        run = line_in_rows(graph, range(count), 1)
        if run is None:
            continue
        for at, need in enumerate(run.needs):
            rows = TensorRows(graph, need.tensor)
            each = need.pixels // (need.size_bytes // rows.size_bytes)
            layout = _roomy(graph, run)
            assert valid(graph, layout)
            buffers = list(layout.runs[0].buffers)
            if need.size_bytes == rows.size_bytes:
                continue
            buffers[at] = replace(buffers[at], pixels=need.pixels - each)
            changed = replace(layout.runs[0], buffers=tuple(buffers))
            tried += 1
            assert not valid(graph, replace(layout, runs=(changed, *layout.runs[1:])))
    assert tried > 10


def _roomy(graph: Graph, run: RunCandidate) -> PoolLayout:
    """A run and the rest alone, as they are packed."""
    rest = [alone(graph, p) for p in range(max(run.operators) + 1, len(graph.operators))]
    packed = pack_overlapping(packing_of(graph, [run, *rest], graph.outputs))
    assert packed is not None
    way = ChainWay(0, len(graph.operators), (run, *rest), packed, 0)
    return turned(graph, [way], packed.size_bytes)


def test_rows_are_those_of_the_outermost_axis() -> None:
    graph = sp.load("mobilenet_v2", input_shape=(1, 3, 32, 32))
    rows = TensorRows(graph, graph.inputs[0])
    assert (rows.count, rows.size_bytes) == (32, 3 * 32)
    assert rows.box(3, 5) == ((0, 1), (0, 3), (3, 5), (0, 32))
    vector = TensorRows(graph, graph.outputs[0])
    assert (vector.count, vector.size_bytes) == (1, 1000)
    assert vector.box(0, 1) == ((0, 1), (0, 1000))
