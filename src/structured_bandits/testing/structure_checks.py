"""`check_structure`: the cells of a structure give one answer, whoever asks, and the right one.

The questions that policies ask (structures/questions.py) are not independent: from the best arms in
boxes follows the optimistic one, from data follow boxes, from a model inside a box its best arm.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import Box, Data, fresh_box, write_box
from structured_bandits.base.intervals import Hoeffding, Intervals, KLIntervals
from structured_bandits.errors import StructureError
from structured_bandits.lookahead.cells.base import certain_length, choose, workspace
from structured_bandits.lookahead.prospect import Prospect
from structured_bandits.lookahead.witnesses import NO_ARM, SEVERAL
from structured_bandits.policies.base import POLICIES, Policy, answers
from structured_bandits.policies.best_arm import BestArm
from structured_bandits.structures.base import Structure
from structured_bandits.testing.policy_checks import check_policy
from structured_bandits.testing.requirements import blamed, importable, in_threads, require

CLOSE = 1e-6  # values that are this close may count as equal, since solvers have tolerances
HALVINGS = 24  # of an interval, until a value is known to CLOSE
FAR = 1e6  # more than any mean
LEAD = 1e-3  # of an arm that is surely best in a model


class BoxAnswer(NamedTuple):
    """What cells say of a box: its best arms, and the optimistic one (None if they do not say)."""

    arms: tuple[int, ...]
    optimistic: int | None


def check_structure(
    structure: Any,
    models: Sequence[Any] | None = None,
    *,
    compiled: bool = True,
    boxes: int = 60,
    pulls: int = 60,
    policies: bool = True,
) -> None:
    """Raise a `CheckError` unless `structure` does what is asked of every structure.

    - `models`: some models, as `structure.means` takes them. With them it is checked that the best arm
      of a model is found wherever the model is, and that distances are not longer than to any of them.
    - `compiled=False` leaves compiled play out, which takes seconds to compile.
    - `boxes`: how many random boxes the cells are asked about.
    - `pulls`: how long the policies play, and how long data grow.
    - `policies=False`: do not check the library's policies on this structure.

    These things are checked: names, fingerprint and pickling; that the cells answer alike with new and
    with used notes, in threads, and after all the rest; that a box with all means contains the arms of
    `structure.best_arms`, a box far away none, and a larger box no fewer; that the optimistic arm is the
    one with the highest mean among those found; that `choose`, from data that grow, gives the optimistic
    arm computed from scratch, and that this arm stays the choice for as long as `certain_length` says;
    and `check_policy` for all policies of the library whose questions the structure answers. Questions
    that the cells do not answer are left out, except `fresh_notes` and `best_arms_in`, which are needed.
    """
    name = type(structure).__name__
    require(
        isinstance(structure, Structure),
        "A structure must be an object of a subclass of structured_bandits.structures.base.Structure.",
        f"It is {structure!r}.",
    )
    _check_names(structure, name)
    _check_value(structure, name)
    models = [] if models is None else list(models)
    means = _means_of(structure, name, models)
    sample = _random_boxes(structure.n_arms, means, boxes)
    before = [_ask(structure, box) for box in sample]
    _check_ends(structure, name)
    for box, answer in zip(sample, before, strict=True):
        _check_answer(structure, name, box, answer)
    everything = Box(np.full(structure.n_arms, -math.inf), np.full(structure.n_arms, math.inf))
    several = [box for box, answer in zip(sample, before, strict=True) if len(answer.arms) > 1]
    for box in [everything, *several[: boxes // 6]]:
        _check_optimism(structure, name, box)
    _check_growing_data(structure, name, pulls)
    _check_models(structure, name, models, means)
    _check_distances(structure, name, models, means)
    _check_threads(structure, name, sample, before)
    if policies:
        for policy in policies_for(structure):
            check_policy(policy, compiled=compiled, pulls=pulls, tapes=8)
    for box, answer in zip(sample, before, strict=True):
        again = _ask(structure, box)
        require(
            again == answer,
            f"The cells of {name} must answer the same after other questions and runs: what "
            "is found out "
            "belongs into the notes or the workspace.",
            f"First they answered {_said(answer)}, in the end {_said(again)}.",
            _how(box),
        )


def policies_for(structure: Structure, horizon: int = 1000) -> list[Policy]:
    """Return a policy of each registered kind whose questions the structure answers.

    `BestArm` only on tables: elsewhere it looks at each rival by a program, for milliseconds a pull.
    """
    return [
        kind(structure, horizon) if "horizon" in kind.parameter_names() else kind(structure)  # type: ignore[call-arg]
        for kind in POLICIES.values()
        if kind.asks and answers(structure, kind)
        if kind is not BestArm or hasattr(structure.cells, "table")
    ]


def _check_names(structure: Structure, name: str) -> None:
    require(
        isinstance(getattr(structure, "kind", None), str) and bool(structure.kind),
        f"{name} must have a kind: a class attribute, a word for this kind of structure.",
        f"It is {getattr(structure, 'kind', None)!r}.",
    )
    with blamed(f"Asking {name} for its arms", "structure.n_arms, structure.best_arms"):
        arms, best, names = structure.n_arms, structure.best_arms, structure.arm_names
    require(
        arms >= 1 and len(names) == arms and len(set(names)) == arms,
        f"{name} must have a different name for each of its {arms} arms.",
        f"They are {names!r}.",
        "structure.arm_names",
    )
    require(
        len(best) > 0 and all(0 <= arm < arms for arm in best),
        f"cells.best of {name} must hold arms from 0 to {arms - 1}, at least one.",
        f"It holds {best!r}.",
        "structure.cells.best",
    )
    with blamed(f"Showing {name}", "repr(structure), structure._repr_html_()"):
        repr(structure), structure._repr_html_()


def _check_value(structure: Structure, name: str) -> None:
    with blamed(f"The fingerprint of {name}", "structure.fingerprint"):
        first, second = structure.fingerprint, structure.fingerprint
    require(
        first == second and isinstance(first, str),
        f"The fingerprint of {name} must be a text that stays the same.",
        f"It is {first!r}, then {second!r}.",
        "structure.fingerprint",
    )
    if not importable(structure):
        return
    with blamed(f"Pickling {name}", "pickle.loads(pickle.dumps(structure))"):
        copy = pickle.loads(pickle.dumps(structure))
    require(
        copy == structure and hash(copy) == hash(structure) and copy.fingerprint == first,
        f"A pickled copy of {name} must be equal to it: the fingerprint hashes what "
        "`_facts` returns, which "
        "must be arrays or numbers.",
        f"The fingerprints are {first!r} and {copy.fingerprint!r}.",
        "pickle.loads(pickle.dumps(structure)).fingerprint",
    )


def _ask(structure: Structure, box: Box, notes: Any = None, flag: bool = False) -> BoxAnswer:
    """Ask the cells about a box; `notes` are theirs, `flag` is what stands in `found` before."""
    cells = structure.cells
    with blamed(f"Asking the cells of {type(structure).__name__} about a box", _how(box)):
        notes = cells.fresh_notes() if notes is None else notes
        found = np.full(structure.n_arms, flag)
        alive = cells.best_arms_in(box, found, notes)
        arms = tuple(np.flatnonzero(found).tolist())
        require(
            bool(alive) == bool(arms),
            "best_arms_in must return whether it has marked an arm.",
            f"It returned {alive!r} and marked {arms}.",
            _how(box),
        )
        optimistic = None
        if hasattr(cells, "optimistic_arm"):
            optimistic = int(cells.optimistic_arm(box, notes))
    return BoxAnswer(arms, optimistic)


def _check_ends(structure: Structure, name: str) -> None:
    """The whole space has all arms, a box far away none."""
    arms = structure.n_arms
    everything = Box(np.full(arms, -math.inf), np.full(arms, math.inf))
    found = _ask(structure, everything)
    require(
        found.arms == structure.best_arms,
        f"The box of all means must hold all models of {name}, hence all arms of structure.best_arms, "
        f"{structure.best_arms}.",
        f"best_arms_in marks {found.arms}.",
        _how(everything),
    )
    nothing = Box(np.full(arms, FAR), np.full(arms, FAR + 1.0))
    found = _ask(structure, nothing)
    require(
        found.arms == () and found.optimistic in (None, -1),
        f"In a box far from all means there is no model of {name}: best_arms_in marks no "
        "arm and returns "
        "False, optimistic_arm returns -1.",
        f"They say {_said(found)}.",
        _how(nothing),
    )


def _check_answer(structure: Structure, name: str, box: Box, answer: BoxAnswer) -> None:
    """Raise unless the answer fits itself, notes that were used, and a larger box."""
    if answer.optimistic is not None:
        fits = answer.optimistic in answer.arms if answer.arms else answer.optimistic == -1
        require(
            fits,
            f"The optimistic arm of {name} must be one of the best arms in the box, -1 if "
            "there are none.",
            f"They say {_said(answer)}.",
            _how(box),
        )
    notes = structure.cells.fresh_notes()
    wide = Box(box.low - 0.25, box.high + 0.25)
    larger = _ask(structure, wide, notes)
    for flag in (True, False):
        again = _ask(structure, box, notes, flag)
        require(
            again == answer,
            f"The cells of {name} must answer the same with fresh notes and with notes that were used, "
            "and best_arms_in must write every flag of `found`.",
            f"With fresh notes they say {_said(answer)}, with used ones {_said(again)}.",
            _how(box),
        )
    require(
        set(answer.arms) <= set(larger.arms),
        f"What is in a box is in a larger one: best_arms_in of {name} must mark no fewer arms there.",
        f"In the box it marks {answer.arms}, in the one that is wider by 0.25 on all sides "
        f"{larger.arms}.",
        _how(box),
    )


def _check_optimism(structure: Structure, name: str, box: Box) -> None:
    """Find each arm's highest mean in the box by narrowing it, and compare."""
    answer = _ask(structure, box)
    if answer.optimistic is None or not answer.arms:
        return
    highest = {arm: _highest_mean(structure, box, arm) for arm in answer.arms}
    top = max(highest.values())
    require(
        highest[answer.optimistic] >= top - 4 * CLOSE * max(1.0, abs(top)),
        f"The optimistic arm of {name} must be the one with the highest mean among the "
        "models in the box "
        "in which it is best.",
        f"It is {answer.optimistic}, but by best_arms_in in narrower boxes the highest "
        f"means are {highest}.",
        _how(box),
    )


