"""The notebooks run, and print what is stored in them."""

from __future__ import annotations

import base64
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
RUNNER = runpy.run_path(str(DOCS / "run_notebooks.py"))
ADVICE = "if the change is meant: python docs/run_notebooks.py, and read what it wrote"


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def without_pixels(output: dict[str, Any]) -> dict[str, Any]:
    """An output as it is, but of a figure only that there is one: fonts differ between machines."""
    if output["output_type"] != "display_data":
        return output
    return {"output_type": "display_data", "of": list(output["data"])}


def figures(notebook: dict[str, Any]) -> list[bytes]:
    return [
        base64.b64decode(output["data"]["image/png"])
        for cell in code_cells(notebook)
        for output in cell["outputs"]
        if output["output_type"] == "display_data"
    ]


def test_all_notebooks_are_tested() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["start"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_in_it(path: Path) -> None:
    notebook = json.loads(path.read_text())
    cells = code_cells(notebook)
    for cell, outputs in zip(cells, RUNNER["run_notebook"](notebook), strict=True):
        stored = [without_pixels(output) for output in cell["outputs"]]
        assert [without_pixels(output) for output in outputs] == stored, ADVICE


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_in_order(path: Path) -> None:
    notebook = json.loads(path.read_text())
    assert path.stat().st_size < 200_000
    assert all(len(figure) < 60_000 for figure in figures(notebook))
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def test_the_runner_keeps_what_a_cell_prints_returns_and_draws() -> None:
    """As Jupyter would: the value of the last line only if it is an expression and not None."""
    cells = [
        "import matplotlib.pyplot as plt\nprint('one')\nx = 2",
        "x + 1",
        "None",
        "_ = plt.plot([0, 1])",
    ]
    notebook = {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
    printed, value, nothing, figure = RUNNER["run_notebook"](notebook)
    assert printed == [{"output_type": "stream", "name": "stdout", "text": ["one\n"]}]
    assert value[0]["data"] == {"text/plain": ["3"]}
    assert nothing == []
    assert base64.b64decode(figure[0]["data"]["image/png"]).startswith(b"\x89PNG")


def test_a_cell_that_fails_or_warns_stops_the_runner() -> None:
    for source, error in (("1 / 0", ZeroDivisionError), ("int('x')", ValueError)):
        with pytest.raises(error):
            RUNNER["run_notebook"]({"cells": [{"cell_type": "code", "source": [source]}]})
    warns = "import warnings\nwarnings.warn('look')"
    with pytest.raises(UserWarning, match="look"):
        RUNNER["run_notebook"]({"cells": [{"cell_type": "code", "source": [warns]}]})
