"""`check_policy`: what the library asks of its own policies, asked of any.

The heart of it: on the same rewards a policy plays the same arms, whether it plans ahead or decides
pull by pull, in Python or compiled, in a simulation or as a live agent, read and saved in between or
not.
"""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.agents.agent import Agent, agent_generator
from structured_bandits.agents.learned import learned_arrays
from structured_bandits.base.arrays import Floats
from structured_bandits.base.records import Record
from structured_bandits.errors import HorizonWarning
from structured_bandits.policies.playing import chooses
from structured_bandits.policies.validation import check_policy as check_form
from structured_bandits.simulation.batches import needs_python
from structured_bandits.testing.requirements import (
    CheckError,
    blamed,
    failure,
    importable,
    in_threads,
    require,
    untouched_globals,
)
from structured_bandits.testing.tapes import STYLES, Played, Spy, play, play_in, reward_tape
from structured_bandits.worlds.tape import Tape

SHORT_HORIZONS = (1, 2, 3, 5, 8, 13)
SNAPSHOTS = (1, 2, 4, 9, 23, 57)  # pulls after which an agent is saved and restored
MOST_PLANS = 40  # that an agent is taught as a whole


def check_policy(
    policy: Any,
    *,
    compiled: bool = True,
    pulls: int = 100,
    tapes: int = 2 * STYLES,
    long_pulls: int = 3000,
    reward_range: tuple[float, float] | None = None,
) -> None:
    """Raise a `CheckError` unless `policy` does what is asked of every policy.

    - `compiled=False` leaves compiled play out, which takes seconds to compile.
    - `pulls` and `tapes`: how long the tapes of rewards are on which it is played, and how many there
      are.
    - `long_pulls`: how long the few tapes are that are played compiled, or told to an agent in whole
      plans.
    - `reward_range`: the range in which rewards lie; by default what the policy declares, or (0, 1).

    These things are checked: its methods and their parameters; that fresh states share no memory; that
    plans have at least one pull and no negative ones; that planned and pull-by-pull play, Python and
    compiled code, shorter horizons and a live agent agree on the arms; that only `rng` is drawn from,
    and only if the policy is `randomised`; that rewards told one by one or in whole plans, reading an
    agent, and saving and restoring it change no decision; that agents in several threads do not disturb
    each other; that the policy itself never changes and can be pickled. A randomised policy may draw
    differently if it plans ahead, so planned and pull-by-pull play are compared for the others only; if
    it chooses before each pull, live agents are compared with its pull-by-pull play.
    """
    name = type(policy).__name__
    with blamed(f"The form of {name}"):
        check_form("policy", policy)
    subject = _Subject(policy, name, _arms(policy, name), pulls, _range(policy, reward_range))
    before = _contents(policy)
    _check_fresh_states(subject)
    _check_value(subject)
    compiled = compiled and not needs_python(policy)
    for number in range(tapes):
        with untouched_globals(subject.name):
            _check_plays(subject, number, compiled)
    _check_short_horizons(subject)
    for number in range(4, STYLES if compiled else 4):
        _check_long_plays(subject, number, long_pulls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HorizonWarning)  # tapes may be longer than its horizon
        for number in range(2, STYLES):
            _check_agent(subject, number)
        _check_whole_plans(subject, 6, long_pulls)
        _check_threads(subject)
    _check_unchanged(subject, before)


@dataclass(frozen=True)
class _Subject:
    """The policy that is checked, and what it is played on."""

    policy: Any
    name: str
    arms: int
    pulls: int
    reward_range: tuple[float, float]

    @property
    def coins(self) -> bool:
        """Whether it is made for rewards of 0 and 1."""
        return getattr(self.policy, "family", None) == "bernoulli"

    @property
    def randomised(self) -> bool:
        """Whether it says that it draws from rng."""
        return bool(getattr(self.policy, "randomised", False))

    @property
    def plans_singly(self) -> bool:
        """Does it draw before each pull, where its lookahead may draw many pulls at once?"""
        return self.randomised and chooses(type(self.policy))

    def tape(self, number: int, pulls: int) -> Floats:
        """Return a tape of rewards in its range."""
        return reward_tape(number, self.arms, pulls, self.reward_range, self.coins)

    def shown(self, number: int, pulls: int) -> str:
        """Return code that makes the tape."""
        extra = f", reward_range={self.reward_range}" if self.reward_range != (0.0, 1.0) else ""
        extra += ", coins=True" if self.coins else ""
        return f"rewards = sb.testing.reward_tape({number}, {self.arms}, {pulls}{extra})"


