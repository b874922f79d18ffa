"""`sb.RemoteAgent` and a service: what both promise, with all that can go wrong between them.

The tests know nothing of the service but its address and how to begin an experiment, so they hold for
every service of `SERVICES`. Faults are made by a proxy before it.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.faulty_proxy import CUT, FINE, LOST, REFUSED, SILENT, SLOW, Canned, Proxy, faulty_proxy
from support.naive_service import Running, policy_named
from support.real_service import SERVICES

import structured_bandits as sb
from structured_bandits.service import wire
from structured_bandits.service.client import calls, outage

JSON = [("Content-Type", "application/json")]
PROBLEM = [("Content-Type", "application/problem+json")]
BUSY = Canned(503, "{}", JSON)
PAGE = "<html>Please log in</html>"
HTML = [("Content-Type", "text/html")]
PATIENCE = 300.0  # seconds that the client has, so that attempts fail only where a test says so


@pytest.fixture(params=SERVICES, scope="module")
def service(request: pytest.FixtureRequest) -> Iterator[Running]:
    with SERVICES[request.param]() as running:
        yield running


@pytest.fixture
def proxy(service: Running) -> Iterator[Proxy]:
    with faulty_proxy(service.url) as running:
        yield running


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited before each further attempt; in the test it does not wait."""
    waited: list[float] = []
    monkeypatch.setattr(calls, "sleep", waited.append)
    return waited


def agent_of(service: Running, **options: Any) -> sb.RemoteAgent:
    return sb.RemoteAgent(service.url, service.create("SUCB"), **{"timeout": PATIENCE, **options})


def behind(proxy: Proxy, service: Running, **options: Any) -> sb.RemoteAgent:
    return sb.RemoteAgent(proxy.url, service.create("SUCB"), **{"timeout": PATIENCE, **options})


def with_control(proxy: Proxy, service: Running, **options: Any) -> sb.RemoteAgent:
    return behind(proxy, service, on_failure="control", control="coffee", **options)


def fail(proxy: Proxy, fault: Any, remote: sb.RemoteAgent, n: int = 1) -> None:
    """Let an ask fail with all its attempts."""
    proxy.faults.extend([fault] * 9)
    with pytest.raises(sb.ServiceError):
        remote.ask(n)
    proxy.faults.clear()


# ------------------------------------------------------------------------- as an agent would


def test_it_plays_what_an_agent_plays(service: Running) -> None:
    remote, here = agent_of(service), sb.Agent(policy_named("SUCB"))
    rng = np.random.default_rng(3)
    for _ in range(60):
        decision, own = remote.ask(), here.ask()
        assert (decision.arm, decision.name, decision.extra) == (own.arm, own.name, own.extra)
        reward = float(rng.random() < 0.5)
        assert remote.tell(decision.id, reward) == "recorded"
        here.tell(own.id, reward)
    for name in ("pulls", "means", "intervals", "plan"):
        np.testing.assert_array_equal(getattr(remote, name), getattr(here, name), err_msg=name)
    for name in ("active_arms", "parked", "empty", "extra_decisions"):
        assert getattr(remote, name) == getattr(here, name), name
    assert (remote.rewards, remote.pending_count) == (60, 0)


@pytest.mark.parametrize("name", ["ask", "tell", "cancel", "learn", "park", "unpark", "describe"])
def test_its_methods_take_what_those_of_an_agent_take(name: str) -> None:
    own = [*inspect.signature(getattr(sb.Agent, name)).parameters]
    assert [*inspect.signature(getattr(sb.RemoteAgent, name)).parameters][: len(own)] == own


def test_it_asks_for_several_and_for_those_that_are_available(service: Running) -> None:
    remote, here = agent_of(service), sb.Agent(policy_named("SUCB"))
    asked, own = remote.ask(3), here.ask(3)
    assert [each.arm for each in asked] == [each.arm for each in own]
    assert len({each.id for each in asked}) == 3
    assert remote.pending_count == 3
    for available in (["10"], {2}, np.array([2])):
        decision = remote.ask(available=available)
        assert (decision.name, decision.reason) == ("10", "restricted")


