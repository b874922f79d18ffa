"""Figures of experiments: drawn, saved as SVG and PNG, with their numbers as CSV and Parquet."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from structured_bandits.base.extras import needs
from structured_bandits.base.writing import write_whole
from structured_bandits.display.pulls import draw_pulls, pull_counts, pulls_size
from structured_bandits.display.regret import draw_regret, regret_curves, regret_size
from structured_bandits.display.structure_figure import draw_structure, figure_size
from structured_bandits.display.verdicts import Shown
from structured_bandits.simulation.result import Result
from structured_bandits.structures.base import Structure
from structured_bandits.theory.analysis import analyse

NARROW, FEW_ARMS = 6.0, 6  # inches; arms that fit into them

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def draw_figure(shown: Shown) -> Figure:
    """Return the figure."""
    with needs("A figure", extra="report"):
        from matplotlib.figure import Figure

    problem = shown.problem
    if shown.kind == "structure" and problem is not None:
        figure = Figure(figsize=_structure_size(problem.structure), layout="constrained")
        analysis = analyse(problem.structure, problem.truth)
        draw_structure(analysis, shown.horizon, shown.beta, figure.subplots())
        return figure
    assert shown.result is not None
    if shown.kind == "pulls" and problem is not None:
        figure = Figure(figsize=pulls_size(shown.result, len(problem.means)), layout="constrained")
        # among many arms the bars of the best one would dwarf all others
        best = int(problem.means.argmax()) if len(problem.means) > 3 else None
        draw_pulls(shown.result, problem.structure.arm_names, best, figure.subplots())
    else:
        figure = Figure(figsize=regret_size(shown.result.policies), layout="constrained")
        draw_regret(shown.result, figure.subplots())
    return figure


def _structure_size(structure: Structure) -> tuple[float, float]:
    """Return the size of a structure's figure: narrow if it has few arms, so that phones can show it."""
    width, height = figure_size(structure)
    return (min(width, NARROW) if structure.n_arms <= FEW_ARMS else width), height


def numbers(shown: Shown, result: Result) -> pandas.DataFrame:
    """Return what a figure shows, as a table."""
    with needs("A table of numbers", extra="report"):
        import pandas

    if shown.kind == "pulls" and shown.problem is not None:
        names = shown.problem.structure.arm_names
        rows = [
            {"policy": policy, "arm": arm, "mean": mean, "low": low, "high": high}
            for policy, counts in pull_counts(result).items()
            for arm, mean, low, high in zip(
                names, counts.mean, counts.low, counts.high, strict=True
            )
        ]
        return pandas.DataFrame(rows)
    frames = [
        pandas.DataFrame(
            {
                "policy": policy,
                "t": c.t,
                "mean": c.mean,
                "low": c.low,
                "high": c.high,
                "median": c.median,
            }
        )
        for policy, c in regret_curves(result).items()
    ]
    return pandas.concat(frames, ignore_index=True)


def figure_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a figure, SVG and PNG."""
    return folder / "figures" / f"{name}.svg", folder / "figures" / f"{name}.png"


def numbers_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a figure's numbers, CSV and Parquet."""
    return folder / "numbers" / f"{name}.csv", folder / "numbers" / f"{name}.parquet"


def save_figure(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as SVG and PNG; return the SVG."""
    svg, png = figure_files(folder, name)
    text = svg_text(figure)
    write_whole(svg, text)
    figure.set_layout_engine("none")  # it is laid out now; doing so again takes a third of the time
    write_figure(figure, png)
    return text


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's name ends in."""
    file = io.BytesIO()
    figure.savefig(file, format=path.suffix[1:], dpi=150)
    write_whole(path, file.getvalue())


def save_numbers(frame: pandas.DataFrame, folder: Path, name: str) -> None:
    """Write a table as CSV and Parquet."""
    csv, parquet = numbers_files(folder, name)
    write_whole(csv, frame.to_csv(index=False))
    write_whole(parquet, frame.to_parquet(index=False))


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with real text, the same text for the same figure."""
    with needs("A figure", extra="report"):
        import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "structured-bandits"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def inline_svg(text: str) -> str:
    """Return an SVG file as a part of a page: it fills its place and takes the page's colours."""
    body = text[text.index("<svg") :]
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(<path[^>]*style="fill: )#ffffff', r"\1var(--bg)", body)
    return re.sub(r"<[^>]*>", _in_page_colours, body)  # in tags: a name may be "#000000"


def _in_page_colours(tag: re.Match[str]) -> str:
    return tag[0].replace("#000000", "currentColor").replace("#404040", "currentColor")
