"""Random events of live agents, and agents that are put through them in different ways.

An agent must be a function of its events. So the same events are played by an agent that is never read,
by one of which everything is read in between, and by one that is saved and restored again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb


class Event(NamedTuple):
    """A call of an agent's method, and what it returned the first time."""

    method: str
    arguments: tuple[Any, ...]
    answer: Any = None


KINDS = ("ask", "tell", "cancel", "learn", "several", "among", "park", "unpark", "expire")


class Policies(NamedTuple):
    """Everything that can play on a structure, by name."""

    structure: Any

    def named(self, name: str, alpha: float, horizon: int) -> Any:
        makers: dict[str, Callable[[], Any]] = {
            "UCB": lambda: sb.UCB(self.structure, alpha=alpha),
            "ImprovedUCB": lambda: sb.ImprovedUCB(self.structure, horizon),
            "SUCB": lambda: sb.SUCB.paper(self.structure, alpha=alpha),
            "SAE": lambda: sb.SAE.paper(self.structure, horizon, alpha=alpha),
            "ASAE theory": lambda: sb.ASAE.paper(self.structure, alpha=alpha),
            "ASAE figures": lambda: sb.ASAE.paper(self.structure, alpha=alpha, reading="figures"),
            "ASAE pseudocode": lambda: sb.ASAE.paper(
                self.structure, alpha=alpha, reading="pseudocode"
            ),
            "GreedyMLE": lambda: sb.GreedyMLE(self.structure),
            "WAGP": lambda: sb.WAGP(self.structure),
        }
        return makers[name]()


NAMES = (
    "SUCB",  # twice in a round: of all policies it keeps most from plan to plan
    "UCB",
    "ASAE theory",
    "SAE",
    "SUCB",
    "ImprovedUCB",
    "ASAE figures",
    "GreedyMLE",
    "ASAE pseudocode",
    "WAGP",
)


def names_on(structure: Any) -> tuple[str, ...]:
    """Return the names of the policies that can play on a structure."""
    if isinstance(structure, sb.CurveStructure):
        return NAMES
    return tuple(name for name in NAMES if name != "WAGP")


class Script(NamedTuple):
    """How the events of one sequence are drawn."""

    weights: Any  # of the kinds of events
    binary: bool  # rewards are 0 or 1, and not any numbers between
    truth: Any  # the means of the arms
    batch: int  # how many pulls of an arm `learn` brings at most


def random_script(rng: np.random.Generator, arms: int, truth: Any) -> Script:
    """Return a way to draw events: from prompt rewards to many that are out or lost."""
    weights = np.array(
        [
            [0.50, 0.48, 0.01, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00],
            [0.40, 0.40, 0.04, 0.04, 0.02, 0.06, 0.01, 0.02, 0.01],
            [0.52, 0.22, 0.08, 0.04, 0.02, 0.06, 0.02, 0.02, 0.02],
            [0.25, 0.28, 0.04, 0.33, 0.02, 0.04, 0.02, 0.02, 0.00],
        ]
    )[rng.integers(4)]
    means = truth if rng.random() < 0.6 else rng.random(arms)
    return Script(weights, bool(rng.random() < 0.7), means, int(10 ** rng.integers(0, 5)))


def play_events(agent: Any, script: Script, count: int, rng: np.random.Generator) -> list[Event]:
    """Play random events on an agent that is never read; return them."""
    out: dict[int, int] = {}  # arms of the decisions whose rewards are out
    parked: set[int] = set()
    events: list[Event] = []
    for _ in range(count):
        event = _random_event(script, out, parked, rng)
        answer = play_event(agent, event)
        if event.method == "ask":
            decisions = answer if isinstance(answer, tuple) and event.arguments[0] else (answer,)
            out.update({decision.id: decision.arm for decision in decisions})
        elif event.method == "expire":
            out = {each: arm for each, arm in out.items() if each not in answer}
        events.append(event._replace(answer=answer))
    return events


