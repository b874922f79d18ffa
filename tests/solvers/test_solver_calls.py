"""Solvers are called in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import structured_bandits

ROOT = Path(structured_bandits.__file__).parent
SOLVERS = {"clarabel", "daqp", "highspy"}


def imported(path: Path) -> set[str]:
    """Return the packages that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_only_programs_call_solvers() -> None:
    calls = {path: imported(path) & SOLVERS for path in ROOT.rglob("*.py")}
    assert {path.parent for path, solvers in calls.items() if solvers} == {ROOT / "solvers"}
    assert set.union(*calls.values()) == SOLVERS