def test_a_key_gets_the_same_decision_again_and_names_it(service: Running) -> None:
    remote = agent_of(service)
    first = remote.ask(key="visitor 7")
    assert remote.ask(key="visitor 7") == first
    assert remote.ask(key="visitor 8").id != first.id
    assert remote.pending_count == 2
    assert remote.tell(key="visitor 7", reward=1.0) == "recorded"
    assert remote.tell(first.id, 1.0) == "duplicate"
    remote.cancel(key="visitor 8")
    assert remote.pending_count == 0
    with pytest.raises(sb.ParameterError, match="visitor 7"):
        remote.ask(2, key="visitor 7")
    assert remote.ask(key="visitor 7", available=["10", "tea"]) == first
    with pytest.raises(sb.DecisionError, match="not available"):
        remote.ask(key="visitor 7", available=["10"])


def test_a_deferred_decision_is_activated(service: Running) -> None:
    remote = agent_of(service)
    decision = remote.ask(defer=True)
    remote.activate(decision.id)
    assert remote.tell(decision.id, 0.5) == "recorded"


def test_a_reward_counts_once_and_another_one_is_refused(service: Running) -> None:
    remote = agent_of(service)
    told, cancelled = remote.ask(2)
    assert [remote.tell(told.id, 0.25) for _ in range(2)] == ["recorded", "duplicate"]
    with pytest.raises(sb.DecisionError) as caught:
        remote.tell(told.id, 0.75)
    assert caught.value.recorded == 0.25
    remote.cancel(cancelled.id)
    for name in (cancelled.id, "nobody-0"):
        with pytest.raises(sb.DecisionError) as caught:
            remote.tell(name, 1.0)
        assert caught.value.recorded is None
    assert remote.pulls.sum() == 1


def test_rewards_are_told_together_or_not_at_all(service: Running) -> None:
    remote = agent_of(service)
    ids = [each.id for each in remote.ask(3)]
    with pytest.raises(sb.DecisionError):
        remote.tell_many([(ids[0], 1.0), ("nobody-0", 1.0)])
    assert remote.pulls.sum() == 0
    assert remote.tell_many([(each, 0.5) for each in ids]) == ("recorded",) * 3
    assert remote.pulls.sum() == 3
    remote.ask(key="a")
    assert remote.tell_many([("a", 1.0)], by_key=True) == ("recorded",)
    assert remote.tell_many([]) == ()


def test_what_the_service_refuses_is_the_error_of_an_agent(service: Running) -> None:
    remote = agent_of(service)
    decision = remote.ask()
    with pytest.raises(sb.RewardError, match=r"\[0, 1\]"):
        remote.tell(decision.id, 3.0)
    with pytest.raises(sb.RewardError):
        remote.learn([1, 0], [1.0, 0.0])  # there are three arms
    with pytest.raises(sb.ParameterError, match="milk"):
        remote.ask(available=["milk"])
    with pytest.raises(sb.ParameterError, match="milk"):
        remote.park("milk")
    remote.park("tea")
    remote.park("10")
    with pytest.raises(sb.ParameterError, match="last one that is not parked"):
        remote.park("coffee")
    with pytest.raises(sb.ParameterError, match="no-such-thing"):
        sb.RemoteAgent(service.url, "no-such-thing").ask()
    assert remote.pending_count == 1


def test_it_learns_from_sums_and_from_logs(service: Running, tmp_path: Path) -> None:
    remote, here = agent_of(service), sb.Agent(policy_named("SUCB"))
    frame = pd.DataFrame({"arm": ["tea", "tea", "coffee"], "reward": [1.0, 0.5, 0.25]})
    file = tmp_path / "log.csv"
    file.write_text("arm,pulls,sum\ncoffee,4,2\n10,1,0\n")
    for agent in (remote, here):
        assert agent.learn(frame) == sb.Learned(3, 3, ("tea", "coffee"))
        assert agent.learn(file) == sb.Learned(2, 5, ("coffee", "10"))
        assert agent.learn(pulls=np.array([2, 0, 0]), sums=[1, 0, 0]) is None
    np.testing.assert_array_equal(remote.pulls, here.pulls)
    np.testing.assert_array_equal(remote.means, here.means)
    with pytest.raises(sb.FileFormatError, match="row 1"):
        remote.learn(pd.DataFrame({"arm": ["tea", "tea"], "reward": [0.5, 1.1]}))
    assert remote.pulls.sum() == 10


