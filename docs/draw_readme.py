"""Draws knowledge.png, the picture of README: what a shop loses without knowledge and with it.

`python docs/draw_readme.py` asks for advice on the table of docs/guides/shop.md, plays it for visitors
who are families, and prints what README quotes. The advice takes some minutes the first time.
"""

from __future__ import annotations

from pathlib import Path

import structured_bandits as sb

VISITORS, RUNS = 5_000, 400
TABLE = [[0.12, 0.04, 0.08, 0.05], [0.03, 0.11, 0.08, 0.02], [0.02, 0.03, 0.07, 0.14]]


def main() -> None:
    types = sb.FiniteStructure(
        TABLE,
        arms=["voucher", "gift", "free delivery", "two for one"],
        models=["students", "families", "tourists"],
    )
    advice = sb.advise(types, VISITORS, runs=256)
    print(advice)
    policies = {
        "knows nothing": sb.ThompsonSampling(4),
        "as advised": advice.policy,
        "trusts the table": sb.ISAE(types),
    }
    result = sb.simulate(policies, sb.Bernoulli(types.means("families")), VISITORS, runs=RUNS)
    print(result.summary()[["mean", "low", "high"]].round(1))
    axes = result.plot()
    axes.set_xlabel("visitors")
    axes.set_ylabel("clicks lost (regret)")
    axes.figure.savefig(Path(__file__).parent / "knowledge.png", dpi=130)


if __name__ == "__main__":
    main()
