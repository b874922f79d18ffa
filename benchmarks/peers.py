"""UCB1 beside other libraries, and against a hand-written loop (`make bench`).

Ten Bernoulli arms, width sqrt(2 log t / pulls), 10,000 pulls, one core, in pulls per second. Each peer
plays in an environment of its own that is made once (contestants.py, peer_driver.py), in turn with the
others. A peer that does not install or run is shown with its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from contestants import Contestant, ContestantError, python_of
from engine import play_many
from oracles import pull_by_pull
from rows import Row, interleaved, number, seconds, write

import structured_bandits as sb

TOPIC = "peers"
MEANS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
PULLS = 10_000
PEERS = {  # their environments and what is timed
    "PyMAB": ("PyMAB", "its Experiment, in Rust"),
    "PyMAB-loop": ("PyMAB", "its policy in a loop of one's own"),
    "river": ("river", "pull and update"),
    "MABWiser": ("MABWiser", "predict and partial_fit"),
    "SMPyBandits": ("SMPyBandits", "its Evaluator"),
}
RUNS = 200  # of this library and of the hand-written loop, in a repetition
REPETITIONS = 5
WORLD = sb.Bernoulli(MEANS)
UCB = sb.UCB(len(MEANS), alpha=2.0)


def numpy_loop(rng: np.random.Generator) -> Any:
    """UCB1 as one writes it with NumPy arrays."""
    counts, sums = np.ones(len(MEANS)), (rng.random(len(MEANS)) < MEANS).astype(float)
    for t in range(len(MEANS), PULLS):
        arm = np.argmax(sums / counts + np.sqrt(2.0 * math.log(t + 1) / counts))
        counts[arm] += 1.0
        sums[arm] += rng.random() < MEANS[arm]
    return counts


def peers() -> tuple[dict[str, Contestant], dict[str, str]]:
    """Start all peers; return those that play, and the errors of those that do not."""
    playing, failed = {}, {}
    for name, (environment, _) in PEERS.items():
        work = {"name": name, "means": MEANS.tolist(), "pulls": PULLS}
        try:
            peer = Contestant(python_of(environment), "peer_driver.py", work)
            peer.play()
            playing[name] = peer
        except (ContestantError, OSError) as error:
            failed[name] = str(error)
    return playing, failed


def side_by_side() -> list[Row]:
    """All libraries at 10,000 pulls."""
    rng = np.random.default_rng(1)
    playing, failed = peers()
    simulate = lambda: sb.simulate({"UCB": UCB}, WORLD, PULLS, runs=RUNS, workers=1)  # noqa: E731
    contestants: dict[str, tuple[Callable[[], Any], int, str]] = {
        "this library, sb.simulate": (simulate, RUNS, f"{RUNS} runs"),
        "this library, the engine alone": (
            lambda: play_many(UCB, PULLS, RUNS, rng, WORLD),
            RUNS,
            f"{RUNS} runs in one compiled call",
        ),
        "a hand-written Numba loop": (
            lambda: [pull_by_pull.ucb(MEANS, PULLS, 2.0, rng) for _ in range(RUNS)],
            RUNS,
            "",
        ),
        "a NumPy loop": (lambda: numpy_loop(rng), 1, ""),
    }
    for name, peer in playing.items():
        contestants[name] = (peer.play, 1, f"{peer.about['version']}, {PEERS[name][1]}")
    times = interleaved({name: play for name, (play, _, _) in contestants.items()}, REPETITIONS)
    speeds = {name: PULLS * contestants[name][1] / taken for name, taken in times.items()}
    rows = []
    for name in sorted(speeds, key=lambda name: -speeds[name]):
        note = contestants[name][2]
        if name in playing:
            counts = playing[name].play()["counts"]
            note += f"; the best arm has {100 * counts[-1] / sum(counts):.0f} % of the pulls"
            playing[name].stop()
        rows.append(Row(TOPIC, f"UCB1, {name}", "", speeds[name], "pulls/s", note))
    for name, error in failed.items():
        rows.append(Row(TOPIC, f"UCB1, {name}", "", 0.0, "pulls/s", f"does not run: {error}"))
    if playing:
        fastest = max(playing, key=lambda name: speeds[name])
        ratio = speeds["this library, sb.simulate"] / speeds[fastest]
        work = "UCB1, 10^4 pulls, sb.simulate against the fastest other library"
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
    write(TOPIC, [*side_by_side(), *against_the_loop()])


if __name__ == "__main__":
    main()
