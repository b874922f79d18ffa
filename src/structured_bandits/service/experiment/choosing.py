"""Choosing the arms of an ask: by the policy, or for the control share, the audit or the fallback.

A decision belongs to a share by a hash of its unit (the key of its ask, or its number), so the same
unit is always on the same side, and nothing has to be remembered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from structured_bandits.agents.agent import Agent
from structured_bandits.agents.availability import allowed_arms
from structured_bandits.service.experiment.spec import Spec
from structured_bandits.service.rows import Event, body_of

PLAN, CONTROL, AUDIT, FALLBACK, PAUSED = "plan", "control", "audit", "fallback", "paused"


class Choice(NamedTuple):
    """An arm, why it was chosen and how probable it was."""

    arm: int
    reason: str
    propensity: float | None


class Assignment(NamedTuple):
    """What comes into question for one decision, besides the policy."""

    control: int | None  # the fixed arm; None if there is none, or it is not available
    control_share: float
    audited: tuple[int, ...]  # arms that were dropped and are available
    audit_share: float

    @property
    def policy_share(self) -> float:
        """The share that is left to the policy."""
        return 1.0 - self.control_share - self.audit_share

    def propensity(self, arm: int, chance: float | None) -> float | None:
        """Return the probability of an arm, if the policy chooses it with probability `chance`."""
        if chance is None and self.policy_share > 0.0:
            return None
        total = self.policy_share * (chance or 0.0)
        if arm == self.control:
            total += self.control_share
        if arm in self.audited:
            total += self.audit_share / len(self.audited)
        return total


class Wanted(NamedTuple):
    """What was asked for, as it stands in the log."""

    n: int
    available: tuple[int, ...] | None
    key: str | None
    defer: bool
    batch: int = 0  # the most pulls that were asked for as one batch

    def unit(self, number: int, place: int) -> str:
        """Return whom a decision is for: the key, or else its own number."""
        if self.key is None:
            return f"#{number}"
        return self.key if self.n == 1 else f"{self.key}/{place}"


def place_of(uid: str, unit: str, purpose: str) -> float:
    """Return a number from [0, 1) for a unit: as if drawn, but always the same."""
    digest = hashlib.blake2b(f"{purpose}|{uid}|{unit}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) * 2.0**-53


def choose(agent: Agent, spec: Spec, uid: str, wanted: Wanted, fallen: bool) -> list[Choice]:
    """Return the choices for an ask; the agent hands them out with the ids that come next."""
    if wanted.batch:
        decisions = agent.ask(wanted.n)
        return [Choice(each.arm, each.reason, each.propensity) for each in decisions]
    return [
        _choose_one(agent, spec, uid, wanted, wanted.unit(agent.next_id, place), fallen)
        for place in range(wanted.n)
    ]


def _choose_one(
    agent: Agent, spec: Spec, uid: str, wanted: Wanted, unit: str, fallen: bool
) -> Choice:
    if not spec.share and not spec.audit and not fallen:
        decision = agent.ask(available=wanted.available)
        return Choice(decision.arm, decision.reason, decision.propensity)
    shares = _shares(agent, spec, wanted.available, fallen)
    place = place_of(uid, unit, "share")
    if shares.control is not None and place < shares.control_share:
        reason = FALLBACK if fallen else CONTROL
        return _forced(agent, shares.control, reason, shares, wanted.available)
    if shares.audited and place < shares.control_share + shares.audit_share:
        arm = shares.audited[int(place_of(uid, unit, "audit") * len(shares.audited))]
        return _forced(agent, arm, AUDIT, shares, wanted.available)
    decision = agent.ask(available=wanted.available)
    propensity = shares.propensity(decision.arm, decision.propensity)
    return Choice(decision.arm, decision.reason, propensity)


def _forced(
    agent: Agent, arm: int, reason: str, shares: Assignment, available: Sequence[int] | None
) -> Choice:
    propensity = shares.propensity(arm, agent.chance(arm, available))
    agent.force(arm)
    return Choice(arm, reason, propensity)


def _shares(
    agent: Agent, spec: Spec, available: tuple[int, ...] | None, fallen: bool
) -> Assignment:
    """Return the shares among the arms that are available."""
    allowed = allowed_arms(available, spec.arm_names, agent.parked_arms)
    control = spec.control if spec.control is not None and allowed[spec.control] else None
    if fallen:
        return Assignment(control, 1.0 if control is not None else 0.0, (), 0.0)
    dropped: tuple[int, ...] = ()
    if spec.audit:
        active = set(agent.active_arms)
        dropped = tuple(arm for arm in range(len(allowed)) if arm not in active and allowed[arm])
    return Assignment(
        control, spec.share if control is not None else 0.0, dropped, spec.audit if dropped else 0.0
    )


def ask_body(wanted: Wanted, choices: Sequence[Choice], arms: int) -> str | None:
    """Return the body of an ask: what its columns do not hold.

    Reasons are left out if all are "plan", and propensities if none is known.
    """
    content: dict[str, Any] = {
        "available": wanted.available,
        "defer": wanted.defer or None,
        "batch": wanted.batch or None,
    }
    if wanted.batch:
        content["pulls"] = pulls_of(choices, arms)
        return body_of(content)
    if wanted.n > 1:
        content["arms"] = [choice.arm for choice in choices]
    if any(choice.reason != PLAN for choice in choices):
        content["reasons"] = [choice.reason for choice in choices]
    if any(choice.propensity is not None for choice in choices):
        content["propensities"] = [choice.propensity for choice in choices]
    return body_of(content)


def pulls_of(choices: Sequence[Choice], arms: int) -> list[int]:
    """Return how often each arm was chosen."""
    pulls = [0] * arms
    for choice in choices:
        pulls[choice.arm] += 1
    return pulls


def wanted_of(event: Event) -> Wanted:
    """Return what was asked for with a row of the log."""
    content = event.content()
    available = content.get("available")
    return Wanted(
        event.n or 1,
        None if available is None else tuple(available),
        event.key,
        content.get("defer", False),
        content.get("batch", 0),
    )


def choices_of(event: Event) -> list[Choice]:
    """Return the choices in a row of the log; for a batch arm by arm, for it holds only counts."""
    content = event.content()
    if content.get("batch"):
        pulls = enumerate(content["pulls"])
        return [Choice(arm, PLAN, None) for arm, count in pulls for _ in range(count)]
    n = event.n or 1
    arms = content.get("arms", [event.arm])
    reasons = content.get("reasons", [PLAN] * n)
    propensities = content.get("propensities", [None] * n)
    return [Choice(*each) for each in zip(arms, reasons, propensities, strict=True)]
