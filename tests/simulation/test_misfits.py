"""Tests of structures are kept while their structures live, and never taken for those of others."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.simulation import misfits as cache


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    cache._kept.clear()
    yield
    cache._kept.clear()


def test_a_second_policy_on_a_structure_gets_the_test_of_the_first() -> None:
    structure = sb.FiniteStructure([[0.2, 0.7], [0.6, 0.1]])
    first = cache.cached_test(structure, 0.0, 1.0, 0.5, quick=True)
    assert first == misfit_test(structure, 0.0, 1.0, 0.5, quick=True)
    assert cache.cached_test(structure, 0.0, 1.0, 0.5, quick=True) is first


def test_another_range_is_another_test() -> None:
    structure = sb.FiniteStructure([[0.2, 0.7], [0.6, 0.1]])
    cache.cached_test(structure, 0.0, 1.0, 0.5, quick=True)
    other = cache.cached_test(structure, -1.0, 1.0, 1.0, quick=True)
    assert other == misfit_test(structure, -1.0, 1.0, 1.0, quick=True)


def test_equal_tables_with_other_weights_have_tests_of_their_own() -> None:
    means = [[0.2, 0.7], [0.6, 0.1]]
    plain, weighted = sb.FiniteStructure(means), sb.FiniteStructure(means, prior=[1.0, 3.0])
    tests = [cache.cached_test(each, 0.0, 1.0, 0.5, quick=True) for each in (plain, weighted)]
    assert tests[0] != tests[1]


def test_a_structure_in_the_place_of_a_dead_one_has_its_own_test() -> None:
    """Addresses are used again, so many structures live one after the other here."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        structure = sb.FiniteStructure(rng.random((2, 3)))
        test = cache.cached_test(structure, 0.0, 1.0, 0.5, quick=True)
        assert test == misfit_test(structure, 0.0, 1.0, 0.5, quick=True)
    del structure
    gc.collect()
    assert not cache._kept


def test_an_answer_that_there_is_no_test_is_kept_too() -> None:
    polytope = sb.linear([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], bounds=(0.0, 1.0))
    assert cache.cached_test(polytope, 0.0, 1.0, 0.5, quick=True) is None
    assert cache.cached_test(polytope, 0.0, 1.0, 0.5, quick=True) is None
    assert len(cache._kept) == 1


def test_large_tables_are_not_kept_and_never_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_ENTRIES", 6)
    monkeypatch.setattr(cache, "MOST", 3)
    large = sb.FiniteStructure(np.full((4, 2), 0.5))
    assert cache.cached_test(large, 0.0, 1.0, 0.5, quick=True) is not None
    assert not cache._kept
    structures = [sb.FiniteStructure([[0.1 * number, 0.5]]) for number in range(8)]
    for structure in structures:
        cache.cached_test(structure, 0.0, 1.0, 0.5, quick=True)
        assert len(cache._kept) <= 3
