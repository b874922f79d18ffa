"""UCB1, Thompson sampling, KL-UCB and MOSS beside other libraries, and UCB1 against a hand-written loop.

Ten Bernoulli arms, 10,000 pulls, one core, in pulls per second (`make bench`). Each peer plays in an
environment of its own that is made once (contestants.py, peer_driver.py), in turn with the others. A
peer that does not install or run is shown with its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from contestants import Contestant, ContestantError, python_of
from engine import play_many
from oracles import pull_by_pull
from rows import Row, interleaved, number, seconds, write

import structured_bandits as sb

TOPIC = "peers"
MEANS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
PULLS = 10_000
RUNS = 200  # of this library and of the hand-written loop, in a repetition
REPETITIONS = 5
WORLD = sb.Bernoulli(MEANS)
UCB = sb.UCB(len(MEANS), alpha=2.0)
POLICIES: dict[str, Any] = {
    "UCB1": UCB,
    "Thompson sampling": sb.ThompsonSampling(len(MEANS)),
    "KL-UCB": sb.KLUCB(len(MEANS)),
    "MOSS": sb.MOSS(len(MEANS), horizon=PULLS),
}


class Peer(NamedTuple):
    """A peer's environment, what is timed, and which policies it has."""

    environment: str
    timed: str
    policies: tuple[str, ...]


PEERS = {
    "PyMAB": Peer("PyMAB", "its Experiment, in Rust", tuple(POLICIES)),
    "PyMAB-loop": Peer("PyMAB", "its policy in a loop of one's own", tuple(POLICIES)),
    "river": Peer("river", "pull and update", ("UCB1", "Thompson sampling")),
    "MABWiser": Peer("MABWiser", "predict and partial_fit", ("UCB1", "Thompson sampling")),
    "SMPyBandits": Peer("SMPyBandits", "its Evaluator", tuple(POLICIES)),
}

Contestants = dict[str, tuple[Callable[[], Any], int, str]]  # what plays, runs in a call, a note


def numpy_loop(rng: np.random.Generator) -> Any:
    """UCB1 as one writes it with NumPy arrays."""
    counts, sums = np.ones(len(MEANS)), (rng.random(len(MEANS)) < MEANS).astype(float)
    for t in range(len(MEANS), PULLS):
        arm = np.argmax(sums / counts + np.sqrt(2.0 * math.log(t + 1) / counts))
        counts[arm] += 1.0
        sums[arm] += rng.random() < MEANS[arm]
    return counts


def peers(policy: str) -> tuple[dict[str, Contestant], dict[str, str]]:
    """Start the peers that have a policy; return those that play, and the errors of the others."""
    playing, failed = {}, {}
    for name, has in PEERS.items():
        if policy not in has.policies:
            continue
        work = {"name": name, "policy": policy, "means": MEANS.tolist(), "pulls": PULLS}
        try:
            peer = Contestant(python_of(has.environment), "peer_driver.py", work)
            peer.play()
            playing[name] = peer
        except (ContestantError, OSError) as error:
            failed[name] = str(error)
    return playing, failed


def ours(policy: str) -> Contestants:
    """Return this library as a contestant, with and without what surrounds the engine."""
    rng = np.random.default_rng(1)
    player = POLICIES[policy]
    return {
        "this library, sb.simulate": (
            lambda: sb.simulate({policy: player}, WORLD, PULLS, runs=RUNS, workers=1),
            RUNS,
            f"{RUNS} runs",
        ),
        "this library, the engine alone": (
            lambda: play_many(player, PULLS, RUNS, rng, WORLD),
            RUNS,
            f"{RUNS} runs in one compiled call",
        ),
    }


def by_hand() -> Contestants:
    """Return loops of UCB1 that one writes in an hour."""
    rng = np.random.default_rng(1)
    return {
        "a hand-written Numba loop": (
            lambda: [pull_by_pull.ucb(MEANS, PULLS, 2.0, rng) for _ in range(RUNS)],
            RUNS,
            "",
        ),
        "a NumPy loop": (lambda: numpy_loop(rng), 1, ""),
    }


def side_by_side(policy: str) -> list[Row]:
    """All libraries that have a policy, at 10,000 pulls."""
    playing, failed = peers(policy)
    contestants = {**ours(policy), **(by_hand() if policy == "UCB1" else {})}
    for name, peer in playing.items():
        contestants[name] = (peer.play, 1, f"{peer.about['version']}, {PEERS[name].timed}")
    times = interleaved({name: play for name, (play, _, _) in contestants.items()}, REPETITIONS)
    speeds = {name: PULLS * contestants[name][1] / taken for name, taken in times.items()}
    rows = []
    for name in sorted(speeds, key=lambda name: -speeds[name]):
        note = contestants[name][2]
        if name in playing:
            counts = playing[name].play()["counts"]
            note += f"; the best arm has {100 * counts[-1] / sum(counts):.0f} % of the pulls"
            playing[name].stop()
        rows.append(Row(TOPIC, f"{policy}, {name}", "", speeds[name], "pulls/s", note))
    for name, error in failed.items():
        rows.append(Row(TOPIC, f"{policy}, {name}", "", 0.0, "pulls/s", f"does not run: {error}"))
    if playing:
        fastest = max(playing, key=lambda name: speeds[name])
        ratio = speeds["this library, sb.simulate"] / speeds[fastest]
        work = f"{policy}, 10^4 pulls, sb.simulate against the fastest other library"
        rows.append(Row(TOPIC, work, ">= 100", ratio, "times", fastest))
    return rows


def against_the_loop() -> list[Row]:
    """The engine against the hand-written loop, as the horizon grows."""
    rng = np.random.default_rng(2)
    rows = []
    for exponent, runs, times_by_hand, aim in ((4, RUNS, 50, ">= 3"), (6, 20, 2, ">= 9")):
        n = 10**exponent
        times = interleaved(
            {
                "ours": lambda n=n, runs=runs: play_many(UCB, n, runs, rng, WORLD),
                "loop": lambda n=n, times=times_by_hand: [
                    pull_by_pull.ucb(MEANS, n, 2.0, rng) for _ in range(times)
                ],
            },
            7,
        )
        rows.append(_row(exponent, aim, times["ours"] / runs, times["loop"] / times_by_hand))
    ours = interleaved({"ours": lambda: play_many(UCB, 10**8, 1, rng, WORLD)}, 3)["ours"]
    loop = seconds(lambda: pull_by_pull.ucb(MEANS, 10**8, 2.0, rng))
    return [*rows, _row(8, ">= 100", ours, loop)]


def _row(exponent: int, aim: str, ours: float, loop: float) -> Row:
    work = f"UCB1, 10^{exponent} pulls, the engine against the hand-written Numba loop"
    note = f"{number(1e3 * ours)} ms and {number(1e3 * loop)} ms a run"
    return Row(TOPIC, work, aim, loop / ours, "times", note)


def main() -> None:
    rows = [row for policy in POLICIES for row in side_by_side(policy)]
    write(TOPIC, [*rows, *against_the_loop()])


if __name__ == "__main__":
    main()
