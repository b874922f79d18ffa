"""Write docs/http.md: all endpoints of the service, as it knows them, with an example of each.

python tools/http_page.py
"""

from __future__ import annotations

import inspect
import json
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from structured_bandits.service.http import problems
from structured_bandits.service.http.endpoints import ENDPOINTS, ONE, Endpoint
from structured_bandits.service.refusals import Refusal
from structured_bandits.service.wire import Answer, Done, Request

PAGE = Path(__file__).parent.parent / "docs" / "http.md"
ADDRESS = "http://127.0.0.1:8321"
REFUSALS = """A request that is refused has changed nothing. The answer says why, as
`application/problem+json`: `type`, `title`, `status`, `detail` (a sentence for people) and `recorded`
(the reward that stands, where another one was told). With 429 and 503, the header `Retry-After` says
after how many seconds to try again."""
SPEC = {
    "structure": {
        "kind": "finite",
        "means": [[0.12, 0.04], [0.03, 0.11]],
        "arms": ["voucher", "gift"],
    },
    "policy": {"kind": "SAE"},
    "horizon": 1000,
}
#: Contents of the example of each endpoint, and a request that comes before it.
EXAMPLES: dict[str, Any] = {
    "create": {"spec": SPEC},
    "ask": {"key": "visitor-1", "available": ["voucher", "gift"]},
    "tell": [{"key": "visitor-1", "reward": 1}],
    "cancel": {"key": "visitor-2"},
    "activate": {"key": "visitor-3"},
    "hand out": {"limit": 100, "key": "newsletter-1"},
    "results": {"pulls": [3, 4], "sums": [1, 0], "key": "newsletter-1, Monday"},
    "learn": {"pulls": [40, 60], "sums": [5, 3], "key": "last year"},
    "new version": {"spec": {**SPEC, "horizon": 2000}, "carry": {"without": [[3, 5]]}, "key": "v2"},
    "pause": {},
    "resume": {},
    "park": {"arm": "gift", "parked": True},
    "new token": {"name": "shop", "role": "ask", "experiments": ["offers"]},
    "confirm clock": {},
}
BEFORE = {"cancel": {"key": "visitor-2"}, "activate": {"key": "visitor-3", "defer": True}}
#: What an example cannot know, and where it stands in the answer to another.
NOTES = {
    "new token": "The first token of a server must be one of role admin, for all experiments "
    '(`{"name": "me", "role": "admin"}`). From then on each request needs a token.',
}
UNKNOWN = {
    "batch": "`BATCH` is the `id` in the answer above.",
    "token": "`TOKEN` is the `id` of the token.",
}
QUERIES = {
    "after": "only rows after this one",
    "limit": "at most so many rows (1,000 if not given, 10,000 at most)",
    "version": "of this version (the current one if not given)",
}
WORDS = {
    "IntType": "whole number",
    "FloatType": "number",
    "StrType": "text",
    "BoolType": "true or false",
    "NoneType": "null",
    "AnyType": "anything",
    "DictType": "object",
}
PLURALS = {
    "whole number": "whole numbers",
    "number": "numbers",
    "text": "texts",
    "pair": "pairs",
    "text or whole number": "names or indices",
}


#: Answers with more fields than this are not listed on the page.
MANY = 12


def page(before: str) -> str:
    """Return the whole page; its introduction is kept as it was before."""
    introduction = before.partition("\n## ")[0].rstrip("\n")
    parts = [f"{introduction}\n", *map(section, ENDPOINTS)]
    of_all = Refusal.__subclasses__() + problems.HttpProblem.__subclasses__()
    kinds = sorted(set(of_all) - {problems.HttpProblem}, key=lambda kind: kind.status)
    statuses = "".join(f"| {kind.status} | {kind.title} |\n" for kind in kinds)
    table = f"| status | what it means |\n|---|---|\n{statuses}"
    return "\n".join([*parts, f"## Refusals\n\n{wrapped(REFUSALS)}\n\n{table}"])


def role(endpoint: Endpoint) -> str:
    """Return who may call an endpoint."""
    return endpoint.role or "anybody"


