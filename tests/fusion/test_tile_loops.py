"""What loops over tiles promise: the tiles written out, and the state that these would leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from planners.core.loops import expanded
from planners.core.program import Instruction, Item, Load, Operand, Piece, Region, Repeat
from planners.fusion.emit.tile_loops import TileState, tiles_in_loops

Range = tuple[int, int]
Write = Callable[[Range], Iterable[Item]]
SIZE = 4


def parts(count: int, size: int = SIZE) -> list[Range]:
    return [(k * size, (k + 1) * size) for k in range(count)]


def load(tensor: str, channels: Range, offset: int, size: int = SIZE) -> Load:
    home = Region("dram", None, size)
    return Load(0, Piece(tensor, ((0, 1), channels)), home, Region("sram", offset, size))


class Tiles:
    """Loads `map` to a line buffer, `weights` to two places in turn, and has `kept` stay."""

    def __init__(self, odd: Sequence[Range] = ()) -> None:
        self.state = TileState(frozenset({"kept"}))
        self.odd = odd
        self.written: list[Range] = []

    def write(self, channels: Range) -> Iterator[Instruction]:
        self.written.append(channels)
        at = self.state.addresses["map"]
        self.state.addresses["map"] += SIZE
        yield load("map", channels, at)
        yield load("weights", channels, 1000 + 100 * (self.state.weight_tiles % 2))
        self.state.weight_tiles += 1
        if channels in self.odd:
            yield load("more", channels, 0)
        self.state.pieces["kept"].append(self.kept(channels))

    @staticmethod
    def kept(channels: Range) -> Operand:
        return Operand(Piece("kept", (channels,)), Region("sram", 5000 + channels[0], SIZE))

    def pieces_of(self, tensor: str, some: Sequence[Range]) -> list[Operand]:
        assert tensor == "kept"
        return [self.kept(channels) for channels in some]

    def in_loops(self, tiles: Sequence[Range], turns: int = 2) -> list[Item]:
        return [*tiles_in_loops(tiles, turns, self.write, self.state, self.pieces_of)]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("odd", [0, 1, 2, 3, -1, -2])
def test_loops_expand_to_the_tiles_and_leave_what_these_leave(count: int, odd: int) -> None:
    """Whichever of the tiles that are looked at is unlike the others."""
    whole = parts(count)[: count - count % 2] or parts(count)
    unlike = whole[odd : odd + 1 or None]
    tiles, plain = Tiles(unlike), Tiles(unlike)
    items = tiles.in_loops(parts(count))
    expected = [item for channels in parts(count) for item in plain.write(channels)]
    assert [*expanded(items)] == expected
    assert tiles.state.mark() == plain.state.mark()
    assert [*tiles.state.pieces["kept"]] == [*plain.state.pieces["kept"]]


def test_of_a_loop_three_rounds_are_made_and_one_is_written() -> None:
    tiles = Tiles()
    (loop,) = tiles.in_loops(parts(20))
    assert isinstance(loop, Repeat)
    assert (loop.count, len(loop.body)) == (10, 4)
    assert tiles.written == [*parts(20)[:4], *parts(20)[18:]]


def test_what_is_left_of_a_round_is_written_behind_the_loop() -> None:
    loop, *rest = Tiles().in_loops(parts(21))
    assert isinstance(loop, Repeat)
    assert rest == [load("map", (80, 84), 80), load("weights", (80, 84), 1000)]


def test_few_tiles_are_written_one_by_one() -> None:
    tiles = Tiles()
    assert len(tiles.in_loops(parts(7))) == 14
    assert tiles.written == parts(7)


def test_parameters_that_come_to_stay_are_no_part_of_a_loop() -> None:
    tiles = Tiles()

    def write(channels: Range) -> Iterator[Instruction]:
        tiles.state.parameters[0, channels] = (tiles.kept(channels),)
        yield load("map", channels, channels[0])

    made = [*tiles_in_loops(parts(12), 1, write, tiles.state, tiles.pieces_of)]
    assert [*expanded(made)] == [load("map", channels, channels[0]) for channels in parts(12)]
    assert len(tiles.state.parameters) == 12, "each is known to be there, for the next strip"


def test_going_back_leaves_nothing_of_what_was_written_since() -> None:
    tiles = Tiles()
    list(tiles.write((0, 4)))
    mark = tiles.state.mark()
    list(tiles.write((4, 8)))
    tiles.state.parameters[1, (4, 8)] = ()
    tiles.state.addresses["another"] = 7
    assert tiles.state.mark() != mark
    tiles.state.go_back(mark)
    assert tiles.state.mark() == mark
    assert [*tiles.state.pieces["kept"]] == [tiles.kept((0, 4))]
    assert not tiles.state.parameters
