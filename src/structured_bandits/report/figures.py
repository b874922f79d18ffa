"""The figures of an experiment: drawn, saved as SVG and PNG, with their numbers as CSV and Parquet."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from structured_bandits.experiments.settings import Experiment
from structured_bandits.extras import needs
from structured_bandits.plots.pulls import draw_pulls, pull_counts
from structured_bandits.plots.regret import draw_regret, regret_curves
from structured_bandits.plots.structure import draw_structure, figure_size
from structured_bandits.simulation.result import Result
from structured_bandits.theory.analysis import analyse

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def draw_experiment(experiment: Experiment, result: Result | None) -> Figure:
    """Return the figure of an experiment."""
    with needs("A figure", extra="report"):
        from matplotlib.figure import Figure

    problem = experiment.problem
    if experiment.figure == "structure" and problem is not None:
        figure = Figure(figsize=figure_size(problem.structure), layout="constrained")
        analysis = analyse(problem.structure, problem.truth)
        draw_structure(analysis, experiment.horizon, beta=3.0, ax=figure.subplots())
        return figure
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    assert result is not None
    if experiment.figure == "pulls" and problem is not None:
        means = problem.world.means
        best = int(means.argmax()) if len(means) > 3 else None  # as the paper does, for scale
        draw_pulls(result, problem.structure.arm_names, best, figure.subplots())
    else:
        draw_regret(result, figure.subplots())
    return figure


def numbers(experiment: Experiment, result: Result) -> pandas.DataFrame:
    """Return what a figure shows, as a table."""
    with needs("A table of numbers", extra="report"):
        import pandas

    if experiment.figure == "pulls" and experiment.problem is not None:
        names = experiment.problem.structure.arm_names
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


def save_figure(figure: Figure, stem: Path) -> str:
    """Write a figure as SVG and PNG; return the SVG."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    text = svg_text(figure)
    stem.with_suffix(".svg").write_text(text, encoding="utf-8")
    figure.set_layout_engine("none")  # it is laid out now; doing so again takes a third of the time
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    return text


def save_numbers(frame: pandas.DataFrame, stem: Path) -> None:
    """Write a table as CSV and Parquet."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(stem.with_suffix(".csv"), index=False)
    frame.to_parquet(stem.with_suffix(".parquet"), index=False)


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
    return body.replace("#000000", "currentColor").replace("#404040", "currentColor")
