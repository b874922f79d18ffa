"""How often is an arm named as the best that is not? 2,000 lives on each of 12 structures of all kinds.

The level is 0.05. A life is an agent that plays Thompson sampling, blindly or within the structure, for
160 pulls: successes are told at once and failures some decisions later, now and then an arm is parked,
and once the agent is saved and restored. Its certificate is read at each of 160 moments; a life is wrong
if an arm that is not best was ever named with an error of at most the level. Printed are two counts,
given the models and from the arms alone. A count whose probability is below 0.002 if the level holds
ends with exit code 1.

    PYTHONPATH=tests python tools/false_certificates.py [--lives N] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom
from tqdm import tqdm

import structured_bandits as sb
from structured_bandits.simulation.compiled import compile_kernels

LEVEL, PULLS, LATE, RARE = 0.05, 160, 12, 0.002


class Case(NamedTuple):
    """A structure, and a truth in it whose best arm leads by little."""

    name: str
    structure: Any
    means: Any
    sigma: float | None = None  # of Gaussian rewards


def cases() -> Iterator[Case]:
    """Yield structures of all kinds, each with a truth in which two arms are almost equally good."""
    table = np.array([[0.5, 0.45, 0.3, 0.2], [0.45, 0.5, 0.3, 0.2], [0.3, 0.3, 0.5, 0.1]])
    yield Case("table", sb.FiniteStructure(table), table[0])
    yield Case("table, Gaussian", sb.FiniteStructure(table), table[0], 0.5)
    curve = sb.CurveStructure(
        [
            sb.Piece(0, 1, (0.8, 0.4, 0.1), (0.4, 0.8, 0.1)),
            sb.Piece(1, 2, (0.4, 0.8, 0.1), (0.1, 0.4, 0.8)),
        ]
    )
    yield Case("curve", curve, curve.means(0.49))
    halves = [sb.FiniteStructure([[0.5, 0.2], [0.3, 0.4]]), sb.FiniteStructure([[0.45], [0.6]])]
    yield Case("product", sb.product(halves), np.array([0.5, 0.2, 0.45]))
    yield Case("margins", sb.around(table, 0.03), np.clip(table[0], 0, 1))
    mixed = np.array([0.45, 0.35, 0.2]) @ table
    yield Case("mixtures", sb.mixtures(table), mixed)
    yield Case("unimodal", sb.unimodal(4), np.array([0.3, 0.5, 0.48, 0.2]))
    yield Case("lipschitz", sb.lipschitz([0.0, 0.1, 0.3], 1.0), np.array([0.5, 0.48, 0.4]))
    yield Case("monotone", sb.monotone(3, decreasing=True), np.array([0.5, 0.5, 0.3]))
    yield Case("concave", sb.concave(4), np.array([0.3, 0.5, 0.48, 0.3]))
    features = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [0.6, -0.8]])
    linear = sb.linear(features, bounds=(-1, 1), low=0.0, high=1.0, reward_range=(0, 1))
    yield Case("linear", linear, features @ [0.5, 0.15])
    yield Case("linear, Gaussian", sb.linear(features, bounds=(-1, 1)), features @ [0.5, 0.15], 0.5)


def policy_of(case: Case, blind: bool) -> Any:
    """Return a policy that draws, and has the structure."""
    rewards: dict[str, Any] = (
        {} if case.sigma is None else {"reward_range": None, "sigma": case.sigma}
    )
    if blind or not hasattr(case.structure, "model_groups"):
        return sb.ThompsonSampling(case.structure, **rewards)
    return sb.ModelTS(case.structure, **rewards)


def told_late(agent: sb.Agent, out: list[int]) -> None:
    """Tell the oldest failure if enough are out."""
    if len(out) > LATE:
        agent.tell(out.pop(0), 0.0)


def wrong(place: int, life: int) -> tuple[bool, bool]:
    """Was a wrong arm named in this life, given the models, and from the arms alone?"""
    compile_kernels()
    case = list(cases())[place]
    rng = np.random.default_rng([2031, place, life])
    policy = policy_of(case, blind=life % 2 == 0)
    agent, out = sb.Agent(policy, seed=life), list[int]()
    restart, bad = int(rng.integers(PULLS)), [False, False]
    for pull in range(PULLS):
        if rng.random() < 0.02 and len(agent.parked) < len(case.means) - 2:
            agent.park(int(rng.integers(len(case.means))))
        elif rng.random() < 0.2:
            for arm in agent.parked:
                agent.unpark(arm)
        decision = agent.ask()
        mean = case.means[decision.arm]
        if case.sigma is not None:
            agent.tell(decision.id, float(rng.normal(mean, case.sigma)))
        elif rng.random() < mean:
            agent.tell(decision.id, 1.0)
        else:
            out.append(decision.id)
        told_late(agent, out)
        if pull == restart:
            agent = sb.Agent.from_json(agent.to_json(), policy)
        certificate: Any = agent.certificate
        for kind, named in enumerate((certificate.given_models, certificate.from_arms)):
            if named is not None and named.error <= LEVEL:
                bad[kind] |= bool(case.means[named.arm] < case.means.max())
    return bad[0], bad[1]


def main() -> int:
    """Play all cases, print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--lives", type=int, default=2_000)
    given = parser.parse_args()
    most = int(binom.isf(RARE, given.lives, LEVEL))
    worst = 0
    print(f"{'structure':18} {'given models':>12} {'arms alone':>10}   of {given.lives:,} lives")
    with get_context("spawn").Pool() as pool:
        for place, case in enumerate(cases()):
            if given.names and case.name not in given.names:
                continue
            played = pool.imap_unordered(partial(wrong, place), range(given.lives), chunksize=10)
            found = np.sum(
                list(tqdm(played, total=given.lives, desc=case.name, disable=None, leave=False)),
                axis=0,
            )
            print(f"{case.name:18} {found[0]:12} {found[1]:10}", flush=True)
            worst = max(worst, int(found.max()))
    return 1 if worst > most else 0


if __name__ == "__main__":
    sys.exit(main())
