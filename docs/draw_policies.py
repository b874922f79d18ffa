"""Plays policies on four structures and draws policies.png (`python docs/draw_policies.py`).

Mean regret after 10,000 pulls over about 200 runs, truths taken from the structure itself: every model
in turn (Figure 1 right, shop), parameters that are spread evenly (Figure 1 left), or a fresh structure
with its own true model in each run (random). A policy that does not serve a structure is left out there.
The numbers go to policies_regret.csv. With names of policies only these play again, the numbers of the
others stay; `--draw` draws without playing.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

import structured_bandits as sb
from structured_bandits.display import styles
from structured_bandits.display.labels import NUMBERS as TICKS
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)
from structured_bandits.experiments.policies import build_policy
from structured_bandits.policies.base import POLICIES

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
NUMBERS, PICTURE = HERE / "policies_regret.csv", HERE / "policies.png"
HORIZON = 10_000
RUNS = 200

BLIND, SETS, MODELS = (
    "knows nothing of the models",
    "sets of models that fit",
    "fits or weighs models",
)
COLOURS = {BLIND: "#8a8a8a", SETS: styles.COLOURS[0], MODELS: styles.COLOURS[1]}
KL = {"confidence": "kl"}
LIKELY = {"confidence": "likelihood"}
SHARP = {"confidence": "kl", "alpha": 0.5}
#: By group: what the picture calls a policy, and how an experiment file describes it.
SPECS: dict[str, dict[str, dict[str, Any]]] = {
    BLIND: {
        "UCB": {"kind": "UCB"},
        "UCBV": {"kind": "UCBV"},
        "ImprovedUCB": {"kind": "ImprovedUCB"},
        "MOSS": {"kind": "MOSS"},
        "KLUCB": {"kind": "KLUCB"},
        "KLUCB ++": {"kind": "KLUCB", "variant": "++"},
        "IMED": {"kind": "IMED"},
        "ThompsonSampling": {"kind": "ThompsonSampling"},
    },
    SETS: {
        "SUCB, paper": {"kind": "SUCB"},
        "SUCB likelihood": {"kind": "SUCB", **LIKELY, "alpha": 0.5},
        "SUCB kl": {"kind": "SUCB", **KL},
        "SUCB kl, alpha ½": {"kind": "SUCB", **SHARP},
        "SAE, paper": {"kind": "SAE"},
        "SAE likelihood": {"kind": "SAE", **LIKELY, "alpha": 1.0},
        "SAE kl": {"kind": "SAE", **KL},
        "SAE kl, alpha ½": {"kind": "SAE", **SHARP},
        "ASAE, paper": {"kind": "ASAE"},
        "ASAE likelihood": {"kind": "ASAE", **LIKELY, "alpha": 0.5},
        "ASAE kl": {"kind": "ASAE", **KL},
        "UCBC": {"kind": "UCBC"},
        "UCBC kl": {"kind": "UCBC", **KL},
        "KLUCBC": {"kind": "KLUCBC"},
        "TSC": {"kind": "TSC"},
    },
    MODELS: {
        "WAGP": {"kind": "WAGP"},
        "GreedyMLE": {"kind": "GreedyMLE"},
        "GreedyMLE likelihood": {"kind": "GreedyMLE", "fit": "likelihood"},
        "ModelTS": {"kind": "ModelTS"},
        "ModelTS trust=0.5": {"kind": "ModelTS", "trust": 0.5},
        "IDS": {"kind": "IDS"},
        "ISAE": {"kind": "ISAE"},
        "BestArm": {"kind": "BestArm", "level": 0.01},
        "OSSB": {"kind": "OSSB"},
    },
}
GROUPS = {name: group for group, specs in SPECS.items() for name in specs}


class Problem(NamedTuple):
    """A structure, the true means, and how many runs they get."""

    structure: Any
    means: Any
    runs: int


class Bar(NamedTuple):
    """A row of the table: the mean regret of a policy on a structure, and its standard error."""

    structure: str
    policy: str
    mean: float
    error: float
    runs: int


def every_model(structure: sb.FiniteStructure) -> Iterator[Problem]:
    """Make each model the truth in as many runs."""
    table = structure.cells.table
    for means in table:
        yield Problem(structure, means, -(-RUNS // len(table)))


def along_the_curves() -> Iterator[Problem]:
    """Spread the true parameters evenly, a run for each."""
    curves = figure1_left()
    for parameter in (np.arange(RUNS) + 0.5) / RUNS:
        yield Problem(curves, curves.means(parameter), 1)


def random_structures() -> Iterator[Problem]:
    """Draw a structure and its true model for each run."""
    for seed in range(RUNS):
        structure, truth = random_structure(np.random.default_rng(seed))
        yield Problem(structure, structure.means(truth), 1)


def shop() -> sb.FiniteStructure:
    """Return six types of customers and eight offers, with rates that shops have."""
    rng = np.random.default_rng(11)
    return sb.FiniteStructure(np.round(rng.uniform(0.01, 0.16, (6, 8)), 3))


STRUCTURES = {
    "Figure 1 right: 4 models, 4 arms": lambda: every_model(figure1_right()),
    "Figure 1 left: curves, 3 arms": along_the_curves,
    "random: 150 models, 50 arms": random_structures,
    "shop: 6 types, 8 offers": lambda: every_model(shop()),
}


def policies_for(structure: Any, names: Collection[str]) -> dict[str, Any]:
    """Return those of the policies that serve a structure."""
    found = {}
    for name in names:
        try:
            found[name] = build_policy(SPECS[GROUPS[name]][name], structure, HORIZON)
        except (sb.ParameterError, sb.StructureError):
            continue  # this structure does not answer what the policy asks
    return found


def play(title: str, names: Collection[str]) -> list[Bar]:
    """Play policies on all problems of a structure."""
    regrets: dict[str, list[float]] = {}
    for seed, problem in enumerate(STRUCTURES[title]()):
        policies = policies_for(problem.structure, names)
        if not policies:
            return []
        result = sb.simulate(
            policies,
            sb.Bernoulli(problem.means),
            HORIZON,
            runs=problem.runs,
            seed=seed,
            workers=1,
            checkpoints=1,
        )
        for name, table in result.regret.items():
            regrets.setdefault(name, []).extend(table[:, -1])
    return [
        Bar(title, name, float(np.mean(all_runs)), standard_error(all_runs), len(all_runs))
        for name, all_runs in regrets.items()
    ]


def standard_error(values: list[float]) -> float:
    """Return the standard error of a mean; a little too large where the truths take turns."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def save(bars: list[Bar]) -> None:
    """Write the numbers."""
    with NUMBERS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Bar._fields)
        for bar in bars:
            row = bar._replace(mean=f"{bar.mean:.4g}", error=f"{bar.error:.2g}")  # type: ignore[arg-type]
            writer.writerow(row)


