"""Clients that ask and tell as fast as they can, with everything that a client may do.

What counts once is sent up to three times, by any of the clients, at once or much later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread
from typing import Any

from support.ledger import Ledger, Sent, agree, differences, read_rows, shown, totals
from support.service_process import SHOP, Client, LostError, ServiceProcess

MANY = 3000  # decisions or rewards in one request
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
WEIGHTS = {
    "ask": 8,
    "ask_with_key": 6,
    "ask_deferred": 1,
    "tell": 14,
    "cancel": 2,
    "learn": 1,
    "batch": 1,
    "new_version": 0.2,
    "park": 0.2,
    "send_again": 8,
}


@dataclass(frozen=True)
class Experiment:
    """An experiment under load: its name, what it is, and what its clients remember."""

    name: str
    weights: dict[str, float]
    spec: dict[str, Any]
    ledger: Ledger = field(default_factory=Ledger)
    later: list[Sent] = field(default_factory=list)  # what is to be sent, or sent again

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/v1/experiments/{self.name}"

    def create(self, service: ServiceProcess) -> None:
        """Begin it."""
        with service.client() as client:
            answer = client.call("PUT", self.path, {"spec": self.spec})
        assert answer.status in (200, 201), answer

    def problems(self, service: ServiceProcess) -> list[str]:
        """Return what is wrong with the log, or with what the running service shows of it."""
        rows = read_rows(service.store, self.name)
        while True:  # windows close by themselves: look until nothing has happened meanwhile
            with service.client() as client:
                state = client.get(self.path)
            before, rows = rows, read_rows(service.store, self.name)
            if len(before) == len(rows):
                break
        found = list(differences(self.ledger, rows))
        told = totals(rows, arms=3, windows="reward" in self.spec)
        if state.status != 200 or not agree(told, shown(state.content)):
            found.append(f"sums: the log leads to {told}, shown is {state.content}")
        return found


class Worker:
    """One client with one connection; `open` are decisions that it may tell or cancel."""

    def __init__(self, experiment: Experiment, random: Random, name: str) -> None:
        self.experiment = experiment
        self.random = random
        self.name = name
        self.open: list[str] = []
        self._numbers = 0

    def run(self, client: Client, stop: Event) -> None:
        """Send requests until `stop`, or until the service does not answer."""
        verbs, weights = zip(*self.experiment.weights.items(), strict=True)
        try:
            while not stop.is_set():
                verb = self.random.choices(verbs, weights)[0]
                getattr(self, verb)(client)
        except LostError:
            pass  # the service is gone, and so is the answer
        finally:
            client.hang_up()

    def deliver(self, client: Client, request: Sent) -> Any:
        """Send a request; return its answer if it is acknowledged for the first time."""
        answer = client.post(self.experiment.path + request.path, request.content)
        if not self.experiment.ledger.note(request, answer):
            return None
        if request.verb == "ask":
            self.open += [each["id"] for each in answer.content["decisions"]]
        return answer.content

    def _send(self, client: Client, verb: str, path: str, content: Any) -> Any:
        """Send a new request; some are sent again later, and some are sent later only."""
        request = self.experiment.ledger.send(verb, path, content)
        if request.counts_once:
            self.experiment.later.extend([request] * self.random.choice((0, 0, 1, 2)))
            if verb in ("tell", "cancel", "learn") and self.random.random() < 0.1:
                self.experiment.later.append(request)
                return None
        return self.deliver(client, request)

    def send_again(self, client: Client) -> None:
        """Send what was put off: any of it, of any client."""
        later = self.experiment.later
        try:
            request = later.pop(self.random.randrange(len(later)))
        except (IndexError, ValueError):  # there is nothing, or another client was quicker
            return
        self.deliver(client, request)

    def _key(self) -> str:
        self._numbers += 1
        return f"{self.name}-{self._numbers}"

    def _take(self, most: int) -> list[str]:
        taken, self.open = self.open[:most], self.open[most:]
        return taken

    def ask(self, client: Client) -> None:
        """Ask for a few decisions."""
        self._send(client, "ask", "/ask", {"n": self.random.choice((1, 1, 3))})

    def ask_with_key(self, client: Client) -> None:
        """Ask for one decision under a key."""
        self._send(client, "ask", "/ask", {"n": 1, "key": self._key()})

    def ask_deferred(self, client: Client) -> None:
        """Ask for one decision, and say that it was shown."""
        content = {"n": 1, "key": self._key(), "defer": True}
        said = self._send(client, "ask", "/ask", content)
        if said is not None:
            self._send(client, "activate", "/activate", {"id": said["decisions"][0]["id"]})

    def ask_many(self, client: Client) -> None:
        """Ask for as many decisions as fit well into one request."""
        self._send(client, "ask", "/ask", {"n": MANY})

    def tell(self, client: Client) -> None:
        """Tell some rewards in one list: decisions of one version only."""
        self._tell(client, self.random.choice((1, 1, 1, 4)))

    def tell_many(self, client: Client) -> None:
        """Tell very many rewards in one list: each is a row of the log."""
        self._tell(client, MANY)

    def _tell(self, client: Client, most: int) -> None:
        taken = self._take(most)
        if not taken:
            time.sleep(0.001)  # there is nothing to tell; let other clients do something
        for uid in sorted({decision.partition("-")[0] for decision in taken}):
            rewards = [
                {"id": decision, "reward": self.random.choice(QUARTERS)}
                for decision in taken
                if decision.startswith(uid)
            ]
            self._send(client, "tell", "/tell", rewards)

    def cancel(self, client: Client) -> None:
        """Take a decision back."""
        for decision in self._take(1):
            self._send(client, "cancel", "/cancel", {"id": decision})

    def learn(self, client: Client) -> None:
        """Report results from elsewhere."""
        pulls = [self.random.randrange(3) for _ in range(3)]
        content = {"pulls": pulls, "sums": [each / 2 for each in pulls], "key": self._key()}
        self._send(client, "learn", "/learn", content)

    def batch(self, client: Client) -> None:
        """Take a small plan and report its results."""
        said = self._send(client, "plan", "/plan", {"limit": 4, "key": self._key()})
        if said is not None:
            sums = [each / 4 for each in said["pulls"]]
            content = {"pulls": said["pulls"], "sums": sums, "key": self._key()}
            self._send(client, "results", f"/batches/{said['id']}", content)

    def new_version(self, client: Client) -> None:
        """Begin a new version that carries all rewards over."""
        content = {"spec": self.experiment.spec, "key": self._key()}
        self._send(client, "versions", "/versions", content)

    def park(self, client: Client) -> None:
        """Leave the first arm out of plans, or use it again."""
        content = {"arm": 0, "parked": self.random.random() < 0.5}
        self._send(client, "park", "/park", content)

    def catch_up(self, client: Client) -> None:
        """Send what has no answer, one to three times and in any order."""
        waiting = self.experiment.ledger.unanswered()
        copies = [each for each in waiting for _ in range(self.random.choice((1, 1, 2, 3)))]
        self.random.shuffle(copies)
        for request in copies:
            self.deliver(client, request)


def run_all(workers: list[Worker], service: ServiceProcess, wait: Callable[[], None]) -> None:
    """Let all workers send for as long as `wait` takes."""
    stop = Event()
    threads = [
        Thread(target=worker.run, args=(service.client(), stop), daemon=True) for worker in workers
    ]
    for thread in threads:
        thread.start()
    try:
        wait()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def new_load(
    name: str,
    seed: int,
    clients: int,
    weights: dict[str, float] = WEIGHTS,
    spec: dict[str, Any] = SHOP,
) -> tuple[Experiment, list[Worker]]:
    """Return an experiment, and clients for it."""
    experiment = Experiment(name, weights, spec)
    workers = [
        Worker(experiment, Random(f"{seed} {place}"), f"{name}-{place}") for place in range(clients)
    ]
    return experiment, workers
