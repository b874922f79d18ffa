"""How decisions stand, and what becomes of rewards that are told for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from structured_bandits.agents.results import checked_reward
from structured_bandits.service import rows as kinds
from structured_bandits.service.refusals import Conflict, NotFound
from structured_bandits.service.rows import Event

if TYPE_CHECKING:
    from structured_bandits.service.experiment.experiment_state import ExperimentState


class DecisionLog(Protocol):
    """What is looked up in the log of a version, rows that are being written included."""

    def outcome(self, decision: int) -> Event | None:
        """Return what became of a decision."""

    def late(self, decision: int) -> Event | None:
        """Return the late reward of a cancelled decision."""

    def by_key(self, key: str) -> Event | None:
        """Return the row with a key."""


class Standing(NamedTuple):
    """How a decision stands: "open", "told", "cancelled" or "expired"."""

    state: str
    value: float | None = None
    arm: int | None = None


class Fresh(NamedTuple):
    """A reward that is not in the log yet: the kind of its row, its arm and its value."""

    kind: str
    arm: int | None
    value: float


class Judged(NamedTuple):
    """Rewards that may be recorded, by decision, and what becomes of each, as in wire.Outcome."""

    fresh: dict[int, Fresh]
    statuses: list[str]


def standing(state: ExperimentState, decision: int, log: DecisionLog) -> Standing:
    """Return how a decision stands; raises NotFound if it was not handed out by itself."""
    if decision < 0:
        if -decision > state.unlearned:
            raise NotFound(f"Decision {state.name_of(decision)} was never handed out.")
    elif decision >= state.agent.next_id:
        raise NotFound(f"Decision {state.name_of(decision)} was never handed out.")
    elif state.batch_of(decision) is not None:
        raise NotFound(
            f"Decision {state.name_of(decision)} is part of a batch; its results are told together."
        )
    elif decision in state.held:
        return Standing("told", state.held[decision])
    elif (arm := state.agent.pending_arm(decision)) is not None:
        return Standing("open", None, arm)
    outcome = log.outcome(decision)
    if outcome is None and decision < 0:
        return Standing("open", None, state.spec.default_arm)
    if outcome is None:  # told as part of a batch
        raise NotFound(f"Decision {state.name_of(decision)} was never handed out by itself.")
    states = {kinds.TELL: "told", kinds.CANCEL: "cancelled", kinds.EXPIRE: "expired"}
    return Standing(states[outcome.kind], outcome.value, outcome.arm)


def judge(state: ExperimentState, rewards: Sequence[tuple[int, float]], log: DecisionLog) -> Judged:
    """Say what becomes of rewards once they are recorded; raises if one of them is refused."""
    fresh: dict[int, Fresh] = {}
    statuses = []
    for decision, reward in rewards:
        value = checked_reward(reward, state.agent.reward_range)
        if decision in fresh:
            _check_same(state.name_of(decision), value, fresh[decision].value)
            statuses.append("duplicate")
            continue
        kind, arm = _kind_of_tell(state, decision, value, log)
        if kind is None:
            statuses.append("duplicate")
            continue
        fresh[decision] = Fresh(kind, arm, value)
        holds = kind == kinds.TELL and state.spec.rewards.window is not None and decision >= 0
        statuses.append("held" if holds else "recorded")
    return Judged(fresh, statuses)


def _kind_of_tell(
    state: ExperimentState, decision: int, value: float, log: DecisionLog
) -> tuple[str | None, int | None]:
    """Return the kind of row for a reward and its arm; None if it is recorded already."""
    stands, recorded, arm = standing(state, decision, log)
    name = state.name_of(decision)
    if stands == "open":
        return kinds.TELL, arm
    if stands == "told":
        _check_same(name, value, recorded)
        return None, arm
    if stands == "expired" and recorded is None and state.spec.rewards.late == "learn":
        late = log.late(decision)
        if late is None:
            return kinds.LATE, arm
        _check_same(name, value, late.value)
        return None, arm
    if stands == "expired":
        counted = "it was cancelled" if recorded is None else f"{recorded:g} counts instead"
        raise Conflict(f"The window of decision {name} has closed: {counted}.", recorded=recorded)
    raise Conflict(f"Decision {name} was cancelled.")


def _check_same(name: str, value: float, recorded: float | None) -> None:
    if value != recorded:
        raise Conflict(
            f"Decision {name} has the reward {recorded:g}; {value:g} was told now.",
            recorded=recorded,
        )
