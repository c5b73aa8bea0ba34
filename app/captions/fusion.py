"""Sentences on one tile of a fused group: which rows were loaded, made, stored or released."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.captions.sentence import Sentence
from app.captions.spill_reasons import output_words
from app.display.displayed_plan import DisplayedPlan
from app.display.groups import range_words
from planners.core.boxes import around
from planners.core.program import Box, Compute, Load, Operand, Piece, Release, Store, piece_bytes
from planners.core.units import format_bytes
from planners.fusion.explain import FusedGroup
from planners.fusion.tile.axes import Axes

NAMED = 2


def tile_story(shown: DisplayedPlan, step: int, group: FusedGroup) -> list[Sentence]:
    """What a tile did: its part of the group, then loads, operators, stores and released rows."""
    items = shown.at(step)
    runs = [item for item in items if isinstance(item, Compute)]
    loads = [Operand(item.piece, item.source) for item in items if isinstance(item, Load)]
    stores = [Operand(item.piece, item.source) for item in items if isinstance(item, Store)]
    ends = [Operand(item.piece, item.region) for item in items if isinstance(item, Release)]
    return [
        _title(shown, step, group, runs),
        *_kept(shown, step),
        *_again(shown, step, group),
        *_loaded(shown, group, loads),
        *_ran(shown, runs),
        *_stored(shown, group, stores),
        *_made_room(shown, group, ends),
    ]


def _title(shown: DisplayedPlan, step: int, group: FusedGroup, runs: list[Compute]) -> Sentence:
    written = boxes(operand for run in runs for operand in run.writes).get(group.output)
    does = f"makes {part(shown, group.output, written, totals=True)}" if written else "gets ready"
    number = f"Tile {step - group.start_step + 1} of {group.tiles} of {group.name}"
    return Sentence("tile", f"{number} {does}.", group=group.name)


def _kept(shown: DisplayedPlan, step: int) -> Iterator[Sentence]:
    """The halo: rows of maps that this tile reads and that an earlier one has left on chip."""
    kept = kept_boxes(shown, step)
    if kept:
        rows = [part(shown, tensor, box) for tensor, box in kept.items()]
        size = format_bytes(sum(box_bytes(shown, *each) for each in kept.items()))
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        text = f"Still on chip from earlier tiles, {size} in all: {', '.join(rows[:NAMED])}{more}"
        yield Sentence("tile", f"{text}; neither loaded nor computed again.", next(iter(kept)))


def kept_boxes(shown: DisplayedPlan, step: int) -> dict[str, Box]:
    """By map the part that a tile reads and neither loads nor makes: it was on chip before."""
    items = shown.at(step)
    runs = [item for item in items if isinstance(item, Compute)]
    loads = [Operand(item.piece, item.target) for item in items if isinstance(item, Load)]
    fresh = boxes([*loads, *(Operand(p, o.region) for r in runs for p, o in _made(r))])
    kept = {}
    for tensor, box in boxes(operand for run in runs for operand in run.reads).items():
        if shown.graph.tensors[tensor].kind != "parameter":
            old = _without(box, fresh[tensor], shown, tensor) if tensor in fresh else box
            if old is not None:
                kept[tensor] = old
    return kept


def _made(run: Compute) -> Iterator[tuple[Piece, Operand]]:
    return zip(run.made, run.writes, strict=True)


def _without(box: Box, fresh: Box, shown: DisplayedPlan, tensor: str) -> Box | None:
    """The rows of a box before the fresh ones; None where all are fresh, or not over the whole
    width."""
    row = Axes.from_shape(shown.graph.tensors[tensor].shape).row
    rest = [i for i in range(len(box)) if i != row]
    wide = all(fresh[i][0] <= box[i][0] and box[i][1] <= fresh[i][1] for i in rest)
    if row is None or not wide or fresh[row][0] <= box[row][0] or fresh[row][1] < box[row][1]:
        return None
    start = box[row][0], min(fresh[row][0], box[row][1])
    return (*box[:row], start, *box[row + 1 :])


def _again(shown: DisplayedPlan, step: int, group: FusedGroup) -> Iterator[Sentence]:
    """The other half of a halo: what the tile before made or loaded too, and did not keep."""
    again = again_boxes(shown, step) if step > group.start_step else {}
    if again:
        rows = [part(shown, tensor, around(*some)) for tensor, some in again.items()]
        size = format_bytes(
            sum(box_bytes(shown, t, box) for t, some in again.items() for box in some)
        )
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        text = f"Computed or loaded again, {size} in all: {', '.join(rows[:NAMED])}{more}"
        yield Sentence("tile", f"{text}; the previous tile did not keep them.", next(iter(again)))


def again_boxes(shown: DisplayedPlan, step: int) -> dict[str, set[Box]]:
    """By map what both a tile and the tile before it load or make."""
    now, before = _fresh_pieces(shown, step), _fresh_pieces(shown, step - 1)
    again: dict[str, set[Box]] = {}
    for tensor, some in now.items():
        for box in some:
            for other in before.get(tensor, ()):
                both = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other))
                if all(a < b for a, b in both):
                    again.setdefault(tensor, set()).add(both)
    return again


def _fresh_pieces(shown: DisplayedPlan, step: int) -> dict[str, set[Box]]:
    """By map the pieces that a step loads or makes."""
    fresh: dict[str, set[Box]] = {}
    for item in shown.at(step):
        pieces = item.made if isinstance(item, Compute) else ()
        for tensor, box in (item.piece,) if isinstance(item, Load) else pieces:
            if shown.graph.tensors[tensor].kind != "parameter":
                fresh.setdefault(tensor, set()).add(box)
    return fresh


def box_bytes(shown: DisplayedPlan, tensor: str, box: Box) -> int:
    """Bytes of a part of a tensor."""
    return piece_bytes(shown.graph, Piece(tensor, box))


def _loaded(shown: DisplayedPlan, group: FusedGroup, loads: list[Operand]) -> Iterator[Sentence]:
    """A sentence for each map that was loaded, and for parameters that stay and that do not."""
    for tensor, box in boxes(loads).items():
        if shown.graph.tensors[tensor].kind != "parameter":
            text = f"{_size(loads, tensor)} came in: {part(shown, tensor, box)}."
            yield Sentence("in", text, tensor)
    residency = "to stay for all tiles" if group.tiles > 1 else "each byte once"
    fates = (
        (group.kept, residency),
        (group.refilled, "for this tile alone: there is no room for all"),
    )
    for names, fate in fates:
        came = [operand for operand in loads if operand.piece.tensor in names]
        if came:
            size = format_bytes(sum(operand.region.size_bytes for operand in came))
            text = f"{size} of parameters of {_owners(shown, group, came)} came in, {fate}."
            yield Sentence("in", text, came[0].piece.tensor)


def _ran(shown: DisplayedPlan, runs: list[Compute]) -> Iterator[Sentence]:
    """Each operator: what it made, from what, in how many parts."""
    for name in dict.fromkeys(run.operator for run in runs):
        parts = [run for run in runs if run.operator == name]
        operator = shown.graph.operators[shown.graph.index[name]]
        written = boxes(operand for run in parts for operand in run.writes)
        read = boxes(operand for run in parts for operand in run.reads)
        out = " and ".join(part(shown, tensor, box) for tensor, box in written.items())
        maps = [part(shown, t, box) for t, box in read.items() if t in operator.inputs]
        count = f" in {len(parts)} parts" if len(parts) > 1 else ""
        of = f" from {' and '.join(maps)}" if maps else ""
        yield Sentence(
            "ran", f"{name} ({operator.kind}) made {out}{of}{count}.", operator.outputs[0]
        )


def _stored(shown: DisplayedPlan, group: FusedGroup, stores: list[Operand]) -> Iterator[Sentence]:
    for tensor, box in boxes(stores).items():
        ends = tensor in shown.graph.outputs
        readers = dict.fromkeys(
            f"g{k}"
            for i in shown.graph.consumers[tensor]
            if (k := shown.group_of.get(shown.graph.operators[i].name)) is not None
        )
        others = [name for name in readers if name != group.name]
        why = f"{' and '.join(others)} will load it"
        why = output_words(shown.graph, tensor) if ends else why
        text = f"{_size(stores, tensor)} went out: {part(shown, tensor, box)}; {why}."
        yield Sentence("out", text, tensor)


def _made_room(shown: DisplayedPlan, group: FusedGroup, ends: list[Operand]) -> Iterator[Sentence]:
    """Rows that are no longer needed, in one sentence."""
    rows = [
        part(shown, tensor, box)
        for tensor, box in boxes(ends).items()
        if tensor in group.lines and shown.graph.tensors[tensor].kind != "parameter"
    ]
    if rows:
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        text = f"Freed, as nothing reads them again: {', '.join(rows[:NAMED])}{more}."
        yield Sentence("freed", text)


def boxes(operands: Iterable[Operand]) -> dict[str, Box]:
    """The box around all pieces of each tensor."""
    pieces: dict[str, set[Box]] = {}  # parts of an operator read the same pieces again
    for piece, _ in operands:
        pieces.setdefault(piece.tensor, set()).add(piece.box)
    return {tensor: around(*some) for tensor, some in pieces.items()}


def part(shown: DisplayedPlan, tensor: str, box: Box, *, totals: bool = False) -> str:
    """A part of a tensor in words: its rows, and channels and images where these are not all."""
    shape = shown.graph.tensors[tensor].shape
    axes = Axes.from_shape(shape)
    named = [("row", axes.row), ("channel", axes.channel), ("image", 0 if len(shape) > 1 else None)]
    words = []
    for thing, axis in named:
        if axis is not None and box[axis] != (0, shape[axis]):
            of = f" (of {shape[axis]})" if totals else ""
            words.append(range_words(thing, *box[axis]) + of)
    return f"{', '.join(words)} of {tensor}" if words else f"all of {tensor}"


def _owners(shown: DisplayedPlan, group: FusedGroup, operands: Iterable[Operand]) -> str:
    """The operators whose parameters these are."""
    tensors = {operand.piece.tensor for operand in operands}
    graph = shown.graph
    names = [n for n in group.operators if tensors & {*graph.operators[graph.index[n]].parameters}]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return " and ".join(names) if not more else ", ".join(names[:NAMED]) + more


def _size(operands: Iterable[Operand], tensor: str) -> str:
    moved = sum(o.region.size_bytes for o in operands if o.piece.tensor == tensor)
    return format_bytes(moved)
