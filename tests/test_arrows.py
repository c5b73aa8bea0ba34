"""Who imports whom: the arrows of the design, computed from the source.

Imports for types count, those inside of functions, and modules named by text in the tables of what
is imported on use. A package is a folder. Of a planner,
`options.py` is ground (what may be asked for) and `planner.py` with `__init__.py` the roof (the
whole method, by way of all rooms): they are rooms of their own. `core` is one with its folder of
what plans carry.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, get_args, get_type_hints

import networkx as nx
import pytest

from planners.core import backends, services
from planners.core.services import Service

ROOT = Path(__file__).parents[1]
PLANNERS = ("cosma", "fusion", "overlap", "streaming")
SEVERAL = ("auto", "joined")  # planners that use several
TORCH = ("torch", "torchvision", "timm")
PAGES = ("panel", "bokeh", "holoviews")
DRAWS = (*PAGES, "ipywidgets")
SOLVERS = ("ortools", "scipy", "networkx", "pulp", "highspy", "pandas")
ROOFS = tuple(f"planners.{planner}.planner" for planner in (*PLANNERS, *SEVERAL))

# ---- the rules: each room, and all that it may import --------------------------------------------

BELOW_PLANNERS = {"simulator", "wishes", "allocation", "core"}
LIBRARY: Mapping[str, set[str]] = {
    "core": set(),
    "importers": {"core"},
    "catalogue": {"importers", "core"},
    "allocation": {"core"},
    "simulator": {"core"},
    "executor": {"simulator", "importers", "core"},
    "wishes": {"simulator", "core"},  # whether a plan keeps them is seen by replaying it
    **dict.fromkeys(PLANNERS, BELOW_PLANNERS),
    **dict.fromkeys(SEVERAL, BELOW_PLANNERS | {*PLANNERS}),
    # They run the plans of planners; what calls them is in `planners.core.backends`.
    "backends": BELOW_PLANNERS | {*PLANNERS, "executor", "importers", "catalogue"},
    **dict.fromkeys(
        ("study", "audits", "assignments"),
        BELOW_PLANNERS | {*PLANNERS, *SEVERAL, "executor", "importers", "catalogue"},
    ),
}
LIBRARY |= {"plots": {"study", "simulator", "core"}}
LIBRARY |= {"api": {*LIBRARY} - {"backends"}}
LIBRARY |= {"papers": {*LIBRARY} - {"backends"}}
LIBRARY |= {"cli": {*LIBRARY} - {"backends"}}

APP = (
    *(
        "__init__",
        "model",
        "links",
        "display",
        "captions",
        "kinds",
        "jobs",
        "session",
        "widgets",
        "views",
        "outputs",
    ),
    *("server", "explorer", "page", "main", "setup", "__main__", "notebook", "standalone"),
)
ROOF = tuple(f"app/{name}.py" for name in ("page", "explorer", "main", "__main__"))
WITH_PAGES = ("app/views/", "app/widgets/", "app/outputs/", "app/server/", *ROOF)

# Rooms that may say a planner's name, files in which it is another word, and those that say it yet:
# these become fewer, and what is gone is taken out here.
MAY_NAME = ("planners/core/registry.py", "planners/auto/", "planners/papers/", "app/kinds/")
WORDS: Mapping[str, set[str]] = {
    "planners/allocation/arena.py": {"overlap"},
    "planners/allocation/check.py": {"overlap"},
    "planners/backends/disk/weights.py": {"streaming"},
    "planners/cli/reproduce.py": {"cosma"},
    "planners/core/details/__init__.py": {"streaming"},
    "planners/simulator/state.py": {"overlap"},
    "planners/study/headroom.py": {"overlap"},
}
NAMED_YET: Mapping[str, set[str]] = {
    "app/display/wish_offers.py": {"fusion", "joined"},
    "app/model/wishes.py": {"cosma", "fusion", "joined"},
    "app/model/state.py": {"cosma", "joined", "streaming"},
    "app/page.py": {"streaming"},
    "app/session/sweep_lines.py": {"cosma", "fusion", "joined", "overlap", "streaming"},
}

PAGES_ELSEWHERE: set[str] = set()

# Files whose texts name modules that they import on use: these are arrows as any import. In others
# a text leads up, from what is declared below to what is there above: no arrow, and listed here.
BY_TEXT = ("planners/cli/commands.py",)
UPWARDS = {
    "app/__init__.py",
    "app/jobs/protocol.py",
    "app/model/panels.py",
    "app/outputs/notebook/inline.py",
    "app/widgets/teardown.py",
    "planners/allocation/portfolio.py",
    "planners/cli/export.py",
    "planners/cli/site.py",
    "planners/core/backends.py",
    "planners/core/display.py",
    "planners/core/services.py",
    "planners/cosma/planner.py",
    "planners/fusion/planner.py",
    "planners/streaming/planner.py",
    "planners/importers/registry.py",
}


# ---- the reader ----------------------------------------------------------------------------------


MODULE = re.compile(r"((?:planners|app)(?:\.\w+)+)(?::\w+)?")
DYNAMIC = re.compile(r"""(?:import_module|__import__)\(\s*["']([\w.]+)["']""")


class Import(NamedTuple):
    """A module by its absolute name, and whether it is there for types only."""

    name: str
    for_types: bool


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def sources(*places: str) -> list[Path]:
    """The Python files under these directories, and these files."""
    paths = [ROOT / place for place in places]
    return [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST, for_types: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All statements below a node, and whether they are there for types only."""
    for block in ("body", "handlers", "cases", "orelse", "finalbody"):
        types = block == "body" and isinstance(node, ast.If)
        types = types and "TYPE_CHECKING" in ast.unparse(node.test)  # type: ignore[attr-defined]
        for child in getattr(node, block, ()):
            yield child, for_types or types
            yield from statements(child, for_types or types)


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every module that a file imports, as `package.module` or `package.module.name`."""
    package = PurePosixPath(relative(path)).parent.parts
    found = [
        Import(name, for_types)
        for node, for_types in statements(tree(path))
        for name in _named(node, package)
    ]
    by_text = re.findall(DYNAMIC, path.read_text(encoding="utf-8"))
    on_use = any(each.name == "planners.core.lazy_imports.on_use" for each in found)
    if on_use or relative(path) in BY_TEXT:
        by_text += modules_in_texts(path)
    return (*found, *(Import(name, False) for name in by_text))


@cache
def modules_in_texts(path: Path) -> list[str]:
    """The modules of ours that a text of a file is the name of, alone or with a name in it."""
    texts = [node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)]
    named = [MODULE.fullmatch(text) for text in texts if isinstance(text, str)]
    found = {match[1]: file_of(match[1]) for match in named if match}
    return [name for name, file in found.items() if file and file != path.with_name("__init__.py")]


def file_of(module: str) -> Path | None:
    """The file of a module of ours."""
    place = ROOT.joinpath(*module.split("."))
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()), None)


