"""Networks that call their modules again and again are drawn call by call."""

from __future__ import annotations

from app.display.blocks import BlockTree
from app.display.repeats import Repetition, called_apart, repeat_in

CALL = [("up.conv", "conv"), ("up.gate", "mul"), ("", "cat"), ("up.conv", "conv"), ("", "add")]


def tokens(times: int) -> list[tuple[str, str]]:
    return [("stem", "conv"), ("stem", "relu"), *CALL * times, ("head", "linear")]


def test_calls_are_found_where_they_are() -> None:
    for times in range(3, 9):
        assert repeat_in(tokens(times)) == Repetition(2, 5, times)


def test_what_is_called_once_or_twice_is_drawn_as_it_is() -> None:
    assert repeat_in(tokens(2)) is None
    layers = [(f"layers.{k}.{part}", part) for k in range(12) for part in ("norm", "mlp", "add")]
    assert repeat_in(layers) is None
    assert called_apart(layers) == [path for path, _ in layers]
    assert repeat_in([]) is None


def test_each_call_is_a_block_with_the_modules_in_it() -> None:
    paths = called_apart(tokens(4))
    assert paths[0] == "stem"
    assert paths[2] == "call 1 of 4.up.conv"
    assert paths[4] == "call 1 of 4"
    assert paths[-1] == "head"
    tree = BlockTree([f"op{i}" for i in range(len(paths))], paths)
    closed = [node.name for node in tree.nodes(()) if node.is_block]
    assert closed == ["stem", *(f"call {k} of 4" for k in range(1, 5))]
    opened = tree.nodes(tree.expand((), "call 2 of 4"))
    assert "call 2 of 4.up" in [node.name for node in opened]
    assert "call 3 of 4" in [node.name for node in opened]
