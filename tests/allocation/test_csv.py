"""Lifetimes from CSV: what is wrong is said with its line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from planners.allocation import Lifetime, read_lifetimes, write_offsets
from planners.core.errors import BadInput

HEADER = "id,lower,upper,size\n"


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "lifetimes.csv"
    path.write_bytes(b'\xef\xbb\xbfsize,id,lower,upper\r\n8,a,0,2\r\n\r\n4,"b,c",1,3\r\n')
    lifetimes = read_lifetimes(path)
    assert lifetimes == [Lifetime("a", 0, 2, 8), Lifetime("b,c", 1, 3, 4)]
    out = io.StringIO()
    write_offsets(out, lifetimes, {"a": 0, "b,c": 8})
    assert out.getvalue() == 'id,lower,upper,size,offset\na,0,2,8,0\n"b,c",1,3,4,8\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: the header must be id,lower,upper,size, found 'nothing'"),
        ("a,0,1,2\n", "line 1: the header must be"),
        (HEADER, "no lifetimes"),
        (HEADER + "a,0,1,2\na,1,2,2\n", "line 3: id 'a' was given on line 2 already"),
        (HEADER + "\na,1,1,2\n", "line 3: lifetime 'a': upper 1 is not above 1"),
        (HEADER + "a,0,1,-2\n", "line 2: size must not be negative, found -2"),
        (HEADER + "a,-1,1,2\n", "line 2: lower must not be negative"),
        (HEADER + "a,0,x,2\n", "line 2: upper must be a whole number, found 'x'"),
        (HEADER + "a,0,1.5,2\n", "line 2: upper must be a whole number"),
        (HEADER + "a,0,1\n", "line 2: 3 cells where 4 were expected"),
        (HEADER + ",0,1,2\n", "line 2: the id is empty"),
        (HEADER + 'a,0,1,"2\n', "line 2: not CSV"),
        (HEADER + "a,0,\0,2\n", "line 2: not a text file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_lifetimes(io.StringIO(text))


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "junk.csv"
    path.write_bytes(b"id,lower\n\xff\xfe\x00\x01")
    with pytest.raises(BadInput, match=r"junk\.csv, line 2: not UTF-8"):
        read_lifetimes(path)
    with pytest.raises(BadInput, match=r"absent\.csv: cannot be read"):
        read_lifetimes(tmp_path / "absent.csv")
    with pytest.raises(BadInput, match="not UTF-8"):
        read_lifetimes(io.BytesIO(b"\x80"))


@pytest.mark.parametrize("name", ["buffer", "buffer_id", "id"])
@pytest.mark.parametrize("lower", ["start", "begin", "lower"])
@pytest.mark.parametrize(("upper", "beyond"), [("end", 1), ("upper", 0)])
def test_minimallocs_older_names_of_columns(name: str, lower: str, upper: str, beyond: int) -> None:
    """Its `end` is the last step that is in use, as its converter reads it (minimalloc 2026acb)."""
    text = f"{name},{lower},{upper},size,gaps\na,0,8,4,\n"
    assert read_lifetimes(io.StringIO(text)) == [Lifetime("a", 0, 8 + beyond, 4)]
