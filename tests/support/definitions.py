"""A policy with its lookahead against its definition alone: on the same rewards, the same arms.

The definition is played with no lookahead registered at all. A policy that draws is played pull by pull,
where both draw the same numbers; that its stretches are those of the definition is compared on tapes of
uniforms and on coupled draws (tests/policies/test_model_ts.py, test_thompson_stretches.py, test_ids.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import structured_bandits as sb
from structured_bandits.lookahead import base
from structured_bandits.testing.tapes import Played, play

PULLS = 300
ALPHAS = (2.0, 0.5, 0.05, 0.01)


def table(rng: np.random.Generator) -> sb.FiniteStructure:
    """Draw a table; half of them have sixteenths for means, which tie."""
    means = rng.uniform(size=(rng.integers(3, 20), rng.integers(2, 8)))
    return sb.FiniteStructure(np.round(means * 16) / 16 if rng.random() < 0.5 else means)


def curve(rng: np.random.Generator) -> sb.CurveStructure:
    """Draw a curve of two pieces."""
    ends = np.round(rng.uniform(size=(3, rng.integers(2, 5))), 3)
    return sb.CurveStructure(
        [
            sb.Piece(0.0, 0.5, at_start=ends[0], at_end=ends[1]),
            sb.Piece(0.5, 1.0, at_start=ends[1], at_end=ends[2], closed="both"),
        ]
    )


Make = Callable[[Any, float], Any]
ON_TABLES: dict[str, Make] = {
    "UCB": lambda s, alpha: sb.UCB(s.n_arms, alpha),
    "UCB-kl": lambda s, alpha: sb.UCB(s.n_arms, alpha, confidence="kl"),
    "SUCB": lambda s, alpha: sb.SUCB.paper(s, alpha=alpha),
    "SUCB-kl": lambda s, alpha: sb.SUCB.paper(s, alpha=alpha, confidence="kl"),
    "SUCB-likelihood": lambda s, alpha: sb.SUCB(s, alpha=alpha, confidence="likelihood"),
    "UCBC": lambda s, alpha: sb.UCBC(s, alpha),
    "UCBC-kl": lambda s, alpha: sb.UCBC(s, alpha, confidence="kl"),
    "UCBC-likelihood": lambda s, alpha: sb.UCBC(s, alpha, confidence="likelihood"),
    "KLUCBC": lambda s, alpha: sb.KLUCBC(s, alpha),
    "KLUCBC-likelihood": lambda s, alpha: sb.KLUCBC(s, alpha, confidence="likelihood"),
    "TSC": lambda s, alpha: sb.TSC(s, alpha),
    "TSC-likelihood": lambda s, alpha: sb.TSC(s, alpha, confidence="likelihood"),
    "GreedyMLE": lambda s, alpha: sb.GreedyMLE(s),
    "GreedyMLE-likelihood": lambda s, alpha: sb.GreedyMLE(s, fit="likelihood"),
    "OSSB": lambda s, alpha: sb.OSSB(s, epsilon=0.01),
    "OSSB-blind": lambda s, alpha: sb.OSSB(s.n_arms),
    "ModelTS": lambda s, alpha: sb.ModelTS(s),
    "ModelTS-doubt": lambda s, alpha: sb.ModelTS(s, trust=0.5),
    "BestArm": lambda s, alpha: sb.BestArm(s, level=0.3),
    "IDS": lambda s, alpha: sb.IDS(s),
    "ISAE": lambda s, alpha: sb.ISAE(s, kappa=alpha, leader="likeliest"),
    "ISAE-threshold": lambda s, alpha: sb.ISAE(s, rule="threshold", c=alpha),
    "ThompsonSampling": lambda s, alpha: sb.ThompsonSampling(s.n_arms),
    "KLUCB": lambda s, alpha: sb.KLUCB(s.n_arms, c=alpha),
    "KLUCB++": lambda s, alpha: sb.KLUCB(s.n_arms, variant="++", horizon=PULLS),
    "MOSS": lambda s, alpha: sb.MOSS(s.n_arms, PULLS),
    "MOSS-anytime": lambda s, alpha: sb.MOSS(s.n_arms),
    "IMED": lambda s, alpha: sb.IMED(s.n_arms),
    "UCBV": lambda s, alpha: sb.UCBV(s.n_arms),
    "Guarded": lambda s, alpha: sb.Guarded(sb.SUCB.paper(s, alpha=alpha), level=0.2),
    "Guarded-explore": lambda s, alpha: sb.Guarded(
        sb.SUCB.paper(s, alpha=alpha), level=0.2, explore=0.5
    ),
    "Guarded-SAE": lambda s, alpha: sb.Guarded(sb.SAE.paper(s, PULLS, alpha=alpha), level=0.2),
    "Guarded-ModelTS": lambda s, alpha: sb.Guarded(sb.ModelTS(s), level=0.2, explore=0.5),
}
ON_CURVES: dict[str, Make] = {
    "SUCB": lambda s, alpha: sb.SUCB.paper(s, alpha=alpha),
    "SUCB-kl": lambda s, alpha: sb.SUCB.paper(s, alpha=alpha, confidence="kl"),
    "SUCB-likelihood": lambda s, alpha: sb.SUCB(s, alpha=alpha, confidence="likelihood"),
    "UCBC": lambda s, alpha: sb.UCBC(s, alpha),
    "UCBC-likelihood": lambda s, alpha: sb.UCBC(s, alpha, confidence="likelihood"),
    "TSC": lambda s, alpha: sb.TSC(s, alpha),
    "ModelTS": lambda s, alpha: sb.ModelTS(s),
    "GreedyMLE": lambda s, alpha: sb.GreedyMLE(s),
    "WAGP": lambda s, alpha: sb.WAGP(s),
}
CASES = [("table", name) for name in ON_TABLES] + [("curve", name) for name in ON_CURVES]


@contextmanager
def without_lookaheads() -> Iterator[None]:
    """Let no policy have a lookahead."""
    kept = dict(base.LOOKAHEADS)
    base.LOOKAHEADS.clear()
    try:
        yield
    finally:
        base.LOOKAHEADS.update(kept)


def compare(kind: str, name: str, index: int) -> Counter[str]:
    """Play a policy on hostile tape number `index` with its lookahead and without; count what was met."""
    rng = np.random.default_rng([7, index])
    structure = table(rng) if kind == "table" else curve(rng)
    alpha = ALPHAS[index % len(ALPHAS)]
    make = (ON_TABLES if kind == "table" else ON_CURVES)[name]
    rewards = sb.testing.reward_tape(index, structure.n_arms, PULLS)

    def played(planning: bool) -> Played:
        return play(make(structure, alpha), rewards, PULLS, False, planning, seed=index)

    policy = make(structure, alpha)
    draws = policy.randomised and getattr(policy, "leader", "") != "likeliest"
    fast = played(planning=not draws)
    with without_lookaheads():
        plain = played(planning=True)
    assert fast.arms == plain.arms, f"{name} on a {kind}, tape {index}: {fast.arms} {plain.arms}"
    assert fast.empty == plain.empty, f"{name} on a {kind}, tape {index}: empty sets"
    return Counter(cases=1, pulls=PULLS, saved=plain.plans - fast.plans, empty=plain.empty)


def compare_any(seed: int, index: int) -> Counter[str]:
    """Compare one policy after the other, on tape after tape; `seed` is fixed by the index."""
    kind, name = CASES[index % len(CASES)]
    return compare(kind, name, index // len(CASES))
