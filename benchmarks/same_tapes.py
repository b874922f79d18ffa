"""Index policies of other libraries on the same tapes of rewards: index for index (`make bench`).

A peer's policy plays 2,000 pulls on a tape, in an environment of its own (tape_driver.py). Ours is told
the same rewards and has the peer's clock, which reads the pulls that were made, one less than ours. A
pull agrees if all indices of the peer are ours and its arm has the highest of ours, within the error
that the peer's indices have. (Arms alone would not do: peers break ties at random, and an index with a
wrong clock mostly names the same arm.)
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NamedTuple

import numpy as np
from contestants import Contestant, ContestantError, python_of
from rows import Row, write
from support.stretches import Player

import structured_bandits as sb
from structured_bandits.lookahead.klucb import write_index
from structured_bandits.policies.indices import Growth, budget_at
from structured_bandits.protocols import Now, Outcome

TOPIC = "same_tapes"
MEANS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
ARMS = len(MEANS)
PULLS = 2_000


class Match(NamedTuple):
    """A policy of another library, ours, and the error that the peer's indices may have."""

    peer: str  # library and policy
    ours: Any
    tolerance: float
    note: str


MATCHES = [
    Match("SMPyBandits klUCB", sb.KLUCB(ARMS), 1e-12, "bisection to 1e-13"),
    Match(
        "SMPyBandits klUCBPlusPlus",
        sb.KLUCB(ARMS, variant="++", horizon=PULLS),
        1e-12,
        "bisection to 1e-13",
    ),
    Match("SMPyBandits MOSSH", sb.MOSS(ARMS, horizon=PULLS), 1e-12, "rounding"),
    Match("SMPyBandits MOSSAnytime", sb.MOSS(ARMS), 1e-12, "rounding"),
    Match("PyMAB KLUCBPolicy", sb.KLUCB(ARMS, c=3.0), 1e-6, "bisection to 1e-6"),
    Match("PyMAB MOSSPolicy", sb.MOSS(ARMS, horizon=PULLS), 1e-12, "rounding"),
]


def our_indices(policy: Any, tape: Any, arms: list[int]) -> Any:
    """Return our indices before each of the peer's pulls, by the peer's clock."""
    player = Player(policy)
    rng = np.random.default_rng(0)  # no index policy draws from it
    indices, pulls = np.empty((len(arms), ARMS)), [0] * ARMS
    for t, arm in enumerate(arms):
        if min(pulls) > 0:  # our clock reads one more than the pulls made
            if isinstance(policy, sb.KLUCB) and policy.variant == "plain":
                write_all(policy, player, t)
            player.streak(Now(t - 1, 1), rng)
        indices[t] = player.memory.indices
        player.end(Outcome(arm, 1, tape[arm, pulls[arm]], np.nan))
        pulls[arm] += 1
    return indices


def write_all(policy: sb.KLUCB, player: Player, t: int) -> None:
    """Write the indices of all arms: of those that surely do not lead, a decision needs none."""
    budget = budget_at(Growth(1.0, policy.c), math.log(t))
    for arm in range(ARMS):
        write_index(policy, player.state.data, player.memory, arm, budget)


def compare(match: Match, tape: Any, answer: dict[str, Any]) -> tuple[int, float]:
    """Return how many of the peer's pulls agree, and the largest difference of indices."""
    ours = our_indices(match.ours, tape, answer["arms"])
    played = ours[np.arange(PULLS), answer["arms"]]
    apart = np.array(
        [
            0.0 if theirs is None else np.abs(mine - theirs).max()
            for mine, theirs in zip(ours, answer["indices"], strict=True)
        ]
    )
    agree = (played >= ours.max(axis=1) - match.tolerance) & (apart <= match.tolerance)
    return int(agree.sum()), float(apart.max())


def row(match: Match, tape: Any) -> Row:
    """Play a match."""
    work = f"{match.peer}: pulls that agree, of {PULLS:,}"
    try:
        described = {"name": match.peer, "arms": ARMS, "horizon": PULLS}
        peer = Contestant(python_of(match.peer.split()[0]), "tape_driver.py", described)
        answer = peer.play(json.dumps(tape.tolist()))
        peer.stop()
    except (ContestantError, OSError) as error:
        return Row(TOPIC, work, f">= {PULLS:,}", 0.0, "pulls", f"does not run: {error}")
    agreeing, apart = compare(match, tape, answer)
    note = f"{agreeing:,} of {PULLS:,}; indices differ by at most {apart:.1e} ({match.note})"
    note = f"{peer.about['version']}; {note}"
    return Row(TOPIC, work, f">= {PULLS:,}", float(agreeing), "pulls", note)


def main() -> None:
    tape = (np.random.default_rng(8).random((ARMS, PULLS)) < MEANS[:, None]).astype(float)
    rows = [row(match, tape) for match in MATCHES]
    write(TOPIC, rows)
    if not all(each.meets for each in rows):
        sys.exit("a peer's policy and ours differ")


if __name__ == "__main__":
    main()
