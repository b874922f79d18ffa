"""Clients that ask and tell as fast as they can, with everything that a client may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from threading import Event, Thread
from typing import Any

from support.ledger import Ledger, Sent, agree, differences, read_rows, shown, totals
from support.service_process import SHOP, Client, LostError, ServiceProcess

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
WEIGHTS = {
    "ask": 8,
    "ask_with_key": 6,
    "tell": 14,
    "cancel": 2,
    "learn": 1,
    "batch": 1,
    "new_version": 0.2,
}


@dataclass(frozen=True)
class Experiment:
    """An experiment under load: its name, and what its clients remember."""

    name: str
    ledger: Ledger
    weights: dict[str, float]

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/v1/experiments/{self.name}"

    def create(self, service: ServiceProcess, spec: dict[str, Any] = SHOP) -> None:
        """Begin it."""
        answer = service.client().call("PUT", self.path, {"spec": spec})
        assert answer.status in (200, 201), answer

    def problems(self, service: ServiceProcess) -> list[str]:
        """Return what is wrong with the log, or with what the running service shows of it."""
        state = service.client().get(self.path)
        rows = read_rows(service.store, self.name)
        found = list(differences(self.ledger, rows))
        told = totals(rows, arms=3)
        if state.status != 200 or not agree(told, shown(state.content)):
            found.append(f"sums: the log leads to {told}, shown is {state.content}")
        return found


class Worker:
    """One client with one connection; `open` are decisions that it may tell or cancel."""

    def __init__(self, experiment: Experiment, random: Random, name: str) -> None:
        self.experiment = experiment
        self.random = random
        self.name = name
        self.open: list[tuple[str, int]] = []
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
        """Send a request; return its answer if it was acknowledged."""
        answer = client.post(self.experiment.path + request.path, request.content)
        self.experiment.ledger.note(request, answer)
        return answer.content if answer.status in (200, 201) else None

    def _send(self, client: Client, verb: str, path: str, content: Any) -> Any:
        return self.deliver(client, self.experiment.ledger.send(verb, path, content))

    def _key(self) -> str:
        self._numbers += 1
        return f"{self.name}-{self._numbers}"

    def _take(self, most: int) -> list[tuple[str, int]]:
        taken, self.open = self.open[:most], self.open[most:]
        return taken

    def ask(self, client: Client) -> None:
        """Ask for a few decisions."""
        said = self._send(client, "ask", "/ask", {"n": self.random.choice((1, 1, 3))})
        if said is not None:
            self.open += [(each["id"], each["arm"]) for each in said["decisions"]]

    def ask_with_key(self, client: Client) -> None:
        """Ask for one decision under a key."""
        said = self._send(client, "ask", "/ask", {"n": 1, "key": self._key()})
        if said is not None:
            self.open += [(each["id"], each["arm"]) for each in said["decisions"]]

    def tell(self, client: Client) -> None:
        """Tell some rewards in one list: decisions of one version only."""
        taken = self._take(self.random.choice((1, 1, 1, 4)))
        for uid in {decision.partition("-")[0] for decision, _ in taken}:
            rewards = [
                {"id": decision, "reward": self.random.choice(QUARTERS)}
                for decision, _ in taken
                if decision.startswith(uid)
            ]
            self._send(client, "tell", "/tell", rewards)

    def cancel(self, client: Client) -> None:
        """Take a decision back."""
        for decision, _ in self._take(1):
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
        self._send(client, "versions", "/versions", {"spec": SHOP, "key": self._key()})

    def catch_up(self, client: Client) -> None:
        """Send again, once, what this client has no answer for."""
        for request in self.experiment.ledger.unanswered():
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
    name: str, seed: int, clients: int, weights: dict[str, float] = WEIGHTS
) -> tuple[Experiment, list[Worker]]:
    """Return an experiment, and clients for it."""
    experiment = Experiment(name, Ledger(), weights)
    workers = [
        Worker(experiment, Random(f"{seed} {place}"), f"{name}-{place}") for place in range(clients)
    ]
    return experiment, workers
