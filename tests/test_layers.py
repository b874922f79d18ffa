"""Imports point one way."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Sequence
from pathlib import Path

import pytest

import structured_bandits

ROOT = Path(structured_bandits.__file__).parent
#: Each layer may import from itself and from those before it. The upper bounds of theory read the
#: parameters of policies, some of which ask theory for the rest: that module is a layer of its own.
LAYERS = [
    {"base", "errors", "protocols"},
    {"solvers"},
    {"structures"},
    {"theory", "inference"},
    {"policies", "worlds"},
    {"lookahead"},
    {"theory.upper_bounds"},
    {"simulation", "agents"},
    {"display", "testing"},
    {"advice"},
    {"experiments"},
    {"service"},
    {"cli"},
]
#: The same for the parts of `service`. The client knows the wire alone, and the demo the client.
SERVICE_LAYERS = [
    {"wire"},
    {"rows", "refusals", "json_logs"},
    {"store_protocol"},
    {"experiment"},
    {"store"},
    {"running"},
    {"http"},
    {"ui"},
    {"server"},
]
SERVICE_RANK = {name: rank for rank, names in enumerate(SERVICE_LAYERS) for name in names}
#: What speaks HTTP or SQL, or waits for either.
OUTSIDE = {"asyncio", "http", "jinja2", "prometheus_client", "psycopg", "socket", "sqlite3"}
OUTSIDE |= {"starlette", "threading", "urllib", "uvicorn"}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in RANK)


def imported_layers(path: Path, whole: bool) -> set[str]:
    """Layers imported by a file: everywhere, or at its top level only."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if whole else iter(tree.body)
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    whole_modules = {
        alias.name for node in froms if node.module == "structured_bandits" for alias in node.names
    }
    names = [node.module for node in froms if node.module]
    rooms = {
        layer_of(name.split(".")[1:]) for name in names if name.startswith("structured_bandits.")
    }
    return rooms | (whole_modules & set(RANK))


def layer_of(parts: Sequence[str]) -> str:
    """The layer of a module, by the parts of its name: its own one, or that of its package."""
    whole = ".".join(parts)
    return whole if whole in RANK else parts[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    layer = layer_of(path.relative_to(ROOT).with_suffix("").parts)
    for other in imported_layers(path, whole=False):
        assert RANK[other] <= RANK[layer], f"{layer} imports {other}"


def parts_of_service(path: Path) -> set[str]:
    """Parts of the service that a file imports, anywhere in it."""
    names = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    inside = [name.split(".") for name in names if name.startswith("structured_bandits.service.")]
    return {parts[2] for parts in inside}


PARTS_OF_SERVICE = ROOT / "service"
SERVICE_FILES = sorted(
    path for path in PARTS_OF_SERVICE.rglob("*.py") if path != PARTS_OF_SERVICE / "__init__.py"
)


@pytest.mark.parametrize(
    "path", SERVICE_FILES, ids=lambda path: str(path.relative_to(PARTS_OF_SERVICE))
)
def test_imports_in_the_service_point_one_way(path: Path) -> None:
    part = path.relative_to(PARTS_OF_SERVICE).parts[0].removesuffix(".py")
    if part in ("client", "demo"):
        assert parts_of_service(path) <= {"client", "wire"}
        return
    for other in parts_of_service(path):
        assert SERVICE_RANK[other] <= SERVICE_RANK[part], f"{part} imports {other}"


def test_a_version_of_an_experiment_knows_neither_http_nor_sql() -> None:
    for path in (PARTS_OF_SERVICE / "experiment").glob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        names = {
            alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        assert not {name.split(".")[0] for name in names} & OUTSIDE, path.name


def test_policies_and_worlds_do_not_know_each_other() -> None:
    for path in FILES:
        layer = path.relative_to(ROOT).parts[0]
        unwanted = {"policies": "worlds", "worlds": "policies"}.get(layer)
        assert unwanted not in imported_layers(path, whole=True)


def imported_modules(path: Path) -> set[str]:
    """Modules of the package that a file imports, anywhere in it."""
    nodes = ast.walk(ast.parse(path.read_text()))
    names = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.removeprefix("structured_bandits.") for name in names}


def test_nothing_but_the_command_knows_the_paper() -> None:
    knowing = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if any(name.startswith("experiments.paper") for name in imported_modules(path))
    }
    outside = {name for name in knowing if not name.startswith("experiments/paper/")}
    assert outside == {"cli/commands.py"}


def test_the_report_plays_nothing() -> None:
    """It may read results, but not make them."""
    for path in (ROOT / "display").glob("*.py"):
        simulation = {name for name in imported_modules(path) if name.startswith("simulation")}
        assert simulation <= {"simulation.result", "simulation.regret_table"}, path.name


def test_only_one_module_imports_numba_at_all() -> None:
    importing = [
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if any(
            (
                isinstance(node, ast.Import)
                and any(n.name.split(".")[0] == "numba" for n in node.names)
            )
            or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba")
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert importing == ["simulation/compiled.py"]


def test_the_picture_in_the_docs_shows_these_layers() -> None:
    docs = Path(__file__).parent.parent / "docs"
    drawing = runpy.run_path(str(docs / "draw_layers.py"))
    shown = [set(rooms) for rooms in reversed(drawing["LAYERS"])]
    assert shown[1:] == LAYERS[1:]
    (ground,) = shown[0]  # a line that names what is at the bottom
    assert set(ground.removeprefix("the ground: ").split(", ")) == LAYERS[0]
    assert (docs / "layers.svg").read_text() == drawing["draw"]()