def test_results_with_one_key_count_once(service: Running) -> None:
    remote = agent_of(service)
    for _ in range(2):
        remote.learn([5, 5, 0], [4.0, 1.0, 0.0], key="last year")
    assert remote.pulls.tolist() == [5, 5, 0]


def test_arms_are_parked_and_come_back(service: Running) -> None:
    remote = agent_of(service)
    remote.park("tea")
    remote.park(np.int64(2))
    assert remote.parked == (0, 2)
    assert remote.ask().name == "coffee"
    remote.unpark(0)
    assert remote.parked == (2,)
    assert 0 in remote.active_arms


def test_a_plan_is_handed_out_as_a_batch(service: Running) -> None:
    remote = sb.RemoteAgent(service.url, service.create("SAE"))
    batch = remote.hand_out(40, key="monday")
    assert remote.hand_out(40, key="monday") == batch
    assert sum(batch.pulls) == 40
    pulls = np.array(batch.pulls)
    part = pulls // 2
    for _ in range(2):
        remote.tell_batch(batch.id, part, 0.5 * part, key="morning")
    remote.tell_batch(batch.id, pulls - part, 0.5 * (pulls - part))
    assert remote.pulls.tolist() == list(batch.pulls)
    for name in ("nobody-1", batch.id):  # of this one nothing is out any more
        with pytest.raises(sb.DecisionError):
            remote.tell_batch(name, part, 0.5 * part)


def test_it_describes_the_experiment(service: Running) -> None:
    remote = agent_of(service)
    remote.learn([40, 10, 0], [34, 2, 0])
    remote.park("10")
    text = remote.describe()
    assert "has seen 50 rewards and waits for no more." in text
    assert re.search(r"^tea +40 +0\.85 +0\.\d+ to 1 +yes$", text, re.MULTILINE), text
    assert re.search(r"^10 +0 +0 to 1 +no, parked$", text, re.MULTILINE), text
    assert "the likeliest are '0' (over 99.9 %)" in text
    assert "do not refute the structure" in text
    assert "<td><b>0.85</b></td>" in remote._repr_html_()


def test_a_state_that_has_not_changed_is_not_sent_again(proxy: Proxy, service: Running) -> None:
    remote = behind(proxy, service)
    first = remote.state()
    assert remote.state() is first  # the answer was 304
    remote.ask()
    assert remote.state().pending == 1


# ------------------------------------------------------------- answers that are lost on the way

#: What changes something, and how to see how often it counted.
CHANGES: dict[str, tuple[Callable[[sb.RemoteAgent], Any], Callable[[sb.RemoteAgent], Any]]] = {
    "ask": (lambda agent: agent.ask(), lambda agent: agent.pending_count - 1),
    "ask for three": (lambda agent: agent.ask(3), lambda agent: agent.pending_count - 1),
    "tell": (lambda agent: agent.tell(key="v", reward=1.0), lambda agent: agent.pulls.sum()),
    "learn": (
        lambda agent: agent.learn([3, 1, 0], [1.0, 1.0, 0.0]),
        lambda agent: agent.pulls.sum(),
    ),
    "cancel": (lambda agent: agent.cancel(key="v"), lambda agent: 1 - agent.pending_count),
    "park": (lambda agent: agent.park("10"), lambda agent: len(agent.parked)),
    "hand out": (lambda agent: agent.hand_out(1), lambda agent: agent.pending_count - 1),
}
COUNTED = {"ask for three": 3, "learn": 4}  # once is enough for the others


