"""Checks for policies, structures and worlds of one's own: what the library asks of its own ones.

Each check raises a `CheckError` (an AssertionError) that says what was expected, what was seen and how
to see it again. They print nothing, are deterministic and take seconds.

>>> import structured_bandits as sb
>>> sb.testing.check_policy(sb.UCB(3), compiled=False)
"""

from structured_bandits.agents.agent import agent_generator
from structured_bandits.testing.policy_checks import check_policy
from structured_bandits.testing.requirements import CheckError
from structured_bandits.testing.structure_checks import check_structure
from structured_bandits.testing.tapes import Played, play, reward_tape
from structured_bandits.testing.world_checks import check_world

__all__ = [
    "CheckError",
    "Played",
    "agent_generator",
    "check_policy",
    "check_structure",
    "check_world",
    "play",
    "reward_tape",
]
