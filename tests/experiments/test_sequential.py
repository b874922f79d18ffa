"""Verdicts on claims: never wrong more often than they say, and reached with the runs they need."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.display.verdicts import CAPPED, FAILS, HOLDS, OPEN, SAME, Verdict
from structured_bandits.experiments import sequential
from structured_bandits.experiments.claims import (
    Arm,
    Flat,
    Growing,
    Linear,
    LowerRegret,
    NeverPulls,
)
from structured_bandits.experiments.sequential import LOG_NEEDED, SHARES, Comparison, log_wealth


def comparison(one: np.ndarray, two: np.ndarray, most: float = 1.0) -> Comparison:
    return Comparison(np.asarray(one), np.asarray(two), most, most, "words")


def test_expected_wealth_is_one_if_the_mean_is_zero() -> None:
    """By enumeration in fractions, on values of which the largest is rare."""
    values = {Fraction(-1, 10): Fraction(10, 11), Fraction(1): Fraction(1, 11)}
    assert sum(value * chance for value, chance in values.items()) == 0
    shares = [Fraction(float(share)) for share in SHARES]
    expected = Fraction(0)
    for path in itertools.product(values, repeat=4):
        chance = math.prod(values[value] for value in path)
        wealth = sum(math.prod(1 - share * value for value in path) for share in shares)
        expected += chance * wealth / len(shares)
        seen = math.exp(log_wealth(np.array(path, float), 1.0))
        assert seen == pytest.approx(float(wealth / len(shares)), rel=1e-12)
    assert expected == 1


def test_looking_after_every_run_rings_as_rarely_as_it_says() -> None:
    """Equal means, one side with rare large values: few of 1,000 paths of 400 runs ever reach 1/a."""
    rng = np.random.default_rng(5)
    rare = (rng.random((1000, 400)) < 0.02) * 1.0
    values = rare - 0.02
    logs = np.stack([np.log1p(-share * values).cumsum(axis=1) for share in SHARES])
    ever = np.exp(logs).mean(axis=0).max(axis=1)
    allowed = 0.1
    rang = int((ever >= 1 / allowed).sum())
    assert rang <= 1000 * allowed  # by Ville's inequality; the expected number is lower
    assert rang > 0  # the bets are not idle


def test_runs_needed_are_those_that_the_module_promises() -> None:
    """Constant differences: decided once log(1/a) · most / difference runs have been seen, about."""
    for difference in (0.5, 0.05, 0.01):
        needed = (LOG_NEEDED + math.log(len(SHARES))) / -math.log1p(-SHARES[0] * difference)
        for runs, outcome in ((0.5 * needed, OPEN), (2.0 * needed, HOLDS)):
            one = np.zeros(int(runs))
            assert comparison(one, one + difference).verdict().outcome == outcome
            assert comparison(one + difference, one).verdict().outcome in (OPEN, FAILS)


def test_every_outcome() -> None:
    rng = np.random.default_rng(0)
    one, noise = rng.random(4000), rng.random(4000)
    assert comparison(0.5 * one, noise).verdict().outcome == HOLDS
    assert comparison(one, 0.5 * noise).verdict().outcome == FAILS
    assert comparison(one, one).verdict().outcome == SAME  # within 2 %
    # a difference of 3 of at most 100,000: bets would take millions of runs
    small = comparison(97.0 + noise, 100.0 + noise, most=1e5)
    assert small.verdict().outcome == OPEN
    last = small.verdict(last=True)
    assert (last.outcome, last.asymptotic) == (HOLDS, True)
    assert last.text == "holds ≈"
    turned = comparison(100.0 + noise, 97.0 + noise, most=1e5).verdict(last=True)
    assert (turned.outcome, turned.asymptotic) == (FAILS, True)
    near = comparison(100.0 + 0.1 * one, 100.0 + 0.1 * noise, most=1e5).verdict(last=True)
    assert (near.outcome, near.asymptotic) == (SAME, True)
    few = comparison(97.0 + noise[:20], 100.0 + one[:20], most=1e5).verdict(last=True)
    assert (few.outcome, few.asymptotic) == (CAPPED, False)  # too few for a normal law
    assert few.text.startswith("capped at 20 runs (")
    assert few.text.endswith(" s.e. for)")


def test_half_of_the_error_is_for_each_of_the_two_tests() -> None:
    """Bets: two false verdicts are possible, each with probability exp(-LOG_NEEDED)."""
    assert 2 * math.exp(-LOG_NEEDED) == pytest.approx(sequential.ERROR / 2)
    tail = math.erfc(sequential.DEVIATIONS / math.sqrt(2))  # both sides
    assert tail == pytest.approx(sequential.ERROR / 2)


RUNS = 4000


def regrets(half: float, end: float) -> sb.Result:
    """Runs of a policy A with these regrets, and of B with 100 at both times."""
    noise = np.random.default_rng(1).random((RUNS, 1))
    tables = {
        "A": np.hstack([half + noise, end + noise]),
        "B": np.hstack([100.0 + noise, 100.0 + noise]),
    }
    pulls = {name: np.array([[999, 1]] * RUNS) for name in tables}
    zeros = {name: np.zeros(RUNS, np.int64) for name in tables}
    return sb.Result(
        np.array([500, 1000]), tables, pulls, zeros, zeros, info={"means": [0.5, 0.25]}
    )


def test_what_claims_compare() -> None:
    result = regrets(50.0, 100.0)

    def outcome(test: object) -> str:
        verdict: Verdict = test.compare(result).verdict()  # type: ignore[attr-defined]
        return verdict.outcome

    assert outcome(LowerRegret("A", "B", factor=2.0)) == HOLDS
    assert outcome(LowerRegret("A", "B", factor=0.5)) == FAILS
    assert outcome(LowerRegret("A", "B")) == SAME
    assert (outcome(Flat("B")), outcome(Flat("A"))) == (HOLDS, FAILS)
    assert (outcome(Growing("B")), outcome(Growing("A"))) == (FAILS, HOLDS)
    assert (outcome(Linear("A")), outcome(Linear("B"))) == (HOLDS, FAILS)
    assert outcome(NeverPulls("A", Arm(1, "arm 1"))) == FAILS
    result.pulls["A"][:, 0] = 0
    assert outcome(NeverPulls("A", Arm(0, "arm 0"))) == HOLDS  # in less than 1 % of all runs
    result.pulls["A"][7, 0] = 1
    assert outcome(NeverPulls("A", Arm(0, "arm 0"))) == FAILS


# ------------------------------------------------------------------------------- more runs


def test_runs_from_a_number_on_are_the_same_runs() -> None:
    structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    world = sb.Bernoulli(structure.means(0))
    policies = {"SUCB": sb.SUCB.paper(structure), "UCB": sb.UCB(structure)}
    whole = sb.simulate(policies, world, 200, runs=7, seed=3)
    part = sb.simulate(policies, world, 200, runs=4, seed=3, first_run=3, workers=1)
    for name in policies:
        assert np.array_equal(part.regret[name], whole.regret[name][3:])
        assert np.array_equal(part.pulls[name], whole.pulls[name][3:])
    assert part.info["first_run"] == 3

    def draw(rng: np.random.Generator) -> tuple[dict[str, sb.SUCB], sb.Bernoulli]:
        return {"SUCB": sb.SUCB.paper(structure)}, sb.Bernoulli(rng.random(2))

    whole = sb.simulate_random(draw, 100, runs=5)
    part = sb.simulate_random(draw, 100, runs=2, first_run=3)
    assert np.array_equal(part.regret["SUCB"], whole.regret["SUCB"][3:])
    with pytest.raises(sb.ParameterError, match="first_run=-1"):
        sb.simulate(policies, world, 10, first_run=-1)


def test_reproduce_adds_runs_until_claims_are_decided(tmp_path: object) -> None:
    """On Figure 2a: SAE's regret is far below SUCB's, which 16 runs do not show and some more do."""

    def verdict(most: int) -> str:
        arguments = [
            "reproduce",
            "fig2a",
            "--preset",
            "fitted",
            "--runs",
            "16",
            "--out",
            str(tmp_path),
        ]
        told = CliRunner().invoke(main, [*arguments, "--most-runs", str(most)])
        assert told.exit_code == 0, told.output
        line = next(x for x in told.output.splitlines() if x.startswith("left-sae-much-lower"))
        return line.split(maxsplit=1)[1].strip()

    assert verdict(16).startswith("capped at 16 runs (")
    assert verdict(2000) == "holds"
