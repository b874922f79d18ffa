"""Agents that learn from logs: what is read, and what is refused with its row."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest

import structured_bandits as sb

DRINKS = sb.FiniteStructure([[0.8, 0.3, 0.1], [0.2, 0.7, 0.1]], arms=["tea", "iced, tea", "10"])
PULLS = [("tea", 1), ("iced, tea", 0), ("tea", 0.25), ("10", 0.5), ("tea", 1)]


def agent() -> sb.Agent:
    return sb.Agent(sb.SUCB.paper(DRINKS))


def frame(rows: Any = PULLS, columns: Any = ("arm", "reward")) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))


def same_play(one: sb.Agent, other: sb.Agent) -> None:
    assert one.to_json() == other.to_json()


def of_pulls() -> sb.Agent:
    """An agent that was told the sums of `PULLS`."""
    expected = agent()
    expected.learn([3, 1, 1], [2.25, 0.0, 0.5], [2.0625, 0.0, 0.25])
    return expected


class Columns:
    """A data frame of some other make, whose columns can only be iterated over."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns, self._cells = tuple(columns), columns

    def __getitem__(self, name: str) -> Any:
        return iter(self._cells[name])


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame,
        lambda frame: frame.astype({"arm": "category", "reward": "Float64"}),
        pyarrow.Table.from_pandas,
        lambda frame: Columns(frame.to_dict("list")),
        lambda frame: frame.rename(columns={"arm": " Arm", "reward": "REWARD"}).assign(
            day=3, sum="x"
        ),
    ],
    ids=["pandas", "nullable", "arrow", "own", "other-columns"],
)
def test_a_row_for_each_pull(make: Any) -> None:
    learned = agent()
    read = learned.learn(make(frame()))
    assert read == sb.Learned(rows=5, pulls=5, arms=("tea", "iced, tea", "10"))
    assert repr(read) == "Learned(rows=5, pulls=5, arms=('tea', 'iced, tea', '10'))"
    same_play(learned, of_pulls())


