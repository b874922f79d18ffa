"""Soak: random hostile cases of every policy against its oracle (`make soak`, not part of `make test`).

Each case is played by the oracle, by the library pull by pull and by the library planning ahead:
compiled, or in Python on a tape of uniforms if the policy draws. The arms must be the same; excused are
decisions that were within 1e-9 of a tie (tests/support/exactness.py). An unsound look-ahead of SUCB errs
in about one of 3,000 such cases. A case that differs is printed with the call that plays it again, so
that it can become a test. Three more are no policies: agents that learn counts of up to 10^12 on every
kind of structure (huge-counts), and agents inside which something is raised at any place (faults). In
"definitions" every policy is played with its lookahead and with none registered.

    PYTHONPATH=tests python tools/soak.py [--minutes M] [--workers W] [POLICY ...]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

from support import definitions, index_contests, model_contests, set_contests, taped_contests
from support.exactness import play_case
from support.huge_counts import learn_anything
from support.interrupted import interrupt_anything
from tqdm import tqdm

from structured_bandits import MeansOutsideUnitIntervalWarning

SEED = 2020
SLICE = 5.0  # seconds after which workers report

CONTESTS = {
    "UCB": set_contests.UCB,
    "UCB-kl": set_contests.UCB_KL,
    "ImprovedUCB": set_contests.IMPROVED_UCB,
    "SUCB": set_contests.SUCB,
    "SUCB-kl": set_contests.SUCB_KL,
    "SAE": set_contests.SAE,
    "SAE-kl": set_contests.SAE_KL,
    "ASAE": set_contests.ASAE,
    "ASAE-kl": set_contests.ASAE_KL,
    "UCBC": set_contests.UCBC,
    "UCBC-kl": set_contests.UCBC_KL,
    "KLUCBC": set_contests.KLUCBC,
    "WAGP": set_contests.WAGP,
    "GreedyMLE": model_contests.GREEDY_SQUARES,
    "GreedyMLE-likelihood": model_contests.GREEDY_LIKELIHOOD,
    "OSSB": model_contests.OSSB,
    "KLUCB": index_contests.KLUCB,
    "KLUCB++": index_contests.KLUCB_PLUS_PLUS,
    "MOSS": index_contests.moss(anytime=False),
    "MOSS-anytime": index_contests.moss(anytime=True),
    "IMED": index_contests.IMED,
    "UCBV": index_contests.UCBV,
}
PLAY: dict[str, Callable[[int, int], Counter[str]]] = {
    **{name: partial(play_case, contest) for name, contest in CONTESTS.items()},
    "ThompsonSampling": taped_contests.thompson,
    "ModelTS": taped_contests.model_ts,
    "ModelTS-curves": taped_contests.model_ts_on_curves,
    "ModelTS-doubt": taped_contests.doubtful_model_ts,
    "IDS": taped_contests.ids,
    "TSC": lambda seed, index: taped_contests.tsc(
        set_contests.small_case(seed, index), seed, index
    ),
    "definitions": definitions.compare_any,
    "huge-counts": learn_anything,
    "faults": interrupt_anything,
}


class Share(NamedTuple):
    """The cases that one worker plays next: first, first + step, ..."""

    policy: str
    first: int
    step: int


class Report(NamedTuple):
    """What a worker met, the cases that differ, and where it goes on."""

    met: Counter[str]
    differing: list[str]
    following: Share


def play_slice(share: Share) -> Report:
    """Play cases for a few seconds."""
    warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)
    met: Counter[str] = Counter()
    differing: list[str] = []
    index, end = share.first, time.monotonic() + SLICE
    while time.monotonic() < end:
        try:
            met.update(PLAY[share.policy](SEED, index))
        except Exception as error:  # an error of any kind in a case is a finding
            differing.append(f"PLAY[{share.policy!r}]({SEED}, {index}): {error!r}")
        index += share.step
    return Report(met, differing, share._replace(first=index))


def soak(policy: str, minutes: float, workers: int) -> bool:
    """Play one policy; print what was met; return whether nothing differs."""
    met: Counter[str] = Counter()
    differing: list[str] = []
    shares = [Share(policy, first, workers) for first in range(workers)]
    with (
        get_context("spawn").Pool(workers) as pool,
        tqdm(total=round(60.0 * minutes), unit="s", desc=policy, leave=False) as bar,
    ):
        pool.map(play_slice, shares)  # compiles, which may take a minute
        start = time.monotonic()
        while time.monotonic() < start + bar.total:
            for report in pool.map(play_slice, shares):
                met.update(report.met)
                differing += report.differing
                shares[report.following.first % workers] = report.following
            bar.n = min(bar.total, round(time.monotonic() - start))
            bar.set_postfix(cases=met["cases"], differing=len(differing))
    played = met.pop("cases", 0) + len(differing)
    counts = ", ".join(f"{name} {count:,}" for name, count in met.items() if count)
    print(f"{policy}: {len(differing)} of {played:,} cases differ; {counts}", flush=True)
    if differing:
        print(f"  first: {differing[0]}", flush=True)
    return not differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="for each policy")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("policies", nargs="*", metavar="POLICY", help=f"of {', '.join(PLAY)}")
    given = parser.parse_args()
    if unknown := set(given.policies) - set(PLAY):
        parser.error(f"no such policy: {', '.join(sorted(unknown))}; there are {', '.join(PLAY)}")
    fine = [soak(policy, given.minutes, given.workers) for policy in given.policies or PLAY]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
