"""What the page says of a structure before anything is chosen."""

from __future__ import annotations

from typing import Any

from structured_bandits.service.ui.explorer.apart import family_of
from structured_bandits.service.ui.explorer.models import has_rows
from structured_bandits.structures.base import Structure
from structured_bandits.structures.no_choice import no_choice


def about_text(structure: Any) -> str:
    """Return what the structure is, in a sentence."""
    arms, best = structure.n_arms, len(structure.best_arms)
    if has_rows(structure):
        what = f"A table of {len(structure.model_names):,} models and {arms} arms"
    elif structure.kind == "curves":
        what = f"{arms} arms whose means depend on one parameter"
    else:
        what = f"{arms} arms and infinitely many models"
    return f"{what}; {best} of the arms {'are' if best > 1 else 'is'} best in some model."


def notices(structure: Structure) -> list[str]:
    """Return what must be known before anything is chosen."""
    return [text for text in (no_choice(structure), _outside_text(structure)) if text]


def _outside_text(structure: Structure) -> str:
    """Return what to say if the structure has means that its rewards cannot have."""
    if family_of(structure) == "bernoulli":
        return ""
    low, high = structure.range_of_rewards
    return (
        f"Some means lie outside the range of the rewards, {low:g} to {high:g}. If the rewards have "
        "another range, declare it (reward_range); here they are taken as Gaussian."
    )
