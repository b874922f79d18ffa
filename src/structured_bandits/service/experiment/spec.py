"""What an experiment of the service consists of: written as a TOML file, kept as JSON.

A specification is data: it names no files and no Python code. Files that a TOML file refers to (a table
of models, another structure) are read once, when it is read, and what they say takes their place.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from structured_bandits.agents.logs import read_log
from structured_bandits.agents.plan_order import ORDERS
from structured_bandits.agents.results import checked_reward
from structured_bandits.base.checks import checked_count, checked_probability, checked_word, meant
from structured_bandits.base.input_files import check_keys, read_toml
from structured_bandits.errors import (
    FileFormatError,
    MeansOutsideUnitIntervalWarning,
    ParameterError,
    StructuredBanditsError,
)
from structured_bandits.experiments.policies import build_policy, keys_of
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.policies.base import POLICIES
from structured_bandits.policies.certain import Certain
from structured_bandits.policies.guarded import usual_fallback
from structured_bandits.service.experiment.inlined_structures import inlined_structure, structure_of
from structured_bandits.structures.base import Structure, index_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
TABLES = ("policy", "reward", "control", "audit", "alarm", "stop", "start")
KEYS = ("horizon", "order", "seed", "default_arm", *TABLES)
FALLBACKS = ("klucb", "control", "none")
LEVEL = 1e-4  # of the alarm
LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([smhd])")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST_WINDOW = 366 * 86400  # seconds


@dataclass(frozen=True)
class Rewards:
    """When rewards count: at once, or when the window of their decision closes."""

    window: float | None = None  # seconds
    missing: float | None = None  # what counts if none came; None: the decision is cancelled
    late: str = "refuse"  # or "learn"


@dataclass(frozen=True)
class Spec:
    """A specification, checked, with its structure and policy built."""

    plain: dict[str, Any]  # as JSON: the same specification again
    structure: Structure
    policy: Any
    horizon: int
    order: str
    seed: int | None
    rewards: Rewards
    control: int | None  # the fixed arm
    share: float  # of decisions on it
    audit: float  # share of decisions on arms that were dropped
    default_arm: int | None  # while the experiment is paused
    testable: bool  # is there a test of the structure?
    level: float
    fallback: str  # what is played once the structure is refuted: "klucb", "control", "none"
    start: dict[str, Any] | None  # pulls, sums and squares to begin with

    @property
    def stop(self) -> str | None:
        """What happens once it is certain which arm is best: "notify", "freeze", or None."""
        if not isinstance(self.policy, Certain):
            return None
        return "freeze" if self.policy.settles else "notify"

    def playing(self, refuted: bool) -> Any:
        """Return the policy that plays, before or after the structure was refuted.

        Once it is, nothing is decided any more by what follows from it.
        """
        if not refuted:
            return self.policy
        if self.fallback == "klucb":
            return usual_fallback(self.policy)
        return self.policy.inner if isinstance(self.policy, Certain) else self.policy

    @property
    def is_tested(self) -> bool:
        """Can the rewards refute the structure? Those that some lateness has sorted out cannot."""
        return self.testable and self.rewards.late != "learn"

    def tests_as(self, other: Spec) -> bool:
        """Is the test of the structure the same as that of another specification?"""
        scales = [
            (each.policy.bottom, each.policy.top, each.policy.sigma) for each in (self, other)
        ]
        same = self.body == other.body and scales[0] == scales[1]
        return same and self.is_tested and other.is_tested

    @property
    def rest(self) -> str:
        """All but the structure, as the store keeps it: JSON, in one order."""
        rest = {key: value for key, value in self.plain.items() if key != "structure"}
        return msgspec.json.encode(rest, order="sorted").decode()

    @property
    def body(self) -> str:
        """The description of the structure, as the store keeps it."""
        return msgspec.json.encode(self.plain["structure"], order="sorted").decode()

    @property
    def digest(self) -> str:
        """A hash of all that was specified: is it the same again?"""
        return digest_of_text(f"{self.rest}\n{self.body}")

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms."""
        return tuple(self.structure.arm_names)


