"""What the templates are filled with, as functions of what was read.

For newcomers there are lines to copy: they work as they are, with the name and address of the
experiment.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from typing import Any

from structured_bandits.agents.words import cut
from structured_bandits.service.rows import Event
from structured_bandits.service.ui.pages import panels
from structured_bandits.service.ui.pages.curves import curves
from structured_bandits.service.ui.pages.sentences import (
    BADGES,
    FALLBACKS,
    ORDERS,
    STATES,
    alarm_meaning,
    log_lines,
)
from structured_bandits.service.ui.pages.words import FILTERS, policy_name
from structured_bandits.service.ui.rendering import environment
from structured_bandits.service.wire import ModelsView, State, Summary

PLAIN_REWARD = 1.0  # if every number is a reward

#: The body of a request that creates an experiment, written as people would.
FIRST_BODY = """{"spec": {
    "structure": {"kind": "finite", "arms": ["tea", "coffee"],
                  "means": [[0.8, 0.3], [0.2, 0.7], [0.5, 0.5]]},
    "policy": {"kind": "SAE"},
    "horizon": 100000}}"""


def first_lines(address: str, closed: bool) -> str:
    """Return the lines that create an experiment on an empty server."""
    return curl_line("PUT", f"{address}/v1/experiments/drinks", FIRST_BODY, closed)


def python_lines(state: State, address: str, closed: bool) -> str:
    """Return a program that asks for one arm and tells its reward."""
    token = ', token=os.environ["SB_TOKEN"]' if closed else ""
    lines = [
        *(["import os"] if closed else []),
        "import structured_bandits as sb",
        "",
        f"agent = sb.RemoteAgent({_text(address)}, {_text(state.name)}{token})",
        "decision = agent.ask()",
        "print(decision.name)  # show this arm",
        f"agent.tell(decision.id, {possible_reward(state)!r})",
    ]
    return "\n".join(lines)


def shell_lines(state: State, address: str, closed: bool) -> str:
    """Return two lines of curl: ask for an arm for one visitor, tell the visitor's reward."""
    ask = {"key": "visitor-1"}
    tell = {"key": "visitor-1", "reward": possible_reward(state)}
    return "\n".join(
        curl_line("POST", f"{address}/v1/experiments/{state.name}/{verb}", json.dumps(body), closed)
        for verb, body in (("ask", ask), ("tell", tell))
    )


def curl_line(method: str, url: str, body: str, closed: bool) -> str:
    """Return a request with a body of JSON, for a shell."""
    token = ' -H "Authorization: Bearer $SB_TOKEN"' if closed else ""
    kind = "-H 'Content-Type: application/json'"
    sent = shlex.quote(body)
    return f"curl -X {method} {shlex.quote(url)}{token} \\\n  {kind} \\\n  -d {sent}"


def possible_reward(state: State) -> float:
    """Return a reward that the experiment takes: the highest, or 1 if there is none.

    The interval of an arm that was never pulled is the whole range of rewards.
    """
    highest = [arm.high for arm in state.arms if arm.high is not None and math.isfinite(arm.high)]
    return min(PLAIN_REWARD, *highest) if highest else PLAIN_REWARD


def _text(text: str) -> str:
    """Return a text as Python writes it, in double quotes as people do."""
    return json.dumps(text, ensure_ascii=False)


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
