"""Is the structure wrong? An agent's e-value, looked at as results are settled."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from structured_bandits.errors import MissingExtraError
from structured_bandits.misfit.build import misfit_test
from structured_bandits.misfit.e_value import LookMemory, MisfitTest, fresh_look_memory
from structured_bandits.misfit.looks import Watching, await_next_look, look_if_due, settle_pulls
from structured_bandits.misfit.quick import QuickLook
from structured_bandits.misfit.report import Misfit, misfit_of
from structured_bandits.policies.base import Policy
from structured_bandits.protocol import Seen


class Suspicion:
    """What speaks against the structure of a policy, if it has one that can be tested.

    The test is made at the first look: many agents of one structure are cheap to start.
    """

    def __init__(self, policy: Any, watching: Watching) -> None:
        self.watching = watching
        self._policy = policy
        known = isinstance(policy, Policy) and policy.structure is not None
        self._test: MisfitTest | None = None
        self._memory: LookMemory | None = None
        self._quick: QuickLook | None = None
        self._testable = known

    def settle(self, arm: int, reward: float) -> None:
        """Count a reward, the next one in the order of asking."""
        settle_pulls(self.watching, arm, 1, reward)
        self._look()

    def settle_many(self, seen: Seen) -> None:
        """Count results that were learned at once."""
        for arm, pulls in enumerate(seen.pulls):
            if pulls:
                settle_pulls(self.watching, arm, pulls, seen.sums[arm])
        self._look()

    def restore(self, largest: float) -> None:
        """Set what was saved, the largest e-value; the rest follows from the pulls."""
        times = self.watching.times
        times[0], times[1] = self.watching.pulls.sum(), 1
        await_next_look(self.watching)
        self.watching.largest[0] = largest

    def misfit(self) -> Misfit | None:
        """Return what the e-value says, None if there is none."""
        test = self._prepared()
        if test is None:
            return None
        return misfit_of(self._policy.structure, test, self.watching)

    def _look(self) -> None:
        if self._testable and self.watching.times[0] >= self.watching.times[1]:
            test = self._prepared()
            if test is None or self._quick is None or self._memory is None:
                return
            if self._quick.stays_below(self.watching):
                await_next_look(self.watching)
            else:
                look_if_due(test, self.watching, self._memory)

    def _prepared(self) -> MisfitTest | None:
        """Return the test; None for structures that are too large, or if solvers are not installed."""
        if self._testable and self._test is None:
            policy = self._policy
            with suppress(MissingExtraError):  # the policy itself may play without programs
                self._test = misfit_test(policy.structure, policy.bottom, policy.top, policy.sigma)
            if self._test is None:
                self._testable = False
            else:
                self._memory = fresh_look_memory(self._test)
                self._quick = QuickLook(self._test)
        return self._test