def digest_of_text(text: str) -> str:
    """Return a hash of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def checked_name(name: str) -> str:
    """Return the name of an experiment if it can be part of an address."""
    if not NAME.fullmatch(name):
        raise ParameterError(
            f"name={name!r}: expected up to 100 letters, digits, dots, dashes and underscores, "
            "beginning with a letter or digit"
        )
    return name


def read_spec(path: Path) -> dict[str, Any]:
    """Read a TOML file; return it as a specification, with the files it names read into it."""
    content = read_toml(path)
    if "structure" not in content:
        raise FileFormatError(f"{path}: 'structure' is missing")
    try:
        with warnings.catch_warnings():  # `build_spec` says it with the remedy for such a file
            warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)
            content["structure"] = inlined_structure(content["structure"], path)
        start = content.get("start")
        if isinstance(start, dict) and "file" in start:
            content["start"] = _read_start(path, content, start)
        build_spec(content)  # raises if something is wrong
    except FileFormatError as error:
        said = str(error)
        raise FileFormatError(said if said.startswith(str(path)) else f"{path}: {said}") from None
    except StructuredBanditsError as error:
        raise FileFormatError(f"{path}: {error}") from None
    return content


def _read_start(path: Path, content: dict[str, Any], start: dict[str, Any]) -> dict[str, Any]:
    """Return the results in the log that `[start]` names, as pulls, sums and squares."""
    check_keys(start, "start", ("file",), ("force",))
    bare = build_spec({key: value for key, value in content.items() if key != "start"})
    allowed = getattr(bare.policy, "reward_range", None) or (float("-inf"), float("inf"))
    log = read_log(path.parent / start["file"], bare.arm_names, allowed)
    squares = None if log.squares is None else [float(x) for x in log.squares]
    return {
        "pulls": [int(x) for x in log.pulls],
        "sums": [float(x) for x in log.sums],
        "squares": squares,
        "force": start.get("force", False),
    }


def build_spec(content: Mapping[str, Any]) -> Spec:
    """Return a specification, checked; errors name the key that is wrong."""
    check_keys(content, "the specification", ("structure", "policy", "horizon"), KEYS)
    for name in TABLES:
        if not isinstance(content.get(name, {}), Mapping):
            example = f'[{name}] and below it kind = "ModelTS"' if name == "policy" else f"[{name}]"
            raise FileFormatError(f"{name}={content[name]!r}: expected a section: write {example}")
    structure = _structure(content)
    names = tuple(structure.arm_names)
    horizon = checked_count("horizon", content["horizon"])
    policy = _policy(content["policy"], structure, horizon)
    control, share = _control(content.get("control", {}), names)
    testable = _is_testable(policy)
    level, fallback = _alarm(content.get("alarm", {}), policy, testable, control)
    rewards = _rewards(content.get("reward", {}), policy)
    if "stop" in content:
        policy = _stopping(content["stop"], policy)
        if rewards.late == "learn":
            raise ParameterError(
                "stop: with reward.late='learn' no certainty can be had; leave one out"
            )
    order = checked_word("order", content.get("order", "turn"), ORDERS)
    audit = content.get("audit", {})
    check_keys(audit, "audit", ("share",) if audit else (), ())
    audited = _share("audit.share", audit.get("share", 0.0))
    if share + audited > 1.0:
        raise ParameterError(
            f"control.share={share:g} and audit.share={audited:g}: they sum to more than 1"
        )
    default = content.get("default_arm")
    seed = content.get("seed")
    return Spec(
        plain=dict(content),
        structure=structure,
        policy=policy,
        horizon=horizon,
        order=order,
        seed=None if seed is None else checked_count("seed", seed, least=0),
        rewards=rewards,
        control=control,
        share=share,
        audit=audited,
        default_arm=control if default is None else index_of(default, names, "default_arm"),
        testable=testable,
        level=level,
        fallback=fallback,
        start=_start(content.get("start")),
    )


def _structure(content: Mapping[str, Any]) -> Structure:
    """Return the structure; means that no reward can have are a mistake, mostly percentages."""
    declared = {"reward_range", "sigma"} & set(content["policy"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if declared else "error", MeansOutsideUnitIntervalWarning)
        try:
            return structure_of(content["structure"])
        except MeansOutsideUnitIntervalWarning:
            raise ParameterError(
                "structure: there are means outside of [0, 1], where rewards are expected. Divide "
                "percentages by 100. For rewards of another range say so, such as structure = "
                '{file = "prices.csv", reward_range = [0, 15]}'
            ) from None


def _policy(table: Mapping[str, Any], structure: Structure, horizon: int) -> Any:
    """Return the policy that a table describes, one of the library's."""
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in POLICIES or kind == "Guarded":
        accepted = [name for name in POLICIES if name != "Guarded"]
        said = f"{', '.join(accepted)}{meant(kind, accepted)}"
        raise ParameterError(f"policy: kind={kind!r} is unknown; accepted are {said}")
    check_keys(table, f"policy (kind={kind!r})", ("kind",), keys_of(POLICIES[kind]))
    try:
        return build_policy(dict(table), structure, horizon)
    except TypeError as error:  # a value of a type that no check has foreseen
        raise ParameterError(f"policy (kind={kind!r}): {error}") from None


