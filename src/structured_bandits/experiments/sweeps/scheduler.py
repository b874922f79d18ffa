"""The scheduler of a sweep: cuts runs into tasks, and estimates how long the rest will take.

Handing over a task and writing a file take milliseconds, so a task should take seconds: long runs are
cut into several tasks, and short ones of several points go together. How long a run takes is learned
from those that were played of the same point. Of a point that is new it is known for the kind, which is
policy and horizon, and of a new kind a few runs are played first; but other parameters may make runs
several times as long, so the first task of a point is short: it might be the last one that ends. A few
runs that end at once say what a task costs, not what a run does, so more of that kind follow soon: if
all thought that much were left, the last tasks would be long.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from structured_bandits.experiments.sweeps.grid import Point
from structured_bandits.experiments.sweeps.tasks import PointRuns, TimedRuns

SECONDS = 2.0  # that a task should take
FIRST = 8  # runs of a kind that nobody has timed
TELLING = 0.05  # seconds of runs from which on they say what a run costs
TAIL = 0.25  # of the seconds that are left, at most in a task: shorter ones would keep dask busy
DEARER = 4.0  # times that runs of a new point may take those of the dearest one of its kind
PIECES = 200  # in a task at most
RECENT = 0.5  # weight of the last timing


class Schedule:
    """The runs that nobody plays yet."""

    def __init__(
        self, points: Sequence[Point], missing: Mapping[int, Sequence[range]], slots: int
    ) -> None:
        self._kinds = {each.number: (each.policy, each.experiment.horizon) for each in points}
        self._runs: Counter[tuple[str, int]] = Counter()  # that are left, by kind
        self._under_way: Counter[tuple[str, int]] = Counter()  # that somebody plays, by kind
        self._costs: dict[tuple[str, int], float] = {}  # seconds a run, by kind, lately
        self._dearest: dict[tuple[str, int], float] = {}  # the most of any point, by kind
        self._known: dict[int, float] = {}  # seconds a run, by point
        self._told: set[tuple[str, int]] = set()  # kinds of which runs took long enough to tell
        self.slots = slots  # tasks that are done at the same time
        pieces = [PointRuns(point, runs) for point, several in missing.items() for runs in several]
        self._left: deque[PointRuns] = deque(self._one_of_each_kind_first(pieces))
        for piece in pieces:
            self._runs[self._kinds[piece.point]] += len(piece.runs)

    def _one_of_each_kind_first(self, pieces: Iterable[PointRuns]) -> list[PointRuns]:
        """Return the pieces with a few runs of each kind in front: then the time left is soon known."""
        first: dict[tuple[str, int], PointRuns] = {}
        rest: list[PointRuns] = []
        for point, runs in pieces:
            kind = self._kinds[point]
            if kind not in first:
                first[kind], runs = PointRuns(point, runs[:FIRST]), runs[FIRST:]
            if runs:
                rest.append(PointRuns(point, runs))
        return [*first.values(), *rest]

    @property
    def runs_left(self) -> int:
        """How many runs nobody plays yet."""
        return self._runs.total()

    def take(self) -> list[PointRuns]:
        """Return the pieces of the next task; none if nothing is left."""
        pieces: list[PointRuns] = []
        room = min(SECONDS, max(0.1, TAIL * (self._seconds(self._runs) or SECONDS)))
        while self._left and room > 0.0 and len(pieces) < PIECES:
            piece = self._left.popleft()
            cost = self._cost(piece.point)
            if cost is None and pieces:
                self._left.appendleft(piece)
                break
            fits = FIRST if cost is None else max(1, int(room / cost))
            now, later = piece.runs[:fits], piece.runs[fits:]
            if later:
                self._left.appendleft(PointRuns(piece.point, later))
            pieces.append(PointRuns(piece.point, now))
            self._runs[self._kinds[piece.point]] -= len(now)
            self._under_way[self._kinds[piece.point]] += len(now)
            if cost is None or later:
                break  # another piece of this point would only be another file
            room -= cost * len(now)
        return pieces

    def learn(self, played: Iterable[TimedRuns]) -> None:
        """Learn what was played, and how long it took."""
        for (point, runs), seconds in played:
            kind, cost = self._kinds[point], seconds / len(runs)
            self._under_way[kind] -= len(runs)
            if seconds > 0.0:
                self._known[point] = cost
                if kind in self._told:
                    self._costs[kind] = (1.0 - RECENT) * self._costs[kind] + RECENT * cost
                    self._dearest[kind] = max(self._dearest[kind], cost)
                else:
                    self._costs[kind] = self._dearest[kind] = cost
                    if seconds >= TELLING:
                        self._told.add(kind)
                    else:
                        self._try_more(kind, int(TELLING / cost))  # more than were played

    def _try_more(self, kind: tuple[str, int], count: int) -> None:
        """Let some runs of a kind be the next ones."""
        for place, (point, runs) in enumerate(self._left):
            if self._kinds[point] == kind:
                del self._left[place]
                if runs[count:]:
                    self._left.insert(place, PointRuns(point, runs[count:]))
                self._left.appendleft(PointRuns(point, runs[:count]))
                return

    def _cost(self, point: int) -> float | None:
        """Return how many seconds a run of a point may take; None if nobody knows."""
        dearest = self._dearest.get(self._kinds[point])
        return self._known.get(point, DEARER * dearest if dearest is not None else None)

    def seconds_left(self) -> float | None:
        """Return how long it takes until all runs are played; None as long as nobody knows."""
        return self._seconds(self._runs + self._under_way)

    def _seconds(self, runs: Mapping[tuple[str, int], int]) -> float | None:
        left = {kind: count for kind, count in runs.items() if count}
        if any(kind not in self._costs for kind in left):
            return None
        return sum(self._costs[kind] * count for kind, count in left.items()) / self.slots
