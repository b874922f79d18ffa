"""What a simulation returns."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.extras import needs
from structured_bandits.base.writing import write_whole
from structured_bandits.errors import FileFormatError, HorizonWarning, ParameterError, warn_user
from structured_bandits.policies.horizons import beyond_horizon

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

FORMAT = 2
UNCHECKED_FORMAT = 1  # of version 0.1.0, without a checksum
MARK = b"sha-256 of this file: "
DIGITS = 64
UNCHECKED = MARK + b"0" * DIGITS
TABLES = ("regret", "pulls", "plans", "empty", "arms", "sums", "e_values", "alarms", "out")
REFUTING = 100.0  # an e-value that refutes a structure at level 0.01
QUANTILES = (0.05, 0.25, 0.75, 0.95)


@dataclass
class Result:
    """Regret and pulls of several policies over several runs.

    Its tables are dictionaries by policy name. Regret is pseudo-regret: the sum of the gaps of the arms
    that were pulled, at each of the `checkpoints`. At the prompt and in notebooks a result is shown as a
    short table.
    """

    checkpoints: Ints
    regret: dict[str, Floats]  # runs x checkpoints
    pulls: dict[str, Ints]  # runs x arms
    plans: dict[str, Ints]  # runs: how many plans were made
    empty: dict[str, Ints]  # runs: how many confidence sets were empty
    arms: dict[str, Ints] = field(default_factory=dict)  # runs x horizon, if recorded
    info: dict[str, Any] = field(default_factory=dict)  # what made it: parameters, seed, versions
    sums: dict[str, Floats] = field(default_factory=dict)  # runs x arms: of the rewards
    #: Of each run the e-value against the policy's structure at its end; nan where there is none.
    e_values: dict[str, Floats] = field(default_factory=dict)
    #: Of each run after how many pulls the alarm of a `Guarded` policy rang, or `BestArm` or `Certain`
    #: was certain (of rewards that come late, those that had come in the order of asking); 0 if that did
    #: not happen.
    alarms: dict[str, Ints] = field(default_factory=dict)
    out: dict[str, Ints] = field(default_factory=dict)  # runs x checkpoints: rewards that are late

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies."""
        return tuple(self.regret)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(next(iter(self.regret.values())))

    def summary(self, t: int | None = None) -> pandas.DataFrame:
        """Return mean regret, its 95 % Student-t interval, median and quantiles for each policy.

        `t` is one of the checkpoints, by default the last. `empty` is the mean number of empty
        confidence sets, `refuted` the share of runs whose rewards refute the policy's structure at level
        0.01 (`e_values` of 100 or more at the end; nan where there are none). `width` is the confidence
        radius that each policy used; policies should be compared at equal widths. If a policy is tuned
        for fewer than `t` pulls, a warning says so.
        """
        with needs("Result.summary", extra="simulate"):
            import pandas

        column = self._column(t)
        for sentence in self._beyond_horizons(column):
            warn_user(sentence, HorizonWarning)
        rows = {name: self._row(name, column) for name in self.policies}
        frame = pandas.DataFrame.from_dict(rows, orient="index")
        return frame.rename_axis("policy")

    def _row(self, name: str, column: int) -> dict[str, Any]:
        regret = self.regret[name][:, column]
        mean, low, high = mean_interval(regret[:, np.newaxis])
        quantiles = np.quantile(regret, QUANTILES)
        return {
            "mean": mean[0],
            "low": low[0],
            "high": high[0],
            "median": float(np.median(regret)),
            **{f"q{100 * q:02.0f}": float(x) for q, x in zip(QUANTILES, quantiles, strict=True)},
            "plans": float(self.plans[name].mean()),
            "empty": float(self.empty[name].mean()),
            "refuted": self._refuted(name),
            **({"out": float(self.out[name][:, column].mean())} if self.out else {}),
            "width": self.info.get("policies", {}).get(name, {}).get("width", "?"),
        }

    def _beyond_horizons(self, column: int) -> list[str]:
        """Return a sentence for each policy that is tuned for fewer pulls than up to a checkpoint."""
        pulls = int(self.checkpoints[column])
        about = self.info.get("policies", {})
        tuned = {name: about.get(name, {}).get("horizon") for name in self.policies}
        return [
            beyond_horizon(name, horizon, f"was played for {pulls} pulls")
            for name, horizon in tuned.items()
            if horizon is not None and horizon < pulls
        ]

    def _refuted(self, name: str) -> float:
        """Return the share of runs whose rewards refute the structure at level 0.01, nan if unknown."""
        values = self.e_values.get(name)
        if values is None or np.isnan(values).any():
            return math.nan
        return float((values >= REFUTING).mean())

    def _column(self, t: int | None) -> int:
        if t is None:
            return len(self.checkpoints) - 1
        places = np.flatnonzero(self.checkpoints == t)
        if not len(places):
            raise ParameterError(f"t={t!r}: expected one of the checkpoints {self.checkpoints}")
        return int(places[0])

    def to_frame(self) -> pandas.DataFrame:
        """Return a long table: policy, run, t, regret."""
        with needs("Result.to_frame", extra="simulate"):
            import pandas

        places = len(self.checkpoints)
        return pandas.concat(
            [
                pandas.DataFrame(
                    {
                        "policy": name,
                        "run": np.repeat(self._numbers(), places),
                        "t": np.tile(self.checkpoints, self.runs),
                        "regret": regret.ravel(),
                    }
                )
                for name, regret in self.regret.items()
            ],
            ignore_index=True,
        )

    def _numbers(self) -> Ints:
        """Return the numbers of the runs."""
        first = self.info.get("first_run", 0)
        return np.arange(first, first + self.runs)

    def __repr__(self) -> str:
        from structured_bandits.simulation.regret_table import regret_table

        table = regret_table(self)
        return "\n\n".join(part for part in (table.title, table.text()) if part)

    def _repr_html_(self) -> str:
        from structured_bandits.simulation.regret_table import regret_table

        return regret_table(self).html()

    def plot(
        self,
        ax: Axes | None = None,
        *,
        policies: Sequence[str] | None = None,
        log: str | None = None,
        bands: str | None = "mean",
        style: str = "screen",
        legend: bool = False,
    ) -> Axes:
        """Draw the regret of the policies over time; return the axes.

        - `ax`: draw there; by default in a new figure.
        - `policies`: the names of those to draw, in this order; by default all.
        - `log`: "x", "y" or "both" for logarithmic axes; what is 0 has no place on them.
        - `bands`: "mean" draws the mean with its 95 % interval, "quantiles" the median with the band in
          which nine runs in ten lie (5 % to 95 % quantile), None the mean alone.
        - `style`: "screen"; "print" for letters of 8 points in a new figure as wide as a column of a
          paper, 3.3 inches; "print-wide" for the same in 6.9 inches, two columns.
        - `legend`: True for a legend under the axes; by default names stand at the ends of their lines
          where they fit, in a legend only where they do not.
        """
        from structured_bandits.display.regret import draw_regret

        return draw_regret(
            self, ax, policies=policies, log=log, bands=bands, style=style, legend=legend
        )

    def save(self, path: str | os.PathLike[str], lists: str = "fixed") -> None:
        """Write a Parquet file with everything, the parameters, seed and versions included.

        The file has a row for each policy and run. It appears under its name only when it is complete,
        and contains a checksum of everything. With `lists="any"` its columns have the same type whatever
        the numbers of arms and checkpoints are, so that many files can be read as one table.
        """
        write_whole(path, _with_checksum(self._parquet(lists == "fixed")))

    def _parquet(self, fixed: bool) -> bytes:
        with needs("Result.save", extra="simulate"):
            import pyarrow
            import pyarrow.parquet

        columns: dict[str, Any] = {
            "policy": pyarrow.array([name for name in self.policies for _ in range(self.runs)]),
            "run": np.tile(self._numbers(), len(self.policies)),
        }
        for key in TABLES:
            if tables := list(getattr(self, key).values()):
                columns[key] = _to_arrow(np.concatenate(tables), fixed)
        about = {"format": FORMAT, "checkpoints": self.checkpoints.tolist(), "info": self.info}
        table = pyarrow.table(columns).replace_schema_metadata(
            {"structured_bandits": json.dumps(about, default=_plain_value), "checksum": UNCHECKED}
        )
        file = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(table, file)
        return file.getvalue().to_pybytes()


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result written by `Result.save`; a file that was damaged since is refused."""
    with needs("sb.load_result", extra="simulate"):
        import pyarrow
        import pyarrow.parquet  # before a look at the file, whose fault it is not
    content = Path(path).read_bytes()
    place = content.rfind(MARK)
    if place >= 0 and content != _with_checksum(content):
        raise FileFormatError(f"{path} is damaged: its content does not match its checksum")
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(content))
        about = json.loads(table.schema.metadata[b"structured_bandits"])
        number = about["format"]
    except Exception:  # whatever the readers of Parquet and JSON make of a file that is not ours
        raise FileFormatError(f"{path}: not a result saved by structured_bandits") from None
    if number not in (FORMAT, UNCHECKED_FORMAT):
        raise FileFormatError(
            f"{path}: format {number!r}; this version reads formats {UNCHECKED_FORMAT} and {FORMAT}"
        )
    if (number == FORMAT) != (place >= 0):
        raise FileFormatError(f"{path} is damaged: its checksum and its format do not go together")
    try:
        return _result(table, about)
    except Exception:  # as above: a file without a checksum may hold anything
        raise FileFormatError(f"{path} is damaged: its tables are not those of a result") from None


def _result(table: Any, about: dict[str, Any]) -> Result:
    names = table["policy"].to_pylist()
    mine = {name: np.array([other == name for other in names]) for name in dict.fromkeys(names)}
    tables: dict[str, dict[str, Any]] = {}
    for key in table.column_names:
        if key not in ("policy", "run"):
            rows = _from_arrow(table[key])
            tables[key] = {name: rows[chosen] for name, chosen in mine.items()}
    return Result(checkpoints=np.array(about["checkpoints"]), info=about["info"], **tables)


def _with_checksum(content: bytes) -> bytes:
    """Return the bytes of a file with the hash of all of them written into its place.

    For the hash, the place itself counts as zeros. It is looked for from the end: in Parquet the notes
    about a table come last, and this is the last of ours, so no name or number can be taken for it.
    """
    start = content.rfind(MARK) + len(MARK)
    end = start + DIGITS
    digest = hashlib.sha256(content[:start] + b"0" * DIGITS + content[end:]).hexdigest()
    return content[:start] + digest.encode() + content[end:]


def _plain_value(value: Any) -> Any:
    """Return an array or a scalar of NumPy as JSON can hold it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise ParameterError(
        f"info: {value!r} cannot be saved; expected numbers, texts, lists and tables"
    )


