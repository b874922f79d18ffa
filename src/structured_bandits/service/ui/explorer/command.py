"""The command `structured-bandits explore`: the explorer of a file, on this machine only."""

from __future__ import annotations

import socket
import threading
import warnings
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from structured_bandits.base.extras import needs
from structured_bandits.errors import MeansOutsideUnitIntervalWarning, ParameterError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.files.load import load_structure

HOST = "127.0.0.1"


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--html",
    "out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one file that needs no server instead, with all models (at most 200) as the truth.",
)
@click.option(
    "--horizon",
    type=click.IntRange(min=2),
    default=10_000,
    show_default=True,
    help="How many pulls there will be, in the file of --html; the page has a slider for it.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Without it, any that is free."
)
@click.option("--no-browser", is_flag=True, help="Only say where the page is; open no browser.")
def explore(file: Path, out: Path | None, horizon: int, port: int, no_browser: bool) -> None:
    """Explore a structure on a page: choose the true model and see what follows.

    FILE has the structure: a CSV file with a row for each model and a column for each arm, or a TOML
    file that says which kind of structure it is. The page is served on this machine only, until you
    press Ctrl-C.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)  # the page says so
        structure = load_structure(file)
    if out is not None:
        _write(structure, file, horizon, out)
    else:
        _serve(structure, file, port, no_browser)


def _write(structure: Structure, file: Path, horizon: int, out: Path) -> None:
    from structured_bandits.base.writing import check_file, write_whole
    from structured_bandits.display.page import check_page
    from structured_bandits.service.ui.explorer.whole_file import whole_file

    check_page(out)
    check_file(out)
    write_whole(out, whole_file(structure, file.name, horizon))
    click.echo(f"page: {out}", err=True)


def _serve(structure: Structure, file: Path, port: int, no_browser: bool) -> None:
    with needs("structured-bandits explore", extra="serve"):
        import uvicorn

    try:
        listening = socket.create_server((HOST, port))  # from here on a browser is heard
    except OSError as error:
        raise ParameterError(f"--port {port}: {error.strerror}; choose another") from None
    url = f"http://{HOST}:{listening.getsockname()[1]}/"
    config = uvicorn.Config(explorer_app(structure, file.name), log_level="warning", lifespan="off")
    click.echo(f"{file.name}: {url} (Ctrl-C ends it)")
    if not no_browser:
        threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()
    with suppress(KeyboardInterrupt):  # Ctrl-C is how one ends it
        uvicorn.Server(config).run(sockets=[listening])


def explorer_app(structure: Structure, title: str) -> Any:
    """Return the application that serves the explorer of one structure, and nothing else."""
    with needs("structured-bandits explore", extra="serve"):
        from starlette.applications import Starlette

    from structured_bandits.service.http.authentication import Authentication
    from structured_bandits.service.http.trusted_hosts import Hosts
    from structured_bandits.service.running.tokens import Tokens
    from structured_bandits.service.ui.explorer.routes import Frame, explorer_routes
    from structured_bandits.service.ui.rendering import static_files

    routes = explorer_routes(lambda request: structure, frame_of=lambda request: Frame(title))
    return Authentication(Starlette(routes=[static_files(), *routes]), Tokens(), Hosts(HOST))
