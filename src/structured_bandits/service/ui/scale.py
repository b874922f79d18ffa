"""Where numbers stand along a chart."""

from __future__ import annotations

import math
from typing import NamedTuple


class Scale(NamedTuple):
    """Numbers from `low` to `high`, as parts of a length; `logarithmic` if each doubling is as long."""

    low: float
    high: float
    logarithmic: bool = False

    def part(self, value: float) -> float:
        """Return where a value is: 0 at the low end, 1 at the high one; what lies beyond is at the end.

        >>> Scale(1.0, 100.0, logarithmic=True).part(10.0)
        0.5
        """
        low, high = self.low, self.high
        if high <= low:
            return 0.5
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def percent(self, value: float) -> str:
        """Return where a value is, as SVG wants it.

        >>> Scale(0.0, 4.0).percent(1.0)
        '25.00%'
        """
        return f"{100.0 * self.part(value):.2f}%"
