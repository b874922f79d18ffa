"""Runs the notebooks and writes into them what they print and draw (`python docs/run_notebooks.py`).

tests/test_notebooks.py runs them with the same function and compares what is printed with what is
stored. No Jupyter is needed: a notebook is JSON, and its cells are Python. Cells run in a folder of
their own, so that what they save is gone afterwards. Warnings are errors. What goes to standard error,
such as bars of progress, is not kept.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from PIL import Image

FOLDER = Path(__file__).parent / "notebooks"

#: Figures have few colours; kept as a palette they take a third of the space.
COLOURS = 24

Output = dict[str, Any]


def run_notebook(notebook: dict[str, Any]) -> list[list[Output]]:
    """Return the outputs of each code cell, in order, as notebooks store them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        matplotlib.use("Agg")
        plt.close("all")  # what others have left open is no figure of this notebook
        return [
            run_cell("".join(cell["source"]), number, names)
            for number, cell in enumerate(cells, start=1)
        ]


def run_cell(source: str, number: int, names: dict[str, Any]) -> list[Output]:
    """Run a cell; return what it prints, the value of its last line and its figures, in this order."""
    printed = io.StringIO()
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines_of(printed)})
    if value is not None:
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        outputs.append(result | {"data": shown(value)})
    return outputs + drawn_figures()


def shown(value: Any) -> dict[str, list[str]]:
    """Return a value as notebooks show it: as text, and as HTML if it can be."""
    data = {"text/plain": lines_of(io.StringIO(repr(value)))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines_of(io.StringIO(value._repr_html_()))
    return data


def drawn_figures() -> list[Output]:
    """Return the figures that are open in pyplot, and close them."""
    outputs = []
    for number in plt.get_fignums():
        drawn, small = io.BytesIO(), io.BytesIO()
        figure = plt.figure(number)
        figure.savefig(drawn, format="png", dpi=80)
        plt.close(figure)
        Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
            small, format="png", optimize=True
        )
        data = {"image/png": base64.b64encode(small.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def lines_of(text: io.StringIO) -> list[str]:
    """Return the lines of a text with their ends, which is how notebooks store texts."""
    return text.getvalue().splitlines(keepends=True)


def main() -> None:
    """Run all notebooks and write their outputs into them."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        outputs = iter(run_notebook(notebook))
        code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
        for number, cell in enumerate(code, start=1):
            cell |= {"execution_count": number, "outputs": next(outputs)}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        print(f"{path.name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
