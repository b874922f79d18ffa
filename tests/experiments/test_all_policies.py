"""`reproduce --all-policies`: the paper's experiments once more, with every policy that can play them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from structured_bandits.cli.commands import main
from structured_bandits.experiments.paper import reproduce as catalogue
from structured_bandits.experiments.paper.reproduce import experiments
from structured_bandits.policies.base import POLICIES


def test_only_experiments_that_show_regrets_come_again() -> None:
    extra = catalogue.with_all_policies(experiments((), "equal-widths"))
    assert [each.id for each in extra] == [
        "fig2a-all",
        "fig2a-long-all",
        "fig2b-all",
        "fig2c-all",
        "fig2d-all",
        "wagp-left-all",
        "wagp-flat-all",
        "wagp-right-all",
    ]


def test_every_policy_that_can_play_is_there() -> None:
    curves, table, random = (
        set(each.specs)
        for each in catalogue.with_all_policies(
            experiments(("fig2a", "fig2c", "fig2d"), "equal-widths")
        )
    )
    sharper = set(catalogue.SHARPER)
    assert table == {*POLICIES, *sharper} - {"WAGP"}  # which needs a curve
    assert curves == {*POLICIES, *sharper} - {"BestArm", "IDS"}  # which need a table
    assert random == table - {"OSSB"}


def test_the_papers_own_experiments_and_claims_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = {"UCB": {"kind": "UCB"}, "SUCB": {"kind": "SUCB"}}
    monkeypatch.setattr(catalogue, "playable_specs", lambda experiment: two)
    command = ["reproduce", "fig2a", "--preset", "equal-widths", "--runs", "3"]
    plain = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "plain")])
    both = CliRunner().invoke(main, [*command, "--all-policies", "--out", str(tmp_path / "both")])
    assert both.exit_code == plain.exit_code == 0
    claims = plain.output.split("page:")[0]
    assert both.output.startswith(claims)
    assert "an informative arm, all policies" in both.output
    page = (tmp_path / "both" / "report.html").read_text()
    assert "Every policy of the library that can play the structure" in page
    same = [path.relative_to(tmp_path / "plain") for path in (tmp_path / "plain").rglob("*.csv")]
    assert same
    for path in same:
        assert (tmp_path / "plain" / path).read_bytes() == (tmp_path / "both" / path).read_bytes()
