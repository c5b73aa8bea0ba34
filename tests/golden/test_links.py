"""Links that earlier versions made, and what they read in them: they open as they always did.

`links.json.gz` has first the usual fields, then a link a line: its query, the fields that are not
the usual of the problem, the look and the pinned problem, what could not be used, and the options
that the planner was sent. Fields are called as the version that wrote them called them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

import planners as sp
from app.links.links_v1 import OLD
from app.links.url import MACHINES_OF_BEFORE, from_query, pinned_in
from app.model.option_keys import keyed, unusual
from app.model.options import options, why_not
from app.model.presenter import USUAL as MEMORY
from app.model.state import Look, ProblemFields
from app.model.upload_store import keep
from planners.core.registry import planner as find_planner
from planners.core.weights import COUNTED, LEFT_OUT, instead_of

HERE = Path(__file__).parent
USUAL, *KEPT = json.loads(gzip.decompress((HERE / "links.json.gz").read_bytes()))
FUTURE = "this explorer reads 1."
PLAIN = "no version, but fields"
LINKS = [
    link
    for link in KEPT
    if FUTURE not in " ".join(link.get("notice", ())) and link["name"] != PLAIN
]
"""All but those of a version that was none then, and one without a version, which meant nothing:
see `test_url.py`."""
SINCE = {"processes": 0, "objective": "traffic", "alignment": 64, "segment": "pixel", "seed": 0}
"""Options that planners had and no link: they are what they were without a word."""


@pytest.fixture(autouse=True)
def uploaded() -> None:
    """The file that some links name is on this server."""
    keep("uploaded.json", (HERE / "uploaded.json").read_bytes())


def renamed(old: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of that version as they are today: each option by the planner that has it."""
    fields = {name: value for name, value in old.items() if name not in OLD}
    chosen: dict[str, Any] = {}
    for name, (key, _) in OLD.items():
        planner, _, option = key.partition(".")
        value = "auto" if old[name] is None else old[name]
        chosen |= keyed(planner, {option: value})
    counted, honours = fields.pop("parameters"), find_planner(fields["planner"]).honours
    weights = instead_of(COUNTED if counted else LEFT_OUT, honours)
    fields["machine"] = MACHINES_OF_BEFORE.get(fields["machine"], fields["machine"])
    return {**fields, "weights": weights, "options": unusual(chosen)}


def presented(old: Mapping[str, Any]) -> dict[str, Any]:
    """A look of that version as it is today: teaching was one layout."""
    looks = dict(old)
    return looks | {"presenting": MEMORY} if looks.pop("teaching", False) else looks


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link["name"])
def test_an_old_link_opens_as_it_did(link: dict[str, Any]) -> None:
    given = dict(parse_qsl(link["query"].lstrip("?"), keep_blank_values=True))
    fields, look, wrong = from_query(given)
    pinned, more = pinned_in(given, fields)
    problem = ProblemFields(**fields)
    told = [*wrong, *more]
    for line in link.get("notice", []):  # now with the nearest name behind it
        told.remove(next(now for now in told if now.startswith(line)))
    in_vain = ("is unknown here", "Its model is not a file")
    assert all(any(words in line for words in in_vain) for line in told), told
    expected = renamed(USUAL["usual"] | link["problem"])
    if "v" not in given or given.get("machine", "npu_small") not in sp.presets():
        expected["machine"] = "npu_small"  # today's usual one
    assert problem.values_by_name() == expected
    looked = Look(**look).param.values()
    assert {name: looked[name] for name in presented(link["look"])} == presented(link["look"])
    assert pinned == (renamed(USUAL["usual"] | link["pinned"]) if "pinned" in link else {})
    sent = options(problem)
    was_sent = {n: v for n, v in link["options"].items() if n not in why_not(problem)}
    assert {**sent, **was_sent} == sent
    assert all(SINCE[name] == sent[name] for name in sent.keys() - was_sent.keys())