def _arms(policy: Any, name: str) -> int:
    arms = getattr(policy, "n_arms", None)
    require(
        isinstance(arms, (int, np.integer)) and not isinstance(arms, bool) and int(arms) >= 1,
        f"{name} must have n_arms, the number of arms: a field, or a property.",
        f"It has {arms!r}.",
        "policy.n_arms",
    )
    return int(arms)  # type: ignore[arg-type]


def _range(policy: Any, given: tuple[float, float] | None) -> tuple[float, float]:
    low, high = given or getattr(policy, "reward_range", None) or (0.0, 1.0)
    return float(low), float(high)


def _check_fresh_states(subject: _Subject) -> None:
    policy, name = subject.policy, subject.name
    with blamed(f"init of {name}", "policy.init()"):
        first, second = policy.init(), policy.init()
    require(
        hasattr(first, "_fields"),
        f"init of {name} must return a named tuple of arrays.",
        f"It returned {type(first).__name__} {first!r}.",
        "policy.init()",
    )
    mutable = [value for value in _leaves(first) if not _is_constant(value)]
    for one in mutable:
        for other in _leaves(second):
            require(
                not _shared(one, other),
                f"Two states that init of {name} returns must not share memory: each run has its own.",
                f"They share {_told(one)}.",
                "policy.init(); policy.init()",
            )
    with blamed(f"Finding the fields of {name}'s state that are learned"):
        for field, array in learned_arrays(policy, first):
            require(
                isinstance(array, np.ndarray),
                f"What {name} has learned must be kept in arrays (a single number in an array of "
                "length 1), since tuples cannot be changed.",
                f"state.{field} is {array!r}.",
                "policy.init()",
            )
            require(
                array.dtype.kind in "fib",
                f"What {name} has learned must be whole numbers, floats or flags, so that "
                "it can be saved.",
                f"state.{field} has the dtype {array.dtype}.",
                "policy.init()",
            )


def _check_value(subject: _Subject) -> None:
    """Raise unless it can be copied, compared and described."""
    policy, name = subject.policy, subject.name
    if importable(policy):
        with blamed(f"Pickling {name}", "pickle.loads(pickle.dumps(policy))"):
            other = pickle.loads(pickle.dumps(policy))
    else:
        other = copy.copy(policy)
    require(
        _same_contents(_contents(policy), _contents(other)),
        f"A copy of {name} must hold the same parameters.",
        f"The original is {policy!r}, the copy {other!r}.",
        "pickle.loads(pickle.dumps(policy))",
    )
    if isinstance(policy, Record):
        with blamed(f"Comparing {name} with a copy", "policy == copy.copy(policy)"):
            same = policy == other and hash(policy) == hash(other) and repr(policy) == repr(other)
        require(
            same,
            f"A copy of {name} must be equal to it, with the same hash and the same representation.",
            f"The original is {policy!r}, the copy {other!r}.",
            "pickle.loads(pickle.dumps(policy)) == policy",
        )
    if hasattr(policy, "parameters"):
        with blamed(f"Writing the parameters of {name} as JSON", "json.dumps(policy.parameters())"):
            json.dumps(policy.parameters())


