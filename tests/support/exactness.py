"""Playing many cases by an oracle and by the library four ways, and comparing the arms.

The oracle plays pull by pull in exact arithmetic; the library plays in Python and compiled, planning
ahead and pull by pull. The arms of every pull and the number of empty confidence sets must be the same. A
case in which a decision of the oracle was within 1e-9 of a tie, but not on it, is counted apart; after a
coincidence of numbers that no rounding can see (`Trace`) nothing is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from oracles.structures import Trace
from support.cases import Case, draw_case
from support.play import Played, Spy, play

Make = Callable[[Case], Any]
Oracle = Callable[[Case, Played], Trace]


def compare(cases: Iterator[Case], make: Make, oracle: Oracle, every_pull: bool) -> Counter[str]:
    """Play all cases every way; return what was met.

    `every_pull` marks policies whose plans always hold one pull. In Python a full-size case of them
    takes seconds and planning changes nothing, so there one in four is played, planning only.
    """
    met: Counter[str] = Counter()
    for number, case in enumerate(cases):
        policy = make(case)
        planned = play(policy, case.rewards, case.horizon, compiled=True, planning=True)
        trace = oracle(case, planned)
        ways = [planned, play(policy, case.rewards, case.horizon, compiled=True, planning=False)]
        slow = every_pull and case.horizon == 5000
        if not slow or number % 4 == 0:
            spy = Spy(policy)
            ways.append(play(spy, case.rewards, case.horizon, compiled=False, planning=True))
            met["long_plans"] += spy.longest > 1
            met["cut_plans"] += spy.cut
        if not slow:
            ways.append(play(policy, case.rewards, case.horizon, compiled=False, planning=False))
        for way in ways:
            if trace.coincidences:
                sure = trace.coincidences[0]
                met["coincidences"] += 1
                assert way.arms[:sure] == trace.arms[:sure], f"case {number}"
            elif (way.arms, way.empty) != (trace.arms, trace.empty):
                assert trace.closest < 1e-9, f"case {number}: {difference(way, trace)}"
                met["near_ties_broken"] += 1
        met.update(cases=1, ties=trace.ties, empty=trace.empty, reentries=trace.reentries)
        met["full_size"] += case.horizon == 5000
    assert met["near_ties_broken"] <= 1 + met["cases"] // 500
    return met


def difference(way: Played, trace: Trace) -> str:
    pairs = zip(way.arms, trace.arms, strict=True)
    place = next((t for t, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
    if place is None:
        return f"{way.empty} empty sets, the oracle met {trace.empty}"
    return f"pull {place}: arm {way.arms[place]}, the oracle plays {trace.arms[place]}"


def cases(seed: int, kind: str, small: int, full: int) -> Iterator[Case]:
    for index in range(full):
        yield draw_case(seed, index, kind, full_size=True)
    for index in range(small):
        yield draw_case(seed, index, kind, full_size=False)


def assert_met(met: Counter[str], **least: int) -> None:
    """Minimum numbers of what makes cases hard, so that they stay hard."""
    for name, count in least.items():
        assert met[name] >= count, f"{name}: {met[name]}, at least {count} expected; {met}"
