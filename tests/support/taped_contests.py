"""Randomised policies on tapes of uniforms: the oracle, pull by pull and planned, in Python.

Each function plays case `index` of a seed, raises if the arms differ and returns what was met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from oracles import draws, kl_sets, posteriors
from oracles.structures import Trace
from support.cases import Case, draw_case
from support.coupled_draws import play_coupled
from support.exactness import Ways, judge
from support.model_cases import ModelCase, draw_model_case
from support.play import Played
from support.uniform_tapes import DrawTape, above, below, hostile_uniforms, play_draws, play_tape

import structured_bandits as sb
from structured_bandits.inference.spike_and_slab import STRENGTHS


def taped(trace: Trace, planned: Played, single: Played) -> Counter[str]:
    """Judge both ways; between them nothing is excused."""
    ways: Ways = {"planning": planned, "pull by pull": single}
    met = judge(trace, ways)
    met.update(plans=planned.plans, switches=len(set(trace.arms)) > 1)
    return met


# -------------------------------------------------------------------------------------- ModelTS


def model_ts_of(case: ModelCase) -> sb.ModelTS:
    return sb.ModelTS(case.structure, prior=case.prior, temper=case.temper)


def model_ts_oracle(case: ModelCase, **given: Any) -> Trace:
    return posteriors.model_ts(
        case.table.tolist(),
        case.rewards.tolist(),
        len(case.uniforms),
        case.uniforms.tolist(),
        prior=case.prior,
        temper=case.temper,
        **given,
    )


def model_ts(seed: int, index: int) -> Counter[str]:
    """ModelTS on a table; every second case has uniforms on the verge of another arm."""
    case = draw_model_case(seed, index, hostile_for=model_ts_of)
    policy = model_ts_of(case)
    single, _ = play_tape(policy, case.rewards, case.uniforms, planning=False)
    planned, longest = play_tape(policy, case.rewards, case.uniforms, planning=True)
    met = taped(model_ts_oracle(case), planned, single)
    met.update({case.style: 1, "long_plans": longest > 10})
    return met


def random_curve(seed: int, index: int) -> tuple[sb.ModelTS, np.ndarray]:
    """Return a policy on a random curve with single models, gaps and means of 0 and 1; and rewards."""
    case = draw_case(seed, index, "curves", full_size=False)
    prior = np.random.default_rng(index).uniform(0.01, 1.0, len(case.structure.pieces))
    policy = sb.ModelTS(case.structure, prior=prior, temper=1.0 if index % 3 else 0.5)
    return policy, case.rewards[:, :150].astype(float)


def model_ts_on_curves(seed: int, index: int) -> Counter[str]:
    """ModelTS on a curve, for which there is no oracle: planned is compared with pull by pull."""
    rng = np.random.default_rng([seed, index])
    policy, rewards = random_curve(seed, index)
    uniforms = rng.random(rewards.shape[1])
    if index % 2:
        uniforms = hostile_uniforms(policy, rewards, len(uniforms), rng)
    single, _ = play_tape(policy, rewards, uniforms, planning=False)
    planned, longest = play_tape(policy, rewards, uniforms, planning=True)
    met = taped(Trace(arms=single.arms), planned, single)
    met["long_plans"] += longest > 10
    return met


# ----------------------------------------------------------------------- doubtful ModelTS and IDS

MOST_PULLS = 40  # of a case: these oracles are slow


def some_prior(rng: np.random.Generator, index: int, models: int) -> list[float] | None:
    return None if index % 3 else (rng.integers(1, 5, models) / 2).tolist()


TRUSTS = (0.0, 0.25, 0.5, 0.9)
OFFS = (0.1, 0.3, 0.0)


def doubtful_model_ts(
    seed: int, index: int, strengths: Sequence[float] = STRENGTHS
) -> Counter[str]:
    """ModelTS with trust below 1: arms are off often, sometimes or never."""
    rng = np.random.default_rng([seed, len(strengths), index])
    case = draw_case(seed, index, "finite", full_size=False)
    table = case.structure.cells.table
    pulls = min(case.horizon, MOST_PULLS)
    prior = some_prior(rng, index // 4, len(table))
    told: dict[str, Any] = {
        "trust": float(rng.choice(TRUSTS)),
        "off": float(rng.choice(OFFS)),
        "strengths": strengths,
        "prior": prior,
        "temper": 0.5 if index % 4 == 3 else 1.0,
    }
    uniforms = rng.random(pulls * (1 + 2 * table.shape[1])).tolist()
    trace = posteriors.doubtful_model_ts(
        table.tolist(), case.rewards.tolist(), pulls, uniforms, **told
    )
    policy = sb.ModelTS(case.structure, **told)
    tapes = DrawTape(uniforms), DrawTape(uniforms)
    planned, single = (
        play_draws(policy, case.rewards, pulls, tape, planning)
        for tape, planning in zip(tapes, (True, False), strict=True)
    )
    met = taped(trace, planned, single)
    if not met["near_ties"]:  # the same numbers were read for the same purposes
        assert {tape.place for tape in tapes} == {trace.read}
    met.update(trace.met)
    met.update(tempered=told["temper"] < 1, never_off=told["off"] == 0)
    return met


def silent_column(table: np.ndarray, place: int | None) -> np.ndarray:
    """Let all models agree on the arm at `place`, and on no other if there is more than one model."""
    table = table.copy()
    for arm in np.flatnonzero((table == table[0]).all(axis=0)):
        table[-1, arm] = 1.0 - table[0, arm] if table[0, arm] != 0.5 else 0.25
    if place is not None:
        table[:, place] = table[0, place]
    return table


def hard_table(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Models that mostly agree, each with an arm that is better than in the first."""
    table = np.repeat(rng.integers(2, 13, (1, shape[1])) / 16, shape[0], axis=0)
    for model in range(1, shape[0]):
        table[model, rng.integers(shape[1])] = rng.integers(12, 17) / 16
        table[model, rng.integers(shape[1])] = rng.integers(0, 8) / 16
    return table


