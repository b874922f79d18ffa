"""An agent is a function of its events: reading, saving and restoring it change no later decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import draw_case
from support.events import Policies, names_on, random_script, replay

import structured_bandits as sb


def on_table(index: int, rng: np.random.Generator) -> Any:
    return draw_case(70, index, "finite", full_size=False).structure


def on_curves(index: int, rng: np.random.Generator) -> Any:
    return draw_case(71, index, "curves", full_size=False).structure


FEATURES = np.random.default_rng(3).normal(size=(5, 3)).round(3)
SHARED: dict[str, list[Any]] = {
    "closed forms": [
        sb.unimodal(4),
        sb.lipschitz([0.0, 0.3, 0.5, 1.0], 0.8),
        sb.unstructured(3),
        sb.monotone(4),
    ],
    "programs": [
        sb.linear(FEATURES[:4] / 4, low=0.0, high=1.0),
        sb.concave([0.0, 1.0, 2.0, 4.0]),
        sb.linear(np.abs(FEATURES[:, :2]) / 8, bounds=(0.0, 1.0)),
    ],
    "products": [
        sb.product([sb.FiniteStructure([[0.9, 0.2], [0.3, 0.6]]), sb.unimodal(3)]),
        sb.product(
            [
                sb.lipschitz([0.0, 0.5, 1.0], 0.6),
                sb.linear(np.abs(FEATURES[:3, :2]) / 8, bounds=(0.0, 1.0)),
            ]
        ),
        sb.product([sb.CurveStructure([sb.Piece(0, 1, [0.1, 0.8], [0.9, 0.3])]), sb.monotone(2)]),
    ],
}


def shared(kind: str) -> Callable[[int, np.random.Generator], Any]:
    """Structures that all sequences have in common, and all agents of a sequence too."""
    return lambda index, rng: SHARED[kind][index % len(SHARED[kind])]


KINDS = {
    "tables": (on_table, 380, 30),  # how many sequences, of how many events
    "curves": (on_curves, 300, 26),
    "closed forms": (shared("closed forms"), 180, 22),
    "programs": (shared("programs"), 162, 16),
    "products": (shared("products"), 162, 16),
}


def test_there_are_at_least_1000_sequences() -> None:
    assert sum(sequences for _, sequences, _ in KINDS.values()) >= 1000


@pytest.mark.parametrize("kind", KINDS)
def test_replayed_read_or_restored_an_agent_plays_the_same(kind: str) -> None:
    build, sequences, events = KINDS[kind]
    met: Counter[str] = Counter()
    played: Counter[str] = Counter()
    for index in range(sequences):
        rng = np.random.default_rng([72, index])
        structure = build(index, rng)
        names = names_on(structure)
        name = names[(index // len(SHARED.get(kind, [0]))) % len(names)]
        alpha, horizon = float(rng.choice([0.03125, 0.125, 0.5, 2.0])), int(rng.integers(2, 5000))
        policies = Policies(structure)
        script = random_script(rng, structure.n_arms, rng.random(structure.n_arms))
        replayed = replay(partial(policies.named, name, alpha, horizon), script, events, rng)
        assert not replayed.difference, f"{kind} {index}, {name}: {replayed.difference}"
        met += replayed.met
        played[name] += 1
    assert set(played) == set(names_on(build(0, np.random.default_rng(0))))
    assert min(played.values()) >= 16
    assert met["sequences"] == sequences
    # What makes it hard is met often enough: if not, the sequences have become tame.
    for what, share in (
        ("restored", 0.25),
        ("tell", 0.2),
        ("late", 0.01),
        ("cancel", 0.01),
        ("learn", 0.03),
        ("extra", 0.05),
        ("long_plans", 0.1),
        ("eliminated", 0.1),
        ("restricted", 0.005),
        ("waiting", 0.1),
        ("ahead", 0.02),
        ("park", 0.005),
        ("unpark", 0.001),
        ("expired", 0.001),
    ):
        assert met[what] >= share * met["events"], (what, met)
    assert met["empty"] >= 0.02 * sequences, met
