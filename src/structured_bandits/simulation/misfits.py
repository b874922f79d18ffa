"""How much the rewards of each run speak against the structure of the policy that played it.

Tests of structures are kept while their structures live: several policies play on one structure, and
building a test takes as long as looking at a run. Structures are known by their identity, since
comparing them takes a hash of all their models.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.inference.misfit.batch import e_values, e_values_of_each
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.policies.base import Policy
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


TOGETHER = 1 << 18  # entries of the tables of runs that wait: enough for one look at all to pay


class FinalEValues:
    """Writes the e-values at the end of runs, those of runs on structures of their own together.

    They are nan where there are none: without a structure, or if programs have to be solved for them
    (polytopes) and they are not expressly `wanted`.
    """

    def __init__(self, values: Floats, pulls: Ints, sums: Floats, wanted: bool | None) -> None:
        self._values, self._pulls, self._sums = values, pulls, sums
        self._wanted = wanted
        self._waiting: list[tuple[int, MisfitTest]] = []
        self._entries = 0

    def played(self, policy: Any, rows: slice) -> None:
        """Note that a policy has played these runs; their pulls and sums are written down."""
        test = _test_of(policy, self._wanted)
        if test is None:
            self._values[rows] = math.nan
        elif rows.stop - rows.start > 1:
            self._values[rows] = e_values(test, self._pulls[rows], self._sums[rows])
        else:
            self._waiting.append((rows.start, test))
            self._entries += test.grid.per_hit.size
            if self._entries >= TOGETHER:
                self.finish()

    def finish(self) -> None:
        """Write what is still missing."""
        if self._waiting:
            rows, tests = zip(*self._waiting, strict=True)
            places = np.array(rows)
            self._values[places] = e_values_of_each(tests, self._pulls[places], self._sums[places])
        self._waiting, self._entries = [], 0


def _test_of(policy: Any, wanted: bool | None) -> MisfitTest | None:
    structure = policy.tested_structure if isinstance(policy, Policy) else None
    if structure is None or wanted is False:
        return None
    return cached_test(structure, policy.bottom, policy.top, policy.sigma, quick=not wanted)
