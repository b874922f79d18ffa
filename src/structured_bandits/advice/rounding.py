"""Numbers for people: as many digits as their intervals let one believe."""

from __future__ import annotations


def number(value: float) -> str:
    """Return about three digits.

    >>> number(8.314), number(77.04), number(1629.3)
    ('8.31', '77.0', '1,629')
    """
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{places}f}"


def plus_minus(value: float, high: float | None) -> str:
    """Return a value with half the width of its interval, which decides how many digits are shown.

    >>> plus_minus(22.04, 25.72), plus_minus(108.3, 146.2), plus_minus(5.5, None)
    ('22.0 ± 3.7', '108 ± 38', '5.50')
    """
    if high is None:
        return number(value)
    half = high - value
    places = 0 if half >= 9.95 else 1 if half >= 0.995 else 2
    return f"{value:,.{places}f} ± {half:,.{places}f}"
