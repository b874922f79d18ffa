"""Files that describe structures: what is refused, with the file and the place in it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structured_bandits as sb
from structured_bandits.testing.requirements import in_threads


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def including(*files: str) -> str:
    return 'kind = "union"\n' + "".join(f"[[parts]]\nfile = '{file}'\n" for file in files)


def refused(path: Any, *parts: str) -> None:
    """Loading fails, and the message has all the parts."""
    with pytest.raises(sb.FileFormatError) as error:
        sb.load_structure(path)
    for part in parts:
        assert part in str(error.value)


TYPES = "model,a,b\nx,0.5,0.25\ny,0.125,1\n"


@pytest.mark.parametrize(
    "spelling", ["ring.toml", "./ring.toml", "sub/../ring.toml", "link.toml", "hard.toml"]
)
def test_a_file_that_includes_itself_under_any_name(tmp_path: Path, spelling: str) -> None:
    (tmp_path / "sub").mkdir()
    path = write(tmp_path, "ring.toml", including(spelling))
    os.symlink(path, tmp_path / "link.toml")
    os.link(path, tmp_path / "hard.toml")
    refused(path, f"ring.toml, parts[0], file={spelling!r}: the files include each other")
    refused(tmp_path / "link.toml", "the files include each other")


def test_a_ring_of_files(tmp_path: Path) -> None:
    write(tmp_path, "types.csv", TYPES)
    write(tmp_path, "a.toml", including("types.csv", "sub/b.toml"))
    write(tmp_path, "sub/b.toml", including("../types.csv", "../c.toml"))
    write(tmp_path, "c.toml", including("types.csv", "./a.toml"))
    place = f"{tmp_path}/sub/../c.toml, parts[1], file='./a.toml': the files include each other"
    refused(tmp_path / "a.toml", place)


def test_a_file_may_be_included_twice_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, "types.csv", TYPES)
    write(tmp_path, "inner.toml", including("types.csv"))
    path = write(tmp_path, "a.toml", including("inner.toml", "types.csv", "inner.toml"))
    assert len(sb.load_structure(path).polytopes) == 6


def test_a_long_row_of_files_is_refused_before_python_gives_up(tmp_path: Path) -> None:
    for number in range(30):
        write(tmp_path, f"{number}.toml", including(f"{number + 1}.toml"))
    write(tmp_path, "30.toml", 'kind = "unstructured"\nn_arms = 2\n')
    assert sb.load_structure(tmp_path / "15.toml").n_arms == 2
    refused(tmp_path / "0.toml", "19.toml, parts[0], file='20.toml': more than 20 files")


def test_threads_that_load_one_file_at_once_see_no_ring(tmp_path: Path) -> None:
    """The list of files on the way was shared by all threads."""
    write(tmp_path, "types.csv", TYPES)
    write(tmp_path, "inner.toml", including("types.csv"))
    path = write(tmp_path, "a.toml", including("inner.toml", "types.csv"))
    expected = sb.load_structure(path)

    def load() -> list[bool]:
        return [sb.load_structure(path) == expected for _ in range(10)]

    assert in_threads([load] * 4) == [[True] * 10] * 4


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    long = "x" * 5000 + ".csv"
    for name, message in (
        ("a\0b.csv", "no file has a NUL character in its name"),
        (long, "the name of the file is too long"),
    ):
        refused(tmp_path / name, message)
        with pytest.raises(sb.FileFormatError, match=message):
            sb.FiniteStructure.from_csv(tmp_path / name)
    for written, message in (
        ('"a\\u0000b.csv"', "parts[0], file='a\\\\x00b.csv': no file has a NUL character"),
        (f'"{long}"', "the name of the file is too long (5"),
        ('"no.csv"', "parts[0], file='no.csv': there is no file"),
        ('"sub"', "sub is not a file"),
        ("3", "file=3: expected the name of a file"),
        ('"round.toml"', "the links to the file go round in a circle"),
    ):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "round.toml").unlink(missing_ok=True)
        os.symlink(tmp_path / "round.toml", tmp_path / "round.toml")
        path = write(tmp_path, "a.toml", f'kind = "union"\n[[parts]]\nfile = {written}\n')
        refused(path, f"{path}, parts[0]", message)
        with pytest.raises(sb.FileFormatError) as error:
            sb.load_structure(path)
        assert len(str(error.value)) < 1000


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    headers = "".join(
        f"[[{'.'.join(['parts'] * depth)}]]\nkind = 'union'\n" for depth in range(1, 1001)
    )
    path = write(tmp_path, "headers.toml", f'kind = "union"\n{headers}')
    refused(path, f"{path}, parts[0], parts[0]", "parts are nested more than 20 deep")
    inline = "{kind='union', parts=[" * 1000 + "]}" * 1000
    path = write(tmp_path, "inline.toml", f"kind = 'union'\nparts = [{inline}]\n")
    refused(path, str(path), "nested too deeply")
    path = write(tmp_path, "lists.toml", f"kind = 'finite'\nmeans = {'[' * 5000}1{']' * 5000}\n")
    refused(path, str(path), "nested too deeply")
    path = write(tmp_path, "list.toml", f"kind = 'finite'\nmeans = {'[' * 90}1{']' * 90}\n")
    refused(path, str(path), "means: expected numbers in rows of equal length")
    path = write(tmp_path, "digits.toml", f"kind = 'finite'\nmeans = [[{'1' * 5000}]]\n")
    refused(path, str(path), "expected TOML")


@pytest.mark.parametrize("cell", ["1_0", "0_1", "٣", "1e1_0"])
def test_numbers_are_written_as_numbers(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path, "a.csv", f"model,a,b\nx,0.5,{cell}\ny,0.5,0.25\n")
    refused(path, f"{path}, line 2, column 'b': {cell!r} is not a finite number")
    path = write(tmp_path, "b.csv", f"a,b\n{cell},0.5\n{cell},0.25\n")
    refused(path, f"{path}, line 2, column 'a': {cell!r} is not a finite number")


def test_every_arm_and_every_model_of_a_file_has_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "model,a,\nx,0.5,0.25\n")
    refused(path, f"{path}, line 1, column 3: the arm has no name")
    path = write(tmp_path, "b.csv", "\nmodel, ,b\nx,0.5,0.25\n")
    refused(path, f"{path}, line 2, column 2: the arm has no name")
    path = write(tmp_path, "c.csv", "model,a,b\nx,0.5,0.25\n ,0.5,0.5\n")
    refused(path, f"{path}, line 3: the model has no name")
    text = "kind = 'finite'\nmeans = [[0.5, 0.25]]\n"
    path = write(tmp_path, "d.toml", text + "arms = ['a', ' ']\n")
    refused(path, f"{path}: arms[1]=' ': the name is empty")
    path = write(tmp_path, "e.toml", text + "models = ['']\n")
    refused(path, f"{path}: models[0]='': the name is empty")
    with pytest.raises(sb.StructureError, match=re.escape("arms[0]='': the name is empty")):
        sb.unstructured(2, arms=["", "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind='finite'\nmeans=[[0.5, true]]", "means: the mean at (0, 1) is True"),
        ("kind='finite'\nmeans=[[true, false]]", "means: the mean at (0, 0) is True"),
        ("kind='finite'\nmeans=[[0.5, '1_0']]", "means: the mean at (0, 1) is '1_0'"),
        ("kind='lipschitz'\npositions=[0, true]\nconstant=1", "positions=[0, True]"),
        ("kind='linear'\nfeatures=[[1.0], [true]]", "features=[[1.0], [True]]"),
        ("kind='unimodal'\nn_arms=2\nedges=[[false, true]]", "edges=[[False, True]]"),
        ("kind='unstructured'\nn_arms=true", "n_arms=True"),
        ("kind='unstructured'\nn_arms=2\nfactors=[1, true]", "factors=[1, True]"),
        (
            "kind='unstructured'\nn_arms=2\n[[constraints]]\nweights={1=true}\nat_most=1",
            "constraints[0]: expected numbers",
        ),
        ("kind='polyhedral'\n[[pieces]]\nslopes=[[1], [true]]", "slopes=[[1], [True]]"),
        ("kind='polyhedral'\n[[pieces]]\nslopes=[[1]]\nrows=[[1]]\nupper=true", "upper=True"),
        ("[[pieces]]\nstart=0\nend=1\nat_start=[true]\nat_end=[0.5]", "at_start=[True]"),
    ],
)
def test_truth_values_and_texts_are_no_numbers(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, "a.toml", text)
    refused(path, str(path), message)


def test_truth_values_are_no_means_in_python() -> None:
    frame = pd.DataFrame({"a": [0.5, 0.25], "b": [True, False]})
    for means in (
        [[0.5, True]],
        [[0.5, np.True_]],
        np.array([[True, False]]),
        np.array([[0.5, True]], dtype=object),
        [np.array([True, False])],
        frame,
        [["0.5", 0.25]],
    ):
        with pytest.raises(sb.StructureError, match=r"means: the mean at \(0, [01]\) is"):
            sb.FiniteStructure(means)
    with pytest.raises(sb.StructureError, match=re.escape("pieces[0].at_end: the mean at (1,)")):
        sb.CurveStructure([sb.Piece(0, 1, [0.5, 0.5], [0.5, True])])
    with pytest.raises(sb.StructureError, match="slopes"):
        sb.Polytope([[1.0], [True]])


def test_a_table_without_a_header_does_not_lose_its_first_model(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "old,0.5,0.25\nyoung,0.125,1\n")
    refused(path, f"{path}, line 1", "the means of a model 'old'", "'model'", "header=True")
    with pytest.raises(sb.FileFormatError, match="header=True"):
        sb.FiniteStructure.from_csv(path)
    for load in (sb.FiniteStructure.from_csv, sb.load_structure):
        prices = load(path, header=True)
        assert isinstance(prices, sb.FiniteStructure)
        assert prices.arm_names == ("0.5", "0.25")
        assert prices.model_names == ("young",)
    path = write(tmp_path, "b.csv", "0.5,0.9\n0.25,0.125\n")
    refused(path, "line 1: expected a header with arm names, found means", "header=True")
    assert sb.load_structure(path, header=True).arm_names == ("0.5", "0.9")


@pytest.mark.parametrize(
    "header", ["model,0.5,0.9", ",0.5,0.9", "town,5,0.9", "town,a,0.9", "town,1.5,0.9"]
)
def test_headers_that_cannot_be_a_model_are_taken(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, "a.csv", f"{header}\nyoung,0.125,1\n")
    structure = sb.load_structure(path)
    assert structure.arm_names == tuple(header.split(",")[1:])


def test_a_file_says_of_an_included_table_that_it_has_a_header(tmp_path: Path) -> None:
    write(tmp_path, "prices.csv", "town,0.5,0.9\nyoung,0.125,1\n")
    path = write(tmp_path, "a.toml", including("prices.csv"))
    refused(path, f"{tmp_path}/prices.csv, line 1", "begin the line with 'model'")
    path = write(tmp_path, "b.toml", including("prices.csv") + "header = true\n")
    assert sb.load_structure(path).arm_names == ("0.5", "0.9")
    path = write(tmp_path, "c.toml", including("prices.csv") + "header = 1\n")
    refused(path, "header=1: expected true or false")
    with pytest.raises(sb.FileFormatError, match=r"header=True is for \.csv files"):
        sb.load_structure(path, header=True)


def test_a_data_frame_keeps_its_names() -> None:
    frame = pd.DataFrame({"tea": [0.1, 0.2], "milk": [0.3, 0.4]}, index=["m", "n"])
    for structure in (sb.FiniteStructure(frame), sb.FiniteStructure.from_frame(frame)):
        assert structure.arm_names == ("tea", "milk")
        assert structure.model_names == ("m", "n")
        assert structure.means("n").tolist() == [0.2, 0.4]
    given = sb.FiniteStructure(frame, arms=["a", "b"], models=["x", "y"])
    assert (given.arm_names, given.model_names) == (("a", "b"), ("x", "y"))
    counted = sb.FiniteStructure(pd.DataFrame([[0.1, 0.3], [0.2, 0.4]]))
    assert (counted.arm_names, counted.model_names) == (("0", "1"), ("0", "1"))


class Columns:
    """A data frame of another make, which has no index."""

    columns = ("tea", "milk")

    def to_numpy(self) -> Any:
        return pd.DataFrame([[0.1, 0.3]]).to_numpy()


def test_any_data_frame_will_do() -> None:
    structure = sb.FiniteStructure(Columns())
    assert structure.arm_names == ("tea", "milk")
    assert structure.model_names == ("0",)
