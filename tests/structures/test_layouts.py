"""One compiled engine serves structures of all sizes: their arrays always lie in memory in one piece.

Numba compiles other code for an array with gaps. An array of one number has none, so that structures
with one cell and structures with several were compiled for apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from support.replayed import accepted, spec_of_case

from structured_bandits.service.experiment.spec import build_spec


def arrays_in(record: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of a record and of the records in it, with their names."""
    if isinstance(record, np.ndarray):
        yield name, record
    elif hasattr(record, "_fields"):
        for field in record._fields:
            yield from arrays_in(getattr(record, field), f"{name}.{field}")


def test_arrays_of_policies_and_their_states_lie_in_one_piece() -> None:
    longer = 0
    for kind, structure in accepted():
        policy: Any = build_spec(spec_of_case(kind, structure)).policy
        for record, name in ((policy, "policy"), (policy.init(), "state")):
            for place, array in arrays_in(record, f"{kind} on {structure}: {name}"):
                assert array.flags.c_contiguous, place
                longer += array.size > 1
    assert longer > 500
