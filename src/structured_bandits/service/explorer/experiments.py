"""The explorer of each experiment of the service, for those who may see the experiment."""

from __future__ import annotations

from collections.abc import Callable

from structured_bandits.extras import needs
from structured_bandits.service.explorer.routes import Frame, explorer_routes
from structured_bandits.service.guard import caller_of
from structured_bandits.service.pages.routes import bar, refusal
from structured_bandits.structures.base import Structure

with needs("The service", extra="serve"):
    from starlette.requests import Request
    from starlette.routing import Route

PREFIX = "/experiments/{name}/explore"


def experiment_explorers(structure_of: Callable[[str], Structure]) -> list[Route]:
    """Return the routes; `structure_of` finds the structure of an experiment, or raises NotFound."""

    def structure(request: Request) -> Structure:
        name = request.path_params["name"]
        caller_of(request.scope).require("read", name)
        return structure_of(name)

    def frame(request: Request) -> Frame:
        return Frame(request.path_params["name"], bar(request))

    return explorer_routes(structure, PREFIX, frame, refusal)
