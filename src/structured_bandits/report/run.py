"""Reproducing the paper, or comparing policies on one's own structure: run, decide, write the page."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from pathlib import Path

from structured_bandits.experiments.compile_ahead import compiling_ahead
from structured_bandits.experiments.evidence import Verdict
from structured_bandits.experiments.paper.catalogue import experiments
from structured_bandits.experiments.paper.claims import CLAIMS
from structured_bandits.experiments.runner import (
    Plan,
    gather,
    result_path,
    run_policy,
    strangers,
    sweep,
)
from structured_bandits.experiments.settings import Experiment
from structured_bandits.extras import needs
from structured_bandits.report.figures import (
    draw_experiment,
    inline_svg,
    numbers,
    save_figure,
    save_numbers,
)
from structured_bandits.report.page import Page, Shown, check_page, tally, write_page
from structured_bandits.report.tables import table_text
from structured_bandits.simulation.result import Result

Say = Callable[[str], None]

PRESETS = {
    "equal-widths": (
        "the fair comparison: every policy has the same confidence widths (alpha = 2), ASAE is read as "
        "its proofs need it, the truth lies in the middle of the shaded region."
    ),
    "figures": (
        "a reading under which nothing that Section 6 says of regrets is contradicted: SUCB and UCB "
        "with alpha = 4 (the paper's 2 at another sigma), ASAE with other periods, the truth at the "
        "left edge. It was fitted to the claims: it shows that such a reading exists, not its use."
    ),
}
NOTES = [
    ("I-2", "Figure 1 right: the mean of arm 2 in the fourth model is 0.92, as drawn, not 0.2."),
    ("I-3, I-4, I-7", "ASAE's pseudo-code, proofs and text differ; the presets use two readings."),
    ("I-6", "Arm 4 cannot save pulls of arm 2; Section 6 itself speaks of arm 3."),
    ("I-11", "Random structures: the paper gives neither horizon nor eta; 50,000 and 0.1 here."),
    ("I-12", "The paper does not say which widths SUCB and UCB had. They decide who wins."),
    ("I-13", "Where in the shaded region the truth lies is not said; all regrets depend on it."),
    (
        "I-27",
        "Section 3.1's saving on Figure 1 right is 3 % of pulls without phases, none with them.",
    ),
    ("I-32", "SUCB does pull arm 4 in some runs; it rarely pulls it."),
    ("I-35", "How WAGP inverts flat means is not said; we take the middle."),
]


def reproduce(ids: tuple[str, ...], presets: tuple[str, ...], plan: Plan, say: Say) -> Path:
    """Run the paper's experiments, print the claims and write the page; return its path."""
    chosen = {preset: experiments(ids, preset) for preset in presets}
    results, seconds = run_all([e for each in chosen.values() for e in each], plan, say)
    verdicts = {
        preset: decide({e.id: results[e.id, preset] for e in each})
        for preset, each in chosen.items()
    }
    title = "A Novel Confidence-Based Algorithm for Structured Bandits: the experiments, again"
    lead = (
        "Tirinzoni, Lazaric and Restelli (AISTATS 2020), Section 6 and Appendix F, with the paper's "
        "settings where it gives them; what it leaves open is a preset. A claim is decided if the "
        "difference lies eight standard errors from zero; an undecided one leans one way or the other."
    )
    page = Page(title, lead, {preset: PRESETS[preset] for preset in presets}, notes=NOTES)
    judged = {claim for each in verdicts.values() for claim in each}
    page.claims = tuple(claim for claim in CLAIMS if claim.id in judged)
    page.verdicts = verdicts if page.claims else {}
    side_by_side = [e for pair in zip(*chosen.values(), strict=True) for e in pair]
    path = publish(page, side_by_side, results, plan, seconds)
    say(claims_text(verdicts))
    say(f"page: {path}")
    return path


