"""Tests of structures, kept while their structures live: several policies play on one structure.

Building a test takes as long as looking at a run, and it is the same for all policies with one range of
rewards. Structures are known by their identity, since comparing them takes a hash of all their models.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.structures.base import Structure

MOST = 256  # tests that are kept
MOST_ENTRIES = 1 << 14  # of one that is kept: it takes 16 bytes for each

Question = tuple[float, float, float, bool]


class _Kept(NamedTuple):
    structure: weakref.ref[Structure]
    question: Question
    test: MisfitTest | None


_kept: dict[int, _Kept] = {}  # by the identity of a structure


def cached_test(
    structure: Structure, bottom: float, top: float, sigma: float, quick: bool
) -> MisfitTest | None:
    """Return what `misfit_test` does, from memory if it was the last question about the structure."""
    place, question = id(structure), (bottom, top, sigma, quick)
    known = _kept.get(place)
    if known is not None and known.structure() is structure and known.question == question:
        return known.test
    test = misfit_test(structure, bottom, top, sigma, quick)
    if test is None or test.grid.per_hit.size <= MOST_ENTRIES:
        if len(_kept) >= MOST:
            _kept.clear()
        _kept[place] = _Kept(
            weakref.ref(structure, lambda gone: _forget(place, gone)), question, test
        )
    return test


def _forget(place: int, gone: weakref.ref[Structure]) -> None:
    """Let go of a test, unless another structure has taken the place meanwhile."""
    known = _kept.get(place)
    if known is not None and known.structure is gone:
        _kept.pop(place, None)  # another thread may have let go of all
