"""What could be read in two ways is refused: a key given twice in JSON, an id written in another way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asgi import Reply, answer, scope_of
from support.owned import NAME, Shop, answered
from support.service_process import SHOP

from structured_bandits.service import wire
from structured_bandits.service.http.api import application
from structured_bandits.service.http.bodies import check_doubled
from structured_bandits.service.http.endpoints import ENDPOINTS, Endpoint
from structured_bandits.service.http.problems import Malformed
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.lifecycle import new_version

READING = [endpoint for endpoint in ENDPOINTS if endpoint.takes is not None]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    found = Shop(tmp_path)
    found.create(SHOP)
    yield found
    found.close()


def post(shop: Shop, path: str, body: str, method: str = "POST") -> Reply:
    app = application(shop.registry, Hosts("127.0.0.1"))
    return asyncio.run(answer(app, scope_of(method=method, path=path), [body.encode()]))


@pytest.mark.parametrize("endpoint", READING, ids=lambda endpoint: endpoint.label)
def test_a_key_given_twice_is_refused_wherever_a_body_is_read(
    shop: Shop, endpoint: Endpoint
) -> None:
    """`{"reward":1,"reward":0}` was 200, and the last one counted."""
    fields = [*getattr(endpoint.takes, "__struct_fields__", ()), "reward", "any"]
    path = endpoint.path.format(name=NAME, batch="x")
    reply = post(shop, path, f'{{"{fields[0]}": 1, "{fields[0]}": 1}}', endpoint.method)
    assert reply.status == 400
    assert json.loads(reply.body)["detail"] == f"The key {fields[0]!r} is given twice in an object."


BODIES = [
    '{"reward": 1, "reward": 0, "id": ID}',
    '[{"reward": 1, "id": ID}, {"reward": 1, "reward": 1, "id": ID}]',
    r'{"reward": 1, "\u0072eward": 0, "id": ID}',
    '{"reward" : 1, "id": ID, "reward"\n:\t0}',
    '{"reward": 1, "id": ID, "id": ID}',
]


@pytest.mark.parametrize("body", BODIES)
def test_a_reward_told_in_two_ways_is_not_recorded(shop: Shop, body: str) -> None:
    decision = shop.ask_one()
    path, named = f"/v1/experiments/{NAME}/tell", json.dumps(decision.id)
    assert post(shop, path, body.replace("ID", named)).status == 400
    assert shop.life().agent.rewards == 0
    assert post(shop, path, f'{{"reward": 1, "id": {named}}}').status == 200


def test_a_key_given_twice_deep_in_a_specification_is_refused(shop: Shop) -> None:
    body = json.dumps({"spec": SHOP}).replace('"kind": "SAE"', '"kind": "SAE", "kind": "SUCB"')
    assert post(shop, "/v1/experiments/new", body, "PUT").status == 400
    assert "new" not in shop.registry.experiments


TEXTS = st.text(alphabet='ab":{}[],\\\x7fé\u2028', max_size=4)
KEYS = st.sampled_from(["a", "b", "c:", '"', "\\"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), TEXTS)
#: Lists of pairs stand for objects, in which a key may come twice.
TREES = st.recursive(
    LEAVES.filter(lambda leaf: leaf == leaf and leaf not in (float("inf"), float("-inf"))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(st.tuples(KEYS, inner), max_size=4).map(tuple)
    ),
    max_leaves=8,
)


def written(tree: Any) -> str:
    if isinstance(tree, tuple):
        return "{" + ", ".join(f"{json.dumps(key)} : {written(each)}" for key, each in tree) + "}"
    if isinstance(tree, list):
        return f"[{','.join(map(written, tree))}]"
    return json.dumps(tree)


def doubled(tree: Any) -> bool:
    if isinstance(tree, tuple):
        keys = [key for key, _ in tree]
        return len(set(keys)) < len(keys) or any(doubled(each) for _, each in tree)
    return isinstance(tree, list) and any(map(doubled, tree))


@given(TREES)
def test_only_bodies_with_doubled_keys_are_refused(tree: Any) -> None:
    body = written(tree).encode()
    msgspec.json.decode(body)  # what is checked is JSON
    if doubled(tree):
        with pytest.raises(Malformed, match="is given twice"):
            check_doubled(body)
    else:
        check_doubled(body)


def spellings(public: str) -> list[str]:
    uid, _, number = public.rpartition("-")
    sign = "p" if number.startswith("p") else ""
    digits = number.removeprefix("p")
    others = [f"0{digits}", f"+{digits}", f"{digits}.0", f" {digits}", f"{digits} ", f"{digits}\n"]
    others += [chr(0x660 + int(digits[0])) + digits[1:], f"-{digits}", f"p{number}", f"1_{digits}"]
    changed = [f"{uid}-{sign}{each}" for each in others]
    return [*changed, f" {public}", f"{public} ", public.upper() + "x", f"{uid}--{number}"]


def test_ids_are_those_that_the_server_writes(shop: Shop) -> None:
    """`…-09` named decision 9."""
    decisions = shop.ask(n=9).content.decisions
    batch = shop.call(lambda registry: registry.find(NAME).hand_out(wire.HandOut(limit=3))).content
    results = wire.BatchResults(pulls=batch.pulls, sums=[0.0, 0.0, 0.0], key="once")
    for other in spellings(decisions[-1].id):
        assert shop.tell((other, 1.0)).status == 404, other
    for other in spellings(batch.id):
        found = answered(lambda other=other: shop.registry.find(NAME).results(other, results))
        assert found.status == 404, other
    assert shop.tell((decisions[-1].id, 1.0)).status == 200
    assert answered(lambda: shop.registry.find(NAME).results(batch.id, results)).status == 200


def test_a_reward_by_key_goes_to_the_newest_version_that_knows_the_key(shop: Shop) -> None:
    """As docs/http.md says: an id always means the same decision, a key the last one under it."""
    first, left = shop.ask_one(key="visitor"), shop.ask_one(key="left")
    shop.call(
        lambda registry: new_version(
            registry.find(NAME), wire.NewVersion(spec={**SHOP, "horizon": 99})
        )
    )
    second = shop.ask_one(key="visitor")

    def told(reward: wire.Reward) -> Any:
        return shop.call(lambda registry: registry.find(NAME).tell([reward])).content.outcomes[0]

    assert first.id != second.id
    assert told(wire.Reward(key="visitor", reward=1.0)).id == second.id
    assert told(wire.Reward(key="left", reward=1.0)).id == left.id
    assert told(wire.Reward(id=first.id, reward=0.0)).status == "recorded"


def test_a_large_body_is_looked_through_once() -> None:
    """Thirty thousand keys of which one was doubled took 15 seconds, in which nobody was answered."""
    keys = [f'"k{number}": 0' for number in range(100_000)]
    check_doubled(f"{{{', '.join(keys)}}}".encode())
    with pytest.raises(Malformed, match="The key 'k99999' is given twice"):
        check_doubled(f"{{{', '.join([*keys, keys[-1]])}}}".encode())
