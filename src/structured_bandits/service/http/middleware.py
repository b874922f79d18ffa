"""Everything that stands between a request and the endpoints, in its order."""

from __future__ import annotations

from structured_bandits.extras import needs
from structured_bandits.service.http.authentication import Authentication
from structured_bandits.service.http.limits import BodyLimit, Buckets, RateLimit
from structured_bandits.service.http.request_metrics import RequestMetrics
from structured_bandits.service.http.trusted_hosts import Hosts, Proxies
from structured_bandits.service.running.metrics import Metrics
from structured_bandits.service.running.tokens import Tokens

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
    return RequestMetrics(Authentication(app, tokens, hosts, proxies), metrics, log_requests)
