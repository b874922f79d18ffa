"""What the service says of an experiment, as plain records.

They have the fields of the records in `service/messages.py`, which need the packages of the service
while a client needs none; a test compares the two.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

R = TypeVar("R")


@dataclass(frozen=True)
class ArmView:
    """What is known of an arm.

    `low` and `high` are its confidence interval, `status` is "active", "dropped" or "parked",
    `dropped_after` the number of rewards after which it was seen to be dropped. `wanted` counts the
    rewards that the plan still waits for, and `out` those of them whose pulls were handed out.
    """

    index: int
    name: str
    pulls: int
    mean: float | None
    low: float | None
    high: float | None
    status: str
    dropped_after: int | None
    planned: int
    wanted: int
    out: int

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval, with infinite ends where there are none."""
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    @property
    def in_the_race(self) -> bool:
        """May the policy still choose it? A parked arm stays in the race unless it was dropped."""
        parked_in_time = self.status == "parked" and self.dropped_after is None
        return self.status == "active" or parked_in_time


@dataclass(frozen=True)
class ModelView:
    """A model and how likely it is, if one of the models is right."""

    name: str
    weight: float


@dataclass(frozen=True)
class ModelsView:
    """How many models there are, how many fit the intervals of all arms, and the likeliest.

    For structures that are no tables, `total` and `fitting` count pieces. `names` are at most 20.
    """

    total: int | None
    fitting: int | None
    names: tuple[str, ...]
    likely: tuple[ModelView, ...]


@dataclass(frozen=True)
class MisfitView:
    """How much the rewards speak against the structure: an e-value, and the arms furthest off."""

    e_value: float | None  # None if it is too large for a number
    log10_e: float
    p_value: float
    level: float
    refuted: bool
    arms: tuple[str, ...]


@dataclass(frozen=True)
class Alarm:
    """Something that a person should look at.

    Kinds: "structure" (refuted), "clock", "horizon" (played beyond it), "read-only", "empty" (no model
    fits), "replay" (a restart could not derive its decisions again), "stopped" (the policy failed),
    "waiting" (rewards are not tested, since an older one is missing).
    """

    kind: str
    text: str
    since: int | None = None  # milliseconds since 1970


@dataclass(frozen=True)
class Side:
    """Pulls and mean of one side of a comparison."""

    pulls: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ControlView:
    """The share on a fixed arm beside the policy's own decisions."""

    arm: str
    share: float
    control: Side
    policy: Side


@dataclass(frozen=True)
class RegretView:
    """Between which numbers the regret so far lies if the structure is right."""

    least: float
    most: float


@dataclass(frozen=True)
class HistoryPoint:
    """How it stood at some time: for the curves of the dashboard (at most 500 points)."""

    at: int
    rewards: int
    total: float
    fitting: int | None
    active: int
    log10_e: float | None


@dataclass(frozen=True)
class VersionView:
    """A version of an experiment."""

    number: int
    uid: str
    made_at: int
    events: int
    current: bool
    pending: int


@dataclass(frozen=True)
class State:
    """All that the dashboard shows of an experiment."""

    name: str
    version: int
    uid: str
    seq: int
    state: str
    policy: str
    order: str
    horizon: int | None
    asked: int
    rewards: int
    pending: int
    held: int
    oldest_pending_seconds: float | None
    window_seconds: float | None
    missing: float | str | None
    empty: int
    extra: int
    arms: tuple[ArmView, ...]
    models: ModelsView | None
    misfit: MisfitView | None
    regret: RegretView | None
    control: ControlView | None
    alarms: tuple[Alarm, ...]
    fallback: str  # "klucb", "control" or "none"
    fallen_back: bool
    history: tuple[HistoryPoint, ...]
    versions: tuple[VersionView, ...]
    reward_range: tuple[float, float] | None = (
        None  # in which all rewards lie, None if any may come
    )


def read_record(kind: type[R], content: Any) -> R:
    """Return the record of a kind that some JSON says; raise ValueError if it says something else.

    Fields that the record does not have are left out, since a newer service may say more.

    >>> read_record(Side, {"pulls": 3, "mean": 0.5, "low": 0, "high": None, "mood": "good"})
    Side(pulls=3, mean=0.5, low=0.0, high=None)
    """
    if not isinstance(content, dict):
        raise ValueError(f"{kind.__name__}: expected an object, got {type(content).__name__}")
    types: dict[str, tuple[Any, bool]] = _types(kind)  # type: ignore[arg-type]
    lacking = [name for name, (_, needed) in types.items() if needed and name not in content]
    if lacking:
        raise ValueError(f"{kind.__name__}: the field {lacking[0]!r} is missing")
    return kind(
        **{name: _value(types[name][0], content[name]) for name in types if name in content}
    )


@cache
def _types(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field of a record, and whether it has to be there."""
    hints = get_type_hints(kind)
    return {each.name: (hints[each.name], each.default is MISSING) for each in fields(kind)}


def _value(kind: Any, content: Any) -> Any:
    """Return what some JSON says, as a value of a type that fields have."""
    if get_origin(kind) in (Union, UnionType):
        if content is None or isinstance(content, str):
            return content
        (kind,) = (each for each in get_args(kind) if each not in (NoneType, str))
    if get_origin(kind) is tuple:
        return tuple(_value(get_args(kind)[0], each) for each in content)
    if is_dataclass(kind):
        return read_record(kind, content)  # type: ignore[arg-type]
    return float(content) if kind is float else content
