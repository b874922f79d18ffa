"""The pages as routes: who may see them, what a form does, what is sent again only if it changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, quote

from structured_bandits.base.extras import needs
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.http.authentication import caller_of, session_cookie
from structured_bandits.service.http.problems import Unauthorised, problem_of
from structured_bandits.service.refusals import NotFound, Refusal, Refused, Unavailable
from structured_bandits.service.ui.pages.panels import etag
from structured_bandits.service.ui.pages.registry_for_pages import RegistryForPages
from structured_bandits.service.ui.pages.view import experiment_page, list_page
from structured_bandits.service.ui.rendering import rendered, static_files
from structured_bandits.service.wire import Park, State

with needs("The service", extra="serve"):
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import BaseRoute, Route

LOG_LINES = 12
VERBS = ("pause", "resume", "park")
WRONG_TOKEN = "This is no token of this server, or it was revoked."
Page = Callable[[Request, RegistryForPages], Awaitable[Response]]


def page_routes(registry: RegistryForPages) -> list[BaseRoute]:
    """Return the routes of all pages; they must stand behind `Authentication`, which says who calls."""
    table: list[tuple[str, str, Page]] = [
        ("GET", "/", _experiments),
        ("GET", "/experiments/{name}", _experiment),
        ("GET", "/experiments/{name}/panels", _panels),
        *(("POST", f"/experiments/{{name}}/{verb}", _act) for verb in VERBS),
        *(("GET", f"/experiments/{{name}}/{verb}", _back) for verb in VERBS),
        ("GET", "/login", _login_form),
        ("POST", "/login", _login),
        ("POST", "/logout", _logout),
        ("GET", "/tokens", _tokens),
        ("POST", "/tokens", _make_token),
        ("POST", "/tokens/revoke", _revoke_token),
    ]
    routes: list[BaseRoute] = [
        Route(path, _answered(page, registry), methods=[method]) for method, path, page in table
    ]
    return [*routes, static_files()]


def _answered(page: Page, registry: RegistryForPages) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a page: what is refused is said on a page, or leads to the login."""

    async def endpoint(request: Request) -> Response:
        try:
            return await page(request, registry)
        except Refusal as problem:
            return refusal(request, problem)

    return endpoint


def refusal(request: Request, problem: Refusal) -> Response:
    """Return the page that says why a page is refused, or the way to the login."""
    if isinstance(problem, Unauthorised):
        return _see(f"/login?next={quote(_here(request), safe='/')}")
    heading = problem.title.removesuffix(".")
    return _html(request, "message.html", problem.status, heading=heading, text=problem.detail)


def _here(request: Request) -> str:
    """Return where to go after a login: to the page that was asked for, if it was one."""
    path = request.url.path.partition("/panels")[0]
    return path if request.method == "GET" else "/"


