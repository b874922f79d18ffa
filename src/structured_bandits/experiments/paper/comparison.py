"""A first comparison: the paper's policies on the structure of Figure 1 right.

Run by `make reproduce`. The setting is that of the paper's Figure 2c, at equal widths: alpha = 2 for
every policy (the paper does not say which widths SUCB and UCB had; errata, I-12).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from structured_bandits.environments.bernoulli import Bernoulli
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.policies.asae import ASAE
from structured_bandits.policies.base import PolicyLike
from structured_bandits.policies.sae import SAE
from structured_bandits.policies.sucb import SUCB
from structured_bandits.policies.ucb import UCB
from structured_bandits.simulation.result import Result
from structured_bandits.simulation.simulate import simulate

HORIZON = 500_000


def compare(runs: int, seed: int, workers: int | None = None) -> Result:
    """Play UCB, SUCB, SAE and ASAE on Figure 1 right, true model the first."""
    structure = figure1_right()
    policies: dict[str, PolicyLike] = {
        "UCB": UCB(structure, alpha=2.0),
        "SUCB": SUCB(structure, alpha=2.0),
        "SAE": SAE(structure, HORIZON, alpha=2.0, beta=1.0),
        "ASAE": ASAE(structure, alpha=2.0, beta=1.0, eta=0.01, reading="theory"),
    }
    world = Bernoulli(structure.means(0))
    return simulate(policies, world, HORIZON, runs=runs, seed=seed, workers=workers)


def table(result: Result) -> str:
    """Return the comparison as text."""
    header = [
        "policy",
        "regret",
        "95 % interval",
        "median",
        "pulls of arms 2, 3, 4",
        "plans",
        "width",
    ]
    rows = [header]
    for name, row in result.summary().iterrows():
        pulls = result.pulls[str(name)].mean(axis=0)[1:]
        rows.append(
            [
                str(name),
                f"{row['mean']:.1f}",
                f"{row['low']:.1f} to {row['high']:.1f}",
                f"{row['median']:.1f}",
                ", ".join(f"{count:.0f}" for count in pulls),
                f"{row['plans']:,.0f}",
                row["width"],
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def main() -> None:
    """Run the comparison, print its table, save result and figure."""
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description="Compare the paper's policies on Figure 1 right.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    print(
        f"Figure 1 right: 4 arms, 4 models, {HORIZON:,} pulls, {options.runs} runs, Bernoulli rewards"
        "\n(the first time, the policies are compiled: about half a minute)"
    )
    begin = time.perf_counter()
    result = compare(options.runs, options.seed, options.workers)
    seconds = time.perf_counter() - begin
    print(f"\n{table(result)}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    result.save(options.out / "fig1-right.parquet")
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    result.plot(axes).set_title(f"Figure 1 right, {options.runs} runs, equal widths")
    figure.savefig(options.out / "fig1-right.png", dpi=150)
    pulls = options.runs * HORIZON * len(result.policies)
    print(f"{pulls / 1e6:,.0f} million pulls in {seconds:.1f} s; saved in {options.out}/:")
    print("fig1-right.parquet (structured_bandits.load_result) and fig1-right.png")


if __name__ == "__main__":
    main()
