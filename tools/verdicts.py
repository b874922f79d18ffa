"""The verdicts on the paper's claims for five seeds (`make verdicts`, about a minute a seed)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from test_reproduce import VERDICTS, verdicts_of


def main() -> None:
    for seed in range(5):
        with tempfile.TemporaryDirectory() as folder:
            changed = {
                name: outcomes
                for name, outcomes in verdicts_of(seed, Path(folder)).items()
                if outcomes != VERDICTS[name]
            }
        print(f"seed {seed}: {len(VERDICTS)} claims, verdicts that differ: {changed or 'none'}")


if __name__ == "__main__":
    main()
