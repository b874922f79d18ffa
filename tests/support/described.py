"""The service against its own OpenAPI description: requests that schemathesis makes of it, sent for real.

Half of the names, ids and keys are replaced by ones that exist, or all answers would be 404; and a
specification is a right one in which a single value was replaced.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.owned import TABLE, Time, in_memory
from support.serving import serving

from structured_bandits.service.http.api import application
from structured_bandits.service.http.endpoints import ENDPOINTS
from structured_bandits.service.http.openapi import description
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.store.sqlite import SqliteStore

LABELS = [endpoint.label.replace(" ", "_") for endpoint in ENDPOINTS]
TAKING = [  # with which something can be wrong
    label
    for label, endpoint in zip(LABELS, ENDPOINTS, strict=True)
    if endpoint.takes is not None or endpoint.query or "{" in endpoint.path
]
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SPEC: dict[str, Any] = {
    "structure": TABLE,
    "policy": {"kind": "SAE", "alpha": 2.0},
    "horizon": 10_000,
    "order": "drawn",
    "seed": 3,
    "default_arm": "tea",
    "control": {"arm": "tea", "share": 0.1},
    "audit": {"share": 0.1},
    "alarm": {"level": 0.01, "fallback": "none"},
    "reward": {"window": "60s", "missing": "cancel", "late": "learn"},
    "start": {"pulls": [2, 1, 0], "sums": [1.5, 0.25, 0.0], "force": True},
}
NAMES = ("windowed", "plain", "none.such")
MOSTLY = st.sampled_from((True, True, True, True, False))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@cache
def operations() -> dict[str, Any]:
    """Return what schemathesis knows of each operation."""
    found = (
        each.ok() for each in schemathesis.openapi.from_dict(description()).get_all_operations()
    )
    return {each.definition.raw["operationId"]: each for each in found}


class Described:
    """A running service, its description, and what is known of it so far."""

    def __init__(self, registry: Registry, address: str) -> None:
        self.registry = registry
        self.address = address
        self.session = requests.Session()
        self.operations = operations()
        self.ids: dict[str, list[str]] = {name: [] for name in NAMES}
        self.statuses: Counter[tuple[str, int]] = Counter()
        made = self._post("/v1/tokens", {"name": "tests", "role": "admin"})
        self.session.headers["Authorization"] = f"Bearer {made['text']}"
        self._post("/v1/tokens", {"name": "to be revoked", "role": "read"})
        self.session.put(f"{address}/v1/experiments/windowed", json={"spec": SPEC})
        plain = {key: value for key, value in SPEC.items() if key != "reward"}
        self.session.put(f"{address}/v1/experiments/plain", json={"spec": plain})
        for name in NAMES[:2]:
            asked = self._post(f"/v1/experiments/{name}/ask", {"n": 20})
            self.ids[name] += [each["id"] for each in asked["decisions"]]
        self.batches = [self._post("/v1/experiments/plain/plan", {"limit": 20})["id"]]

    def _post(self, path: str, content: Any) -> Any:
        answer = self.session.post(self.address + path, json=content)
        assert answer.ok, answer.text
        return answer.json()

    def heads(self) -> dict[str, Any]:
        """Return how far everything has come: nothing may go on for a request that is refused."""
        found: dict[str, Any] = {
            name: [(v.uid, v.row.head if v.state is None else v.state.seq) for v in served.versions]
            for name, served in self.registry.experiments.items()
        }
        return found | {"tokens": [(each.id, each.revoked_at) for each in self.registry.tokens]}

    def send(self, case: Any, label: str) -> None:
        """Send a request, and check the answer."""
        before = self.heads()
        answer = case.call(base_url=self.address, session=self.session)
        self.statuses[label, answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            assert self.heads() == before, "something was refused, and has changed something"
        elif label == "ask":
            name = case.path_parameters["name"]
            self.ids[name] += [each["id"] for each in answer.json()["decisions"]][:3]
        elif label == "hand_out":
            self.batches.append(answer.json()["id"])

    def made_likelier(self, case: Any, label: str, data: st.DataObject) -> None:
        """Let a request name what exists."""
        draw, path = data.draw, case.path_parameters or {}
        known = {
            "name": (*("plain",) * 3, *NAMES) if "batch" in path else (*NAMES[:2] * 3, *NAMES),
            "batch": self.batches[-5:],
            "token": [token.id for token in self.registry.tokens if token.name != "tests"]
            or ["none"],
        }
        for key in path:
            path[key] = draw(st.sampled_from((*known[key], path[key])))
        ids = self.ids.get(path.get("name", ""), [])
        named = label in ("tell", "cancel", "activate")
        for each in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(each, dict):
                self._fill(each, ids, named, draw)

    def _fill(self, record: dict[str, Any], ids: list[str], named: bool, draw: Any) -> None:
        """Replace values of a record by ones that exist, mostly; `named`: it names a decision."""
        if named and draw(MOSTLY):
            record["id"] = draw(st.sampled_from((*ids[-60:], "0123456789ab-0")))
            record.pop("key", None)
        if "spec" in record:
            record["spec"] = draw(specs())
        likely = {
            "reward": st.sampled_from((0.0, 0.5, 1.0)),
            "arm": st.sampled_from(("tea", "coffee", 2)),
            "available": st.lists(st.sampled_from(("tea", "coffee", 2)), min_size=1),
            "pulls": st.lists(st.integers(1, 2), min_size=3, max_size=3),
            "sums": st.lists(st.integers(0, 1), min_size=3, max_size=3),
            "squares": st.none(),
        }
        for key in sorted(likely.keys() & record.keys()):
            if draw(MOSTLY):
                record[key] = draw(likely[key])


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Return a right specification in which one value, or none, was replaced by anything."""
    spec = copy.deepcopy(SPEC)
    place: dict[str, Any] = spec
    key = draw(st.sampled_from(sorted(spec)))
    if isinstance(place[key], dict) and draw(st.booleans()):
        place = place[key]
        key = draw(st.sampled_from(sorted(place)))
    change = draw(st.sampled_from(("none", "other", "gone")))
    if change == "other":
        place[key] = draw(ANYTHING)
    elif change == "gone":
        del place[key]
    return spec


@contextmanager
def described() -> Iterator[Described]:
    """Run a service with two experiments."""
    with in_memory() as folder:
        registry = Registry(SqliteStore(folder / "bandits.db"), Time().clock())
        registry.open()
        try:
            with serving(application(registry, Hosts("127.0.0.1"))) as address:
                yield Described(registry, address)
        finally:
            registry.close()


def call_often(running: Described, label: str, examples: int, number: int, wrong: bool) -> None:
    """Send requests to one operation: such as it takes, or (`wrong`) such as it does not."""
    mode = GenerationMode.NEGATIVE if wrong else GenerationMode.POSITIVE
    strategy = running.operations[label].as_strategy(generation_mode=mode)

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(data=st.data())
    def send(data: st.DataObject) -> None:
        case = data.draw(strategy)
        if not wrong:
            running.made_likelier(case, label, data)
        running.send(case, label)

    send()


def soak_described(seconds: float, first_seed: int = 0, examples: int = 50) -> int:
    """Send requests to all operations for some time; return how many were answered."""
    until, number = time.monotonic() + seconds, first_seed
    with described() as running:
        while time.monotonic() < until:
            for wrong, labels in ((False, LABELS), (True, TAKING)):
                for label in labels:
                    if time.monotonic() < until:
                        call_often(running, label, examples, number, wrong)
            number += 1
        return running.statuses.total()
