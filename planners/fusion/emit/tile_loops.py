"""Tiles of channels one after the other, written as a loop where each is the one before it, moved.

A tile changes what the next one finds: where its channels go, which place for weights is next, and
which pieces are on chip (`TileState`). To write a loop, only its first, second and last round have
to be made: the second shows how a round moves, and the last, made in the state that the rounds
between would have left, shows that the move holds to the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planners.core.loops import moved, movement, rolled
from planners.core.program import Item, Operand, Repeat
from planners.fusion.emit.residents import PiecesInOrder

Range = tuple[int, int]
LEAST_ROUNDS = 4
"""Fewer tiles are written one by one."""


@dataclass(frozen=True)
class TileSnapshot:
    """A moment in the writing of tiles.

    `addresses` are in bytes, by tensor; `weight_tiles` counts those that were refilled,
    `kept_parameters` those that stay; `pieces` counts by tensor those that stay on chip.
    """

    addresses: Mapping[str, int]
    weight_tiles: int
    kept_parameters: int
    pieces: Mapping[str, int]


@dataclass
class TileState:
    """What tiles change for those after them.

    `addresses` has, by tensor, where its next few channels go in their line buffer; `weight_tiles`
    counts the refills, which take turns in their places; `parameters` are those that stay for all
    strips, by member and channels; `pieces` are those on chip, by tensor, of which those that lie
    in the scratchpad whole, `staying`, are not released by a tile.
    """

    staying: frozenset[str] = frozenset()
    addresses: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    weight_tiles: int = 0
    parameters: dict[tuple[int, Range], tuple[Operand, ...]] = field(default_factory=dict)
    pieces: dict[str, PiecesInOrder] = field(default_factory=lambda: defaultdict(PiecesInOrder))

    def mark(self) -> TileSnapshot:
        """This moment, to compare with and to go back to."""
        pieces = {tensor: len(self.pieces[tensor]) for tensor in self.staying}
        return TileSnapshot(dict(self.addresses), self.weight_tiles, len(self.parameters), pieces)

    def skip(self, start: TileSnapshot, stop: TileSnapshot, rounds: int) -> None:
        """Count addresses and weight tiles on from `start`, by as many rounds like that one."""
        for tensor, address in stop.addresses.items():
            first = start.addresses.get(tensor, 0)
            self.addresses[tensor] = first + rounds * (address - first)
        each = stop.weight_tiles - start.weight_tiles
        self.weight_tiles = start.weight_tiles + rounds * each

    def go_back(self, mark: TileSnapshot) -> None:
        """Have all as it was: what was written since then is not."""
        self.addresses.clear()
        self.addresses.update(mark.addresses)
        self.weight_tiles = mark.weight_tiles
        while len(self.parameters) > mark.kept_parameters:
            self.parameters.popitem()
        for tensor, count in mark.pieces.items():
            self.pieces[tensor].cut(count)


def tiles_in_loops(
    parts: Sequence[Range],
    turns: int,
    write: Callable[[Range], Iterable[Item]],
    state: TileState,
    pieces_of: Callable[[str, Sequence[Range]], list[Operand]],
) -> Iterator[Item]:
    """The tiles of these channels: a loop where its rounds are alike, else one after the other.

    A round has `turns` tiles, after which weights lie where they lay. `write` makes the tile of
    some channels and changes `state` accordingly. What it needs is linear in its channels, clipped
    at the ends of the map: if the first, second and last round move alike, so do those between.
    `pieces_of` says which pieces of a tensor the tiles of some channels leave on chip; it is asked
    for the rounds that nobody wrote.
    """
    count = len(parts) // turns
    if count < LEAST_ROUNDS:
        yield from rolled([[*write(channels)] for channels in parts])
        return

    def round_of_tiles(number: int) -> list[Item]:
        few = parts[number * turns : (number + 1) * turns]
        return [item for channels in few for item in write(channels)]

    begin = state.mark()
    first = round_of_tiles(0)
    after_first = state.mark()
    second = round_of_tiles(1)
    after_second = state.mark()
    move = movement(first, second)
    # A round that loads parameters to stay is not like those that find them.
    if move is not None and after_second.kept_parameters == begin.kept_parameters:
        state.skip(after_first, after_second, count - 2)
        last = round_of_tiles(count - 1)
        if last == [moved(item, by, count - 1) for item, by in zip(first, move, strict=True)]:
            between = parts[2 * turns : (count - 1) * turns]
            for tensor, pieces in after_second.pieces.items():
                if len(state.pieces[tensor]) > pieces:
                    state.pieces[tensor].insert(pieces, pieces_of(tensor, between))
            if first:
                yield Repeat(count, tuple(first), move)
            for channels in parts[count * turns :]:
                yield from write(channels)
            return
        state.go_back(after_second)
    yield from rolled([first, second, *([*write(channels)] for channels in parts[2 * turns :])])