def _named(node: ast.AST, package: tuple[str, ...]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        base = ".".join([*above, *([node.module] if node.module else [])])
        # `from planners import cosma` imports planners.cosma.
        return [f"{base}.{alias.name}" for alias in node.names]
    return []


def offences(places: Iterable[str], forbidden: Iterable[str], *, types: bool = False) -> list[str]:
    return [
        f"{relative(path)} imports {found.name}"
        for path in sources(*places)
        for found in imports(path)
        if types or not found.for_types
        if any(f"{found.name}.".startswith(f"{module}.") for module in forbidden)
    ]


@cache
def arrows() -> nx.DiGraph:
    """Files of `planners/` and `app/` as they import each other."""
    files = {}
    for path in sources("planners", "app"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = relative(path)
    graph = nx.DiGraph()
    for path in sources("planners", "app"):
        graph.add_node(relative(path))
        for name, _ in imports(path):
            target = files.get(name) or files.get(name.rpartition(".")[0])
            if target and target != relative(path):
                graph.add_edge(relative(path), target)
    return graph


def inside(top: str) -> nx.DiGraph:
    graph = arrows()
    return graph.subgraph(file for file in graph if file.startswith(f"{top}/"))


def room(file: str) -> str:
    """The folder of a file; the ground and the roof of a planner are rooms of their own."""
    folder, _, name = file.rpartition("/")
    if folder.startswith(
        "planners/core/"
    ):  # what plans carry: types of `plan.py`, one room with it
        return "planners/core"
    if folder in {f"planners/{planner}" for planner in (*PLANNERS, *SEVERAL)}:
        if name == "options.py":
            return f"{folder}/options"
        return f"{folder}/planner" if name in ("planner.py", "__init__.py") else folder
    return folder


def wing(file: str) -> str:
    """The part of the design that a file is in: `core`, `cosma`, `views`, `page`."""
    top, first, *rest = file.split("/")
    return first if rest else "api" if top == "planners" else first.removesuffix(".py")


def rooms(files: nx.DiGraph) -> nx.DiGraph:
    """Rooms as their files import each other."""
    graph = nx.DiGraph()
    graph.add_edges_from((room(a), room(b)) for a, b in files.edges if room(a) != room(b))
    return graph


def cycles(graph: nx.DiGraph) -> list[list[str]]:
    found = (sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1)
    return sorted(found)


def test_the_reader_sees_all_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "planners" / "graph" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import a.b\n"
        "from . import c\n"
        "from ..d import e\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import f\n"
        "def g():\n    import h\n    importlib.import_module('i')\n"
    )
    run = {"a.b", "planners.graph.c", "planners.d.e", "typing.TYPE_CHECKING", "h", "i"}
    assert {name for name, for_types in imports(file) if not for_types} == run
    assert {name for name, for_types in imports(file) if for_types} == {"f"}


@pytest.fixture(scope="module", autouse=True)
def all_read() -> None:
    """All sources are read once, for all tests."""
    for path in sources("planners", "app"):
        modules_in_texts(path)
    arrows()


def test_modules_in_tables_of_what_is_imported_on_use_are_arrows() -> None:
    assert arrows().has_edge("planners/cosma/__init__.py", "planners/cosma/planner.py")
    assert arrows().has_edge("planners/cli/commands.py", "planners/cli/plan.py")
    assert arrows().has_edge("planners/__init__.py", "planners/study/sweep.py")


def test_a_text_names_a_module_where_it_is_an_arrow_or_leads_up() -> None:
    named = {relative(path) for path in sources("planners", "app") if modules_in_texts(path)}
    seen = {relative(path) for path in sources("planners", "app") if _texts_count(path)}
    assert named - seen == UPWARDS


def _texts_count(path: Path) -> bool:
    imported = {each.name for each in imports(path)}
    return imported.issuperset(modules_in_texts(path))


def test_no_class_name_is_there_twice() -> None:
    """Who reads a class's name knows which one it is, wherever they meet it."""
    homes: dict[str, list[str]] = {}
    for path in sources("planners", "app"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(relative(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


@pytest.mark.parametrize(
    "package", ["planners", "planners.catalogue", *map("planners.{}".format, (*PLANNERS, *SEVERAL))]
)
def test_a_name_on_use_is_the_one_that_type_checkers_see(package: str) -> None:
    """The table for the interpreter, and the imports for types, say the same."""
    module = import_module(package)
    file = Path(str(module.__file__))
    for_types = {i.name for i in imports(file) if i.for_types}
    assert {name.rpartition(".")[2] for name in for_types} == {*module.__all__} <= {*dir(module)}
    for name in for_types:
        place, _, short = name.rpartition(".")
        theirs = import_module(place)
        assert getattr(module, short) is getattr(theirs, short)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_the_function_stays_where_the_module_of_its_name_is_imported() -> None:
    code = (
        "import planners.plan, planners as sp\n"
        "from planners import plan\n"
        "from planners.plan import Plan\n"
        "assert sp.plan is plan is sp.api.plan and sp.Plan is Plan"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# ---- the library ---------------------------------------------------------------------------------


def test_no_cycle_of_files_in_the_library() -> None:
    assert cycles(inside("planners")) == []


def test_no_cycle_of_packages_in_the_library() -> None:
    assert cycles(rooms(inside("planners"))) == []


def test_the_arrows_of_the_library_point_one_way() -> None:
    back = [
        f"{a} imports {b}"
        for a, b in sorted(inside("planners").edges)
        if wing(a) != wing(b) and wing(b) not in LIBRARY[wing(a)]
    ]
    assert back == []


def test_every_room_of_the_library_has_its_place() -> None:
    assert {wing(file) for file in inside("planners")} <= {*LIBRARY}


@pytest.mark.parametrize("planner", PLANNERS)
def test_the_page_of_a_planner_leads_to_every_room(planner: str) -> None:
    """Its docstring says where each step of the method is."""
    folder = ROOT / "planners" / planner
    told = ast.get_docstring(tree(folder / "planner.py")) or ""
    named = set(re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]*)?)`", told))
    doors = {path.stem for path in folder.iterdir() if path.name[0] not in "._"}
    assert doors - {"options", "planner"} <= {name.split("/")[0] for name in named}
    for name in named:
        if "/" in name:
            assert (folder / name).is_dir() or (folder / f"{name}.py").is_file(), name
    assert len(told.splitlines()) <= 32, "more than a screen"


def test_the_library_never_imports_the_application() -> None:
    # `spillway serve` starts it by name.
    assert offences(["planners"], ["app"], types=True) == []


def test_the_library_imports_no_pages() -> None:
    found = offences(["planners"], PAGES, types=True)
    assert [line for line in found if not line.startswith("planners/plots/")] == []


def test_the_application_knows_no_paper_and_no_backend() -> None:
    assert offences(["app"], ["planners.papers", "planners.backends"], types=True) == []


def test_torch_is_imported_only_where_models_are_read_or_executed() -> None:
    allowed = (
        "planners/importers/",
        "planners/catalogue/",
        "planners/executor/",
        "planners/backends/disk/",
        "planners/backends/executorch/",
    )
    found = offences(["planners"], TORCH)
    assert [line for line in found if not line.startswith(allowed)] == []


def lent() -> dict[str, Service[Any]]:
    known = {**vars(services), **vars(backends)}
    return {name: value for name, value in known.items() if isinstance(value, Service)}


def protocol_of(name: str) -> Any:
    """What a service promises: `Service[LeastPeak]` as the file says it."""
    for module in (services, backends):
        if name in vars(module).get("__annotations__", {}):
            (protocol,) = get_args(get_type_hints(module)[name])
            return protocol
    raise LookupError(name)


@pytest.mark.parametrize(("name", "service"), sorted(lent().items()))
def test_a_service_is_there_and_takes_what_it_promises(name: str, service: Service[Any]) -> None:
    """A target is a text: no type checker sees that it exists and suits its protocol."""
    taken = inspect.signature(service.function()).parameters
    _, *promised = inspect.signature(protocol_of(name).__call__).parameters.values()
    for parameter in promised:
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            assert taken[parameter.name].kind in (parameter.kind, parameter.POSITIONAL_OR_KEYWORD)
    order = [p.name for p in promised if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [*taken][: len(order)] == order


def test_a_planner_is_named_by_itself_and_the_registry_only() -> None:
    """A text that is just a planner's name decides something by planner: nobody else does.

    `auto` is left out: themes, rings and break nodes have that word too.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for path in sources("planners", "app"):
        file = relative(path)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and node.value in (*PLANNERS, "joined"):
                if not file.startswith((*MAY_NAME, f"planners/{node.value}/")):
                    found[file].add(str(node.value))
    assert found == {**WORDS, **NAMED_YET}


# ---- the application -----------------------------------------------------------------------------


def test_the_arrows_of_the_application_point_one_way() -> None:
    height = {name: i for i, name in enumerate(APP)}
    back = {(a, b) for a, b in inside("app").edges if height[wing(b)] > height[wing(a)]}
    assert back == set(), "arrows that run back"


def test_no_cycle_of_files_or_packages_in_the_application() -> None:
    assert cycles(inside("app")) == []
    assert cycles(rooms(inside("app"))) == []


def test_only_what_draws_knows_panel() -> None:
    found = {line.split()[0] for line in offences(["app"], DRAWS, types=True)}
    elsewhere = {file for file in found if not file.startswith(WITH_PAGES)}
    assert elsewhere == PAGES_ELSEWHERE


@pytest.mark.parametrize("room", ["session", "jobs"])
def test_nothing_is_imported_for_its_type_alone(room: str) -> None:
    """A part that needs the whole only for its type reaches back into it."""
    assert [
        file for file in sources(f"app/{room}") if any(i.for_types for i in imports(file))
    ] == []


def test_parts_of_a_session_do_not_know_it() -> None:
    """They get view-models, the jobs and what they bring about, from `session.py` alone."""
    assert offences(["app/session"], ["app.session.session"], types=True) == []


# ---- what an import brings with it ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("planners", ("numpy", "planners.core.graph", "planners.api")),
        ("planners.api", (*PAGES, *TORCH, *SOLVERS)),
        ("planners.catalogue.names", ("numpy", "planners.core.graph")),
        ("planners.cli.commands", ("numpy", "rich", "importlib.metadata", "planners.api")),
        ("planners.cli.models", ("numpy", "rich", "planners.core.graph")),
        ("planners.cli.graph", (*SOLVERS, "rich", "planners.cosma.planner")),
        ("planners.cli.plan", (*SOLVERS, *ROOFS, "rich")),
        *((f"planners.{planner}.options", (*SOLVERS, *ROOFS)) for planner in (*PLANNERS, *SEVERAL)),
        ("planners.cosma.planner", ("numpy", *SOLVERS, "planners.cosma.ilp.solve")),
        ("app.model.state", PAGES),
        ("app.jobs.worker", (*PAGES, *TORCH, *SOLVERS, "tflite", "numpy")),
        ("app.jobs.handlers.planning", (*PAGES, *TORCH, "ortools", "scipy", "tflite")),
    ],
)
def test_a_fresh_import_stays_light(module: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & set({unwanted!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