def test_a_file_with_a_row_for_each_pull(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    text = '\ufeffday,Arm,reward\n1,tea,1\n1,"iced, tea",0\n\n2, tea ,0.25\n2,10,5e-1\n3,tea,1.0\n'
    path.write_text(text, encoding="utf-8")
    for place in (path, str(path)):
        learned = agent()
        assert learned.learn(place) == sb.Learned(5, 5, ("tea", "iced, tea", "10"))
        same_play(learned, of_pulls())


@pytest.mark.parametrize("column", ["sum", "sums"])
def test_rows_of_sums_add_up(tmp_path: Path, column: str) -> None:
    rows = [("tea", 2, 1.25), ("10", 1, 0.5), ("iced, tea", 1, 0), ("tea", 1, 1), ("10", 0, 0)]
    without = frame(rows, ("arm", "pulls", column))
    learned, expected = agent(), agent()
    assert learned.learn(without) == sb.Learned(5, 5, ("tea", "iced, tea", "10"))
    expected.learn([3, 1, 1], [2.25, 0.0, 0.5])
    same_play(learned, expected)
    path = tmp_path / "sums.csv"
    without.assign(squares=[1.0625, 0.25, 0, 1, 0]).to_csv(
        path
    )  # with a column that counts the rows
    learned = agent()
    learned.learn(path)
    same_play(learned, of_pulls())


def test_squares_come_from_a_row_for_each_pull_and_are_missed_without_one() -> None:
    policy = sb.UCBV(DRINKS)
    told, learned = sb.Agent(policy), sb.Agent(policy)
    told.learn([3, 1, 1], [2.25, 0.0, 0.5], [2.0625, 0.0, 0.25])
    learned.learn(frame())
    same_play(learned, told)
    with pytest.raises(sb.RewardError, match="UCBV needs the sums of squared rewards"):
        learned.learn(frame([("tea", 3, 2.25)], ("arm", "pulls", "sum")))
    same_play(learned, told)


def test_an_empty_log_changes_nothing() -> None:
    learned = agent()
    assert learned.learn(frame([])) == sb.Learned(0, 0, ())
    same_play(learned, agent())


def test_names_that_are_numbers_and_names_with_spaces() -> None:
    prices = sb.Agent(sb.UCB(sb.FiniteStructure([[0.1, 0.2, 0.3]], arms=["9.5", "10", " 10"])))
    prices.learn(frame([(9.5, 1), (10.0, 0), (10.0, 1)]))  # all floats
    assert prices.pulls.tolist() == [1, 2, 0]
    prices.learn(frame([(" 10", 1), ("10 ", 0)]))
    assert prices.pulls.tolist() == [1, 3, 1]
    with pytest.raises(sb.FileFormatError, match="arm='a' is unknown"):  # which of the two?
        sb.Agent(sb.UCB(sb.FiniteStructure([[1, 0]], arms=["a ", " a"]))).learn(frame([("a", 1)]))
    numbered = sb.Agent(sb.UCB(3))
    assert numbered.learn(frame([(0, True), (2, False), (2, np.True_)])).arms == ("0", "2")
    assert numbered.sums.tolist() == [1.0, 0.0, 1.0]


def test_other_ranges_and_gaussian_rewards() -> None:
    wide = sb.Agent(sb.UCB(DRINKS, reward_range=(-10, 10)))
    wide.learn(frame([("tea", -7.5), ("tea", 9)]))
    assert wide.sums[0] == 1.5
    free = sb.Agent(sb.UCB(DRINKS, reward_range=None, sigma=1.0))
    free.learn(frame([("tea", -700), ("tea", 1e9)]))
    assert free.sums[0] == 999999300.0


def refused(log: Any, *parts: str) -> None:
    """Nothing is learned, and the message has all the parts."""
    learned = of_pulls()
    with pytest.raises(sb.FileFormatError) as error:
        learned.learn(log)
    for part in parts:
        assert part in str(error.value)
    same_play(learned, of_pulls())


RANGE = "expected a number in [0, 1]"


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (("milk", 1), ["arm='milk' is unknown; accepted are 'tea', 'iced, tea', '10'"]),
        (("Tea", 1), ["arm='Tea' is unknown"]),
        ((0, 1), ["arm=0 is unknown"]),  # an index is no name
        ((None, 1), ["arm: the cell is empty"]),
        ((" ", 1), ["arm: the cell is empty"]),
        ((float("nan"), 1), ["arm: the cell is empty"]),
        ((pd.NA, 1), ["arm: the cell is empty"]),
        (("tea", None), ["reward: the cell is empty"]),
        (("tea", float("nan")), ["reward: the cell is empty"]),
        (("tea", pd.NaT), ["reward: the cell is empty"]),
        (("tea", ""), ["reward: the cell is empty"]),
        (("tea", "1"), ["reward='1'", RANGE]),
        (("tea", "sold"), ["reward='sold'", RANGE]),
        (("tea", 1.5), ["reward=1.5", RANGE]),
        (("tea", -1), ["reward=-1", RANGE]),
        (("tea", float("inf")), ["reward=inf", RANGE]),
    ],
)
def test_a_frame_is_refused_with_the_row(cells: Any, parts: list[str]) -> None:
    log = pd.DataFrame({"arm": ["tea", "10", cells[0]], "reward": [1, 0, cells[1]]}, dtype=object)
    refused(log, "the log, row 2 (counted from 0): ", *parts)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("milk,1", ["arm='milk' is unknown"]),
        (",1", ["arm: the cell is empty"]),
        ("tea,", ["reward: the cell is empty"]),
        ("tea,sold", ["reward='sold'", RANGE]),
        ("tea,1_0", ["reward='1_0'"]),
        ("tea,nan", ["reward: the cell is empty"]),
        ("tea,2", ["reward=2.0", RANGE]),
        ("tea,0,5", ["3 cells where the header has 2"]),
        ("tea", ["1 cells where the header has 2"]),
        ('"tea\n,1', ["1 cells where the header has 2"]),
    ],
)
def test_a_file_is_refused_with_the_line(tmp_path: Path, line: str, parts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"arm,reward\ntea,1\n\n{line}\n")
    number = 5 if line.startswith('"') else 4  # the line on which the cell ends
    refused(path, f"log.csv, line {number}: ", *parts)


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (("tea", 1.5, 1, 1), ["pulls=1.5", "whole number >= 0"]),
        (("tea", -1, 0, 0), ["pulls=-1"]),
        (("tea", True, 0, 0), ["pulls=True"]),
        (("tea", 2**60, 0, 0), ["less than 2**52"]),
        (("tea", None, 0, 0), ["pulls: the cell is empty"]),
        (("tea", 2, 2.5, 2), ["sum=2.5: 2 rewards in [0, 1] sum to between 0 and 2"]),
        (("tea", 0, 1, 1), ["sum=1: 0 rewards"]),
        (("tea", 2, "many", 2), ["sum='many'"]),
        (("tea", 2, None, 2), ["sum: the cell is empty"]),
        (("tea", 2, 1, 0.25), ["squares=0.25", "between 0.5 and 1"]),
        (("tea", 2, 1, None), ["squares: the cell is empty"]),
        (("milk", 2, 1, 1), ["arm='milk' is unknown"]),
    ],
)
def test_rows_of_sums_are_refused_with_the_row(cells: Any, parts: list[str]) -> None:
    columns = ("arm", "pulls", "sum", "squares")
    log = pd.DataFrame([("tea", 2, 1, 1), cells], columns=columns, dtype=object)
    refused(log, "the log, row 1 (counted from 0): ", *parts)


@pytest.mark.parametrize(
    "columns",
    [
        ("arm",),
        ("reward", "name"),
        ("arm", "pulls"),
        ("arm", "sum"),
        ("pulls", "sum"),
        ("arm", "reward", "pulls"),  # which is it?
        ("arm", "reward", "pulls", "sum"),
        ("arm", "pulls", "sum", "sums"),
        ("tea", "10"),
    ],
)
def test_columns_that_are_no_log(columns: tuple[str, ...], tmp_path: Path) -> None:
    shown = ", ".join(map(repr, columns))
    log = pd.DataFrame([[1] * len(columns)], columns=list(columns))
    refused(log, f"the log: the columns are {shown}; accepted are the columns arm and reward")
    log.to_csv(tmp_path / "log.csv", index=False)
    refused(tmp_path / "log.csv", f"log.csv, line 1: the columns are {shown}; accepted are")


