"""`.pt2` archives of `torch.export.save` read as data: one JSON file out of a zip, nothing else.

An archive holds the program as JSON, beside weights, constants and sample inputs. These are never
opened: a graph needs shapes only, and some of them are pickles, which could run anything. PyTorch's
own loader is not used either, because it unpickles sample inputs and evaluates symbolic sizes.
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.core.reading_limits import most_unpacked, parsed_json
from planners.importers.torch.size_expressions import Size, evaluated

LARGEST_PROGRAM = 2**28
"""Bytes of the JSON when it is unpacked, whatever the archive says of it."""
MOST_FILES = 2**17
MOST_NODES = 2**17
MOST_ELEMENTS = 2**48
SCHEMAS = (7, 8)
"""Major versions of the layout of the JSON (`torch/_export/serde/schema.py`)."""
PROGRAM = re.compile(r"(?:[^/]+/)?models/([^/]+)\.json|serialized_exported_program\.json")
"""Where the program is: from PyTorch 2.7 on, and before."""


def read_pt2(path: str | Path) -> dict[str, Any]:
    """The exported program in an archive, as plain data. Raises `BadInput` with what is wrong."""
    text = _program_text(Path(path))
    try:
        data = parsed_json(text, path)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: the program in it is not JSON: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("graph_module"), dict):
        raise BadInput(f"{path} holds no exported program")
    version = data.get("schema_version")
    major = version.get("major") if isinstance(version, dict) else None
    if major not in SCHEMAS:
        by = " ".join(str(data.get("torch_version", "another version")).split())
        raise BadInput(
            f"{path} was written by PyTorch {by:.20} with layout {major!r:.20}, and "
            f"{SCHEMAS[0]} to {SCHEMAS[-1]} can be read: save it anew with PyTorch 2.5 or later"
        )
    return data


def _program_text(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, _program_entry(archive, path), path)
    except zipfile.BadZipFile as error:
        raise BadInput(
            f"{path} is not a .pt2 archive, or is cut short: it is not a zip file"
        ) from error
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path}: names of files in it are no UTF-8: the archive is broken"
        ) from error
    except (zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadInput(f"{path}: the program in it cannot be unpacked: {error}") from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error


def _program_entry(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """The one file that holds a program."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise BadInput(f"{path} holds {len(entries)} files; {MOST_FILES} are the most")
    programs = [entry for entry in entries if PROGRAM.fullmatch(entry.filename)]
    if len(programs) > 1:
        names = [Path(entry.filename).stem for entry in programs]
        raise BadInput(
            f"{path} holds {len(programs)} models ({', '.join(names):.80}): save one alone"
        )
    if not programs:
        torchscript = any(entry.filename.endswith("data.pkl") for entry in entries)
        what = "a pickled or TorchScript model, which is not read" if torchscript else "no program"
        raise BadInput(
            f"{path} holds {what}: write it with torch.export.save(torch.export.export(...), path)"
        )
    return programs[0]


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> bytes:
    """The bytes of one entry, never more than allowed, whatever its header claims."""
    most = most_unpacked(entry.compress_size, LARGEST_PROGRAM)
    with archive.open(entry) as stream:
        text = stream.read(most + 1)
    if len(text) > most:
        raise BadInput(f"{path}: its program has more than {most} bytes when unpacked")
    return text


def shape_of(meta: Any, name: str, symbols: Mapping[str, int]) -> tuple[int, ...]:
    """The shape in a tensor's description. Raises `BadInput` where it is not fixed or absurd."""
    shape = tuple(_size(size, name, symbols) for size in sizes_of(meta, name))
    if prod(shape) > MOST_ELEMENTS:
        raise BadInput(f"{name!r:.80} has {prod(shape):.3g} elements; {MOST_ELEMENTS} are the most")
    return shape


def sizes_of(meta: Any, name: str) -> list[Any]:
    """The sizes in a tensor's description, as they are in the file."""
    sizes = meta["sizes"]
    if not isinstance(sizes, list) or len(sizes) > 64:
        raise BadInput(f"{name!r:.80} has no shape that can be read")
    return sizes


def strides_of(meta: Any, shape: tuple[int, ...], symbols: Mapping[str, int]) -> tuple[int, ...]:
    """The strides in a tensor's description, of which only views of what is written make use.

    Those of a tensor without gaps where they are absent or absurd.
    """
    sizes = [number_of(size, symbols) for size in meta.get("strides", ())]
    strides = [size for size in sizes if type(size) is int and 0 <= size <= MOST_ELEMENTS]
    if len(strides) == len(shape):
        return tuple(strides)
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def number_of(data: Any, symbols: Mapping[str, int]) -> Any:
    """A number or an expression of the file; None where the values of the input decide."""
    if not isinstance(data, Mapping):
        return None
    if "as_expr" not in data:
        return next(iter(data.values()), None)
    try:
        return evaluated(str(data["as_expr"]["expr_str"]), symbols)
    except KeyError:
        return None


def size_of(data: Any, name: str) -> Size:
    """A size as a number or an expression. Raises `BadInput` where it is absurd."""
    if isinstance(data, Mapping) and "as_expr" in data:
        return str(data["as_expr"]["expr_str"])
    return _size(data, name, {})


def example_of(data: Any) -> int | None:
    """A size as the example had it, where the file says so."""
    if not isinstance(data, Mapping):
        return None
    hint = (data["as_expr"].get("hint") or {}) if "as_expr" in data else data
    return hint.get("as_int")


def _size(size: Any, name: str, symbols: Mapping[str, int]) -> int:
    value = number_of(size, symbols)
    if value is None and isinstance(size, Mapping) and "as_expr" in size:
        raise BadInput(
            f"the shape of {name!r:.80} depends on the values of the input: use where() or a fixed "
            "number of elements"
        )
    if type(value) is not int or not 0 <= value <= MOST_ELEMENTS:
        raise BadInput(f"{name!r:.80} has a size of {value!r:.40}, which is none")
    return value
