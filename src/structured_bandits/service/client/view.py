"""An experiment of a service in words and a table, as an agent's `describe` has them."""

from __future__ import annotations

import math

from structured_bandits.agents.view import (
    LONGEST,
    MOST_ARMS,
    Description,
    left_out_words,
    race_cell,
    seen_cells,
    seen_words,
)
from structured_bandits.agents.words import MOST, NONE_FITS, cut, fit_words, listed, weights_words
from structured_bandits.inference.certificate import sentences
from structured_bandits.inference.misfit.report import p_value_words
from structured_bandits.service.wire import (
    ArmView,
    CertificateView,
    MisfitView,
    ModelsView,
    State,
    StopView,
)


def describe(url: str, state: State) -> Description:
    """Return what a person wants to know of an experiment."""
    most = sorted(state.arms, key=lambda arm: -arm.pulls)[:MOST_ARMS]
    shown = sorted(most, key=lambda arm: arm.index)
    highest = max((arm.mean for arm in shown if arm.mean is not None), default=None)
    return Description(
        [
            f"The experiment {cut(state.name, LONGEST)} at {url}, version {state.version}, is "
            f"{state.state} and plays {cut(state.policy, LONGEST)}.",
            seen_words(state.rewards, state.pending),
            *(
                [f"{state.held:,} rewards are held until their windows close."]
                if state.held
                else []
            ),
            *(cut(alarm.text, LONGEST) for alarm in state.alarms),
        ],
        [_row(arm) for arm in shown],
        [arm.mean is not None and arm.mean == highest for arm in shown],
        [
            *left_out_words(len(state.arms) - len(shown)),
            *([] if state.models is None else _models_words(state.models)),
            *([] if state.misfit is None else [_misfit_words(state.misfit)]),
            *([] if state.certificate is None else _certificate_words(state.certificate)),
            *([] if state.stop is None else [stop_words(state.stop)]),
        ],
    )


def _row(arm: ArmView) -> list[str]:
    mean = math.nan if arm.mean is None else arm.mean
    race = race_cell(arm.in_the_race, arm.status == "parked")
    return [arm.name, *seen_cells(arm.pulls, mean, arm.interval), race]


def _models_words(models: ModelsView) -> list[str]:
    words = []
    if models.fitting == 0:
        words.append(NONE_FITS)
    elif models.fitting is not None and models.total is not None:
        all_of_them = len(models.names) == models.fitting
        names = listed(models.names) if all_of_them else f"{listed(models.names[:MOST])}, …"
        words.append(fit_words(models.fitting, models.total, names))
    weights = [(model.name, model.weight) for model in models.likely]
    if len({weight for _, weight in weights}) > 1 or len(weights) == models.total:
        words.append(weights_words(weights))  # of equal weights only if there are no others
    return words


def stop_words(stop: StopView) -> str:
    """Say whether it is decided which arm is best."""
    if stop.arm is None:
        return f"Which arm is best is not decided yet (at an error of at most {stop.level:g})."
    plays = ", and plays it" if stop.then == "freeze" else ""
    return (
        f"The experiment decided after {stop.rewards:,} rewards that {stop.arm!r} is best, with an "
        f"error of at most {stop.level:g}{plays}."
    )


def _certificate_words(found: CertificateView) -> list[str]:
    given, alone = found.given_models, found.from_arms
    return sentences(None if given is None else (given.arm, given.error), (alone.arm, alone.error))


def _misfit_words(misfit: MisfitView) -> str:
    said = f"p-value {p_value_words(misfit.p_value)}"
    if not misfit.refuted:
        return f"The rewards do not refute the structure ({said})."
    return (
        f"The structure is wrong, or the rewards have changed ({said}). The arms to blame: "
        f"{listed(misfit.arms)}."
    )
