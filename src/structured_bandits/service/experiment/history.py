"""How it went: a few hundred points for the curves of the dashboard."""

from __future__ import annotations

from structured_bandits.service.wire import HistoryPoint

MOST_POINTS = 500
GROWTH = 1.03  # of the number of rewards from one point to the next


class History:
    """Points at numbers of rewards that grow by 3 %; every second is dropped when there are too many."""

    def __init__(self, points: list[HistoryPoint] | None = None) -> None:
        self.points = points or []
        last = self.points[-1].rewards if self.points else 0
        self.next_at = max(last + 1, int(last * GROWTH)) if self.points else 0

    def is_due(self, rewards: int) -> bool:
        """Is it time for a point?"""
        return rewards >= self.next_at

    def add(self, point: HistoryPoint) -> None:
        """Add a point."""
        self.points.append(point)
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]
        self.next_at = max(point.rewards + 1, int(point.rewards * GROWTH))
