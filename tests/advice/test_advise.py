"""Advice: is it good, do its intervals cover, is it the same again, and what does it say?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.advice_cases import CASES, excess, measured, shop, survivors, usual_options

import structured_bandits as sb
from structured_bandits.advice import candidates as candidates_module
from structured_bandits.advice.candidates import BLIND, given_candidates, library_candidates
from structured_bandits.advice.evaluation import Evaluator
from structured_bandits.cli.commands import main
from structured_bandits.structures.base import Structure

SMALL = sb.FiniteStructure([[0.8, 0.5], [0.3, 0.5]], arms=["tea", "coffee"])


def some(structure: Structure, horizon: int, *names: str) -> dict[str, Any]:
    """Return some of the library's candidates: each takes seconds to compile."""
    every = sb.candidates(structure, horizon)
    return {name: every[name] for name in names}


def ask(structure: Any = SMALL, horizon: int = 50, **more: Any) -> sb.Advice:
    """Ask for little: two policies, the fewest runs, nothing outside."""
    wanted: dict[str, Any] = {"wrong": (), "runs": 64, "policies": some(SMALL, 50, "ModelTS")}
    return sb.advise(structure, horizon, **{**wanted, **more})


@pytest.fixture(scope="module")
def small() -> sb.Advice:
    return ask(wrong=(0.05,), trust=1.0)


def of(advice: sb.Advice, name: str) -> dict[str, Any]:
    return next(row for row in advice.table if row["policy"] == name)


@pytest.mark.parametrize(
    ("case", "trust", "names"),
    [
        ("shop", 1.0, ("ModelTS", "SAE.paper", BLIND)),
        ("R", 0.5, ("ModelTS", "UCB", BLIND)),
        ("unstructured", 0.5, ("IMED", "UCB", BLIND)),
    ],
)
def test_the_advised_policy_is_within_a_tenth_of_the_best(
    case: str, trust: float, names: tuple[str, ...]
) -> None:
    """Of all candidates at trust 1, else of those that survive; measured with other seeds."""
    structure, horizon = CASES[case].make(), CASES[case].horizon
    policies = some(structure, horizon, *names)
    advice = sb.advise(
        structure, horizon, trust=trust, policies=policies, wrong=(0.05,), runs=64, seconds=600.0
    )
    played = {name: each for name, each in policies.items() if name not in ("SAE.paper", "UCB")}
    found = measured(structure, horizon, played, runs=96, seed=1000, wrong=(0.05,))
    behind, error = excess(found, advice.name, found if trust == 1.0 else survivors(found))
    assert behind <= 0.1 + 2.0 * error
    if (
        case == "shop"
    ):  # SAE.paper was dropped by the pilot, which is as good an estimate as is needed
        assert found[advice.name]["inside"].mean() <= 0.1 * of(advice, "SAE.paper")["mean"]


def test_printed_intervals_cover() -> None:
    """100 calls with seeds of their own, beside 10,000 other runs."""
    policies = some(SMALL, 50, "ModelTS")
    many = measured(SMALL, 50, policies, runs=10_000, seed=7, wrong=())["ModelTS"]["inside"]
    mean, quantile = many.mean(), np.quantile(many, 0.95)
    means, quantiles = [], []
    for seed in range(100):
        row = of(ask(seed=seed, runs=96, trust=1.0), "ModelTS")
        assert row["fresh"]
        means.append(row["mean_low"] <= mean <= row["mean_high"])
        quantiles.append(row["q95_low"] <= quantile <= row["q95_high"])
    assert sum(means) >= 89  # fewer have a probability of 1 %
    assert sum(quantiles) >= 89


def test_the_same_seed_and_runs_give_the_same_advice(small: sb.Advice) -> None:
    timed = ("seconds", "compiling", "microseconds")

    def untimed(advice: sb.Advice) -> dict[str, Any]:
        data = advice.to_dict()
        return json.loads(
            json.dumps(data), object_hook=lambda d: {k: v for k, v in d.items() if k not in timed}
        )

    assert untimed(ask(wrong=(0.05,), trust=1.0)) == untimed(small)
    assert untimed(ask(wrong=(0.05,), trust=1.0, seed=1)) != untimed(small)


def test_two_names_of_one_policy_cannot_be_told_apart() -> None:
    policy = some(SMALL, 400, "ModelTS")["ModelTS"]
    advice = ask(horizon=400, policies={"one": policy, "two": policy}, trust=1.0, runs=256)
    assert {advice.name, *advice.tied} == {"one", "two"}
    assert "which of these two is best: one and two." in advice.words.replace(
        "two and one", "one and two"
    )
    assert repr(advice) == f"Advice({advice.name}, tied with {advice.tied[0]})"


