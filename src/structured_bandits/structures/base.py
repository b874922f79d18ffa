"""What all structures have in common: named arms, a fingerprint and readable representations."""

from __future__ import annotations

import hashlib
import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_range, first_without_number
from structured_bandits.base.confidence import Box
from structured_bandits.base.text_tables import table_html
from structured_bandits.errors import MeansOutsideUnitIntervalWarning, StructureError, warn_user
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.questions import Cells, Distances, ModelBoxes, ModelLines
from structured_bandits.structures.reward_ranges import UNIT, Range


class Structure(ABC):
    """A set of candidate models, one of which is (nearly) true.

    Subclasses set `cells`, the parts on which one arm is best; policies ask nothing else of a structure.
    `reward_range` is the range in which rewards lie, or None if none was declared, which stands for (0,
    1); `prior` are weights of the models, or None. Policies, theory and the worlds of experiments use
    both unless they are told otherwise.
    """

    kind: ClassVar[str]
    cells: Cells
    reward_range: Range | None = None
    prior: list[Any] | None = None

    def __init__(
        self,
        cells: Cells,
        arms: Sequence[str] | None,
        prior: list[Any] | None = None,
        reward_range: Range | None = None,
    ) -> None:
        self.cells = cells
        self.arm_names = checked_names(arms, cells.arm_count(), "arm")
        if prior is not None:
            self.prior = prior
        if reward_range is not None:
            self.reward_range = checked_range("reward_range", reward_range)

    @property
    def range_of_rewards(self) -> Range:
        """The range in which rewards lie: the `reward_range`, or (0, 1) if none was declared."""
        return UNIT if self.reward_range is None else self.reward_range

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.cells.arm_count())

    @property
    def best_arms(self) -> tuple[int, ...]:
        """The arms that are best in some model, A*(Theta): no other arm is worth a pull."""
        return tuple(int(arm) for arm in np.unique(self.cells.best))

    @property
    def fitting_cells(self) -> Any:
        """The cells that are asked for the best-fitting model, if they are `FittingCells`."""
        return self.cells

    @property
    def model_groups(self) -> tuple[ModelLines | ModelBoxes, ...]:
        """The models over which there can be a posterior: of each group of a product, one for others."""
        return self.model_lines  # type: ignore[attr-defined]

    @property
    def bounds_likelihood(self) -> bool:
        """True, for whoever asks if likelihoods can be bounded cell by cell; else an AttributeError."""
        return bool(self.model_groups)

    @property
    def polytopes(self) -> tuple[Polytope, ...]:
        """The structure as polytopes of models, up to the ends of open intervals."""
        raise StructureError(f"{self!r} has no form as polytopes; it cannot be combined")

    @property
    def fingerprint(self) -> str:
        """A hash of kind, models, names of arms, reward range and prior.

        Structures on which policies play alike share it. What only repeats a default is left out: names
        that are indices, and a reward range of (0, 1). A prior is in it whenever one is given.
        """
        return self._fingerprint(said=True)

    def _fingerprint(self, said: bool) -> str:
        """Return the fingerprint; if not `said`, without reward range and prior, as 0.2.0 knew it."""
        names = () if are_indices(self.arm_names) else self.arm_names
        return self._hash(names, said)

    def _hash(self, names: tuple[str, ...], said: bool) -> str:
        own = hash_of([self.kind, *names], self._facts())
        rewards = None if self.reward_range == UNIT else self.reward_range
        both = {"reward_range": rewards, "prior": self.prior}
        given = {name: values for name, values in both.items() if values is not None}
        return hash_of([own, *given], given.values()) if said and given else own

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprint, then those that earlier versions gave the same models and names.

        A snapshot or result that carries any of them belongs to this structure; it also names the reward
        range and the prior of its policy.
        """
        earlier = [self._fingerprint(said=False), self._first_fingerprint()]
        if self.arm_names == counting(
            self.n_arms, 1
        ):  # the default names before 0.2.0 was complete
            earlier += [self._hash((), said=True), self._hash((), said=False)]
        return tuple(dict.fromkeys((self.fingerprint, *earlier)))

    def _facts(self) -> Iterable[Any]:
        """Return the numbers that define the structure, as arrays, for its fingerprint."""
        facts: Any = self.cells  # named tuples, or the kind says what else
        return tuple(facts)

    def _first_fingerprint(self) -> str:
        """Return the fingerprint of version 0.1.0: names that only count were in it, too."""
        digest = hashlib.sha256(self.kind.encode())
        digest.update("\0".join(self._first_names()).encode())
        for part in self._first_facts():
            digest.update(part)
        return digest.hexdigest()

    def _first_names(self) -> tuple[str, ...]:
        """Return the arms' names as version 0.1.0 had them: it counted unnamed arms from 1."""
        return counting(self.n_arms, 1) if are_indices(self.arm_names) else self.arm_names

    def _first_facts(self) -> Iterable[bytes]:
        """Return what version 0.1.0 put into fingerprints after kind and names."""
        return bytes_of(self._facts())

    def arm_index(self, arm: int | str) -> int:
        """Return the index of an arm given by index or by name."""
        return index_of(arm, self.arm_names, "arm")

    @property
    def arm_labels(self) -> tuple[str, ...]:
        """What sentences and figures call the arms: their names, or "arm 0", "arm 1", … without any."""
        return labels_of(self.arm_names)

    @abstractmethod
    def means(self, model: Any) -> Floats:
        """Return the means of a model."""

    @abstractmethod
    def distances(self, means: Floats, tolerance: float) -> Distances:
        """Return how far the models are from the true `means`, for theory."""

    def models_in(self, box: Box) -> tuple[Any, ...] | None:
        """Return the models inside an open box of means, as a person would list them.

        For a table these are their names, for curves intervals of the parameter, for polytopes the names
        of the pieces that meet the box, for a product such a tuple for each group. None means that
        models of this kind cannot be listed.
        """
        return None

    @abstractmethod
    def model_name(self, model: Any) -> str:
        """Return what a model, as theory reports it, is called."""

    def listed_models(self) -> tuple[Sequence[Any], str]:
        """Return the models that an overview lists, and how they were chosen ("" if these are all)."""
        raise StructureError(
            f"{self!r} has infinitely many models, too many to list. Say which one is true "
            "(truth=structure.at(parameter) or a vector of means; on the command line --truth "
            "parameter:a,b,… or --truth a,b,…), or which to list: sb.overview(structure, models=[…])"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:  # without an address, so that equal structures are shown alike
        return (
            f"{type(self).__name__}({self.n_arms} arms, "
            f"{len(self.best_arms)} arms best in some model{self._rewards_in_words()})"
        )

    def _rewards_in_words(self) -> str:
        """Return what representations say of the rewards: nothing unless the structure does."""
        if self.reward_range is None:
            return ""
        low, high = self.reward_range
        return f", rewards in [{low:g}, {high:g}]"

    def _repr_html_(self) -> str:
        header, rows, more = self._table(limit=20)
        note = f"<p>… and {more} more</p>" if more else ""
        return f"<p>{html.escape(repr(self))}; best arm in bold</p>{table_html(header, rows)}{note}"

    @abstractmethod
    def _table(self, limit: int) -> tuple[list[str], list[list[tuple[str, bool]]], int]:
        """Return header, rows of (text, is best arm) and the number of rows left out."""


def hash_of(texts: Iterable[str], arrays: Iterable[Any] = ()) -> str:
    """Return a hash of texts and numbers; lengths and shapes are in it, so none run into another."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    for part in bytes_of(arrays):
        digest.update(part)
    return digest.hexdigest()


def bytes_of(arrays: Iterable[Any]) -> Iterator[bytes]:
    """Yield type and shape of each array, then its numbers."""
    for array in map(np.asarray, arrays):
        yield str((array.dtype, array.shape)).encode()
        yield array.tobytes()


def counting(count: int, first: int = 0) -> tuple[str, ...]:
    """Return names that only count: "0", "1", … where none are given, so a name is an index."""
    return tuple(str(number) for number in range(first, first + count))


def are_indices(names: Sequence[str]) -> bool:
    """Is every name the index of its arm, as where none are given?"""
    return tuple(names) == counting(len(names))


def labels_of(names: Sequence[str], kind: str = "arm") -> tuple[str, ...]:
    """Return what sentences and figures call arms or models: a number follows the word for its kind."""
    return tuple(f"{kind} {name}" if name.isdecimal() else name for name in names)


def checked_names(names: Sequence[str] | None, count: int, what: str) -> tuple[str, ...]:
    """Return `count` distinct names, the default ones where none are given."""
    if names is None:
        return counting(count)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise StructureError(f"{what}s={names!r}: expected a list of names")
    names = tuple(str(name) for name in names)
    empty = next((number for number, name in enumerate(names) if not name.strip()), None)
    if empty is not None:
        raise StructureError(f"{what}s[{empty}]={names[empty]!r}: the name is empty")
    if len(names) != count:
        raise StructureError(f"{what}s: {len(names)} names for {count} {what}s")
    if len(set(names)) != count:
        twice = next(name for name in names if names.count(name) > 1)
        raise StructureError(f"{what}s: the name {twice!r} is given twice; names must differ")
    return names


class Numbered(Sequence[str]):
    """The names "0", "1", … of many models, none of them kept.

    >>> Numbered(3)[-1], list(Numbered(2)), "3" in Numbered(3)
    ('2', ['0', '1'], False)
    """

    def __init__(self, count: int) -> None:
        self._numbers = range(count)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        found = self._numbers[place]
        return tuple(map(str, found)) if isinstance(place, slice) else str(found)

    def __contains__(self, name: object) -> bool:
        text = str(name)
        return (
            text.isascii() and text.isdigit() and str(int(text)) == text and int(text) < len(self)
        )

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a name."""
        if name not in self:
            raise ValueError(f"{name!r} is no name")
        return int(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, Numbered)) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def index_of(key: int | str, names: Sequence[str], what: str) -> int:
    """Return the index of a model or arm: an int is an index from 0, a str is a name."""
    key = index_or_name(key, what)
    if isinstance(key, str):
        if key not in names:
            raise StructureError(f"{what}={key!r} is unknown; known are {shortened(names)}")
        return names.index(key)
    if not 0 <= key < len(names):
        raise StructureError(f"{what}={key!r} is outside 0 to {len(names) - 1}")
    return key


