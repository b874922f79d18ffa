"""What a policy says of a structure on which it cannot play: what it plays, and what to take instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells

#: What structures are called that answer a question which others do not.
PLAYED = {
    "model_groups": "tables, with margins or without, curves and products of these",
    "table": "tables",
    "closest_parameter": "curves",
    "fitting_means": "tables, curves, polytopes and products of these",
}

MODEL_TS = "ModelTS(structure)"
SUCB = "SUCB(structure)"
TSC = "TSC(structure, alpha=0.5)"
BLIND = "ThompsonSampling(structure)"


def refusal(policy: str, structure: Any, question: str, able: Callable[[str], bool]) -> str:
    """Return the sentence; `able` says whether the policy of a name can play on the structure."""
    plays = PLAYED.get(question)
    why = (
        f"it plays {plays}"
        if plays
        else f"it asks for {question!r}, which such a structure does not answer"
    )
    others = [each for each in best_first(structure) if able(each.partition("(")[0])]
    return (
        f"{policy} cannot play on structure={structure!r}: {why}. "
        f"Take instead, best first: {', '.join(others)}"
    )


def best_first(structure: Any) -> tuple[str, ...]:
    """Return policies in the order of their regrets on structures of the kind (benchmarks/instead.py).

    Constraints on means and their differences (shapes, neighbours) leave so many models that optimism
    within them costs more than play that knows nothing of them.
    """
    cells = structure.cells
    if isinstance(cells, DifferenceCells) and (cells.highest > cells.lowest).any():
        return MODEL_TS, TSC, BLIND, SUCB
    return MODEL_TS, SUCB, TSC, BLIND
