"""Names of arms, policies and models appear in every figure as they are."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import structured_bandits as sb
from structured_bandits.display.figures import draw_pulls, svg_text
from structured_bandits.display.labels import plain
from structured_bandits.display.regret import draw_regret
from structured_bandits.display.structure_figure import draw_structure

#: Formulas, half formulas, escapes, labels that Matplotlib would hide, and what XML gives a meaning.
HOSTILE = [
    "$x_1$",
    "$",
    "$$",
    r"\$5",
    r"$\frac{1}{2$",
    r"\alpha",
    "_x",
    "__",
    "_nolegend_",
    "_child0",
    "a_b^c",
    "{}",
    "%d %s",
    "<b>&amp;",
    "\"'",
    "$99 or $5",
    "\\",
    "* ]]>",
]


def texts(figure: Figure) -> list[str]:
    """Return the texts of a figure, read from its SVG as a browser reads it."""
    figure.savefig(io.BytesIO(), format="png")  # drawn in both ways
    root = ElementTree.fromstring(svg_text(figure))
    return [
        "".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")
    ]


def result(names: list[str], arms: int) -> sb.Result:
    rng = np.random.default_rng(0)
    zeros = {name: np.zeros(3, np.int64) for name in names}
    return sb.Result(
        np.array([5, 10]),
        {name: rng.random((3, 2)).cumsum(axis=1) for name in names},
        {name: rng.integers(10, size=(3, arms)) for name in names},
        zeros,
        zeros,
    )


def finite(names: list[str]) -> tuple[Any, Any]:
    table = np.full((2, len(names)), 0.2) + 0.5 * np.eye(2, len(names))
    return sb.FiniteStructure(table, arms=names, models=names[:2]), names[0]


def curves(names: list[str]) -> tuple[Any, Any]:
    start, end = np.linspace(0.9, 0.1, len(names)), np.linspace(0.2, 0.8, len(names))
    return sb.CurveStructure([sb.Piece(0, 1, start, end, closed="both")], arms=names), 0.25


def polytope(names: list[str]) -> tuple[Any, Any]:
    structure = sb.lipschitz(np.linspace(0, 1, len(names)), 2.0, arms=names)
    return structure, np.linspace(0.7, 0.3, len(names))


def new_axes() -> tuple[Figure, Any]:
    figure = Figure(layout="constrained", figsize=(12, 8))
    return figure, figure.subplots()


def pairs() -> list[list[str]]:
    return [HOSTILE[place : place + 2] for place in range(0, len(HOSTILE), 2)]


@pytest.mark.parametrize("kind", [finite, curves, polytope])
def test_arms_and_models_in_pictures_of_structures(kind: Any) -> None:
    for names in pairs():
        structure, truth = kind(names)
        figure, axes = new_axes()
        draw_structure(sb.analyse(structure, truth), 1000, ax=axes)
        shown = texts(figure)
        for name in names:
            assert name in shown, (name, shown)
        if kind is finite:  # arms across, models downwards
            assert all(shown.count(name) >= 2 for name in names)
        if kind is curves:
            assert any(text.endswith(f" off, drops {names[1]}") for text in shown)
        if kind is polytope:
            assert any(text.startswith(f"{names[1]} best: ") for text in shown), shown


def test_policies_in_figures_of_regret() -> None:
    figure, axes = new_axes()
    draw_regret(result(HOSTILE, 2), axes, legend=True)
    shown = texts(figure)
    assert [text for text in shown if text in HOSTILE] == HOSTILE  # each of them, in their order
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        plain(n) for n in HOSTILE
    ]


def test_policies_and_arms_in_figures_of_pulls() -> None:
    figure, axes = new_axes()
    draw_pulls(result(HOSTILE, 2), ("tea", "coffee"), ax=axes)
    assert {*HOSTILE, "tea", "coffee"} <= set(texts(figure))
    figure, axes = new_axes()
    draw_pulls(result(["UCB"], len(HOSTILE)), tuple(HOSTILE), ax=axes)
    assert {*HOSTILE, "UCB"} <= set(texts(figure))


def test_a_result_plots_itself_twice_with_hostile_names() -> None:
    _, axes = new_axes()
    one = result(["_x", "$"], 2)
    one.plot(axes)
    one.plot(axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["_x", r"\$"] * 2


@pytest.mark.parametrize("name", ["nul\0", "new\nline", "\x1b[2J", "\ud800", "\u202eback"])
def test_characters_that_cannot_be_seen_become_a_mark(name: str) -> None:
    figure, axes = new_axes()
    draw_regret(result([name], 2), axes)
    shown = texts(figure)
    seen = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name)
    assert seen in shown


def test_long_names_are_cut() -> None:
    figure, axes = new_axes()
    draw_regret(result(["x" * 300], 2), axes)
    assert "x" * 23 + "…" in texts(figure)


def test_policies_at_the_ends_of_their_lines() -> None:
    figure, axes = new_axes()
    draw_regret(result(HOSTILE[:6], 2), axes)
    assert not axes.get_legend().get_texts()
    assert set(HOSTILE[:6]) <= set(texts(figure))


def test_a_policy_without_a_name_is_in_the_legend() -> None:
    _, axes = new_axes()
    draw_regret(result(["", "UCB"], 2), axes, legend=True)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["", "UCB"]


def inside(figure: Figure) -> bool:
    """Whether all that is drawn lies in the figure, and no legend covers the axes or their ticks."""
    figure.draw_without_rendering()
    (axes,) = figure.axes
    legend = axes.get_legend().get_window_extent()
    box = figure.bbox
    ticks = [label.get_window_extent() for label in axes.get_xticklabels()]
    within = all(
        box.x0 - 1 <= each.x0 and each.x1 <= box.x1 + 1 and box.y0 - 1 <= each.y0
        for each in (legend, *ticks)
    )
    return within and not any(legend.overlaps(each) for each in (axes.bbox, *ticks))


@pytest.mark.parametrize("length", [3, 12, 300])
def test_long_names_fit_in_the_figure(length: int) -> None:
    names = [f"{number} {'x' * length}" for number in range(6)]
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    draw_pulls(result(names, 6), tuple(names), ax=figure.subplots())
    assert inside(figure)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    draw_regret(result(names, 2), figure.subplots())
    assert inside(figure)
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    structure, truth = polytope(names)
    draw_structure(sb.analyse(structure, truth), 1000, ax=figure.subplots())
    assert inside(figure)


@pytest.mark.parametrize("scale", [0.1, 1.0, 12.0, 1e6])
def test_ticks_say_where_they_stand(scale: float) -> None:
    figure, axes = new_axes()
    scaled = result(["UCB"], 2)
    scaled.regret["UCB"] *= scale
    draw_regret(scaled, axes)
    figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True):
            assert float(label.get_text().replace(",", "").replace("\N{MINUS SIGN}", "-")) == (
                pytest.approx(place)
            )
