"""Making experiments, new versions of them, and stores from backups (each begins a new version)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from structured_bandits.base.writing import check_file
from structured_bandits.errors import (
    OutputError,
    ParameterError,
    RewardError,
    StructuredBanditsError,
)
from structured_bandits.policies.horizons import tuned_horizon
from structured_bandits.service import wire
from structured_bandits.service.experiment.accounting import (
    by_name,
    refutes,
    results_of,
    results_of_log,
    tested_results,
)
from structured_bandits.service.experiment.experiment_state import (
    NOTHING,
    REWARDS,
    REWARDS_AND_ALARM,
    ExperimentState,
    Results,
)
from structured_bandits.service.experiment.replay import code_here
from structured_bandits.service.experiment.spec import (
    Spec,
    build_spec,
    checked_name,
    digest_of_text,
)
from structured_bandits.service.json_logs import log
from structured_bandits.service.refusals import Conflict, Refused
from structured_bandits.service.rows import START, ExperimentRow, VersionRow, first_link
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.running_experiment import RunningExperiment
from structured_bandits.service.running.version import RunningVersion, new_uid
from structured_bandits.service.store.backups import LOGS, copy_of_backup, remove_store
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import all_events
from structured_bandits.service.wire import NewVersion


def create(registry: Registry, name: str, plain: dict[str, Any]) -> wire.Created:
    """Make an experiment; the same again changes nothing."""
    checked_name(name)
    if name in registry.experiments:
        return _created_before(registry.experiments[name], plain)
    if name in registry.unreadable:
        registry.find(name)  # which says why
    registry.check_writable()
    spec = build_spec(plain)
    _check_alarm(spec)
    _try_out(spec)
    begins_with = _start(spec)
    if begins_with is not None:
        _check_horizon(spec, begins_with)
    experiment = 1 + max((each.row.id for each in registry.all_there()), default=0)
    row = _new_row(registry, experiment, 1, spec)
    made = RunningExperiment(registry, ExperimentRow(experiment, name, row.id))
    version, state = _begin(registry, row, spec)
    if begins_with is not None:
        state.start_with(begins_with, registry.clock.now())
    _add(made, version, spec)
    registry.experiments[name] = made
    log("An experiment was created.", experiment=name, policy=repr(spec.policy)[:200])
    return wire.Created(name=name, version=1, uid=row.uid, created=True)


def _created_before(made: RunningExperiment, plain: dict[str, Any]) -> wire.Created:
    row = made.current.row
    if build_spec(plain).digest != made.state.spec.digest:
        raise Conflict(
            f"There is an experiment {made.name!r} with another specification; make a new version "
            "of it instead."
        )
    return wire.Created(name=made.name, version=row.number, uid=row.uid, created=False)


def new_version(
    experiment: RunningExperiment, request: wire.NewVersion, again: bool = False
) -> wire.Created:
    """Change an experiment: a new version, which begins with rewards of the one before.

    It stays paused if it was, and arms stay parked, by their names. With `again` it is the same one
    once more, of a backup: it may be beyond its horizon, and what was refuted stays so.
    """
    registry = experiment.registry
    before, old = experiment.current, experiment.state
    made = _made_before(experiment, request)
    if made is not None:
        return made
    registry.check_writable()
    spec = build_spec(request.spec)
    if not again:
        _check_alarm(spec)
    _try_out(spec)
    carried = _carried(registry, before, old, request.carry, spec)
    if carried is not None and not again:
        _check_horizon(spec, carried)
    parked = _parked(old, spec)
    row = _new_row(registry, experiment.row.id, before.row.number + 1, spec)
    at = registry.clock.now()
    version, state = _begin(registry, row, spec, request.key, _digest(request))
    whole = request.carry == wire.Carry()
    if carried is not None and request.carry is None:
        state.start_with(carried, at)
    elif carried is not None:
        goes_on = whole and spec.tests_as(old.spec)
        state.carry(carried, tested_results(old) if goes_on else None, before.row.number, at)
    for arm in parked:
        state.park(arm, True, at)
    state.pause(old.paused, at)
    refuted = again and old.fallen_at is not None
    refuted = refuted or (whole and not spec.tests_as(old.spec) and refutes(old, spec))
    if refuted and state.fallen_at is None:
        state.fall_back(at, before.row.number)
    hands_on = REWARDS_AND_ALARM if whole else REWARDS if request.carry else NOTHING
    for each in experiment.versions:
        if each.state is not None:
            with experiment.changing(each, follows=True):
                each.state.retire(at, hands_on)
    experiment.row = experiment.row._replace(current=row.id)
    _add(experiment, version, spec)
    registry.stopped.pop(experiment.row.id, None)  # another policy, or other data: it may go on
    experiment.follow(before, at)
    log("A version was created.", experiment=experiment.name, version=row.number)
    return wire.Created(name=experiment.name, version=row.number, uid=row.uid, created=True)


def _made_before(experiment: RunningExperiment, request: wire.NewVersion) -> wire.Created | None:
    """Return the version that this request has made; another one under its key is refused."""
    if request.key is None:
        return None
    for version in experiment.versions:
        made = version.log.by_key(request.key)
        if made is None:
            continue
        if made.kind != START or made.content().get("request") != _digest(request):
            raise Refused(f"The key {request.key!r} was used for another request before.")
        number, uid = version.row.number, version.uid
        return wire.Created(name=experiment.name, version=number, uid=uid, created=False)
    return None


def _carried(
    registry: Registry,
    before: RunningVersion,
    old: ExperimentState,
    carry: wire.Carry | None,
    spec: Spec,
) -> Results | None:
    """Return the rewards with which a new version begins, checked.

    What the specification says to begin with is part of what is carried over, so it is used only where
    nothing is.
    """
    if carry is None:
        return _start(spec)
    if carry.up_to is None and not carry.without:
        results = results_of(old)
    else:
        rows = [*all_events(registry.store, before.row.id)]
        last = rows[-1].seq if rows else 0
        rows += [each for each in registry.writer.unwritten(before.row.id) if each.seq > last]
        settled = old.settled_before if old.spec.rewards.window else float("inf")
        arms = len(old.spec.arm_names)
        results = results_of_log(rows, arms, settled, carry.up_to, carry.without)
    results = by_name(results, old.spec.arm_names, spec.arm_names)
    trial = ExperimentState(spec, new_uid()).agent
    _check_ranges(old.agent.reward_range, trial.reward_range)
    trial.check_results(*results)
    return results


def _check_alarm(spec: Spec) -> None:
    """Raise if the alarm could be false, since rewards in time and late ones may differ."""
    if spec.testable and not spec.is_tested and spec.fallback != "none":
        raise Refused(
            "reward.late='learn': rewards that come after the window may be of another kind than those "
            "in time, such as clicks at once and their absence later, so the alarm for the structure "
            "could be false. Use a longer reward.window without late; or no window: then rewards count "
            "when they come, and the test takes them in the order of asking. To learn late rewards "
            'without a test of the structure, say alarm.fallback = "none".'
        )


def _try_out(spec: Spec) -> None:
    """Raise if the policy cannot take in rewards at both ends of their range; two arms must do."""
    agents = [ExperimentState(spec, new_uid()).agent for _ in range(2)]
    for agent, end in zip(agents, agents[0].reward_range, strict=True):
        reward = end if math.isfinite(end) else 0.0
        try:
            for arm in (0, len(spec.arm_names) - 1):
                agent.tell(agent.force(arm).id, reward)
        except StructuredBanditsError as error:
            raise Refused(f"The policy fails on this structure: {error}") from error


def _start(spec: Spec) -> Results | None:
    """Return what a specification says to begin with; raises if no model fits it, unless forced."""
    if spec.start is None:
        return None
    results = Results.of(spec.start)
    trial = ExperimentState(spec, new_uid()).agent
    try:
        trial.learn(*results)
    except RewardError as error:  # it begins with the name of the list
        raise Refused(f"start.{error}") from None
    fitting = trial.fitting_models
    if fitting is not None and not len(fitting) and not spec.start.get("force", False):
        raise Refused(
            "start: no model of the structure fits these results. To begin with them all "
            "the same, say force = true."
        )
    return results


def _check_horizon(spec: Spec, results: Results) -> None:
    horizon, pulls = tuned_horizon(spec.policy), sum(results.pulls)
    if horizon is not None and pulls >= horizon:
        raise Refused(
            f"horizon={horizon}: the version would begin with {pulls} pulls; expected a horizon beyond "
            "them."
        )


def _parked(old: ExperimentState, spec: Spec) -> Sequence[int]:
    """Return the arms of a new version that are parked in the one before."""
    names = [old.spec.arm_names[arm] for arm in old.agent.parked]
    parked = [arm for arm, name in enumerate(spec.arm_names) if name in names]
    if len(parked) == len(spec.arm_names):
        raise Refused(
            "All arms of the new version are parked in the one before: use one of them again first."
        )
    return parked


def _new_row(registry: Registry, experiment: int, number: int, spec: Spec) -> VersionRow:
    versions = [version for each in registry.all_there() for version in each.versions]
    uid = new_uid()
    return VersionRow(
        id=1 + max((version.row.id for version in versions), default=0),
        experiment=experiment,
        number=number,
        uid=uid,
        spec=spec.rest,
        structure=digest_of_text(spec.body),
        made_at=registry.clock.now(),
        head=0,
        chain=first_link(uid),
    )


def _begin(
    registry: Registry,
    row: VersionRow,
    spec: Spec,
    key: str | None = None,
    request: str | None = None,
) -> tuple[RunningVersion, ExperimentState]:
    """Return a new version with the first row of its log, which knows what was specified."""
    state = ExperimentState(spec, row.uid)
    content = {"code": code_here(), "request": request, "spec": spec.digest}
    state.start(content, registry.clock.now(), key)
    return RunningVersion(row, registry.log_of(row.id), state), state


def _add(experiment: RunningExperiment, version: RunningVersion, spec: Spec) -> None:
    """Make a version the newest one of its experiment, and let all of it be written."""
    experiment.versions.append(version)
    registry = experiment.registry
    changes = registry.writer.open
    changes.structures.append((version.row.structure, spec.body))
    changes.experiments.append(experiment.row)
    changes.versions.append(version.row)
    registry.queue(version)


def _check_ranges(old: tuple[float, float], new: tuple[float, float]) -> None:
    """Raise if rewards of the old range may lie outside of the new one: sums do not show it."""
    if not new[0] <= old[0] or not old[1] <= new[1]:
        raise Refused(
            f"reward_range={new}: rewards of the version before may lie in {old}. To begin without "
            "them, say carry = null."
        )


def _digest(request: wire.NewVersion) -> str:
    """Return a hash of a request: does the same one come again?"""
    return digest_of_text(msgspec.json.encode(request, order="sorted").decode())


def bring_back(backup: Path, target: Path) -> list[str]:
    """Make a store of a backup; return what was done.

    Decisions that were handed out after the backup are not in it, and their numbers would be handed out
    again. So each experiment begins a new version, with all rewards that the backup has.
    """
    if not backup.is_file():
        raise ParameterError(f"{backup}: there is no such file")
    if target.exists():
        raise OutputError(f"{target}: there is such a file already; move it away first")
    for left in (target.with_name(f"{target.name}{suffix}") for suffix in LOGS):
        if left.exists() and left.stat().st_size:  # SQLite would play it into the store
            raise OutputError(
                f"{left}: it holds rows of a store that was here; move it away, with that store"
            )
    check_file(target)
    try:
        copy_of_backup(backup, target)
        return _begin_anew(target)
    except BaseException:  # a store that goes on where the backup ended would hand out ids again
        remove_store(target)
        raise


def _begin_anew(target: Path) -> list[str]:
    """Begin a new version of each experiment; return what was done."""
    registry = Registry(SqliteStore(target))
    registry.open()
    done = []
    try:
        for name, experiment in registry.experiments.items():
            state = experiment.state
            rewards = sum(results_of(state).pulls)
            made = new_version(experiment, NewVersion(spec=state.spec.plain), again=True)
            done.append(f"{name}: version {made.version} begins with {rewards:,} rewards")
        registry.writer.write_now()
    finally:
        registry.close()
    return done