def _html(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a page with the bar at its top."""
    text = rendered(template, **bar(request), **context)
    return HTMLResponse(text, status, {"cache-control": "private, no-store"})


def bar(request: Request) -> dict[str, Any]:
    """Return what the bar at the top shows: links to what the caller may see."""
    caller = caller_of(request.scope)
    links = [("/", "Experiments")]
    if caller.may("admin", None):
        links.append(("/tokens", "Tokens"))
    here = "/tokens" if request.url.path.startswith("/tokens") else "/"
    return {"links": links, "here": here, "logged_in": caller.token is not None}


def _see(path: str) -> RedirectResponse:
    """Send the browser to a page; whatever the method was, it gets that page."""
    return RedirectResponse(path, status_code=303)


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form; of one that was sent twice, the last."""
    body = (await request.body()).decode("utf-8", errors="replace")
    return {name: values[-1] for name, values in parse_qs(body).items()}


# --- experiments ---------------------------------------------------------------------------------


async def _experiments(request: Request, registry: RegistryForPages) -> Response:
    caller = caller_of(request.scope)
    seen = [each for each in registry.summaries() if caller.may("read", each.name)]
    if not seen and caller.token is None:
        caller.require("read", None)
    return _html(request, "experiments.html", **list_page(seen, _address(request), not caller.open))


def _address(request: Request) -> str:
    """Return the address under which the caller reaches this server."""
    scheme = "https" if caller_of(request.scope).https else "http"
    return f"{scheme}://{request.headers['host']}"


def _read_state(request: Request, registry: RegistryForPages) -> State:
    """Return the experiment that a path names, if the caller may see it."""
    name = request.path_params["name"]
    caller_of(request.scope).require("read", name)
    return registry.state(name)


async def _context(request: Request, registry: RegistryForPages, state: State) -> dict[str, Any]:
    """Return all that the templates of an experiment need."""
    caller = caller_of(request.scope)
    try:
        rows = await registry.events(state.name, max(state.seq - LOG_LINES, 0), LOG_LINES)
    except Unavailable:
        rows = []  # what is wrong with the disk is said on the page, among the alarms
    may_act = caller.may("admin", state.name)
    context = experiment_page(state, rows, _address(request), may_act, not caller.open)
    return context | {"explorer": registry.explorer_path(state.name)}


async def _experiment(request: Request, registry: RegistryForPages) -> Response:
    return await _experiment_response(request, registry)


async def _experiment_response(
    request: Request, registry: RegistryForPages, status: int = 200, failure: str = ""
) -> Response:
    """Return the page of an experiment, above it why something was not done."""
    context = await _context(request, registry, _read_state(request, registry))
    return _html(request, "experiment.html", status, failure=failure, **context)


async def _panels(request: Request, registry: RegistryForPages) -> Response:
    """Return the panels alone, or 304 if they are what the caller has."""
    state = _read_state(request, registry)
    mark = etag(state, caller_of(request.scope).may("admin", state.name))
    headers = {"etag": mark, "cache-control": "private, no-cache"}
    if mark in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    text = rendered("panels.html", **await _context(request, registry, state))
    return HTMLResponse(text, headers=headers)


async def _act(request: Request, registry: RegistryForPages) -> Response:
    """Pause, resume or park, then show the page again; what cannot be done is said above it."""
    name, verb = request.path_params["name"], request.url.path.rsplit("/", 1)[1]
    caller_of(request.scope).require("admin", name)
    try:
        body = _park(await _fields(request)) if verb == "park" else None
        await registry.act(name, verb, body)
    except NotFound:
        raise
    except StructuredBanditsError as error:
        problem = problem_of(error)
        return await _experiment_response(request, registry, problem.status, problem.detail)
    return await _back(request, registry)


async def _back(request: Request, registry: RegistryForPages) -> Response:
    """Lead from the address of a button to the page that has it."""
    return _see(f"/experiments/{request.path_params['name']}")


def _park(fields: dict[str, str]) -> Park:
    arm, parked = fields.get("arm", ""), fields.get("parked", "true")
    if not (arm.isascii() and arm.isdigit()):
        raise Refused(f"arm={arm!r}: expected the index of an arm")
    return Park(arm=int(arm), parked=parked == "true")


# --- logging in ----------------------------------------------------------------------------------


async def _login_form(request: Request, registry: RegistryForPages) -> Response:
    path = local_path(request.query_params.get("next", "/"))
    return _html(request, "login.html", failure="", open=registry.tokens.open, next=path)


async def _login(request: Request, registry: RegistryForPages) -> Response:
    """Keep a token that is valid in a cookie that no script can read and no other site can send."""
    fields = await _fields(request)
    text, path = fields.get("token", "").strip(), local_path(fields.get("next", "/"))
    if registry.tokens.check(text) is None:
        kept = {"failure": WRONG_TOKEN, "open": registry.tokens.open, "next": path}
        return _html(request, "login.html", 401, **kept)
    response = _see(path)
    https = caller_of(request.scope).https
    response.headers.append("set-cookie", session_cookie(text, https))
    return response


async def _logout(request: Request, registry: RegistryForPages) -> Response:
    response = _see("/login")
    response.headers.append("set-cookie", session_cookie("", caller_of(request.scope).https))
    return response


def local_path(path: str) -> str:
    """Return a path of this server; whatever could lead to another one leads to the list.

    >>> local_path("/experiments/a"), local_path("//evil.example"), local_path("https://evil.example")
    ('/experiments/a', '/', '/')
    """
    local = path.startswith("/") and not path.startswith("//")
    return path if local and path.isprintable() and "\\" not in path else "/"


# --- tokens --------------------------------------------------------------------------------------


async def _tokens(request: Request, registry: RegistryForPages) -> Response:
    caller_of(request.scope).require("admin", None)
    return _token_page(request, registry)


def _token_page(
    request: Request,
    registry: RegistryForPages,
    status: int = 200,
    secret: str = "",
    failure: str = "",
) -> Response:
    """Return the list of tokens: those that are valid first, the newest at the top."""
    listed = sorted(registry.tokens, key=lambda each: (each.revoked_at is not None, -each.made_at))
    kept = {"tokens": listed, "open": registry.tokens.open, "secret": secret, "failure": failure}
    return _html(request, "tokens.html", status, **kept)


async def _make_token(request: Request, registry: RegistryForPages) -> Response:
    """Make a token and show it, this once. Whoever makes the first is logged in with it."""
    caller = caller_of(request.scope)
    caller.require("admin", None)
    fields = await _fields(request)
    names = [name.strip() for name in fields.get("experiments", "").split(",") if name.strip()]
    name, role = fields.get("name", "").strip(), fields.get("role", "")
    try:
        caller.check_first_token(role, names)
        secret = await registry.make_token(name, role, names or None)
    except StructuredBanditsError as error:
        problem = problem_of(error)
        return _token_page(request, registry, problem.status, failure=problem.detail)
    response = _token_page(request, registry, 201, secret=secret)
    if caller.open:
        response.headers.append("set-cookie", session_cookie(secret, caller.https))
    return response


async def _revoke_token(request: Request, registry: RegistryForPages) -> Response:
    caller_of(request.scope).require("admin", None)
    await registry.revoke_token((await _fields(request)).get("id", ""))
    return _see("/tokens")