def index_or_name(key: Any, what: str) -> int | str:
    """Return what names a model or arm, as a plain int or str; raise if it is neither."""
    if isinstance(key, str):
        return key
    if isinstance(key, (bool, float)) or not isinstance(key, (int, np.integer)):
        raise StructureError(f"{what}={key!r}: give an index from 0 or a name")
    return int(key)


def shortened(names: Sequence[str], most: int = 8) -> str:
    """Return the names as a readable list, cut after `most`."""
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown}, … ({len(names)} in all)" if len(names) > most else shown


def checked_means(means: Any, what: str) -> Floats:
    """Return means as a float64 array; raise if one is not a finite number."""
    try:
        array = np.array(means, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise StructureError(
            f"{what}: expected numbers in rows of equal length ({error})"
        ) from None
    odd = first_without_number(means)
    if odd is not None:
        place, value = odd
        raise StructureError(f"{what}: the mean at {place} is {value!r}; expected a number")
    if array.size and not np.isfinite([array.min(), array.max()]).all():  # takes no memory
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise StructureError(f"{what}: the mean at {place} is {array[place]}; means must be finite")
    array += 0.0  # so that -0.0 is 0.0
    return array


def warn_if_outside(means: Floats, reward_range: Range | None = None) -> None:
    """Warn when means leave the range of rewards; they are used as they are (errata, I-11)."""
    low, high = UNIT if reward_range is None else reward_range
    if not means.size or (means.min() >= low and means.max() <= high):
        return
    if reward_range is not None:
        warn_user(
            f"reward_range=({low:g}, {high:g}): the structure holds means from {means.min():g} to "
            f"{means.max():g}, which such rewards cannot have; they are used as they are",
            MeansOutsideUnitIntervalWarning,
        )
        return
    percent = (
        f" The largest is {means.max():g}: are these percentages? Divide by 100."
        if means.min() >= 0.0 and means.max() <= 100.0
        else ""
    )
    warn_user(
        "the structure holds means outside [0, 1]; they are used as they are."
        f"{percent} If the rewards have another range, declare it: reward_range=…",
        MeansOutsideUnitIntervalWarning,
    )
