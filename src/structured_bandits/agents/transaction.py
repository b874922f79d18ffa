"""A change of an agent happens wholly or not at all.

Whatever raises inside a public method (a user's policy, a solver, Ctrl-C, memory that runs out), the
agent is afterwards as it was before the call, so the same call may be made again and counts once. A
checkpoint holds what a snapshot holds, by reference or as bytes. What is computed from these, such as
the scratch memory of a policy's state, is made anew when a change is undone, as it is for an agent that
is restored from a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from structured_bandits.agents.learned import learned_arrays, names_learned
from structured_bandits.solvers.linear import unsolved_here

if TYPE_CHECKING:
    from structured_bandits.agents.agent import Agent

#: The fields of an agent that its methods set; the arrays that they write into are `_own_arrays`.
FIELDS = (
    "policy",
    "_state",
    "_learned",
    "_in_order",
    "_horizon",
    "_t",
    "_in_plan",
    "_left",
    "_plans",
    "_overturned",
    "_ahead",
    "_any_parked",
    "_next_id",
    "_extra",
    "_empty",
    "_unsolved",
    "_warned",
    "_evidence",
    "_remembered",
)
_fields = attrgetter(*FIELDS)

Method = TypeVar("Method", bound=Callable[..., Any])


def atomic(method: Method) -> Method:
    """Let a method of an agent change it wholly or not at all.

    A call inside another one belongs to the change that the outer call makes.
    """

    @wraps(method)
    def changed(agent: Agent, *args: Any, **kwargs: Any) -> Any:
        if agent._changing:
            return method(agent, *args, **kwargs)
        before, unsolved = Checkpoint(agent), unsolved_here()
        agent._changing = True
        try:
            answer = method(agent, *args, **kwargs)
            agent._unsolved += unsolved_here() - unsolved
            return answer
        except BaseException:
            try:
                before.restore(agent)
            except BaseException:  # interrupted in its turn, as by Ctrl-C
                before.restore(agent)
                raise
            raise
        finally:
            agent._changing = False

    return cast(Method, changed)


class Checkpoint:
    """What an agent is between two calls."""

    __slots__ = ("arrays", "fields", "generator", "learned", "testable", "waiting")

    def __init__(self, agent: Agent) -> None:
        self.fields = _fields(agent)
        self.arrays = [values.tobytes() for values in [*agent._own_arrays, *agent._remembered]]
        learned = agent._learned
        self.learned = (
            deepcopy(agent._state) if learned is None else [each.tobytes() for each in learned]
        )
        self.generator = agent._rng.bit_generator.state
        self.testable = agent._misfit_monitor.testable
        self.waiting = agent._waiting.mark()
        agent._pending.mark()

    def restore(self, agent: Agent) -> None:
        """Undo all that was changed since; that may be begun again if it is interrupted."""
        for name, value in zip(FIELDS, self.fields, strict=True):
            setattr(agent, name, value)
        _write([*agent._own_arrays, *agent._remembered], self.arrays)
        for values in agent._one:
            values[:] = 0
        self._restore_state(agent)
        agent._rng.bit_generator.state = self.generator
        agent._misfit_monitor.undo(self.testable)
        agent._waiting.undo(self.waiting, agent._pending.undo(agent._next_id))

    def _restore_state(self, agent: Agent) -> None:
        """Write what was learned; make the rest anew, if the policy says which fields are scratch."""
        policy: Any = agent.policy
        if agent._learned is None:
            agent._state = self.learned
            return
        if names_learned(policy):
            agent._set_state(policy.init())
        _write(agent._learned, self.learned)
        if hasattr(policy, "restore"):
            policy.restore(agent._state)


def arrays_of(policy: Any, state: Any) -> list[Any] | None:
    """Return the arrays that hold what a state has learned; None if it holds something else as well."""
    if not hasattr(state, "_fields"):
        return None
    arrays = [values for _, values in learned_arrays(policy, state)]
    return arrays if all(isinstance(values, np.ndarray) for values in arrays) else None


def _write(arrays: list[Any], saved: Any) -> None:
    for values, content in zip(arrays, saved, strict=True):
        values[...] = np.frombuffer(content, values.dtype).reshape(values.shape)
