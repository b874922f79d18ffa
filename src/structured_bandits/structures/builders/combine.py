"""Structures made of others: unions, products, intersections and changes of scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import numbers
from structured_bandits.errors import StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.polyhedral.cell import is_empty
from structured_bandits.structures.polyhedral.polytope import Polytope, check_pieces, joined
from structured_bandits.structures.polyhedral.product import ProductStructure, joined_names
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.structures.reward_ranges import Range, hull, multiplied, overlap


@dataclass(frozen=True)
class Constraint:
    """A limit on a weighted sum of means: `weights` by arm (name or index).

    >>> Constraint({"large": 1, "small": -1}, at_most=0.1)  # large is at most 0.1 above small
    Constraint(weights={'large': 1, 'small': -1}, at_least=-inf, at_most=0.1)
    """

    weights: Mapping[int | str, float]
    at_least: float = -math.inf
    at_most: float = math.inf


def union(
    structures: Sequence[Structure],
    arms: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure that has all models of several structures.

    It says that one of the structures is right, but not which one. Rewards lie in the smallest range
    that contains all ranges which the parts declare, unless one is given.
    """
    structures = _checked(structures)
    pieces = [
        _named(piece, number, len(structures))
        for number, structure in enumerate(structures)
        for piece in structure.polytopes
    ]
    said = hull(part.reward_range for part in structures) if reward_range is None else reward_range
    return PolyhedralStructure(pieces, arms or structures[0].arm_names, said)


def intersection(
    structures: Structure | Sequence[Structure],
    constraints: Constraint | Sequence[Constraint] = (),
    arms: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the models that all of the structures share, and that satisfy all constraints.

    Pieces that share nothing are dropped; if nothing is left, that is an error. Rewards lie in the
    common part of the ranges that the structures declare, unless a range is given.
    """
    several = _checked([structures] if isinstance(structures, Structure) else structures)
    wanted = [constraints] if isinstance(constraints, Constraint) else constraints
    if not isinstance(wanted, (list, tuple)):
        raise StructureError(
            f"constraints={constraints!r}: expected a Constraint, or a list of them"
        )
    parts = [structure.polytopes for structure in several]
    check_pieces(
        "intersection",
        math.prod(map(len, parts)),
        sum(max(len(piece.rows) for piece in part) for part in parts) + len(wanted),
        max(piece.dimension for part in parts for piece in part),
        several[0].n_arms,
    )
    pieces = reduce(
        lambda left, right: [_shared(a, b) for a in left for b in right], map(list, parts)
    )
    rows = [_row(each, several[0], number) for number, each in enumerate(wanted)]
    if rows:
        weights, lower, upper = (np.array(part) for part in zip(*rows, strict=True))
        pieces = [piece.constrained(weights, lower, upper) for piece in pieces]
    left = [piece for piece in pieces if not is_empty(piece)]
    if not left:
        raise StructureError("intersection: no model satisfies everything at once")
    said = overlap(part.reward_range for part in several) if reward_range is None else reward_range
    return PolyhedralStructure(left, arms or several[0].arm_names, said)


def product(
    structures: Sequence[Structure],
    arms: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure of independent groups of arms, each with its own structure.

    Pulls of one group say nothing about the others (regional bandits). Arms are numbered from group to
    group. Rewards lie in the least range that holds all that the groups declare, unless one is given;
    the priors are those of the groups.
    """
    structures = _checked(structures, same_arms=False)
    names = joined_names(structures) if arms is None else arms
    return ProductStructure(structures, names, reward_range)


def scaled(
    structure: Structure,
    factors: Any,
    arms: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure with every mean multiplied by a factor of its arm.

    For example, what a price earns is the price times the demand, and the demand is known to fall with
    the price. If the structure declares a range of rewards, its ends are multiplied too, unless another
    one is given; the range of the structure is the smallest that contains those of all arms.
    """
    (structure,) = _checked([structure])
    values = numbers(factors)
    shapes = (), (structure.n_arms,)
    if values is None or values.shape not in shapes or not np.isfinite(values).all():
        raise StructureError(f"factors={factors!r}: expected a number, or one for each arm")
    values = np.broadcast_to(values, (structure.n_arms,))
    pieces = [
        Polytope(
            values[:, None] * piece.slopes,
            values * piece.intercepts,
            piece.rows,
            piece.lower,
            piece.upper,
            name=piece.name,
        )
        for piece in structure.polytopes
    ]
    said = multiplied(structure.reward_range, values) if reward_range is None else reward_range
    return PolyhedralStructure(pieces, arms or structure.arm_names, said)


def _checked(structures: Sequence[Structure], same_arms: bool = True) -> list[Structure]:
    if not isinstance(structures, (list, tuple)):
        raise StructureError(f"structures={structures!r}: expected a list of structures")
    structures = list(structures)
    if not structures:
        raise StructureError("structures: none given")
    for number, structure in enumerate(structures):
        if not isinstance(structure, Structure):
            raise StructureError(f"structures[{number}]={structure!r}: expected a structure")
        if same_arms and structure.n_arms != structures[0].n_arms:
            raise StructureError(
                f"structures[{number}] has {structure.n_arms} arms, the first has "
                f"{structures[0].n_arms}"
            )
    return structures


def _named(piece: Polytope, number: int, count: int) -> Polytope:
    return piece if count == 1 else piece.renamed(f"{number}: {piece.name}")


def _row(constraint: Constraint, structure: Structure, number: int) -> tuple[Floats, float, float]:
    if not isinstance(constraint, Constraint):
        raise StructureError(f"constraints[{number}]={constraint!r}: expected a Constraint")
    weights = np.zeros(structure.n_arms)
    given = constraint.weights
    ends = constraint.at_least, constraint.at_most
    if not isinstance(given, Mapping) or not all(map(_is_number, [*given.values(), *ends])):
        raise StructureError(f"constraints[{number}]: expected numbers, and weights by arm")
    for arm, weight in given.items():
        weights[structure.arm_index(arm)] += float(weight)
    if not weights.any() or not np.isfinite(weights).all():
        raise StructureError(f"constraints[{number}]: expected finite weights, not all 0")
    if not constraint.at_least <= constraint.at_most:
        raise StructureError(
            f"constraints[{number}]: at_least={constraint.at_least} is above "
            f"at_most={constraint.at_most}"
        )
    return weights, constraint.at_least, constraint.at_most


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and not math.isnan(value)


def _shared(first: Polytope, second: Polytope) -> Polytope:
    """Return the models of one polytope whose means are those of a model of the other."""
    name = f"{first.name} and {second.name}"
    for one, other in ((first, second), (second, first)):
        if other.is_of_means:  # its rows are constraints on means
            return one.constrained(other.rows, other.lower, other.upper).renamed(name)
    both = joined([first, second])
    arms = first.n_arms
    apart = np.hstack([np.eye(arms), -np.eye(arms)])
    same = both.constrained(apart, np.zeros(arms), np.zeros(arms))
    return Polytope(
        same.slopes[:arms], same.intercepts[:arms], same.rows, same.lower, same.upper, name=name
    )
