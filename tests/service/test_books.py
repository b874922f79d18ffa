"""Every status and every count is what a clerk would write down: nothing is lost, nothing counts twice."""

from __future__ import annotations

import pytest
from support.clerked import clerked_life

LIVES = 25  # in each test; `support.clerked.soak_books` lives as many as time allows


@pytest.mark.parametrize("block", range(10))
def test_random_lives_have_the_counts_of_the_clerk(block: int) -> None:
    for seed in range(LIVES * block, LIVES * (block + 1)):
        clerked_life(seed)
