"""The commands of the service: serve, token, verify, backup, restore, export, archive, demo."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from structured_bandits.errors import StructuredBanditsError

STORE = click.option(
    "--store",
    default="bandits.db",
    show_default=True,
    help="Where everything is kept: an SQLite file, which is made if there is none, or the address of a "
    "PostgreSQL database (postgresql://…).",
)
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
    standby: bool,
    log_requests: bool,
) -> None:
    """Serve decisions over HTTP, with a log that loses nothing.

    FILES are experiments: TOML files with a structure and a policy, named after the files. Those that
    are in the store already go on where they were. The dashboard is at the address that is printed.
    """
    from structured_bandits.service.logs import set_up_logs
    from structured_bandits.service.server import (
        OWNED_ELSEWHERE,
        Address,
        begin_experiments,
        open_store,
        run,
        take_over,
    )
    from structured_bandits.service.spec import checked_name, read_spec
    from structured_bandits.service.store import OwnedElsewhereError

    set_up_logs()
    try:
        specs = [(checked_name(file.stem), read_spec(file)) for file in files]
        owner = take_over(open_store(store), standby, lambda text: click.echo(text, err=True))
        try:
            for line in begin_experiments(owner, specs, update):
                click.echo(line)
        except BaseException:
            owner.close()
            raise
        address = Address(host, port, allow_host, trusted_proxy, rate, log_requests)
        code = run(owner, address, lambda url: click.echo(f"serving on {url}"))
    except OwnedElsewhereError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(OWNED_ELSEWHERE)
    except StructuredBanditsError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    sys.exit(code)


COMMANDS = (serve,)
