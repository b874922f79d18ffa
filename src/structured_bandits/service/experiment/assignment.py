"""Which decisions are not the policy's: the share of the control arm, and that of the audit.

A decision belongs to a share by a hash of its unit (the key of its ask, or its number), so the same unit
is always on the same side, and nothing has to be remembered.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Assignment(NamedTuple):
    """What comes into question for one decision, besides the policy."""

    control: int | None  # the fixed arm; None if there is none, or it is not available
    control_share: float
    audited: tuple[int, ...]  # arms that were dropped and are available
    audit_share: float

    @property
    def policy_share(self) -> float:
        """The share that is left to the policy."""
        return 1.0 - self.control_share - self.audit_share

    def propensity(self, arm: int, chance: float | None) -> float | None:
        """Return the probability of an arm, if the policy chooses it with probability `chance`."""
        if chance is None and self.policy_share > 0.0:
            return None
        total = self.policy_share * (chance or 0.0)
        if arm == self.control:
            total += self.control_share
        if arm in self.audited:
            total += self.audit_share / len(self.audited)
        return total


def place_of(uid: str, unit: str, purpose: str) -> float:
    """Return a number from [0, 1) for a unit: as if drawn, but always the same."""
    digest = hashlib.blake2b(f"{purpose}|{uid}|{unit}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) * 2.0**-53
