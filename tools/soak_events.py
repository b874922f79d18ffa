"""Soak: live agents replayed, read and restored on very many event sequences (not part of `make test`).

As tests/agents/test_events.py, on larger structures: 40 models × 12 arms, curves of 8 pieces × 12 arms,
at levels alpha from 0.01 to 2. Every other sequence is SUCB's, which keeps most from plan to plan.

    PYTHONPATH=tests python tools/soak_events.py [sequences] [first]
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
from support.cases import draw_case
from support.events import Policies, names_on, random_script, replay

EVENTS = 60


def soak_sequence(index: int) -> tuple[Counter[str], str]:
    """Play one sequence; return what was met and a description if a replay differs."""
    rng = np.random.default_rng([2020, index])
    kind = "curves" if index % 2 else "finite"
    case = draw_case(2021, index, kind, full_size=index % 4 < 2)
    names = names_on(case.structure)
    name = "SUCB" if index % 8 < 4 else names[index // 8 % len(names)]
    alpha, horizon = 0.01 * 200 ** float(rng.random()), int(rng.integers(2, 100_000))
    script = random_script(rng, case.structure.n_arms, case.rewards.mean(axis=1))
    policies = Policies(case.structure)
    met, difference = replay(lambda: policies.named(name, alpha, horizon), script, EVENTS, rng)
    return met, difference and f"sequence {index}, {name}, {kind}: {difference}"


def main() -> None:
    sequences = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    total: Counter[str] = Counter()
    for index in range(first, first + sequences):
        met, message = soak_sequence(index)
        total += met
        if message:
            total["BAD"] += 1
            print(message[:2000], flush=True)
        if index % 1000 == 999:
            print(index + 1, dict(total), flush=True)
    if total["BAD"]:
        sys.exit(f"{total['BAD']} of {total['sequences']:,} sequences differ")
    print(f"all {total['sequences']:,} sequences play the same: {dict(total)}")


if __name__ == "__main__":
    main()