def _random_event(
    script: Script, out: dict[int, int], parked: set[int], rng: np.random.Generator
) -> Event:
    """Draw an event that an agent with this out and these arms parked accepts; note what it does."""
    arms = len(script.truth)
    kind = KINDS[rng.choice(len(KINDS), p=script.weights)]
    if kind == "learn":
        return Event("learn", _results(script, rng))
    if kind == "several":
        return Event("ask", (int(rng.integers(2, 9)), None))
    here = [arm for arm in range(arms) if arm not in parked]
    if kind == "among":
        among = rng.permutation(here)[: rng.integers(1, len(here) + 1)]
        return Event("ask", (None, among.tolist()))
    if kind == "park" and len(here) > 1:
        parked.add(arm := int(rng.choice(here)))
        return Event("park", (arm,))
    if kind == "unpark" and parked:
        parked.remove(arm := int(rng.choice(sorted(parked))))
        return Event("unpark", (arm,))
    if kind == "expire":
        reward = None if rng.random() < 0.3 else float(rng.integers(2))
        return Event("expire", (int(rng.integers(12)), reward))
    if kind in ("tell", "cancel") and out:
        ids = list(out)
        latest = kind == "tell" and rng.random() < 0.6
        chosen = ids[-1] if latest else ids[int(rng.integers(len(ids)))]
        reward = _rewards(script, out.pop(chosen), 1, rng)[0]
        return Event(kind, (chosen, reward) if kind == "tell" else (chosen,))
    return Event("ask", (None, None))


def _rewards(script: Script, arm: int, count: int, rng: np.random.Generator) -> list[float]:
    lucky = rng.random(count) < script.truth[arm]
    return [float(each) if script.binary else float(rng.random() * each) for each in lucky]


def _results(script: Script, rng: np.random.Generator) -> tuple[list[int], list[float]]:
    arms = len(script.truth)
    pulls = [int(rng.integers(script.batch + 1)) * int(rng.random() < 0.6) for _ in range(arms)]
    sums = [float(rng.binomial(n, script.truth[arm])) for arm, n in enumerate(pulls)]
    return pulls, sums if script.binary else [0.7 * each for each in sums]


def play_event(agent: Any, event: Event) -> Any:
    """Play one event; return what the agent answers."""
    return getattr(agent, event.method)(*event.arguments)


def read_everything(agent: Any) -> tuple[Any, ...]:
    """Read all that can be read of an agent."""
    return (
        agent.plan.tolist(),
        agent.active_arms,
        agent.empty,
        agent.pending,
        agent.pulls.tolist(),
        agent.extra_decisions,
        agent.parked,
        repr(agent),
        agent.to_json(),
    )


class Replayed(NamedTuple):
    """What a sequence of events was like, and where replays differed from it, if they did."""

    met: Counter[str]
    difference: str


def replay(
    make_policy: Callable[[], Any], script: Script, count: int, rng: np.random.Generator
) -> Replayed:
    """Play random events, then replay them read, restored, and on from a snapshot midway.

    All of them meet here in turn, event by event, so that they would also disturb each other if they
    had anything in common.
    """
    first = sb.Agent(make_policy(), seed=7)
    events = play_events(first, script, count, rng)
    read = sb.Agent(make_policy(), seed=7)
    plain = sb.Agent(read.policy, seed=7)
    restored = sb.Agent(make_policy(), seed=7)
    midway = None
    middle = int(rng.integers(count))
    met: Counter[str] = Counter(sequences=1, events=count)
    for place, event in enumerate(events):
        if place == middle:
            text = plain.to_json()
            midway = sb.Agent.from_json(text, make_policy())
            if midway.to_json() != text:
                return Replayed(met, f"event {place}: a snapshot changed when it was restored")
        if rng.random() < 0.3:
            restored = sb.Agent.from_json(restored.to_json(), restored.policy)
            met["restored"] += 1
        late = event.method == "tell" and _is_late(read, event.arguments[0])
        shown = read_everything(read)
        agents = [read, plain, restored, *([midway] if midway else [])]
        for agent, name in zip(agents, ("read", "plain", "restored", "midway"), strict=False):
            answer = play_event(agent, event)
            if answer != event.answer:
                return Replayed(met, f"event {place}: {name}, {event} gave {answer}")
        reason = getattr(event.answer, "reason", "")
        met.update(
            late=late,
            long_plans=sum(shown[0]) > len(shown[0]),
            extra=reason == "extra",
            restricted=reason == "restricted",
            waiting=len(read._waiting) > 0,
            ahead=read._ahead is not None,
            expired=event.method == "expire" and len(event.answer) > 0,
            eliminated=len(shown[1]) < len(shown[0]),
            **{event.method: 1},
        )
        if (seen := _shown(read)) != (other := _shown(restored)):
            return Replayed(met, f"event {place}: {seen} became {other}")
    met["empty"] += read.empty > 0
    final = {agent.to_json() for agent in (first, read, plain, restored, midway or first)}
    return Replayed(met, "" if len(final) == 1 else f"final states differ: {final}")


def _shown(agent: Any) -> tuple[Any, ...]:
    return agent.plan.tolist(), agent.active_arms, agent.empty


def _is_late(agent: Any, decision_id: int) -> bool:
    """Is this a decision of an earlier plan?"""
    return bool(agent._pending.find(decision_id).plan < agent._plans)
