"""Packages of extras are imported where a missing one is named with the command that installs it."""

from __future__ import annotations

import ast
import builtins
import pickle
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import structured_bandits as sb
from structured_bandits.__main__ import main
from structured_bandits.base.extras import needs
from structured_bandits.display.page import check_page, environment

ROOT = Path(sb.__file__).parent
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
#: Modules that are one with their package; whoever imports them does so inside `needs`.
WHOLE = {
    "simulation/compiled.py": "numba",
    "cli/commands.py": "click",
    "cli/service.py": "click",
    "cli/complaints.py": "click",
    "service/ui/explorer/command.py": "click",
}
#: What an extra brings for another package of it, which imports it itself.
INDIRECT = {"httptools"}
TABLE = sb.FiniteStructure([[0.8, 0.3, 0.1], [0.8, 0.9, 0.1], [0.1, 0.2, 0.9]])
WORLD = sb.Bernoulli(TABLE.means(0))
PLAYED = sb.simulate(sb.UCB(3), WORLD, 50, runs=2, engine="python")


def packages(extra: str) -> set[str]:
    """Names of the packages that an extra brings, as they are imported, with those of extras within."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()  # type: ignore[union-attr]
        ours = name == "structured-bandits"
        found |= set().union(*map(packages, inner.split(","))) if ours else {name.replace("-", "_")}
    return found


OPTIONAL = packages("all")


def imports(node: ast.AST) -> set[str]:
    """Packages of extras that this statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names} & OPTIONAL
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").split(".")[0]} & OPTIONAL
    return set()


def guards(path: Path) -> Iterator[tuple[set[str], str | None, int]]:
    """What is imported in a file of all that is optional, in whose `needs`, and on which line."""
    text = path.read_text()

    def walk(node: ast.AST, extra: str | None) -> Iterator[tuple[set[str], str | None, int]]:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "needs":
                    extra = next(
                        ast.literal_eval(k.value) for k in call.keywords if k.arg == "extra"
                    )
        if found := imports(node):
            yield found, extra, node.lineno  # type: ignore[attr-defined]
        for child in ast.iter_child_nodes(node):
            yield from walk(child, extra)

    return walk(ast.parse(text), None)


def test_every_optional_package_is_imported_where_its_extra_is_named() -> None:
    seen = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for found, extra, line in guards(path):
            seen |= found
            if extra is None:
                assert found == {WHOLE.get(name)}, f"{name}:{line} imports {found} outside of needs"
            else:
                brought = set().union(*map(packages, extra.split(",")))
                assert found <= brought, f"{name}:{line}: the extra {extra} does not bring {found}"
    assert seen == OPTIONAL - INDIRECT  # an extra brings nothing that is never imported


def test_modules_that_are_one_with_their_package_are_imported_inside_needs() -> None:
    importers = {"simulation/batches.py": "simulation.compiled", "__main__.py": "cli.commands"}
    found = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            inner = node.body if isinstance(node, ast.With) else []
            for each in inner:
                if isinstance(each, ast.ImportFrom) and each.module in {
                    f"structured_bandits.{module}" for module in importers.values()
                }:
                    found[path.relative_to(ROOT).as_posix()] = each.module.split(".", 1)[1]
    assert found == importers


def test_the_core_needs_numpy_and_the_records_of_the_wire_msgspec() -> None:
    needed = [re.match(r"[\w-]+", each).group() for each in PROJECT["dependencies"]]  # type: ignore[union-attr]
    assert needed == ["msgspec", "numpy"]
    importing = {
        path.relative_to(ROOT).parts[0]
        for path in ROOT.rglob("*.py")
        if re.search(r"^ *(import|from) msgspec\b", path.read_text(), re.MULTILINE)
    }
    assert importing == {"service"}


