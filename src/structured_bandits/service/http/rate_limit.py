"""How many requests a second a caller may send."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from structured_bandits.base.checks import checked_count
from structured_bandits.base.extras import needs
from structured_bandits.errors import ParameterError
from structured_bandits.service.http.authentication import Caller, caller_of
from structured_bandits.service.http.problems import TooMany, send_problem

with needs("The service", extra="serve"):
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_BUCKETS = 10_000


class Buckets:
    """How many requests each caller may still send: `rate` a second, `burst` at once.

    A caller's bucket is full at first; each request takes one from it. Buckets that have had time to
    fill up again are thrown away when there are many, and no more than `most` are kept: then new callers
    share one.
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        most: int = MOST_BUCKETS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not rate > 0:
            raise ParameterError(f"rate={rate!r}: expected a number of requests a second above 0")
        self.rate = rate
        self.burst = checked_count("burst", burst)
        self._most = most
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # how many, and when that was
        self._next_clearing = -math.inf

    def take(self, caller: str) -> float:
        """Take a request; return 0, or the seconds to wait if there is none left."""
        now = self._clock()
        known = self._left.get(caller)
        if known is None:
            caller = self._place_for(caller, now)
            known = self._left.get(caller, (float(self.burst), now))
        left = min(self.burst, known[0] + (now - known[1]) * self.rate)
        if left < 1.0:
            return (1.0 - left) / self.rate
        self._left[caller] = (left - 1.0, now)
        return 0.0

    def _place_for(self, caller: str, now: float) -> str:
        """Return the bucket of a new caller, which is shared if there are too many."""
        if len(self._left) >= self._most and now >= self._next_clearing:
            self._next_clearing = now + 1.0  # it looks at all of them
            full = self.burst / self.rate  # seconds after which every bucket is full again
            self._left = {
                each: (left, then) for each, (left, then) in self._left.items() if now - then < full
            }
        return caller if len(self._left) < self._most else "everybody else"

    def __len__(self) -> int:
        return len(self._left)


class RateLimit:
    """The middleware that counts requests, by token or else by address, once these are known."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self.app = app
        self.buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in, or answer when to come back."""
        if scope["type"] == "http":
            seconds = self.buckets.take(payer_of(caller_of(scope)))
            if seconds:
                limit = f"{self.buckets.rate:g} requests a second, {self.buckets.burst} at once"
                problem = TooMany(f"The limit is {limit}.", retry_after=seconds)
                await send_problem(send, problem)
                return
        await self.app(scope, receive, send)


def payer_of(caller: Caller) -> str:
    """Return whose bucket a request takes from: the token's, or the address's.

    An IPv6 network of 64 bits counts as one address: a single household has that many.
    """
    if caller.token is not None:
        return caller.token.id
    if ":" not in caller.address:
        return caller.address
    try:
        address = ipaddress.IPv6Address(caller.address.partition("%")[0])
    except ValueError:
        return caller.address
    return str(address.ipv4_mapped or ipaddress.IPv6Address(int(address) >> 64 << 64))
