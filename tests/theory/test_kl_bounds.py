"""Which bounds stand with KL boxes, and that regret stays below them."""

from __future__ import annotations

import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right

R = figure1_right()
N = 20_000


def rows(confidence: str) -> dict[str, float]:
    """The upper bounds of policies with the theorems' parameters, by theorem and policy."""
    policies = {
        "SUCB": sb.SUCB.paper(R, confidence=confidence),
        "SAE": sb.SAE(R, N, alpha=1.0, confidence=confidence),
        "ASAE": sb.ASAE.paper(R, eta=1.0, confidence=confidence),
        "ASAE constant": sb.ASAE(R, alpha=2.5, eta=1.0, confidence=confidence),
    }
    table = sb.analyse(R, 0).bounds(N, policies)
    upper = table[(table["side"] == "upper") & table["valid"]]
    return {f"{row.policy}: {row.bound}": row.value for row in upper.itertuples()}


def test_bounds_that_need_coverage_only_are_the_same() -> None:
    radii, kl = rows("hoeffding"), rows("kl")
    for name in (
        "SUCB: SUCB (Theorem 1)",
        "ASAE: ASAE, logarithmic (Theorem 4)",
        "SAE: SAE, gaps only (Proposition 1)",
    ):
        assert kl[name] == radii[name]


def test_the_bound_of_sae_has_two_helpers_and_says_so() -> None:
    radii, kl = rows("hoeffding"), rows("kl")
    assert "SAE: SAE (Theorem 3)" not in kl
    assert kl["SAE: SAE (Theorem 3, i and i*)"] >= radii["SAE: SAE (Theorem 3)"]


def test_for_beta_above_one_the_boxes_may_miss_the_truth_besides() -> None:
    """At a short horizon that probability can be seen: n * n^(-2 alpha) * (log2(n) + 2)^2 per arm."""
    few = 64
    values = [
        sb.analyse(R, 0)
        .bounds(few, sb.SAE(R, few, alpha=1.21, beta=1.1, confidence=confidence))
        .set_index("bound")["value"]["SAE, gaps only (Proposition 1)"]
        for confidence in ("hoeffding", "kl")
    ]
    missed = few ** (1.0 - 2.42) * 8.0**2
    assert values[1] - values[0] == pytest.approx(len(R.best_arms) * missed)


@pytest.mark.parametrize("model", range(4))
def test_regret_is_below_the_bounds(model: int) -> None:
    policies = {
        "SUCB": sb.SUCB.paper(R, confidence="kl"),
        "SAE": sb.SAE(R, N, alpha=1.0, confidence="kl"),
        "ASAE": sb.ASAE.paper(R, eta=1.0, confidence="kl"),
    }
    result = sb.simulate(policies, sb.Bernoulli(R.means(model)), horizon=N, runs=40, seed=model)
    mean = result.summary()["mean"]
    table = sb.analyse(R, model).bounds(N, policies)
    for row in table[(table["side"] == "upper") & table["valid"]].itertuples():
        assert mean[row.policy] < row.value
