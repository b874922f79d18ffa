"""Measures what a wrong structure costs, for the guide (`python docs/measure_wrong.py`).

Prints the table of the guide and writes guides/wrong-structure.csv and guides/wrong-structure.png. The
shop has six types of customers and eight offers; one policy after another is played where the table is
right, where the audience is a mix of types, where one offer is far better than the table says, and where
the type changes half way. About ten minutes on two cores, most of them for the structure of mixtures,
whose sets take linear programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import structured_bandits as sb

HERE = Path(__file__).parent / "guides"
TABLE = np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3)
SHOP = sb.FiniteStructure(TABLE)
PULLS, RUNS, FEW_RUNS = 10_000, 100, 6
DRIFT_RUNS = 10

POLICIES: dict[str, Any] = {
    "ModelTS, which believes the table": sb.ModelTS(SHOP),
    "the same, guarded": sb.Guarded(sb.ModelTS(SHOP)),
    "guarded, explore=5": sb.Guarded(sb.ModelTS(SHOP), explore=5.0),
    "UncertainModelTS, trust 0.5": sb.UncertainModelTS(SHOP),
    "SUCB around the table, ± 0.02": sb.SUCB(sb.around(SHOP, 0.02), 0.5, confidence="kl"),
    "SUCB on mixtures": sb.SUCB(sb.mixtures(SHOP), 0.5, confidence="kl"),
    "blind Thompson sampling": sb.ThompsonSampling(8),
}
SLOW = ("SUCB on mixtures",)


def truths() -> dict[str, np.ndarray]:
    """Return the means of the three worlds that do not change."""
    off = TABLE[2].copy()
    off[int(off.argmin())] = 0.2
    return {
        "the table is right": TABLE[2],
        "a mix of all types": TABLE.mean(axis=0),
        "one arm is off": off,
    }


def static(name: str, means: np.ndarray) -> sb.Result:
    """Return the regret of a policy in a world that does not change."""
    runs = FEW_RUNS if name in SLOW else RUNS
    return sb.simulate(
        {name: POLICIES[name]},
        sb.Bernoulli(means),
        PULLS,
        runs,
        seed=1,
        checkpoints=100,
        misfit=True,
    )


def drifting(name: str) -> tuple[list[float], int]:
    """Return the regret of agents whose customers change their type half way, and how many were warned.

    Regret is against the best offer of the moment.
    """
    regrets, warned = [], 0
    for run in range(2 if name in SLOW else DRIFT_RUNS):
        rng, regret = np.random.default_rng([5, run]), 0.0
        agent = sb.Agent(POLICIES[name], seed=run)
        for t in range(PULLS):
            means = TABLE[2 if t < PULLS // 2 else 4]
            decision = agent.ask()
            agent.tell(decision.id, float(rng.random() < means[decision.arm]))
            regret += means.max() - means[decision.arm]
        regrets.append(regret)
        warned += agent.misfit is not None and agent.misfit.refuted()
    return regrets, warned


def main() -> None:
    """Measure, print and draw."""
    rows, curves = [], {}
    for name in POLICIES:
        row: dict[str, Any] = {"policy": name}
        for world, means in truths().items():
            result = static(name, means)
            final = result.regret[name][:, -1]
            error = final.std(ddof=1) / np.sqrt(len(final))
            row[world] = f"{final.mean():.0f} ± {error:.0f}"
            refuted = (result.e_values[name] >= 100.0).mean()
            row[f"{world}: refuted"] = (
                "" if np.isnan(result.e_values[name]).any() else f"{refuted:.0%}"
            )
            if world == "a mix of all types":
                curves[name] = result.checkpoints, result.regret[name].mean(axis=0)
        regrets, warned = drifting(name)
        error = np.std(regrets, ddof=1) / np.sqrt(len(regrets))
        row["the type changes"] = f"{np.mean(regrets):.0f} ± {error:.0f}"
        row["the type changes: warned"] = f"{warned} of {len(regrets)}"
        rows.append(row)
        print(row, flush=True)
    frame = pd.DataFrame(rows)
    frame.to_csv(HERE / "wrong-structure.csv", index=False)
    print(frame.to_string())
    draw(curves)


def draw(curves: dict[str, tuple[Any, Any]]) -> None:
    """Draw the regret in the mix of types."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for place, (name, (t, regret)) in enumerate(curves.items()):
        axes.plot(t, regret, label=name, ls=("-", "--", "-.", ":")[place % 4])
    axes.set_xlabel("pulls")
    axes.set_ylabel("mean regret")
    axes.set_title("The audience is a mix of all six types")
    axes.legend(fontsize=8)
    figure.savefig(HERE / "wrong-structure.png", dpi=110)


if __name__ == "__main__":
    main()
