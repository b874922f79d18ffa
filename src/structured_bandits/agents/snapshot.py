"""An agent as JSON text, and back.

A snapshot holds what the agent has learned (pulls, sums, squares and the learned fields of the policy's
state), its plan, its pending decisions and its generator; scratch memory is made anew. The structure is
not in it, only its fingerprint: the policy that restores an agent has to be equal to the one that saved
it. A checksum tells snapshots that were edited or damaged, and every number is checked all the same:
snapshots of version 1 (library 0.1) have no checksum. They and those of version 2 still load.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.agents.evidence_monitor import EvidenceMonitor
from structured_bandits.agents.learned import learned_arrays, names_learned
from structured_bandits.agents.older_snapshots import from_first, from_second
from structured_bandits.agents.ordered_results import WaitingResults
from structured_bandits.agents.pending import PLAN, REASONS, packed, unpacked
from structured_bandits.agents.plan_order import ORDERS
from structured_bandits.agents.results import check_squares, checked_results, checked_reward
from structured_bandits.agents.speculative_plan import LookAhead
from structured_bandits.base.arrays import Ints
from structured_bandits.errors import FileFormatError, RewardError
from structured_bandits.inference.evidence import check_prequential
from structured_bandits.policies.base import POLICIES
from structured_bandits.policies.phases import MOST_PULLS
from structured_bandits.protocols import Seen

if TYPE_CHECKING:
    from structured_bandits.agents.agent import Agent


VERSION = 3
MARK = "structured_bandits_agent"
#: Decisions since the oldest that is out of which nothing is kept: cancelled, or told together. Each
#: takes memory (`WaitingResults`), and a damaged number must not take all of it.
MOST_UNKNOWN = 10_000_000
COUNTERS = ("plans", "next_id", "extra", "empty")


def to_snapshot(agent: Agent) -> str:
    """Return the agent as JSON."""
    import structured_bandits

    content = {
        "library": structured_bandits.__version__,
        "policy": identity(agent.policy),
        "seen": {name: _plain(values) for name, values in agent._seen._asdict().items()},
        "settled": {name: _plain(values) for name, values in agent._settled._asdict().items()},
        "untested": _untested(agent),
        "largest_log_e": _plain(agent._misfit_monitor.watching.largest),
        "evidence": _packed_evidence(agent._evidence),
        "state": {
            name: _plain(values)
            for name, values in learned_arrays(agent.policy, agent._state)
            if name not in _shared(agent.policy)
        },
        "plan": {
            "holds": True,  # an older one could be that of a policy that had failed to plan
            "quota": agent._quota.tolist(),
            "told": agent._told.tolist(),
        },
        "ahead": agent._ahead
        and {name: values.tolist() for name, values in agent._ahead._asdict().items()},
        "order": agent.order,
        "parked": list(agent.parked),
        "counters": {name: getattr(agent, f"_{name}") for name in (*COUNTERS, "unsolved")},
        "pending": {name: packed(each) for name, each in agent._pending.columns().items()},
        "waiting": _packed_waiting(agent._waiting),
        "generator": agent._rng.bit_generator.state,
    }
    text = _canonical(content)
    return f'{{"{MARK}":{VERSION},"checksum":"{_checksum(text)}","content":{text}}}'


def _untested(agent: Agent) -> list[int]:
    """Return how many results of each arm were taken over without counting in the test."""
    _, arms, _ = agent._waiting.columns()
    waiting = np.bincount(np.array(arms, np.int64), minlength=len(agent._quota))
    for seen in agent._waiting.together.values():
        waiting += seen.pulls
    untested: list[int] = (agent._seen.pulls - agent._settled.pulls - waiting).tolist()
    return untested


def _packed_evidence(evidence: EvidenceMonitor) -> dict[str, Any] | None:
    if not evidence.predicts:
        return None
    return {name: _plain(values) for name, values in evidence.memory._asdict().items()}


def _packed_waiting(waiting: WaitingResults) -> dict[str, Any]:
    ids, arms, rewards = waiting.columns()
    together = [
        {"id": last, **{name: _plain(values) for name, values in seen._asdict().items()}}
        for last, seen in waiting.together.items()
    ]
    return {"id": packed(ids), "arm": packed(arms), "reward": rewards, "together": together}


def from_snapshot(agent: Agent, text: str) -> None:
    """Put an agent that has seen nothing into the state that was saved."""
    content = _content(text, agent.policy)
    _check_identity(content.get("policy"), agent.policy)
    try:
        _restore_results(agent, content["seen"])
        _restore_state(agent, content["state"])
        _restore_generator(agent, content["generator"])
        agent.order = _order(content.get("order", ORDERS[0]))  # 0.2.0 wrote none at first
        for name in COUNTERS:
            setattr(agent, f"_{name}", _whole(name, content["counters"][name], MOST_PULLS))
        agent._unsolved = _whole("unsolved", content["counters"].get("unsolved", 0), MOST_PULLS)
        _restore_pending(agent, content["pending"])
        untested = content.get("untested", [0] * len(agent._quota))  # 0.2.0 wrote none at first
        _restore_settled(agent, content["settled"], content["waiting"], untested)
        _restore_misfit(agent, content["largest_log_e"])
        _restore_evidence(agent, content.get("evidence"))  # 0.2.0 wrote none at first
        _restore_parked(agent, content["parked"])
        _restore_plan(agent, content["plan"])
        _restore_ahead(agent, content["ahead"])
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RewardError) as error:
        kind = "" if isinstance(error, (ValueError, RewardError)) else f"{type(error).__name__} "
        raise FileFormatError(f"the snapshot is damaged: {kind}{error}") from None


def _order(saved: Any) -> str:
    if saved not in ORDERS:
        raise ValueError(f"order: {saved!r}")
    return str(saved)


def _shared(policy: Any) -> dict[str, str]:
    """Return the learned fields that the agent keeps as well, by its own names for them.

    Of the library's policies only: others may have data of their own in such fields.
    """
    ours = POLICIES.get(type(policy).__name__) is type(policy)
    return {"data.pulls": "pulls", "data.sums": "sums"} if ours else {}


def identity(policy: Any) -> dict[str, Any]:
    """Return what must be equal for a snapshot to fit: class, parameters and structure."""
    structure = getattr(policy, "structure", None)
    if hasattr(policy, "parameters"):
        parameters = policy.parameters()
    elif hasattr(policy, "_asdict"):
        parameters = {name: _described(value) for name, value in policy._asdict().items()}
    else:
        parameters = repr(policy)
    return {
        "class": type(policy).__name__,
        "arms": int(policy.n_arms),
        "parameters": json.loads(json.dumps(parameters)),  # as JSON gives them back
        "structure": structure.fingerprint if structure is not None else None,
    }


def _described(value: Any) -> Any:
    """Return a field of a user's own policy in a form that JSON takes: what is large as a hash."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        content = str((value.dtype, value.shape)).encode() + value.tobytes()
        return hashlib.sha256(content).hexdigest()
    if hasattr(value, "_asdict"):
        return {name: _described(each) for name, each in value._asdict().items()}
    return repr(value)


