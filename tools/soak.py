"""Soak: SUCB's look-ahead on very many random cases (`make soak`, not part of `make test`).

Each case is played by the oracle, by the library pull by pull and by the library planning ahead; a
case is bad when the arms differ, unless a decision of the oracle was within 1e-9 of a tie. An unsound
look-ahead errs in about one of 3,000 such cases.

    PYTHONPATH=tests python tools/soak.py [cases] [workers]
"""

from __future__ import annotations

import sys
from collections import Counter
from multiprocessing import get_context

from oracles import policies as naive
from support.cases import draw_case
from support.play import play
from tqdm import tqdm

import structured_bandits as sb

SEED = 2020
FULL_SIZE_EVERY = 200


def soak_case(index: int) -> tuple[Counter[str], str]:
    """Play one case three ways; return what was met and a description if the arms differ."""
    kind = "curves" if index % 2 else "finite"
    case = draw_case(SEED, index, kind, full_size=index % FULL_SIZE_EVERY == 0)
    policy = sb.SUCB(case.structure, alpha=case.alpha)
    trace = naive.sucb(case.oracle, case.rewards.tolist(), case.horizon, alpha=case.alpha)
    planned = play(policy, case.rewards, case.horizon, compiled=True, planning=True)
    single = play(policy, case.rewards, case.horizon, compiled=True, planning=False)
    met = Counter(
        cases=1,
        pulls=case.horizon,
        plans=planned.plans,
        ties=trace.ties,
        empty=trace.empty,
        reentries=trace.reentries,
        near_ties=trace.closest < 1e-9,
    )
    if trace.arms == planned.arms == single.arms and trace.empty == planned.empty == single.empty:
        return met, ""
    met["near_tie_differs" if trace.closest < 1e-9 else "BAD"] += 1
    return met, f"case {index} ({kind}): the arms differ, closest decision {trace.closest:.1e}"


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    total: Counter[str] = Counter()
    with get_context("spawn").Pool(workers) as pool:
        for met, message in tqdm(
            pool.imap_unordered(soak_case, range(cases), chunksize=20), total=cases, unit="case"
        ):
            total += met
            if message:
                tqdm.write(message)
    print(", ".join(f"{name} {count:,}" for name, count in sorted(total.items())))
    if total["BAD"]:
        sys.exit(f"{total['BAD']} cases differ")
    print(f"SUCB: planned = pull by pull = oracle on all {total['cases']:,} cases")


if __name__ == "__main__":
    main()
