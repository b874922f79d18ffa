"""Numbers for people: as many digits as their intervals let one believe."""

from __future__ import annotations


def number(value: float) -> str:
    """Return about three digits.

    >>> number(8.314), number(77.04), number(1629.3)
    ('8.31', '77.0', '1,629')
    """
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{places}f}"


SKEW = 2.5  # times the other half of an interval: then both halves are told


def plus_minus(value: float, low: float | None, high: float | None) -> str:
    """Return a value with its interval, whose width decides how many digits are shown.

    >>> plus_minus(22.04, 18.9, 25.72), plus_minus(108.3, 95.1, 181.6), plus_minus(5.5, None, None)
    ('22.0 ± 3.7', '108 −13 +73', '5.50')
    """
    if low is None or high is None:
        return number(value)
    below, above = value - low, high - value
    half = max(below, above)
    places = 0 if half >= 9.95 else 1 if half >= 0.995 else 2
    if half > SKEW * min(below, above):
        return f"{value:,.{places}f} −{below:,.{places}f} +{above:,.{places}f}"
    return f"{value:,.{places}f} ± {half:,.{places}f}"
