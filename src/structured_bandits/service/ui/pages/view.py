"""What the templates are filled with, as functions of what was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structured_bandits.agents.words import cut
from structured_bandits.service.rows import Event
from structured_bandits.service.ui.pages import panels
from structured_bandits.service.ui.pages.curves import curves
from structured_bandits.service.ui.pages.first_steps import first_lines, python_lines, shell_lines
from structured_bandits.service.ui.pages.log_lines import log_lines
from structured_bandits.service.ui.pages.meanings import (
    BADGES,
    FALLBACKS,
    ORDERS,
    STATES,
    alarm_meaning,
)
from structured_bandits.service.ui.pages.words import FILTERS, policy_name
from structured_bandits.service.ui.rendering import environment
from structured_bandits.wire import ModelsView, State, Summary

LONGEST_POLICY = 1_000  # characters
LONGEST_NAME = 60


environment.filters.update(FILTERS)
environment.globals.update(
    alarm_meaning=alarm_meaning, badges=BADGES, fallbacks=FALLBACKS, orders=ORDERS, states=STATES
)


def list_page(seen: Sequence[Summary], address: str, closed: bool) -> dict[str, Any]:
    """Return what the list of experiments shows; without any, how to create the first."""
    return {"experiments": seen, "first_lines": first_lines(address, closed)}


def experiment_page(
    state: State, rows: Sequence[Event], address: str, may_act: bool, closed: bool
) -> dict[str, Any]:
    """Return what the page of an experiment shows."""
    arms, axis, left_out = panels.arm_rows(state)
    return {
        "state": state,
        "policy": cut(state.policy, LONGEST_POLICY),
        "policy_name": cut(policy_name(state.policy), LONGEST_NAME),
        "path": f"/experiments/{state.name}",
        "may_act": may_act,
        "closed": closed,
        "tiles": panels.tiles(state),
        "arms": arms,
        "axis": axis,
        "arms_left_out": left_out,
        "plan": panels.plan_of(state.arms),
        "charts": curves(state),
        "versus": panels.versus(state),
        "model_bars": panels.model_bars(state),
        "models_words": models_words(state.models),
        "missing_words": panels.missing_words(state),
        "oldest_age": panels.oldest_age(state),
        "log": log_lines(rows, [arm.name for arm in state.arms]),
        "python_lines": python_lines(state, address, closed),
        "shell_lines": shell_lines(state, address, closed),
    }


def models_words(models: ModelsView | None) -> str:
    """Say how many models fit."""
    if models is None or models.fitting is None:
        return "How many models fit is not counted for this structure."
    if models.fitting == 0:
        return "No model is within the intervals of all arms now."
    of_all = "" if models.total is None else f" of {models.total:,}"
    fit = "fits" if models.fitting == 1 else "fit"
    return f"{models.fitting:,}{of_all} {fit} the intervals of all arms."
