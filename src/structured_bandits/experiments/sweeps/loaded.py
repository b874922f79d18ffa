"""A sweep that was played: tables of its points, and which parameters were best."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structured_bandits.base.extras import needs
from structured_bandits.errors import FileFormatError, ParameterError
from structured_bandits.experiments.sweeps.folder import load_runs, part_path, read_manifest
from structured_bandits.simulation.result import Result

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SUMMARY = ("mean", "low", "high", "median", "q95", "empty", "refuted")


@dataclass(frozen=True)
class Sweep:
    """A sweep that was played: a *point* is a policy with a value of every axis that concerns it.

    `parameters` are the axes that belong to policies, `settings` those of the whole experiment.
    """

    out: Path
    title: str
    runs: int
    parameters: tuple[str, ...]
    settings: tuple[str, ...]
    about: tuple[dict[str, Any], ...]  # of each point

    @property
    def points(self) -> pandas.DataFrame:
        """A row for each point: its policy, its values (nan where an axis does not concern it)."""
        with needs("Sweep.points", extra="simulate"):
            import pandas

        rows = [
            {
                "point": each["point"],
                "policy": each["policy"],
                **{axis: each["values"].get(axis) for axis in (*self.settings, *self.parameters)},
                "pulls": each["horizon"],
            }
            for each in self.about
        ]
        return pandas.DataFrame(rows).set_index("point")

    def result(self, point: int) -> Result:
        """Return all runs of a point."""
        if not 0 <= point < len(self.about):
            raise ParameterError(f"point={point!r}: expected 0 to {len(self.about) - 1}")
        return load_runs(self.out, point, self.about[point]["key"], self.runs)

    def results(self) -> Iterator[tuple[int, Result]]:
        """Yield the points with their runs, one after the other."""
        for each in self.about:
            yield each["point"], self.result(each["point"])

    def frame(self) -> pandas.DataFrame:
        """Return a row for each point and run: the point's values, the run, the regret at its end."""
        with needs("Sweep.frame", extra="simulate"):
            import pandas

        parts = []
        for point, result in self.results():
            (regret,) = result.regret.values()
            runs = range(len(regret))
            parts.append(pandas.DataFrame({"point": point, "run": runs, "regret": regret[:, -1]}))
        return pandas.concat(parts, ignore_index=True).join(self.points, on="point")

    def summary(self) -> pandas.DataFrame:
        """Return the points with their regret at the end: mean, 95 % interval, median, 95 % quantile.

        `empty` is the mean number of empty confidence sets, `refuted` the share of runs whose rewards
        refute the structure (as in `Result.summary`).
        """
        return self._summary.copy()

    @cached_property  # reads all files
    def _summary(self) -> pandas.DataFrame:
        with needs("Sweep.summary", extra="simulate"):
            import pandas

        rows = {point: result.summary().iloc[0] for point, result in self.results()}
        numbers = pandas.DataFrame.from_dict(rows, orient="index")[list(SUMMARY)].astype(float)
        return self.points.join(numbers)

    def best(self) -> pandas.DataFrame:
        """Return for each policy the values of its parameters with the lowest regret.

        The regret is the mean over all settings. `first` says in how many of them these values are the
        best of the policy, or so close that the 95 % intervals meet; `settings` how many there are.
        """
        found = self._summary
        own, outer = list(self.parameters), list(self.settings)
        rows = []
        with needs("Sweep.best", extra="simulate"):
            import pandas

        for policy, points in found.groupby("policy", sort=False):
            varied = [axis for axis in own if points[axis].notna().any()]
            means = points.groupby(varied, dropna=False)["mean"].mean() if varied else None
            chosen = points
            values: dict[str, Any] = {}
            if means is not None:
                best = means.idxmin()
                values = dict(
                    zip(varied, best if isinstance(best, tuple) else (best,), strict=True)
                )
                for axis, value in values.items():
                    chosen = chosen[chosen[axis] == value]
            rows.append(
                {
                    "policy": policy,
                    **{axis: values.get(axis) for axis in own},
                    "mean": chosen["mean"].mean(),
                    "first": _near_the_best(points, chosen, outer),
                    "settings": len(chosen),
                }
            )
        return pandas.DataFrame(rows).sort_values("mean", ignore_index=True)

    def plot(self) -> Figure:
        """Draw the mean regret at the end: a panel for each setting, a line for each policy."""
        from structured_bandits.display.small_multiples import draw_sweep

        return draw_sweep(self._summary, self.parameters, self.settings, self.runs)

    @property
    def digest(self) -> str:
        """A hash (SHA-256) of the files of all points, which is the same whoever has played them."""
        whole = hashlib.sha256()
        for each in self.about:
            whole.update(part_path(self.out, each["point"], range(self.runs)).read_bytes())
        return whole.hexdigest()

    def __repr__(self) -> str:
        axes = ", ".join((*self.settings, *self.parameters))
        return f"Sweep({self.title!r}: {len(self.about)} points of {self.runs} runs over {axes})"


def _near_the_best(points: pandas.DataFrame, chosen: pandas.DataFrame, outer: list[str]) -> int:
    """Return in how many settings the chosen points are the best, or their intervals meet its."""
    if not outer:
        return 1
    count = 0
    groups = dict(list(points.groupby(outer, dropna=False)))
    for key, group in chosen.groupby(outer, dropna=False):
        best = groups[key].loc[groups[key]["mean"].idxmin()]
        meets = (group["low"] <= best["high"]) | (group["mean"] <= best["mean"])
        count += int(meets.any())  # of a single run there is no interval
    return count


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Return the sweep in a folder that `sb.sweep` or `structured-bandits sweep` has written."""
    out = Path(folder)
    about = read_manifest(out)
    if about is None:
        raise FileFormatError(f"{out}: there is no sweep in this folder")
    points = tuple(about["points"])
    missing = [
        each["point"]
        for each in points
        if not part_path(out, each["point"], range(about["runs"])).is_file()
    ]
    if missing:
        raise FileFormatError(
            f"{out}: {len(missing)} of {len(points)} points are not complete; start the sweep again, it "
            "goes on where it was"
        )
    return Sweep(
        out=out,
        title=about["title"],
        runs=about["runs"],
        parameters=tuple(about["parameters"]),
        settings=tuple(about["settings"]),
        about=points,
    )
