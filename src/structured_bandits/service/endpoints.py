"""The table of endpoints: path, what goes in, what comes out, who may call it, what it does.

The routes and the OpenAPI description are both made from it, so they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from structured_bandits.extras import needs
from structured_bandits.service import messages as m
from structured_bandits.service.auth import Role, Token
from structured_bandits.service.events import Event
from structured_bandits.service.guard import Caller
from structured_bandits.service.owner import Owner
from structured_bandits.service.problems import NotFound, Refused
from structured_bandits.service.served import Served
from structured_bandits.service.views import arms_of, models_of, state_of, summary_of

with needs("The service", extra="serve"):
    import msgspec

MOST_EVENTS = 10_000  # in one answer
NDJSON = "application/x-ndjson"


class Call(NamedTuple):
    """A request: who sends it, the parts of its path and query, and its content."""

    owner: Owner
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    content: Any

    @property
    def name(self) -> str:
        """The experiment that the path names."""
        return self.path["name"]


class Reply(NamedTuple):
    """An answer with what HTTP has to say about it."""

    content: Any
    status: int = 200
    etag: str | None = None
    lines: bool = False  # as lines of JSON, one for each item


class Endpoint(NamedTuple):
    """A line of the table."""

    method: str
    path: str
    label: str
    role: Role | None  # None: anybody, as for health checks
    takes: Any  # the record of the body; None without one
    gives: Any
    does: Callable[[Call], Reply]
    summary: str
    statuses: tuple[int, ...] = ()  # besides those that every endpoint has
    query: tuple[str, ...] = ()  # whole numbers


# --- decisions and rewards


def _ask(call: Call) -> Reply:
    return Reply(call.owner.ask(call.name, call.content))


def _tell(call: Call) -> Reply:
    several = call.content if isinstance(call.content, list) else [call.content]
    return Reply(call.owner.tell(call.name, several))


def _cancel(call: Call) -> Reply:
    return Reply(call.owner.cancel(call.name, call.content))


def _activate(call: Call) -> Reply:
    return Reply(call.owner.activate(call.name, call.content))


def _hand_out(call: Call) -> Reply:
    return Reply(call.owner.hand_out(call.name, call.content))


def _results(call: Call) -> Reply:
    return Reply(call.owner.results(call.name, call.path["batch"], call.content))


def _learn(call: Call) -> Reply:
    return Reply(call.owner.learn(call.name, call.content))


# --- reading


def _served(call: Call) -> tuple[Served, str]:
    served = call.owner.find(call.name)
    return served, f"{served.current.uid}-{served.life.seq}"


def _state(call: Call) -> Reply:
    served, etag = _served(call)
    return Reply(state_of(call.owner, served), etag=etag)


def _spec(call: Call) -> Reply:
    served, _ = _served(call)
    return Reply(m.Specification(version=served.current.row.number, spec=served.life.spec.plain))


def _arms(call: Call) -> Reply:
    served, etag = _served(call)
    return Reply(m.ArmList(arms=arms_of(served.life)), etag=etag)


def _models(call: Call) -> Reply:
    served, etag = _served(call)
    models = models_of(served.life)
    if models is None:
        raise NotFound(f"The policy of {call.name!r} has no structure, so it has no models.")
    return Reply(models, etag=etag)


def _events(call: Call) -> Reply:
    after, limit = number(call, "after", 0), number(call, "limit", 1_000)
    version = number(call, "version", 0)
    served = call.owner.find(call.name)
    found = [each for each in served.versions if each.row.number == version] or [served.current]
    if version and found[0].row.number != version:
        raise NotFound(f"The experiment {call.name!r} has no version {version}.")
    rows = call.owner.store.events(found[0].row.id, after, max(1, min(limit, MOST_EVENTS)))
    return Reply([cloud_event(call.name, found[0].uid, event) for event in rows], lines=True)


def cloud_event(name: str, uid: str, event: Event) -> m.CloudEvent:
    """Return a row of the log for readers."""
    data: dict[str, Any] = {
        "seq": event.seq,
        "decision": event.decision,
        "n": event.n,
        "arm": event.arm,
    }
    data |= {"value": event.value, "key": event.key, **event.content()}
    return m.CloudEvent(
        specversion="1.0",
        id=f"{uid}-{event.seq}",
        source=f"/v1/experiments/{name}",
        type=f"structured-bandits.{event.kind}",
        time=datetime.fromtimestamp(event.at / 1000.0, UTC).isoformat(timespec="milliseconds"),
        data={key: value for key, value in data.items() if value is not None},
    )


def _list(call: Call) -> Reply:
    served = [each for each in call.owner.served.values() if call.caller.may("read", each.name)]
    return Reply(m.Listing(experiments=[summary_of(call.owner, each) for each in served]))


def number(call: Call, name: str, default: int) -> int:
    """Return a whole number from the query."""
    text = call.query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 16:
        raise Refused(f"{name}={text[:50]!r}: expected a whole number.")
    return int(text)


# --- administration


def _create(call: Call) -> Reply:
    created = call.owner.create(call.name, call.content.spec)
    return Reply(created, 201 if created.created else 200)


def _new_version(call: Call) -> Reply:
    created = call.owner.new_version(call.name, call.content)
    return Reply(created, 201 if created.created else 200)


def _pause(call: Call) -> Reply:
    return Reply(call.owner.pause(call.name, True))


def _resume(call: Call) -> Reply:
    return Reply(call.owner.pause(call.name, False))


def _park(call: Call) -> Reply:
    return Reply(call.owner.park(call.name, call.content))


def _tokens(call: Call) -> Reply:
    return Reply(m.TokenList(tokens=[token_view(token) for token in call.owner.tokens]))


def _new_token(call: Call) -> Reply:
    asked = call.content
    call.caller.check_first_token(asked.role, asked.experiments)
    text, token = call.owner.add_token(asked.name, asked.role, asked.experiments)
    return Reply(token_view(token, text), 201)


def _revoke(call: Call) -> Reply:
    identity = call.path["token"]
    if not any(token.id == identity for token in call.owner.tokens):
        raise NotFound(f"There is no token {identity!r}.")
    return Reply(m.Done(changed=call.owner.revoke_token(identity), seq=0))


def token_view(token: Token, text: str | None = None) -> m.TokenView:
    """Return a token for people; `text` only when it was made."""
    experiments = None if token.experiments is None else list(token.experiments)
    return m.TokenView(
        id=token.id,
        name=token.name,
        role=token.role,
        experiments=experiments,
        made_at=token.made_at,
        revoked_at=token.revoked_at,
        text=text,
    )


def _confirm_clock(call: Call) -> Reply:
    trusted = call.owner.clock.is_trusted()
    call.owner.clock.confirm()
    return Reply(m.Done(changed=not trusted, seq=0))


def _live(call: Call) -> Reply:
    return Reply(m.Health(ok=True))


def _ready(call: Call) -> Reply:
    refusal = call.owner.refusal
    if refusal is not None:
        return Reply(m.Health(ok=False, detail=refusal), 503)
    return Reply(m.Health(ok=True))


ALL = "/v1/experiments"
ONE = f"{ALL}/{{name}}"

ENDPOINTS = (
    Endpoint("GET", ALL, "list", "read", None, m.Listing, _list, "List all experiments"),
    Endpoint(
        "PUT",
        ONE,
        "create",
        "admin",
        m.Create,
        m.Created,
        _create,
        "Create an experiment",
        (201, 409),
    ),
    Endpoint("GET", ONE, "state", "read", None, m.State, _state, "Read an experiment", (304,)),
    Endpoint(
        "GET",
        f"{ONE}/spec",
        "spec",
        "read",
        None,
        m.Specification,
        _spec,
        "Read the specification, to send a changed one as a new version",
    ),
    Endpoint("POST", f"{ONE}/ask", "ask", "ask", m.Ask, m.Asked, _ask, "Ask for decisions", (409,)),
    Endpoint("POST", f"{ONE}/tell", "tell", "ask", m.Tell, m.Told, _tell, "Tell rewards", (409,)),
    Endpoint(
        "POST",
        f"{ONE}/cancel",
        "cancel",
        "ask",
        m.Named,
        m.Done,
        _cancel,
        "Cancel a decision",
        (409,),
    ),
    Endpoint(
        "POST",
        f"{ONE}/activate",
        "activate",
        "ask",
        m.Named,
        m.Done,
        _activate,
        "Say that a deferred decision was shown",
        (409,),
    ),
    Endpoint(
        "POST",
        f"{ONE}/plan",
        "hand out",
        "ask",
        m.HandOut,
        m.Batch,
        _hand_out,
        "Ask for a plan as counts",
        (409,),
    ),
    Endpoint(
        "POST",
        f"{ONE}/batches/{{batch}}",
        "results",
        "ask",
        m.BatchResults,
        m.Done,
        _results,
        "Tell results of a batch",
        (409,),
    ),
    Endpoint(
        "POST",
        f"{ONE}/learn",
        "learn",
        "ask",
        m.Learn,
        m.Done,
        _learn,
        "Take in results from elsewhere",
        (409,),
    ),
    Endpoint("GET", f"{ONE}/arms", "arms", "read", None, m.ArmList, _arms, "Read the arms", (304,)),
    Endpoint("GET", f"{ONE}/plan", "plan", "read", None, m.ArmList, _arms, "Read the plan", (304,)),
    Endpoint(
        "GET",
        f"{ONE}/models",
        "models",
        "read",
        None,
        m.ModelsView,
        _models,
        "Read the models",
        (304,),
    ),
    Endpoint(
        "GET",
        f"{ONE}/events",
        "events",
        "read",
        None,
        m.CloudEvent,
        _events,
        "Read the log, as lines of JSON",
        (),
        ("after", "limit", "version"),
    ),
    Endpoint(
        "POST",
        f"{ONE}/versions",
        "new version",
        "admin",
        m.NewVersion,
        m.Created,
        _new_version,
        "Make a new version",
        (201, 409),
    ),
    Endpoint("POST", f"{ONE}/pause", "pause", "admin", m.Nothing, m.Done, _pause, "Pause"),
    Endpoint("POST", f"{ONE}/resume", "resume", "admin", m.Nothing, m.Done, _resume, "Resume"),
    Endpoint(
        "POST",
        f"{ONE}/park",
        "park",
        "admin",
        m.Park,
        m.Done,
        _park,
        "Park or unpark an arm",
        (409,),
    ),
    Endpoint("GET", "/v1/tokens", "tokens", "admin", None, m.TokenList, _tokens, "List tokens"),
    Endpoint(
        "POST",
        "/v1/tokens",
        "new token",
        "admin",
        m.NewToken,
        m.TokenView,
        _new_token,
        "Make a token",
        (201,),
    ),
    Endpoint(
        "DELETE", "/v1/tokens/{token}", "revoke", "admin", None, m.Done, _revoke, "Revoke a token"
    ),
    Endpoint(
        "POST",
        "/v1/clock/confirm",
        "confirm clock",
        "admin",
        m.Nothing,
        m.Done,
        _confirm_clock,
        "Say that the clock is right",
    ),
    Endpoint("GET", "/live", "live", None, None, m.Health, _live, "Is the process alive?"),
    Endpoint(
        "GET", "/ready", "ready", None, None, m.Health, _ready, "Does it answer requests?", (503,)
    ),
)


def encoded(reply: Reply) -> bytes:
    """Return the bytes of an answer."""
    if reply.lines:
        return b"".join(_encode(item) + b"\n" for item in reply.content)
    return _encode(reply.content)


_encode = msgspec.json.Encoder().encode
