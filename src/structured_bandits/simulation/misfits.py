"""How much the rewards of each run speak against the structure of the policy that played it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.misfit.build import misfit_test
from structured_bandits.misfit.many import e_values
from structured_bandits.policies.base import Policy


def final_e_values(policy: Any, pulls: Ints, sums: Floats, wanted: bool | None) -> Floats:
    """Return the e-value at the end of each run (a row of pulls and sums each).

    It is nan where there is none: without a structure, or if programs have to be solved for it
    (polytopes) and it is not expressly `wanted`.
    """
    unknown = np.full(len(pulls), math.nan)
    structure = policy.structure if isinstance(policy, Policy) else None
    if structure is None or wanted is False:
        return unknown
    test = misfit_test(structure, policy.bottom, policy.top, policy.sigma, quick=not wanted)
    if test is None:
        return unknown
    return e_values(test, pulls, sums)