@pytest.mark.parametrize("faults", [[LOST], [CUT], [LOST, LOST, CUT]], ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_a_request_whose_answer_is_lost_counts_once(
    proxy: Proxy, service: Running, waits: list[float], change: str, faults: list[str]
) -> None:
    remote = behind(proxy, service)
    do, count = CHANGES[change]
    remote.ask(key="v")
    proxy.faults.extend(faults)
    sent = len(proxy.seen)
    do(remote)
    assert len(proxy.seen) - sent == len(faults) + 1
    assert len({each.body for each in proxy.seen[sent:]}) == 1  # the same key, too
    assert count(remote) == COUNTED.get(change, 1)


def test_a_batch_whose_answer_is_lost_counts_once(
    proxy: Proxy, service: Running, waits: list[float]
) -> None:
    remote = behind(proxy, service)
    batch = remote.hand_out(1)
    proxy.faults.extend([LOST, LOST])
    remote.tell_batch(batch.id, batch.pulls, np.zeros(3))
    assert remote.pulls.tolist() == list(batch.pulls)


def test_an_ask_that_was_given_up_is_cancelled_later(
    proxy: Proxy, service: Running, waits: list[float]
) -> None:
    """Nobody pulls its arm; where rewards have a window it would count as a failure."""
    remote = behind(proxy, service)
    fail(proxy, LOST, remote)
    assert remote.pending_count == 1
    proxy.faults.extend([FINE, REFUSED, REFUSED])  # the first attempt to cancel fails, too
    remote.ask(key="a")
    remote.ask(key="b")
    assert remote.pending_count == 2
    fail(proxy, REFUSED, remote)  # this one never arrives: there is nothing to cancel
    assert remote.tell(key="a", reward=1.0) == "recorded"
    assert remote.pending_count == 1


def test_an_ask_for_several_that_was_given_up_is_cancelled_later(
    proxy: Proxy, service: Running, waits: list[float]
) -> None:
    remote = behind(proxy, service)
    fail(proxy, LOST, remote, n=3)
    assert remote.pending_count == 3
    for number in range(4):
        remote.ask(key=str(number))
    assert remote.pending_count == 4


# ------------------------------------------------------------------- failures that pass, or do not


@pytest.mark.parametrize(
    "fault",
    [REFUSED, BUSY, Canned(408), Canned(429), Canned(502, PAGE, HTML), Canned(504, PAGE, HTML)],
    ids=lambda fault: str(fault[:1] if isinstance(fault, Canned) else fault),
)
def test_it_tries_again(proxy: Proxy, service: Running, waits: list[float], fault: Any) -> None:
    remote = behind(proxy, service)
    proxy.faults.extend([fault] * 3)
    assert remote.tell(remote.ask().id, 1.0) == "recorded"
    assert len(waits) == 3
    assert all(wait <= calls.FIRST_WAIT * 2**number for number, wait in enumerate(waits))
    assert len(set(waits)) == 3  # clients that failed together do not come back together
    proxy.faults.extend([fault] * 9)
    with pytest.raises(sb.ServiceError) as caught:
        remote.state()
    assert len(waits) == 6
    assert caught.value.passing
    assert caught.value.status == (fault.status if isinstance(fault, Canned) else None)


def test_it_waits_as_long_as_the_service_asks(
    proxy: Proxy, service: Running, waits: list[float]
) -> None:
    remote = behind(proxy, service, timeout=60.0)
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 9))
    for said in ("7", date, "soon"):
        proxy.faults.append(Canned(503, "{}", [("Retry-After", said)]))
    remote.ask()
    assert 7.0 <= waits[0] <= 7.0 + calls.FIRST_WAIT
    assert 7.0 <= waits[1] <= 9.0 + 2 * calls.FIRST_WAIT
    assert waits[2] <= 4 * calls.FIRST_WAIT
    proxy.faults.append(Canned(429, "{}", [("Retry-After", "61")]))
    with pytest.raises(sb.ServiceError):  # at once: there is not so much time
        remote.ask()
    assert len(waits) == 3


