"""Playing a policy of the library on a tape: what users have, too."""

from structured_bandits.testing.tapes import Played, Spy, play

__all__ = ["Played", "Spy", "play"]
