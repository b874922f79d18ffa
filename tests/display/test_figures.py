"""Figures are whole and legible: nothing is cut off or lies over something else, colours differ."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import structured_bandits as sb
from structured_bandits.display import styles
from structured_bandits.display.figures import draw_pulls
from structured_bandits.display.labels import apart
from structured_bandits.display.regret import draw_regret

matplotlib.use("Agg")
SHORT = ["UCB", "SUCB", "SAE"]
TEN = [f"policy {number}" for number in range(10)]
TWENTY = [f"a long name that ends in {number}" for number in range(20)]


def result(names: list[str], arms: int = 3, close: bool = False) -> sb.Result:
    """Return made-up runs; lines that are `close` end at the same place."""
    t = np.array([1, 10, 100, 1000])
    zeros = {name: np.zeros(20, np.int64) for name in names}
    spread = np.linspace(0.5, 1.5, 20)[:, np.newaxis]
    regret = {
        name: spread * (1.0 + (0.0 if close else number)) * np.sqrt(t)
        for number, name in enumerate(names)
    }
    pulls = {name: np.full((20, arms), 10 + number) for number, name in enumerate(names)}
    return sb.Result(t, regret, pulls, zeros, zeros)


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def boxes(ax: Axes) -> list[Any]:
    """Return where the legend, the labels of lines and the names of ticks are, in pixels."""
    legend = ax.get_legend()
    texts = [*ax.texts, *ax.get_xticklabels(), ax.xaxis.label]
    return [legend.get_window_extent(), *(t.get_window_extent() for t in texts if t.get_text())]


def is_whole(ax: Axes) -> bool:
    """Does all of it lie within the figure, and the legend below the axes and their words?"""
    ax.figure.draw_without_rendering()
    legend, *others = boxes(ax)
    inside = all(
        ax.figure.bbox.x0 <= box.x0 + 1
        and box.x1 <= ax.figure.bbox.x1 + 1
        and ax.figure.bbox.y0 <= box.y0 + 1
        for box in (legend, *others)
    )
    return inside and not any(legend.overlaps(box) for box in (ax.bbox, *others))


@pytest.mark.parametrize(
    ("names", "size", "layout"),
    [
        (SHORT, (3.0, 2.0), None),
        (TEN, (6.4, 4.2), None),
        (TEN, (6.4, 4.2), "constrained"),
        (TWENTY, (3.0, 2.0), None),
        (TWENTY, (3.0, 2.0), "constrained"),
        (TWENTY, (6.4, 4.2), "tight"),
    ],
)
def test_regret_is_whole_in_all_axes(names: list[str], size: Any, layout: Any) -> None:
    ax = Figure(figsize=size, layout=layout).subplots()
    draw_regret(result(names), ax)
    assert is_whole(ax)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_legends_keep_to_their_place_among_others(layout: Any) -> None:
    figure = Figure(figsize=(9, 7), layout=layout)
    axes = figure.subplots(2, 2).ravel()[:3]  # beside and below the first
    for ax, names in zip(axes, (TEN, SHORT, SHORT), strict=True):
        draw_regret(result(names), ax)
    assert all(map(is_whole, axes))
    for one, other in combinations(axes, 2):
        assert not one.get_legend().get_window_extent().overlaps(other.bbox)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_pulls_are_whole_with_long_names(layout: Any) -> None:
    ax = Figure(figsize=(3.3, 2.5), layout=layout).subplots()
    draw_pulls(
        result(SHORT, 8), tuple(f"a long name of an arm {number}" for number in range(8)), ax=ax
    )
    assert is_whole(ax)


def test_many_arms_are_cut_to_those_pulled_most() -> None:
    made = result(TEN, 150)
    for pulls in made.pulls.values():
        pulls[:, 100] = 999
    ax = draw_pulls(made, tuple(map(str, range(150))))
    assert "arm 100" in [label.get_text() for label in ax.get_xticklabels()]
    assert ax.get_xlabel() == "126 arms with fewer pulls are not shown"


def test_labels_at_line_ends_do_not_overlap() -> None:
    ax = draw_regret(result(TEN))
    ax.figure.draw_without_rendering()
    found = [text.get_window_extent() for text in ax.texts]
    assert len(found) == len(TEN)
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))


def test_a_legend_where_labels_would_stand_far_from_their_lines() -> None:
    ax = draw_regret(result(TEN, close=True))
    assert not ax.texts
    assert [text.get_text() for text in ax.get_legend().get_texts()] == TEN


def test_a_second_result_in_the_same_axes_turns_labels_into_a_legend() -> None:
    ax = result(SHORT).plot()
    assert len(ax.texts) == 3
    result(["other"]).plot(ax)
    assert not ax.texts
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*SHORT, "other"]
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}
    assert len(looks) == 4


def test_places_apart_are_the_nearest() -> None:
    assert apart(np.array([5.0, 5.0]), 2.0, 0.0, 10.0) == pytest.approx([4.0, 6.0])
    assert apart(np.array([9.0, 1.0, 9.5]), 2.0, 0.0, 10.0) == pytest.approx([8.0, 1.0, 10.0])
    assert apart(np.array([1.0, 2.0, 3.0]), 6.0, 0.0, 10.0) is None


# ------------------------------------------------------------------------------------ options


def test_chosen_policies_in_their_order() -> None:
    ax = result(SHORT).plot(policies=["SAE", "UCB"], legend=True)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SAE", "UCB"]
    assert len(result(SHORT).plot(policies="SAE").texts) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"policies": ["Sae"]},
            "policies: 'Sae' is not in this result; expected 'UCB', 'SUCB', 'SAE'",
        ),
        ({"policies": []}, "expected at least one of 'UCB', 'SUCB', 'SAE'"),
        ({"log": "z"}, "log='z': expected one of None, 'x', 'y', 'both'"),
        ({"bands": "median"}, "bands='median': expected one of 'mean', 'quantiles', None"),
        ({"style": "paper"}, "style='paper': expected one of 'screen', 'print', 'print-wide'"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.ParameterError) as error:
        result(SHORT).plot(**options)
    assert message in str(error.value)
    assert not plt.get_fignums()


def test_quantile_bands_hold_nine_runs_in_ten() -> None:
    made = result(["UCB"])
    ax = made.plot(bands="quantiles")
    (band,) = ax.collections
    ends = band.get_paths()[0].vertices
    last = ends[ends[:, 0] == 1000, 1]
    runs = made.regret["UCB"][:, -1]
    assert ((last.min() < runs) & (runs < last.max())).sum() == 18
    assert ax.get_lines()[0].get_ydata()[-1] == np.median(runs)
    assert not made.plot(bands=None).collections


def test_log_axes_begin_after_nothing() -> None:
    made = result([*SHORT, "perfect"])
    made.regret["perfect"] *= 0.0
    ax = made.plot(log="both")
    ax.figure.draw_without_rendering()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim()[0] == 1.0
    assert 0.0 < ax.get_ylim()[0] <= 1.0
    assert "not on a log axis, regret 0: perfect" in ax.get_legend().get_title().get_text().replace(
        "\n", " "
    )
    assert "1,000" in [label.get_text() for label in ax.get_xticklabels()]
    assert result(SHORT).plot(log="x").get_yscale() == "linear"


@pytest.mark.parametrize(("style", "width"), [("print", 3.3), ("print-wide", 6.9)])
def test_print_has_the_width_of_columns_and_letters_of_8_points(style: str, width: float) -> None:
    ax = result(SHORT).plot(style=style)
    ax.figure.draw_without_rendering()
    assert ax.figure.get_size_inches()[0] == width
    texts = [
        *ax.texts,
        *ax.get_xticklabels(),
        *ax.get_yticklabels(),
        ax.xaxis.label,
        ax.yaxis.label,
    ]
    assert {text.get_fontsize() for text in texts} == {8.0}
    assert is_whole(ax)


# ----------------------------------------------------------------------------------- heat maps


def cells_of(ax: Axes, shape: tuple[int, int]) -> list[tuple[Any, Any]]:
    """Return each text of a map with the box of the cell it stands in."""
    ax.figure.draw_without_rendering()
    width, height = ax.bbox.width / shape[1], ax.bbox.height / shape[0]
    found = []
    for text in ax.texts:
        x, y = ax.transData.transform(text.get_position())
        cell = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        found.append((text, cell))
    return found


@pytest.mark.parametrize("size", [(8.0, 5.0), (3.0, 2.5)])
@pytest.mark.parametrize("shape", [(6, 4), (30, 25)])
def test_texts_stay_in_their_cells(shape: tuple[int, int], size: Any) -> None:
    table = np.random.default_rng(2).uniform(0.01, 0.16, shape)
    ax = Figure(figsize=size, layout="constrained").subplots()
    sb.analyse(sb.FiniteStructure(table), 0).plot(1000, ax=ax)
    for text, (x0, y0, x1, y1) in cells_of(ax, shape):
        box = text.get_window_extent()
        assert text.get_fontsize() >= 5.5
        assert x0 <= box.x0 < box.x1 <= x1, text.get_text()
        assert y0 <= box.y0 < box.y1 <= y1, text.get_text()


def test_small_rates_have_the_whole_range_of_colours_and_readable_texts() -> None:
    table = np.linspace(0.01, 0.16, 24).reshape(6, 4)
    ax = sb.analyse(sb.FiniteStructure(table), 0).plot(1000)
    (picture,) = ax.images
    assert picture.get_clim() == (0.01, 0.16)
    assert len(ax.texts) == 24
    for text in ax.texts:
        place = tuple(round(part) for part in text.get_position()[::-1])
        assert contrast(picture.to_rgba(table[place]), text.get_color()) >= 4.5


# ------------------------------------------------------------------------------------- colours

#: Machado, Oliveira and Fernandes (2009), all of a kind of cones missing; of linear RGB.
SEEN = {
    "all": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: Any) -> np.ndarray:
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one: Any, other: Any) -> float:
    """The contrast of WCAG 2."""
    light, dark = sorted((float(XYZ[1] @ linear(each)) for each in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB."""
    x, y, z = np.cbrt(XYZ @ np.clip(rgb, 0.0, 1.0) / XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
def test_colours_differ_in_all_eyes(eyes: str) -> None:
    """Okabe and Ito's colours are 18 apart by this measure; a difference of 2 is just seen."""
    seen = [lab(SEEN[eyes] @ linear(colour)) for colour in styles.COLOURS]
    least = min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))
    assert least >= 25.0


@pytest.mark.parametrize("background", ["#fdfdfc", "#16181b"])
def test_colours_are_seen_on_the_backgrounds_of_pages(background: str) -> None:
    assert min(contrast(colour, background) for colour in styles.COLOURS) >= 2.4


def test_thirty_lines_differ() -> None:
    assert len({tuple(styles.line(number).values()) for number in range(30)}) == 30