def _check_plays(subject: _Subject, number: int, compiled: bool) -> None:
    """Play a tape every way."""
    policy, name = subject.policy, subject.name
    rewards = subject.tape(number, subject.pulls)
    ways = {
        "through plan and observe": (Spy(policy), False, True),
        "in Python, planning ahead": (policy, False, True),
        "in Python, pull by pull": (policy, False, False),
        "compiled, planning ahead": (policy, True, True),
        "compiled, pull by pull": (policy, True, False),
    }
    runs: dict[str, Played] = {}
    for way, (player, by_compiler, planning) in ways.items():
        if compiled or not by_compiler:
            how = _how(subject, number, subject.pulls, by_compiler, planning)
            with blamed(f"Playing {name} {way}", how):
                runs[way] = play(player, rewards, subject.pulls, by_compiler, planning)
    _check_draws(subject, rewards, number)
    planned = "pull by pull" if subject.plans_singly else "planning ahead"
    pairs = [("through plan and observe", f"in Python, {planned}")]
    if compiled:
        pairs += [
            ("in Python, planning ahead", "compiled, planning ahead"),
            ("in Python, pull by pull", "compiled, pull by pull"),
        ]
    if not subject.randomised:
        pairs.append(("in Python, planning ahead", "in Python, pull by pull"))
    for one, other in pairs:
        hint = HINTS["compiled" if "compiled" in other else other.split(", ")[1]]
        _, by_compiler, planning = ways[other]
        how = _how(subject, number, subject.pulls, by_compiler, planning)
        _check_same(subject, one, runs[one], other, runs[other], hint, how)


HINTS = {
    "planning ahead": "A lookahead must choose what choose chooses, and promise what is certain.",
    "pull by pull": (
        "A plan must not be longer than now.limit, nor than no reward in the declared range can "
        "change the policy's mind."
    ),
    "compiled": (
        "Compiled code means something else here: look for indices outside an array, division by zero, "
        "and whole numbers that become floats (docs/add-a-policy.md, 'Rules for compiled code')."
    ),
}


def _check_same(
    subject: _Subject, one: str, first: Played, other: str, second: Played, hint: str, how: str
) -> None:
    expected = f"{subject.name} must play the same arms on the same rewards {one} and {other}."
    place = _first_difference(first.arms, second.arms)
    if place is not None:
        raise _difference(expected, one, first.arms, other, second.arms, place, hint, how)
    require(
        first.empty == second.empty,
        f"{subject.name} must count the same number of empty confidence sets {one} and {other}.",
        f"It counted {first.empty} {one}, and {second.empty} {other}.",
        how,
    )


def _check_draws(subject: _Subject, rewards: Floats, number: int) -> None:
    """Raise unless it draws from rng, and only then plays differently with another seed."""
    rng = agent_generator(0)
    state = rng.bit_generator.state
    runs = [play_in(Tape(rewards), subject.policy, subject.pulls, False, True, rng)]
    how = _how(subject, number, subject.pulls, False, True)
    require(
        subject.randomised or rng.bit_generator.state == state,
        "A policy that draws from rng must say so by the class attribute randomised = "
        f"True; {subject.name} "
        "does not.",
        "It has drawn from rng.",
        how,
    )
    runs.append(play(subject.policy, rewards, subject.pulls, False, True))
    place = _first_difference(runs[0].arms, runs[1].arms)
    require(
        place is None,
        f"{subject.name} must play the same arms when the same rewards and the same seed "
        "are played again: "
        "it may draw random numbers from rng only, and all that changes belongs into the state.",
        f"It played another arm at pull {place}.",
        how,
    )


def _check_short_horizons(subject: _Subject) -> None:
    """A shorter horizon cuts the play off, and changes nothing before."""
    for number in range(2, STYLES):
        rewards = subject.tape(number, subject.pulls)
        whole = play(subject.policy, rewards, subject.pulls, False, True).arms
        for horizon in SHORT_HORIZONS:
            if horizon > subject.pulls or subject.randomised:
                continue
            how = _how(subject, number, subject.pulls, False, True, horizon)
            with blamed(f"Playing {subject.name} for {horizon} pulls", how):
                part = play(subject.policy, rewards, horizon, False, True).arms
            place = _first_difference(part, whole[:horizon])
            if place is not None:
                expected = (
                    f"{subject.name} must begin with the same arms whatever the number of pulls."
                )
                raise _difference(
                    expected,
                    f"with {horizon} pulls",
                    part,
                    f"with {subject.pulls}",
                    whole,
                    place,
                    HINTS["pull by pull"],
                    how,
                )