def _canonical(content: Any) -> str:
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _content(text: str, policy: Any) -> dict[str, Any]:
    """Return what a snapshot of any version that we can read says, in the form of this one."""
    try:
        saved = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"the snapshot is not JSON: {error}") from None
    version = saved.get(MARK) if isinstance(saved, dict) else None
    if version == 1 and isinstance(version, int) and isinstance(saved.get("policy"), dict):
        names = [name for name, _ in learned_arrays(policy, policy.init())]
        return from_second(from_first(saved, names, names_learned(policy)))
    content = saved.get("content") if isinstance(saved, dict) else None
    if version not in (2, VERSION) or not isinstance(content, dict):
        raise FileFormatError(
            f"the snapshot has version {_shown(version)}; this version of the library reads 1 to "
            f"{VERSION}"
        )
    if saved.get("checksum") != _checksum(_canonical(content)):
        raise FileFormatError(
            "the snapshot was edited or damaged: its checksum does not fit its content"
        )
    return content if version == VERSION else from_second(content)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_constant(text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _check_identity(saved: Any, policy: Any) -> None:
    given = identity(policy)
    if not isinstance(saved, dict):
        raise FileFormatError("the snapshot is damaged: it does not name its policy")
    for key in ("class", "arms", "parameters", "structure"):
        if not _fits(key, saved.get(key), given[key], policy):
            said = f"is {saved.get(key)!r}, the given policy's {given[key]!r}"
            if key == "structure":  # of which there are hashes only
                said = "has other means, or other names of arms, than the given policy's"
            raise FileFormatError(f"the snapshot does not fit the policy: its {key} {said}")


def _fits(key: str, saved: Any, given: Any, policy: Any) -> bool:
    if saved == given or (key == "class" and saved in getattr(policy, "former_names", ())):
        return True
    structure = getattr(policy, "structure", None)
    if key == "structure" and structure is not None:
        return saved in structure.fingerprints
    if key == "parameters" and saved == repr(policy):  # as version 1 wrote users' own policies
        return True
    if key == "parameters" and isinstance(saved, dict) and isinstance(given, dict):
        absent = getattr(policy, "absent_parameters", {})
        return bool({**absent, **saved} == given)
    return False


def _restore_results(agent: Agent, saved: dict[str, Any]) -> None:
    seen = _results(agent, saved)
    for values, restored in zip(agent._seen, seen, strict=True):
        values[:] = restored
    agent._t = sum(map(int, seen.pulls))
    if agent._t >= MOST_PULLS:
        raise ValueError(f"{agent._t} pulls in all")
    if np.isnan(seen.squares).any() and getattr(agent.policy, "needs_squares", False):
        raise ValueError("the policy needs sums of squared rewards, and they are not known")


def _results(agent: Agent, saved: dict[str, Any]) -> Seen:
    arms = len(agent._quota)
    pulls = [_whole("pulls", count, MOST_PULLS) for count in saved["pulls"]]
    sums, squares = _numbers("sums", saved["sums"]), _numbers("squares", saved["squares"])
    if sums == squares == [None] * arms and len(pulls) == arms and not names_learned(agent.policy):
        nobody_knows = np.full(arms, math.nan)  # saved by version 0.1.0
        return Seen(np.array(pulls, np.int64), nobody_knows, nobody_knows)
    seen = checked_results(pulls, sums, None, arms, agent._range)
    known = [arm for arm, value in enumerate(squares) if value is not None]
    seen.squares[known] = [squares[arm] for arm in known]
    check_squares(seen, known, agent._range)
    return seen


def _restore_state(agent: Agent, saved: dict[str, Any]) -> None:
    policy: Any = agent.policy
    shared = _shared(policy)
    for name, values in learned_arrays(policy, agent._state):
        if name in shared:
            values[:] = getattr(agent._seen, shared[name])
        else:
            values[...] = _array(name, saved[name], values)
    if hasattr(policy, "check_learned"):
        policy.check_learned(agent._state, agent._t)
    if hasattr(policy, "restore"):
        policy.restore(agent._state)


def _restore_generator(agent: Agent, saved: dict[str, Any]) -> None:
    state = saved["state"]
    words = [_whole("generator", state[name], 1 << 128) for name in ("state", "inc")]
    spare = _whole("generator", saved["has_uint32"], 2)
    half = _whole("generator", saved["uinteger"], 1 << 32)
    if saved["bit_generator"] != "PCG64" or words[1] % 2 == 0:
        raise ValueError("its generator is none of this library")
    agent._rng = np.random.Generator(np.random.PCG64(0))
    agent._rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": words[0], "inc": words[1]},
        "has_uint32": spare,
        "uinteger": half,
    }


