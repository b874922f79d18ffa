"""The page of advice: words, figure, table and how it was made, in one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from structured_bandits.advice.tables import LEGEND, cells, heads, notes
from structured_bandits.advice.words import needs_no_policy
from structured_bandits.extras import needs
from structured_bandits.plots.advice import draw_advice, figure_size
from structured_bandits.report.figures import inline_svg, svg_text
from structured_bandits.report.page import check_page, facts_html, table_html, text_html, whole_page
from structured_bandits.writing import write_whole

if TYPE_CHECKING:
    from structured_bandits.advice.advice import Advice


def save_page(advice: Advice, path: str | os.PathLike[str]) -> None:
    """Write the page; a file of somebody else that stands there is left alone."""
    check_page(Path(path))
    write_whole(path, page_html(advice))


def page_html(advice: Advice) -> str:
    """Return the page."""
    info = advice.info
    figure = (
        f'<section><h2>Regret</h2><figure class="advice">{_figure(advice)}<figcaption>Mean regret with '
        "95 % intervals: inside the structure, and on truths whose means are all off by as much as "
        "said.</figcaption></figure></section>"
    )
    facts = {
        "structure": info["structure"],
        "pulls": f"{info['horizon']:,}",
        "trust": f"{info['trust']:g}",
        "rewards": f"{info['family']}, {info['rewards']} for all policies",
        "seed": str(info["seed"]),
        "time": f"{info['seconds']:g} s of playing, {info['compiling']:g} s of compiling",
        **info["versions"],
    }
    only = info["best_everywhere"]
    chosen = next(row for row in advice.table if row["policy"] == advice.name)
    title = f"Play {only}" if needs_no_policy(chosen, only) else f"Take {advice.name}"
    body = [f"<h1>{text_html(title)}</h1>", advice_html(advice), figure, facts_html(facts)]
    return whole_page(title, body)


def advice_html(advice: Advice) -> str:
    """Return words and table as a part of a page or of a notebook."""
    rows = [cells(advice, row) for row in advice.table]
    said = "".join(f"<p>{text_html(note)}</p>" for note in [LEGEND, *notes(advice)])
    return (
        f"<p>{text_html(advice.words)}</p>"
        f'<section id="table"><h2>All candidates</h2>{table_html(heads(advice), rows)}{said}</section>'
    )


def _figure(advice: Advice) -> str:
    with needs("A page", extra="report"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=figure_size(advice.table), layout="constrained")
    draw_advice(advice.table, figure.subplots())
    return inline_svg(svg_text(figure))
