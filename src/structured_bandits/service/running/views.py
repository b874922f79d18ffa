"""What the dashboard and the readers of the API see of an experiment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.agents.agent import Agent
from structured_bandits.agents.intervals import MISS
from structured_bandits.agents.likely import LikelyModel
from structured_bandits.inference.running_mean import running_mean_interval
from structured_bandits.policies.certain import Certain
from structured_bandits.service import wire
from structured_bandits.service.experiment.choosing import CONTROL
from structured_bandits.service.experiment.experiment_state import ExperimentState, Side
from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.running.metrics import oldest_seconds
from structured_bandits.service.running.running_experiment import RunningExperiment
from structured_bandits.structures.finite.structure import FiniteStructure

if TYPE_CHECKING:
    pass

MOST_NAMES = 20  # of models that fit
LIKELIEST = 10
LARGEST = 1e300  # e-values above it are not shown as numbers


def state_of(experiment: RunningExperiment) -> wire.State:
    """Return all that the dashboard shows."""
    state, version = experiment.state, experiment.current
    agent, spec = state.agent, state.spec
    running = "paused" if state.paused else "running"
    return wire.State(
        name=experiment.name,
        version=version.row.number,
        uid=version.uid,
        seq=state.seq,
        state="read-only" if experiment.registry.refusal is not None else running,
        policy=repr(agent.policy),
        order=spec.order,
        horizon=spec.horizon,
        asked=agent.next_id,
        rewards=agent.rewards,
        pending=agent.pending_count,
        held=len(state.held),
        oldest_pending_seconds=oldest_seconds(experiment, experiment.registry.clock.now()),
        window_seconds=spec.rewards.window,
        missing=_missing(state),
        empty=agent.empty,
        extra=agent.extra_decisions,
        arms=arms_of(state),
        models=models_of(state),
        misfit=misfit_of(state),
        regret=regret_of(state),
        control=control_of(state),
        alarms=tuple(alarms_of(experiment)),
        fallback=spec.fallback,
        fallen_back=state.fallen_at is not None and spec.fallback != "none",
        history=tuple(state.history.points),
        versions=tuple(_version(experiment, each) for each in experiment.versions),
        reward_range=agent.reward_range if np.isfinite(agent.reward_range).all() else None,
        certificate=certificate_of(state),
        stop=stop_of(state),
    )


def summary_of(experiment: RunningExperiment) -> wire.Summary:
    """Return an experiment as a line of the list of all."""
    state = experiment.state
    return wire.Summary(
        name=experiment.name,
        version=experiment.current.row.number,
        state="paused" if state.paused else "running",
        rewards=state.agent.rewards,
        pending=state.agent.pending_count,
        alarms=len(alarms_of(experiment)),
    )


def _missing(state: ExperimentState) -> float | str | None:
    rewards = state.spec.rewards
    if rewards.window is None:
        return None
    return "cancel" if rewards.missing is None else rewards.missing


def arms_of(state: ExperimentState) -> tuple[wire.ArmView, ...]:
    """Return what is known of each arm."""
    agent = state.agent
    pulls, means, intervals = agent.pulls, agent.means, agent.intervals
    planned, wanted, out = agent.planned, agent.plan, agent.out
    active = set(agent.active_arms)
    views = []
    for arm, name in enumerate(state.spec.arm_names):
        status = "active" if arm in active else "dropped"
        views.append(
            wire.ArmView(
                index=arm,
                name=name,
                pulls=int(pulls[arm]),
                mean=_finite(means[arm]),
                low=_finite(intervals[arm, 0]),
                high=_finite(intervals[arm, 1]),
                status="parked" if agent.parked_arms[arm] else status,
                dropped_after=state.dropped_after.get(arm),
                planned=int(planned[arm]),
                wanted=int(wanted[arm]),
                out=int(out[arm]),
            )
        )
    return tuple(views)


def models_of(state: ExperimentState) -> wire.ModelsView | None:
    """Return which models fit, and which are likely; None without a structure."""
    agent, structure = state.agent, getattr(state.spec.policy, "structure", None)
    if structure is None:
        return None
    fitting = agent.fitting_models
    names = tuple(str(each) for each in fitting[:MOST_NAMES])
    total = structure.n_models if isinstance(structure, FiniteStructure) else None
    return wire.ModelsView(total=total, fitting=len(fitting), names=names, likely=_likely(agent))


def _likely(agent: Agent) -> tuple[wire.ModelView, ...]:
    """Return the likeliest models of a table; other structures have no weights for models."""
    likely: Any = agent.likely_models
    if not isinstance(likely, dict) or isinstance(likely, LikelyModel):
        return ()
    return tuple(
        wire.ModelView(name=str(name), weight=float(weight))
        for name, weight in list(likely.items())[:LIKELIEST]
    )


def misfit_of(state: ExperimentState) -> wire.MisfitView | None:
    """Return what the e-value says; None for structures that are not tested."""
    misfit = state.agent.misfit if state.spec.is_tested else None
    if misfit is None:
        return None
    return wire.MisfitView(
        e_value=misfit.e_value if misfit.e_value < LARGEST else None,
        log10_e=misfit.log_e_value / math.log(10.0),
        p_value=misfit.p_value,
        level=state.spec.level,
        refuted=state.refuted,
        arms=tuple(name for name, share in misfit.arms.items() if misfit.pulls and share >= 0.1),
    )


def certificate_of(state: ExperimentState) -> wire.CertificateView | None:
    """Return which arm is best, and how sure; None where lateness has sorted the rewards out."""
    found = None if state.spec.rewards.late == "learn" else state.agent.certificate
    if found is None:
        return None
    given, alone = found.given_models, found.from_arms
    return wire.CertificateView(
        given_models=None if given is None else wire.BestArmView(arm=given.name, error=given.error),
        from_arms=wire.BestArmView(arm=alone.name, error=alone.error),
        rewards=found.rewards,
    )


def stop_of(state: ExperimentState) -> wire.StopView | None:
    """Return whether it is decided which arm is best; None without [stop], and once a fallback plays."""
    policy = state.agent.policy
    if state.spec.stop is None or not isinstance(policy, Certain):
        return None
    found = state.agent.settled_arm
    return wire.StopView(
        level=policy.test.level,
        then=state.spec.stop,
        arm=None if found is None else found.name,
        rewards=None if found is None else found.rewards,
    )


def regret_of(state: ExperimentState) -> wire.RegretView | None:
    """Return between what the regret lies over all models of a table that fit; None if none does."""
    structure = getattr(state.spec.policy, "structure", None)
    if not isinstance(structure, FiniteStructure):
        return None
    fitting = set(state.agent.fitting_models)
    rows = [place for place, name in enumerate(structure.model_names) if name in fitting]
    if not rows:
        return None
    table = structure.cells.table[rows]
    regrets = (table.max(axis=1, keepdims=True) - table) @ state.agent.pulls
    return wire.RegretView(least=float(regrets.min()), most=float(regrets.max()))


def control_of(state: ExperimentState) -> wire.ControlView | None:
    """Return the control share beside the rest; None without one."""
    spec = state.spec
    if spec.control is None or not spec.share:
        return None
    return wire.ControlView(
        arm=spec.arm_names[spec.control],
        share=spec.share,
        control=_side(state.sides[CONTROL], state.agent),
        policy=_side(state.sides["policy"], state.agent),
    )


def _side(side: Side, agent: Agent) -> wire.Side:
    """Return a side with an interval for its mean, both of which hold at all times with 95 %.

    The mean of the policy changes while it learns (docs/notes/mathematics.md 8.2).
    """
    if not side.pulls:
        return wire.Side(pulls=0, mean=None, low=None, high=None)
    mean = side.total / side.pulls
    if not math.isfinite(agent.reward_range[0]):
        return wire.Side(pulls=side.pulls, mean=mean, low=None, high=None)
    low, high = running_mean_interval(side.total, side.pulls, 0.5 * MISS, agent.reward_range)
    return wire.Side(pulls=side.pulls, mean=mean, low=low, high=high)


def _version(experiment: RunningExperiment, version: Any) -> wire.VersionView:
    state = version.state
    return wire.VersionView(
        number=version.row.number,
        uid=version.uid,
        made_at=version.row.made_at,
        events=version.row.head if state is None else state.seq,
        current=version is experiment.current,
        pending=0 if state is None else state.agent.pending_count,
    )


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
