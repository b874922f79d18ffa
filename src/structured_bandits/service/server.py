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
from structured_bandits.service.api import application, require
from structured_bandits.service.explorer.routes import Frame, explorer_routes
from structured_bandits.service.for_pages import OwnerForPages
from structured_bandits.service.hosts import Hosts, Proxies, check_exposure
from structured_bandits.service.logs import log
from structured_bandits.service.owner import Owner
from structured_bandits.service.pages.routes import bar, page_routes, refusal
from structured_bandits.service.patience import ImpatientProtocol
from structured_bandits.service.problems import Conflict
from structured_bandits.service.served import Served
from structured_bandits.service.sqlite import SqliteStore
from structured_bandits.service.store import OwnedElsewhereError, Store
from structured_bandits.structures.base import Structure
from structured_bandits.wire import Carry, NewVersion

with needs("The service", extra="serve"):
    import uvicorn
    from starlette.requests import Request

PORT = 8321
STORE = "bandits.db"
OWNED_ELSEWHERE = 3  # exit code
BACKLOG = 2048


@dataclass(frozen=True)
class Address:
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
        from structured_bandits.service.postgres import PostgresStore

        return PostgresStore(where, readonly)
    return SqliteStore(Path(where), readonly)


def begin_experiments(
    owner: Owner, specs: Sequence[tuple[str, dict[str, Any]]], update: bool, fresh: bool = False
) -> list[str]:
    """Create the experiments of files, or with `update` new versions; return what was done.

    With `fresh` new versions begin without the rewards of the old ones.
    """
    made = set()
    for name, plain in specs:
        try:
            created = owner.create(name, plain)
        except Conflict:
            if not update:
                raise ParameterError(
                    f"{name}: the store has this experiment with another specification. Say --update to "
                    "make a new version that begins with all its rewards, or rename the file."
                ) from None
            carry = None if fresh else Carry()
            created = owner.new_version(name, NewVersion(spec=plain, carry=carry))
        if created.created:
            made.add(name)
    owner.writer.write_now()
    return [_line(served, served.name in made) for served in owner.served.values()]


def _line(served: Served, made: bool) -> str:
    """Return how an experiment begins, and whether it does so in trouble."""
    life = served.life
    line = f"{served.name}: version {served.current.row.number} {'created' if made else 'goes on'}"
    if made and life.fallen_at is not None:
        line += f", but the {life.agent.rewards:,} rewards that it begins with refute its structure"
    return line


def listen(address: Address) -> socket.socket:
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


def run(owner: Owner, address: Address, ready: Callable[[str], None]) -> int:
    """Serve until a signal comes; return the exit code.

    `owner` is open. `ready` is called with the address once requests are answered.
    """
    check_exposure(address.host, address.allow_hosts, not owner.tokens.open)
    found = listen(address)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(owner, address, found, ready))
    finally:
        found.close()
        owner.close()
        log("The service has ended.")


def _loop_factory() -> Any:
    """Return what makes event loops: uvloop's, or Python's own where there is none."""
    with suppress(MissingExtraError), needs("A faster event loop", extra="serve"):
        import uvloop

        return uvloop.new_event_loop
    return None


async def _serve(
    owner: Owner, address: Address, found: socket.socket, ready: Callable[[str], None]
) -> int:
    hosts = Hosts(address.host, address.allow_hosts)
    app = application(
        owner,
        hosts,
        pages=pages_of(owner),
        proxies=Proxies(address.trusted_proxies),
        rate=address.rate,
        log_requests=address.log_requests,
    )
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
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
    chores = asyncio.create_task(_chores(owner, server))
    telling = asyncio.create_task(_tell_ready(server, ready, f"http://{host}:{port}"))
    began = time.monotonic()
    await server.serve(sockets=[found])
    telling.cancel()
    chores.cancel()
    await asyncio.gather(chores, telling, return_exceptions=True)
    log("No more requests are taken.", seconds=round(time.monotonic() - began, 3))
    return OWNED_ELSEWHERE if owner.lost else 0


class _Server(uvicorn.Server):
    """uvicorn's server, which outlives the signal that ends it: the store is still to be closed."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no more requests; uvicorn would raise the signal again, and so end the process."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def pages_of(owner: Owner) -> list[Any]:
    """Return the routes of the dashboard, and of the explorer of each experiment's structure."""

    def structure_of(request: Request) -> Structure:
        name = request.path_params["name"]
        require(request, "read", name)
        return owner.find(name).life.spec.structure

    def frame_of(request: Request) -> Frame:
        name = request.path_params["name"]
        return Frame(name, bar(request), back=f"/experiments/{name}")

    explored = explorer_routes(structure_of, "/experiments/{name}/explore", frame_of, refusal)
    return [*explored, *page_routes(OwnerForPages(owner))]


async def _tell_ready(server: uvicorn.Server, ready: Callable[[str], None], url: str) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    log("Requests are answered.", url=url)
    ready(url)


async def _chores(owner: Owner, server: uvicorn.Server) -> None:
    """Do what happens by itself; stop the server if another process has taken over."""
    await owner.live(lambda: owner.lost or server.should_exit)
    server.should_exit = True


def take_over(
    store: Store,
    wait: bool,
    say: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> Owner:
    """Return the owner of a store; if another process has it, wait for its end if wanted."""
    told = False
    while True:
        owner = Owner(store)
        try:
            owner.open()
            return owner
        except OwnedElsewhereError as error:
            if not wait:
                raise
            if not told:
                say(f"{error}. Waiting as its standby.")
                told = True
            pause(1.0)
