"""The commands of the service: serve, demo, explore, token, verify, backup, restore, export, archive."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from structured_bandits.base.text_tables import table_text
from structured_bandits.cli.complaints import Complaint
from structured_bandits.service.ui.explorer.command import explore

if TYPE_CHECKING:
    from structured_bandits.service.running.registry import Registry

STORE = click.option(
    "--store",
    default="bandits.db",
    show_default=True,
    help="Where everything is kept: an SQLite file, which is made if there is none, or the address of a "
    "PostgreSQL database (postgresql://…).",
)
TOKENS_ELSEWHERE = "While a server runs, use its page /tokens."
SPEC = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("files", nargs=-1, type=SPEC)
@STORE
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--allow-host", multiple=True, help="A name under which the server is reached; may be repeated."
)
@click.option(
    "--trusted-proxy",
    multiple=True,
    help="The address or network of a proxy whose forwarded headers are believed; may be repeated.",
)
@click.option(
    "--rate", type=click.FloatRange(min=0.1), help="Requests a second of each token or address."
)
@click.option(
    "--update",
    is_flag=True,
    help="If a file differs from the store, make a new version that begins with all rewards.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="With --update: the new version begins without the rewards of the old one.",
)
@click.option(
    "--standby", is_flag=True, help="If another process owns the store, wait for its end."
)
@click.option("--log-requests", is_flag=True, help="Log each request.")
def serve(
    files: tuple[Path, ...],
    store: str,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    trusted_proxy: tuple[str, ...],
    rate: float | None,
    update: bool,
    fresh: bool,
    standby: bool,
    log_requests: bool,
) -> None:
    """Serve decisions over HTTP, with a log that loses nothing.

    FILES are experiments: TOML files with a structure and a policy, named after the files. Those that
    are in the store already go on where they were. The dashboard is at the address that is printed.
    """
    from structured_bandits.service.experiment.spec import checked_name, read_spec
    from structured_bandits.service.http.trusted_hosts import check_exposure
    from structured_bandits.service.json_logs import set_up_logs
    from structured_bandits.service.server import (
        ListenAddress,
        begin_experiments,
        open_store,
        run,
        take_over,
    )

    set_up_logs()
    specs = [(checked_name(file.stem), read_spec(file)) for file in files]
    address = ListenAddress(host, port, allow_host, trusted_proxy, rate, log_requests)
    with _unless_owned("Say --standby to wait for its end."):
        registry = take_over(open_store(store), standby, lambda text: click.echo(text, err=True))
        try:
            check_exposure(host, allow_host, not registry.tokens.open)  # before anything is created
            for line in begin_experiments(registry, specs, update, fresh):
                click.echo(line)
        except BaseException:
            registry.close()
            raise
        code = run(registry, address, lambda url: click.echo(f"serving on {url}"))
    sys.exit(code)


@contextmanager
def _unless_owned(otherwise: str) -> Iterator[None]:
    """If another process owns the store, say what to do then, with an exit code of its own."""
    from structured_bandits.service.server import OWNED_ELSEWHERE
    from structured_bandits.service.store_protocol import OwnedElsewhereError

    try:
        yield
    except OwnedElsewhereError as error:
        click.echo(f"Error: {error}. {otherwise}", err=True)
        sys.exit(OWNED_ELSEWHERE)


@contextmanager
def _owned(store: str, otherwise: str) -> Iterator[Registry]:
    """Own a store for a moment, where no server does; `otherwise` is what to do if one does."""
    from structured_bandits.service.running.registry import Registry
    from structured_bandits.service.server import open_store

    with _unless_owned(otherwise):
        registry = Registry(open_store(store))
        registry.open()
        try:
            yield registry
        finally:
            registry.close()


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of a service.

    A token lets a program or a person in: role "read" may look, "ask" may also ask and tell, "admin" may
    do everything. While a server runs, it owns the store: then use its page /tokens, or POST /v1/tokens.
    """


@token.command("add")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(["read", "ask", "admin"]), default="ask", show_default=True
)
@click.option("--experiment", multiple=True, help="One that it is for; without any, for all.")
@STORE
def add_token(name: str, role: str, experiment: tuple[str, ...], store: str) -> None:
    """Make a token for NAME and print it, this once: it is kept nowhere."""
    with _owned(store, TOKENS_ELSEWHERE) as registry:
        for each in experiment:
            if each not in registry.experiments:
                click.echo(f"note: there is no experiment {each!r} yet", err=True)
        text, _ = registry.add_token(name, role, experiment or None)
        registry.writer.write_now()
    click.echo(text)


@token.command("list")
@STORE
def list_tokens(store: str) -> None:
    """List all tokens, without their secrets."""
    from structured_bandits.service.server import open_store

    rows = open_store(store, readonly=True).tokens()
    cells = [
        [row.id, row.name, row.role, _for_which(row.experiments), "no" if row.revoked_at else "yes"]
        for row in rows
    ]
    header = ["id", "name", "role", "experiments", "valid"]
    click.echo(table_text([header, *cells]) if cells else "There are no tokens.")


