"""Structures written as tables of a TOML file: a kind and what that kind needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from structured_bandits.base.input_files import check_keys, short_name
from structured_bandits.errors import FileFormatError, MissingExtraError, StructuredBanditsError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.builders.combine import (
    Constraint,
    intersection,
    product,
    scaled,
    union,
)
from structured_bandits.structures.builders.estimated_tables import around, mixtures
from structured_bandits.structures.builders.knowledge import (
    concave,
    known_best_mean,
    linear,
    lipschitz,
    monotone,
    unimodal,
    unstructured,
)
from structured_bandits.structures.curves.structure import CurveStructure, Piece
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure


class Kind(NamedTuple):
    """A kind of structure: what builds it, from which keys, those needed first."""

    build: Callable[..., Structure]
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()


RANGE = ("low", "high")
KINDS = {
    "unstructured": Kind(unstructured, ("n_arms",), RANGE),
    "linear": Kind(linear, ("features",), ("bounds", *RANGE)),
    "lipschitz": Kind(lipschitz, ("positions", "constant"), RANGE),
    "monotone": Kind(monotone, ("n_arms",), ("decreasing", *RANGE)),
    "concave": Kind(concave, ("positions",), RANGE),
    "unimodal": Kind(unimodal, ("n_arms",), ("edges", *RANGE)),
    "known_best_mean": Kind(known_best_mean, ("n_arms", "value"), ("low",)),
    "finite": Kind(FiniteStructure, ("means",), ("models", "prior")),
    "around": Kind(around, ("table", "margins"), ("models", *RANGE)),
    "mixtures": Kind(mixtures, ("table",), ("models",)),
    "curves": Kind(CurveStructure, ("pieces",), ("prior",)),
    "polyhedral": Kind(PolyhedralStructure, ("pieces",)),
    "union": Kind(union, ("parts",)),
    "product": Kind(product, ("parts",)),
    "intersection": Kind(intersection, ("parts",)),
}
PIECE = ("start", "end", "at_start", "at_end"), ("closed",)
POLYTOPE = ("slopes",), ("intercepts", "rows", "lower", "upper", "name")
DEEPEST = 20  # parts of parts of parts …
COMMON = ("kind", "arms", "constraints", "factors", "reward_range")  # of every structure
OF_FILE = ("header", "prior", "reward_range")  # what a table may say of a CSV file


# Takes the name of a file, where it is written and what is said of it (OF_FILE).
ReadFile = Callable[[Path, str, Mapping[str, Any]], Structure]


def build_structure(
    table: Any, place: str, folder: Path, read_file: ReadFile, depth: int = 0
) -> Structure:
    """Return the structure that a table describes; errors begin with its `place`.

    Besides what its kind needs, a table may have `arms` (names), `constraints` on the means, `factors`
    that multiply them in the end, and `reward_range`, that of the rewards in the end. A table with
    `file` stands for the structure in that file, which `read_file` reads. The `table` of means that
    some kinds need is written as rows, or described as a structure of its own. `depth` counts the
    tables around this one.
    """
    if depth > DEEPEST:
        raise FileFormatError(f"{place}: parts are nested more than {DEEPEST} deep")
    if not isinstance(table, Mapping):
        raise FileFormatError(f"{place}: expected a table with a 'kind'")
    if "file" in table:
        return _file(table, place, folder, read_file)
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        accepted = ", ".join(KINDS)
        raise FileFormatError(f"{place}, kind={kind!r}: accepted are {accepted}")
    build, needed, optional = KINDS[kind]
    check_keys(table, f"{place} (kind={kind!r})", needed, (*optional, *COMMON))
    values = {key: value for key, value in table.items() if key not in COMMON}
    parts = values.pop("parts", None)
    if parts is not None:
        values["structures"] = [
            build_structure(part, f"{place}, parts[{number}]", folder, read_file, depth + 1)
            for number, part in enumerate(_tables(parts, place, "parts"))
        ]
    if isinstance(values.get("table"), Mapping):
        values["table"] = build_structure(
            values["table"], f"{place}, table", folder, read_file, depth + 1
        )
    if "pieces" in values:
        values["pieces"] = _pieces(values["pieces"], kind, place)
    try:
        values["arms"] = table.get("arms")
        return _finished(partial(build, **values), table, place)
    except (FileFormatError, MissingExtraError):
        raise
    except StructuredBanditsError as error:
        raise FileFormatError(f"{place}: {error}") from None


def _finished(build: Callable[..., Structure], table: Mapping[str, Any], place: str) -> Structure:
    """Return the structure with constraints and factors; the rewards are those after the factors."""
    rewards = {name: table[name] for name in ("reward_range",) if name in table}
    wanted = _constraints(table.get("constraints", []), place)
    structure = build() if "factors" in table else build(**rewards)
    structure = intersection(structure, wanted) if wanted else structure
    return scaled(structure, table["factors"], **rewards) if "factors" in table else structure


def _file(table: Mapping[str, Any], place: str, folder: Path, read_file: ReadFile) -> Structure:
    check_keys(table, place, ("file",), OF_FILE)
    name, header = table["file"], table.get("header", False)
    if not isinstance(name, str):
        raise FileFormatError(f"{place}, file={name!r}: expected the name of a file")
    if not isinstance(header, bool):
        raise FileFormatError(f"{place}, header={header!r}: expected true or false")
    said = {key: table[key] for key in OF_FILE if key in table}
    return read_file(folder / name, f"{place}, file={short_name(name)!r}", said)


def _tables(tables: Any, place: str, name: str) -> list[Any]:
    if not isinstance(tables, list) or not tables:
        raise FileFormatError(f"{place}: expected a table [[{name}]] for each of them")
    return tables


def _pieces(tables: Any, kind: str, place: str) -> list[Any]:
    build = curve_piece if kind == "curves" else _polytope
    return [
        build(f"{place}, pieces[{number}]", table)
        for number, table in enumerate(_tables(tables, place, "pieces"))
    ]


def curve_piece(place: str, table: Any) -> Piece:
    """Return the piece of a curve that a table describes."""
    if not isinstance(table, Mapping):
        raise FileFormatError(f"{place}: expected a table with {', '.join(PIECE[0] + PIECE[1])}")
    check_keys(table, place, *PIECE)
    for key in ("start", "end"):
        if not _is_number(table[key]):
            raise FileFormatError(f"{place}, {key}={table[key]!r}: expected a number")
    for key in ("at_start", "at_end"):
        if not isinstance(table[key], list) or not all(map(_is_number, table[key])):
            raise FileFormatError(f"{place}, {key}={table[key]!r}: expected a list of numbers")
    return Piece(**table)


def _polytope(place: str, table: Any) -> Polytope:
    if not isinstance(table, Mapping):
        raise FileFormatError(f"{place}: expected a table")
    check_keys(table, place, *POLYTOPE)
    try:
        return Polytope(**table)
    except StructuredBanditsError as error:
        raise FileFormatError(f"{place}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _constraints(tables: Any, place: str) -> list[Constraint]:
    found = []
    for number, table in enumerate(_tables(tables, place, "constraints") if tables else []):
        here = f"{place}, constraints[{number}]"
        if not isinstance(table, Mapping):
            raise FileFormatError(f"{here}: expected a table")
        check_keys(table, here, ("weights",), ("at_least", "at_most"))
        found.append(Constraint(**table))
    return found
