"""The library plays exactly what the definitions say, planned or not, compiled or not.

The oracles (oracles/policies.py) were written without sight of the library. 5,000 cases in all, 500 of
them at full size; how they are compared: support/exactness.py.
"""

from __future__ import annotations

from collections import Counter

import pytest
from oracles import policies as naive
from support import model_contests, set_contests
from support.cases import draw_case
from support.exactness import assert_met, cases, compare

import structured_bandits as sb


def test_ucb() -> None:
    met = compare(cases(11, "finite", small=225, full=25), set_contests.UCB, every_pull=False)
    assert_met(met, cases=250, full_size=25, ties=1500, long_plans=200, cut_plans=50)


def test_improved_ucb() -> None:
    met = compare(
        cases(12, "finite", small=180, full=20), set_contests.IMPROVED_UCB, every_pull=False
    )
    assert_met(met, cases=200, full_size=20, long_plans=175, cut_plans=100)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_sucb(kind: str, part: int) -> None:
    met = compare(cases(130 + part, kind, small=112, full=13), set_contests.SUCB, every_pull=False)
    assert_met(
        met, cases=125, full_size=13, ties=500, empty=3000, reentries=150,
        long_plans=80, cut_plans=40,
    )  # fmt: skip


@pytest.mark.parametrize("index", [1237, 2613, 4295, 16153, 16907, 23009])
def test_sucb_ties_at_the_border_of_the_box(index: int) -> None:
    """Found by the soak: arms with equal data tie where the box cuts their lines on a curve."""
    case = draw_case(2020, index, "curves", full_size=False)
    met = compare(iter([case]), set_contests.SUCB, every_pull=False)
    assert met["ties"] > 0
    assert met["near_ties_broken"] == 0


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_sae(kind: str) -> None:
    met = compare(cases(14, kind, small=112, full=13), set_contests.SAE, every_pull=False)
    assert_met(met, cases=125, full_size=13, empty=50, reentries=10, long_plans=100, cut_plans=75)


@pytest.mark.parametrize("reading", set_contests.READINGS, ids="-".join)
def test_asae(reading: sb.Reading) -> None:
    met: Counter[str] = Counter()
    contest = set_contests.asae("hoeffding", naive.asae, reading)
    for kind, small, full in (("finite", 66, 7), ("curves", 33, 4)):
        met += compare(cases(15, kind, small, full), contest, every_pull=False)
    assert_met(met, cases=110, full_size=11, empty=100, reentries=30, long_plans=80, cut_plans=30)


@pytest.mark.parametrize("part", range(2))
def test_wagp(part: int) -> None:
    met = compare(
        cases(160 + part, "curves", small=90, full=10), set_contests.WAGP, every_pull=True
    )
    assert_met(met, cases=100, full_size=10, ties=150)


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_greedy_mle(kind: str) -> None:
    met = compare(
        cases(17, kind, small=100, full=10), model_contests.GREEDY_SQUARES, every_pull=True
    )
    assert_met(met, cases=110, full_size=10, ties=250)
