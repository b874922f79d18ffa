"""Limits on the size of a structure of polytopes: its matrices have to fit the memory."""

from __future__ import annotations

from collections.abc import Callable

from structured_bandits.errors import StructureError

MOST_NUMBERS = 150_000_000  # in all matrices of a structure together, 8 bytes each: 1.2 GB


def check_arms(what: str, arms: int, size: Callable[[int], tuple[int, int]]) -> None:
    """Raise if the pieces of a structure of means take too much memory; say how many arms do not.

    `size(arms)` returns the number of pieces, and of constraints in each.
    """
    fits = [n for n in range(1, arms + 1) if _numbers(*size(n), n, n) <= MOST_NUMBERS]
    if not fits or fits[-1] < arms:
        most = fits[-1] if fits else 0
        raise _too_large(what, *size(arms), arms, arms, f"expected at most {most} arms")


def check_pieces(what: str, pieces: int, rows: int, parameters: int, arms: int) -> None:
    """Raise if so many pieces, each with so many constraints, take too much memory."""
    if _numbers(pieces, rows, parameters, arms) > MOST_NUMBERS:
        raise _too_large(what, pieces, rows, parameters, arms, "expected fewer pieces or arms")


def _numbers(pieces: int, rows: int, parameters: int, arms: int) -> int:
    """Count the numbers: the matrices of each piece, and those of arms × arms for its closed form.

    There are two of the latter, what is known of the piece and the part of the cells.
    """
    return pieces * ((rows + arms) * parameters + 2 * arms * arms)


def _too_large(
    what: str, pieces: int, rows: int, parameters: int, arms: int, expected: str
) -> StructureError:
    gigabytes = 8e-9 * _numbers(pieces, rows, parameters, arms)
    return StructureError(
        f"{what}: {pieces:,} piece{'s' if pieces > 1 else ''} with {rows:,} constraints on {arms:,} "
        f"arms would take {gigabytes:,.1f} GB of memory, more than {8e-9 * MOST_NUMBERS:g} GB; "
        f"{expected}"
    )