def _highest_mean(structure: Structure, box: Box, arm: int) -> float:
    """Return the highest mean of `arm` in the box where it is best, by best_arms_in alone."""
    low, high = float(box.low[arm]), float(box.high[arm])
    low, high = max(low, -1e3), min(high, 1e3)
    for _ in range(HALVINGS + 10):
        middle = (low + high) / 2.0
        narrow = Box(box.low.copy(), box.high)
        narrow.low[arm] = middle
        if arm in _ask(structure, narrow).arms:
            low = middle
        else:
            high = middle
    return low


def _check_growing_data(structure: Structure, name: str, pulls: int) -> None:
    """From data that grow, the lookahead of cells says what is optimistic, and for how long."""
    cells = structure.cells
    if not hasattr(cells, "optimistic_arm"):
        return
    arms = structure.n_arms
    for seed in range(6):
        rng = np.random.default_rng([seed, arms])
        widths = KLIntervals(0.0, 0.0, 1.0) if seed >= 4 else Hoeffding(0.0)
        levels = rng.random(arms)
        data, box = Data(np.zeros(arms, np.int64), np.zeros(arms)), fresh_box(arms)
        work, changed = workspace(cells), NO_ARM
        for t in range(pulls):
            factor = (0.125, 2.0)[seed % 2]
            level = widths.at(factor * math.log(t + 1))
            how = f"lookahead.cells.base.choose(structure.cells, {changed}, {data}, {level}, box, work)"
            with blamed(f"choose of the cells of {name}", how):
                choice = int(choose(cells, changed, data, level, box, work))
            wanted = _optimistic(structure, data, level)
            require(
                choice == wanted,
                f"choose of the cells of {name} must return what optimistic_arm returns for "
                "the box of the "
                "same data, whatever was noted before.",
                f"After {t} pulls it returns {choice}, optimistic_arm {wanted}.",
                how,
            )
            if choice >= 0 and t:
                prospect = Prospect(t, 12, factor, level, 0.0, 1.0)
                length = int(certain_length(cells, choice, prospect, data, work))
                _check_length(structure, name, choice, length, prospect, data)
            # Sometimes the data of several arms are new: those of a plan, or of an agent restored.
            many = rng.random() < 0.2
            pulled = rng.integers(0, 3, arms) if many else np.eye(arms, dtype=int)[choice]
            for arm in np.flatnonzero(pulled):
                data.pulls[arm] += pulled[arm]
                data.sums[arm] += rng.binomial(pulled[arm], levels[arm])
            changed = SEVERAL if many else choice if choice >= 0 else arms - 1


