"""Policies whose agents were saved by version 0.1.0, and how the files in tests/agents/data came about.

The files were written once, by this script run with version 0.1.0 of the library:

    PYTHONPATH=<0.1.0>/src:tests python tests/support/first_version.py tests/agents/data/0.1.0

and some of them again with version 0.2.0, before snapshots had version 3. Each has a snapshot, in some
of which decisions are out, and what the agent did next if those were cancelled and each reward told
before the next `ask`: what to ask while rewards are out has another rule since.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb

TABLE = [[0.8, 0.7, 0.6, 0.5], [0.2, 0.9, 0.3, 0.4], [0.3, 0.1, 0.75, 0.6], [0.4, 0.4, 0.4, 0.95]]


class Counts(NamedTuple):
    wins: Any
    losses: Any


class MostWins(NamedTuple):
    """A user's own policy: it keeps neither pulls nor sums, but counts of its own."""

    n_arms: int
    margin: float

    def init(self) -> Counts:
        return Counts(np.ones(self.n_arms), np.ones(self.n_arms))

    def check_learned(self, state: Counts, t: int) -> None:
        if not all(((each >= 1) & (each < np.inf)).all() for each in state):
            raise ValueError(f"counts that nothing leads to: {state}")

    def _write(self, state: Counts, quota: Any, rng: Any) -> int:
        quota[:] = 0
        losses = np.maximum(
            state.losses, 1.0
        )  # it declares no range, so any average may be assumed
        quota[int(np.argmax(rng.beta(state.wins, self.margin + losses)))] = 2
        return 0

    if not hasattr(sb, "Now"):  # version 0.1.0

        def plan(self, state: Any, t: int, limit: int, quota: Any, rng: Any) -> int:
            return self._write(state, quota, rng)

        def observe(self, state: Any, pulls: Any, sums: Any) -> None:
            state.wins[:] += sums
            state.losses[:] += pulls - sums
    else:

        def plan(self, state: Any, now: Any, quota: Any, rng: Any) -> int:  # type: ignore[misc]
            return self._write(state, quota, rng)

        def observe(self, state: Any, seen: Any) -> None:  # type: ignore[misc]
            state.wins[:] += seen.sums
            state.losses[:] += seen.pulls - seen.sums


def table(names: Any = None) -> Any:
    return sb.FiniteStructure(TABLE, arms=names)


def curves() -> Any:
    return sb.CurveStructure(
        [
            sb.Piece(0, 0.5, [0.1, 0.8, 0.4], [0.9, 0.3, 0.4]),
            sb.Piece(0.5, 1, [0.9, 0.3, 0.4], [0.2, 0.3, 0.7]),
        ]
    )


def lines() -> Any:
    return sb.linear([[0.9, 0.05], [0.5, 0.4], [0.1, 0.8]], bounds=(0.0, 1.0))


class Saved(NamedTuple):
    """A policy, and what its agent had been through when it was saved."""

    make: Callable[[], Any]
    way: str  # "prompt", "late": with rewards out, "wrong": rewards that fit no model, "logged", "new"
    prompt_after: bool = False  # no reward is told late afterwards


