"""What the service is measured beside: servers that do less, under the same uvicorn.

`bare` answers at once and writes nothing: as fast as any server here could be, so it shows how many
requests the clients can send. `fastapi` and `starlette` write one row for each request into an SQLite
file like that of the service, with a commit each, and know nothing of bandits. They commit in the event
loop: commits of one file happen one by one anyway, and threads would only add to the work.

python benchmarks/service_apps.py fastapi /tmp/rows.db
"""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

ANSWER = json.dumps({"outcomes": [{"id": "0123456789ab-123456", "status": "recorded"}]}).encode()
LENGTH = b"%d" % len(ANSWER)


def bare(file: str) -> Any:
    """Return an application that reads the body and answers."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", b"application/json"), (b"content-length", LENGTH)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": ANSWER})

    return app


def rows_into(file: str) -> Callable[[float], None]:
    """Return what writes a row and commits it, as durably as the service does."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("CREATE TABLE reward(id INTEGER PRIMARY KEY, value REAL NOT NULL)")

    def write(value: float) -> None:
        connection.execute("INSERT INTO reward(value) VALUES (?)", (value,))  # commits by itself

    return write


def fastapi(file: str) -> Any:
    """Return the endpoint that most people would write."""
    from fastapi import FastAPI  # in an environment of its own
    from pydantic import BaseModel

    class Reward(BaseModel):
        reward: float

    app, write = FastAPI(), rows_into(file)

    async def tell(told: Reward) -> dict[str, str]:
        write(told.reward)
        return {"status": "recorded"}

    tell.__annotations__["told"] = Reward  # a text here, which FastAPI could not look up
    app.post("/tell")(tell)
    return app


def starlette(file: str) -> Any:
    """Return the same endpoint without FastAPI, where that cannot be installed."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    write = rows_into(file)

    async def tell(request: Request) -> JSONResponse:
        write(float((await request.json())["reward"]))
        return JSONResponse({"status": "recorded"})

    return Starlette(routes=[Route("/tell", tell, methods=["POST"])])


def main(kind: str, file: str) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    app = {"bare": bare, "fastapi": fastapi, "starlette": starlette}[kind](file)
    print(f"serving on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