def _optimistic(structure: Structure, data: Data, level: Intervals) -> int:
    box = fresh_box(structure.n_arms)
    write_box(data, level, box)
    return int(structure.cells.optimistic_arm(box, structure.cells.fresh_notes()))


def _check_length(
    structure: Structure, name: str, arm: int, length: int, prospect: Prospect, data: Data
) -> None:
    """Raise unless the choice is certain for so long: rewards are the least, the most or mixed."""
    how = f"lookahead.cells.base.certain_length(structure.cells, {arm}, {prospect}, {data}, work)"
    require(
        1 <= length <= prospect.limit,
        f"certain_length of the cells of {name} must be from 1 to prospect.limit = {prospect.limit}.",
        f"It is {length}.",
        how,
    )
    for what, rewards in (
        ("the least", [0.0] * length),
        ("the most", [1.0] * length),
        ("the least and the most in turn", [0.0, 1.0] * length),
    ):
        ahead = Data(data.pulls.copy(), data.sums.copy())
        for extra in range(1, length):
            ahead.pulls[arm] += 1
            ahead.sums[arm] += rewards[extra - 1]
            budget = prospect.factor * math.log(prospect.t + 1 + extra)
            later = _optimistic(structure, ahead, prospect.level.at(budget))
            require(
                later == arm,
                f"certain_length of the cells of {name} must not promise more than is certain, whatever "
                "rewards in the range come; 1 is always right.",
                f"It promises {length} pulls of arm {arm}, but after {extra} of them that "
                f"pay {what} the "
                f"optimistic arm is {later}.",
                how,
            )


