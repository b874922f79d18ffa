"""Numbers and times as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from structured_bandits.agents.words import counted
from structured_bandits.base.text_tables import interval, number, without_controls
from structured_bandits.inference.certificate import error_text
from structured_bandits.inference.misfit.report import p_value_words

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
LONG = 1.5 * DAY  # of a chart: beyond it days are told, not hours


def duration(seconds: float) -> str:
    """Return a length of time in the unit in which people would say it.

    >>> duration(0.4), duration(59), duration(90), duration(7200), duration(86_400 * 3)
    ('0.4 s', '59 s', '1.5 min', '2 h', '3 days')
    """
    if seconds < MINUTE:
        return f"{number(seconds, 2 if seconds < 10 else 3)} s"
    for size, unit, until in ((MINUTE, "min", HOUR), (HOUR, "h", 2 * DAY)):
        if seconds < until:
            return f"{number(seconds / size, 2 if seconds < 10 * size else 3)} {unit}"
    return f"{number(seconds / DAY, 3)} days"


def moment(at: int) -> str:
    """Return a time given in milliseconds since 1970.

    >>> moment(1_700_000_000_000)
    '2023-11-14 22:13:20 UTC'
    """
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def short_moment(at: int) -> str:
    """Return a time without its year, where there is little room.

    >>> short_moment(1_700_000_000_000)
    '14 Nov 22:13:20'
    """
    then = datetime.fromtimestamp(at / 1000, UTC)
    return f"{then.day} {then:%b %H:%M:%S}"


def day(at: int) -> str:
    """Return the day of a time.

    >>> day(1_700_000_000_000)
    '14 Nov 2023'
    """
    then = datetime.fromtimestamp(at / 1000, UTC)
    return f"{then.day} {then:%b %Y}"


def place_in_time(at: float, span_seconds: float) -> str:
    """Return a time at a chart that spans so many seconds: days, hours or seconds.

    >>> [place_in_time(1.7e12, span) for span in (60, 7200, 1e6)]
    ['22:13:20', '22:13', '14 Nov']
    """
    then = datetime.fromtimestamp(at / 1000, UTC)
    if span_seconds >= LONG:
        return f"{then.day} {then:%b}"
    return f"{then:%H:%M:%S}" if span_seconds < 10 * MINUTE else f"{then:%H:%M}"


def figure(value: float | None) -> str:
    """Return a number, or a dash for one that is not known.

    >>> figure(None), figure(0.123456)
    ('–', '0.1235')
    """
    return "–" if value is None else number(value)


def span(low: float | None, high: float | None) -> str:
    """Return an interval; an end that is not known is open.

    >>> span(0.1, 0.30001), span(None, 2.0), span(None, None)
    ('0.1 to 0.3', 'up to 2', 'not known')
    """
    if low is None or high is None:
        known = "" if low is None else f"from {number(low)}"
        return known or ("not known" if high is None else f"up to {number(high)}")
    return interval(low, high)


def of_total(part: int | None, total: int | None) -> str:
    """Return a part of a total.

    >>> of_total(3, 12_000), of_total(3, None), of_total(None, None)
    ('3 of 12,000', '3', '–')
    """
    if part is None:
        return "–"
    return f"{part:,}" if total is None else f"{part:,} of {total:,}"


def policy_name(policy: str) -> str:
    """Return what a policy is called, given as Python writes it.

    >>> policy_name("Guarded(SAE(FiniteStructure(4 models), horizon=100), fallback=KLUCB())")
    'SAE, guarded'
    >>> policy_name("UCB(4)"), policy_name("my policy"), policy_name("Certain(ISAE(…), share=0.0)")
    ('UCB', 'my policy', 'ISAE')
    """
    found = re.match(r"(?:Certain\()?(Guarded\()?(\w+)\(", policy)
    return policy if found is None else found[2] + (", guarded" if found[1] else "")


FILTERS = {
    "count": lambda value: f"{value:,}",
    "counted": counted,
    "day": day,
    "duration": duration,
    "figure": figure,
    "moment": moment,
    "p_value": p_value_words,
    "error_text": error_text,
    "plain": without_controls,
    "short_moment": short_moment,
    "span": span,
}
