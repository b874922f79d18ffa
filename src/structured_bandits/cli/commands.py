"""The command `structured-bandits`."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path
from typing import Any

import click

from structured_bandits import __version__
from structured_bandits.base.extras import needs
from structured_bandits.base.writing import check_file, check_files, write_whole
from structured_bandits.cli.complaints import ComplainingGroup, Complaint, stoppable
from structured_bandits.cli.service import COMMANDS
from structured_bandits.errors import MeansOutsideUnitIntervalWarning, OutputError
from structured_bandits.experiments.paper.page_texts import PRESETS
from structured_bandits.structures.base import Structure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure

SEED = "The seed of all random numbers: the same seed gives the same results."
WORKERS = "How many runs are played at the same time. Without it, as many as there are cores."


@click.group(cls=ComplainingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Choose well among arms whose rewards are related.

    You write down what you know before the first pull (a structure: the models that are possible).
    `analyse` says how hard that makes the problem, `advise` says which policy to take, `compare` lets
    policies play on it, `sweep` does so for many settings, and `reproduce` runs the experiments of the
    paper behind the library. `init` writes an example to begin with. `explore` shows a structure on a
    page. `serve` lets a policy choose live, over HTTP, with a dashboard; `demo` shows that with
    simulated customers.
    """


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--truth",
    help="The model that is assumed to be true: its name, its parameter (for polytopes parameter:a,b,…) "
    "or its means a,b,…. Without it, the report has a row for each model.",
)
@click.option("--horizon", default=10_000, show_default=True, help="How many pulls there will be.")
@click.option(
    "--beta",
    default=1.0,
    show_default=True,
    help="SAE's parameter beta, at least 1; a larger one makes more arms sure to be played as helpers.",
)
@click.option(
    "--family",
    type=click.Choice(["bernoulli", "gaussian"]),
    default="bernoulli",
    show_default=True,
    help="The rewards in the Graves–Lai bound and in --simulate. bernoulli: only the lowest and the "
    "highest reward occur; gaussian: the deviation is half the range.",
)
@click.option(
    "--rewards",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="The lowest and the highest reward. Without it, what the structure declares, or else 0 and 1.",
)
@click.option(
    "--simulate",
    "runs",
    type=click.IntRange(min=1),
    help="Also simulate: play this many runs of each policy.",
)
@click.option(
    "--policies",
    help="The policies to simulate and to give bounds for: SAE,SUCB.paper,…, with their default "
    "parameters, or those of the paper.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the structure into this file (.svg, .png or .pdf).",
)
def analyse(
    file: Path,
    truth: str | None,
    horizon: int,
    beta: float,
    family: str,
    rewards: tuple[float, float] | None,
    runs: int | None,
    policies: str | None,
    seed: int,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Say how hard a structure is, before a single arm is pulled.

    FILE has the structure: a CSV file with a row for each model and a column for each arm, or a TOML
    file that says which kind of structure it is.
    """
    from structured_bandits.display.analysis_report import analysis_data, analysis_text
    from structured_bandits.experiments.cost import named_policies, played_policies
    from structured_bandits.structures.files.load import load_structure
    from structured_bandits.theory.analysis import analyse as analysis_of

    if truth is None:
        _overview(file, horizon, family, rewards, (runs, policies, figure), as_json)
        return
    if figure is not None:
        _check_figure(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)  # the bounds say so
        structure = load_structure(file)
        rewards = structure.range_of_rewards if rewards is None else rewards
        analysis = analysis_of(structure, _truth(structure, truth))
        bounded = named_policies(policies, structure, horizon, {"reward_range": rewards})
        played = None
        if runs is not None:
            played = played_policies(analysis, policies, horizon, family, rewards, runs, seed)
        data = analysis_data(analysis, horizon, beta, family, rewards, bounded, played)
    click.echo(json.dumps(data, indent=2, ensure_ascii=False) if as_json else analysis_text(data))
    if figure is not None:
        _draw(analysis, horizon, beta, data["reward_range"], figure)
        click.echo(f"figure: {figure}", err=True)


def _overview(
    file: Path,
    horizon: int,
    family: str,
    rewards: tuple[float, float] | None,
    of_one_truth: tuple[object, ...],
    as_json: bool,
) -> None:
    """Print a row for each model, the answer of `analyse` without a truth."""
    from structured_bandits.display.overview_report import overview_data, overview_text
    from structured_bandits.structures.files.load import load_structure
    from structured_bandits.theory.overview import overview

    if any(value is not None for value in of_one_truth):
        raise Complaint(
            "--simulate, --policies and --figure need --truth, since they are about one true model"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)  # the text says so
        structure = load_structure(file)
        data = overview_data(overview(structure, None, horizon, family, reward_range=rewards))
    if as_json:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    click.echo(overview_text(data))
    if any(row["mistaken_for"] for row in data["models"]):
        options = ["--horizon", horizon]
        options += [] if family == "bernoulli" else ["--family", family]
        options += [] if rewards is None else ["--rewards", *rewards]
        words = ["analyse", file, "--truth", data["hardest"], *options, "--simulate", 200]
        click.echo(f"next: structured-bandits {shlex.join(map(str, words))}")


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--horizon", type=click.IntRange(min=2), required=True, help="How many pulls there will be."
)
@click.option(
    "--trust",
    type=click.FloatRange(0.0, 1.0),
    default=0.5,
    show_default=True,
    help="How far you believe the structure, from 0 to 1 (0.5 if you have no idea).",
)
@click.option(
    "--family",
    type=click.Choice(["bernoulli", "gaussian"]),
    default="bernoulli",
    show_default=True,
    help="bernoulli: only the lowest and the highest reward occur; gaussian: the deviation of the "
    "rewards is half the range.",
)
@click.option(
    "--wrong",
    type=float,
    multiple=True,
    default=(0.02, 0.05),
    show_default=True,
    help="Also play where all means are off by this much; may be given several times.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=64),
    help="How often each policy is played. Without it, as often as --seconds allow.",
)
@click.option(
    "--seconds",
    default=60.0,
    show_default=True,
    help="How long to play; the time to compile comes on top.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the advice as a web page into this file (.html).",
)
def advise(
    file: Path,
    horizon: int,
    trust: float,
    family: str,
    wrong: tuple[float, ...],
    runs: int | None,
    seconds: float,
    seed: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Say which policy to take for a structure, after playing all policies that can use it.

    FILE has the structure: a CSV file with a row for each model and a column for each arm, or a TOML
    file that says which kind of structure it is.
    """
    from structured_bandits.advice.advise import advise as ask
    from structured_bandits.display.page import check_page
    from structured_bandits.structures.files.load import load_structure

    with stoppable("stopped; nothing was decided"), warnings.catch_warnings():
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)  # such models are left out
        if out is not None:
            check_page(out)
            check_file(out)
        advice = ask(
            load_structure(file),
            horizon,
            family,
            trust,
            wrong=wrong,
            runs=runs,
            seconds=seconds,
            seed=seed,
        )
        if out is not None:
            advice.save_page(out)
    text = json.dumps(advice.to_dict(), indent=2, ensure_ascii=False) if as_json else str(advice)
    click.echo(text)
    if out is not None:
        click.echo(f"page: {out}", err=True)


