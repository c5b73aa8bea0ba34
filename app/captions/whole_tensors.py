"""Sentences on a step of whole tensors: what it ran, what moved in and out, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import planners as sp
from app.captions.sentence import Sentence
from app.captions.spill_reasons import (
    away,
    next_use,
    output_words,
    steps_words,
    until_words,
    why_words,
)
from app.display.banks import in_use_words, several, size_words, where
from app.display.displayed_plan import DisplayedPlan
from planners.core.program import Compute, Load, Store
from planners.core.units import format_bytes

NAMED = 3
_KINDS = {
    "input": "the network's input",
    "state": "kept from the previous run",
    "parameter": "a parameter",
}


def whole_story(shown: DisplayedPlan, step: int) -> list[Sentence]:
    """What happened during a step, in the order in which it happened."""
    moves = _moves(shown, step)
    first, last = shown.computes[step]
    before = [s for position, s in moves if position < first]
    within = [s for position, s in moves if first <= position <= last]
    after = [s for position, s in moves if position > last]
    quiet = [] if moves else _held(shown, step)
    return [*before, *_ran(shown, step), *within, *after, *_freed(shown, step), *quiet]


def _ran(shown: DisplayedPlan, step: int) -> list[Sentence]:
    """The operator with what it reads and writes; one that runs in parts is counted once."""
    items = shown.at(step)
    runs = [item for item in items if isinstance(item, Compute)]
    if not runs:
        return []
    name, graph = runs[0].operator, shown.graph
    operator = graph.operators[graph.index[name]]
    reads = dict.fromkeys(o.piece.tensor for run in runs for o in run.reads)
    writes = dict.fromkeys(o.piece.tensor for run in runs for o in run.writes)
    parts = f" in {len(runs)} parts" if len(runs) > 1 else ""
    what = operator.kind
    if operator.block:  # The kind is most often what the name begins with.
        is_named_by_kind = name.startswith(operator.kind)
        what = operator.block if is_named_by_kind else f"{operator.kind} of {operator.block}"
    text = f"{name} ({what}) ran{parts}: read {_sizes(shown, reads)}"
    return [Sentence("ran", f"{text}, wrote {_sizes(shown, writes)}.")]


def _moves(shown: DisplayedPlan, step: int) -> list[tuple[int, Sentence]]:
    """A sentence for each transfer of a step, with the position of its instruction."""
    moves: list[tuple[int, Sentence]] = []
    parameters: list[tuple[int, Sentence]] = []
    for position, item in zip(shown.by_step[step], shown.at(step), strict=True):
        if isinstance(item, Load):
            sentence = _loaded(shown, step, position, item)
            first = sentence.text.endswith("a parameter, was loaded.")
            (parameters if first else moves).append((position, sentence))
        elif isinstance(item, Store):
            moves.append((position, _stored(shown, step, position, item)))
    return [*_together(shown, parameters), *moves, *_dropped(shown, step)]


def _together(
    shown: DisplayedPlan, loads: list[tuple[int, Sentence]]
) -> list[tuple[int, Sentence]]:
    """Parameters that were loaded for the same operator, in one sentence."""
    if len(loads) < 2:
        return loads
    sizes = {s.tensor: shown.graph.size_bytes(s.tensor) for _, s in loads}
    text = f"{len(sizes)} parameters ({format_bytes(sum(sizes.values()))}) were loaded."
    return [(loads[0][0], Sentence("in", text, max(sizes, key=lambda name: sizes[name])))]


def _loaded(shown: DisplayedPlan, step: int, position: int, item: Load) -> Sentence:
    graph, tensor = shown.graph, item.piece.tensor
    memory = where(shown, tensor)
    what = f"{tensor} ({format_bytes(item.source.size_bytes)}{' to ' * bool(memory)}{memory})"
    residencies = shown.stays.get(tensor, ())
    if any(s.start_instruction == position and s.origin == "retrieve" for s in residencies):
        gone = _gone(shown, step, position, tensor)
        return Sentence("in", f"{what} came back{gone}: {_reader(shown, step, tensor)}.", tensor)
    kind = graph.tensors[tensor].kind
    why = _KINDS.get(kind, "")
    later = "" if step in shown.reads.get(tensor, ()) else f": {_reader(shown, step, tensor)}"
    return Sentence("in", f"{what}{', ' + why + ',' if why else ''} was loaded{later}.", tensor)


def _gone(shown: DisplayedPlan, step: int, position: int, tensor: str) -> str:
    """For how many steps a tensor that comes back was off chip."""
    before = [s for s in shown.stays[tensor] if 0 <= s.stop_instruction < position]
    last = max(before, key=lambda s: s.stop_instruction, default=None)
    missed = len(away(shown, last)) if last is not None else 0
    return f" after {steps_words(missed)} off chip" if missed else ""


def _reader(shown: DisplayedPlan, step: int, tensor: str) -> str:
    if step in shown.reads.get(tensor, ()):
        return "this step reads it"
    following = next_use(shown, tensor, step)
    return f"step {following + 1} reads it" if following is not None else "it is read later"


def _stored(shown: DisplayedPlan, step: int, position: int, item: Store) -> Sentence:
    tensor, size = item.piece.tensor, format_bytes(item.source.size_bytes)
    residency = _stay_at(shown, tensor, position)
    leaves = residency is not None and residency.ending == "spill"
    if tensor in shown.graph.outputs and not leaves:
        what = output_words(shown.graph, tensor)
        return Sentence("out", f"{tensor} ({size}), {what}, was stored.", tensor)
    until, beside = until_words(shown, residency, step) if residency else ("", "")
    why = why_words(shown, residency) if residency else ""
    return Sentence("out", f"{tensor} ({size}) was spilled{until}{why}.{beside}", tensor)


def _stay_at(shown: DisplayedPlan, tensor: str, position: int) -> sp.Residency | None:
    """The stay of a tensor that an instruction falls into."""
    begun = [s for s in shown.stays.get(tensor, ()) if s.start_instruction < position]
    return max(begun, key=lambda s: s.start_instruction, default=None)


def _dropped(shown: DisplayedPlan, step: int) -> Iterator[tuple[int, Sentence]]:
    """Tensors that left without a store, because the copy off chip is still valid."""
    for residency in shown.ended.get(step, ()):
        if residency.ending == "drop":
            size = format_bytes(residency.size_bytes)
            until, beside = until_words(shown, residency, step)
            text = f"{residency.tensor} ({size}) left{until}{why_words(shown, residency)}.{beside}"
            text += " Nothing was stored: the copy off chip is still valid."
            yield residency.stop_instruction, Sentence("out", text, residency.tensor)


def _freed(shown: DisplayedPlan, step: int) -> list[Sentence]:
    ends = [r for r in shown.ended.get(step, ()) if r.ending == "dead"]
    whole = dict.fromkeys(r.tensor for r in ends if next_use(shown, r.tensor, step) is None)
    if not whole:
        return []
    fate = "had its last use and was" if len(whole) == 1 else "had their last use and were"
    return [Sentence("freed", f"{_sizes(shown, whole)} {fate} freed.")]


def _held(shown: DisplayedPlan, step: int) -> list[Sentence]:
    """How full the memory is, where nothing moved on or off chip."""
    if several(shown):
        used = in_use_words(shown, step)
        return [Sentence("quiet", f"Nothing moved on or off chip; {used} were in use.")]
    held_text = format_bytes(shown.report.occupancy[step])
    budget = format_bytes(shown.plan.budget_bytes)
    return [
        Sentence("quiet", f"Nothing moved on or off chip; {held_text} of {budget} were in use.")
    ]


def _sizes(shown: DisplayedPlan, names: Iterable[str]) -> str:
    """Tensors and their bytes, parameters as one where they are several."""
    listed, graph = list(names), shown.graph
    parameters = [name for name in listed if graph.tensors[name].kind == "parameter"]
    if several := len(parameters) > 1:
        listed = [name for name in listed if name not in parameters]
    named = [f"{name} ({size_words(shown, name)})" for name in listed[:NAMED]]
    if len(listed) > NAMED:
        named.append(f"{len(listed) - NAMED} more")
    if several:
        size = format_bytes(sum(map(graph.size_bytes, parameters)))
        named.append(f"{len(parameters)} parameters ({size})")
    return " and ".join(named) if named else "nothing"