def _to_arrow(table: Any, fixed: bool) -> Any:
    """Return an Arrow column with a number, or a list of numbers, for each row."""
    with needs("Result.save", extra="simulate"):
        import pyarrow

    if table.ndim == 1:
        return pyarrow.array(table)
    if not fixed:
        ends = np.arange(len(table) + 1, dtype=np.int32) * table.shape[1]
        return pyarrow.ListArray.from_arrays(ends, pyarrow.array(table.ravel()))
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(table.ravel()), table.shape[1])


def _from_arrow(column: Any) -> Any:
    """Return the table that `_to_arrow` was given."""
    with needs("sb.load_result", extra="simulate"):
        import pyarrow

    array = column.combine_chunks()
    if pyarrow.types.is_fixed_size_list(array.type) or pyarrow.types.is_list(array.type):
        return array.flatten().to_numpy().reshape(len(array), -1)
    return array.to_numpy()


def mean_interval(samples: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean over rows (runs) and the ends of its 95 % Student-t interval, by column.

    With a single run there is no interval: its ends are nan.
    """
    with needs("A 95 % interval", extra="simulate"):
        from scipy.special import stdtrit

    runs = len(samples)
    mean = samples.mean(axis=0)
    if runs < 2:
        return mean, np.full_like(mean, math.nan), np.full_like(mean, math.nan)
    half = stdtrit(runs - 1, 0.975) * samples.std(axis=0, ddof=1) / math.sqrt(runs)
    return mean, mean - half, mean + half
