"""The four points on which the paper's text, proofs and pseudo-code of ASAE differ."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from structured_bandits.errors import ParameterError

Init = Literal["recompute", "carry"]
Clock = Literal["length", "time"]
PhaseCounter = Literal["period", "total"]
PeriodEnd = Literal["truncate", "finish_phase"]


class Reading(NamedTuple):
    """One way to settle what the paper leaves open about ASAE (docs/notes/errata.md, I-3, I-4 and I-7).

    - `init`: what a period starts from. "recompute": the set rebuilt from all data with the new
      period's log n; "carry": the last set of the period before.
    - `clock`: a period of n_k lasts ceil(n_k) pulls ("length"), or ends at pull ceil(n_k) ("time";
      periods already past are left out).
    - `phase_counter`: phases count the pulls of the "period" or the "total".
    - `period_end`: "truncate" a running phase, or "finish_phase" first.
    """

    init: Init = "recompute"
    clock: Clock = "length"
    phase_counter: PhaseCounter = "period"
    period_end: PeriodEnd = "truncate"


#: "theory": what the proofs need. "figures": what agreed best with the paper's words on its plots.
#: "pseudocode": Algorithm 2 to the letter.
READINGS = {
    "theory": Reading(),
    "figures": Reading(clock="time", period_end="finish_phase"),
    "pseudocode": Reading(init="carry", phase_counter="total"),
}

_CHOICES = {
    "init": ("recompute", "carry"),
    "clock": ("length", "time"),
    "phase_counter": ("period", "total"),
    "period_end": ("truncate", "finish_phase"),
}


def checked_reading(reading: Any) -> Reading:
    """Return a reading given by name or as a `Reading`."""
    if isinstance(reading, str):
        if reading not in READINGS:
            raise ParameterError(
                f"reading={reading!r}: expected one of {', '.join(map(repr, READINGS))} "
                "or a Reading"
            )
        return READINGS[reading]
    if isinstance(reading, dict):  # as a file writes it
        if not set(reading) <= set(Reading._fields):
            fields = ", ".join(Reading._fields)
            raise ParameterError(f"reading={reading!r}: a table takes {fields}")
        reading = Reading(**reading)
    if not isinstance(reading, Reading):
        raise ParameterError(f"reading={reading!r}: expected a name or a Reading")
    for name, accepted in _CHOICES.items():
        if getattr(reading, name) not in accepted:
            raise ParameterError(
                f"reading.{name}={getattr(reading, name)!r}: expected "
                f"{accepted[0]!r} or {accepted[1]!r}"
            )
    return reading
