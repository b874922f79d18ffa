"""Likelihood sets, ISAE and certificates beyond tables, against oracles that follow the rules."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from oracles.evidence import Cell, Evidence, TooClose, curve_cells, table_cells
from oracles.evidence_policies import Game
from oracles.evidence_polytopes import Monitor, bodies

import structured_bandits as sb
from structured_bandits.inference.mixture_evidence import SLACK
from structured_bandits.testing.tapes import play, reward_tape

Policies = tuple[Any, Callable[[Game], Iterator[int]]]

# ------------------------------------------------------------------------ curves

CROSSING = [sb.Piece(0, 1, [0.9, 0.5, 0.2], [0.1, 0.5, 0.7], closed="both")]
BROKEN = [
    sb.Piece(0, 1, [0.8, 0.3], [0.2, 0.6]),
    sb.Piece(2, 2.5, [0.3, 0.4], [0.3, 0.9]),
    sb.Piece(3, 4, [0.5, 0.1], [0.1, 0.0]),  # a mean of 0: what is impossible leaves for ever
]
POINTS = [sb.Piece(0, 1, [0.7, 0.2], [0.4, 0.6]), sb.Piece(2, 2, [0.35, 0.45], [0.35, 0.45])]
CERTAIN = [sb.Piece(0, 1, [1.0, 0.2], [0.0, 0.9], closed="both")]
CURVES: dict[str, tuple[list[sb.Piece], list[float] | None]] = {
    "crossing": (CROSSING, None),
    "broken": (BROKEN, None),
    "weighted": (BROKEN, [1.0, 2.0, 0.5]),
    "points": (POINTS, [0.7, 0.3]),
    "certain": (CERTAIN, None),
}


def tape_of(number: int, n_arms: int, pulls: int, sigma: float | None) -> Any:
    """Coins, or rewards of four digits that are as hostile."""
    tape = reward_tape(number, n_arms, pulls, coins=True)
    if sigma is not None:
        noise = np.random.default_rng([7, number]).normal(0, sigma, tape.shape)
        tape = np.round(0.2 + 0.5 * tape + noise, 4)
    return tape


def law(sigma: float | None) -> dict[str, Any]:
    return {} if sigma is None else {"sigma": sigma, "reward_range": None}


def set_policies(structure: Any, n: int, sigma: float | None) -> list[Policies]:
    kind: dict[str, Any] = {"confidence": "likelihood", **law(sigma)}
    return [
        (sb.SUCB(structure, **kind), lambda g: g.sucb()),
        (sb.SUCB(structure, alpha=2.0, **kind), lambda g: g.sucb(2.0)),
        (sb.ASAE(structure, **kind), lambda g: g.asae()),
        (sb.SAE(structure, n, looks="round", **kind), lambda g: g.sae(n)),
        (sb.SAE(structure, n, looks="phase", **kind), lambda g: g.sae(n, looks="phase")),
        (sb.SAE(structure, n, alpha=0.3, looks="round", **kind), lambda g: g.sae(n, 0.3)),
    ]


def compare(
    policies: list[Policies], groups: list[list[Cell]], tape: Any, sigma: float | None, least: int
) -> None:
    """Arm by arm up to a knife edge, which must not come before pull number `least`."""
    horizon = tape.shape[1]
    for policy, steps in policies:
        game = Game(groups, tape, sigma)
        arms = game.play(steps(game), horizon)
        assert len(arms) >= least, f"a knife edge after {len(arms)} pulls"
        for compiled in (False, True):
            for planning in (False, True):
                found = play(policy, tape, horizon, compiled, planning).arms
                assert found[: len(arms)] == arms, type(policy).__name__


@pytest.mark.parametrize("sigma", [None, 0.3])
@pytest.mark.parametrize("number", [0, 3, 7])
@pytest.mark.parametrize("name", CURVES)
def test_policies_with_sets_play_by_the_rules_on_curves(
    name: str, number: int, sigma: float | None
) -> None:
    pieces, prior = CURVES[name]
    tape = tape_of(number, len(pieces[0].at_start), 24, sigma)
    structure = sb.CurveStructure(pieces, prior=prior)
    compare(set_policies(structure, 24, sigma), [curve_cells(pieces, prior)], tape, sigma, 20)


@pytest.mark.parametrize("sigma", [None, 0.3])
@pytest.mark.parametrize("number", [1, 7])
@pytest.mark.parametrize("name", ["crossing", "broken", "weighted"])
def test_isae_plays_by_the_rules_on_curves(name: str, number: int, sigma: float | None) -> None:
    pieces, prior = CURVES[name]
    tape = tape_of(number, len(pieces[0].at_start), 16, sigma)
    structure = sb.CurveStructure(pieces, prior=prior)
    policies: list[Policies] = [
        (sb.ISAE(structure, t0=3.0, kappa=1.0, **law(sigma)), lambda g: g.isae("value", 1.0, 3.0)),
        (sb.ISAE(structure, **law(sigma)), lambda g: g.isae("value")),
        (sb.ISAE(structure, rule="threshold", **law(sigma)), lambda g: g.isae("threshold")),
    ]
    compare(policies, [curve_cells(pieces, prior)], tape, sigma, 12)


# ------------------------------------------------------------------------ products

TWO = [[0.82, 0.31], [0.2, 0.6]]
TIED = [
    [0.8, 0.3],
    [0.2, 0.6],
    [0.5, 0.5],
]  # no best means of two groups are equal: who is best then is open
OTHER = [[0.7, 0.4], [0.3, 0.9]]
SURE = [[0.0, 0.4], [0.3, 1.0]]
LINE = [sb.Piece(0, 1, [0.92, 0.35], [0.1, 0.55], closed="both")]
JUMP = [sb.Piece(0, 1, [0.2, 0.58], [0.75, 0.5]), sb.Piece(2, 3, [0.3, 0.4], [0.3, 0.81])]
PRODUCTS: dict[str, list[Any]] = {
    "two tables": [TWO, OTHER],
    "ties inside": [TIED, OTHER],
    "impossible": [TIED, SURE],
    "three tables": [TIED, OTHER, TWO],
    "curve and table": [LINE, OTHER],
    "table and curve": [TIED, JUMP],
    "two curves": [LINE, JUMP],
}


def product_of(parts: list[Any]) -> tuple[Any, list[list[Cell]]]:
    curves = [isinstance(part[0], sb.Piece) for part in parts]
    each = zip(parts, curves, strict=True)
    structures = [sb.CurveStructure(p) if curve else sb.FiniteStructure(p) for p, curve in each]
    cells = [curve_cells(p) if c else table_cells(p) for p, c in zip(parts, curves, strict=True)]
    return sb.product(structures), cells


@pytest.mark.parametrize("policy", range(6))
@pytest.mark.parametrize("number", [0, 1, 3, 7])
@pytest.mark.parametrize("name", PRODUCTS)
def test_policies_with_sets_play_by_the_rules_on_products(
    name: str, number: int, policy: int
) -> None:
    structure, groups = product_of(PRODUCTS[name])
    pulls = 12 if name == "two curves" else 30
    tape = tape_of(number, structure.n_arms, pulls, None)
    compare([set_policies(structure, 60, None)[policy]], groups, tape, None, 12)


# ------------------------------------------------------------------------ certificates by N alone


def check_error(found: float, error: float, groups: int) -> None:
    """Of products the slack is counted for the rival, so the error may be so much higher."""
    most = error * math.exp(SLACK) if groups > 1 else error
    assert error * (1.0 - 1e-8) <= found <= min(1.0, most * (1.0 + 1e-8))


def check_certificates(
    structure: Any, groups: list[list[Cell]], tape: Any, sigma: float | None = None, every: int = 3
) -> int:
    """Compare as SUCB plays; return how often there was an error below 1."""
    agent = sb.Agent(sb.SUCB(structure, confidence="likelihood", **law(sigma)))
    pulls, below = [0] * len(tape), 0
    for t in range(tape.shape[1]):
        decision = agent.ask()
        agent.tell(decision.id, float(tape[decision.arm][pulls[decision.arm]]))
        pulls[decision.arm] += 1
        if t % every == every - 1:
            sums = [sum(map(float, row[:n])) for row, n in zip(tape, pulls, strict=True)]
            evidence = Evidence(groups, pulls, sums, sigma)
            assert agent.certificate is not None
            found = agent.certificate.given_models
            assert found is not None
            try:
                arm, error = evidence.error()
            except TooClose:  # of two likeliest models
                continue
            check_error(found.error, float(error), len(groups))
            assert found.arm == arm
            below += error < 1
    return below


@pytest.mark.parametrize("sigma", [None, 0.3])
@pytest.mark.parametrize("name", CURVES)
def test_certificates_of_curves(name: str, sigma: float | None) -> None:
    pieces, prior = CURVES[name]
    structure, cells = sb.CurveStructure(pieces, prior=prior), curve_cells(pieces, prior)
    tapes = [tape_of(number, structure.n_arms, 24, sigma) for number in (0, 1, 3, 6, 7)]
    if name == "certain":  # of coins that never change nothing is left after some rewards
        tapes = tapes[2:]
    assert sum(check_certificates(structure, [cells], tape, sigma) for tape in tapes) >= 5


@pytest.mark.parametrize("name", [n for n in PRODUCTS if n not in ("impossible", "two curves")])
def test_certificates_of_products(name: str) -> None:
    structure, groups = product_of(PRODUCTS[name])
    tapes = [tape_of(number, structure.n_arms, 24, None) for number in (0, 1, 7)]
    assert sum(check_certificates(structure, groups, tape, every=6) for tape in tapes) >= 2


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if it takes longer."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("sums", [[18, 4, 6, 7], [3, 9, 5, 15], [9, 8, 13, 9]])
def test_certificates_of_a_product_of_two_curves(sums: list[int]) -> None:
    structure, groups = product_of(PRODUCTS["two curves"])
    agent = sb.Agent(sb.SUCB(structure))
    agent.learn(pulls=[19, 18, 20, 18], sums=sums)
    with at_most(300):  # it took hours
        certificate = agent.certificate
    assert certificate is not None
    found = certificate.given_models
    assert found is not None
    arm, error = Evidence(groups, [19, 18, 20, 18], sums).error()
    assert found.arm == arm
    check_error(found.error, float(error), len(groups))
    assert (error < 1) == (sums != [9, 8, 13, 9])


# ------------------------------------------------------------------------ certificates with both

ESTIMATES = 0.01  # nats: the library's estimates are nearly the likeliest models, so its N is lower
FEATURES = [[1, 0], [0.6, 0.5], [0, 1], [0.3, 0.8]]
TABLE = [[0.8, 0.3, 0.5, 0.1], [0.2, 0.7, 0.4, 0.3], [0.5, 0.5, 0.6, 0.9]]
STAR = [(0, 1), (0, 2), (0, 3)]
BOTH: dict[str, tuple[Any, dict[str, bool], list[float], int]] = {
    "unimodal": (sb.unimodal(4), {"row": True}, [0.05, 0.95, 0.5, 0.1], 7),
    "steep": (sb.lipschitz([0, 1, 2, 3], 0.2), {}, [0.02, 0.05, 0.3, 0.98], 8),
    "lipschitz": (sb.lipschitz([0, 1, 2, 3], 0.6), {}, [0.02, 0.05, 0.45, 0.98], 5),
    "linear": (sb.linear(FEATURES, (0, 1), low=0, high=1), {}, [0.95, 0.5, 0.05, 0.2], 5),
    "wide": (sb.linear(FEATURES, (-1, 1), low=0, high=1), {}, [0.95, 0.5, 0.05, 0.2], 6),
    "mixtures": (sb.mixtures(TABLE), {}, [0.8, 0.3, 0.5, 0.1], 5),
    "concave": (sb.concave([0, 1, 5]), {}, [0.02, 0.98, 0.02], 5),
    "boxes": (sb.around(TABLE, [0.1, 0.05, 0.15, 0.1]), {"boxes": True}, TABLE[0], 5),
    "demand": (
        sb.scaled(sb.monotone(3, decreasing=True), [0.4, 0.7, 1.0]),
        {},
        [0.02, 0.68, 0.02],
        5,
    ),
    "free": (sb.unstructured(3), {}, [0.1, 0.9, 0.2], 5),
}


class Told:
    """An agent and the oracle, told the same rewards."""

    def __init__(
        self,
        policy: Any,
        monitor: Monitor,
        means: list[float],
        seed: int,
        sigma: float | None = None,
    ) -> None:
        self.agent, self.monitor, self.means, self.sigma = (
            sb.Agent(policy, seed=1),
            monitor,
            means,
            sigma,
        )
        self.rng, self.arms = np.random.default_rng(seed), list[int]()

    def pull(self) -> int:
        decision = self.agent.ask()
        mean = self.means[decision.arm]
        if self.sigma is None:
            reward = float(self.rng.random() < mean)
        else:
            reward = float(round(self.rng.normal(mean, self.sigma), 4))
        self.agent.tell(decision.id, reward)
        self.monitor.tell(decision.arm, reward)
        self.arms.append(decision.arm)
        return decision.arm

    def certificate(self) -> tuple[int, float]:
        """Return the arm and the evidence in nats."""
        assert self.agent.certificate is not None
        found = self.agent.certificate.given_models
        assert found is not None
        return found.arm, -math.log(found.error) if found.error > 0 else math.inf


@pytest.mark.parametrize("name", BOTH)
def test_certificates_of_polytopes(name: str) -> None:
    structure, kind, means, seed = BOTH[name]
    told = Told(sb.BestArm(structure, 1e-9), Monitor(bodies(structure), **kind), means, seed)
    seen = 0
    for t in range(70):
        told.pull()
        if t % 3 == 0:
            arm, found = told.certificate()
            expected = max(told.monitor.log_evidence(arm), 0.0)
            assert told.monitor.estimate[arm] > told.monitor.estimate.max() - 1e-3
            assert expected - ESTIMATES < found < expected + 2e-3, t
            seen += expected > 0
    assert not told.monitor.tied  # else the rules leave open which estimate it is
    assert seen >= 3


def test_of_monotone_arms_the_last_is_best_for_sure() -> None:
    structure = sb.monotone(3)
    told = Told(sb.SUCB(structure), Monitor(bodies(structure)), [0.2, 0.5, 0.6], 1)
    told.pull()
    assert told.certificate() == (2, math.inf)
    assert told.monitor.log_evidence(2) == math.inf


def test_certificates_of_linear_arms_with_gaussian_rewards() -> None:
    # Two rewards are scored before there is a likeliest model: what the first product has by then is open.
    sigma = 0.2
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        structure = sb.linear(FEATURES, (-1, 1))
    policy = sb.BestArm(structure, 1e-12, sigma=sigma, reward_range=None)
    told = Told(policy, Monitor(bodies(structure), sigma), [0.9, 0.54, 0.0, 0.27], 5, sigma)
    for _ in range(15):
        told.pull()
    arm, found = told.certificate()
    low, high = -5.0, 5.0
    for _ in range(50):
        told.monitor.logs[0] += (low + high) / 2
        above = told.monitor.log_evidence(arm) > found
        told.monitor.logs[0] -= (low + high) / 2
        low, high = (low, (low + high) / 2) if above else ((low + high) / 2, high)
    assert abs(low) < 1
    told.monitor.logs[0] += low
    for _ in range(40):
        told.pull()
        arm, found = told.certificate()
        assert found == pytest.approx(told.monitor.log_evidence(arm), abs=5e-3)
        assert found > 3


@pytest.mark.parametrize("name", ["linear", "free", "boxes", "lipschitz"])
def test_best_arm_plays_one_arm_as_soon_as_it_is_certain(name: str) -> None:
    structure, kind, means, _ = BOTH[name]
    told = Told(sb.BestArm(structure, 0.1), Monitor(bodies(structure), **kind), means, 6)
    certain = None
    for _ in range(90):
        looked = told.monitor.next == told.monitor.pulls.sum() + max(
            1, math.ceil(len(told.arms) / 50)
        )
        if certain is None and looked and told.arms:
            arm = told.certificate()[0]
            if told.monitor.log_evidence(arm) > math.log(10) + ESTIMATES:
                certain = len(told.arms), arm
        told.pull()
    assert certain is not None
    start, arm = certain
    assert len(set(told.arms[:start])) > 1
    assert set(told.arms[start:]) == {arm}
