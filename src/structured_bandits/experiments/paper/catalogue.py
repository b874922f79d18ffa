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
GROUPS = {"wagp": ("wagp-left", "wagp-flat", "wagp-right")}


def experiments(ids: tuple[str, ...], preset: str) -> list[Experiment]:
    """Return experiments by id, all of them if none is given."""
    chosen: list[str] = []
    for each in ids or IDS:
        if each not in IDS and each not in GROUPS:
            accepted = ", ".join([*IDS, *GROUPS])
            raise ParameterError(f"experiment {each!r} is unknown; accepted are {accepted}")
        chosen += GROUPS.get(each, (each,))
    return [
        read_experiment(FOLDER / f"{each}.toml", preset, STRUCTURES)
        for each in dict.fromkeys(chosen)
    ]
