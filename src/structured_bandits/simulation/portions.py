"""How many runs a worker gets at a time: few blocks, and nobody idle at the end.

What is left is shared out in portions that get smaller and smaller. How long a run takes is not known
before, but soon after: blocks that would take less time than it is worth to hand them out are larger.
Results do not depend on the blocks, so blocks may depend on the clock.
"""

from __future__ import annotations

PARTS = 4  # of what is left, shared by all workers: large blocks first, small ones at the end
WORTHWHILE = 0.02  # seconds of a block: handing it out takes about a hundredth of that
FINEST = 8  # parts of a block that is worthwhile: none is smaller, however little is left
ALONE = 0.2  # the same for a single worker, for whose last block nobody waits


class Portions:
    """Hands out runs, block by block."""

    def __init__(self, runs: range, workers: int) -> None:
        self.left = runs
        self._workers = workers
        self._least = 1  # runs of a block that is worthwhile, as far as is known

    def take(self) -> range:
        """Return the next block."""
        left = len(self.left)
        share = -(-left // self._workers)
        size = max(portion(left, self._workers), min(self._least, share), self._least // FINEST)
        block, self.left = self.left[:size], self.left[size:]
        return block

    def learn(self, runs: int, seconds: float) -> None:
        """Note that a worker has lately played so many runs in so many seconds."""
        worthwhile = ALONE if self._workers == 1 else WORTHWHILE
        self._least = int(worthwhile * runs / max(seconds, 1e-9))


def portion(left: int, workers: int) -> int:
    """Return how many of the runs that are left the next block has, if nothing is known of them."""
    return max(1, -(-left // (PARTS * workers)))


def spread(runs: range, workers: int) -> list[range]:
    """Return all blocks of runs where nothing is known of them.

    >>> spread(range(20), 2)
    [range(0, 3), range(3, 6), range(6, 8), range(8, 10), range(10, 12), range(12, 13), range(13, 14),
     range(14, 15), range(15, 16), range(16, 17), range(17, 18), range(18, 19), range(19, 20)]
    """
    portions = Portions(runs, workers)
    blocks = []
    while portions.left:
        blocks.append(portions.take())
    return blocks
