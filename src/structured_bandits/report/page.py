"""The page of a reproduction or comparison: one HTML file that opens from disk, without a network."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from structured_bandits.base import text_tables
from structured_bandits.base.text_tables import without_controls
from structured_bandits.base.writing import safe_name, write_whole
from structured_bandits.errors import FileFormatError, OutputError
from structured_bandits.policies.reading import READINGS
from structured_bandits.report.verdicts import (
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
from structured_bandits.simulation.regret_table import notes_on
from structured_bandits.simulation.result import Result
from structured_bandits.structures.base import labels_of

GENERATOR = '<meta name="generator" content="structured-bandits">'
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
    """Raise if a file of somebody else stands where the page goes."""
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
    body = [f"<h1>{text_html(page.title)}</h1>", f"<p>{text_html(page.lead)}</p>"]
    if page.outcome:
        body.append(_outcome_html(page.outcome, page.presets))
    groups = _experiments(page)
    links = "".join(
        f'<li><a href="#{_place(key)}">{text_html(shown[0][0].title)}</a></li>'
        for key, shown in groups.items()
    )
    body.append(f'<nav><h2>Figures</h2><ul class="contents">{links}</ul></nav>')
    body += [_experiment_html(page, key, shown) for key, shown in groups.items()]
    if page.claims:
        body.append(_claims_html(page))
    if page.notes:
        items = "".join(
            f"<dt>{text_html(i)}</dt><dd>{text_html(text)}</dd>" for i, text in page.notes
        )
        body.append(
            f'<section id="errata"><h2>Errata that matter here</h2><dl>{items}</dl></section>'
        )
    body.append(facts_html(page.facts))
    return whole_page(page.title, body)


def _outcome_html(outcome: Findings, presets: dict[str, str]) -> str:
    """Return the section that says what came out, and what the two readings are."""
    readings = _list_html(
        f"<b>{text_html(name)}</b>: {text_html(presets[name])}" for name in presets
    )
    details = "".join(
        f"<p>{text_html(heading)}:</p>{_list_html(map(text_html, statements))}"
        for heading, statements in outcome.lists.items()
        if statements
    )
    return (
        f'<section id="outcome"><h2>What came out</h2><p>{text_html(outcome.counts)}</p>{readings}'
        f"{details}<p>{text_html(outcome.sureness)}</p></section>"
    )


def _list_html(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _experiments(page: Page) -> dict[str, list[tuple[Shown, str]]]:
    """Return the figures by their experiment."""
    groups: dict[str, list[tuple[Shown, str]]] = {}
    for shown, svg in page.figures:
        groups.setdefault(shown.experiment or shown.name, []).append((shown, svg))
    return groups


def _place(experiment: str) -> str:
    return f"experiment-{safe_name(experiment)}"


def _experiment_html(page: Page, experiment: str, figures: list[tuple[Shown, str]]) -> str:
    """Return the section of an experiment: what is claimed, and its figures side by side."""
    first = figures[0][0]
    claims = "".join(
        f"<li>{text_html(claim.statement)} {_short_verdicts(page, claim)}</li>"
        for claim in page.claims
        if claim.experiment == experiment
    )
    parts = "".join(_figure_html(shown, svg) for shown, svg in figures)
    side = ' class="side"' if len(figures) > 1 else ""
    return (
        f'<section id="{_place(experiment)}"><h2>{text_html(first.title)}</h2>'
        f"<p>{text_html(first.caption)}</p>"
        + (f'<ul class="said">{claims}</ul>' if claims else "")
        + f"<div{side}>{parts}</div></section>"
    )


def _short_verdicts(page: Page, claim: Statement) -> str:
    """Return the verdicts on a claim in a line, one for each preset."""
    several = len(page.verdicts) > 1
    return " ".join(
        _mark_html(verdict, f" ({preset})" if several else "")
        for preset, verdicts in page.verdicts.items()
        if (verdict := verdicts.get(claim.id)) is not None
    )


def facts_html(facts: dict[str, str]) -> str:
    """Return the section that says how a page was made."""
    rows = "".join(
        f"<tr><th>{text_html(k)}</th><td>{text_html(v)}</td></tr>" for k, v in facts.items()
    )
    return f'<section id="facts"><h2>How it was made</h2><table>{rows}</table></section>'


def whole_page(title: str, body: list[str]) -> str:
    """Return a page that needs nothing else, with the parts of its body."""
    style = files("structured_bandits.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{GENERATOR}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text_html(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{chr(10).join(body)}\n</main>\n</body>\n</html>\n"
    )


def _claims_html(page: Page) -> str:
    heads = "".join(f"<th>{text_html(preset)}</th>" for preset in page.verdicts)
    rows = []
    for claim in page.claims:
        cells = "".join(
            f'<td data-label="{text_html(preset)}">{_verdict_html(verdicts.get(claim.id))}</td>'
            for preset, verdicts in page.verdicts.items()
        )
        rows.append(
            f'<tr id="claim-{claim.id}"><td class="claim">{text_html(claim.statement)}'
            f'<span class="where">{text_html(claim.where)} · {text_html(claim.id)}</span></td>'
            f"{cells}</tr>"
        )
    totals = "".join(
        f"<li><b>{text_html(name)}</b>: {tally(verdicts.values())}.</li>"
        for name, verdicts in page.verdicts.items()
    )
    return (
        f'<section id="claims"><h2>Every claim</h2><ul>{totals}</ul>'
        f'<table class="claims"><thead><tr><th>claim</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _verdict_html(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    return f'{_mark_html(verdict)}<span class="numbers">{text_html(verdict.numbers)}</span>'


def _mark_html(verdict: Verdict, more: str = "") -> str:
    """Return a verdict in its colour, with its mark."""
    mark = MARKS[verdict.outcome]
    return (
        f'<span class="{CLASSES[verdict.outcome]}">{mark} {text_html(verdict.text + more)}</span>'
    )


def _figure_html(shown: Shown, svg: str) -> str:
    table = ""
    if shown.result:
        names = shown.problem.structure.arm_names if shown.problem else ()
        pulls = shown.kind == "pulls" and names
        table = _pulls_html(names, shown.result) if pulls else _result_html(shown.result)
    head = f"<h3>{text_html(shown.preset)}</h3>" if shown.preset else ""
    return (
        f'<div>{head}<figure class="{shown.kind}" id="{shown.name}">'
        f"{svg}<figcaption>{text_html(_setting_text(shown))}</figcaption></figure>{table}</div>"
    )


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
    warnings = "".join(f"<p>{text_html(line)}</p>" for line in notes_on(result))
    return table_html(heads, rows) + warnings


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
    return html.escape(without_controls(str(text)))
