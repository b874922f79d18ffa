"""The endpoints: path, what goes in, what comes out, who may call it, what it does.

The routes, the OpenAPI description and docs/http.md are made from them, in this order, so they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from structured_bandits.service import wire
from structured_bandits.service.http.authentication import Caller
from structured_bandits.service.refusals import NotFound, Refused
from structured_bandits.service.rows import Event
from structured_bandits.service.running.lifecycle import create, new_version
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.running_experiment import RunningExperiment
from structured_bandits.service.running.tokens import Role, Token
from structured_bandits.service.running.views import arms_of, models_of, state_of, summary_of

MOST_EVENTS = 10_000  # in one answer
NDJSON = "application/x-ndjson"
ALL = "/v1/experiments"
ONE = f"{ALL}/{{name}}"


class Call(NamedTuple):
    """A request: who sends it, the parts of its path and query, and its content."""

    registry: Registry
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    content: Any

    @property
    def experiment(self) -> RunningExperiment:
        """The experiment that the path names; raises NotFound."""
        return self.registry.find(self.path["name"])


class Reply(NamedTuple):
    """An answer with what HTTP has to say about it."""

    content: Any
    status: int = 200
    etag: str | None = None
    lines: bool = False  # as lines of JSON, one for each item


Does = Callable[[Call], Reply]


class Endpoint(NamedTuple):
    """A function that answers requests, and all that is to be known of it."""

    method: str
    path: str
    label: str
    role: Role | None  # None: anybody, as for health checks
    takes: Any  # the record of the body; None without one
    gives: Any
    does: Does
    summary: str
    statuses: tuple[int, ...]  # besides 200 and the refusals that every endpoint has
    query: tuple[str, ...]  # whole numbers


ENDPOINTS: list[Endpoint] = []


def endpoint(
    method: str,
    path: str,
    role: Role | None,
    *,
    takes: Any = None,
    gives: Any,
    statuses: tuple[int, ...] = (),
    query: tuple[str, ...] = (),
) -> Callable[[Does], Does]:
    """Make an endpoint of a function: its name is the label, its docstring the summary."""

    def added(does: Does) -> Does:
        label = does.__name__.removeprefix("_").replace("_", " ")
        summary = (does.__doc__ or label).removesuffix(".")  # python -OO drops docstrings
        ENDPOINTS.append(
            Endpoint(method, path, label, role, takes, gives, does, summary, statuses, query)
        )
        return does

    return added


# --- experiments


@endpoint("GET", ALL, "read", gives=wire.Listing)
def _list(call: Call) -> Reply:
    """List all experiments."""
    experiments = call.registry.experiments.values()
    seen = [each for each in experiments if call.caller.may("read", each.name)]
    return Reply(wire.Listing(experiments=tuple(map(summary_of, seen))))


@endpoint("PUT", ONE, "admin", takes=wire.Create, gives=wire.Created, statuses=(201,))
def _create(call: Call) -> Reply:
    """Create an experiment."""
    created = create(call.registry, call.path["name"], call.content.spec)
    return Reply(created, 201 if created.created else 200)


def _etag(experiment: RunningExperiment) -> str:
    return f"{experiment.current.uid}-{experiment.state.seq}"


@endpoint("GET", ONE, "read", gives=wire.State, statuses=(304,))
def _state(call: Call) -> Reply:
    """Read an experiment."""
    experiment = call.experiment
    return Reply(state_of(experiment), etag=_etag(experiment))


@endpoint("GET", f"{ONE}/spec", "read", gives=wire.Specification)
def _spec(call: Call) -> Reply:
    """Read the specification, to send a changed one as a new version."""
    experiment = call.experiment
    number, plain = experiment.current.row.number, experiment.state.spec.plain
    return Reply(wire.Specification(version=number, spec=plain))


# --- decisions and rewards


@endpoint("POST", f"{ONE}/ask", "ask", takes=wire.Ask, gives=wire.Asked)
def _ask(call: Call) -> Reply:
    """Ask for decisions."""
    return Reply(call.experiment.ask(call.content))


@endpoint("POST", f"{ONE}/tell", "ask", takes=wire.Tell, gives=wire.Told)
def _tell(call: Call) -> Reply:
    """Tell rewards."""
    several = call.content if isinstance(call.content, list) else [call.content]
    return Reply(call.experiment.tell(several))


@endpoint("POST", f"{ONE}/cancel", "ask", takes=wire.Named, gives=wire.Done)
def _cancel(call: Call) -> Reply:
    """Cancel a decision."""
    return Reply(call.experiment.cancel(call.content))


@endpoint("POST", f"{ONE}/activate", "ask", takes=wire.Named, gives=wire.Done)
def _activate(call: Call) -> Reply:
    """Say that a deferred decision was shown."""
    return Reply(call.experiment.activate(call.content))


# --- many pulls at once


@endpoint("POST", f"{ONE}/plan", "ask", takes=wire.HandOut, gives=wire.Batch)
def _hand_out(call: Call) -> Reply:
    """Ask for a plan as counts."""
    return Reply(call.experiment.hand_out(call.content))


@endpoint("POST", f"{ONE}/batches/{{batch}}", "ask", takes=wire.BatchResults, gives=wire.Done)
def _results(call: Call) -> Reply:
    """Tell results of a batch."""
    return Reply(call.experiment.results(call.path["batch"], call.content))


@endpoint("POST", f"{ONE}/learn", "ask", takes=wire.Learn, gives=wire.Done)
def _learn(call: Call) -> Reply:
    """Take in results from elsewhere."""
    return Reply(call.experiment.learn(call.content))


# --- reading


@endpoint("GET", f"{ONE}/arms", "read", gives=wire.ArmList, statuses=(304,))
def _arms(call: Call) -> Reply:
    """Read the arms."""
    experiment = call.experiment
    return Reply(wire.ArmList(arms=arms_of(experiment.state)), etag=_etag(experiment))


@endpoint("GET", f"{ONE}/plan", "read", gives=wire.ArmList, statuses=(304,))
def _plan(call: Call) -> Reply:
    """Read the plan."""
    return _arms(call)


@endpoint("GET", f"{ONE}/models", "read", gives=wire.ModelsView, statuses=(304,))
def _models(call: Call) -> Reply:
    """Read the models."""
    experiment = call.experiment
    models = models_of(experiment.state)
    if models is None:
        raise NotFound(f"The policy of {experiment.name!r} has no structure, so it has no models.")
    return Reply(models, etag=_etag(experiment))


def _number(call: Call, name: str, default: int) -> int:
    """Return a whole number from the query."""
    text = call.query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 16:
        raise Refused(f"{name}={text[:50]!r}: expected a whole number.")
    return int(text)


def cloud_event(name: str, uid: str, event: Event) -> wire.CloudEvent:
    """Return a row of the log for readers."""
    data: dict[str, Any] = {
        "seq": event.seq,
        "decision": event.decision,
        "n": event.n,
        "arm": event.arm,
    }
    data |= {"value": event.value, "key": event.key, **event.content()}
    return wire.CloudEvent(
        specversion="1.0",
        id=f"{uid}-{event.seq}",
        source=f"/v1/experiments/{name}",
        type=f"structured-bandits.{event.kind}",
        time=datetime.fromtimestamp(event.at / 1000.0, UTC).isoformat(timespec="milliseconds"),
        data={key: value for key, value in data.items() if value is not None},
    )


@endpoint(
    "GET", f"{ONE}/events", "read", gives=wire.CloudEvent, query=("after", "limit", "version")
)
def _events(call: Call) -> Reply:
    """Read the log, as lines of JSON."""
    after, limit = _number(call, "after", 0), _number(call, "limit", 1_000)
    version = _number(call, "version", 0)
    experiment = call.experiment
    name, found = experiment.name, experiment.current
    if version:
        versions = [each for each in experiment.versions if each.row.number == version]
        if not versions:
            raise NotFound(f"The experiment {name!r} has no version {version}.")
        found = versions[0]
    rows = call.registry.store.events(found.row.id, after, max(1, min(limit, MOST_EVENTS)))
    return Reply([cloud_event(name, found.uid, event) for event in rows], lines=True)


# --- administration


@endpoint(
    "POST", f"{ONE}/versions", "admin", takes=wire.NewVersion, gives=wire.Created, statuses=(201,)
)
def _new_version(call: Call) -> Reply:
    """Make a new version."""
    created = new_version(call.experiment, call.content)
    return Reply(created, 201 if created.created else 200)


@endpoint("POST", f"{ONE}/pause", "admin", takes=wire.Nothing, gives=wire.Done)
def _pause(call: Call) -> Reply:
    """Pause."""
    return Reply(call.experiment.pause(True))


@endpoint("POST", f"{ONE}/resume", "admin", takes=wire.Nothing, gives=wire.Done)
def _resume(call: Call) -> Reply:
    """Resume."""
    return Reply(call.experiment.pause(False))


@endpoint("POST", f"{ONE}/park", "admin", takes=wire.Park, gives=wire.Done)
def _park(call: Call) -> Reply:
    """Park or unpark an arm."""
    return Reply(call.experiment.park(call.content))


def token_view(token: Token, text: str | None = None) -> wire.TokenView:
    """Return a token for people; `text` only when it was made."""
    experiments = None if token.experiments is None else tuple(token.experiments)
    return wire.TokenView(
        id=token.id,
        name=token.name,
        role=token.role,
        experiments=experiments,
        made_at=token.made_at,
        revoked_at=token.revoked_at,
        text=text,
    )


@endpoint("GET", "/v1/tokens", "admin", gives=wire.TokenList)
def _tokens(call: Call) -> Reply:
    """List tokens."""
    return Reply(wire.TokenList(tokens=tuple(token_view(token) for token in call.registry.tokens)))


@endpoint("POST", "/v1/tokens", "admin", takes=wire.NewToken, gives=wire.TokenView, statuses=(201,))
def _new_token(call: Call) -> Reply:
    """Make a token."""
    asked = call.content
    call.caller.check_first_token(asked.role, asked.experiments)
    text, token = call.registry.add_token(asked.name, asked.role, asked.experiments)
    return Reply(token_view(token, text), 201)


@endpoint("DELETE", "/v1/tokens/{token}", "admin", gives=wire.Done)
def _revoke(call: Call) -> Reply:
    """Revoke a token."""
    identity = call.path["token"]
    if not any(token.id == identity for token in call.registry.tokens):
        raise NotFound(f"There is no token {identity!r}.")
    return Reply(wire.Done(changed=call.registry.revoke_token(identity), seq=0))


@endpoint("POST", "/v1/clock/confirm", "admin", takes=wire.Nothing, gives=wire.Done)
def _confirm_clock(call: Call) -> Reply:
    """Say that the clock is right."""
    trusted = call.registry.clock.is_trusted()
    call.registry.clock.confirm()
    return Reply(wire.Done(changed=not trusted, seq=0))


# --- health


@endpoint("GET", "/live", None, gives=wire.Health)
def _live(call: Call) -> Reply:
    """Is the process alive?"""
    return Reply(wire.Health(ok=True))


@endpoint("GET", "/ready", None, gives=wire.Health, statuses=(503,))
def _ready(call: Call) -> Reply:
    """Does it answer requests?"""
    refusal = call.registry.refusal
    if refusal is not None:
        return Reply(wire.Health(ok=False, detail=refusal), 503)
    return Reply(wire.Health(ok=True))


def encoded(reply: Reply) -> bytes:
    """Return the bytes of an answer."""
    if reply.lines:
        return b"".join(_encode(item) + b"\n" for item in reply.content)
    return _encode(reply.content)


_encode = msgspec.json.Encoder().encode
