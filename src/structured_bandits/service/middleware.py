"""Everything that stands between a request and the endpoints, in its order."""

from __future__ import annotations

from structured_bandits.base.extras import needs
from structured_bandits.service.auth import Tokens
from structured_bandits.service.guard import Guard
from structured_bandits.service.hosts import Hosts, Proxies
from structured_bandits.service.limits import BodyLimit, Buckets, RateLimit
from structured_bandits.service.metrics import Metrics
from structured_bandits.service.watch import Watch

with needs("The service", extra="serve"):
    from starlette.types import ASGIApp


def protected(
    app: ASGIApp,
    *,
    tokens: Tokens,
    hosts: Hosts,
    metrics: Metrics,
    proxies: Proxies | None = None,
    buckets: Buckets | None = None,
    log_requests: bool = False,
) -> ASGIApp:
    """Return an application that is watched, guarded and limited.

    The watch sees all that is refused, the guard says who is limited, and bodies are read last. Without
    buckets there is no limit to the requests a second.
    """
    app = BodyLimit(app)
    if buckets is not None:
        app = RateLimit(app, buckets)
    return Watch(Guard(app, tokens, hosts, proxies), metrics, log_requests)
