"""The verdicts on the paper's claims for five seeds (`make verdicts`, some minutes).

Across the seeds no claim may both hold and not hold; what differs from the first seed is printed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from test_reproduce import verdicts_of

from structured_bandits.display.verdicts import FAILS, HOLDS
from structured_bandits.experiments.claims import MOST_RUNS

SEEDS = range(5)


def main() -> None:
    seen: dict[tuple[str, int], set[str]] = {}
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            found = verdicts_of(seed, Path(folder), MOST_RUNS)
        texts = [verdict.text for verdicts in found.values() for verdict in verdicts]
        print(
            f"seed {seed}: {len(texts)} verdicts, {sum('≈' in text for text in texts)} asymptotic"
        )
        for claim, verdicts in found.items():
            for place, verdict in enumerate(verdicts):
                seen.setdefault((claim, place), set()).add(verdict.outcome)
    for (claim, place), outcomes in seen.items():
        if len(outcomes) > 1:
            print(f"{claim}, preset {place}: {' / '.join(sorted(outcomes))}")
    contradicted = [claim for claim, outcomes in seen.items() if {HOLDS, FAILS} <= outcomes]
    print(f"claims that both hold and do not: {contradicted or 'none'}")
    sys.exit(bool(contradicted))


if __name__ == "__main__":
    main()
