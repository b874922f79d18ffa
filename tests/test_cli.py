"""The command `structured-bandits analyse`, and the files it reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.experiments.paper.structures import figure1_left

ROOT = Path(__file__).parent.parent
STORE = ROOT / "docs" / "guides" / "store-types" / "store-types.csv"
TYPES = "model,A,B,C,D\none,.8,.7,.6,.5\ntwo,.8,.7,.84,.1\nthree,.8,.4,.6,.88\nfour,.8,.92,.6,.5\n"
LEFT = """
arms = ["1", "2", "3"]
[[pieces]]
start = 0
end = 0.33
at_start = [0.85, 0.8, 0.6]
at_end = [0.8, 0.8, 0.8]

[[pieces]]
start = 0.33
end = 0.66
at_start = [0.8, 0.2, 0.86]
at_end = [0.4, 0.2, 0.86]

[[pieces]]
start = 0.66
end = 1.0
at_start = [0.4, 0.8, 0.8]
at_end = [0.4, 0.8, 0.6]
closed = "both"
"""


@pytest.fixture
def types(tmp_path: Path) -> str:
    return write(tmp_path, "types.csv", TYPES)


@pytest.fixture
def left(tmp_path: Path) -> str:
    return write(tmp_path, "left.toml", LEFT)


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def analyse(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["analyse", *arguments])


def test_a_report_for_a_table(types: str) -> None:
    result = analyse(types, "--truth", "one", "--horizon", "500000")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert "best arm: A; horizon: 500,000 pulls" in lines[1]
    assert next(line for line in lines if line.startswith("C ")).split()[3:] == [
        "two", "0.24", "on", "C", "0.24", "3", "A,", "C",
    ]  # fmt: skip
    for text in (
        "Constant regret is impossible",
        "best arm never refute the models two, three, four, so other",
        "there is no decoy",
        "has the best possible order: no, because of C, D",
        "1.07456 × log n",
        "4.873 of B, 1.958 of D.",
        "these pulls necessary: two, four.",
        "1,607.0   807.5     I-1, I-5  yes",
        "Gamma_* is 0: Assumption 1 does not hold",
    ):
        assert text in result.output, text
    assert max(map(len, lines)) < 120


def test_a_report_for_curves(left: str) -> None:
    result = analyse(left, "--truth", "0", "--beta", "3")
    assert result.exit_code == 0, result.output
    for text in (
        "Constant regret is possible",
        "off by 0.05 or more (Gamma_*; the nearest",
        "it may settle on arm 2, because",
        "0.6 on arm 2",  # it tells the models of arm 3 apart
        "560.9",
        "at least 0: nothing forces the regret to grow with log n",
    ):
        assert text in result.output, text


def test_json_has_the_same_numbers(left: str) -> None:
    data = json.loads(analyse(left, "--truth", "0.165", "--beta", "3", "--json").stdout)
    analysis = sb.analyse(figure1_left(), 0.165)
    assert data["gamma_star"] == analysis.gamma_star
    assert [arm["gap"] for arm in data["arms"]] == analysis.gaps.tolist()
    assert data["arms"][2]["helpers"] == ["1", "2", "3"]
    assert data["arms"][2]["hardest"]["told_by"] == "2"
    assert data["arms"][1]["hardest_optimistic"] is None
    bounds = {
        row["policy"]: row["value"] for row in data["bounds"] if row["bound"] == "SAE (Theorem 3)"
    }
    assert bounds["SAE alpha=9 beta=3"] == pytest.approx(292.3, abs=0.05)


@pytest.mark.parametrize("suffix", ["svg", "png"])
@pytest.mark.parametrize("which", ["types", "left", "store"])
def test_a_figure(which: str, suffix: str, types: str, left: str, tmp_path: Path) -> None:
    file, truth = {"types": (types, "one"), "left": (left, "0.1"), "store": (str(STORE), "type 3")}[
        which
    ]
    target = tmp_path / f"figure.{suffix}"
    result = analyse(file, "--truth", truth, "--figure", str(target))
    assert result.exit_code == 0, result.output
    content = target.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    assert len(content) > 10_000


def test_a_truth_may_be_means_or_the_only_best_arm(types: str, tmp_path: Path) -> None:
    assert "best arm: A" in analyse(types, "--truth", ".8,.7,.6,.5").output
    same = write(tmp_path, "same.csv", "A,B\n0.9,0.1\n0.8,0.2\n")
    output = analyse(same, "--truth", "0").output
    assert "This knowledge cannot help you choose: A is best in every row" in output
    assert "there is nothing to learn" in output
    assert "best in no model: never played" in output
    limit = write(
        tmp_path, "limit.toml", "[[pieces]]\nstart=0\nend=1\nat_start=[0.2,0.8]\nat_end=[0.8,0.2]\n"
    )
    output = analyse(limit, "--truth", "0.9").output
    assert "0.5 (a limit)" in output
    assert "- (a limit): there are models as close to this one" in output


def test_one_outcome_can_refute_what_the_best_arm_cannot(tmp_path: Path) -> None:
    path = write(tmp_path, "sure.csv", "A,B\n0.8,0.5\n0.8,1.0\n")
    assert "one such reward is enough" in analyse(path, "--truth", "0").output
    assert (
        "Constant regret is impossible"
        in analyse(path, "--truth", "0", "--family", "gaussian").output
    )


def test_a_tied_truth_is_called_one(tmp_path: Path) -> None:
    path = write(tmp_path, "tied.csv", "A,B\n0.5,0.5\n0.5,0.9\n")
    output = analyse(path, "--truth", "0").output
    assert "In the true model several arms are best: A, B." in output
    assert "the truth has 2 best arms" in output


def test_other_ranges_of_rewards_and_names_with_commas(tmp_path: Path) -> None:
    path = write(tmp_path, "money.csv", 'model,A,B\n"Smith, J",50,20\nJones,10,70\n')
    output = analyse(
        path, "--truth", "Smith, J", "--rewards", "0", "100", "--family", "gaussian"
    ).output
    assert "best arm: A" in output
    assert "yes" in next(line for line in output.splitlines() if "Theorem 1" in line)
    outside = analyse(path, "--truth", "Smith, J", "--family", "gaussian").output
    assert "a true mean of 50 is outside the rewards' range" in outside


def test_known_best_mean_is_neither_ruled_out_nor_promised(tmp_path: Path) -> None:
    text = "[[pieces]]\nstart=0\nend=1\nat_start=[0.2,0.8]\nat_end=[0.8,0.2]\n[[pieces]]\nstart=2\nend=3\nat_start=[0.5,0.1]\nat_end=[0.5,0.1]\n"
    output = analyse(write(tmp_path, "known.toml", text), "--truth", "2.5").output
    assert "neither ruled out nor guaranteed" in output


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "A,B\n0.1,x\n", "a.csv, line 2, column 'B': 'x' is not a finite number"),
        ("a.csv", "A,B\n0.1\n", "a.csv, line 2: 1 cells where the header has 2"),
        ("a.csv", "A;B\n0.1;0.2\n", "a.csv, line 1: no comma in 'A;B'; expected commas"),
        ("a.csv", "", "a.csv: expected a header with arm names and a row per model"),
        ("a.csv", "model,A,A\none,0.1,0.2\n", "a.csv: arms: the name 'A' is given twice"),
        ("a.txt", "A,B\n0.1,0.2\n", "a.txt: expected a .csv file (a table of models × arms) or a .toml"),
        ("a.toml", "[pieces]\nstart = 0\n", "a.toml: [pieces] is a single table; write [[pieces]]"),
        ("a.toml", LEFT.replace("[[pieces]]", "[[ pieces ]]", 1).replace("end = 0.66", ""), "pieces[1] (line 9): 'end' is missing"),
        ("a.csv", "A,B\n" + "1" * 200_000 + ",0.1\n", "a.csv, line 2: field larger than field limit"),
        ("a.toml", "pieces = 3\n", "a.toml: expected a table [[pieces]] for each piece, found none"),
        ("a.toml", "x = \n", "a.toml: Invalid value (at line 1, column 5); expected TOML"),
        ("a.toml", "piece = 1\n", "a.toml, 'piece': unknown; without a 'kind' accepted are arms, pieces, prior, reward_range"),
        ("a.toml", "pieces = [1]\n", "pieces[0]: expected a table with start, end"),
        ("a.toml", LEFT.replace("start = 0.33", "begin = 0.33"), "pieces[1] (line 9), 'begin': unknown; accepted are start, end, at_start, at_end, closed"),
        ("a.toml", LEFT.replace("end = 0.66", ""), "pieces[1] (line 9): 'end' is missing"),
        ("a.toml", LEFT.replace("end = 0.66", 'end = "x"'), "pieces[1] (line 9), end='x': expected a number"),
        ("a.toml", LEFT.replace("[0.4, 0.8, 0.6]", "0.4"), "pieces[2] (line 15), at_end=0.4: expected a list of numbers"),
        ("a.toml", LEFT.replace("[0.4, 0.8, 0.6]", "[0.4, 0.8]"), "pieces[2] (line 15): at_start and at_end have shapes (3,) and (2,)"),
        ("a.toml", LEFT.replace("end = 0.66", "end = 0.7"), "a.toml: pieces: [0.33, 0.7) and [0.66, 1] overlap"),
        ("a.toml", LEFT.replace('"both"', '"open"'), "closed='open'; accepted are 'left', 'right'"),
        ("a.toml", LEFT.replace('["1", "2", "3"]', '["1", "2"]'), "a.toml: arms: 2 names for 3 arms"),
    ],
)  # fmt: skip
def test_bad_files_are_named_with_the_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(sb.FileFormatError) as error:
        sb.load_structure(path)
    assert message in str(error.value)
    result = analyse(path, "--truth", "0")
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"A,B\n\xff,0.1\n")
    with pytest.raises(sb.FileFormatError, match=r"a\.csv, byte 4: expected text in UTF-8"):
        sb.load_structure(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--truth", "five"], "model='five' is unknown; known are 'one', 'two', 'three', 'four'"),
        (["--truth", "a,b"], "--truth a,b: expected a model or means separated by commas"),
        (["--truth", "1,2"], "expected a model of the structure or 4 finite means"),
        (["--truth", ".1,.2,.3,.4"], "no model of the structure has these means"),
        (["--truth", "one", "--horizon", "1"], "horizon=1: expected a whole number >= 2"),
        (["--truth", "one", "--beta", "0.5"], "beta=0.5: expected a finite number >= 1"),
        (["--truth", "one", "--figure", "no/such/folder.svg"], "--figure no/such/folder.svg"),
        (["--truth", "one", "--figure", "out"], "expected a name that ends in .svg, .png or .pdf"),
        (["--truth", "one", "--rewards", "1", "0"], "reward_range=(1.0, 0.0)"),
        (
            ["--simulate", "20"],
            "--simulate, --policies and --figure need --truth, since they are about one true model",
        ),
        (["--figure", "out.svg"], "--figure need --truth, since they are about one true model"),
        (["--horizon", "1"], "horizon=1: expected a whole number >= 2"),
        (["--rewards", "1", "0"], "reward_range=(1.0, 0.0)"),
        (["--truth", "one", "--policies", "SAE,Magic"], "policies='SAE,Magic': accepted are "),
        (["--truth", "one", "--simulate", "0"], "0 is not in the range x>=1"),
    ],
)
def test_bad_options_say_what_is_expected(types: str, arguments: list[str], message: str) -> None:
    result = analyse(types, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_bad_parameter_of_curves(left: str) -> None:
    assert "is in no piece; the pieces are [0, 0.33)" in analyse(left, "--truth", "2").output
    assert "expected a parameter or means" in analyse(left, "--truth", "x").output


def test_without_a_truth_a_row_for_each_model(types: str) -> None:
    result = analyse(types, "--horizon", "500000")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert (
        "from 500,000 pulls (rewards of 0 or 1) if the model of a row is the true one" in lines[1]
    )
    assert [line.split()[0] for line in lines[5:9]] == ["one", "four", "three", "two"]
    assert lines[5].split() == [
        "one", "A", "0.1", "no", "1.075", "14.1", "70.8", "none", "four", "(0.22", "apart)",
    ]  # fmt: skip
    assert lines[6].split()[3:8] == ["yes", "0", "0.0", "79.2", "A"]
    assert "sorted by C log n, the largest first" in lines[-2]
    assert lines[-1] == (
        f"next: structured-bandits analyse {types} --truth one --horizon 500000 --simulate 200"
    )
    wide = analyse(types, "--rewards", "0", "2").output.splitlines()[-1]
    assert "--truth one --horizon 10000 --rewards 0.0 2.0 --simulate 200" in wide
    assert max(map(len, lines[:-1])) < 120


def test_json_of_all_models_has_the_numbers_of_the_overview(types: str) -> None:
    arguments = ["--family", "gaussian", "--rewards", "0", "3", "--horizon", "50", "--json"]
    data = json.loads(analyse(types, *arguments).stdout)
    overview = sb.overview(sb.load_structure(types), horizon=50, family="gaussian", sigma=1.5)
    assert data["hardest"] == overview.table[0].name
    assert (data["horizon"], data["family"], data["sigma"]) == (50, "gaussian", 1.5)
    for row, mine in zip(data["models"], overview.table, strict=True):
        assert row["name"] == mine.name
        for key in ("smallest_gap", "constant", "forced", "rough_cost", "difference", "gamma_star"):
            assert row[key] == getattr(mine, key)
        assert row["decoys"] == list(mine.decoys)
        assert row["vacuous"] is mine.vacuous


def test_without_a_truth_curves_polytopes_and_nothing_to_learn(
    left: str, plane: str, tmp_path: Path
) -> None:
    output = analyse(left).output
    assert "Listed: the middle of each interval of the parameter on which one arm is best" in output
    assert "--truth 0.83" in output.splitlines()[-1]
    refused = analyse(plane)
    assert refused.exit_code == 2
    assert "infinitely many models, too many to list" in refused.output
    same = analyse(write(tmp_path, "same.csv", "A,B\n0.9,0.1\n0.8,0.2\n")).output
    assert (
        "This knowledge cannot help you choose: A is best in every row, so there is nothing" in same
    )
    money = analyse(write(tmp_path, "money.csv", "A,B\n50,20\n10,70\n"))
    assert money.exit_code == 2
    assert "--family gaussian --rewards LOW HIGH" in money.output


def test_no_bound_is_shown_that_says_nothing(types: str) -> None:
    lines = analyse(types, "--truth", "one", "--horizon", "100").output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("bound  "))
    table = [line for line in lines[start:] if line[0] in "≤≥"]
    value, erratum = lines[start].index("value"), lines[start].index("erratum")
    cells = " ".join(line[value:erratum] for line in table).split()
    assert cells.count("vacuous") >= 9
    assert all(float(cell) <= 100 * 0.3 for cell in cells if cell != "vacuous")
    assert any(cell != "vacuous" for cell in cells)
    assert (
        "vacuous: the bound is larger than 30.0, which is what 100 pulls of the worst arm cost"
        in lines[-2]
    )
    data = json.loads(analyse(types, "--truth", "one", "--horizon", "100", "--json").stdout)
    assert data["largest_regret"] == pytest.approx(30.0)
    sae = next(row for row in data["bounds"] if row["bound"] == "SAE (Theorem 3)")
    assert (sae["capped"], sae["vacuous"]) == (pytest.approx(30.0), True)
    assert sae["value"] > 30.0
    assert "vacuous:" not in analyse(types, "--truth", "one", "--policies", "SUCB.paper").output


@pytest.fixture
def plane(tmp_path: Path) -> str:
    """A structure on which SAE and SUCB are played without compiling."""
    return write(tmp_path, "plane.toml", f'kind = "linear"\n{KINDS["linear"]}\n')


def test_simulated_regret_comes_before_the_bounds(plane: str) -> None:
    arguments = ["--truth", "parameter:0.3,0.6", "--horizon", "100", "--seed", "3"]
    arguments += ["--simulate", "6", "--policies", "SAE.paper, SUCB"]
    structure = sb.load_structure(plane)
    policies = {"SAE.paper": sb.SAE.paper(structure, horizon=100), "SUCB": sb.SUCB(structure)}
    world = sb.Bernoulli([0.3, 0.45, 0.6])
    summary = sb.simulate(policies, world, 100, runs=6, seed=3).summary().sort_values("mean")
    data = json.loads(analyse(plane, *arguments, "--json").stdout)
    assert (data["simulated"]["runs"], data["simulated"]["seed"]) == (6, 3)
    assert [*data["simulated"]["regret"]] == summary.index.tolist()  # the best first
    for name, row in data["simulated"]["regret"].items():
        expected = summary.loc[name, ["mean", "low", "high", "median", "q95"]].to_dict()
        assert row == pytest.approx(expected)
    assert {row["policy"] for row in data["bounds"] if row["side"] == "upper"} == {
        "SAE.paper",
        "SUCB",
    }
    assert "the library has no bound  UCB" in re.sub(
        r"  +", "  ", analyse(plane, *arguments[:6], "--policies", "UCB").output
    )
    text = analyse(plane, *arguments).output
    for name, row in summary.iterrows():
        line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
        interval = [f"{row.low:.1f}", "to", f"{row.high:.1f}"]
        assert line.split() == [name, f"{row['mean']:.1f}", *interval, f"{row.q95:.1f}"]
    assert "6 runs of 100 pulls (rewards of 0 or 1, seed 3):" in text
    assert "pulling arms at random costs 15.0, pulling only the worst arm costs 30.0" in text
    assert (
        text.index("In a simulation") < text.index("Constant regret") < text.index("Proven bounds")
    )
    assert json.loads(analyse(plane, *arguments[:6], "--json").stdout)["simulated"] is None


def test_simulations_with_gaussian_rewards_and_of_the_policies_of_the_bounds(
    tmp_path: Path,
) -> None:
    plane = write(tmp_path, "plane.toml", f'kind = "linear"\n{KINDS["linear"]}\n')
    arguments = ["--truth", "parameter:0.3,0.6", "--horizon", "64", "--simulate", "2", "--json"]
    data = json.loads(
        analyse(plane, *arguments, "--family", "gaussian", "--policies", "SUCB").stdout
    )
    structure = sb.load_structure(plane)
    world = sb.Gaussian([0.3, 0.45, 0.6], sigma=0.5)
    policy = sb.SUCB(structure, reward_range=None, sigma=0.5)
    expected = sb.simulate(policy, world, 64, runs=2).summary().loc["SUCB", "mean"]
    assert data["simulated"]["regret"]["SUCB"]["mean"] == pytest.approx(expected)
    assert data["simulated"]["world"].startswith("Gaussian")
    data = json.loads(analyse(plane, *arguments).stdout)
    bounded = {row["policy"] for row in data["bounds"] if row["side"] == "upper"}
    assert {*data["simulated"]["regret"]} == bounded
    assert len(bounded) == 5


def test_python_dash_m_is_the_command(types: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "structured_bandits", "analyse", types, "--truth", "two", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout)["best_arm"] == "C"


KINDS = {
    "unstructured": "n_arms = 3",
    "linear": "features = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]\nbounds = [0.0, 1.0]",
    "lipschitz": "positions = [0.0, 0.5, 1.0]\nconstant = 0.5",
    "monotone": "n_arms = 3\ndecreasing = true",
    "concave": "positions = [0, 1, 2]",
    "unimodal": "n_arms = 3\nedges = [[0, 1], [1, 2]]",
    "known_best_mean": "n_arms = 3\nvalue = 0.6",
    "finite": 'means = [[0.6, 0.4, 0.2], [0.1, 0.2, 0.7]]\nmodels = ["a", "b"]',
    "around": "margins = [0.0, 0.1, 0.1]\ntable = [[0.6, 0.4, 0.2], [0.1, 0.2, 0.7]]",
    "mixtures": "table = {file = 'types3.csv'}",
    "curves": "[[pieces]]\nstart = 0\nend = 1\nat_start = [0.6, 0.4, 0.2]\nat_end = [0.1, 0.4, 0.8]",
    "polyhedral": "[[pieces]]\nname = 'cube'\nslopes = [[1,0,0],[0,1,0],[0,0,1]]\n"
    "rows = [[1,0,0],[0,1,0],[0,0,1]]\nlower = 0.0\nupper = 1.0",
    "union": "[[parts]]\nkind = 'monotone'\nn_arms = 3\ndecreasing = true\n[[parts]]\nfile = 'types3.csv'",
    "product": "[[parts]]\nkind = 'unstructured'\nn_arms = 1\n[[parts]]\nkind = 'unimodal'\nn_arms = 2",
    "intersection": "[[parts]]\nkind = 'monotone'\nn_arms = 3\ndecreasing = true\n"
    "[[parts]]\nkind = 'concave'\npositions = [0, 1, 2]",
}


def test_every_kind_has_an_example() -> None:
    from structured_bandits.structures.files.toml import KINDS as ACCEPTED

    assert set(KINDS) == set(ACCEPTED)


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_for_every_kind(kind: str, tmp_path: Path) -> None:
    write(tmp_path, "types3.csv", "model,x,y,z\none,.6,.4,.2\ntwo,.1,.2,.9\n")
    text = f'kind = "{kind}"\narms = ["x", "y", "z"]\n{KINDS[kind]}\n'
    result = analyse(write(tmp_path, "known.toml", text), "--truth", ".6,.4,.2")
    assert result.exit_code == 0, result.output
    assert "best arm: x; horizon: 10,000 pulls" in result.output
    assert "Graves–Lai, Bernoulli" in result.output


def test_factors_constraints_and_parameters(tmp_path: Path) -> None:
    text = """
