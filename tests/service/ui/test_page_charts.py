"""The charts of the pages: where their marks are, and that they fit a strict security policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.etree import ElementTree

from structured_bandits.service.ui.pages.charts import (
    HEIGHT,
    STRETCH,
    Line,
    interval_bar,
    line_chart,
    round_steps,
    scale_of,
    stacked_bar,
)
from structured_bandits.service.ui.scale import Scale

SVG = "{http://www.w3.org/2000/svg}"


def drawn(markup: str) -> ElementTree.Element:
    """The elements of a chart, which must be well-formed."""
    named = '<svg xmlns="http://www.w3.org/2000/svg"'
    return ElementTree.fromstring(str(markup).replace("<svg", named))


def chart(*lines: Line, **options: object) -> ElementTree.Element:
    svg = line_chart("a chart", lines, (0.0, 10.0), str, **options)  # type: ignore[arg-type]
    return drawn(f"<div>{svg}</div>")


def texts(element: ElementTree.Element) -> Iterator[str]:
    return (text.text or "" for text in element.iter(f"{SVG}text"))


def test_a_line_runs_from_corner_to_corner() -> None:
    (path,) = chart(Line("up", "c1", [(0.0, 0.0), (5.0, 2.0), (10.0, 4.0)])).iter(f"{SVG}path")
    assert path.get("d") == f"M0.0 {STRETCH}.0L500.0 500.0L1000.0 0.0"


def test_a_step_stays_until_it_changes() -> None:
    (path,) = chart(Line("down", "c1", [(0.0, 4.0), (5.0, 0.0)], steps=True)).iter(f"{SVG}path")
    assert path.get("d") == f"M0.0 0.0H500.0V{STRETCH}.0"


def test_a_single_point_and_no_point_at_all() -> None:
    (path,) = chart(Line("one", "c1", [(0.0, 4.0)])).iter(f"{SVG}path")
    assert path.get("d") == "M0.0 0.0h8"
    assert not list(chart(Line("none", "c1", [])).iter(f"{SVG}path"))


def test_whole_numbers_have_no_fractions_between_them() -> None:
    few = Line("arms", "c1", [(0.0, 2.0), (10.0, 1.0)])
    assert "0.5" in texts(chart(few))
    assert {"0", "1", "2"} <= set(texts(chart(few, whole=True)))
    assert "0.5" not in texts(chart(few, whole=True))


def test_a_threshold_is_drawn_within_the_chart() -> None:
    low = Line("evidence", "c1", [(0.0, 0.0), (10.0, 0.5)])
    (line,) = (
        each
        for each in chart(low, threshold=4.0).iter(f"{SVG}line")
        if each.get("class") == "threshold"
    )
    assert 0 < float(line.get("y1", "")) < HEIGHT / 4


def test_a_short_time_is_labelled_at_its_ends_and_not_twice() -> None:
    def labels(label_of: Callable[[float], str]) -> list[tuple[str | None, str | None]]:
        svg = drawn(f"<div>{line_chart('a chart', [], (0.0, 10.0), label_of)}</div>")
        axis = [text for text in svg.iter(f"{SVG}text") if text.get("y") == str(HEIGHT - 6)]
        return [(text.text, text.get("text-anchor")) for text in axis]

    assert labels(str) == [("0.0", "start"), ("10.0", "end"), ("5.0", "middle")]
    assert labels(lambda at: str(at > 2)) == [("False", "start"), ("True", "end")]
    assert labels(lambda at: "now") == [("now", "start")]


def test_an_interval_is_where_its_ends_are() -> None:
    bar = drawn(interval_bar(Scale(0.0, 2.0), 0.5, 1.0, 0.75))
    (rect,), (dot,) = bar.iter(f"{SVG}rect"), bar.iter(f"{SVG}circle")
    assert (rect.get("x"), rect.get("width"), dot.get("cx")) == ("25.00%", "25.00%", "37.50%")


def test_an_interval_with_open_ends_runs_to_the_edges_and_has_no_dot() -> None:
    bar = drawn(interval_bar(Scale(0.0, 2.0), None, None, None))
    (rect,) = bar.iter(f"{SVG}rect")
    assert (rect.get("x"), rect.get("width")) == ("0.00%", "100.00%")
    assert not list(bar.iter(f"{SVG}circle"))


def test_parts_fill_the_whole() -> None:
    rects = list(drawn(stacked_bar([(1, "a"), (3, "b")], "parts")).iter(f"{SVG}rect"))
    assert [each.get("width") for each in rects] == ["25.00%", "75.00%"]
    assert [each.get("x") for each in rects] == ["0.00%", "25.00%"]
    nothing = drawn(stacked_bar([(0, "a"), (0, "b")], "nothing")).iter(f"{SVG}rect")
    assert {each.get("width") for each in nothing} == {"0.00%"}


def test_a_scale_is_that_of_the_arms_that_were_pulled() -> None:
    scale, _ = scale_of([(0.01, 0.03, 0.02), (0.0, 1.0, None)])
    assert scale == Scale(0.01, 0.03)
    assert scale_of([(0.0, 1.0, None)])[0] == Scale(0.0, 1.0)
    assert scale_of([(None, None, None)])[0] == Scale(0.0, 1.0)
    assert scale_of([(float("-inf"), float("inf"), 3.0)])[0] == Scale(3.0, 4.0)


def test_round_steps_cover_any_range() -> None:
    for low, high in [(0.0, 1e-9), (-3.7, 12.2), (0.0, 1e15), (99_999.0, 100_001.0), (-5.0, -5.0)]:
        steps = round_steps(low, high)
        assert steps[0] <= low + 1e-9 * abs(low)
        assert steps[-1] >= high - 1e-9 * abs(high)
        assert 2 <= len(steps) <= 5


def test_labels_are_escaped_and_nothing_has_a_style() -> None:
    svg = line_chart('"><script>', [Line("a", "c1", [(0.0, 1.0)])], (0.0, 1.0), lambda at: "<b>")
    assert "<script>" not in svg
    assert "<b>" not in svg
    assert "style=" not in svg