def test_a_column_that_is_there_twice() -> None:
    log = pd.DataFrame([["tea", 1, 0]], columns=["arm", "reward", "Reward"])
    refused(log, "the log: the column 'reward' is there twice")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "log.csv: the file is empty"),
        (b"arm;reward\ntea;1\n", "log.csv, line 1: no comma in 'arm;reward'"),
        (b"arm,reward\nt\xe9,1\n", "log.csv, byte 12: expected text in UTF-8"),
    ],
)
def test_files_that_are_no_log(tmp_path: Path, content: bytes, part: str) -> None:
    (tmp_path / "log.csv").write_bytes(content)
    refused(tmp_path / "log.csv", part)


class LazyFrame:
    """As Polars has it: a plan of rows, which warns of the cost where somebody asks for its columns."""

    @property
    def columns(self) -> list[str]:
        warnings.warn("resolving the columns is expensive", stacklevel=2)
        return ["arm", "reward"]

    def __getitem__(self, name: str) -> Any:
        raise TypeError("a LazyFrame is not subscriptable")

    def collect(self) -> pd.DataFrame:
        return frame()


def test_rows_that_are_not_there_yet_are_asked_for_in_words() -> None:
    learned = of_pulls()
    with pytest.raises(sb.ParameterError, match=r"got a LazyFrame, .*; call its collect\(\) first"):
        learned.learn(LazyFrame())
    same_play(learned, of_pulls())
    learned = agent()
    learned.learn(LazyFrame().collect())
    same_play(learned, of_pulls())


def test_a_dict_of_columns_is_refused_with_what_makes_a_frame_of_it() -> None:
    with pytest.raises(
        sb.ParameterError, match=r"got dict alone; .* as pandas\.DataFrame makes of it"
    ):
        agent().learn({"arm": ["tea"], "reward": [1]})


def test_what_is_no_log_at_all(tmp_path: Path) -> None:
    for log in ([3, 1, 1], np.ones(3), None, 5, {"arm": ["tea"]}):
        message = (
            f"learn: got {type(log).__name__} alone; expected pulls and sums of each arm, or a log"
        )
        with pytest.raises(sb.ParameterError, match=re.escape(message)):
            agent().learn(log)
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        agent().learn(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("arms", "cells", "pulls"),
    [
        (["1", "True", "1.0"], [1, True, 1.0, 1.0], [1, 1, 2]),
        (["0.0", "-0.0"], [0.0, -0.0, -0.0], [1, 2]),
        (["a", " a"], ["a", " a", " a"], [1, 2]),
        ([str(2**53), str(2**53 + 1)], [2**53, 2**53 + 1, 2**53 + 1], [1, 2]),
    ],
)
def test_cells_that_are_equal_may_be_different_arms(
    arms: list[str], cells: list[Any], pulls: list[int]
) -> None:
    learned = sb.Agent(sb.UCB(sb.FiniteStructure([[0.5] * len(arms)], arms=arms)))
    learned.learn(pd.DataFrame({"arm": pd.Series(cells, dtype=object), "reward": 1}))
    assert learned.pulls.tolist() == pulls


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint64", "bool", object, "Int64"])
def test_rewards_of_any_make_are_the_same_numbers(dtype: Any) -> None:
    rewards = pd.Series([1, 0, 0, 1, 1]).astype(dtype)
    arms = [arm for arm, _ in PULLS]
    learned, expected = agent(), agent()
    learned.learn(pd.DataFrame({"arm": arms, "reward": rewards}))
    expected.learn(frame(list(zip(arms, [1.0, 0.0, 0.0, 1.0, 1.0], strict=True))))
    same_play(learned, expected)


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        (float("inf"), "reward=inf"),
        (1e200, "reward=1e+200: expected a number up to 1e+150"),
        (float("nan"), "reward: the cell is empty"),
        ([1.0], "reward=[1.0]"),
        (1 + 0j, "reward=(1+0j)"),
        ("1", "reward='1'"),
    ],
)
def test_one_bad_row_of_many_is_named(reward: Any, said: str) -> None:
    free = sb.Agent(sb.UCB(DRINKS, reward_range=None, sigma=1.0))
    cells = [*[0.5] * 50_000, reward, *[0.5] * 50_000]
    makes = [cells] if not isinstance(reward, float) else [cells, np.array(cells)]
    for column, kind in zip(makes, (object, np.float64), strict=False):
        log = pd.DataFrame({"arm": "tea", "reward": pd.Series(column, dtype=kind)})
        with pytest.raises(sb.FileFormatError) as error:
            free.learn(log)
        assert str(error.value).startswith(f"the log, row 50000 (counted from 0): {said}")
    assert free.rewards == 0