def _means_of(structure: Structure, name: str, models: Sequence[Any]) -> list[Floats]:
    means = []
    for model in models:
        how = f"structure.means({model!r})"
        with blamed(f"Asking {name} for the means of a model", how):
            vector = np.asarray(structure.means(model), dtype=np.float64)
            structure.model_name(model)
        require(
            vector.shape == (structure.n_arms,) and bool(np.isfinite(vector).all()),
            f"means of {name} must return a finite mean for each of {structure.n_arms} arms.",
            f"It returns {vector!r}.",
            how,
        )
        means.append(vector)
    return means


def _check_models(
    structure: Structure, name: str, models: Sequence[Any], means: list[Floats]
) -> None:
    """Raise unless boxes around a model have its best arm, and the model fits its own means best."""
    rng = np.random.default_rng(len(models))
    fitting = structure.fitting_cells
    for model, vector in zip(models, means, strict=True):
        arm = _sure_best(vector)
        if arm is None:
            continue
        for width in (0.01, 0.1, 0.5):
            low = vector - width * (0.1 + rng.random(len(vector)))
            box = Box(low, vector + width * (0.1 + rng.random(len(vector))))
            answer = _ask(structure, box)
            require(
                arm in answer.arms,
                f"A box around a model of {name} must have the best arm of that model among "
                "its best arms.",
                f"The best arm of the model {model!r} is {arm}, best_arms_in marks {answer.arms}.",
                _how(box),
            )
        if hasattr(fitting, "fitting_arm"):
            pulls = np.full(len(vector), 1000)
            data = Data(pulls, pulls * vector)
            how = f"structure.fitting_cells.fitting_arm({data})"
            with blamed(f"fitting_arm of {name}", how):
                fits = int(fitting.fitting_arm(data))
            require(
                fits == arm,
                f"If all averages are the means of a model of {name}, no other fits better, "
                "so fitting_arm "
                "must return its best arm.",
                f"The best arm of the model {model!r} is {arm}, fitting_arm returns {fits}.",
                how,
            )