def _for_which(experiments: str) -> str:
    names = json.loads(experiments)
    return "all" if names is None else ", ".join(names)


@token.command("revoke")
@click.argument("identity", metavar="ID")
@STORE
def revoke_token(identity: str, store: str) -> None:
    """Revoke the token with this ID."""
    with _owned(store, TOKENS_ELSEWHERE) as registry:
        changed = registry.revoke_token(identity)
        registry.writer.write_now()
    if not changed:
        raise Complaint(f"there is no valid token {identity!r}; `token list` shows all")
    click.echo(f"revoked: {identity}")


@click.command()
@click.argument("names", nargs=-1)
@STORE
@click.option("--decisions", is_flag=True, help="Also derive every logged decision again.")
def verify(names: tuple[str, ...], store: str, decisions: bool) -> None:
    """Check a store, running or not: that nothing in it was changed, and that all adds up.

    The database is read as a whole. NAMES are the experiments whose logs are read; without any, all are.
    The exit code is 0 if all is well, 1 if
    something differs, and 2 if not everything can be checked here, because other code has written it.
    """
    from structured_bandits.service.server import open_store
    from structured_bandits.service.store.checking import check_store, exit_code
    from structured_bandits.service.store_protocol import DamagedError

    verdicts = []
    try:
        for checked in check_store(open_store(store, readonly=True), names, decisions):
            click.echo(checked.text(decisions))
            verdicts.append(checked.verdict)
    except DamagedError as error:
        click.echo(str(error))
        sys.exit(1)
    if not verdicts:
        click.echo("The store has no experiments.")
    sys.exit(exit_code(verdicts))


@click.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@STORE
def backup(target: Path, store: str) -> None:
    """Copy the store, in use or not, into the new file TARGET, and check the copy."""
    from structured_bandits.service.server import open_store
    from structured_bandits.service.store.backups import back_up

    rows = back_up(open_store(store, readonly=True), target)
    click.echo(f"{target}: {rows:,} rows, checked")


@click.command()
@click.argument("source", type=SPEC)
@STORE
def restore(source: Path, store: str) -> None:
    """Make a store of the backup SOURCE.

    Each experiment begins a new version with all rewards of the backup, so that decisions which were
    handed out after it are never confused with new ones.
    """
    from structured_bandits.service.running.lifecycle import bring_back

    for line in bring_back(source, Path(store)):
        click.echo(line)


@click.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@STORE
def export(target: Path, names: tuple[str, ...], store: str) -> None:
    """Write a row for each decision into TARGET (.ndjson or .parquet).

    NAMES are experiments; without any, the decisions of all are written.
    """
    from structured_bandits.service.server import open_store
    from structured_bandits.service.store.export import export as write

    count = write(open_store(store, readonly=True), names, target)
    click.echo(f"{target}: {count:,} decisions")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@STORE
def archive(folder: Path, store: str) -> None:
    """Move the logs of closed versions out of the store, into Parquet files in FOLDER."""
    from structured_bandits.service.store.export import archive as move

    with _owned(store, "End it first, and start it again afterwards.") as registry:
        made = move(registry.store, folder)
    for path in made:
        click.echo(f"archived: {path}")
    if not made:
        click.echo("No version is closed: there is nothing to archive.")


@click.command()
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535))
@click.option("--no-browser", is_flag=True, help="Do not open the dashboard in a browser.")
def demo(port: int, no_browser: bool) -> None:
    """Show the service with simulated customers; everything is forgotten at the end."""
    import tempfile
    import threading
    import webbrowser

    from structured_bandits.service.demo import SCENES, customers_come, introduction
    from structured_bandits.service.json_logs import set_up_logs
    from structured_bandits.service.server import (
        ListenAddress,
        begin_experiments,
        open_store,
        run,
        take_over,
    )

    set_up_logs(level=logging.WARNING)
    stop = threading.Event()

    def begin(url: str) -> None:
        introduction(url, click.echo)
        customers_come(url, stop)
        if not no_browser:
            webbrowser.open(url)

    try:
        temporary = tempfile.TemporaryDirectory(prefix="structured-bandits-demo-")
    except OSError as error:
        hint = "make room there, or name a folder in the environment variable TMPDIR"
        raise Complaint(f"{error.strerror}; {hint}") from None
    with temporary as folder:
        registry = take_over(open_store(f"{folder}/demo.db"), False, click.echo)
        begin_experiments(registry, [(scene.name, scene.spec) for scene in SCENES], update=False)
        try:
            code = run(registry, ListenAddress(port=port), begin)
        finally:
            stop.set()
    sys.exit(code)


COMMANDS = (serve, demo, explore, token, verify, backup, restore, export, archive)
