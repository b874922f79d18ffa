"""The starts of many runs at once are those that NumPy's SeedSequence and PCG64 give one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from structured_bandits.simulation import generator, seeding

SEEDS = (0, 1, 2**31, 2**32 - 1, 2**32, 2**52 - 1, 2**64 - 1, 2**64, 2**96 + 5, 2**127, 2**128 - 1)
LONG_SEEDS = (2**128, 2**160 + 2**31, 10**60, 3**500)
KEYS = ((), (0,), (1,), (2**32 - 1,), (0, 0), (7, 2**31, 5))
RUNS = (range(2), range(60), range(2**31 - 3, 2**31 + 3), range(2**32 - 9, 2**32 - 1))


def by_numpy(seed: int, run: int, key: tuple[int, ...]) -> list[int]:
    source = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(run, *key)))
    state: Any = source.state["state"]
    low = 2**64 - 1
    return [state["state"] & low, state["state"] >> 64, state["inc"] & low, state["inc"] >> 64]


@pytest.mark.parametrize("seed", [*SEEDS, *LONG_SEEDS])
def test_starts_are_those_of_numpy(seed: int) -> None:
    for key in KEYS:
        for runs in RUNS:
            rows = seeding._pcg_starts(seeding._seed_words(seeding._pools(seed, runs, key)))
            assert rows.tolist() == [by_numpy(seed, run, key) for run in runs]
            assert np.array_equal(seeding.starts_of(seed, runs, *key), rows)


@pytest.mark.parametrize(
    "runs", [range(5, 6), range(2**32 - 3, 2**32 + 3), range(2**40, 2**40 + 4)]
)
def test_numbers_of_more_than_a_word_start_as_numpy_says(runs: range) -> None:
    rows = seeding.starts_of(3, runs, 99)
    assert rows.tolist() == [by_numpy(3, run, (99,)) for run in runs]


@pytest.mark.parametrize("name", ["MIX_LEFT", "PCG_LOW"])
def test_should_numpy_change_its_own_starts_are_taken(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As if NumPy's constants were others than ours."""
    usual = seeding.starts_of(11, range(20), 4)
    monkeypatch.setattr(seeding, name, getattr(seeding, name) ^ type(getattr(seeding, name))(8))
    assert not np.array_equal(
        seeding._pcg_starts(seeding._seed_words(seeding._pools(11, range(20), (4,)))), usual
    )
    assert np.array_equal(seeding.starts_of(11, range(20), 4), usual)


def test_a_generator_set_to_a_start_draws_what_one_made_for_the_run_draws() -> None:
    rng = generator.fresh_generator()
    layout = generator.known_layout(rng)
    assert layout is not None
    starts = generator.run_starts(layout, 8, range(3, 9), "SAE")
    for place, run in enumerate(range(3, 9)):
        rng.integers(5)  # leaves half a number behind
        generator.set_generator(starts.memory, starts.words[place])
        made = np.random.Generator(generator.start_of_run(8, run, "SAE"))
        assert rng.integers(1000, size=7).tolist() == made.integers(1000, size=7).tolist()
        assert rng.random() == made.random()