def _sure_best(means: Floats) -> int | None:
    """Return the best arm if its lead is clear: on borders between cells either may count."""
    arm = int(means.argmax())
    others = np.delete(means, arm)
    return arm if not len(others) or means[arm] - others.max() > LEAD else None


def _check_distances(
    structure: Structure, name: str, models: Sequence[Any], means: list[Floats]
) -> None:
    """No distance is longer than that to a sampled model."""
    weights = np.ones(structure.n_arms)
    for model, truth in zip(models[:6], means[:6], strict=True):
        with blamed(f"distances of {name}", f"structure.distances({truth!r}, 1e-9)"):
            try:
                distances = structure.distances(truth, 1e-9)
            except (StructureError, NotImplementedError):
                return  # this kind has no theory, and says so
        for other, vector in zip(models, means, strict=True):
            arm = _sure_best(vector)
            if arm is None:
                continue
            how = f"structure.distances({truth!r}, 1e-9).nearest({arm}, weights)  # all weights 1"
            distance = float(np.abs(vector - truth).max())
            with blamed(f"nearest and farthest of {name}", how):
                nearest = distances.nearest(arm, weights)
                farthest = distances.farthest(arm, weights)
            require(
                nearest.gap - CLOSE <= distance <= farthest + CLOSE,
                f"The models of {name} in which arm {arm} is best must be as far from the truth "
                f"{model!r} as nearest and farthest say.",
                f"They say {nearest.gap:.9g} to {farthest:.9g}; the model {other!r} is at "
                f"{distance:.9g}.",
                how,
            )
            for rival in range(structure.n_arms):
                lead = float(vector[arm] - vector[rival])
                if rival != arm:
                    with blamed(f"smallest_lead of {name}", how):
                        least = distances.smallest_lead(arm, rival)
                    require(
                        least - CLOSE <= lead,
                        f"smallest_lead of {name} must be no more than the lead in any model.",
                        f"It says that arm {arm} leads {rival} by at least {least:.9g}; in the model "
                        f"{other!r} it is {lead:.9g}.",
                        f"structure.distances({truth!r}, 1e-9).smallest_lead({arm}, {rival})",
                    )


def _check_threads(
    structure: Structure, name: str, sample: list[Box], wanted: list[BoxAnswer]
) -> None:
    """Ask all boxes in several threads at once."""
    found: list[Any] = [None] * 3

    def work(place: int) -> None:
        try:
            found[place] = [_ask(structure, box) for box in sample]
        except Exception as error:
            found[place] = error

    in_threads([lambda place=place: work(place) for place in range(3)])  # type: ignore[misc]
    for answers_there in found:
        require(
            answers_there == wanted,
            f"The cells of {name} must answer several threads as they answer one: what is found out "
            "belongs into the notes, not into the cells.",
            f"In three threads they said or raised {answers_there!r} instead of {wanted!r}.",
            "three threads, each with cells.fresh_notes() of its own",
        )


def _random_boxes(arms: int, known: list[Floats], count: int) -> list[Box]:
    """Return boxes as data make them: some arms never pulled, some often; half around a model."""
    rng = np.random.default_rng([count, arms])
    boxes = []
    for number in range(count):
        centre = rng.random(arms)
        if known and number % 2:
            centre = known[number % len(known)] + rng.normal(0.0, 0.05, arms)
        radius = 2.0 ** -rng.integers(0, 6, arms)
        radius[rng.random(arms) < 0.2] = math.inf
        boxes.append(Box(centre - radius, centre + radius))
    return boxes


def _said(answer: BoxAnswer) -> str:
    optimistic = "" if answer.optimistic is None else f" and the optimistic arm {answer.optimistic}"
    return f"the best arms {answer.arms}{optimistic}"


def _how(box: Box) -> str:
    low, high = ([float(x) for x in ends] for ends in box)
    return (
        "from math import inf\n"
        f"box = Box(np.array({low}), np.array({high}))  # structured_bandits.base.confidence\n"
        "found, cells = np.zeros(structure.n_arms, bool), structure.cells\n"
        "cells.best_arms_in(box, found, cells.fresh_notes()), cells.optimistic_arm(box, "
        "cells.fresh_notes())"
    )