kind = "monotone"
n_arms = 2
decreasing = true
arms = ["cheap", "dear"]
factors = [0.5, 1.0]
[[constraints]]
weights = {cheap = 1, dear = -1}
at_most = 0.25
"""
    path = write(tmp_path, "demand.toml", text)
    structure = sb.load_structure(path)
    assert sb.analyse(structure, [0.45, 0.65]).inside
    assert not sb.analyse(structure, [0.45, 0.6]).inside  # a demand of 0.9 that falls by 0.3
    assert structure.mean_ranges.tolist() == [[0.0, 0.5], [0.0, 1.0]]
    linear = write(tmp_path, "linear.toml", f'kind = "linear"\n{KINDS["linear"]}\n')
    result = analyse(linear, "--truth", "parameter:0.3,0.6")
    assert result.exit_code == 0, result.output
    assert "true model: (0.3, 0.6); best arm: 2" in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "nothing"', "kind='nothing': accepted are unstructured, linear"),
        ('kind = "lipschitz"\npositions = [0, 1]', "(kind='lipschitz'): 'constant' is missing"),
        ('kind = "unimodal"\nn_arms = 3\npeaks = 2', "'peaks': unknown; accepted are n_arms"),
        ('kind = "unimodal"\nn_arms = "three"', "n_arms='three': expected a whole number"),
        ('kind = [1, 2]', "kind=[1, 2]: accepted are unstructured"),
        ('kind = "union"\n[[parts]]\nfile = "bad.toml"', "the files include each other"),
        ('kind = "monotone"\nn_arms = 2\nfactors = "a"', "factors='a': expected a number"),
        ('kind = "union"\nparts = 3', "expected a table [[parts]] for each"),
        ('kind = "union"\n[[parts]]\nkind = "concave"', "parts[0] (kind='concave'): 'positions' is missing"),
        ('kind = "union"\n[[parts]]\nfile = "gone.csv"', "file='gone.csv': there is no file"),
        ('kind = "polyhedral"\n[[pieces]]\nrows = [[1]]', "pieces[0]: 'slopes' is missing"),
        ('kind = "polyhedral"\n[[pieces]]\nslopes = [[1],[0]]\nrows = [[1],[1]]\nlower = [0, 2]\nupper = [1, 3]', "piece '0': no model satisfies"),
        ('kind = "unstructured"\nn_arms = 2\n[[constraints]]\nweights = {7 = 1}', "arm='7' is unknown"),
        ('kind = "unstructured"\nn_arms = 2\n[[constraints]]\nweights = {1 = "a"}', "constraints[0]: expected numbers"),
        ('kind = "unstructured"\nn_arms = 2\nfactors = [1, 2, 3]', "factors=[1, 2, 3]: expected a number"),
        ('n_arms = 2', "'n_arms': unknown; without a 'kind' accepted are arms, pieces, prior, reward_range"),
    ],
)  # fmt: skip
def test_descriptions_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    result = analyse(write(tmp_path, "bad.toml", text), "--truth", "1,2")
    assert result.exit_code != 0
    assert "bad.toml" in result.output
    assert message in result.output.replace("\n", " "), result.output


def test_a_comparison_on_a_table_in_the_file(tmp_path: Path) -> None:
    text = f"""
truth = {{parameter = [0.3, 0.6]}}
horizon = 300
[structure]
kind = "linear"
{KINDS["linear"]}
[policies.SAE]
[policies.SUCB]
"""
    path = write(tmp_path, "linear.toml", text)
    result = CliRunner().invoke(main, ["compare", path, "--runs", "2", "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "SUCB" in result.output
    assert (tmp_path / "results" / "linear" / "report.html").is_file()
    bad = write(tmp_path, "bad.toml", text.replace("[0.3, 0.6]", "[0.3, 7.0]"))
    result = CliRunner().invoke(main, ["compare", bad])
    assert "violates a constraint of piece '0' by 6" in result.output