SAVED = {
    "ucb": Saved(lambda: sb.UCB(5, alpha=0.3), "late"),
    "ucb-unbounded": Saved(lambda: sb.UCB(3, reward_range=None, sigma=0.5), "prompt"),
    "improved-ucb": Saved(lambda: sb.ImprovedUCB(table(), 600), "late"),
    "sucb-table": Saved(lambda: sb.SUCB.paper(table(), alpha=0.2), "late"),
    "sucb-named-arms": Saved(
        lambda: sb.SUCB.paper(table(["a", "b", "c", "d"]), alpha=0.5), "prompt"
    ),
    "sucb-empty": Saved(lambda: sb.SUCB.paper(table(), alpha=0.1), "wrong"),
    "sucb-curves": Saved(lambda: sb.SUCB.paper(curves(), alpha=0.2), "late"),
    "sucb-linear": Saved(lambda: sb.SUCB.paper(lines(), alpha=0.3), "prompt", prompt_after=True),
    "sucb-product": Saved(
        lambda: sb.SUCB.paper(sb.product([table(), sb.unimodal(3)]), alpha=0.3),
        "prompt",
        prompt_after=True,
    ),
    "sae-table": Saved(lambda: sb.SAE.paper(table(), 800, alpha=0.5), "late"),
    "sae-complete": Saved(lambda: sb.SAE.paper(table(), 50, alpha=0.1), "complete"),
    "sae-linear": Saved(lambda: sb.SAE.paper(lines(), 500, alpha=0.2), "late"),
    "sae-unimodal": Saved(lambda: sb.SAE.paper(sb.unimodal(4), 500, alpha=0.2), "late"),
    "asae-theory": Saved(lambda: sb.ASAE.paper(table(), alpha=0.5), "late"),
    "asae-figures": Saved(lambda: sb.ASAE.paper(curves(), alpha=0.5, reading="figures"), "late"),
    "asae-pseudocode": Saved(
        lambda: sb.ASAE.paper(table(), alpha=0.5, reading="pseudocode"), "wrong"
    ),
    "asae-new": Saved(lambda: sb.ASAE.paper(table(), alpha=0.5), "new"),
    "asae-logged": Saved(lambda: sb.ASAE.paper(table(), alpha=0.5), "logged"),
    "sucb-logged": Saved(lambda: sb.SUCB.paper(table(), alpha=0.5), "logged"),
    "greedy-mle": Saved(lambda: sb.GreedyMLE(curves()), "late"),
    "wagp": Saved(lambda: sb.WAGP(curves()), "late"),
    "own-policy": Saved(lambda: MostWins(3, 0.5), "late"),
}


def _reward(way: str, arm: int, rng: Any) -> float:
    return 0.0 if way == "wrong" else float(rng.random() < (0.8, 0.7, 0.6, 0.5)[arm % 4])


def saved_agent(name: str, rng: Any) -> Any:
    """Return an agent in the middle of its work; it is never read."""
    way = SAVED[name].way
    agent = sb.Agent(SAVED[name].make(), seed=11)
    arms = agent.policy.n_arms
    if way == "logged":
        agent.learn([20 + 5 * arm for arm in range(arms)], [10 + arm for arm in range(arms)])
    if way in ("logged", "new"):
        return agent
    for step in range(90):
        decision = agent.ask()
        if way != "late" or step % 9:
            agent.tell(decision.id, _reward(way, decision.arm, rng))
    if way == "complete":
        plans = agent._plans
        while agent._plans == plans and (agent._told < agent._quota).any():
            decision = agent.ask()
            agent.tell(decision.id, _reward(way, decision.arm, rng))
    return agent


def next_events(agent: Any, name: str, rng: Any) -> list[list[Any]]:
    """Ask 60 times and tell one reward after each; return the decisions and what was told."""
    events = []
    out = list(agent.pending)
    for step in range(60):
        decision = agent.ask()
        out.append(decision)
        late = step % 5 == 4 and not SAVED[name].prompt_after
        told = out.pop(0 if late else -1)
        reward = _reward(SAVED[name].way, told.arm, rng)
        agent.tell(told.id, reward)
        events.append([decision.id, decision.arm, decision.extra, told.id, reward])
    return events


def main() -> None:
    folder = Path(sys.argv[1])
    for number, name in enumerate(SAVED):
        rng = np.random.default_rng(number)
        agent = saved_agent(name, rng)
        snapshot = agent.to_json()
        for decision in agent.pending:
            agent.cancel(decision.id)
        events = next_events(agent, name, rng)
        found = {"version": sb.__version__, "snapshot": json.loads(snapshot), "next": events}
        (folder / f"{name}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
