"""A decision service written from its contract alone: one file, a real agent, nothing kept on disk.

It shares no code with `structured_bandits.service` or with the client, so it tests what both promise.
"""

from __future__ import annotations

import json
import math
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock, Thread
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

import structured_bandits as sb

CANCELLED = "cancelled"


class Running(NamedTuple):
    """A service that runs: its address, and how to begin an experiment with a policy of `policies`."""

    url: str
    create: Callable[[str], str]  # from the name of a policy to the name of a new experiment


DRINKS = sb.FiniteStructure([[0.8, 0.3, 0.1], [0.2, 0.7, 0.1]], arms=["tea", "coffee", "10"])


def policy_named(name: str) -> Any:
    """The policies that an experiment may have: on the table DRINKS."""
    return {"SUCB": sb.SUCB.paper(DRINKS, alpha=0.5), "SAE": sb.SAE.paper(DRINKS, 10_000)}[name]


class RefusedError(Exception):
    """A request is refused with a status and a sentence."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.problem = {"type": "about:blank", "title": "Refused", "status": status, **more}
        self.problem["detail"] = detail


class Experiment:
    """An agent and what was said about its decisions; every request is one method."""

    def __init__(self, name: str, policy: Any) -> None:
        self.name, self.uid, self.seq = name, secrets.token_hex(4), 0
        self.agent = sb.Agent(policy)
        self.outcomes: dict[int, float | str] = {}  # by number of decision
        self.answers: dict[str, tuple[Any, Any]] = {}  # requests and answers, by key
        self.batches: dict[str, list[int]] = {}
        self.arms: dict[int, int] = {}  # by number of decision

    def once(self, key: str | None, request: Any, answer: Callable[[], Any]) -> Any:
        """Answer a request, or repeat the answer if the key was answered before."""
        if key in self.answers:
            before, said = self.answers[key]
            if before != request:
                raise RefusedError(422, f"The key {key!r} was used for another request.")
            return {**said, "repeated": True}
        said = answer()
        self.seq += 1
        if key is not None:
            self.answers[key] = (request, said)
        return said

    def ask(self, n: int = 1, available: Any = None, key: Any = None, defer: bool = False) -> Any:
        def answer() -> Any:
            decisions = []
            for each in self.agent.ask(n, available):
                self.arms[each.id] = each.arm
                said = {"id": f"{self.uid}-{each.id}", "arm": each.arm, "name": each.name}
                decisions.append({**said, "reason": each.reason, "propensity": 1.0})
            return {"decisions": decisions, "repeated": False}

        said = self.once(key, ("ask", n, defer), answer)
        allowed = None if available is None else set(map(DRINKS.arm_index, available))
        if allowed is not None and any(each["arm"] not in allowed for each in said["decisions"]):
            raise RefusedError(409, f"The arm of the key {key!r} is not available now.")
        return said

    def numbers(self, id: str | None = None, key: str | None = None) -> list[int]:
        """The decisions that a request names."""
        if (id is None) == (key is None):
            raise RefusedError(422, "Name a decision by its id or by its key.")
        if key is not None:
            if key not in self.answers or "decisions" not in self.answers[key][1]:
                raise RefusedError(404, f"No decision was asked for with the key {key!r}.")
            return [int(each["id"].split("-")[1]) for each in self.answers[key][1]["decisions"]]
        uid, _, number = str(id).partition("-")
        if uid != self.uid or not number.isdecimal() or int(number) not in self.arms:
            raise RefusedError(404, f"The decision {id!r} is unknown.")
        return [int(number)]

    def tell(self, rewards: list[dict[str, Any]]) -> Any:
        new: dict[int, float] = {}
        outcomes = []
        for item in rewards:
            reward = item["reward"]
            number, *others = self.numbers(item.get("id"), item.get("key"))
            if others:
                raise RefusedError(422, "The key names several decisions.")
            if not 0.0 <= reward <= 1.0:
                raise RefusedError(422, f"reward={reward}: expected a number in [0, 1]")
            before = self.outcomes.get(number, new.get(number))
            if before == CANCELLED:
                raise RefusedError(409, f"The decision {self.uid}-{number} was cancelled.")
            if before is not None and before != reward:
                text = f"The reward {before} of the decision {self.uid}-{number} stands."
                raise RefusedError(409, text, recorded=before)
            new.setdefault(number, reward)
            status = "recorded" if before is None else "duplicate"
            outcomes.append({"id": f"{self.uid}-{number}", "status": status})
        for number, reward in new.items():
            if number not in self.outcomes:
                self.agent.tell(number, reward)
                self.outcomes[number] = reward
                self.seq += 1
        return {"outcomes": outcomes}

    def cancel(self, id: Any = None, key: Any = None) -> Any:
        numbers = self.numbers(id, key)
        if any(isinstance(self.outcomes.get(number), float) for number in numbers):
            raise RefusedError(409, "The decision has a reward.")
        fresh = [number for number in numbers if number not in self.outcomes]
        for number in fresh:
            self.agent.cancel(number)
            self.outcomes[number] = CANCELLED
            self.seq += 1
        return {"changed": bool(fresh), "seq": self.seq}

    def activate(self, id: Any = None, key: Any = None) -> Any:
        self.numbers(id, key)
        return {"changed": True, "seq": self.seq}

    def learn(self, pulls: Any, sums: Any, key: str, squares: Any = None) -> Any:
        def answer() -> Any:
            self.agent.learn(pulls, sums, squares)
            return {"changed": True, "seq": self.seq}

        return self.once(key, ("learn", pulls, sums, squares), answer)

    def plan(self, limit: int, key: str | None = None) -> Any:
        def answer() -> Any:
            asked = self.agent.ask(min(limit, int(self.agent.plan.sum())))
            batch = f"{self.uid}-b{len(self.batches)}"
            self.batches[batch] = [each.id for each in asked]
            self.arms.update((each.id, each.arm) for each in asked)
            counts = np.bincount([each.arm for each in asked], minlength=len(self.agent.pulls))
            return {"id": batch, "pulls": counts.tolist(), "repeated": False}

        return self.once(key, ("plan", limit), answer)

    def batch(self, batch: str, pulls: Any, sums: Any, key: str, squares: Any = None) -> Any:
        if batch not in self.batches:
            raise RefusedError(404, f"The batch {batch!r} is unknown.")

        def answer() -> Any:
            for arm, (count, total) in enumerate(zip(pulls, sums, strict=True)):
                left = [each for each in self.batches[batch] if self.arms[each] == arm]
                if count > len(left):
                    raise RefusedError(
                        409, f"pulls[{arm}]={count}: the batch waits for {len(left)}"
                    )
                for number in left[:count]:
                    self.agent.tell(number, total / count)
                    self.batches[batch].remove(number)
            return {"changed": True, "seq": self.seq}

        return self.once(key, ("batch", batch, pulls, sums, squares), answer)

    def park(self, arm: int | str, parked: bool = True) -> Any:
        others = set(range(len(self.agent.pulls))) - {*self.agent.parked, DRINKS.arm_index(arm)}
        if parked and not others:
            raise RefusedError(409, f"The arm {arm!r} is the last one that is not parked.")
        (self.agent.park if parked else self.agent.unpark)(arm)
        self.seq += 1
        return {"changed": True, "seq": self.seq}

    def state(self) -> Any:
        agent = self.agent
        nothing = ("oldest_pending_seconds", "window_seconds", "missing", "regret", "control")
        likely = [{"name": name, "weight": weight} for name, weight in agent.likely_models.items()]
        fitting = agent.fitting_models
        return {
            **dict.fromkeys([*nothing, "horizon"]),
            **{"name": self.name, "version": 1, "uid": self.uid, "seq": self.seq},
            **{"state": "running", "policy": repr(agent.policy), "order": "plan"},
            **{"asked": len(self.arms), "rewards": int(agent.pulls.sum()), "held": 0},
            **{"pending": len(agent.pending), "empty": agent.empty, "extra": agent.extra_decisions},
            "arms": [self.arm(index) for index in range(len(agent.pulls))],
            "models": {
                **{"total": DRINKS.n_models, "fitting": len(fitting), "names": list(fitting)},
                "likely": likely,
            },
            "misfit": self.misfit(),
            **{"alarms": [], "fallback": "none", "fallen_back": False, "history": []},
            **{"versions": [], "reward_range": [0.0, 1.0], "of_a_newer_service": 7},
        }

    def arm(self, index: int) -> Any:
        agent = self.agent
        active = index in agent.active_arms
        mean, (low, high) = float(agent.means[index]), agent.intervals[index].tolist()
        status = "parked" if index in agent.parked else "active" if active else "dropped"
        wanted = int(agent.plan[index])
        return {
            **{"index": index, "name": DRINKS.arm_names[index], "pulls": int(agent.pulls[index])},
            **{"mean": None if math.isnan(mean) else mean, "low": low, "high": high},
            **{"status": status, "dropped_after": None if active else 0},
            **{"planned": wanted, "wanted": wanted, "out": 0},
        }

    def misfit(self) -> Any:
        misfit = self.agent.misfit
        assert misfit is not None
        return {
            **{"e_value": misfit.e_value, "log10_e": misfit.log_e_value / math.log(10)},
            **{"p_value": misfit.p_value, "level": 0.0001, "refuted": misfit.refuted(0.0001)},
            "arms": list(misfit.arms),
        }


class Handler(BaseHTTPRequestHandler):
    """Reads a request, calls the method of its name, writes the answer."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body go together, or the client waits for the second
    server: NaiveServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            try:
                self.check_token()
                said = self.result(json.loads(text) if text else None)
            except RefusedError as refused:
                self.write(refused.status, refused.problem, "application/problem+json")
                return
            except (sb.StructuredBanditsError, TypeError, KeyError) as error:
                problem = RefusedError(422, str(error)).problem
                self.write(422, problem, "application/problem+json")
                return
        if said is None:
            self.write(304, None)
        else:
            self.write(200, said)

    def check_token(self) -> None:
        wanted = self.server.token
        given = self.headers.get("Authorization", "")
        if wanted is not None and given != f"Bearer {wanted}":
            raise RefusedError(401, "The token is unknown.")

    def result(self, content: Any) -> Any:
        """What to answer; None if the client has it already."""
        prefix = self.server.prefix + "/v1/experiments/"
        if not self.path.startswith(prefix):
            raise RefusedError(404, f"There is nothing at {self.path}.")
        name, *rest = map(unquote, self.path.removeprefix(prefix).split("/"))
        experiment = self.server.experiments.get(name)
        if experiment is None:
            raise RefusedError(404, f"There is no experiment {name!r}.")
        if not rest:
            self.tag = f'"{experiment.uid}-{experiment.seq}"'
            return None if self.headers.get("If-None-Match") == self.tag else experiment.state()
        if rest == ["tell"]:
            return experiment.tell(content if isinstance(content, list) else [content])
        if rest[0] == "batches":
            return experiment.batch(rest[1], **content)
        if rest[0] not in ("ask", "cancel", "activate", "learn", "plan", "park"):
            raise RefusedError(404, f"There is nothing at {self.path}.")
        return getattr(experiment, rest[0])(**content)

    def write(self, status: int, content: Any, kind: str = "application/json") -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if hasattr(self, "tag"):
            self.send_header("ETag", self.tag)
            del self.tag
        self.end_headers()
        self.wfile.write(body)


class QuietServer(ThreadingHTTPServer):
    """Serves many connections at the same time, and says nothing of clients that go away."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class NaiveServer(QuietServer):
    """Serves experiments; one request at a time looks at them."""

    def __init__(self, token: str | None, prefix: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.token, self.prefix, self.lock = token, prefix, RLock()
        self.experiments: dict[str, Experiment] = {}

    def create(self, policy: str) -> str:
        name = f"drinks {len(self.experiments)}/ä"  # it has to be quoted in a path
        self.experiments[name] = Experiment(name, policy_named(policy))
        return name


@contextmanager
def naive_service(token: str | None = None, prefix: str = "") -> Iterator[Running]:
    """Run the service."""
    with serving(NaiveServer(token, prefix)) as url:
        yield url


@contextmanager
def serving(server: Any) -> Iterator[Running]:
    """Run a server in a thread of its own."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}{getattr(server, 'prefix', '')}"
        yield Running(url, getattr(server, "create", str))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
