"""How much the rewards of each run speak against the structure of the policy that played it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.misfit.build import misfit_test
from structured_bandits.misfit.e_value import fresh_look_memory, look_at
from structured_bandits.policies.base import Policy


def final_e_values(policy: Any, pulls: Ints, sums: Floats, wanted: bool | None) -> Floats:
    """Return the e-value at the end of each run (a row of pulls and sums each).

    It is nan where there is none: without a structure, or if programs have to be solved for it
    (polytopes) and it is not expressly `wanted`.
    """
    values = np.full(len(pulls), math.nan)
    structure = policy.structure if isinstance(policy, Policy) else None
    if structure is None or wanted is False:
        return values
    test = misfit_test(structure, policy.bottom, policy.top, policy.sigma, quick=not wanted)
    if test is None:
        return values
    memory = fresh_look_memory(test)
    for run in range(len(pulls)):
        log_e = look_at(test, pulls[run], sums[run], memory).log_e
        values[run] = math.exp(log_e) if log_e < 700.0 else math.inf
    return values
