"""Is the structure wrong? An agent's e-value, looked at as results are settled."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from structured_bandits.errors import MissingExtraError
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import Watching, await_next_look, settle_pulls
from structured_bandits.inference.misfit.incremental import IncrementalLook
from structured_bandits.inference.misfit.report import Misfit, misfit_of
from structured_bandits.policies.base import Policy
from structured_bandits.protocols import Seen


class MisfitMonitor:
    """What speaks against the structure of a policy, if it has one that can be tested.

    The test is made at the first look: many agents of one structure are cheap to start.
    """

    def __init__(self, policy: Any, watching: Watching) -> None:
        self.watching = watching
        self._policy = policy
        self.testable = isinstance(policy, Policy) and policy.tested_structure is not None
        self._looks: IncrementalLook | None = None

    def settle(self, arm: int, reward: float) -> None:
        """Count a reward, the next one in the order of asking."""
        settle_pulls(self.watching, arm, 1, reward)
        self._look_if_due()

    def settle_many(self, seen: Seen) -> None:
        """Count results that were learned at once."""
        for arm, pulls in enumerate(seen.pulls):
            if pulls:
                settle_pulls(self.watching, arm, pulls, seen.sums[arm])
        self._look_if_due()

    def restore(self, largest: float) -> None:
        """Set what was saved, the largest e-value; the rest follows from the pulls."""
        times = self.watching.times
        times[0], times[1] = self.watching.pulls.sum(), 1
        await_next_look(self.watching)
        self.watching.largest[0] = largest

    def undo(self, testable: bool) -> None:
        """Make anew what was computed from the results, which may have been interrupted."""
        self.testable = testable
        self._looks = None

    def misfit(self) -> Misfit | None:
        """Return what the e-value says, None if there is none."""
        looks = self._prepared()
        if looks is None:
            return None
        return misfit_of(self._policy.structure, looks.test, self.watching)

    def _look_if_due(self) -> None:
        if self.testable and self.watching.times[0] >= self.watching.times[1]:
            looks = self._prepared()
            if looks is not None:
                looks.look(self.watching)

    def _prepared(self) -> IncrementalLook | None:
        """Return who looks; None for structures that cannot be tested, or without solvers for them."""
        if self.testable and self._looks is None:
            policy = self._policy
            test = None
            with suppress(MissingExtraError):  # the policy itself may play without programs
                test = misfit_test(policy.structure, policy.bottom, policy.top, policy.sigma)
            self.testable = test is not None
            self._looks = None if test is None else IncrementalLook(test)
        return self._looks