def test_the_policy_is_ready_for_an_agent_and_the_words_are_sentences(small: sb.Advice) -> None:
    assert small.name == "ModelTS"
    assert sb.Agent(small.policy).ask().name in ("tea", "coffee")
    assert small.words.startswith("Take ModelTS: in 50 pulls it loses ")
    assert small.words.count("regret") == 1
    assert "If all means are off by 0.05 it loses " in small.words
    assert "; if the arm that is worst in the structure is best it loses " in small.words
    assert "; if the arm that is best in the structure is bad it loses " in small.words
    assert small.words in " ".join(str(small).split())


SAME = sb.FiniteStructure([[0.5, 0.4], [0.7, 0.5]], arms=["tea", "coffee"])


def test_a_regret_of_nothing_is_not_promised_where_one_arm_is_best_in_every_row(
    tmp_path: Path,
) -> None:
    """It was said that ModelTS loses 0.00; it plays tea alone, so that was no news of ModelTS."""
    advice = ask(SAME, policies=some(SAME, 50, "ModelTS"), wrong=(0.02,), trust=1.0)
    assert advice.words.startswith(
        "This knowledge cannot help you choose: tea is best in every row, so there is nothing to learn."
    )
    assert "0.00" not in advice.words
    assert "Take" not in advice.words
    assert "ModelTS, which believes the knowledge, loses " in advice.words
    assert "if the arm that is best in the structure is bad." in advice.words
    advice.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>Play tea</h1>" in page
    assert "This knowledge cannot help you choose" in page


@pytest.mark.parametrize("size", [0.02, 0.5])
def test_where_one_arm_is_best_a_doubt_that_matters_still_decides(size: float) -> None:
    """If tea is bad coffee is best, so a policy that believes the table does not survive."""
    advice = ask(SAME, horizon=400, policies=some(SAME, 400, "ModelTS"), wrong=(size,))
    assert "0.00" not in advice.words
    assert advice.words.startswith("This knowledge cannot help you choose: tea is best")
    assert "Take ThompsonSampling: in 400 pulls it loses" in advice.words
    assert advice.info["best_everywhere"] == "tea"


def test_the_table_has_what_was_asked_for(small: sb.Advice) -> None:
    first, blind = of(small, "ModelTS"), of(small, BLIND)
    assert small.table[0] is first
    assert (first["role"], blind["role"]) == ("advised", "reference")
    assert first["mean_low"] < first["mean"] < first["mean_high"]
    assert first["worst_truth"] in ("model 0", "model 1")
    assert first["times_blind"] == pytest.approx(first["mean"] / blind["mean"])
    assert set(first["wrong"]) == {"0.05", "worst best", "best bad"}
    assert blind["verdict"] == "survives"
    assert (first["randomised"], first["batches"]) == (True, True)
    assert first["microseconds"] > 0.0
    frame = small.frame()
    assert frame.loc["ModelTS", "wrong_0.05_low"] == first["wrong"]["0.05"]["mean_low"]
    json.dumps(small.to_dict())


def test_the_page_holds_everything_and_respects_files_of_others(
    small: sb.Advice, tmp_path: Path
) -> None:
    page = tmp_path / "advice.html"
    small.save_page(page)
    text = page.read_text()
    assert small.words in text.replace("&#x27;", "'")
    assert "<svg" in text
    assert "All candidates" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    small.save_page(page)  # ours may be written again
    page.write_text("<p>mine</p>")
    with pytest.raises(sb.FileFormatError, match="left alone"):
        small.save_page(page)
    assert "<table>" in small._repr_html_()


def test_the_figure_has_a_dot_for_each_candidate_and_kind_of_truths(small: sb.Advice) -> None:
    ax = small.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ModelTS", BLIND]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["the structure is right", "means off by 0.05", "worst best", "best bad"]


def test_gaussian_rewards_and_truths_of_the_user() -> None:
    every = sb.candidates(SMALL, 50, family="gaussian")
    assert not {"SUCB kl", "SUCB alpha=2 kl"} & set(every)
    assert every["ModelTS trust=0.5"].trust == 0.5
    policies = {"ModelTS": every["ModelTS"], BLIND: every[BLIND]}
    advice = ask(family="gaussian", policies=policies, truths=[1, [0.4, 0.6]], trust=1.0)
    assert set(advice.info["trials"]) == {"model 1", "means 0.4, 0.6"}
    assert of(advice, BLIND)["mean"] > 0.0


