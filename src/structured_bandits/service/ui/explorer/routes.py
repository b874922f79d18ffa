"""The explorer over HTTP: the page, and the panels that a slider or a drag changes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.errors import MissingExtraError, StructuredBanditsError
from structured_bandits.service.refusals import Refusal
from structured_bandits.service.ui.explorer.choice import (
    BETAS,
    Choice,
    mean_limits,
    mean_span,
    query_of,
    read_choice,
)
from structured_bandits.service.ui.explorer.explorer import Explorer, about_text, notices
from structured_bandits.service.ui.explorer.models import has_rows, spelt
from structured_bandits.service.ui.explorer.panels import PANELS, draw
from structured_bandits.service.ui.explorer.view import View, filled
from structured_bandits.structures.base import Structure

with needs("The service", extra="serve"):
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route

MOST_OPTIONS = 300  # models of a list to choose from; of more, one types the number
PATIENCE = 10.0  # seconds that a request waits for its turn
BUSY = "Others are exploring just now; try again in a few seconds"
REMEMBERED = 8  # structures, with what was computed about them

StructureOf = Callable[[Request], Structure]


class QueryLinks:
    """Links of a served page: its own address with another query."""

    def __init__(self, structure: Structure, choice: Choice) -> None:
        self._structure, self._choice = structure, choice

    def truth(self, model: Any) -> str:
        """Return the address with another truth; a mean that was moved goes back to its place."""
        choice = self._choice
        other = choice.truth if model == choice.other else choice.other  # two models stay two
        return f"?{query_of(self._structure, choice, truth=model, other=other, mean=None)}"

    def other(self, model: Any) -> str:
        """Return the address that compares the truth with this model."""
        return f"?{query_of(self._structure, self._choice, other=model)}"

    def rows(self, first: int) -> str:
        """Return the address whose map begins with this model."""
        return f"?{query_of(self._structure, self._choice, first=first)}"


class Frame(NamedTuple):
    """What stands around the panels: the title, the bar at the top, and the page of the experiment."""

    title: str = "Explorer"
    bar: Mapping[str, Any] = MappingProxyType({})
    back: str | None = None


Answer = Callable[[Explorer, Request, Frame], str]


def explorer_routes(
    structure_of: StructureOf,
    prefix: str = "",
    frame_of: Callable[[Request], Frame] = lambda request: Frame(),
    refused: Callable[[Request, Refusal], Response] | None = None,
) -> list[Route]:
    """Return the routes of an explorer under a prefix, such as "/experiments/{name}/explore".

    `structure_of` finds the structure of a request. It may raise an `Refusal`, for which `refused`
    makes the answer; without that it is raised. Endpoints are plain functions, which Starlette runs in
    threads: a large structure takes tenths of a second.
    """
    known: deque[Explorer] = deque(maxlen=REMEMBERED)
    turn = threading.Lock()  # one at a time: what else this process does must not wait for many

    def answering(answer: Answer) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            try:
                structure, frame = structure_of(request), frame_of(request)
                if not turn.acquire(timeout=PATIENCE):
                    return _refused(request, BUSY, 503)
                try:
                    return HTMLResponse(answer(_explorer(known, structure), request, frame))
                finally:
                    turn.release()
            except Refusal as problem:
                if refused is None:
                    raise
                return refused(request, problem)
            except MissingExtraError as error:
                return _refused(request, str(error), 501)
            except StructuredBanditsError as error:
                return _refused(request, str(error), 400)

        return endpoint

    return [
        Route(prefix or "/", answering(page_html), methods=["GET"]),
        Route(f"{prefix}/panels/{{names}}", answering(panels_html), methods=["GET"]),
    ]


def _explorer(known: deque[Explorer], structure: Structure) -> Explorer:
    """Return the explorer of a structure; by identity, as comparing tables would take its time."""
    for explorer in list(known):
        if explorer.structure is structure:
            return explorer
    explorer = Explorer(structure)
    known.append(explorer)
    return explorer


def view_of(explorer: Explorer, request: Request) -> View:
    """Return what the address of a request asks for."""
    choice = read_choice(explorer.structure, request.query_params)
    return View(explorer, choice, QueryLinks(explorer.structure, choice))


def panels_html(explorer: Explorer, request: Request, frame: Frame) -> str:
    """Return the panels that the path names, separated by commas."""
    names = request.path_params["names"].split(",")
    unknown = [name for name in names if name not in PANELS]
    if unknown or len(names) > len(PANELS):
        raise StructuredBanditsError(f"panels: accepted are {', '.join(PANELS)}, each once")
    view = view_of(explorer, request)
    return "".join(f'<div data-panel="{name}">{draw(name, view)}</div>' for name in names)


def page_html(explorer: Explorer, request: Request, frame: Frame) -> str:
    """Return the whole page."""
    view = view_of(explorer, request)
    return filled(
        "page.html",
        title=frame.title,
        back=frame.back,
        **frame.bar,
        panels={name: draw(name, view) for name in PANELS},
        panels_path=f"{request.url.path.rstrip('/').rpartition('/')[2] or '.'}/panels",
        **fields_of(view),
    )


def fields_of(view: View) -> dict[str, Any]:
    """Return what the fields of the page hold, and the words around them."""
    structure, choice = view.structure, view.choice
    models = view.explorer.listed.models
    few = has_rows(structure) and len(models) <= MOST_OPTIONS
    own = float(view.explorer.moved_means(choice)[choice.moved])
    cells = structure.cells
    return {
        "about": about_text(structure),
        "notices": notices(structure),
        "truth_label": "the true model" if few else _typed_label(structure),
        "hint": _typed_label(structure),
        "truth": spelt(structure, choice.truth),
        "other": spelt(structure, choice.other),
        "options": [(spelt(structure, m), view.name(m)) for m in models] if few else [],
        "curve": (float(cells.start.min()), float(cells.end.max()))
        if structure.kind == "curves"
        else None,
        "horizon": choice.horizon,
        "beta": choice.beta,
        "betas": BETAS,
        "labels": view.labels,
        "arm": choice.moved,
        "mean": "" if choice.mean is None else choice.mean,
        "own_mean": own,
        "limits": mean_limits(structure),
        "span": mean_span(structure, own),
        "first": choice.first,
    }


def _typed_label(structure: Any) -> str:
    if has_rows(structure):
        return f"the number of the model, 0 to {len(structure.model_names) - 1:,}"
    return "parameter" if structure.kind == "curves" else "its means, separated by commas"


def _refused(request: Request, why_not: str, status: int) -> Response:
    """Return why an address cannot be shown: a page, or a fragment for the script."""
    names = request.path_params.get("names")
    if names is None:
        text = filled("error.html", why_not=why_not, start=request.url.path)
        return HTMLResponse(text, status)
    said = filled("why_not.html", why_not=why_not)
    known = [name for name in names.split(",") if name in PANELS]
    parts = [f'<div data-panel="{name}">{said}</div>' for name in known]
    return HTMLResponse("".join(parts) or said, status)
