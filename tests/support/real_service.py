"""The decision service itself, in a thread, with its log in a temporary folder."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn
from support.naive_service import DRINKS, Running, naive_service

from structured_bandits.service.http.api import application
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.server import ListenAddress, listen
from structured_bandits.service.store.sqlite import SqliteStore

POLICIES: dict[str, dict[str, Any]] = {
    "SUCB": {"kind": "SUCB", "alpha": 0.5},
    "SAE": {"kind": "SAE"},
}


@contextmanager
def real_service() -> Iterator[Running]:
    """Run the service."""
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(SqliteStore(Path(folder) / "bandits.db"))
        registry.open()
        app = application(registry, Hosts("127.0.0.1"))
        config = uvicorn.Config(app, log_config=None, lifespan="off", access_log=False)
        server = uvicorn.Server(config)
        listening = listen(ListenAddress(port=0))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        port, numbers = listening.getsockname()[1], count()
        try:
            yield Running(
                f"http://127.0.0.1:{port}",
                lambda policy: create(port, f"drinks-{next(numbers)}", policy),
            )
        finally:
            server.should_exit = True
            thread.join()
            listening.close()
            registry.close()


#: Services that keep the same contract.
SERVICES = {"naive": naive_service, "real": real_service}


def create(port: int, name: str, policy: str) -> str:
    """Begin an experiment with the table DRINKS."""
    means = [list(map(float, DRINKS.means(model))) for model in range(DRINKS.n_models)]
    spec = {
        "structure": {"kind": "finite", "means": means, "arms": list(DRINKS.arm_names)},
        "policy": POLICIES[policy],
        "horizon": 10_000,
        "alarm": {"fallback": "none"},
    }
    connection = HTTPConnection("127.0.0.1", port, timeout=60.0)
    try:
        headers = {"Content-Type": "application/json"}
        body = json.dumps({"spec": spec})
        connection.request("PUT", f"/v1/experiments/{name}", body, headers)
        response = connection.getresponse()
        said = response.read()
    finally:
        connection.close()
    assert response.status == 201, said
    return name