def _restore_pending(agent: Agent, saved: dict[str, Any]) -> None:
    ids, arms, plans, reasons = _columns(saved, ("id", "arm", "plan", "reason"))
    _check_decisions(agent, "pending", ids, arms)
    limits = (plans, agent._plans + 1), (reasons, len(REASONS))
    if any(((column < 0) | (column >= limit)).any() for column, limit in limits):
        raise ValueError("pending decisions: plans or reasons that there are not")
    pending = agent._pending
    pending.ids.frombytes(ids.tobytes())
    pending.arms.frombytes(arms.astype(np.int32).tobytes())
    pending.plans.frombytes(plans.tobytes())
    pending.reasons.frombytes(reasons.astype(np.int8).tobytes())
    every = len(agent._quota)
    pending.counts[:] = np.bincount(arms, minlength=every).tolist()
    planned = arms[(plans == agent._plans) & (reasons == PLAN)]
    agent._handed[:] = np.bincount(planned, minlength=every)
    agent._in_plan = len(planned)


def _restore_misfit(agent: Agent, saved: Any) -> None:
    (largest,) = _array("largest_log_e", saved, np.zeros(1))
    if not largest >= 0.0:
        raise ValueError(f"largest_log_e: {largest!r}")
    agent._misfit_monitor.restore(float(largest))