def compare(experiment: Experiment, plan: Plan, say: Say) -> Path:
    """Run one experiment, print its table and write its page; return its path."""
    results, seconds = run_all([experiment], plan, say)
    page = Page(experiment.title, experiment.caption, {experiment.preset: ""})
    path = publish(page, [experiment], results, plan, seconds)
    result = results[experiment.id, experiment.preset]
    if result is not None:
        say(regret_text(result))
    say(f"page: {path}")
    return path


def run_all(
    chosen: list[Experiment], plan: Plan, say: Say
) -> tuple[dict[tuple[str, str], Result | None], float]:
    """Play what has not been played; return results by experiment and preset, and the seconds."""
    with needs("Running experiments", extra="cli"):
        from tqdm import tqdm

    check_page(plan.out / "report.html")
    sweep(plan)
    tasks = {result_path(e, name, plan): (e, name) for e in chosen for name in e.specs}
    done = sum(path.exists() for path in tasks)
    if done:
        say(f"{done} of {len(tasks)} results are there already, from {plan.out}/data")
    begin = time.perf_counter()
    ahead = compiling_ahead([task for path, task in tasks.items() if not path.exists()])
    with ahead, tqdm(tasks.values(), unit="policy", disable=None, leave=False) as bar:
        for experiment, name in bar:
            bar.set_description(f"{experiment.data} ({experiment.preset}): {name}")
            run_policy(experiment, name, plan)
    seconds = time.perf_counter() - begin
    for path in strangers(plan):
        say(f"not ours, left alone: {path}")
    results = {(e.id, e.preset): gather(e, plan) if e.specs else None for e in chosen}
    return results, seconds


def decide(results: dict[str, Result | None]) -> dict[str, Verdict]:
    """Return the verdict on every claim whose experiment was run."""
    return {
        claim.id: claim.test.decide(result)
        for claim in CLAIMS
        if (result := results.get(claim.experiment)) is not None
    }


def publish(
    page: Page,
    chosen: list[Experiment],
    results: dict[tuple[str, str], Result | None],
    plan: Plan,
    seconds: float,
) -> Path:
    """Draw and save the figures, their numbers and the page."""
    for experiment in chosen:
        result = results[experiment.id, experiment.preset]
        figure = draw_experiment(experiment, result)
        name = f"{experiment.id}-{experiment.preset}".replace(" ", "-")
        svg = save_figure(figure, plan.out / "figures" / name)
        if result is not None:
            save_numbers(numbers(experiment, result), plan.out / "numbers" / name)
        page.shown.append(Shown(experiment, inline_svg(svg), result))
    some = next((result for result in results.values() if result is not None), None)
    page.facts = {
        "seed": str(plan.seed),
        "runs": str(some.runs) if some else "none",
        "time for the simulations": f"{seconds:.0f} s in this call, without what was saved before",
        "machine": f"{platform.system()} {platform.machine()}",
        **(some.info["versions"] if some else {}),
    }
    path = plan.out / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_page(page, path)
    return path


def claims_text(verdicts: dict[str, dict[str, Verdict]]) -> str:
    """Return the claims and their verdicts as a table for the terminal."""
    rows = [["claim", *verdicts]]
    for claim in CLAIMS:
        if any(claim.id in each for each in verdicts.values()):
            rows.append([claim.id, *(_outcome(each.get(claim.id)) for each in verdicts.values())])
    if len(rows) == 1:
        return "no claim is decided by these experiments"
    totals = [f"{preset}: {tally(each)}" for preset, each in verdicts.items()]
    return "\n".join([table_text(rows), "", *totals])


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    return f"{verdict.outcome} ({verdict.leaning})" if verdict.leaning else verdict.outcome


def regret_text(result: Result) -> str:
    """Return the regret of each policy as a table for the terminal."""
    rows = [["policy", "mean regret", "95 % interval", "median", "empty sets", "width"]]
    for name, row in result.summary().iterrows():
        rows.append(
            [
                str(name),
                f"{row['mean']:.1f}",
                f"{row['low']:.1f} to {row['high']:.1f}",
                f"{row['median']:.1f}",
                f"{row['empty']:.1f}",
                str(row["width"]),
            ]
        )
    return table_text(rows)
