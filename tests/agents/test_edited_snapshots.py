"""Any edit of a snapshot is refused with a clear error, or gives an agent that plays on consistently."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.first_version import SAVED, next_events, saved_agent
from support.snapshots import edited, paths, resealed, with_constants

import structured_bandits as sb

DATA = Path(__file__).parent / "data" / "0.1.0"
PARTS = 8  # of the edits, as tests of their own
EDITS = 440  # in each part, of each version
PATIENCE = 300  # seconds after which an edit counts as hanging


@contextmanager
def no_hanging(what: str) -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"hangs: {what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@cache
def policy_of(name: str) -> Any:
    return SAVED[name].make()


@cache
def saved_by(version: int, name: str) -> Any:
    if version == 1:
        return json.loads((DATA / f"{name}.json").read_text())["snapshot"]
    agent = saved_agent(name, np.random.default_rng(1))
    if len(name) % 2:  # half of them in trouble: many rewards out, an arm missing, one parked
        agent.ask(n=30)
        agent.park(1)
        agent.ask(available=[0])
        agent.ask(n=5)
    return json.loads(agent.to_json())


def play_on(agent: Any, rng: np.random.Generator) -> None:
    """Play 36 events; everything must fit together as for any agent."""
    arms = agent.policy.n_arms
    out = list(agent.pending)
    assert len({each.id for each in out}) == len(out)
    for _ in range(36):
        before = agent.pulls
        event = rng.choice(["ask", "tell", "cancel", "learn"], p=[0.5, 0.4, 0.06, 0.04])
        if event == "learn":
            more = rng.integers(0, 50, arms)
            agent.learn(more, rng.binomial(more, 0.5))
            assert (agent.pulls == before + more).all()
        elif event == "ask" or not out:
            out.append(agent.ask())
            assert out[-1] == agent.pending[-1]
            assert 0 <= out[-1].arm < arms
        else:
            each = out.pop(int(rng.integers(len(out))))
            getattr(agent, str(event))(
                each.id, *([float(rng.integers(2))] if event == "tell" else [])
            )
            before[each.arm] += event == "tell"
            assert (agent.pulls == before).all()
        assert agent.plan.sum() > 0 or agent.parked
        assert agent.plan.min() >= 0
        assert len(agent.pending) == len(out)
    assert set(agent.active_arms) <= set(range(arms))
    assert agent.active_arms
    assert agent.empty >= 0
    text = agent.to_json()
    assert sb.Agent.from_json(text, agent.policy).to_json() == text


def load(text: str, name: str) -> tuple[Any, str]:
    """The agent, or None and the message with which its snapshot is refused."""
    try:
        return sb.Agent.from_json(text, policy_of(name)), ""
    except sb.FileFormatError as error:
        return None, str(error)


def try_edit(version: int, name: str, rng: np.random.Generator) -> str:
    """Edit a snapshot and load it; return what came of it."""
    saved = saved_by(version, name)
    places = paths(saved["content"], ("content",)) if version == 3 else paths(saved)
    changed, what = edited(saved, places[rng.integers(len(places))], rng)
    try:
        text = with_constants(resealed(changed) if version == 3 else json.dumps(changed))
    except KeyError:  # the content itself is gone
        text = json.dumps(changed)
    with no_hanging(f"{name}, version {version}: {what}"):
        try:
            agent, message = load(text, name)
            if agent is None:
                assert message.startswith("the snapshot")
                assert len(message) < 2000
                return "refused"
            assert sb.Agent.from_json(agent.to_json(), agent.policy).to_json() == agent.to_json()
            play_on(agent, rng)
        except Exception as error:
            error.add_note(f"{name}, version {version}: {what}")
            raise
    return "unchanged" if changed == saved else "plays on"


@pytest.mark.parametrize("part", range(PARTS))
def test_edited_snapshots_are_refused_or_play_on(part: int) -> None:
    rng = np.random.default_rng([80, part])
    names = list(SAVED)
    for version in (1, 3):
        came: Counter[str] = Counter()
        for index in range(EDITS // 2):
            came[try_edit(version, names[index % len(names)], rng)] += 1
        assert came.total() == EDITS // 2
        assert came["refused"] >= 0.3 * came.total(), came
        assert came["plays on"] >= 0.05 * came.total(), came


def test_there_are_at_least_3000_edits() -> None:
    assert PARTS * (EDITS // 2) * 2 >= 3000


def test_an_edit_without_its_checksum_is_always_refused() -> None:
    rng = np.random.default_rng(81)
    tried = 0
    for index in range(1000):
        name = list(SAVED)[index % len(SAVED)]
        saved = saved_by(3, name)
        places = paths(saved["content"], ("content",))
        changed, what = edited(saved, places[rng.integers(len(places))], rng)
        text = with_constants(json.dumps(changed))
        if json.dumps(changed) == json.dumps(saved):
            continue
        tried += 1
        agent, message = load(text, name)
        assert agent is None, f"{name}: {what}"
        assert message.startswith("the snapshot")
    assert tried >= 800


def test_every_single_character_that_is_lost_is_noticed() -> None:
    text = saved_agent("sucb-table", np.random.default_rng(1)).to_json()
    for place in range(len(text)):
        with pytest.raises(sb.FileFormatError, match="the snapshot"):
            sb.Agent.from_json(text[:place] + text[place + 1 :], policy_of("sucb-table"))


@pytest.mark.parametrize("name", SAVED)
def test_snapshots_that_were_not_edited_play_on(name: str) -> None:
    agent = saved_agent(name, np.random.default_rng(1))
    text = agent.to_json()
    twin = sb.Agent.from_json(text, policy_of(name))
    assert twin.to_json() == text
    events = [next_events(each, name, np.random.default_rng(2)) for each in (agent, twin)]
    assert events[0] == events[1]
    assert twin.to_json() == agent.to_json()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 400])
def test_a_number_that_is_none_of_json_is_refused_as_damage(number: str) -> None:
    """Found by attack: 1e999 raised a ValueError where the checksum was computed."""
    policy = sb.SUCB.paper(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]]))
    agent = sb.Agent(policy)
    agent.tell(agent.ask().id, 1.0)
    text = agent.to_json()
    for place in (found.start() for found in re.finditer(r"(?<=[\[,:])1(?=[.\],])", text)):
        edited = text[:place] + re.sub(r"^1(\.0)?", number, text[place:])
        with pytest.raises(sb.FileFormatError):
            sb.Agent.from_json(edited, policy)


def test_a_guard_of_an_older_name_is_restored() -> None:
    """Its class was renamed; what it has learned was not."""
    structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    policy = sb.Guarded(sb.SUCB.paper(structure))
    agent = sb.Agent(policy)
    agent.tell(agent.ask().id, 1.0)
    saved = json.loads(agent.to_json())
    content = saved["content"]
    assert content["policy"]["class"] == "GuardedChoices"
    content["policy"]["class"] = "GuardedStreaks"
    assert sb.Agent.from_json(resealed(saved), policy).to_json() == agent.to_json()


def test_a_number_of_decisions_that_would_take_all_memory_is_refused() -> None:
    """Found by edits at random: 12 bytes were taken for each decision since the oldest that is out."""
    saved = json.loads(json.dumps(saved_by(3, "asae-theory")))
    saved["content"]["counters"]["next_id"] = 2**31
    with pytest.raises(
        sb.FileFormatError, match=r"next_id: 2147483648, but decision [0-9]+ is still out"
    ):
        sb.Agent.from_json(resealed(saved), policy_of("asae-theory"))
