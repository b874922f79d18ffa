"""What rewards a log contains: pulls, sums and squares by arm, from its rows alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import log_e_of_chosen
from structured_bandits.protocols import Seen
from structured_bandits.service import rows as kinds
from structured_bandits.service.experiment.experiment_state import ExperimentState, Results
from structured_bandits.service.experiment.spec import Spec
from structured_bandits.service.rows import Event

SINGLE = (kinds.TELL, kinds.EXPIRE, kinds.LATE)
MANY = (kinds.LEARN, kinds.RESULTS, kinds.CARRY, kinds.FORWARD)


def results_of_log(
    events: Iterable[Event],
    arms: int,
    settled_before: float,
    up_to: int | None = None,
    without: Sequence[tuple[int, int]] = (),
) -> Results:
    """Add up the rewards of a log.

    Rewards of decisions from `settled_before` on do not count yet (infinity if there are no windows).
    Rows after `up_to`, and those in the ranges `without` (both ends included), are left out.
    """
    total = _Total(arms)
    for event in events:
        if up_to is not None and event.seq > up_to:
            break
        if any(first <= event.seq <= last for first, last in without):
            continue
        if event.kind in MANY:
            total.add(Results.of(event.content()))
        elif event.kind in SINGLE and event.value is not None and event.arm is not None:
            decision = event.decision or 0
            if 0 <= decision < settled_before or event.kind == kinds.LATE:
                total.add(results_of_rewards([(event.arm, event.value)], arms))
    return total.results()


class _Total:
    """Results that are added up; squares are unknown once some are."""

    def __init__(self, arms: int) -> None:
        self.pulls, self.sums, self.squares = [0] * arms, [0.0] * arms, [0.0] * arms
        self.knows_squares = True

    def add(self, part: Results) -> None:
        for arm, pulls in enumerate(part.pulls):
            self.pulls[arm] += pulls
            self.sums[arm] += part.sums[arm]
            if part.squares is not None:
                self.squares[arm] += part.squares[arm]
            elif pulls:
                self.knows_squares = False

    def results(self) -> Results:
        return Results(self.pulls, self.sums, self.squares if self.knows_squares else None)


def results_of(state: ExperimentState) -> Results:
    """Return all rewards that have counted in a version."""
    return _plain(Seen(state.agent.pulls, state.agent.sums, state.agent.squares))


def tested_results(state: ExperimentState) -> Results | None:
    """Return the rewards with which the test of a version goes on in one with the same structure.

    None if a reward is out: then the next decision in the order of asking is not the first one of the
    new version, and the test begins anew.
    """
    return None if state.agent.pending_count else _plain(state.agent.tested)


def refutes(state: ExperimentState, spec: Spec) -> bool:
    """Do the tested rewards of a version refute the other structure of the one that follows?

    That structure may have been chosen by looking at them.
    """
    if not (state.spec.is_tested and spec.is_tested):
        return False
    tested = by_name(_plain(state.agent.tested), state.spec.arm_names, spec.arm_names)
    policy = spec.policy
    test = misfit_test(policy.structure, policy.bottom, policy.top, policy.sigma)
    log_e = log_e_of_chosen(test, np.array(tested.pulls), np.array(tested.sums)) if test else 0.0
    return log_e >= -math.log(spec.level)


def _plain(seen: Seen) -> Results:
    squares = seen.squares.tolist()
    known = not any(map(math.isnan, squares))
    return Results(seen.pulls.tolist(), seen.sums.tolist(), squares if known else None)


def by_name(results: Results, names: Sequence[str], wanted: Sequence[str]) -> Results:
    """Return results for other arms: those of the same name, and none for new ones."""
    places = [names.index(name) if name in names else None for name in wanted]

    def picked(values: Sequence[float], nothing: float) -> list[float]:
        return [nothing if place is None else values[place] for place in places]

    pulls = [0 if place is None else results.pulls[place] for place in places]
    squares = None if results.squares is None else picked(results.squares, 0.0)
    return Results(pulls, picked(results.sums, 0.0), squares)


def results_of_rewards(rewards: Iterable[tuple[int, float]], arms: int) -> Results:
    """Add up single rewards, given with their arms."""
    pulls, sums, squares = [0] * arms, [0.0] * arms, [0.0] * arms
    for arm, value in rewards:
        pulls[arm] += 1
        sums[arm] += value
        squares[arm] += value * value
    return Results(pulls, sums, squares)
