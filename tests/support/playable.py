"""Every policy of the library on a structure, by name."""

from __future__ import annotations

from typing import Any

import structured_bandits as sb
from structured_bandits.policies.base import POLICIES, answers
from structured_bandits.structures.boxes.structure import BoxStructure


def made(name: str, structure: Any) -> Any:
    """Return a policy with a horizon of 500, if it has one."""
    if name == "Guarded":  # of a level at which it rings
        return sb.Guarded(sb.SUCB.paper(structure), level=0.5, explore=0.1)
    kind: Any = POLICIES[name]
    return kind(structure, 500) if "horizon" in kind.parameter_names() else kind(structure)


def playable(structure: Any) -> list[str]:
    """Return the names of the policies that can play on a structure."""
    names = [name for name, kind in POLICIES.items() if answers(structure, kind)]
    if isinstance(structure, BoxStructure):
        names.remove("OSSB")  # as it says itself
    return [*names, "Guarded"]
