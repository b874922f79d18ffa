"""After how many pulls is it certain which arm is best? `python benchmarks/certain.py [runs]`.

On the table of a shop and on Figure 1 right of the paper, all truths in turn, 20,000 pulls a run, error
5 %. Of each policy: how many pulls until its own are enough, how many if a tenth of them are BestArm's
(`sb.Certain`), in how many runs it was certain, and how often of the wrong arm.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from switching import TABLES

import structured_bandits as sb

PULLS, LEVEL, SEED = 20_000, 0.05, 2029


def policies_of(table: Any) -> dict[str, Any]:
    """Return policies whose pulls are looked at."""
    structure = sb.FiniteStructure(table)
    return {
        "BestArm": sb.BestArm(structure, LEVEL),
        "ISAE": sb.ISAE(structure),
        "SUCB": sb.SUCB(structure),
        "ModelTS": sb.ModelTS(structure),
        "ModelTS, trust 0.5": sb.ModelTS(structure, trust=0.5),
        "Thompson sampling": sb.ThompsonSampling(structure),
    }


def main(runs: int) -> None:
    """Play and print."""
    for title, table in TABLES.items():
        found: dict[str, list[Any]] = {}
        for truth, means in enumerate(table):
            inner = policies_of(table)
            ways = {
                "own": {
                    name: sb.Certain(each, share=0.0, level=LEVEL) for name, each in inner.items()
                },
                "a tenth": {
                    name: sb.Certain(each, share=0.1, level=LEVEL)
                    for name, each in inner.items()
                    if name != "BestArm"
                },
            }
            for way, several in ways.items():
                played = sb.simulate(
                    several,
                    sb.Bernoulli(means),
                    PULLS,
                    runs,
                    seed=SEED + truth,
                    checkpoints=1,
                    record_arms=True,
                    misfit=False,
                    progress=False,
                )
                for name, alarms in played.alarms.items():
                    last = played.arms[name][:, -1]
                    wrong = (alarms > 0) & (means[last] < means.max())
                    found.setdefault(f"{name}|{way}", []).append(np.stack([alarms, wrong], axis=1))
        print(f"\n{title}: {runs} runs of each truth, level {LEVEL:g}")
        print(f"{'policy':22}{'pulls':10}{'until certain':>16}{'certain':>10}{'wrong':>8}")
        for key, parts in found.items():
            name, way = key.split("|")
            alarms, wrong = np.concatenate(parts).T
            certain = alarms > 0
            times = np.where(certain, alarms, PULLS)
            mean = f"{times.mean():.0f} ± {times.std(ddof=1) / len(times) ** 0.5:.0f}"
            print(
                f"{name:22}{way:10}{mean:>16}{certain.mean():>10.1%}{wrong.mean():>8.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
