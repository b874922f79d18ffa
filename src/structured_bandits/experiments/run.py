"""Running experiments from their settings to a page: check, play, draw, write."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from structured_bandits.base.extras import needs
from structured_bandits.base.progress import with_bar
from structured_bandits.base.text_tables import printable
from structured_bandits.base.writing import check_files, safe_name, sweep_unfinished
from structured_bandits.display.figures import (
    draw_figure,
    figure_files,
    inline_svg,
    numbers,
    numbers_files,
    save_figure,
    save_numbers,
)
from structured_bandits.display.page import Page, check_page, write_page
from structured_bandits.display.verdicts import Shown, ShownProblem
from structured_bandits.experiments.compile_ahead import compiling_ahead
from structured_bandits.experiments.saved_runs import (
    RunOptions,
    gather,
    result_path,
    run_policy,
    strangers,
)
from structured_bandits.experiments.settings import Experiment
from structured_bandits.simulation.regret_table import regret_table
from structured_bandits.simulation.result import Result

Say = Callable[[str], None]
Results = dict[tuple[str, str], Result | None]  # by experiment and preset; None: nothing to play

BETA = 3.0  # the margin at which a picture of a structure shows what removes an arm
MOST_MEANS = 10_000  # of a structure that is drawn
FIGURE_SIZE = 500_000  # bytes that a figure, its numbers and its part of the page may take


def compare(experiment: Experiment, options: RunOptions, say: Say) -> Path:
    """Run one experiment, print its table and write its page; return its path."""
    views = [experiment, *other_views(experiment)]
    results, seconds = run_all(views, options, say)
    page = Page(experiment.title, experiment.caption, {experiment.preset: ""})
    path = publish(page, views, results, options, seconds)
    result = results[experiment.id, experiment.preset]
    if result is not None:
        say(regret_table(result).text())
    say(f"page: {path}")
    return path


def other_views(experiment: Experiment) -> list[Experiment]:
    """Return what else the page of a comparison shows: how often arms were pulled, and the structure."""
    if experiment.figure != "regret" or experiment.fixed is None:
        return []
    structure = experiment.fixed.structure
    pulls = replace(
        experiment,
        id=f"{experiment.id}-pulls",
        figure="pulls",
        title="Which arms were pulled",
        caption="How often each policy pulled each arm, on average over the runs.",
    )
    if len(structure.cells.best) * structure.n_arms > MOST_MEANS:
        return [pulls]
    known = replace(
        experiment,
        id=f"{experiment.id}-structure",
        figure="structure",
        title="What was known",
        caption="The candidate models, the true one marked, and what tells each arm from the best one.",
        specs={},  # nothing is played
    )
    return [pulls, known]


def run_all(chosen: Sequence[Experiment], options: RunOptions, say: Say) -> tuple[Results, float]:
    """Play what has not been played; return results by experiment and preset, and the seconds."""
    with needs("An experiment", extra="simulate"):
        from tqdm import tqdm

    sweep_unfinished(options.out.glob("*.part"))
    for folder in ("data", "figures", "numbers"):
        sweep_unfinished((options.out / folder).rglob("*.part"))
    tasks = {result_path(e, name, options): (e, name) for e in chosen for name in e.specs}
    missing = {path: task for path, task in tasks.items() if not path.is_file()}
    check_room(chosen, missing, options)
    if len(missing) < len(tasks):
        done = len(tasks) - len(missing)
        say(f"{done} of {len(tasks)} results are there already, from {options.out}/data")
    begin = time.perf_counter()
    ahead = compiling_ahead(list(missing.values()))
    with ahead, tqdm(tasks.values(), unit="policy", disable=None, leave=False) as bar:
        for experiment, name in bar:
            bar.set_description(printable(f"{experiment.data} ({experiment.preset}): {name}"))
            run_policy(experiment, name, options)
    seconds = time.perf_counter() - begin
    for path in strangers(options):
        say(f"not ours, left alone: {path}")
    results = {(e.id, e.preset): gather(e, options) if e.specs else None for e in chosen}
    return results, seconds


def check_room(
    chosen: Sequence[Experiment], missing: dict[Path, tuple[Experiment, str]], options: RunOptions
) -> None:
    """Raise, before anything is played, if what comes out of it could not be written."""
    page = page_path(options)
    check_page(page)
    size = FIGURE_SIZE * len(chosen)
    for experiment, _ in missing.values():
        arms = experiment.fixed.structure.n_arms if experiment.fixed else experiment.checkpoints
        size += 8 * options.runs_of(experiment) * (experiment.checkpoints + arms + 4)
    names = [(figure_name(e), e) for e in chosen]
    figures = [path for name, _ in names for path in figure_files(options.out, name)]
    tables = [path for name, e in names if e.specs for path in numbers_files(options.out, name)]
    check_files([page, *missing, *figures, *tables], size)


def publish(
    page: Page,
    chosen: Sequence[Experiment],
    results: Results,
    options: RunOptions,
    seconds: float,
) -> Path:
    """Draw and save the figures, their numbers and the page."""
    for experiment in with_bar(chosen, "drawing", unit="figure"):
        result = results[experiment.id, experiment.preset]
        shown = shown_of(experiment, result)
        svg = save_figure(draw_figure(shown), options.out, shown.name)
        if result is not None:
            save_numbers(numbers(shown, result), options.out, shown.name)
        page.figures.append((shown, inline_svg(svg)))
    some = next((result for result in results.values() if result is not None), None)
    page.facts = {
        "seed": str(options.seed),
        "runs": str(some.runs) if some else "none",
        "time for the simulations": f"{seconds:.0f} s in this call, without what was saved before",
        "machine": f"{platform.system()} {platform.machine()}",
        **(some.info["versions"] if some else {}),
    }
    path = page_path(options)
    write_page(page, path)
    return path


def shown_of(experiment: Experiment, result: Result | None) -> Shown:
    """Return what the figure of an experiment shows."""
    problem = experiment.fixed
    return Shown(
        name=figure_name(experiment),
        title=experiment.title,
        caption=experiment.caption,
        kind=experiment.figure,
        horizon=experiment.horizon,
        rewards=experiment.plain.get("rewards") or "bernoulli",
        problem=ShownProblem(problem.structure, problem.truth, problem.world.means)
        if problem
        else None,
        result=result,
        beta=BETA,
        experiment=experiment.id,
        preset=experiment.preset if experiment.has_presets else "",
    )


def figure_name(experiment: Experiment) -> str:
    """Return the name of the files of an experiment's figure."""
    preset = f"-{experiment.preset}" if experiment.has_presets else ""
    return safe_name(experiment.id + preset)


def page_path(options: RunOptions) -> Path:
    """Return the file of the page."""
    return options.out / "report.html"
