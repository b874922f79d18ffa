"""How long rewards take, in pulls.

All laws are one record, so that compiled code for one of them serves the others too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.checks import checked_at_least, checked_count
from structured_bandits.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.records import Record

NEVER = 1 << 60  # pulls: beyond any horizon, and a pull number can be added
LONGEST_MEAN = 1e12
ACCEPTED = (
    "a whole number of pulls from 0, math.inf for never, sb.GeometricDelay(mean), or a list of measured "
    "delays"
)


class GeometricDelay(NamedTuple):
    """Random delays of 0, 1, 2, … pulls, `mean` on average; each is q times as likely as the one before.

    So q = mean / (1 + mean): before each pull a reward that is out comes with probability 1 - q, however
    long it has been out.
    """

    mean: float


class _DelayLaw(NamedTuple):
    values: Ints  # in pulls; NEVER for rewards that do not come
    log_stay: float  # the logarithm of q of the geometric law


class DelayLaw(Record, _DelayLaw):
    """Delays drawn from `values` with replacement; without any, a geometric law."""


def checked_delay(name: str, delay: Any) -> DelayLaw:
    """Return the law that a user describes."""
    if isinstance(delay, GeometricDelay):
        return _geometric(name, delay)
    if isinstance(delay, (str, bytes, dict)) or delay is None:
        raise ParameterError(f"{name}={delay!r}: expected {ACCEPTED}")
    measured = list(delay) if np.ndim(delay) else [delay]
    if not measured:
        raise ParameterError(f"{name}={delay!r}: expected at least one measured delay")
    return DelayLaw(np.array([_pulls(name, each) for each in measured], np.int64), 0.0)


def described(law: DelayLaw) -> str:
    """Return a law as a user would write it, long lists in short."""
    if not len(law.values):
        stay = math.exp(law.log_stay)
        return f"GeometricDelay({stay / -math.expm1(law.log_stay):g})"
    plain = [math.inf if value == NEVER else value for value in law.values.tolist()]
    if len(plain) == 1:
        return str(plain[0])
    shown = ", ".join(map(str, plain[:4]))
    return f"[{shown}]" if len(plain) <= 4 else f"[{shown}, … {len(plain)} delays]"


@compilable
def drawn_delay(law: DelayLaw, rng: np.random.Generator) -> int:
    """Draw a delay; a fixed one takes no random number."""
    count = len(law.values)
    if count == 0:
        return int(math.log(1.0 - rng.random()) / law.log_stay)
    if count == 1:
        return law.values[0]
    return law.values[int(rng.random() * count)]


def _geometric(name: str, delay: GeometricDelay) -> DelayLaw:
    mean = checked_at_least(f"{name}: mean", delay.mean, 0.0)
    if mean > LONGEST_MEAN:
        raise ParameterError(f"{name}={delay!r}: expected a mean of up to {LONGEST_MEAN:g} pulls")
    if mean == 0.0:
        return DelayLaw(np.zeros(1, np.int64), 0.0)
    return DelayLaw(np.zeros(0, np.int64), -math.log1p(1.0 / mean))


def _pulls(name: str, delay: Any) -> int:
    """Return a single delay as a number of pulls."""
    if isinstance(delay, (float, np.floating)) and delay == math.inf:
        return NEVER
    try:
        return checked_count(name, delay, least=0)
    except ParameterError:
        raise ParameterError(f"{name}={delay!r}: expected {ACCEPTED}") from None
