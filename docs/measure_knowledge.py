"""Measures what knowledge saves, for guides/what-you-know.md (`python docs/measure_knowledge.py`).

Prints the tables of the guide: the regret of SAE, a mean over 50 runs with its 95 % interval, and the
constant of Graves and Lai.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import structured_bandits as sb

TOPICS = np.array(
    [
        [0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.6, 0.1, 0.3], [0.4, 0.4, 0.2],
        [0.4, 0.2, 0.4], [0.3, 0.6, 0.1], [0.3, 0.3, 0.4], [0.2, 0.7, 0.1],
        [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.1, 0.4, 0.5], [0.1, 0.1, 0.8],
    ]
)  # fmt: skip


def mean_regret(structure: object, means: np.ndarray, horizon: int) -> str:
    policy = sb.SAE(structure, horizon)
    result = sb.simulate({"it": policy}, sb.Bernoulli(means), horizon, runs=50, progress=False)
    mean, low, high = result.summary().loc["it", ["mean", "low", "high"]]
    return f"{mean:,.0f} ({low:,.0f} to {high:,.0f})"


def table(known: Mapping[str, object], means: np.ndarray, horizon: int) -> None:
    """Print a row for each structure."""
    for name, structure in known.items():
        constant = sb.analyse(structure, means).lower_bound().constant
        print(f"{name:25} C = {constant:5.1f}, SAE: {mean_regret(structure, means, horizon)}")
    print()


def prices() -> None:
    at = np.arange(2.0, 11.0)
    falls = sb.monotone(len(at), decreasing=True)
    shares = {
        "nothing": sb.unstructured(len(at)),
        "it falls": falls,
        "it falls, and is concave": sb.intersection([falls, sb.concave(at)]),
    }
    known = {name: sb.scaled(structure, at / 10) for name, structure in shares.items()}
    table(known, at / 10 * (0.95 - 0.0095 * at**2), 100_000)


def articles() -> None:
    linear = sb.linear(TOPICS, bounds=(0.0, 1.0))
    known = {"nothing": sb.unstructured(12), "linear in topics": linear}
    table(known, linear.means([0.6, 0.3, 0.45]), 20_000)


def peaks() -> None:
    places = np.linspace(0.0, 1.0, 12)
    tent = 0.9 - 0.8 * np.abs(places - places[4])
    table({"nothing": sb.unstructured(12), "unimodal": sb.unimodal(12)}, tent, 100_000)
    spike = np.where(np.arange(40) == 13, 0.8, 0.3)
    table({"nothing": sb.unstructured(40), "unimodal": sb.unimodal(40)}, spike, 20_000)


if __name__ == "__main__":
    prices()
    articles()
    peaks()