def _check_long_plays(subject: _Subject, number: int, pulls: int) -> None:
    """Longer tapes, compiled: later plans are longer, and errors that grow with time show."""
    rewards = subject.tape(number, pulls)
    how = _how(subject, number, pulls, True, True)
    with blamed(f"Playing {subject.name} for {pulls} pulls", how):
        planned = play(subject.policy, rewards, pulls, True, True)
        single = play(subject.policy, rewards, pulls, True, False)
        python = play(subject.policy, rewards, pulls, False, True)
    one = "compiled, planning ahead"
    _check_same(subject, "in Python, planning ahead", python, one, planned, HINTS["compiled"], how)
    if not subject.randomised:
        other, hint = "compiled, pull by pull", HINTS["pull by pull"]
        _check_same(subject, one, planned, other, single, hint, how)


# ------------------------------------------------------------------------------- live agents


def _check_agent(subject: _Subject, number: int) -> None:
    """Told one reward at a time, an agent asks for the arms of the simulation; whatever is between."""
    rewards = subject.tape(number, subject.pulls)
    name, pulls = subject.name, subject.pulls
    wanted = play(subject.policy, rewards, pulls, False, not subject.plans_singly).arms
    how = f"{subject.shown(number, pulls)}\nagent = sb.Agent(policy)  # then ask and tell"
    ways: list[tuple[str, Callable[[Agent, int], Agent], str]] = [
        (
            "asked and told by a live agent",
            lambda agent, _: agent,
            "plan must not rely on its last plan being complete, nor on now.limit to be near.",
        ),
        (
            "by a live agent that is read in between",
            _read,
            "plan, active_arms and whatever else is read must not change the state.",
        ),
        (
            "by a live agent that is saved and restored in between",
            lambda agent, made: _restored(agent) if made in SNAPSHOTS else agent,
            "Name every field that holds something learned in the class attribute `learned`; the others "
            "are made anew by init and restore, and no decision may depend on more.",
        ),
    ]
    for way, between, hint in ways:
        with blamed(f"Playing {name} {way}", how):
            arms = _ask_and_tell(Agent(subject.policy), rewards, pulls, between)
        place = _first_difference(arms, wanted)
        if place is not None:
            expected = f"{name} must play the same arms in a simulation and {way}."
            raise _difference(expected, "in a simulation", wanted, way, arms, place, hint, how)


def _ask_and_tell(
    agent: Agent, rewards: Floats, pulls: int, between: Callable[[Agent, int], Agent]
) -> list[int]:
    """Return the arms that an agent asks for; `between` comes between each ask and its tell."""
    seen = [0] * len(rewards)
    arms = []
    for made in range(pulls):
        decision = agent.ask()
        agent = between(agent, made)
        agent.tell(decision.id, float(rewards[decision.arm, seen[decision.arm]]))
        seen[decision.arm] += 1
        arms.append(decision.arm)
    return arms


def _read(agent: Agent, made: int) -> Agent:
    if made % 3 == 0:
        _ = agent.plan, agent.active_arms, agent.empty, agent.pending, agent.pulls, repr(agent)
        agent.to_json()
    return agent


def _restored(agent: Agent) -> Agent:
    text = agent.to_json()
    other = Agent.from_json(text, agent.policy)
    require(
        other.to_json() == text,
        f"An agent with {type(agent.policy).__name__} that was saved and restored must be saved as the "
        "same text again.",
        "The texts differ.",
        "sb.Agent.from_json(agent.to_json(), policy).to_json()",
    )
    return other


def _check_whole_plans(subject: _Subject, number: int, pulls: int) -> None:
    """Results told one by one, or taught in whole plans: the next plan is the same."""
    rewards = subject.tape(number, pulls)
    needs_squares = getattr(subject.policy, "needs_squares", False)
    how = f"{subject.shown(number, pulls)}\nagent.learn(...) beside agent.ask() and agent.tell(...)"
    with blamed(f"Teaching {subject.name} whole plans", how):
        told, taught = Agent(subject.policy), Agent(subject.policy)
        seen = np.zeros(subject.arms, np.int64)
        for _ in range(MOST_PLANS):
            plan = taught.plan
            require(
                np.array_equal(plan, told.plan),
                f"{subject.name} must make the same plan whether rewards were told one by one or whole "
                "plans were learned at once. observe has to take in any number of pulls of any arms"
                + ("" if needs_squares else ", and seen.squares is unknown (nan) when whole plans are "
                   "learned unless the class says needs_squares = True")
                + ".",
                f"After {int(seen.sum())} pulls the plans are {told.plan.tolist()} and {plan.tolist()}.",
                how,
            )  # fmt: skip
            if seen.sum() + plan.sum() > pulls:
                return
            parts = [rewards[arm, n : n + plan[arm]] for arm, n in enumerate(seen)]
            sums = [part.sum() for part in parts]
            squares = [(part * part).sum() for part in parts]
            for _ in range(int(plan.sum())):
                decision = told.ask()
                told.tell(decision.id, float(rewards[decision.arm, seen[decision.arm]]))
                seen[decision.arm] += 1
            taught.learn(plan, sums, squares if needs_squares else None)


