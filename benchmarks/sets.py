"""Confidence sets of SUCB, SAE and ASAE on six families of tables: `python benchmarks/sets.py [part…]`.

The parts (all if none is named) are `regret` (benchmarks/families.py), likelihood sets and KL intervals
with several alpha, `curves`, the same on random curves, and `speed`, long runs beside loops in Numba.

Options: `--tables N` (24), `--seed N` (2026), `--runs N` of each truth (2).
"""

from __future__ import annotations

from typing import Any

import field_loops
import numpy as np
from families import FAMILIES, PULLS, Make, options_of, print_regrets, timed

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right

POLICIES: dict[str, Make] = {
    "SUCB 1/2": lambda s: sb.SUCB(s, alpha=0.5, confidence="likelihood"),
    "SUCB 1": lambda s: sb.SUCB(s, alpha=1.0, confidence="likelihood"),
    "SUCB kl 1/2": lambda s: sb.SUCB(s, alpha=0.5, confidence="kl"),
    "SAE 1, each round": lambda s: sb.SAE(s, PULLS, alpha=1.0, confidence="likelihood"),
    "SAE 1, each phase": lambda s: sb.SAE(
        s, PULLS, alpha=1.0, confidence="likelihood", looks="phase"
    ),
    "SAE kl 1/2": lambda s: sb.SAE(s, PULLS, alpha=0.5, confidence="kl"),
    "ASAE 1/2": lambda s: sb.ASAE(s, alpha=0.5, confidence="likelihood"),
    "ASAE kl 1/2": lambda s: sb.ASAE(s, alpha=0.5, confidence="kl"),
}


#: Curves of three pieces: how many arms, and between which ends the means at the knots are drawn.
CURVES = {"rates, 8 arms": (8, 0.01, 0.16), "uniform, 6 arms": (6, 0.05, 0.95)}
ON_CURVES: dict[str, Make] = {
    "SUCB 1/2": lambda s: sb.SUCB(s, alpha=0.5, confidence="likelihood"),
    "SUCB kl 1/2": lambda s: sb.SUCB(s, alpha=0.5, confidence="kl"),
    "SAE 1, each round": lambda s: sb.SAE(s, PULLS, alpha=1.0, confidence="likelihood"),
    "SAE kl 1/2": lambda s: sb.SAE(s, PULLS, alpha=0.5, confidence="kl"),
    "ASAE 1/2": lambda s: sb.ASAE(s, alpha=0.5, confidence="likelihood"),
    "ASAE kl 1/2": lambda s: sb.ASAE(s, alpha=0.5, confidence="kl"),
    "UCBC 1/2": lambda s: sb.UCBC(s, alpha=0.5, confidence="likelihood"),
    "UCBC kl 1/2": lambda s: sb.UCBC(s, alpha=0.5, confidence="kl"),
    "ISAE": sb.ISAE,
    "ModelTS": sb.ModelTS,
    "Thompson sampling": sb.ThompsonSampling,
}


def print_curves(curves: int, seed: int, runs: int) -> None:
    """Print mean regrets on random curves, each with truths drawn from it."""
    for name, (arms, low, high) in CURVES.items():
        rng, found = np.random.default_rng(seed), dict[str, list[float]]()
        for curve in range(curves):
            knots = rng.uniform(low, high, (4, arms))
            structure = sb.CurveStructure(
                [sb.Piece(place, place + 1, *knots[place : place + 2]) for place in range(3)]
            )
            world = sb.Bernoulli(structure.means(rng.uniform(0.0, 3.0)))
            played = sb.simulate(
                {kind: make(structure) for kind, make in ON_CURVES.items()},
                world,
                PULLS,
                runs,
                seed=seed + curve,
                checkpoints=1,
                misfit=False,
                progress=False,
            )
            for kind, each in played.regret.items():
                found.setdefault(kind, []).append(float(each[:, -1].mean()))
        print(f"curves, {name}: {curves} curves, {runs} runs each, {PULLS:,} pulls")
        for kind, means in found.items():
            error = np.std(means, ddof=1) / len(means) ** 0.5
            print(f"  {kind:18} {np.mean(means):6.1f} ± {error:4.1f}", flush=True)


def print_speed(name: str, table: Any, pulls: int, runs: int = 20) -> None:
    """Print how many times faster long runs are than loops in Numba."""
    structure = sb.FiniteStructure(table)
    world, rng = sb.Bernoulli(structure.means(0)), np.random.default_rng(1)
    before = field_loops.set_arguments(structure.cells.table)
    for policy, loop, more in (
        (sb.SUCB(structure, alpha=0.5), field_loops.sucb_sets, (0.5,)),
        (sb.SAE(structure, pulls, alpha=1.0), field_loops.sae_sets, (1.0,)),
    ):

        def play(policy: Any = policy) -> Any:
            return sb.simulate(policy, world, pulls, runs, workers=1, progress=False)

        def by_hand(loop: Any = loop, more: Any = more) -> Any:
            return loop(*before, *more, world.means, pulls, rng)

        ours, theirs = timed(play) / runs, timed(by_hand, 3)
        kind = type(policy).__name__
        print(
            f"{kind}, {name}, {pulls:,} pulls: {ours * 1e3:.3f} ms a run, by hand "
            f"{theirs * 1e3:.2f} ms: {theirs / ours:.1f} times",
            flush=True,
        )


def main() -> None:
    """Print the parts that are asked for."""
    options = options_of("confidence sets of SUCB, SAE and ASAE", ["regret", "curves", "speed"])
    if "regret" in options.parts:
        print_regrets(POLICIES, options)
    if "curves" in options.parts:
        print_curves(options.tables, options.seed, options.runs)
    if "speed" in options.parts:
        print_speed("Figure 1 right", figure1_right().cells.table, 500_000)
        print_speed("shop", FAMILIES["rates 6×8"](np.random.default_rng(11)), 10_000)


if __name__ == "__main__":
    main()