def _control(table: Mapping[str, Any], names: tuple[str, ...]) -> tuple[int | None, float]:
    if not table:
        return None, 0.0
    check_keys(table, "control", ("arm",), ("share",))
    return index_of(table["arm"], names, "control.arm"), _share(
        "control.share", table.get("share", 0.0)
    )


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise ParameterError(f"{name}={value!r}: expected a number from 0 to 1")
    return float(value)


def _is_testable(policy: Any) -> bool:
    """Has the policy a structure that an e-value can refute?"""
    if getattr(policy, "tested_structure", None) is None:
        return False
    return misfit_test(policy.structure, policy.bottom, policy.top, policy.sigma) is not None


def _alarm(
    table: Mapping[str, Any], policy: Any, testable: bool, control: int | None
) -> tuple[float, str]:
    """Return the level of the alarm and what is played once it has rung."""
    check_keys(table, "alarm", (), ("level", "fallback"))
    level = checked_probability("alarm.level", table.get("level", LEVEL))
    believes = testable and getattr(policy, "trust", 1.0) == 1.0
    fallback = table.get("fallback", "klucb" if believes else "none")
    checked_word("alarm.fallback", fallback, FALLBACKS)
    if fallback == "control" and control is None:
        raise ParameterError("alarm.fallback='control': there is no [control] with an arm")
    if fallback != "none" and not testable:
        raise ParameterError(
            f"alarm.fallback={fallback!r}: {type(policy).__name__} has no structure that can be "
            "tested, so the alarm would never ring; leave it out"
        )
    return level, fallback


def _stopping(table: Mapping[str, Any], policy: Any) -> Certain:
    """Return the policy as one that looks whether the best arm is certain."""
    check_keys(table, "stop", ("level",), ("then", "share"))
    then = checked_word("stop.then", table.get("then", "notify"), ("notify", "freeze"))
    share = _share("stop.share", table.get("share", 0.0))
    level = checked_probability("stop.level", table["level"])
    try:
        return Certain(policy, share, level, settles=then == "freeze")
    except ParameterError as error:
        raise ParameterError(f"stop: {error}") from None


def _rewards(table: Mapping[str, Any], policy: Any) -> Rewards:
    check_keys(table, "reward", (), ("window", "missing", "late"))
    late = table.get("late", "refuse")
    if late not in ("refuse", "learn"):
        raise ParameterError(f"reward.late={late!r}: accepted are 'refuse' and 'learn'")
    if "window" not in table:
        for key in ("missing", "late"):
            if key in table:
                raise ParameterError(f"reward.{key}={table[key]!r}: it needs a reward.window")
        return Rewards()
    if "missing" not in table:
        raise ParameterError(
            "reward.missing is not given: say what counts if no reward came within the window, a "
            'number such as 0.0, or "cancel" if rewards get lost by accident, whatever their value'
        )
    missing = table["missing"]
    if missing != "cancel":
        allowed = getattr(policy, "reward_range", None) or (float("-inf"), float("inf"))
        missing = checked_reward(missing, allowed, "reward.missing")
    if late == "learn" and missing != "cancel":
        raise ParameterError(
            f"reward.late='learn': only with missing = \"cancel\"; here {missing:g} has counted already"
        )
    return Rewards(seconds_of(table["window"]), None if missing == "cancel" else missing, late)


def seconds_of(window: Any) -> float:
    """Return a length of time in seconds: a number, or text such as "24h".

    >>> seconds_of("24h"), seconds_of("90s"), seconds_of(0.5)
    (86400.0, 90.0, 0.5)
    """
    found = LENGTH.fullmatch(window) if isinstance(window, str) else None
    seconds: Any = float(found[1]) * UNITS[found[2]] if found else window
    whole = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not whole or not 0.0 < seconds <= LONGEST_WINDOW:
        raise ParameterError(
            f'reward.window={window!r}: expected a length of time such as "90s", "30m", "24h" or "7d", '
            "at most 366 days"
        )
    return float(seconds)


def _start(table: Any) -> dict[str, Any] | None:
    if table is None:
        return None
    check_keys(table, "start", ("pulls", "sums"), ("squares", "force"))
    if not isinstance(table.get("force", False), bool):
        raise ParameterError(f"start.force={table['force']!r}: expected true or false")
    for key in ("pulls", "sums", "squares"):
        value = table.get(key)
        if not isinstance(value, list) and (value is not None or key != "squares"):
            raise ParameterError(
                f"start.{key}={value!r}: expected a list of numbers, one for each arm"
            )
    return dict(table)
