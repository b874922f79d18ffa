"""Playing cases by an oracle and by the library, and comparing the arms.

The oracle plays pull by pull in exact arithmetic; the library plays in Python and compiled, planning
ahead and pull by pull. The arms of every pull and the number of empty confidence sets must be the same. A
case in which a decision of the oracle was within 1e-9 of a tie, but not on it, is counted apart; after a
coincidence of numbers that no rounding can see (`Trace`) nothing is compared. Planned and pull-by-pull
play of one engine round alike: between them nothing is excused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from oracles.structures import Trace
from support.cases import Case, draw_case
from support.play import Played, Spy, play

NEAR = 1e-9  # of a decision: rounding may decide it otherwise

Ways = dict[str, Played]


class Contest(NamedTuple):
    """A policy without randomness and its oracle, on cases that have `rewards` and a `horizon`."""

    draw: Callable[[int, int], Any]  # the case with this seed and number
    make: Callable[[Any], Any]  # the policy for a case
    oracle: Callable[[Any, Any, list[int]], Trace]  # for a case, the policy and the arms it played


def compiled_ways(policy: Any, case: Any) -> Ways:
    """Play a case compiled, planning ahead and pull by pull."""
    return {
        "compiled, planning": play(policy, case.rewards, case.horizon, True, True),
        "compiled, pull by pull": play(policy, case.rewards, case.horizon, True, False),
    }


def judge(trace: Trace, ways: Ways) -> Counter[str]:
    """Return what was met in a case; raise if the library plays otherwise than the oracle."""
    met = Counter(
        cases=1,
        pulls=len(trace.arms),
        ties=trace.ties,
        empty=trace.empty,
        reentries=trace.reentries,
        coincidences=bool(trace.coincidences),
        near_ties=trace.closest < NEAR,
    )
    for name, way in ways.items():
        if differs := difference(way, trace):
            assert trace.closest < NEAR, f"{name}: {differs}; closest decision {trace.closest:.1e}"
            met["near_ties_broken"] += 1
    for name, way in ways.items():
        twin = ways.get(name.replace("planning", "pull by pull"), way)
        assert (way.arms, way.empty) == (twin.arms, twin.empty), f"{name}: not as pull by pull"
    return met


def difference(way: Played, trace: Trace) -> str:
    """Say where a run leaves the oracle's, before the first coincidence; nothing if it does not."""
    pairs = list(zip(way.arms, trace.arms, strict=True))[: trace.sure]
    place = next((t for t, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
    if place is not None:
        return f"pull {place}: arm {way.arms[place]}, the oracle plays {trace.arms[place]}"
    if way.empty != trace.empty and not trace.coincidences:
        return f"{way.empty} empty sets, the oracle met {trace.empty}"
    return ""


def play_case(contest: Contest, seed: int, index: int) -> Counter[str]:
    """Play case `index` compiled and by the oracle; return what was met, raise if they differ."""
    case = contest.draw(seed, index)
    policy = contest.make(case)
    ways = compiled_ways(policy, case)
    planned = ways["compiled, planning"]
    met = judge(contest.oracle(case, policy, planned.arms), ways)
    met["plans"] += planned.plans
    return met


def compare(cases: Iterator[Any], contest: Contest, every_pull: bool) -> Counter[str]:
    """Play all cases every way; return what was met.

    `every_pull` marks policies whose plans always hold one pull. In Python a full-size case of them
    takes seconds and planning changes nothing, so there one in four is played, planning only.
    """
    met: Counter[str] = Counter()
    for number, case in enumerate(cases):
        policy = contest.make(case)
        ways = compiled_ways(policy, case)
        trace = contest.oracle(case, policy, ways["compiled, planning"].arms)
        slow = every_pull and case.horizon == 5000
        if not slow or number % 4 == 0:
            spy = Spy(policy)
            ways["Python, planning"] = play(spy, case.rewards, case.horizon, False, True)
            met["long_plans"] += spy.longest > 1
            met["cut_plans"] += spy.cut
        if not slow:
            single = play(policy, case.rewards, case.horizon, False, False)
            ways["Python, pull by pull"] = single
        try:
            met += judge(trace, ways)
        except AssertionError as error:
            raise AssertionError(f"case {number}: {error}") from None
        met["saved"] += case.horizon - ways["compiled, planning"].plans
        met["full_size"] += case.horizon == 5000
    assert met["near_ties_broken"] <= 1 + met["cases"] // 500
    return met


def cases(seed: int, kind: str, small: int, full: int) -> Iterator[Case]:
    for index in range(full):
        yield draw_case(seed, index, kind, full_size=True)
    for index in range(small):
        yield draw_case(seed, index, kind, full_size=False)


def assert_met(met: Counter[str], **least: int) -> None:
    """Minimum numbers of what makes cases hard, so that they stay hard."""
    for name, count in least.items():
        assert met[name] >= count, f"{name}: {met[name]}, at least {count} expected; {met}"
