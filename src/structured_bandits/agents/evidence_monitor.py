"""Which arm is best, and how sure: an agent's evidence, renewed as results are settled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from structured_bandits.agents.likely import rewards_of
from structured_bandits.agents.results import known_data
from structured_bandits.errors import MissingExtraError
from structured_bandits.inference.certificate import Certificate, certificate_of
from structured_bandits.inference.evidence import (
    Evidence,
    evidence_on,
    fresh_prequential,
    has_model_prior,
)
from structured_bandits.protocols import Seen


class EvidenceMonitor:
    """The evidence on the structure of a policy, in the order in which rewards are settled.

    On polytopes and boxes it remembers predictions, in arrays that an agent saves; elsewhere these stay
    as they are. What it is computed with is made when it is first needed.
    """

    def __init__(self, policy: Any, settled: Seen) -> None:
        self._policy = policy
        self._settled = settled
        self._rewards = None if getattr(policy, "adapts", False) else rewards_of(policy)
        self._evidence: Evidence | None = None
        self._made = False
        structure = getattr(policy, "structure", None)
        bounded = self._rewards is not None and hasattr(structure, "bounds_likelihood")
        self.predicts = bounded and not has_model_prior(structure)
        self.memory = fresh_prequential(len(settled.pulls) if self.predicts else 0)

    def look(self) -> None:
        """Renew the predictions if it is time."""
        if self.predicts and self._settled.pulls.sum() >= self.memory.next_look[0]:
            evidence = self._evidence_now()
            if evidence is not None:
                evidence.look(self.memory, known_data(self._settled))

    def certificate(self, names: Sequence[str]) -> Certificate | None:
        """Return which arm is best, and how sure that is; None where that cannot be said."""
        if self._rewards is None:
            return None
        evidence = self._evidence_now()
        data = known_data(self._settled)
        return certificate_of(evidence, self.memory, names, self._rewards, data)

    def arrays(self) -> list[Any]:
        """Return the arrays that hold what was seen."""
        return list(self.memory) if self.predicts else []

    def _evidence_now(self) -> Evidence | None:
        if not self._made:
            with suppress(MissingExtraError):  # the policy itself may play without programs
                structure = getattr(self._policy, "structure", None)
                prior = getattr(self._policy, "model_prior", None)
                if structure is not None and self._rewards is not None:
                    self._evidence = evidence_on(structure, self._rewards, prior)
            self._made = True
        return self._evidence
