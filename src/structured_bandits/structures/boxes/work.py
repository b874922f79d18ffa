"""What is noted of boxes from plan to plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Box, fresh_box
from structured_bandits.planning.watches import Watches, fresh_watches


class BoxWork(NamedTuple):
    """Which boxes fit, and the protectors of a plan, in the first places of `lowest` and `highest`."""

    watches: Watches  # of the models
    lowest: Floats  # of each protector: its least mean of the chosen arm
    highest: Floats
    protectors: Ints  # one number: how many there are
    box: Box
    notes: Floats  # those of the cells
    lengths: Ints  # of the last plan for each arm, where the next search begins


@compilable
def fresh_box_work(models: int, arms: int) -> BoxWork:
    """Return the memory before the first pull; a model has one cell of an arm at most."""
    watches = fresh_watches(models, arms)
    lowest, highest = np.zeros(models), np.zeros(models)
    count = np.zeros(1, np.int64)
    return BoxWork(watches, lowest, highest, count, fresh_box(arms), np.zeros(1), watches.lengths)