@main.command()
@click.argument("ids", nargs=-1)
@click.option(
    "--preset",
    type=click.Choice([*PRESETS, "both"]),
    default="both",
    show_default=True,
    help="Which settings to use where the paper leaves them open.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    help="How many runs the figures show. Without it, 100, as in the paper.",
)
@click.option(
    "--most-runs",
    type=click.IntRange(min=2),
    help="How many runs of each policy are played at most to decide the claims, or eight times as many "
    "where they are quick. Without it, 6,400.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED)
@click.option("--workers", type=click.IntRange(min=1), help=WORKERS)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="The folder for results; what is there already is not played again.",
)
@click.option(
    "--all-policies",
    is_flag=True,
    help="Also play every policy of the library in these experiments, which takes some minutes more.",
)
def reproduce(
    ids: tuple[str, ...],
    preset: str,
    runs: int | None,
    most_runs: int | None,
    seed: int,
    workers: int | None,
    out: Path,
    all_policies: bool,
) -> None:
    """Run the paper's experiments and say which of its claims hold.

    IDS say which experiments: fig1-left, fig1-right, fig2a to fig2d, fig2a-long, fig3a to fig3c,
    wagp-left, wagp-flat and wagp-right, or what several of them begin with: fig2, wagp. Without any, all
    are run. If the command is stopped, the same command continues where it was.
    """
    from structured_bandits.experiments.paper.reproduce import reproduce as run
    from structured_bandits.experiments.saved_runs import RunOptions

    presets = tuple(PRESETS) if preset == "both" else (preset,)
    with stoppable(STOPPED):
        options = RunOptions(out, runs, seed, workers)
        run(ids, presets, options, click.echo, most_runs, all_policies)


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--preset", help="Which of the [presets] in the file to use.")
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    help="How often each policy is played. Without it, as the file says.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED)
@click.option("--workers", type=click.IntRange(min=1), help=WORKERS)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for results. Without it, results/NAME beside the file.",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help='Let the file run Python code: policies of your own, policy = "module:Class".',
)
def compare(
    file: Path,
    preset: str | None,
    runs: int | None,
    seed: int,
    workers: int | None,
    out: Path | None,
    allow_code: bool,
) -> None:
    """Let policies play on a structure of your own and compare what they lose.

    FILE is a TOML file that names the structure, the policies and the horizon; `structured-bandits init`
    writes one to begin with.
    """
    from structured_bandits.experiments.paper.structures import STRUCTURES
    from structured_bandits.experiments.run import compare as run
    from structured_bandits.experiments.saved_runs import RunOptions
    from structured_bandits.experiments.settings import read_experiment

    with stoppable(STOPPED), warnings.catch_warnings():
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)  # errors say what matters
        experiment = read_experiment(file, preset, STRUCTURES, allow_code)
        name = file.stem if file.stem.strip(".") else "experiment"  # "..." would lead elsewhere
        folder = out or file.parent / "results" / name
        run(experiment, RunOptions(folder, runs, seed, workers), click.echo)


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for everything that comes out. Without it, sweeps/NAME beside FILE.",
)
@click.option("--runs", type=click.IntRange(min=1), help="Of each point; else as FILE says.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes. Without it, one for each core."
)
@click.option(
    "--cluster",
    metavar="local|ADDRESS",
    help="Play on a cluster of dask: one of this machine's own, or the scheduler at an address such as "
    "tcp://10.0.0.1:8786. All its machines must see the folder of --out under the same path.",
)
@click.option(
    "--allow-code", is_flag=True, help="FILE may name policies of your own, which are imported."
)
def sweep(
    file: Path,
    out: Path | None,
    runs: int | None,
    seed: int,
    workers: int | None,
    cluster: str | None,
    allow_code: bool,
) -> None:
    """Play an experiment for every combination of the values in its [sweep].

    FILE is an experiment as for `compare`, with a table [sweep] of keys and lists of values. What was
    played is kept: a sweep that was stopped goes on with the same command, and more --runs are added to
    those that are there.
    """
    from structured_bandits.experiments.paper.structures import STRUCTURES
    from structured_bandits.experiments.sweeps.sweep import PAGE
    from structured_bandits.experiments.sweeps.sweep import sweep as play

    with stoppable(STOPPED_SWEEP), warnings.catch_warnings():
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)  # errors say what matters
        name = file.stem if file.stem.strip(".") else "sweep"
        folder = out or file.parent / "sweeps" / name
        how: dict[str, Any] = {"workers": workers, "cluster": cluster, "allow_code": allow_code}
        how |= {"say": click.echo, "named": STRUCTURES}
        played = play(file, folder, runs=runs, seed=seed, **how)
        best = played.best()
    click.echo(best.to_string(index=False, na_rep="–", float_format="{:.4g}".format))
    click.echo(f"page: {folder / PAGE}")


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path())
def init(folder: Path) -> None:
    """Write an example into FOLDER (without it, this folder).

    The files are experiment.toml and models.csv; `structured-bandits compare` runs them as they are.
    """
    from structured_bandits.experiments.example import FILES

    present = [folder / name for name in FILES if (folder / name).exists()]
    if present:
        raise Complaint(f"{present[0]} is there already; nothing was written")
    check_files([folder / name for name in FILES], sum(map(len, FILES.values())))
    for name, text in FILES.items():
        write_whole(folder / name, text)
        click.echo(f"wrote {folder / name}")
    click.echo(f"next: structured-bandits compare {folder / 'experiment.toml'}")


