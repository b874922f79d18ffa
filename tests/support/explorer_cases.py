"""Structures of every kind that the explorer shows, and requests to it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from support.asgi import Reply, request

import structured_bandits as sb
from structured_bandits.service.ui.explorer.command import explorer_app

SHOP = sb.FiniteStructure(  # the table of README
    [[0.12, 0.04, 0.08, 0.05], [0.03, 0.11, 0.08, 0.02], [0.02, 0.03, 0.07, 0.14]],
    arms=["voucher", "gift", "free delivery", "two for one"],
    models=["students", "families", "tourists"],
)
FOUR = sb.FiniteStructure(  # the right-hand structure of the paper's Figure 1
    [[0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.84, 0.1], [0.8, 0.7, 0.4, 0.88], [0.8, 0.92, 0.6, 0.5]]
)
CURVE = sb.CurveStructure(
    [sb.Piece(0, 1, [0.9, 0.5, 0.2], [0.1, 0.5, 0.7], closed="both")], arms=["a", "b", "c"]
)
STRUCTURES = {
    "table": SHOP,
    "curve": CURVE,
    "boxes": sb.around([[0.2, 0.3], [0.4, 0.1]], 0.05),
    "linear": sb.linear([[0.1, 0.4], [0.5, 0.2], [0.3, 0.3]], bounds=(0.0, 0.9)),
    "unimodal": sb.unimodal(4),
    "mixtures": sb.mixtures(SHOP),
    "product": sb.product([FOUR, sb.FiniteStructure([[0.5, 0.3], [0.2, 0.1]])]),
    "one arm": sb.FiniteStructure([[0.5], [0.6]]),
    "one model": sb.FiniteStructure([[0.5, 0.6]]),
    "ties": sb.FiniteStructure([[0.5, 0.5], [0.2, 0.7], [0.0, 1.0]]),
    "wide": sb.FiniteStructure([[10.0, 40.0], [30.0, 20.0]], reward_range=(0.0, 100.0)),
}


def fetched(structure: Any, path: str = "/", **query: Any) -> Reply:
    """What the explorer of a structure answers to a request with this query."""
    return answered(explorer_app(structure, "types.csv"), path, urlencode(query))


def answered(app: Any, path: str, query: str) -> Reply:
    return request(_asked(app, query), path=path)


def _asked(app: Any, query: str) -> Any:
    async def asked(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "query_string": query.encode(), "root_path": ""}, receive, send)

    return asked


def page(structure: Any, **query: Any) -> str:
    reply = fetched(structure, **query)
    assert reply.status == 200, reply.body.decode()
    return reply.body.decode()
