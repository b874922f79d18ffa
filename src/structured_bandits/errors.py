"""The errors a user can catch, and warnings that point at the user's line.

Every error is a `ValueError` as well: bad input is named with its value and with what is accepted,
before any state changes.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_LIBRARY = str(Path(__file__).parent) + os.sep


class StructuredBanditsError(ValueError):
    """Base class of all errors raised by this library."""


class StructureError(StructuredBanditsError):
    """A structure cannot be built, or has no such model or arm."""


class ParameterError(StructuredBanditsError):
    """A parameter of a policy, a world or a simulation is out of range."""


class RewardError(StructuredBanditsError):
    """A reward, or a world's rewards, do not fit what the policy was told to expect."""


class DecisionError(StructuredBanditsError):
    """A decision of an agent is unknown, already answered or cancelled.

    `recorded` is the reward that stands, where a service was told another one.
    """

    recorded: float | None = None


class FileFormatError(StructuredBanditsError):
    """A file or a snapshot cannot be read; the message names the place."""


class OutputError(StructuredBanditsError, OSError):
    """A file cannot be written; the message names it and says why. It is an `OSError` too."""


class MissingExtraError(StructuredBanditsError, ImportError):
    """A package that this needs is not installed; the message has the command that installs it."""


class ServiceError(StructuredBanditsError, OSError):
    """A decision service cannot be reached, fails, or lets nobody in; it is an `OSError` too.

    `status` is the HTTP status, None if there was no answer. If `passing`, the same request may succeed
    later; otherwise something is set up wrongly, such as the address or the token.
    """

    def __init__(self, text: str, status: int | None = None, passing: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.passing = passing


class HorizonWarning(UserWarning):
    """A policy is played for more pulls than it is tuned for; the message says what that means."""


class SlowSimulationWarning(UserWarning):
    """Simulations will be slower than they could be; the message says why and what helps."""


class MeansOutsideUnitIntervalWarning(UserWarning):
    """A structure holds means outside the range of its rewards, [0, 1] unless it declares another."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside this library: builders call builders, files name files.

    In a thread of our own there is no such line; then the warning points at where the thread began.
    """
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARY):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