STOPPED_SWEEP = "stopped; the same command goes on with the runs that are missing"
STOPPED = "stopped; the same command will go on with the policies that are missing"


def _truth(structure: Structure, text: str) -> Any:
    """Return what the user calls the truth: a model, a parameter or a vector of means."""
    if text in getattr(structure, "model_names", ()):
        return text
    polyhedral = isinstance(structure, PolyhedralStructure)
    by_parameter = polyhedral and text.startswith("parameter:")
    parts = text.removeprefix("parameter:" if by_parameter else "").split(",")
    if hasattr(structure, "model_names") and len(parts) == 1:
        return text
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        kinds = {"curves": "a parameter", "polyhedral": "parameter:a,b,…"}
        expected = kinds.get(structure.kind, "a model")
        raise Complaint(
            f"--truth {text}: expected {expected} or means separated by commas"
        ) from None
    if isinstance(structure, PolyhedralStructure):
        return structure.at(numbers) if by_parameter else numbers
    return numbers if len(numbers) > 1 else numbers[0]


def _check_figure(path: Path) -> None:
    """Complain, before anything is computed, if a figure could not be written."""
    if path.suffix not in (".svg", ".png", ".pdf"):
        raise Complaint(f"--figure {path}: expected a name that ends in .svg, .png or .pdf")
    try:
        check_file(path)
    except OutputError as error:
        raise Complaint(f"--figure {error}") from None


def _draw(analysis: Any, horizon: int, beta: float, rewards: list[float], path: Path) -> None:
    with needs("--figure", extra="report"):
        from matplotlib.figure import Figure

    from structured_bandits.display.figures import write_figure
    from structured_bandits.display.structure_figure import draw_structure, figure_size

    figure = Figure(figsize=figure_size(analysis.structure), layout="constrained")
    draw_structure(analysis, horizon, beta, figure.subplots(), rewards[1] - rewards[0])
    write_figure(figure, path)


for _command in COMMANDS:
    main.add_command(_command)
