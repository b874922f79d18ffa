"""Linear programs over second-order cones, by clarabel."""

from __future__ import annotations

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.extras import needs

ACCURACY = 1e-10  # of the gap between the program and its dual, and of the constraints


def least_over_cones(
    cost: Floats,
    matrix: Floats,
    right: Floats,
    equations: int,
    inequalities: int,
    asked_by: str,
) -> Floats:
    """Return a minimiser z of cost·z over right - matrix z = s, with s in a product of cones.

    The first `equations` numbers of s are 0, the next `inequalities` are at least 0, and the others are
    triples (a, b, c) with |(b, c)| <= a. `asked_by` is what the user wrote to get here, for the message
    if clarabel is missing.
    """
    with needs(asked_by, extra="cones"):
        import clarabel
        from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = ACCURACY
    triples = (len(right) - equations - inequalities) // 3
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(inequalities)]
    cones += [clarabel.SecondOrderConeT(3)] * triples
    nothing = sparse.csc_matrix((len(cost), len(cost)))
    found = clarabel.DefaultSolver(
        nothing, cost, sparse.csc_matrix(matrix), right, cones, settings
    ).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise StructuredBanditsError(f"the cone program was not solved: {found.status}")
    return np.array(found.x)