def load() -> list[Bar]:
    """Read the numbers, if there are any."""
    if not NUMBERS.exists():
        return []
    with NUMBERS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [Bar(*names, float(mean), float(error), int(runs)) for *names, mean, error, runs in rows]


def draw(bars: list[Bar]) -> None:
    """Draw a panel for each structure, the best policy on top."""
    panels = [[bar for bar in bars if bar.structure == title] for title in STRUCTURES]
    panels = [panel for panel in panels if panel]
    heights = [len(panel) + 2 for panel in panels]
    figure, axes = plt.subplots(
        len(panels),
        figsize=(5.2, 0.25 * sum(heights) + 1.0),
        layout="constrained",
        height_ratios=heights,
    )
    for ax, panel in zip(axes, panels, strict=True):
        _draw_panel(ax, sorted(panel, key=lambda bar: -bar.mean))
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
    figure.legend(handles, list(COLOURS), loc="outside upper left", frameon=False, fontsize=11)
    figure.savefig(PICTURE, dpi=150)


def _draw_panel(ax: Any, bars: list[Bar]) -> None:
    """Draw the bars of a structure on a logarithmic axis, each with its number."""
    means, errors = np.array([bar.mean for bar in bars]), np.array([bar.error for bar in bars])
    left, right = 0.6 * means.min(), means.max()
    places = np.arange(len(bars))
    colours = [COLOURS[GROUPS[bar.policy]] for bar in bars]
    ax.barh(places, means - left, left=left, color=colours, height=0.72)
    ends = np.array([np.minimum(errors, 0.5 * means), errors])
    ax.errorbar(means, places, xerr=ends, fmt="none", ecolor="#222222", elinewidth=1.2)
    for place, mean, error in zip(places, means, errors, strict=True):
        ax.text(
            (mean + error) * 1.06,
            place,
            f"{mean:.3g}" if mean < 1000 else f"{mean:,.0f}",
            va="center",
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(TICKS)
    ax.set_xlim(left, right * (right / left) ** 0.22)
    ax.set_ylim(-0.6, len(bars) - 0.4)
    ax.set_yticks(places, [bar.policy for bar in bars])
    ax.set_title(bars[0].structure, loc="left", fontsize=12, fontweight="bold")
    ax.set_xlabel(f"mean regret after {HORIZON:,} pulls (less is better)")
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", help="by the names in the picture; all by default")
    parser.add_argument("--draw", action="store_true", help="do not play")
    wanted = parser.parse_args()
    names = wanted.policies or list(GROUPS)
    if unknown := set(names) - set(GROUPS):
        raise SystemExit(f"no policy is called {', '.join(sorted(unknown))}")
    kinds = {spec["kind"] for specs in SPECS.values() for spec in specs.values()}
    if missing := set(POLICIES) - kinds:
        raise SystemExit(f"there are policies without a bar: {', '.join(sorted(missing))}")
    bars = [bar for bar in load() if wanted.draw or bar.policy not in names]
    for title in STRUCTURES if not wanted.draw else ():
        begin = time.perf_counter()
        bars += play(title, names)
        save(bars)
        print(f"{title}: {time.perf_counter() - begin:.0f} s", flush=True)
    draw(bars)


if __name__ == "__main__":
    main()