def _restore_evidence(agent: Agent, saved: dict[str, Any] | None) -> None:
    """Restore what a numerator of predictions has to remember, see `inference.evidence`."""
    if saved is None or not agent._evidence.predicts:
        return
    memory = agent._evidence.memory
    for name, values in memory._asdict().items():
        values[...] = _array(f"evidence.{name}", saved[name], values)
    check_prequential(memory, agent._settled.pulls)


def _restore_settled(
    agent: Agent, sums: dict[str, Any], waiting: dict[str, Any], untested: Any
) -> None:
    """Restore what is settled and what waits for it; with what is not tested, it is what was seen."""
    settled = _results(agent, sums)
    for values, restored in zip(agent._settled, settled, strict=True):
        values[:] = restored
    ids, arms = _columns(waiting, ("id", "arm"))
    _check_decisions(agent, "waiting", ids, arms)
    rewards = [checked_reward(reward, agent._range) for reward in waiting["reward"]]
    oldest = agent._pending.oldest()
    if len(rewards) != len(ids) or (len(ids) and (oldest is None or oldest > ids[0])):
        raise ValueError("waiting rewards: a column of another length, or nothing to wait for")
    together = _told_together(agent, waiting.get("together", []))
    if np.isin(ids, np.asarray(agent._pending.ids)).any():
        raise ValueError("waiting rewards: decisions whose reward is out")
    if np.isin([*together], ids).any():
        raise ValueError("waiting rewards: a decision that waits alone and together with others")
    count = settled.pulls + np.bincount(arms, minlength=len(settled.pulls))
    for seen in together.values():
        count += seen.pulls
    others = [_whole("untested", each, MOST_PULLS) for each in untested]
    if (count + np.array(others, np.int64) != agent._seen.pulls).any():
        raise ValueError(
            f"{count} pulls are settled or waiting, {others} not tested, {agent._seen.pulls} were seen"
        )
    if (
        oldest is not None
        and agent._next_id - oldest - len(agent._pending) > len(ids) + MOST_UNKNOWN
    ):
        raise ValueError(f"next_id: {agent._next_id}, but decision {oldest} is still out")
    for decision_id, arm, reward in zip(ids.tolist(), arms.tolist(), rewards, strict=True):
        agent._waiting.add(decision_id, arm, reward, oldest or 0)
    for last, seen in together.items():
        agent._waiting.add_together(last, seen, oldest or 0)


def _told_together(agent: Agent, saved: list[dict[str, Any]]) -> dict[int, Seen]:
    """Return results that were told together and wait; 0.2.0 wrote none at first."""
    oldest = agent._pending.oldest()
    first = agent._next_id if oldest is None else oldest
    together = {}
    for each in saved:
        last = _whole("waiting together", each["id"], agent._next_id)
        seen = _results(agent, each)
        if last < first or not seen.pulls.any():
            raise ValueError(f"results up to decision {last}: nothing to wait for, or no pulls")
        together[last] = seen
    return together


def _columns(saved: dict[str, Any], names: tuple[str, ...]) -> list[Ints]:
    columns = [unpacked(name, saved[name]) for name in names]
    if len({len(column) for column in columns}) > 1:
        raise ValueError("decisions: columns of different lengths")
    return columns