def test_all_brings_what_the_other_extras_bring() -> None:
    for extra in ("simulate", "polyhedral", "report", "cli", "cones", "serve", "postgres"):
        assert packages(extra) <= OPTIONAL
    assert packages("dev") > OPTIONAL
    assert packages("docs") > OPTIONAL


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a package look as if it were not installed."""

    def hide(package: str) -> None:
        real = builtins.__import__

        def importing(name: str, *rest: Any, **more: Any) -> Any:
            if name.split(".")[0] == package:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
            return real(name, *rest, **more)

        for file, needed in WHOLE.items():
            if needed == package:  # loaded already, perhaps: forget it until the test ends
                module = "structured_bandits." + file.removesuffix(".py").replace("/", ".")
                monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setattr(builtins, "__import__", importing)

    return hide


def test_a_result_is_printed_with_numpy_alone(without: Callable[[str], None]) -> None:
    without("pandas")
    without("scipy")
    lines = repr(PLAYED).splitlines()
    assert re.split(r"  +", lines[2]) == ["policy", "mean regret", "median", "empty sets", "width"]
    assert "95 % interval" not in PLAYED._repr_html_()


HINTS: list[tuple[str, str, Callable[[], Any]]] = [
    ("numba", "sb.simulate needs numba, which is not installed: pip install numba (part of the extra [simulate])", lambda: sb.simulate(sb.UCB(3), WORLD, 10, runs=1)),
    ("tqdm", "sb.simulate(progress=True) needs tqdm", lambda: sb.simulate(sb.UCB(3), WORLD, 10, runs=1, engine="python", progress=True)),
    ("pandas", "Result.summary needs pandas, which is not installed: pip install pandas (part of the extra [simulate])", lambda: PLAYED.summary()),
    ("pandas", "Result.to_frame needs pandas", lambda: PLAYED.to_frame()),
    ("scipy", "needs scipy, which is not installed: pip install scipy (part of the extra [simulate])", lambda: PLAYED.summary()),
    ("pyarrow", "Result.save needs pyarrow", lambda: PLAYED.save("never-written.parquet")),
    ("pyarrow", "sb.load_result needs pyarrow", lambda: sb.load_result("never-read.parquet")),
    ("matplotlib", "A figure needs matplotlib, which is not installed: pip install matplotlib (part of the extra [report])", lambda: PLAYED.plot()),
    ("matplotlib", "A figure needs matplotlib", lambda: sb.analyse(TABLE, 0).plot(100)),
    ("pandas", "Analysis.bounds needs pandas, which is not installed: pip install pandas (part of the extra [polyhedral,report])", lambda: sb.analyse(TABLE, 0).bounds(100)),
    ("pandas", "Overview.frame needs pandas, which is not installed: pip install pandas (part of the extra [report])", lambda: sb.analyse(TABLE).frame()),
    ("tqdm", "sb.overview(progress=True) needs tqdm", lambda: sb.overview(TABLE, progress=True)),
    ("daqp", "needs daqp, which is not installed: pip install daqp (part of the extra [polyhedral])", lambda: sb.linear([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]])),
    ("daqp", "the Graves-Lai bound) needs daqp", lambda: sb.analyse(TABLE, 0).lower_bound()),
    ("daqp", "the Graves-Lai bound) needs daqp", lambda: sb.analyse(TABLE, 0).bounds(100)),
    ("clarabel", "method='cone') needs clarabel, which is not installed: pip install clarabel (part of the extra [cones])", lambda: cone()),
]  # fmt: skip


def cone() -> Any:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        free = sb.linear([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]], bounds=None)
    return sb.analyse(free, free.at([0.7, 0.2])).lower_bound("gaussian", method="cone")


@pytest.mark.parametrize(
    ("package", "message", "call"), HINTS, ids=[f"{hint[0]}-{hint[1][:25]}" for hint in HINTS]
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    without: Callable[[str], None], package: str, message: str, call: Callable[[], Any]
) -> None:
    without(package)
    with pytest.raises(sb.MissingExtraError, match=re.escape(message)) as caught:
        call()
    assert isinstance(caught.value, sb.StructuredBanditsError)
    assert isinstance(caught.value, ImportError)
    again = pickle.loads(pickle.dumps(caught.value))  # it comes back from other processes
    assert str(again) == str(caught.value)


def test_large_programs_name_the_other_solver(without: Callable[[str], None]) -> None:
    import numpy as np

    from structured_bandits.solvers.linear import LARGE, maximise

    without("highspy")
    rows = np.ones((LARGE // 2 + 1, 2))
    with pytest.raises(sb.MissingExtraError, match="needs highspy"):
        maximise(np.ones(2), rows, np.zeros(len(rows)), np.ones(len(rows)))


def test_what_draws_pages_is_missed_before_the_runs(
    without: Callable[[str], None], tmp_path: Path
) -> None:
    without("jinja2")
    environment.cache_clear()
    message = "A page needs jinja2, which is not installed: pip install jinja2 (part of the extra [report])"
    with pytest.raises(sb.MissingExtraError, match=re.escape(message)):
        check_page(tmp_path / "report.html")


def test_a_file_is_not_blamed_for_a_missing_package(
    without: Callable[[str], None], tmp_path: Path
) -> None:
    file = tmp_path / "linear.toml"
    file.write_text('kind = "linear"\nfeatures = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]]\n')
    without("daqp")
    with pytest.raises(sb.MissingExtraError, match="needs daqp"):
        sb.load_structure(file)


def test_a_simulation_in_python_plays_without_a_progress_bar(
    without: Callable[[str], None],
) -> None:
    without("tqdm")
    silent = sb.simulate(sb.UCB(3), WORLD, 50, runs=2, engine="python")
    assert silent.pulls["UCB"].tolist() == PLAYED.pulls["UCB"].tolist()


def test_the_command_says_what_it_needs(
    without: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    without("click")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: The command structured-bandits needs click")
    assert "pip install click (part of the extra [cli])" in said


def test_a_module_that_is_missing_here_is_not_taken_for_a_package() -> None:
    with (
        pytest.raises(ModuleNotFoundError) as caught,
        needs("Tea", extra="kettle"),
    ):
        import structured_bandits.no_such_room  # type: ignore[import-not-found]  # noqa: F401
    assert not isinstance(caught.value, sb.MissingExtraError)
