"""The warning that a structure cannot help to choose, because one arm is best in all its models."""

from __future__ import annotations

from typing import Any

from structured_bandits.structures.base import Structure

BLIND = "ThompsonSampling"


def no_choice(structure: Structure) -> str:
    """Return the warning and what to do about it; "" if several arms are best in some model.

    A policy that believes such a structure has a regret of 0 in all its models, whatever they are worth:
    it need not look at a single reward. So the number says nothing about the policy.
    """
    if len(structure.best_arms) > 1:
        return ""
    if structure.n_arms == 1:
        return "There is only one arm, so there is nothing to choose."
    best = only_best_arm(structure)
    where, doubts = _by_kind(structure)
    return (
        f"This knowledge cannot help you choose: {best} is best in every {where}, so there is nothing "
        f"to learn. If you are sure of that, play {best} and nothing else. If you are not, {doubts}, or "
        f"play {BLIND}, which knows nothing of it: a policy that believes it may never find out "
        "that another arm is better."
    )


def only_best_arm(structure: Structure) -> str | None:
    """Return what sentences call the arm that is best in every model, None if there are several."""
    arms = structure.best_arms
    return structure.arm_labels[arms[0]] if len(arms) == 1 else None


def _by_kind(structure: Any) -> tuple[str, str]:
    """Return what the models of a structure are called, and how to say that they may be wrong."""
    if structure.kind == "boxes" and structure.has_margins:
        return "row, whatever the margins allow", "widen the margins"
    if structure.kind in ("finite", "boxes"):
        return "row", "give the means margins (sb.around), play ModelTS(structure, trust=0.5)"
    return "model", "let the structure say less"
