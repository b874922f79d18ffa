"""Is advice good? Seven structures, at trust 1 and 1/2, measured afresh with other seeds.

For each case advice is asked with half the usual time; then all candidates that came near are played
anew. The one advised should be within 10 % of the best (at trust 1), or of the best that survives a
structure that is a little wrong. Not a part of `make test`: the first call compiles every policy.

    PYTHONPATH=tests python tools/advice.py [--seconds S] [--runs N] [CASE ...]
"""

from __future__ import annotations

import argparse
import time

from support.advice_cases import CASES, excess, measured, survivors

import structured_bandits as sb
from structured_bandits.advice.candidates import BLIND

NEAR = 2.0  # times the advised one's mean: who is further away is not measured again
SEED = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=256)
    arguments = parser.parse_args()
    for name in arguments.cases:
        for trust in (1.0, 0.5):
            report(name, trust, arguments.seconds, arguments.runs)


def report(name: str, trust: float, seconds: float, runs: int) -> None:
    structure, horizon = CASES[name].make(), CASES[name].horizon
    begin = time.perf_counter()
    advice = sb.advise(structure, horizon, trust=trust, seconds=seconds)
    spent = time.perf_counter() - begin
    every = sb.candidates(structure, horizon, trust=trust)
    means = {row["policy"]: row["mean"] for row in advice.table if row["microseconds"] is not None}
    near = {each: every[each] for each, mean in means.items() if mean <= NEAR * means[advice.name]}
    found = measured(structure, horizon, {**near, BLIND: every[BLIND]}, runs, SEED)
    others = list(found) if trust == 1.0 else survivors(found)
    behind, error = excess(found, advice.name, others)
    best = min(others, key=lambda other: float(found[other]["inside"].mean()))
    print(
        f"{name:13} trust {trust:3g}: {advice.name} ({found[advice.name]['inside'].mean():.1f}), best "
        f"{best} ({found[best]['inside'].mean():.1f}): {behind:+.1%} ± {2 * error:.1%}; blind "
        f"{found[BLIND]['inside'].mean():.1f}; tied {list(advice.tied)}; survives: "
        f"{advice.name in survivors(found)}; {spent:.0f} s, {advice.info['compiling']:.0f} s of them "
        "compiling",
        flush=True,
    )


if __name__ == "__main__":
    main()
