"""`Analysis` is the door of theory: it asks the rooms behind it, none of them asks it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import structured_bandits
from structured_bandits.theory.analysis import Analysis

ROOT = Path(structured_bandits.__file__).parent
ROOMS = sorted(path for path in (ROOT / "theory").glob("*.py") if path.stem != "analysis")


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_room_behind_the_door_knows_it(path: Path) -> None:
    tree = ast.parse(path.read_text())
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert Analysis.__name__ not in named
    assert Analysis.__module__ not in imported
