"""The socket on which the service listens."""

from __future__ import annotations

import asyncio
import socket

from structured_bandits.service.server import ListenAddress, listen


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """Without uvloop each answer took 40 ms: its body waited until its headers were acknowledged."""

    async def meet() -> bool:
        met: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            own: socket.socket = writer.get_extra_info("socket")
            met.set_result(bool(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        listening = listen(ListenAddress(port=0))
        async with await asyncio.start_server(look, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            said = await met
            writer.close()
            await writer.wait_closed()
        return said

    assert asyncio.run(meet())
