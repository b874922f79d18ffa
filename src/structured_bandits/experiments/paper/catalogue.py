"""The paper's experiments by id."""

from __future__ import annotations

from pathlib import Path

from structured_bandits.errors import ParameterError
from structured_bandits.experiments.paper.structures import STRUCTURES
from structured_bandits.experiments.settings import Experiment, read_experiment

FOLDER = Path(__file__).parent / "settings"
IDS = (
    "fig1-left",
    "fig1-right",
    "fig2a",
    "fig2a-long",
    "fig2b",
    "fig2c",
    "fig2d",
    "fig3a",
    "fig3b",
    "fig3c",
    "wagp-left",
    "wagp-flat",
    "wagp-right",
)


def experiments(ids: tuple[str, ...], preset: str) -> list[Experiment]:
    """Return experiments by id or by what ids begin with (`matching_ids`), all if none is given."""
    chosen = dict.fromkeys(found for each in ids or IDS for found in matching_ids(each))
    return [read_experiment(FOLDER / f"{each}.toml", preset, STRUCTURES) for each in chosen]


def matching_ids(text: str) -> tuple[str, ...]:
    """Return the id that a text is, or all ids that begin with it.

    >>> matching_ids("fig2a")
    ('fig2a',)
    >>> matching_ids("fig2")
    ('fig2a', 'fig2a-long', 'fig2b', 'fig2c', 'fig2d')
    """
    matching = tuple(each for each in IDS if each.startswith(text)) if text else ()
    if not matching:
        raise ParameterError(
            f"experiment {text!r} is unknown; accepted are {', '.join(IDS)}, and what several of them "
            "begin with, such as fig2"
        )
    return (text,) if text in IDS else matching
