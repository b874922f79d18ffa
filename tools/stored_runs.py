"""Forty stored runs: are results, to the last bit, what they were before a change of the inside?

    python tools/stored_runs.py           # plays them and compares with tools/stored_runs.json
    python tools/stored_runs.py --write   # writes that file anew

Each entry is a policy with its rule spelled out, a structure, a world, a horizon and an engine; its
fingerprint is a hash of all that a result holds: regrets, pulls, sums, alarms and empty sets. They are
bit-identical on one platform with the versions of `requirements.lock` only, so this is no test of `make
test`: it is what one runs before and after moving code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb

STORED = Path(__file__).with_suffix(".json")
SEED = 1119
RUNS = 5


class Game(NamedTuple):
    """What is played: a structure, the means that are true, the world that pays, a horizon."""

    structure: Any
    means: Any
    world: Any
    horizon: int


def shop() -> Game:
    """Click rates of 6 types of customers for 8 arms."""
    table = np.random.default_rng(6).uniform(0.01, 0.16, (6, 8)).round(3)
    return Game(sb.FiniteStructure(table), table[2], sb.Bernoulli(table[2]), 20_000)


def large() -> Game:
    """Forty models of twelve arms with means in the middle."""
    table = np.random.default_rng(40).uniform(0.05, 0.95, (40, 12)).round(3)
    return Game(sb.FiniteStructure(table), table[7], sb.Bernoulli(table[7]), 20_000)


def curve() -> Game:
    """Three arms whose means are lines in one parameter."""
    structure = sb.CurveStructure(
        [
            sb.Piece(0.0, 0.5, at_start=(0.9, 0.5, 0.2), at_end=(0.5, 0.5, 0.4)),
            sb.Piece(0.5, 1.0, at_start=(0.5, 0.5, 0.4), at_end=(0.5, 0.9, 0.6), closed="both"),
        ]
    )
    means = np.array([0.74, 0.5, 0.28])  # of the parameter 0.2
    return Game(structure, means, sb.Bernoulli(means), 20_000)


def hills() -> Game:
    """Seven arms in a row with one peak."""
    means = np.array([0.3, 0.42, 0.55, 0.7, 0.6, 0.45, 0.35])
    return Game(sb.unimodal(7), means, sb.Bernoulli(means), 1_000)


def margins() -> Game:
    """A table that is known up to margins."""
    table = np.random.default_rng(3).uniform(0.1, 0.9, (5, 6)).round(2)
    means = table[1] + 0.02
    return Game(sb.around(table, 0.05), means, sb.Bernoulli(means), 2_000)


def groups() -> Game:
    """Two groups of arms that know nothing of each other."""
    tables = [np.random.default_rng(seed).uniform(0.1, 0.9, (4, 3)).round(2) for seed in (1, 2)]
    means = np.concatenate([tables[0][0], tables[1][3]])
    parts = [sb.FiniteStructure(table) for table in tables]
    return Game(sb.product(parts), means, sb.Bernoulli(means), 5_000)


def late() -> Game:
    """The click rates of `shop`, told about 50 pulls later."""
    game = shop()
    return game._replace(world=sb.Delayed(game.world, sb.GeometricDelay(50.0)), horizon=5_000)


def gauss() -> Game:
    """The table of `large` with Gaussian rewards."""
    game = large()
    return game._replace(world=sb.Gaussian(game.means, 0.5), horizon=5_000)


Maker = Callable[[Game], Any]
#: Every policy with its rule spelled out, so that a new default changes nothing here.
POLICIES: dict[str, Maker] = {
    "UCB": lambda g: sb.UCB(g.structure, alpha=2.0, confidence="hoeffding"),
    "UCB kl": lambda g: sb.UCB(g.structure, alpha=0.5, confidence="kl"),
    "SUCB": lambda g: sb.SUCB(g.structure, alpha=2.0, confidence="hoeffding"),
    "SUCB kl": lambda g: sb.SUCB(g.structure, alpha=0.5, confidence="kl"),
    "SAE": lambda g: sb.SAE(g.structure, g.horizon, alpha=2.0, confidence="hoeffding"),
    "ASAE": lambda g: sb.ASAE(g.structure, alpha=2.0, confidence="hoeffding"),
    "WAGP": lambda g: sb.WAGP(g.structure),
    "GreedyMLE": lambda g: sb.GreedyMLE(g.structure, fit="squares"),
    "UCBC": lambda g: sb.UCBC(g.structure, alpha=0.5, confidence="kl"),
    "KLUCBC": lambda g: sb.KLUCBC(g.structure),
    "TSC": lambda g: sb.TSC(g.structure),
    "OSSB": lambda g: sb.OSSB(g.structure),
    "ModelTS": lambda g: sb.ModelTS(g.structure),
    "ModelTS, trust 0.5": lambda g: sb.ModelTS(g.structure, trust=0.5),
    "IDS": lambda g: sb.IDS(g.structure),
    "Guarded": lambda g: sb.Guarded(sb.ModelTS(g.structure)),
    "KLUCB": lambda g: sb.KLUCB(len(g.means)),
    "MOSS": lambda g: sb.MOSS(len(g.means), g.horizon),
    "IMED": lambda g: sb.IMED(len(g.means)),
    "UCBV": lambda g: sb.UCBV(len(g.means)),
    "ImprovedUCB": lambda g: sb.ImprovedUCB(len(g.means), g.horizon),
    "ThompsonSampling": lambda g: sb.ThompsonSampling(len(g.means)),
}
ON_A_TABLE = [name for name in POLICIES if name != "WAGP"]  # which plays curves
PLAYED: list[tuple[Callable[[], Game], list[str]]] = [
    (shop, ON_A_TABLE),
    (large, ["SUCB", "SAE", "IDS"]),
    (curve, ["SUCB", "SUCB kl", "SAE", "ModelTS", "WAGP"]),
    (hills, ["SUCB kl", "TSC"]),
    (margins, ["SUCB kl", "SAE"]),
    (groups, ["SUCB", "ModelTS"]),
    (late, ["SUCB kl", "ModelTS", "ThompsonSampling"]),
]
WITH_SIGMA: dict[str, Maker] = {
    "UCB": lambda g: sb.UCB(
        g.structure, alpha=2.0, confidence="hoeffding", sigma=0.5, reward_range=None
    ),
    "SUCB": lambda g: sb.SUCB(
        g.structure, alpha=2.0, confidence="hoeffding", sigma=0.5, reward_range=None
    ),
}


def played() -> Iterator[tuple[str, Game, Any]]:
    """Yield the name of each of the forty, what is played, and the policy."""
    for make, names in PLAYED:
        game = make()
        for name in names:
            yield f"{name} on {make.__name__}", game, POLICIES[name](game)
    game = gauss()
    for name, policy in WITH_SIGMA.items():
        yield f"{name} on gauss", game, policy(game)


def fingerprint(result: sb.Result, name: str) -> str:
    """Return a hash of what a result holds of one policy."""
    digest = hashlib.sha256()
    for held in (result.regret, result.pulls, result.sums, result.plans, result.empty):
        digest.update(np.ascontiguousarray(held[name]).tobytes())
    if name in result.alarms:
        digest.update(np.ascontiguousarray(result.alarms[name]).tobytes())
    return digest.hexdigest()[:16]


def play_all() -> dict[str, str]:
    """Return the fingerprint of each."""
    found = {}
    for name, game, policy in played():
        result = sb.simulate(
            {name: policy}, game.world, game.horizon, runs=RUNS, seed=SEED, progress=False
        )
        found[name] = fingerprint(result, name)
        print(f"{found[name]}  {name}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {STORED.name} anew")
    write = parser.parse_args().write
    found = play_all()
    if write:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
        return
    stored = json.loads(STORED.read_text())
    differing = [name for name in stored | found if stored.get(name) != found.get(name)]
    print(f"{len(stored) - len(differing)} of {len(stored)} runs are bit-identical")
    sys.exit(f"these are not: {', '.join(differing)}" if differing else 0)


if __name__ == "__main__":
    main()
