"""Faults inside an agent: an exception at any call or return that a method makes.

Python calls a profile function at each call and return, of its own functions and of those in C; what it
raises comes out of there. So it stands for whatever can go wrong inside: an error of a policy or a
solver, memory that runs out, a warning that is an error, Ctrl-C.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from support.huge_counts import every_kind
from support.playable import made, playable

import structured_bandits as sb


class Fault(BaseException):
    """What is injected; nothing may catch it."""


class Injector:
    """Count the places in a call of an agent at which something can be raised, and raise at one of them.

    Once the agent has changed, the call is over: what is raised after that is no fault of the call.
    """

    def __init__(self, agent: Any, place: int | None = None) -> None:
        self.agent, self.place, self.passed, self.begun = agent, place, 0, False

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if self.begun and not self.agent._changing:
            return
        self.begun = self.agent._changing
        self.passed += 1
        if self.passed - 1 == self.place:
            raise Fault

    def play(self, call: Callable[[Any], Any]) -> Any:
        sys.setprofile(self)
        try:
            return call(self.agent)
        finally:
            sys.setprofile(None)


def script(agent: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield calls of all methods that change an agent, with rewards that come late and in any order.

    Each call is yielded once and made by the caller, on this agent first.
    """
    arms = len(agent.pulls)
    rewards = np.random.default_rng(5)
    for turn in range(3):
        yield lambda agent: agent.ask()
        yield lambda agent: agent.tell(agent.next_id - 1, 1.0)
        yield lambda agent: agent.ask(4)
        first = agent.next_id - 4
        yield lambda agent, latest=first + 3: agent.tell(latest, 0.0)
        yield lambda agent, middle=first + 1: agent.cancel(middle)
        yield lambda agent, turn=turn: agent.ask(available=[turn % arms])
        yield lambda agent, oldest=first: agent.tell(oldest, 1.0)
        yield lambda agent: agent.force(arms - 1)
        paid = np.eye(arms)[agent.pending_arm(first + 2)]
        yield lambda agent, two=first + 2, paid=paid: agent.tell_totals([two], paid, paid)
        yield lambda agent: agent.park(0)
        yield lambda agent: agent.ask()
        yield lambda agent: agent.expire(1, 0.0)
        yield lambda agent: agent.unpark(0)
        yield lambda agent: agent.expire(0, None)
        pulls = rewards.integers(1, 40, arms)
        yield lambda agent, pulls=pulls: agent.learn(pulls, pulls // 3, pulls // 3)
        yield lambda agent, pulls=pulls: agent.take_over(pulls, pulls // 2, pulls // 2)
        yield lambda agent: agent.extend_plan(30)
        yield lambda agent: agent.ask(3)
        part, last = agent.next_id - 3, agent.next_id - 1
        paid = np.eye(arms)[agent.pending_arm(part)]
        yield lambda agent, one=part, until=last, paid=paid: agent.tell_totals(
            [one], paid, paid, until=until
        )
        yield lambda agent, last=last: agent.tell(last, 0.0)
        yield lambda agent, middle=part + 1: agent.tell(middle, 1.0)
    yield lambda agent: agent.switch(sb.KLUCB(arms))


def survive_faults(policy: Any, order: str, most: int, seed: int) -> int:
    """Play the script on two agents, one of which meets faults in each call first; return how many.

    At most `most` places of a call are tried, drawn at random if there are more.
    """
    rng = np.random.default_rng(seed)
    agent, twin = (sb.Agent(policy, seed=3, order=order) for _ in range(2))
    tried = 0
    for call in script(twin):
        before = twin.to_json()
        counter = Injector(sb.Agent.from_json(before, policy))
        counter.play(call)
        for place in sorted(rng.permutation(counter.passed)[:most].tolist()):
            try:
                answer = Injector(agent, place).play(call)
            except (
                BaseException
            ):  # some functions in C turn what is raised into an error of their own
                tried += 1
                assert agent.to_json() == before, (place, call.__code__.co_firstlineno)
            else:
                break  # what was computed before is known, or a function in C let nothing out
        else:
            answer = call(agent)
        assert answer == call(twin)
        assert agent.to_json() == twin.to_json()
    return tried


def interrupt_anything(seed: int, index: int) -> Counter[str]:
    """Try faults at many places of an agent with any policy on any kind of structure."""
    rng = np.random.default_rng([seed, index])
    structure = list(every_kind().values())[rng.integers(len(every_kind()))]
    name = str(rng.choice(playable(structure)))
    order = str(rng.choice(["turn", "drawn"]))
    faults = survive_faults(made(name, structure), order, most=40, seed=index)
    return Counter(cases=1, faults=faults)