def _check_decisions(agent: Agent, what: str, ids: Ints, arms: Ints) -> None:
    rising = (ids >= 0).all() and (ids[1:] > ids[:-1]).all()
    if not rising or (len(ids) and ids[-1] >= agent._next_id):
        raise ValueError(f"{what} decisions: ids that do not rise, or that were not given yet")
    if ((arms < 0) | (arms >= len(agent._quota))).any():
        raise ValueError(f"{what} decisions: arms that there are not")


def _restore_parked(agent: Agent, saved: Any) -> None:
    parked = _wholes("parked", saved)
    if len(set(parked)) >= len(agent._quota):
        raise ValueError("all arms are parked")
    for arm in parked:
        agent._parked[_whole("parked", arm, len(agent._quota))] = True
    agent._any_parked = bool(parked)


def _restore_plan(agent: Agent, saved: dict[str, Any]) -> None:
    agent._quota[:] = _array("quota", saved["quota"], agent._quota)
    agent._told[:] = _array("told", saved["told"], agent._told)
    if ((agent._quota < 0) | (agent._quota > MOST_PULLS) | (agent._told < 0)).any():
        raise ValueError(f"a plan of {agent._quota}, of which {agent._told} were told")
    if (agent._told > agent._seen.pulls).any():
        raise ValueError(f"{agent._told} told of {agent._seen.pulls} pulls")
    agent._handed += agent._told
    agent._left = int(np.maximum(agent._quota - agent._told, 0).sum())
    if saved["holds"] is False:
        agent._make_plan()
    elif saved["holds"] is not True or not (agent._told < agent._quota).any() or not agent._plans:
        raise ValueError("a plan that is complete, where the next one would have been made")


def _restore_ahead(agent: Agent, saved: Any) -> None:
    if saved is None:
        return
    quota, handed = (_array(name, saved[name], agent._quota) for name in ("quota", "handed"))
    if ((handed < 0) | (handed > quota) | (quota > MOST_PULLS)).any() or not quota.any():
        raise ValueError(f"a plan ahead of {quota}, of which {handed} were handed out")
    agent._ahead = LookAhead(quota, handed)


def _plain(values: Any) -> list[Any]:
    """Return an array as a flat list; JSON has no infinities, so they are strings, and nan is null."""
    flat = values.ravel().tolist()
    if values.dtype.kind != "f":
        return flat
    return [x if math.isfinite(x) else None if math.isnan(x) else str(x) for x in flat]


def _array(name: str, saved: Any, like: Any) -> Any:
    """Return what `_plain` was given: an array of the same kind and shape as `like`."""
    if not isinstance(saved, list) or len(saved) != like.size:
        raise ValueError(f"{name}: expected {like.size} numbers")
    kinds = {"f": (int, float, str, type(None)), "i": (int,), "b": (bool,)}[like.dtype.kind]
    for value in saved:
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds != (bool,)):
            raise ValueError(f"{name}: {value!r}")
        if isinstance(value, str) and value not in ("inf", "-inf"):
            raise ValueError(f"{name}: {value!r}")
    values = [math.nan if value is None else value for value in saved]
    numbers = [float(x) for x in values] if like.dtype.kind == "f" else values
    return np.array(numbers, dtype=like.dtype).reshape(like.shape)


def _numbers(name: str, values: Any) -> list[Any]:
    """Return numbers as they are, and None where nobody knows them."""
    kinds = set(map(type, values)) if isinstance(values, list) else {object}
    if not kinds <= {int, float, type(None)}:
        raise ValueError(f"{name}: {values!r}")
    return list(values)


def _whole(name: str, value: Any, limit: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise ValueError(f"{name}: {value!r}")
    return value


def _wholes(name: str, values: Any) -> list[int]:
    if not isinstance(values, list) or not set(map(type, values)) <= {int}:
        raise ValueError(f"decisions: {name} are no whole numbers")
    return values


def read_snapshot(path: str | os.PathLike[str]) -> str:
    """Return the snapshot in a file; raise if it is none. Errors of the system are left as they are."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = ""
    if f'"{MARK}"' not in text:
        raise FileFormatError(
            f"{path}: not a snapshot of an agent; expected a file that agent.save(path) has written"
        )
    return text