def test_every_policy_of_the_library_is_a_candidate_or_says_why_not() -> None:
    options = asked(shop(), 20_000)
    able, refused = library_candidates(options, None)
    names = {each.name for each in able}
    assert set(candidates_module.POLICIES) == (names | set(refused)) & set(
        candidates_module.POLICIES
    )
    assert {"SUCB", "SUCB.paper", "SAE kl", "ASAE", "UCB kl", "IMED", "KLUCB"} <= names
    assert refused["WAGP"].startswith("WAGP cannot play")
    by_name = {each.name: each for each in able}
    assert by_name["SAE"].policy.horizon == 20_000
    assert by_name["ModelTS trust=0.5"].policy.trust == 0.5
    assert by_name["ModelTS"].policy.trust == 1.0
    assert by_name["SAE"].takes_batches
    assert by_name["SUCB"].takes_batches  # agents reckon with what is out, whatever the policy


def test_what_data_taught_is_played_and_not_handed_out() -> None:
    """The agent will learn the data itself; they must not count twice."""
    (mine,) = (
        each
        for each in library_candidates(asked(SMALL), np.array([0.9, 0.1]))[0]
        if each.name == "IDS"
    )
    assert mine.policy.prior is None
    assert mine.played.prior == [0.9, 0.1]
    advice = ask(data=([20, 5], [17.0, 2.0]), trust=1.0)
    assert of(advice, BLIND)["worst_truth"] in ("model 0", "model 1")


def test_the_blind_reference_always_plays_along() -> None:
    mine = given_candidates({"mine": sb.UCB(2)}, asked(SMALL))
    assert [each.name for each in mine] == ["mine", BLIND]


def asked(structure: Structure, horizon: int = 50) -> Any:
    return usual_options(structure, horizon)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"structure": 3}, "structure=3: expected a structure"),
        ({"horizon": 1}, "horizon=1: expected a whole number >= 2"),
        ({"family": "bounded"}, "family='bounded': accepted are 'bernoulli' and 'gaussian'"),
        ({"trust": 1.5}, "trust=1.5: expected 0 to 1"),
        ({"wrong": 0.02}, "wrong=0.02: expected how far means may be off"),
        ({"wrong": (0.02, 0.02)}, "a number is given twice"),
        ({"runs": 10}, "runs=10: expected at least 64"),
        ({"seconds": 0.0}, "seconds=0.0: expected a finite number > 0"),
        ({"policies": {}}, "policies={}: expected policies by name"),
        ({"policies": {"UCB": sb.UCB(3)}}, "UCB: the policy has 3 arms, the world 2"),
        ({"data": [1, 2, 3]}, "expected a pair"),
        ({"prior": [1.0]}, "expected 2 numbers, one for each model"),
    ],
)
def test_messages(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError) as raised:
        ask(**wrong)
    assert message in str(raised.value)


@pytest.fixture
def few_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command play two policies only, which are compiled already."""
    few = {name: candidates_module.POLICIES[name] for name in ("ModelTS", BLIND)}
    monkeypatch.setattr(candidates_module, "POLICIES", few)


@pytest.mark.usefixtures("few_policies")
def test_the_command_prints_the_table_and_writes_a_page(tmp_path: Path) -> None:
    (tmp_path / "types.csv").write_text("model,tea,coffee\none,.8,.5\ntwo,.3,.5\n")
    page = tmp_path / "page.html"
    arguments = ["advise", str(tmp_path / "types.csv"), "--horizon", "50", "--runs", "64"]
    told = CliRunner().invoke(main, [*arguments, "--trust", "1", "--out", str(page)])
    assert told.exit_code == 0, told.output
    assert "Take ModelTS" in told.output
    assert page.is_file()
    plain = CliRunner().invoke(main, [*arguments, "--trust", "1", "--json"])
    assert json.loads(plain.stdout)["name"] == "ModelTS"
    page.write_text("mine")
    refused = CliRunner().invoke(main, [*arguments, "--out", str(page)])
    assert refused.exit_code == 2
    assert "was not written by this program" in refused.output


@pytest.mark.usefixtures("few_policies")
def test_ctrl_c_ends_the_command_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*anything: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Evaluator, "play", interrupted)
    (tmp_path / "types.csv").write_text("model,tea,coffee\none,.8,.5\ntwo,.3,.5\n")
    told = CliRunner().invoke(main, ["advise", str(tmp_path / "types.csv"), "--horizon", "50"])
    assert told.exit_code == 130
    assert "stopped; nothing was decided" in told.output


def test_policies_that_are_tuned_for_less_warn() -> None:
    options = usual_options(SMALL, 1000)
    with pytest.warns(sb.HorizonWarning, match="short is tuned for horizon=10 and will be played"):
        given_candidates({"short": sb.SAE.paper(SMALL, 10)}, options)
