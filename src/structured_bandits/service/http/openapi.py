"""The OpenAPI description of the service, from its endpoints."""

from __future__ import annotations

import re
from typing import Any

import msgspec

import structured_bandits
from structured_bandits.service import wire
from structured_bandits.service.http.endpoints import ENDPOINTS, NDJSON, Endpoint
from structured_bandits.service.http.problems import MEDIA_TYPE

#: What every endpoint may answer, besides its own.
REFUSALS = {
    400: "The request cannot be read.",
    401: "A token is needed.",
    403: "The token may not do this.",
    404: "There is no such thing.",
    409: "This contradicts what is recorded.",
    413: "The request is too large.",
    421: "This server does not answer for that host.",
    422: "The content is not acceptable.",
    429: "Too many requests.",
    503: "The service cannot do this now.",
}
OWN = {200: "Done.", 201: "Made.", 304: "Nothing has changed.", 503: "It does not."}
NAMES = {"name": r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"}


def description() -> dict[str, Any]:
    """Return the description, as OpenAPI 3.1."""
    records = [each for one in ENDPOINTS for each in (one.takes, one.gives) if each is not None]
    schemas, components = msgspec.json.schema_components(
        [*records, wire.Problem], ref_template="#/components/schemas/{name}"
    )
    of = iter(schemas)
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        takes = next(of) if endpoint.takes is not None else None
        operation = _operation(endpoint, takes, next(of))
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    bearer = {"type": "http", "scheme": "bearer", "description": "sb_…, if the server has tokens"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "structured-bandits: decision service",
            "version": structured_bandits.__version__,
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": bearer}},
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint, takes: Any, gives: Any) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": 100}
            | ({"pattern": NAMES[name]} if name in NAMES else {}),
        }
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    parameters += [
        {
            "name": name,
            "in": "query",
            "schema": {"type": "integer", "minimum": 0, "maximum": 10**15},
        }
        for name in endpoint.query
    ]
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": endpoint.label.replace(" ", "_"),
        "parameters": parameters,
        "responses": _responses(endpoint, gives),
    }
    if takes is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": takes}},
        }
    return operation


def _responses(endpoint: Endpoint, gives: Any) -> dict[str, Any]:
    media = NDJSON if endpoint.label == "events" else "application/json"
    found = {"content": {media: {"schema": gives}}}
    problem = {"$ref": "#/components/schemas/Problem"}
    refused = {"content": {MEDIA_TYPE: {"schema": problem}}}
    answers = {200: {"description": OWN[200], **found}}
    for status, text in REFUSALS.items():
        answers[status] = {"description": text, **refused}
    for status in endpoint.statuses:
        if status in OWN:
            empty = status == 304
            answers[status] = {"description": OWN[status], **({} if empty else found)}
    return {str(status): answer for status, answer in sorted(answers.items())}
