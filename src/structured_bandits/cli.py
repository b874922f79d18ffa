"""The command `structured-bandits`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from structured_bandits import __version__
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.curves import CurveStructure


class Complaint(click.ClickException):
    """An error of the user, without a traceback."""

    exit_code = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Bandits whose arms are related."""


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--truth", required=True, help="The true model: its name, parameter, or means a,b,….")
@click.option("--horizon", default=10_000, show_default=True, help="Number of pulls.")
@click.option("--beta", default=1.0, show_default=True, help="Margin parameter of SAE.")
@click.option(
    "--family",
    type=click.Choice(["bernoulli", "gaussian"]),
    default="bernoulli",
    show_default=True,
    help="Rewards of the Graves–Lai bound (Gaussian: sigma 1/2).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw to this file."
)
def analyse(
    file: Path,
    truth: str,
    horizon: int,
    beta: float,
    family: str,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Say how hard a structure is before a single arm is pulled.

    FILE is a CSV table of models × arms, or a TOML file with the pieces of curves.
    """
    from structured_bandits.report.analysis import analysis_data, analysis_text
    from structured_bandits.structures.load import load_structure
    from structured_bandits.theory.analysis import analyse as analysis_of

    try:
        structure = load_structure(file)
        analysis = analysis_of(structure, _truth(structure, truth))
        data = analysis_data(analysis, horizon, beta, family)
    except StructuredBanditsError as error:
        raise Complaint(str(error)) from None
    click.echo(json.dumps(data, indent=2, ensure_ascii=False) if as_json else analysis_text(data))
    if figure is not None:
        _draw(analysis, horizon, beta, figure)
        click.echo(f"figure: {figure}", err=True)


def _truth(structure: Structure, text: str) -> Any:
    """Return what the user calls the truth: a model, a parameter or a vector of means."""
    parts = text.split(",")
    if isinstance(structure, CurveStructure) or len(parts) > 1:
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            kind = "a parameter" if isinstance(structure, CurveStructure) else "a model"
            raise Complaint(
                f"--truth {text}: expected {kind} or means separated by commas"
            ) from None
        return numbers if len(numbers) > 1 else numbers[0]
    return text


def _draw(analysis: Any, horizon: int, beta: float, path: Path) -> None:
    from matplotlib.figure import Figure

    from structured_bandits.plots.structure import draw_structure, figure_size

    figure = Figure(figsize=figure_size(analysis.structure), layout="constrained")
    draw_structure(analysis, horizon, beta, figure.subplots())
    try:
        figure.savefig(path, dpi=150)
    except (ValueError, OSError) as error:
        raise Complaint(f"--figure {path}: {error}") from None
