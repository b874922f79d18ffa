"""The page of a reproduction or comparison: one HTML file that opens from disk, without a network.

All that is shown is escaped and free of control characters.
"""

from __future__ import annotations

import html as escaping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structured_bandits.base import text_tables
from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import without_controls
from structured_bandits.base.writing import safe_name, write_whole
from structured_bandits.display.verdicts import (
    CAPPED,
    FAILS,
    HOLDS,
    OPEN,
    SAME,
    Findings,
    Shown,
    Statement,
    Verdict,
    tally,
)
from structured_bandits.errors import FileFormatError, OutputError
from structured_bandits.policies.paper_variant import READINGS
from structured_bandits.simulation.regret_table import notes_on
from structured_bandits.simulation.result import Result
from structured_bandits.structures.base import labels_of

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup


GENERATOR = '<meta name="generator" content="structured-bandits">'
PACKAGE = "structured_bandits.display"


def rendered(template: str, **context: Any) -> str:
    """Return a template with these names filled in; texts are escaped, `html` is not."""
    return environment().get_template(template).render(context)


def html(text: str) -> Markup:
    """Return what is HTML already, to be shown as it is."""
    with needs("A page", extra="report"):
        from markupsafe import Markup

    return Markup(text)


@cache
def environment() -> jinja2.Environment:
    """Return what fills templates in; raises MissingExtraError where its package is missing."""
    with needs("A page", extra="report"):
        import jinja2

    def plain(value: Any) -> Any:
        return value if hasattr(value, "__html__") else without_controls(str(value))

    made = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        finalize=plain,
        undefined=jinja2.StrictUndefined,  # a misspelt name is an error, not a gap in a page
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["generator"] = html(GENERATOR)
    style = files(PACKAGE).joinpath("page.css").read_text(encoding="utf-8")
    made.globals["style"] = html(style)
    return made


READING_NAMES = {"/".join(reading): name for name, reading in READINGS.items()}
MARKS = {HOLDS: "✓", FAILS: "✗", SAME: "=", CAPPED: "?", OPEN: "?"}
CLASSES = {HOLDS: "holds", FAILS: "fails", SAME: "open", CAPPED: "open", OPEN: "open"}


@dataclass
class Page:
    """All that the page says."""

    title: str
    lead: str
    presets: dict[str, str]  # name -> what it is
    outcome: Findings | None = None
    figures: list[tuple[Shown, str]] = field(default_factory=list)  # with their SVG
    claims: tuple[Statement, ...] = ()
    verdicts: dict[str, dict[str, Verdict]] = field(default_factory=dict)  # preset -> claim id
    notes: list[tuple[str, str]] = field(default_factory=list)  # erratum, what it means here
    facts: dict[str, str] = field(default_factory=dict)  # seed, versions, time


def check_page(path: Path) -> None:
    """Raise if a file of somebody else stands where the page goes, or what draws pages is missing."""
    environment()
    if not path.is_file():
        return  # nothing is there, or no file at all, which `check_files` refuses
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            ours = GENERATOR in file.read(2000)
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from None
    if not ours:
        raise FileFormatError(
            f"{path} was not written by this program; it is left alone: move it away, or use another "
            "--out"
        )


def write_page(page: Page, path: Path) -> None:
    """Write the page; it appears under its name only once it is complete."""
    write_whole(path, page_html(page))


def page_html(page: Page) -> str:
    """Return the page: what came out, each experiment with its figures and claims, then the details."""

    def verdicts_on(claim: Statement) -> list[tuple[str, Verdict]]:
        found = [(preset, verdicts.get(claim.id)) for preset, verdicts in page.verdicts.items()]
        return [(preset, verdict) for preset, verdict in found if verdict is not None]

    return rendered(
        "page.html",
        title=page.title,
        page=page,
        experiments=_experiments(page),
        verdicts_on=verdicts_on,
        facts=page.facts,
        tally=tally,
        marks=MARKS,
        classes=CLASSES,
    )


class _Figure(NamedTuple):
    """A figure as the template shows it, with what stands under it."""

    shown: Shown
    svg: Markup
    setting: str
    table: Markup
    notes: tuple[str, ...]


class _Experiment(NamedTuple):
    """The section of an experiment: what is claimed, and its figures side by side."""

    place: str
    title: str
    caption: str
    claims: list[Statement]
    figures: list[_Figure]


def _experiments(page: Page) -> list[_Experiment]:
    """Return the figures by their experiment."""
    groups: dict[str, list[tuple[Shown, str]]] = {}
    for shown, svg in page.figures:
        groups.setdefault(shown.experiment or shown.name, []).append((shown, svg))
    return [
        _Experiment(
            f"experiment-{safe_name(name)}",
            figures[0][0].title,
            figures[0][0].caption,
            [claim for claim in page.claims if claim.experiment == name],
            [_figure(shown, svg) for shown, svg in figures],
        )
        for name, figures in groups.items()
    ]


def _figure(shown: Shown, svg: str) -> _Figure:
    table = ""
    notes: tuple[str, ...] = ()
    if shown.result:
        names = shown.problem.structure.arm_names if shown.problem else ()
        if shown.kind == "pulls" and names:
            table = _pulls_html(names, shown.result)
        else:
            table, notes = _result_html(shown.result), tuple(notes_on(shown.result))
    return _Figure(shown, html(svg), _setting_text(shown), html(table), notes)


def facts_html(facts: dict[str, str]) -> str:
    """Return the section that says how a page was made."""
    return rendered("facts.html", facts=facts).rstrip()


def whole_page(title: str, body: list[str]) -> str:
    """Return a page that needs nothing else, with the parts of its body."""
    return rendered("base.html", title=title, body=html("\n".join(body)))


def _setting_text(shown: Shown) -> str:
    where = f"The true model is {shown.problem.truth}. " if shown.problem else ""
    if shown.result is None:
        return f"{where}What drops an arm is computed for SAE with beta = {shown.beta:g}."
    runs = f"{shown.horizon:,} pulls, {shown.result.runs} runs"
    return f"{where}{runs}, {shown.rewards.capitalize()} rewards."


def _result_html(result: Result) -> str:
    rows = []
    for name, row in result.summary().iterrows():
        policy = dict(result.info["policies"][name].get("parameters", {}))
        policy["reading"] = READING_NAMES.get(str(policy.get("reading")))
        shown = ", ".join(
            f"{key}={policy[key]}"
            for key in ("alpha", "beta", "eta", "reading")
            if policy.get(key) is not None
        )
        cells = [
            str(name),
            f"{row['mean']:.1f}",
            f"{row['low']:.1f} to {row['high']:.1f}",
            f"{row['median']:.1f}",
            str(row["width"]),
            shown,
        ]
        rows.append(cells)
    heads = ("policy", "mean regret", "95 % interval", "median", "width", "parameters")
    return table_html(heads, rows)


def _pulls_html(names: tuple[str, ...], result: Result) -> str:
    rows = [
        [name, *(f"{mean:,.1f}" for mean in pulls.mean(axis=0))]
        for name, pulls in result.pulls.items()
    ]
    return table_html(("mean pulls of", *labels_of(names)), rows)


def table_html(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a table that scrolls sideways where it does not fit."""
    cells = [[(without_controls(cell), False) for cell in row] for row in rows]
    heads = tuple(map(without_controls, heads))
    return f'<div class="scroll">{text_tables.table_html(heads, cells)}</div>'


def text_html(text: str) -> str:
    """Return a text for HTML."""
    return escaping.escape(without_controls(str(text)))