def section(endpoint: Endpoint) -> str:
    """Return what the page says of an endpoint."""
    lines = [
        f"## {endpoint.summary}",
        "",
        f"`{endpoint.method} {endpoint.path}`, role: {role(endpoint)}",
    ]
    for record in records(endpoint.takes, Request):
        if taken := fields(record):
            lines += ["", wrapped(f"*Takes* {taken}. {prose(record)}")]
    if endpoint.query:
        asked = "; ".join(f"`{name}`: {QUERIES[name]}" for name in endpoint.query)
        lines += ["", wrapped(f"*In the query*, after a question mark: {asked}.")]
    for record in records(endpoint.gives, Answer):
        named = msgspec.structs.fields(record)
        names = ", ".join(f"`{each.name}`" for each in named)
        names = (
            names if len(named) <= MANY else f"{len(named)} fields, which `/v1/openapi.json` lists"
        )
        said = "" if record is Done else f" {prose(record)}"
        lines += ["", wrapped(f"*Gives* {names}.{said}")]
    lines += ["", "```sh", *commands(endpoint), "```", ""]
    if endpoint.label in NOTES:
        lines.append(f"{wrapped(NOTES[endpoint.label])}\n")
    lines += [f"{text}\n" for name, text in UNKNOWN.items() if f"{{{name}}}" in endpoint.path]
    return "\n".join(lines)


def records(annotation: Any, kind: type) -> list[Any]:
    """Return the records of a body: none, one, or that of a list."""
    if annotation is None:
        return []
    if isinstance(annotation, type) and issubclass(annotation, kind):
        return [annotation]
    return [each for each in annotation.__args__ if isinstance(each, type)]


def prose(record: Any) -> str:
    """Return the docstring of a record as one paragraph."""
    said = " ".join((inspect.getdoc(record) or "").split())
    return said + (" A list of these is accepted, too." if record.__name__ == "Reward" else "")


def wrapped(text: str) -> str:
    """Return a paragraph in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def fields(record: Any) -> str:
    """Return the fields of a record with their types, and what they are if not given."""
    said = []
    for each in msgspec.structs.fields(record):
        words = type_words(msgspec.inspect.type_info(each.type))
        default = "" if each.required else f", else `{json.dumps(default_of(each))}`"
        said.append(
            f"`{each.name}` ({words}{default})".replace(" or null, else `null`", ", or null")
        )
    return ", ".join(said)


def default_of(field: Any) -> Any:
    """Return the value of a field that is not given, as JSON has it."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return msgspec.to_builtins(field.default_factory())


def type_words(kind: Any) -> str:
    """Return a type in words."""
    name = type(kind).__name__
    if name == "UnionType":
        return " or ".join(dict.fromkeys(map(type_words, kind.types)))
    if name in ("ListType", "CollectionType"):
        item = type_words(kind.item_type)
        return f"list of {PLURALS.get(item, item)}"
    if name == "TupleType":
        return "pair"
    if name == "LiteralType":
        return ", ".join(f"`{json.dumps(value)}`" for value in kind.values)
    if name == "StructType":
        return f"object with {', '.join(f'`{each.name}`' for each in kind.fields)}"
    return WORDS[name]


def commands(endpoint: Endpoint) -> list[str]:
    """Return the lines of the example of an endpoint."""
    lines = []
    if endpoint.label in BEFORE:
        asked = json.dumps(BEFORE[endpoint.label])
        lines.append(f"curl --json '{asked}' {ADDRESS}{ONE.format(name='offers')}/ask")
    path = endpoint.path.format(name="offers", batch="BATCH", token="TOKEN")
    if endpoint.label == "events":
        path += "?after=2"
    method = "" if endpoint.method in ("GET", "POST") else f"--request {endpoint.method} "
    content = EXAMPLES.get(endpoint.label)
    sent = "" if content is None else f"--json '{json.dumps(content)}' "
    address = f"{ADDRESS}{path}"
    return [*lines, f"curl {method}{sent}{repr(address) if '?' in path else address}"]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
