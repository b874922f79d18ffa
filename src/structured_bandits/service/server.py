"""Running the service: open the store, listen, and leave it in order at the end."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from structured_bandits.base.extras import needs
from structured_bandits.errors import MissingExtraError, ParameterError
from structured_bandits.service.http.api import application, require
from structured_bandits.service.http.slow_clients import SlowClientProtocol
from structured_bandits.service.http.trusted_hosts import Hosts, Proxies, check_exposure
from structured_bandits.service.json_logs import log
from structured_bandits.service.refusals import Conflict
from structured_bandits.service.running.chores import do_chores
from structured_bandits.service.running.lifecycle import create, new_version
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.running_experiment import RunningExperiment
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import OwnedElsewhereError, Store
from structured_bandits.service.ui.explorer.routes import Frame, explorer_routes
from structured_bandits.service.ui.pages.registry_for_pages import RegistryForPages
from structured_bandits.service.ui.pages.routes import bar, page_routes, refusal
from structured_bandits.service.wire import Carry, NewVersion
from structured_bandits.structures.base import Structure

with needs("The service", extra="serve"):
    import uvicorn
    from starlette.requests import Request

PORT = 8321
STORE = "bandits.db"
OWNED_ELSEWHERE = 3  # exit code
BACKLOG = 2048


@dataclass(frozen=True)
class ListenAddress:
    """Where to listen, and for whom."""

    host: str = "127.0.0.1"
    port: int = PORT
    allow_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    rate: float | None = None
    log_requests: bool = False


def open_store(where: str, readonly: bool = False) -> Store:
    """Return the store with a name: a file, or the address of a PostgreSQL database."""
    if where.startswith(("postgresql://", "postgres://")):
        from structured_bandits.service.store.postgres import PostgresStore

        return PostgresStore(where, readonly)
    return SqliteStore(Path(where), readonly)


def begin_experiments(
    registry: Registry,
    specs: Sequence[tuple[str, dict[str, Any]]],
    update: bool,
    fresh: bool = False,
) -> list[str]:
    """Create the experiments of files, or with `update` new versions; return what was done.

    With `fresh` new versions begin without the rewards of the old ones.
    """
    made = set()
    for name, plain in specs:
        try:
            created = create(registry, name, plain)
        except Conflict:
            if not update:
                raise ParameterError(
                    f"{name}: the store has this experiment with another specification. Say --update to "
                    "make a new version that begins with all its rewards, or rename the file."
                ) from None
            carry = None if fresh else Carry()
            created = new_version(registry.find(name), NewVersion(spec=plain, carry=carry))
        if created.created:
            made.add(name)
    registry.writer.write_now()
    return [_line(each, each.name in made) for each in registry.experiments.values()]


def _line(experiment: RunningExperiment, made: bool) -> str:
    """Return how an experiment begins, and whether it does so in trouble."""
    state = experiment.state
    begins = "created" if made else "goes on"
    line = f"{experiment.name}: version {experiment.current.row.number} {begins}"
    if made and state.fallen_at is not None:
        line += (
            f", but the {state.agent.rewards:,} rewards that it begins with refute its structure"
        )
    return line


def listen(address: ListenAddress) -> socket.socket:
    """Return a socket that listens; raises ParameterError if that is not possible."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sends small answers at once only on sockets that say they are TCP; others cost 40 ms each
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address.host, address.port))
    except (OSError, OverflowError) as error:
        found.close()
        raise ParameterError(
            f"cannot listen on {address.host}, port {address.port}: {error}; choose another with --port"
        ) from None
    found.listen(BACKLOG)
    return found


def run(registry: Registry, address: ListenAddress, ready: Callable[[str], None]) -> int:
    """Serve until a signal comes; return the exit code.

    `registry` is open. `ready` is called with the address once requests are answered.
    """
    check_exposure(address.host, address.allow_hosts, not registry.tokens.open)
    found = listen(address)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(registry, address, found, ready))
    finally:
        found.close()
        registry.close()
        log("The service has ended.")


def _loop_factory() -> Any:
    """Return what makes event loops: uvloop's, or Python's own where there is none."""
    with suppress(MissingExtraError), needs("A faster event loop", extra="serve"):
        import uvloop

        return uvloop.new_event_loop
    return None


async def _serve(
    registry: Registry, address: ListenAddress, found: socket.socket, ready: Callable[[str], None]
) -> int:
    hosts = Hosts(address.host, address.allow_hosts)
    app = application(
        registry,
        hosts,
        pages=pages_of(registry),
        proxies=Proxies(address.trusted_proxies),
        rate=address.rate,
        log_requests=address.log_requests,
    )
    config = uvicorn.Config(
        app,
        http=SlowClientProtocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=10,
    )
    server = _Server(config)
    port = found.getsockname()[1]
    host = f"[{address.host}]" if ":" in address.host else address.host
    chores = asyncio.create_task(_chores(registry, server))
    telling = asyncio.create_task(_tell_ready(server, ready, f"http://{host}:{port}"))
    began = time.monotonic()
    await server.serve(sockets=[found])
    telling.cancel()
    chores.cancel()
    await asyncio.gather(chores, telling, return_exceptions=True)
    log("No more requests are taken.", seconds=round(time.monotonic() - began, 3))
    return OWNED_ELSEWHERE if registry.lost else 0


class _Server(uvicorn.Server):
    """uvicorn's server, which outlives the signal that ends it: the store is still to be closed."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no more requests; uvicorn would raise the signal again, and so end the process."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def pages_of(registry: Registry) -> list[Any]:
    """Return the routes of the dashboard, and of the explorer of each experiment's structure."""

    def structure_of(request: Request) -> Structure:
        name = request.path_params["name"]
        require(request, "read", name)
        return registry.find(name).state.spec.structure

    def frame_of(request: Request) -> Frame:
        name = request.path_params["name"]
        return Frame(name, bar(request), back=f"/experiments/{name}")

    explored = explorer_routes(structure_of, "/experiments/{name}/explore", frame_of, refusal)
    return [*explored, *page_routes(RegistryForPages(registry))]


async def _tell_ready(server: uvicorn.Server, ready: Callable[[str], None], url: str) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    log("Requests are answered.", url=url)
    ready(url)


async def _chores(registry: Registry, server: uvicorn.Server) -> None:
    """Do what happens by itself; stop the server if another process has taken over."""
    await do_chores(registry, lambda: registry.lost or server.should_exit)
    server.should_exit = True


def take_over(
    store: Store,
    wait: bool,
    say: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> Registry:
    """Return the registry of a store; if another process has it, wait for its end if wanted."""
    told = False
    while True:
        registry = Registry(store)
        try:
            registry.open()
            return registry
        except OwnedElsewhereError as error:
            if not wait:
                raise
            if not told:
                say(f"{error}. Waiting as its standby.")
                told = True
            pause(1.0)
