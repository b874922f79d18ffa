"""Lines that a newcomer can copy: they work as they are, with the name and address of the experiment."""

from __future__ import annotations

import json
import math
import shlex

from structured_bandits.wire import State

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