Ends = Callable[[float, float], bool]
SILENT: list[tuple[int | None, Ends]] = [(None, below), (0, above), (-1, below)]


def ids(seed: int, index: int, silent: tuple[int | None, Ends] | None = None) -> Counter[str]:
    """IDS with an arm of which all models say the same: the first waits for large uniforms."""
    place, ends = silent or SILENT[index % len(SILENT)]
    rng = np.random.default_rng([seed, index])
    case = draw_case(seed, index, "finite", full_size=False)
    table = case.structure.cells.table
    table = silent_column(hard_table(rng, table.shape) if rng.random() < 0.5 else table, place)
    pulls = min(case.horizon, MOST_PULLS)
    prior = some_prior(rng, index, len(table))
    uniforms = rng.random(pulls).tolist()
    trace = posteriors.ids(table.tolist(), case.rewards.tolist(), pulls, uniforms, prior)
    policy = sb.IDS(sb.FiniteStructure(table), prior)
    planned, single = (
        play_draws(policy, case.rewards, pulls, DrawTape(uniforms, ends), planning)
        for planning in (True, False)
    )
    met = taped(trace, planned, single)
    met["waits"] += len(table) > 1 and 1 < planned.plans < pulls
    return met


# ------------------------------------------------------------------------------ ThompsonSampling

PRIORS = [None, (1.0, 1.0), (0.5, 0.25), (3.0, 2.0)]


def thompson(seed: int, index: int) -> Counter[str]:
    """Thompson sampling; where rewards have a range, stretches with the very means of the tape, too."""
    rng = np.random.default_rng([seed, index])
    case = draw_case(seed, index, "finite", full_size=False)
    n_arms, rewards = case.structure.n_arms, case.rewards.astype(float)
    family = ("coins", "coins", "fractions", "gaussian")[index % 4]
    prior, sigma = PRIORS[rng.integers(len(PRIORS))], None
    if family == "fractions":
        rewards = rng.integers(0, 5, rewards.shape) / 4.0
    elif family == "gaussian":
        sigma = float(rng.choice([0.25, 0.5, 2.0]))
    options: dict[str, Any] = {} if sigma is None else {"reward_range": None, "sigma": sigma}
    arms = "all" if rng.random() < 0.7 else "candidates"
    playable = sorted(case.structure.best_arms) if arms == "candidates" else list(range(n_arms))
    policy = sb.ThompsonSampling(case.structure, prior=prior, arms=arms, **options)
    uniforms = rng.random((case.horizon, n_arms))
    tape = uniforms[:, playable].ravel().tolist()
    trace = draws.thompson(n_arms, rewards.tolist(), case.horizon, tape, prior, playable, sigma)
    single = play_draws(policy, rewards, case.horizon, DrawTape(tape), planning=False)
    if family == "gaussian":
        planned = play_draws(policy, rewards, case.horizon, DrawTape(tape), planning=True)
        met = taped(trace, planned, single)
    else:
        played, coupled, plans = play_coupled(policy, rewards, uniforms, seed=index)
        assert coupled.left_over() == 0, "the plans asked for draws that they did not use"
        met = taped(trace, Played(played, plans, 0), single) + coupled.met
    met.update({family: 1, "one_arm": n_arms == 1, "left_out": len(playable) < n_arms})
    return met


# ------------------------------------------------------------------------------------------- TSC

TOLD: list[tuple[dict[str, Any], dict[str, Any]]] = [  # how the oracle and the library are told priors and families
    ({}, {}),
    ({"prior": (0.5, 2.0)}, {"prior": (0.5, 2.0)}),
    ({"sigma": 0.5}, {"reward_range": None, "sigma": 0.5}),
    ({"sigma": 0.25, "prior": (0.5, 1.0)}, {"reward_range": None, "sigma": 0.25, "prior": (0.5, 1.0)}),
]  # fmt: skip


def tsc(case: Case, seed: int, index: int) -> Counter[str]:
    """TS-C, mostly with rewards of 0 and 1 and the uniform prior."""
    told, family = TOLD[index % 8 if index % 8 < len(TOLD) else 0]
    rng = np.random.default_rng([seed, index])
    uniforms = rng.random(case.horizon * case.structure.n_arms).tolist()
    policy = sb.TSC(case.structure, case.alpha, **family)
    trace = kl_sets.tsc(
        case.oracle, case.rewards.tolist(), case.horizon, uniforms, case.alpha, **told
    )
    planned, single = (
        play_draws(policy, case.rewards, case.horizon, DrawTape(uniforms), planning)
        for planning in (True, False)
    )
    met = taped(trace, planned, single)
    met["planned_ahead"] += planned.plans < case.horizon
    return met