def test_a_service_that_does_not_answer_costs_no_more_than_the_timeout(
    proxy: Proxy, service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of the test's own: each attempt is given its share, and all end in time."""
    remote = behind(proxy, service, timeout=8.0, retries=3)
    now, given = [100.0], []

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    def silent(connections: Any, request: Any, timeout: float) -> Any:
        given.append(timeout)
        pass_by(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(calls, "monotonic", lambda: now[0])
    monkeypatch.setattr(calls, "sleep", pass_by)
    monkeypatch.setattr(calls.Connections, "exchange", silent)
    with pytest.raises(sb.ServiceError, match="timed out") as caught:
        remote.ask()
    assert caught.value.passing
    assert caught.value.status is None
    assert len(given) == 4
    assert (
        min(given) > 8.0 / 4 - (1 + 2 + 4) * calls.FIRST_WAIT
    )  # the last one too, although others waited
    assert now[0] <= 108.0 + 1e-9


@pytest.fixture
def short(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds for the next attempts, which end when the proxy has taken its fault; others have more."""
    seconds: list[float] = []
    usual = calls.Connections.exchange

    def exchange(connections: Any, request: Any, timeout: float) -> Any:
        if not seconds:
            return usual(connections, request, timeout)
        try:
            return usual(connections, request, seconds.pop())
        except TimeoutError:
            while proxy.faults:
                time.sleep(0.01)
            raise

    monkeypatch.setattr(calls.Connections, "exchange", exchange)
    return seconds


def test_an_attempt_without_an_answer_is_given_up_for_another(
    proxy: Proxy, service: Running, short: list[float]
) -> None:
    """A client that waited on would hear after 30 seconds that the connection is closed."""
    remote = behind(proxy, service, retries=1)
    decision = remote.ask()
    proxy.faults.append(SILENT)
    short.append(0.2)
    sent = len(proxy.seen)
    assert remote.tell(decision.id, 1.0) == "recorded"
    assert len(proxy.seen) == sent + 2
    alone = behind(proxy, service, retries=0)
    proxy.faults.append(SILENT)
    short.append(0.2)
    with pytest.raises(sb.ServiceError, match="timed out"):
        alone.ask()


def test_an_answer_that_trickles_in_costs_no_more_than_the_timeout(
    proxy: Proxy, service: Running, short: list[float]
) -> None:
    """The whole answer takes more than 4 seconds; a client that waited for it would have it then."""
    remote = behind(proxy, service, retries=0)
    proxy.faults.append(SLOW)
    short.append(0.2)
    with pytest.raises(sb.ServiceError, match="timed out"):
        remote.ask(3)  # more than 200 bytes


@pytest.mark.parametrize(
    ("answer", "passing", "said"),
    [
        (Canned(200, PAGE, HTML), True, "Please log in"),
        (Canned(500, PAGE, HTML), True, "Please log in"),
        (Canned(200, "[1, 2", JSON), True, r"\[1, 2"),
        (Canned(200, '{"answer": 42}', JSON), True, "decisions"),
        (Canned(200, '{"decisions": [{"id": 7}]}', JSON), True, r"`\$.decisions\[0\].id`"),
        (Canned(200, '{"decisions": []}', JSON), True, "0 parts where 1 were expected"),
        (Canned(200, '{"new": ' + "[" * 100_000, JSON), True, "recursion depth"),
        (Canned(404, PAGE, HTML), False, "not a decision service"),
        (Canned(409, '{"title": "no"}', PROBLEM), False, "not a decision service"),
        (Canned(404, '{"detail": "no"}', JSON), False, "url"),
        (Canned(403, PAGE, HTML), False, "does not allow"),
    ],
    ids=[
        "page",
        "failure",
        "torn",
        "other",
        "number",
        "none",
        "deep",
        "missing",
        "gateway",
        "foreign",
        "forbidden",
    ],
)
def test_answers_that_are_not_the_services(
    proxy: Proxy, service: Running, answer: Canned, passing: bool, said: str
) -> None:
    remote = behind(proxy, service)
    proxy.faults.append(answer)
    with pytest.raises(sb.ServiceError, match=said) as caught:
        remote.ask()
    assert caught.value.passing is passing
    assert caught.value.status == answer.status
    assert len(proxy.seen) == 1  # it was not tried again


def test_a_long_page_is_not_shown_as_a_whole(proxy: Proxy, service: Running) -> None:
    remote = behind(proxy, service)
    proxy.faults.append(Canned(200, "x" * 10_000, HTML))
    with pytest.raises(sb.ServiceError) as caught:
        remote.ask()
    assert len(str(caught.value)) < 500


def test_a_redirect_is_not_followed(proxy: Proxy, service: Running) -> None:
    """The token would go wherever it leads."""
    with faulty_proxy(service.url) as elsewhere:
        remote = behind(proxy, service, token="sb_1_secret")
        proxy.faults.append(Canned(307, "", [("Location", f"{elsewhere.url}/v1")]))
        with pytest.raises(sb.ServiceError, match=re.escape(elsewhere.url)) as caught:
            remote.ask()
        assert elsewhere.seen == []
    assert proxy.seen[0].headers["Authorization"] == "Bearer sb_1_secret"
    assert "secret" not in str(caught.value) + repr(remote)


# --------------------------------------------------------------------------------- the control


@pytest.mark.parametrize("fault", [REFUSED, BUSY, Canned(200, PAGE, HTML)], ids=["r", "b", "p"])
def test_the_control_is_shown_while_the_service_is_down(
    proxy: Proxy,
    service: Running,
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
    fault: Any,
) -> None:
    remote = with_control(proxy, service)
    assert remote.ask().reason == "plan"
    proxy.faults.extend([fault] * 20)
    shown = remote.ask()
    assert shown == sb.RemoteDecision(None, 1, "coffee", False, "unreachable", None)
    assert isinstance(remote.last_failure, sb.ServiceError)
    tried = len(proxy.seen)
    assert remote.ask(3) == (shown,) * 3  # at once
    assert remote.ask(available=["10", 0]).name == "tea"
    with pytest.raises(sb.StructureError, match="milk"):
        remote.ask(available=["milk"])
    assert len(proxy.seen) == tried

    later = time.monotonic() + outage.REMEMBERED
    monkeypatch.setattr(outage, "monotonic", lambda: later)
    assert [remote.ask(), remote.ask()] == [shown] * 2
    assert len(proxy.seen) == tried + 1  # one of them tried, once

    proxy.faults.clear()
    assert remote.ask().id is None
    monkeypatch.setattr(outage, "monotonic", lambda: later + outage.REMEMBERED)
    assert remote.ask().id is not None
    assert remote.ask().id is not None
    assert remote.last_failure is None


def test_while_one_request_tries_the_service_no_other_does(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(outage, "monotonic", lambda: now)
    known = outage.Outage()
    assert [known.may_try(), known.may_try()] == [True, True]
    known.note(sb.ServiceError("down", passing=True))
    assert not known.may_try()
    now += outage.REMEMBERED
    assert [known.may_try(), known.may_try()] == [True, False]  # the first is under way
    known.note(None)
    assert [known.may_try(), known.may_try()] == [True, True]


def test_rewards_of_the_control_are_ignored_and_others_are_not(
    proxy: Proxy, service: Running, waits: list[float]
) -> None:
    remote = with_control(proxy, service)
    decision = remote.ask()
    proxy.faults.extend([REFUSED] * 9)
    lost = remote.ask()
    proxy.faults.clear()
    assert remote.tell(lost.id, 1.0) == "ignored"
    remote.cancel(lost.id)
    remote.activate(lost.id)
    assert remote.tell_many([(None, 1.0), (decision.id, 1.0)]) == ("ignored", "recorded")
    other = agent_of(service)
    with pytest.raises(sb.DecisionError, match="None"):
        other.tell(None, 1.0)
    proxy.faults.extend([REFUSED] * 9)
    with pytest.raises(sb.ServiceError):  # a reward is never dropped
        remote.tell(decision.id, 1.0)


def test_the_reward_of_a_key_that_got_the_control_does_not_go_to_another_arm(
    proxy: Proxy, service: Running, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = with_control(proxy, service)
    proxy.faults.extend([LOST] * 9)  # the service has chosen tea, the visitor sees coffee
    assert remote.ask(key="v").name == "coffee"
    proxy.faults.clear()
    assert remote.tell(key="v", reward=1.0) == "ignored"
    later = time.monotonic() + outage.REMEMBERED
    monkeypatch.setattr(outage, "monotonic", lambda: later)
    assert remote.ask(key="v").name == "tea"
    assert remote.tell(key="v", reward=1.0) == "recorded"
    assert remote.pulls.tolist() == [1, 0, 0]


def test_of_very_many_keys_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "MOST_KEYS", 2)
    asks = outage.LostAsks()
    for key in ("a", "b", "c"):
        asks.note_control(key)
        asks.add_undoing(outage.undoing_of(wire.Ask(key=key)))
    assert [asks.got_control(key) for key in ("a", "b", "c", None)] == [False, True, True, False]
    undoings = [asks.next_undoing() for _ in range(3)]
    named = [wire.Named(key=key) for key in ("b", "c")]
    assert undoings == [("cancel", named[0]), ("cancel", named[1]), None]


def test_mistakes_are_not_hidden_behind_the_control(proxy: Proxy, service: Running) -> None:
    remote = with_control(proxy, service)
    for _ in range(2):
        proxy.faults.append(Canned(401, "{}"))
        with pytest.raises(sb.ServiceError, match="refuses the token"):
            remote.ask()
    assert remote.ask().id is not None


def test_a_program_can_begin_while_the_service_is_down(
    proxy: Proxy, service: Running, waits: list[float]
) -> None:
    proxy.faults.extend([REFUSED] * 8)
    with pytest.raises(sb.ServiceError, match=r"give the names of the arms \(arms=…\)"):
        with_control(proxy, service)
    remote = with_control(proxy, service, arms=["tea", "coffee", "10"])
    assert (remote.ask().arm, remote.ask().name) == (1, "coffee")


# -------------------------------------------------------------------------------- connections


def test_connections_are_kept_and_replaced(proxy: Proxy, service: Running) -> None:
    with behind(proxy, service, retries=0) as remote:
        for _ in range(5):
            remote.tell(remote.ask().id, 1.0)
        assert len(proxy.connections) == 1
        proxy.faults.append(REFUSED)  # as a service does with one that was idle for too long
        remote.ask()
        assert len(proxy.connections) == 2
    remote.ask()  # also after it was closed
    assert len(proxy.connections) == 3


def test_a_forked_process_uses_connections_of_its_own(
    proxy: Proxy, service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = behind(proxy, service)
    remote.ask()
    monkeypatch.setattr("os.getpid", lambda: -1)
    remote.ask()
    remote.ask()
    assert len(proxy.connections) == 2


def test_many_threads_share_one_agent(
    proxy: Proxy, service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "FIRST_WAIT", 0.001)
    remote = behind(proxy, service, retries=30)
    together = threading.Barrier(8)
    proxy.faults.extend([FINE, LOST, FINE, BUSY, CUT] * 30)

    def play(thread: int) -> list[str]:
        together.wait()
        ids = []
        for number in range(10):
            decision = remote.ask(key=f"{thread}-{number}" if number % 2 else None)
            remote.tell(decision.id, 0.5)
            ids.append(str(decision.id))
        return ids

    with ThreadPoolExecutor(8) as threads:
        ids = [each for part in threads.map(play, range(8)) for each in part]
    assert len(set(ids)) == 80
    state = remote.state()
    assert (state.rewards, state.pending) == (80, 0)
    assert math.fsum(arm.pulls * (arm.mean or 0.0) for arm in state.arms) == 40.0


# ------------------------------------------------------------------------------ what is sent


def test_what_is_sent_has_the_form_of_the_contract(proxy: Proxy, service: Running) -> None:
    remote = behind(proxy, service)
    decision = remote.ask(available=[np.int64(0), np.str_("coffee")], key="v")
    remote.tell(decision.id, np.float64(1.0))
    ask, tell = (json.loads(each.body) for each in proxy.seen)
    assert ask == {"n": 1, "available": [0, "coffee"], "key": "v", "defer": False}
    assert tell == [{"id": decision.id, "key": None, "reward": 1.0}]
    assert {each.headers["Content-Type"] for each in proxy.seen} == {"application/json"}
    assert not any("Authorization" in each.headers for each in proxy.seen)
