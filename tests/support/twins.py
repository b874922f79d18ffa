"""One structure in several encodings, which must give the same answers."""

from __future__ import annotations

import copy
from typing import Any

import structured_bandits as sb


def as_polytopes(structure: Any) -> Any:
    """The same models as a union of polytopes, asked by linear programs."""
    return by_programs(sb.PolyhedralStructure(structure.polytopes, arms=structure.arm_names))


def by_programs(structure: Any) -> Any:
    """The same structure with linear programs in place of its closed form."""
    twin = copy.copy(structure)
    twin.cells = structure.polytope_cells
    return twin
