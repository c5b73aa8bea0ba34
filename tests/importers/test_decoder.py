"""A decoder whose cache is state: the prompt and each step find what the one before left."""

from __future__ import annotations

import copy

import pytest
import torch

import planners as sp
from tests.decoder import GROUPS, SIZE, budgets, graph_of, made

AMPLE_S = 60.0


@pytest.mark.parametrize("planner", ["cosma", pytest.param("overlap", marks=pytest.mark.long)])
def test_a_prompt_and_steps_are_planned_and_executed(planner: str) -> None:
    decoder, words = made(layers=1, places=5)
    for seen, length in ((0, 4), (4, 1)):
        given = words[:, seen : seen + length]
        graph = graph_of(decoder.at(seen), given)
        states = [t.shape for t in graph.tensors.values() if t.kind == "state"]
        assert states == [(1, GROUPS, 5, SIZE)] * 2
        sizes = budgets(graph, planner, AMPLE_S)
        assert len(sizes) == 3
        for budget in sizes:
            plan = sp.plan(graph, planner, budget, time_limit=AMPLE_S)
            assert sp.check(plan).peak_bytes <= budget
            done = sp.execute(plan, copy.deepcopy(decoder), (given,))
            assert done.max_abs_error < 1e-5
        with torch.no_grad():
            decoder(given)
    whole, _ = made(layers=1, places=5)
    with torch.no_grad():
        assert torch.allclose(decoder.layers[0].keys[:, :, :4], keys_of(whole, words[:, :4]))


def keys_of(decoder: torch.nn.Module, words: torch.Tensor) -> torch.Tensor:
    """What a decoder that begins leaves in its cache."""
    decoder(words)
    return decoder.layers[0].keys[:, :, : words.shape[1]]
