"""What `RemoteAgent.describe` says of an experiment, from what a service says of it."""

from __future__ import annotations

from typing import Any

import msgspec

from structured_bandits.service.client.view import describe
from structured_bandits.service.wire import State


def arm(index: int, **changes: Any) -> dict[str, Any]:
    plain = {"index": index, "name": f"arm {index}", "pulls": 0, "mean": None, "low": None}
    more = {"high": None, "status": "active", "dropped_after": None, "planned": 0, "wanted": 0}
    return {**plain, **more, "out": 0, **changes}


def said(**changes: Any) -> str:
    """The description of an experiment without data, with some changes."""
    nothing = ("horizon", "oldest_pending_seconds", "window_seconds", "missing", "models")
    content = {
        **dict.fromkeys([*nothing, "misfit", "regret", "control"]),
        **{
            "name": "drinks",
            "version": 2,
            "uid": "u",
            "seq": 7,
            "state": "paused",
            "order": "turn",
        },
        **{"policy": "SUCB", "asked": 0, "rewards": 0, "pending": 0, "held": 0, "empty": 0},
        **{"extra": 0, "arms": [arm(0)], "alarms": [], "fallback": "none", "fallen_back": False},
        **{"history": [], "versions": [], **changes},
    }
    return describe("http://shop.test", msgspec.convert(content, State)).text()


def test_without_data() -> None:
    assert said().rstrip() == (
        "The experiment drinks at http://shop.test, version 2, is paused and plays SUCB.\n"
        "It has seen 0 rewards and waits for no more.\n\n"
        "arm    pulls  mean  interval  in the race\n"
        "-----  -----  ----  --------  -----------\n"
        "arm 0  0                      yes"
    )


def test_rewards_that_are_held_and_alarms() -> None:
    alarm = {"kind": "clock", "text": "The clock was changed.", "since": 5}
    text = said(rewards=3, pending=1200, held=4, alarms=[alarm])
    assert "It has seen 3 rewards and waits for 1,200 more." in text
    assert "4 rewards are held until their windows close." in text
    assert "The clock was changed." in text


def test_arms_in_and_out_of_the_race() -> None:
    arms = [
        arm(0, pulls=1000, mean=0.5, low=0.25, high=0.75),
        arm(1, status="dropped", dropped_after=10, low=-1.0),
        arm(2, status="parked"),
        arm(3, status="parked", dropped_after=10),
    ]
    lines = [line.split() for line in said(arms=arms).splitlines()]
    assert ["arm", "0", "1,000", "0.5", "0.25", "to", "0.75", "yes"] in lines
    assert ["arm", "1", "0", "-1", "to", "inf", "no"] in lines
    assert ["arm", "2", "0", "yes,", "parked"] in lines
    assert ["arm", "3", "0", "no,", "parked"] in lines


def test_many_arms_are_cut_to_those_with_the_most_pulls() -> None:
    text = said(arms=[arm(index, pulls=index) for index in range(60)])
    assert "The 10 arms with the fewest pulls are left out." in text
    assert "arm 10 " in text
    assert "arm 9 " not in text


def test_models() -> None:
    likely = [{"name": "a", "weight": 0.9}, {"name": "b", "weight": 0.1}]
    models = {"total": 9, "fitting": 1, "names": ["a"], "likely": likely}
    text = said(models=models)
    assert "1 of 9 models fits these intervals: 'a'." in text
    assert "the likeliest are 'a' (90.0 %), 'b' (10.0 %)." in text
    assert "No model of the structure fits" in said(models={**models, "fitting": 0, "names": []})
    many = {**models, "total": 99, "fitting": 70, "names": list("abcdefghijklmnopqrst")}
    assert "70 of 99 models fit these intervals: 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', …." in (
        said(models=many)
    )
    equal = [{"name": "a", "weight": 0.25}, {"name": "b", "weight": 0.25}]  # others may have less
    assert "likely" not in said(models={**models, "likely": equal})
    assert "All models are equally likely." in said(models={**models, "total": 2, "likely": equal})
    assert "fit these" not in said(models={**models, "total": None, "fitting": None})


def test_a_structure_that_is_refuted() -> None:
    misfit = {"e_value": None, "log10_e": 400.0, "p_value": 0.0, "level": 1e-4, "arms": ["tea"]}
    text = said(misfit={**misfit, "refuted": True})
    assert "The structure is wrong, or the rewards have changed (p-value below 0.0001)." in text
    assert "The arms to blame: 'tea'." in text
    view = {
        "given_models": {"arm": "tea", "error": 0.012},
        "from_arms": {"arm": "coffee", "error": 1.0},
        "rewards": 40,
    }
    text = said(certificate=view)
    assert "If one of the models is right: 'tea' is best, with an error of at most 0.012." in text
    assert (
        "By the rewards of the arms alone: 'coffee' is best, but that is not certain yet." in text
    )
    assert "one of the models" not in said(certificate={**view, "given_models": None})
    assert "do not refute" in said(misfit={**misfit, "p_value": 0.3, "refuted": False})
