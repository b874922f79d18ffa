"""How long the server waits for the head of a request, and how much of one it keeps.

uvicorn waits for ever for the first byte of a connection and for the end of a head, and keeps a head of
any length in memory. A few hundred idle connections would then shut everybody else out. Bodies are
limited by `limits.py`, where they can be answered; a head that never ends cannot be.
"""

from __future__ import annotations

import asyncio

from structured_bandits.base.extras import needs

with needs("The service", extra="serve"):
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class ImpatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol, for `uvicorn.Config(http=...)`, which closes connections that dawdle.

    A whole head that arrives at once, as nearly all do, costs no timer.
    """

    head_seconds = 10.0
    head_bytes = 2**16  # and at most one more read of the socket
    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _so_far = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        """Read on; if a head is still not complete, wait for the rest of it."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._so_far = self._so_far + len(data) if self._in_head else 0
        if self._so_far > self.head_bytes:
            self.send_400_response("The head of the request is too long.")
        elif self._timer is None and (self._in_head or self._is_idle()):
            self._start_waiting()

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Note that it is complete."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer, which would keep the connection in memory."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        """Is no request being answered, and does uvicorn itself not wait for the next?"""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and self.timeout_keep_alive_task is None

    def _start_waiting(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._start_waiting()  # another request of this connection is being answered
        elif not self.transport.is_closing():
            self.transport.close()