def _check_threads(subject: _Subject) -> None:
    """Agents in threads, on one policy, do not disturb each other."""
    numbers, pulls = (6, 7), min(subject.pulls, 60)
    tapes = [subject.tape(number, pulls) for number in numbers]
    wanted = [_ask_and_tell(Agent(subject.policy), tape, pulls, _unread) for tape in tapes]
    found: list[Any] = [None, None]

    def work(place: int) -> None:
        try:
            found[place] = _ask_and_tell(Agent(subject.policy), tapes[place], pulls, _unread)
        except Exception as error:
            found[place] = error

    in_threads([lambda place=place: work(place) for place in range(2)])  # type: ignore[misc]
    for place, number in enumerate(numbers):
        require(
            found[place] == wanted[place],
            f"Two agents with the same {subject.name} in two threads must each play as alone: all that "
            "changes belongs into the state, or into the notes that cells hand out.",
            f"On tape {number} one of them played or raised {found[place]!r} instead of "
            f"{wanted[place]}.",
            f"{subject.shown(number, pulls)}\ntwo threads, each with its own sb.Agent(policy)",
        )


def _unread(agent: Agent, made: int) -> Agent:
    return agent


# --------------------------------------------------------------------- what must stay as it is


def _check_unchanged(subject: _Subject, before: list[Any]) -> None:
    require(
        _same_contents(before, _contents(subject.policy)),
        f"Playing {subject.name} must not change the policy: all that changes belongs into the state.",
        "An array among its fields has other numbers than before, or its structure another fingerprint.",
        "sb.testing.play(policy, rewards, ...)",
    )


def _contents(policy: Any) -> list[Any]:
    """Return copies of everything that defines a policy."""
    structure = getattr(policy, "structure", None)
    fields = [copy.copy(value) if _plain(value) else None for value in _leaves(policy)]
    return [*fields, structure.fingerprint if structure is not None else None]


def _same_contents(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(one, other, equal_nan=_kind(one) in "fc"))


def _kind(value: Any) -> str:
    return np.asarray(value).dtype.kind


def _plain(value: Any) -> bool:
    """Return whether this is a number, a text or an array, which can be copied and compared."""
    return isinstance(value, (int, float, str, bool, np.generic, np.ndarray))


def _leaves(record: Any) -> Iterator[Any]:
    """Yield what is in a named tuple and in those inside it; in other objects what they hold."""
    values = record if isinstance(record, tuple) else vars(record).values()
    for value in values:
        if hasattr(value, "_fields"):
            yield from _leaves(value)
        else:
            yield value


def _is_constant(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, str, bool, np.generic, tuple))


def _shared(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.may_share_memory(one, other)) and one.flags.writeable
    return one is other


def _told(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return f"an object of the class {type(value).__name__}"


def _first_difference(one: list[int], other: list[int]) -> int | None:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), None)


def _difference(
    expected: str,
    one: str,
    first: list[int],
    other: str,
    second: list[int],
    place: int,
    hint: str,
    how: str,
) -> CheckError:
    return failure(
        f"{expected} The first {place} pulls agree; then it pulled arm {first[place]} {one}, but arm "
        f"{second[place]} {other}. {hint}",
        how,
    )


def _how(
    subject: _Subject, number: int, pulls: int, compiled: bool, planning: bool, horizon: int = 0
) -> str:
    call = f"{horizon or pulls}, compiled={compiled}, planning={planning}"
    return f"{subject.shown(number, pulls)}\nsb.testing.play(policy, rewards, {call}).arms"
