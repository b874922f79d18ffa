"""What the page of an experiment shows, as a function of its state."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from structured_bandits.agents.words import chance
from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import number
from structured_bandits.service.ui.pages.charts import interval_bar, scale_of, stacked_bar
from structured_bandits.service.ui.pages.words import DAY, of_total
from structured_bandits.service.ui.scale import Scale
from structured_bandits.service.wire import ArmView, MisfitView, Side, State

with needs("The service", extra="serve"):
    from markupsafe import Markup

MOST_ARMS = 200  # rows of the table
HUGE = 1e6  # from here on an e-value is told as a power of ten
#: How the badge and the bar of an arm look: classes of the style sheet.
BADGES = {"active": "good", "dropped": "", "parked": "open"}
BARS = {"active": "c1", "dropped": "faded", "parked": "c2"}


class Tile(NamedTuple):
    """A number that is looked at first, and what it says."""

    id: str
    title: str
    value: str
    note: str


class ArmRow(NamedTuple):
    """An arm in the table; `best` if no other has a higher mean."""

    view: ArmView
    bar: Markup
    badge: str
    best: bool


class Plan(NamedTuple):
    """The plan: rewards that were told, pulls that are out, pulls that are still to be handed out."""

    told: int
    out: int
    left: int
    bar: Markup


class Versus(NamedTuple):
    """The control arm beside the policy, on one scale."""

    sides: list[tuple[str, Side, Markup]]
    words: str


def tiles(state: State) -> list[Tile]:
    """Return the numbers that are looked at first; those that do not apply are left out."""
    total = sum(arm.mean * arm.pulls for arm in state.arms if arm.mean is not None)
    pulls = sum(arm.pulls for arm in state.arms)
    mean = f"on average {number(total / pulls)}" if pulls else "none yet"
    waits = f"the oldest for {oldest_age(state)}" if state.pending else "none is out"
    active = sum(arm.status == "active" for arm in state.arms)
    shown = [
        Tile("rewards", "Rewards", f"{state.rewards:,}", mean),
        Tile("pending", "Decisions out", f"{state.pending:,}", waits),
        Tile("active", "Arms in the race", of_total(active, len(state.arms)), _dropped(state)),
    ]
    if state.models is not None:
        fitting = of_total(state.models.fitting, state.models.total)
        shown.append(Tile("fitting", "Models that fit", fitting, "within all intervals"))
    if state.regret is not None:
        ends = dict.fromkeys(number(end, 3) for end in (state.regret.least, state.regret.most))
        shown.append(Tile("regret", "Regret", " – ".join(ends), "if the structure is right"))
    if state.misfit is not None:
        shown.append(_evidence_tile(state.misfit))
    return shown


def oldest_age(state: State) -> str:
    """Say how long the oldest decision has waited for its reward; nothing if none is out."""
    seconds = state.oldest_pending_seconds
    return "" if seconds is None else age(seconds)


def age(seconds: float) -> str:
    """Return how old something is, so coarsely that it does not change with every look.

    >>> age(3.2), age(59.0), age(200.0), age(100_000.0)
    ('a few seconds', 'less than a minute', '3 min', '27 h')
    """
    if seconds < 60:
        return "a few seconds" if seconds < 10 else "less than a minute"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min"
    return f"{seconds // 3600:.0f} h" if seconds < 3 * DAY else f"{seconds // DAY:.0f} days"


def _dropped(state: State) -> str:
    dropped = sum(arm.status == "dropped" for arm in state.arms)
    parked = sum(arm.status == "parked" for arm in state.arms)
    words = [f"{dropped:,} dropped"] * bool(dropped) + [f"{parked:,} parked"] * bool(parked)
    return ", ".join(words) or "none dropped yet"


def _evidence_tile(misfit: MisfitView) -> Tile:
    if misfit.e_value is None or misfit.e_value >= HUGE:
        shown = f"10^{misfit.log10_e:.1f}"
    else:
        shown = number(misfit.e_value, 3)
    rings = f"the alarm rings at {1.0 / misfit.level:,.0f}"
    return Tile("evidence", "Structure: e-value", shown, rings)


def arm_rows(state: State) -> tuple[list[ArmRow], Markup, int]:
    """Return the rows of arms, the axis above their intervals, and how many arms are left out."""
    arms = most_pulled(state.arms)
    scale, steps = scale_of([(arm.low, arm.high, arm.mean) for arm in arms])
    means = [arm.mean for arm in state.arms if arm.mean is not None]
    highest = max(means, default=None)
    rows = [
        ArmRow(
            arm,
            _bar(arm, scale),
            BADGES[arm.status],
            arm.mean is not None and arm.mean == highest,
        )
        for arm in arms
    ]
    return rows, _axis(scale, steps), len(state.arms) - len(arms)


def most_pulled(arms: Sequence[ArmView]) -> list[ArmView]:
    """Return the arms that the table has room for, in their own order: active ones before others."""
    first = sorted(arms, key=lambda arm: (arm.status != "active", -arm.pulls))[:MOST_ARMS]
    return sorted(first, key=lambda arm: arm.index)


def _bar(arm: ArmView, scale: Scale) -> Markup:
    css = BARS[arm.status] if arm.pulls else "faded"
    return interval_bar(scale, arm.low, arm.high, arm.mean, css)


def _axis(scale: Scale, steps: Sequence[float]) -> Markup:
    """Return the numbers of a scale, for the head of a column."""
    places = {0: "start", len(steps) - 1: "end"}
    texts = [
        Markup('<text class="soft" x="{}" y="12" text-anchor="{}">{}</text>').format(
            scale.percent(step), places.get(place, "middle"), number(step)
        )
        for place, step in enumerate(steps)
    ]
    return Markup('<svg width="100%" height="16" role="img" aria-label="{}">{}</svg>').format(
        f"scale from {number(scale.low)} to {number(scale.high)}", Markup("").join(texts)
    )


def plan_of(arms: Sequence[ArmView]) -> Plan:
    """Return how far the plan is; what was handed out beyond it is not part of it."""
    told = sum(arm.planned - arm.wanted for arm in arms)
    out = sum(min(arm.out, arm.wanted) for arm in arms)
    left = sum(arm.wanted for arm in arms) - out
    words = f"{told:,} told, {out:,} out, {left:,} still to be handed out"
    return Plan(told, out, left, stacked_bar([(told, "c1"), (out, "c2"), (left, "rest")], words))


def versus(state: State) -> Versus | None:
    """Return the control arm beside the policy, None if nobody is shown the control arm."""
    control = state.control
    if control is None:
        return None
    sides = [("policy", control.policy, "c1"), ("control", control.control, "c2")]
    scale, _ = scale_of([(side.low, side.high, side.mean) for _, side, _ in sides])
    return Versus(
        [
            (name, side, interval_bar(scale, side.low, side.high, side.mean, css))
            for name, side, css in sides
        ],
        _compared(control.policy, control.control),
    )


def _compared(policy: Side, control: Side) -> str:
    """Say what the two intervals allow to say."""
    if policy.mean is None or control.mean is None:
        return "There is nothing to compare until both have rewards."
    difference = policy.mean - control.mean
    beside = "above" if difference >= 0 else "below"
    said = f"The policy's mean is {number(abs(difference), 3)} {beside} that of the control arm"
    if policy.low is None or policy.high is None or control.low is None or control.high is None:
        return f"{said}."
    if policy.low > control.high or policy.high < control.low:
        return f"{said}, and the intervals do not overlap."
    return f"{said}, but the intervals overlap: it is too early to tell."


def model_bars(state: State) -> list[tuple[str, str, Markup]]:
    """Return the likeliest models: name, weight, and the weight as a bar."""
    if state.models is None:
        return []
    bars = []
    for model in state.models.likely:
        parts = [(model.weight, "c1"), (max(1.0 - model.weight, 0.0), "rest")]
        weight = chance(model.weight)
        bars.append((model.name, weight, stacked_bar(parts, weight)))
    return bars


def missing_words(state: State) -> str:
    """Say what becomes of rewards that do not come."""
    if state.window_seconds is None:
        return "Rewards count when they arrive. Decisions wait for theirs without limit."
    counts = "Rewards count when the window of their decision is over, in the order of the asks."
    if state.missing is None or isinstance(state.missing, str):
        return f"{counts} A decision without a reward by then is cancelled."
    return f"{counts} A decision without a reward by then counts as {number(state.missing)}."


def etag(state: State, *more: object) -> str:
    """Return a mark that changes when the page does: of all that is shown, ages in words."""
    shown = msgspec.structs.replace(state, oldest_pending_seconds=None)
    body = msgspec.json.encode([shown, oldest_age(state), *map(repr, more)])
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
