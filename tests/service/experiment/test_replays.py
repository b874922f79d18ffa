"""What is restored is what was running, to the last bit, for every policy on every kind of structure."""

from __future__ import annotations

from itertools import cycle

import pytest
from support.replayed import accepted, replayed_life

from structured_bandits.policies.base import POLICIES
from structured_bandits.service import rows as events

SERVED = [name for name in POLICIES if name != "Guarded"]
KINDS = {value for name, value in vars(events).items() if name.isupper() and type(value) is str}


@pytest.mark.parametrize("policy", SERVED)
def test_replays_lead_to_the_state_that_was_running(policy: str) -> None:
    kinds = [kind for served, kind in accepted() if served == policy]
    assert kinds, "there is no structure on which it can be served"
    orders = cycle(("turn", "drawn"))
    wanted = {"ask", "tell", "cancel", "learn", "park", "mark", "start", "retire"}
    seen: set[str] = set()
    for life in range(64):  # at least sixteen lives, and on until all of it has happened
        if life >= 16 and life % len(kinds) == 0 and wanted <= seen:
            break
        kind, seed = kinds[life % len(kinds)], life // len(kinds)
        seen |= replayed_life(policy, kind, next(orders), seed)
    assert wanted <= seen


def test_rows_of_all_kinds_are_replayed() -> None:
    seen: set[str] = set()
    for seed in range(12):
        seen |= replayed_life("SAE", "finite", "drawn", seed, commands=80)
    assert seen == KINDS
