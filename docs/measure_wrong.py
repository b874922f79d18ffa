"""Measures what a wrong structure costs, for the guide (`python docs/measure_wrong.py`).

Prints the table of the guide and writes guides/wrong-structure.csv, and guides/wrong-structure.png with
its numbers, guides/wrong-structure-regret.csv; `--draw` draws from these without playing, and doubt.png
from what benchmarks/doubt.py has measured. The shop has six types of customers and eight offers; one
policy after another is played where the table is right, where the audience is a mix of types, where one
offer is far better than the table says, and where the type changes half way; all types take turns. Some
minutes on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import structured_bandits as sb
from structured_bandits.display import styles
from structured_bandits.display.labels import NUMBERS, label_line_ends
from structured_bandits.display.legends import legend_below
from structured_bandits.display.styles import SCREEN

HERE = Path(__file__).parent / "guides"
CURVES = HERE / "wrong-structure-regret.csv"
TABLE = np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3)
SHOP = sb.FiniteStructure(TABLE)
PULLS, RUNS, FEW_RUNS, LIVES = 10_000, 102, 12, 30

POLICIES: dict[str, Any] = {
    "ModelTS, which believes the table": sb.ModelTS(SHOP),
    "the same, guarded": sb.Guarded(sb.ModelTS(SHOP)),
    "guarded, explore=5": sb.Guarded(sb.ModelTS(SHOP), explore=5.0),
    "ModelTS, trust 0.5": sb.ModelTS(SHOP, trust=0.5),
    "trust 0.5, guarded, explore=5": sb.Guarded(sb.ModelTS(SHOP, trust=0.5), explore=5.0),
    "ModelTS, switching=True": sb.ModelTS(SHOP, switching=True),
    "ModelTS around the table, ± 0.02": sb.ModelTS(sb.around(SHOP, 0.02)),
    "SUCB on mixtures": sb.SUCB(sb.mixtures(SHOP)),
    "blind Thompson sampling": sb.ThompsonSampling(8),
}
SLOW = ("SUCB on mixtures",)


TYPES = range(len(TABLE))


def one_arm_off(kind: int) -> np.ndarray:
    """Return a type of customers who like best what the table calls their worst."""
    means = TABLE[kind].copy()
    means[int(means.argmin())] = 0.2
    return means


LONG = "one arm is off, 100,000 pulls"
WORLDS: dict[str, list[np.ndarray]] = {
    "the table is right": list(TABLE),
    "a mix of all types": [TABLE.mean(axis=0)],
    "one arm is off": [one_arm_off(kind) for kind in TYPES],
    LONG: [one_arm_off(kind) for kind in TYPES],
}


def static(name: str, truths: list[np.ndarray], pulls: int) -> list[sb.Result]:
    """Return results of a policy in worlds that do not change, with all runs shared among them."""
    runs = (FEW_RUNS if name in SLOW else RUNS) // len(truths)
    return [
        sb.simulate(
            {name: POLICIES[name]},
            sb.Bernoulli(means),
            pulls,
            runs,
            seed=place,
            checkpoints=100,
            misfit=True,
        )
        for place, means in enumerate(truths)
    ]


def drifting(name: str) -> tuple[list[float], int]:
    """Return the regret of agents whose customers change their type half way, and how many were warned.

    Regret is against the best offer of the moment.
    """
    regrets, warned = [], 0
    for run in range(FEW_RUNS if name in SLOW else LIVES):
        rng, regret = np.random.default_rng([5, run]), 0.0
        agent = sb.Agent(POLICIES[name], seed=run)
        for t in range(PULLS):
            kind = run if t < PULLS // 2 else run + 2
            means = TABLE[kind % len(TABLE)]
            decision = agent.ask()
            agent.tell(decision.id, float(rng.random() < means[decision.arm]))
            regret += means.max() - means[decision.arm]
        regrets.append(regret)
        warned += agent.misfit is not None and agent.misfit.refuted()
    return regrets, warned


def shown(regrets: np.ndarray) -> str:
    """Return a mean with its standard error."""
    return f"{regrets.mean():.0f} ± {regrets.std(ddof=1) / np.sqrt(len(regrets)):.0f}"


def main() -> None:
    """Measure, print and draw."""
    if "--draw" in sys.argv[1:]:
        draw()
        draw_frontier()
        return
    rows, curves = [], []
    for name in POLICIES:
        row: dict[str, Any] = {"policy": name}
        for world, truths in WORLDS.items():
            if world == LONG and name in SLOW:
                continue
            results = static(name, truths, 10 * PULLS if world == LONG else PULLS)
            regret = np.concatenate([each.regret[name] for each in results])
            values = np.concatenate([each.e_values[name] for each in results])
            row[world] = shown(regret[:, -1])
            row[f"{world}: refuted"] = (
                "" if np.isnan(values).any() else f"{(values >= 100).mean():.0%}"
            )
            if world == "a mix of all types":
                curves.append(curve(name, results[0].checkpoints, regret))
        regrets, warned = drifting(name)
        row["the type changes"] = shown(np.array(regrets))
        row["the type changes: warned"] = f"{warned} of {len(regrets)}"
        rows.append(row)
        print(row, flush=True)
    frame = pd.DataFrame(rows)
    frame.to_csv(HERE / "wrong-structure.csv", index=False)
    print(frame.to_string())
    pd.concat(curves).to_csv(CURVES, index=False)
    draw()


def curve(name: str, pulls: np.ndarray, regret: np.ndarray) -> pd.DataFrame:
    """Return the mean regret of a policy over time as a table."""
    mean = regret.mean(axis=0).round(3)
    return pd.DataFrame({"policy": name, "pulls": pulls, "mean regret": mean})


def draw() -> None:
    """Draw the regret in the mix of types."""
    axes = Figure(figsize=(7.2, 4.4), layout="constrained").subplots()
    for place, (name, rows) in enumerate(pd.read_csv(CURVES).groupby("policy", sort=False)):
        axes.plot(rows["pulls"], rows["mean regret"], label=name, lw=1.8, **styles.line(place))
    axes.set_xlabel("pulls")
    axes.set_ylabel("mean regret")
    axes.set_title("The audience is a mix of all six types")
    axes.xaxis.set_major_formatter(NUMBERS)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    labels = axes.get_legend_handles_labels()[1]
    if not label_line_ends(axes, axes.get_lines(), labels, SCREEN):
        legend_below(axes, "")
    axes.figure.savefig(HERE / "wrong-structure.png", dpi=110)


PATHS = {  # what changes along a line, and the policies on it with their labels
    "trust (off 0.1)": {"trust 1": "1", "trust 0.75": ".75", "trust 0.5": ".5", "trust 0": "0"},
    "off (trust 0.5)": {
        "trust 0.5, off 0.01": ".01",
        "trust 0.5, off 0.03": ".03",
        "trust 0.5": "",
        "trust 0.5, off 0.3": ".3",
    },
}


def draw_frontier() -> None:
    """Draw what doubt costs if a table is right against what it loses at most if it is wrong."""
    cells = pd.read_csv(HERE / "doubt.csv").pivot_table(
        index=["family", "policy"], columns="truth", values="ratio", sort=False
    )
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    families = list(dict.fromkeys(cells.index.get_level_values("family")))
    panels = figure.subplots(1, len(families), sharey=True)
    for axes, family in zip(panels, families, strict=True):
        mine = cells.loc[family]
        right, wrong = mine["right"], mine.drop(columns="right").max(axis=1)
        for place, (path, labels) in enumerate(PATHS.items()):
            names = list(labels)
            axes.plot(right[names], wrong[names], marker="o", label=path, **styles.line(place))
            for name, label in labels.items():
                axes.annotate(
                    label,
                    (right[name], wrong[name]),
                    textcoords="offset points",
                    xytext=(5, 5) if place else (-5, -13),
                    ha="left" if place else "right",
                    color=styles.colour(place),
                )
        axes.axhline(1.0, color="grey", lw=0.8)
        axes.set(title=family, yscale="log", xlim=(0.1, 0.6), ylim=(0.7, 32), xlabel="table right")
        axes.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        axes.minorticks_off()
    panels[0].set_ylabel("worst of six ways to be wrong")
    panels[-1].legend(frameon=False)
    figure.suptitle("Mean regret in units of blind Thompson sampling's")
    figure.savefig(HERE / "doubt.png", dpi=110)


if __name__ == "__main__":
    main()
