"""`check_world`: a world pays what it says, and in blocks what it would pay one by one."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.agents.results import checked_results
from structured_bandits.base.arrays import Floats
from structured_bandits.errors import RewardError
from structured_bandits.lookahead.base import LOOKAHEADS, Lookahead, Work
from structured_bandits.lookahead.streaks import NO_LIMIT, Streak
from structured_bandits.protocols import Now, Outcome, Paid, Stop
from structured_bandits.simulation.changing import changes
from structured_bandits.simulation.delayed import comes_late
from structured_bandits.simulation.engine import counts_gains, draw_certain, drawing_for
from structured_bandits.testing.requirements import blamed, importable, require, untouched_globals
from structured_bandits.testing.tapes import play_in
from structured_bandits.worlds.world import declared_range

BLOCK = 10  # pulls of a block that is compared with single ones
ERRORS = 6.0  # standard errors that a mean may be off: one in a billion is
COUNTS = (1, 2, 7, 10)


def check_world(world: Any, *, compiled: bool = True, draws: int = 4000) -> None:
    """Raise a `CheckError` unless `world` does what is asked of every world.

    - `compiled=False` leaves compiled play out, which takes seconds to compile.
    - `draws`: how many blocks of each arm are drawn.

    These things are checked: that `draw` returns a `Paid` with the number of pulls, and a sum and
    squares that rewards in the range can have; that the average agrees with `means`; that blocks have
    the mean and the variance of single draws (or, in a world without chance, exactly their sum); that
    `draw_until` and `draw_while` stop where they should; that `draw_delay`, if there is one, draws whole
    numbers; that Python and compiled code draw the same from the same generator, and from no other; that
    the world can be pickled. Of a world that changes (`draw_at`) the averages at some moments are
    compared with `mean_at`. Averages may be off by six standard errors; the seeds are fixed.
    """
    name = type(world).__name__
    _check_means(world, name)
    if changes(type(world)):
        _check_moments(world, name, draws)
        _check_value(world, name)
        return
    with untouched_globals(name):
        for arm in range(len(world.means)):
            _check_payments(world, name, arm)
            if _is_random(world, arm):
                _check_law(world, name, arm, draws)
            else:
                _check_sums(world, name, arm)
            if drawing_for(type(world)) is not draw_certain:
                _check_stops(world, name, arm, draws // 4)
            if counts_gains(type(world)):
                _check_counts(world, name, arm, draws // 4)
        if comes_late(type(world)):
            _check_delays(world, name)
    _check_value(world, name)
    if compiled:
        _check_compiled(world, name)


def _check_moments(world: Any, name: str, draws: int) -> None:
    """Raise unless the rewards of a world that changes have, at some moments, the means that it says."""
    for arm in range(len(world.means)):
        for t in (0, 10, 1000):
            mean, rng = world.mean_at(arm, t), _generator(arm)
            how = _how(f"[world.draw_at({arm}, {t}, rng) for _ in range({draws})]", arm)
            rewards = np.array([world.draw_at(arm, t, rng).total for _ in range(draws)])
            error = rewards.std() / math.sqrt(draws) + 1e-12
            require(
                abs(rewards.mean() - mean) <= ERRORS * error + 1e-9 * abs(mean),
                f"After {t} pulls rewards of arm {arm} of {name} must have the mean that mean_at says.",
                f"It is {mean}, and the average of {draws} rewards is {rewards.mean()}.",
                how,
            )


def _check_means(world: Any, name: str) -> None:
    means = getattr(world, "means", None)
    fine = isinstance(means, np.ndarray) and means.ndim == 1 and means.dtype == np.float64
    require(
        fine and len(means) > 0 and bool(np.isfinite(means).all()),  # type: ignore[arg-type]
        f"{name} must have means: the true mean of each arm, finite, as an array of float64.",
        f"It has {means!r}.",
        "world.means",
    )


def _check_payments(world: Any, name: str, arm: int) -> None:
    """Raise unless it is a Paid of so many pulls, with a possible sum and possible squares."""
    allowed = declared_range(world) or (-math.inf, math.inf)
    for seed in range(5):
        for count in _counts(world):
            how = _how(f"world.draw({arm}, 0, {count}, rng)", seed)
            with blamed(f"draw of {name}", how):
                paid = world.draw(arm, 0, count, _generator(seed))
            _check_paid(name, paid, count, allowed, how)


def _check_paid(name: str, paid: Any, count: int, allowed: tuple[float, float], how: str) -> None:
    require(
        isinstance(paid, Paid),
        f"draw of {name} must return sb.Paid(pulls, total, squares).",
        f"It returned {paid!r}.",
        how,
    )
    require(
        paid.pulls == count,
        f"draw of {name} must pay as many pulls as it is asked for, {count}.",
        f"It returned {paid!r}.",
        how,
    )
    try:
        checked_results([paid.pulls], [paid.total], [paid.squares], 1, allowed)
    except RewardError as error:
        require(
            False,
            f"What draw of {name} pays must be possible: the sum of {count} rewards of the "
            "world's range, "
            "and the sum of their squares.",
            f"It returned {paid!r}; {error}.",
            how,
        )


def _check_law(world: Any, name: str, arm: int, draws: int) -> None:
    """Compare blocks with the sums of as many single draws, and single draws with the mean."""
    rng = _generator(arm)
    rows = range(draws)
    blocks = np.array([world.draw(arm, 0, BLOCK, rng)[1:] for _ in rows])
    singles = np.array(
        [[world.draw(arm, pulls, 1, rng)[1:] for pulls in range(BLOCK)] for _ in rows[: draws // 4]]
    )
    how = _how(f"[world.draw({arm}, 0, {BLOCK}, rng) for _ in range({draws})]", arm)
    one_by_one = _how(f"[world.draw({arm}, 0, 1, rng) for _ in range({draws})]", arm)
    rewards = singles[:, :, 0].ravel()
    _check_average(
        f"Single rewards of arm {arm} of {name} must average to means[{arm}]",
        rewards - world.means[arm],
        one_by_one,
    )
    _check_average(
        f"Blocks of {BLOCK} pulls of arm {arm} of {name} must sum to {BLOCK} means[{arm}] on average",
        blocks[:, 0] - BLOCK * world.means[arm],
        how,
    )
    together = singles.sum(axis=1)
    for what, column in (("sum", 0), ("sum of squares", 1)):
        _check_alike(
            f"The {what} of a block of {BLOCK} pulls of arm {arm} of {name} must have the "
            "average that it "
            "has for single pulls",
            blocks[:, column],
            together[:, column],
            how,
        )
        _check_alike(
            f"The {what} of a block of {BLOCK} pulls of arm {arm} of {name} must have the "
            "variance that it "
            "has for single pulls",
            _spread(blocks[:, column]),
            _spread(together[:, column]),
            how,
        )


def _check_average(expected: str, values: Floats, how: str) -> None:
    """Raise unless the average of `values` is 0 within the standard errors."""
    error = _standard_error(values)
    require(
        abs(float(values.mean())) <= ERRORS * error,
        f"{expected}.",
        f"They are off by {values.mean():.4g}, with a standard error of {error:.2g}.",
        how,
    )


def _check_alike(expected: str, one: Floats, other: Floats, how: str) -> None:
    """Raise unless two samples have the same average within the standard errors."""
    error = math.hypot(_standard_error(one), _standard_error(other))
    require(
        abs(float(one.mean() - other.mean())) <= ERRORS * error,
        f"{expected}.",
        f"It is {one.mean():.4g} for blocks and {other.mean():.4g} for single pulls, with a "
        "standard error "
        f"of {error:.2g}.",
        how,
    )


def _spread(values: Floats) -> Floats:
    return (values - values.mean()) ** 2


def _standard_error(values: Floats) -> float:
    """Return that of the average, with room for rounding if nothing varies."""
    size = float(np.abs(values).max())
    return float(values.std()) / math.sqrt(len(values)) + 1e-9 * size + 1e-12


def _check_sums(world: Any, name: str, arm: int) -> None:
    """Without chance a block is the sum of its pulls."""
    rng = _generator(0)
    longest = _longest(world)
    for before in range(0, min(longest, 6)):
        for count in (2, 3, 5):
            if before + count > longest:
                continue
            how = _how(f"world.draw({arm}, {before}, {count}, rng)", 0)
            block = world.draw(arm, before, count, rng)
            single = [world.draw(arm, before + pull, 1, rng) for pull in range(count)]
            for what in ("total", "squares"):
                total = math.fsum(getattr(paid, what) for paid in single)
                require(
                    math.isclose(getattr(block, what), total, rel_tol=1e-9, abs_tol=1e-9),
                    f"In {name} there is no chance, so a block must pay what its pulls pay one by one.",
                    f"Its {what} is {getattr(block, what)!r}, that of {count} pulls {total!r}.",
                    how,
                )


def _check_stops(world: Any, name: str, arm: int, draws: int) -> None:
    """Raise unless draw_until stops where pulls one by one, with misses counted, would stop."""
    count = min(8, _longest(world))
    allowed = declared_range(world) or (-math.inf, math.inf)
    for misses in range(0, min(3, count - 1)):
        call = f"world.draw_until({arm}, 0, {count}, {misses}, rng)"
        how = _how(call, misses)
        rng = _generator(misses)
        with blamed(f"draw_until of {name}", how):
            stopped = [world.draw_until(arm, 0, count, misses, rng) for _ in range(draws)]
        for paid in stopped[:50]:
            require(
                misses + 1 <= paid.pulls <= count,
                f"draw_until of {name} must pull until there are more than {misses} misses, at most "
                f"{count} times.",
                f"It returned {paid!r}.",
                how,
            )
            _check_paid(name, paid, paid.pulls, allowed, how)
        stop = Stop(count, misses, count)
        by_hand = [_stopped_by_hand(world, arm, stop, rng) for _ in range(draws)]
        until = f"more than {misses} rewards below the highest of arm {arm}"
        _check_same_stops(f"draw_until of {name}", until, stopped, by_hand, how)


def _check_counts(world: Any, name: str, arm: int, draws: int) -> None:
    """Raise unless draw_while stops where pulls one by one, with misses and gains counted, would."""
    count = min(8, _longest(world))
    for misses, gains, spare, earned in (
        (0, 2, 0.0, 0.0),
        (2, 0, 0.0, 0.0),
        (2, 3, 0.0, 0.0),
        (1, count, 0.0, 0.0),
        (0, count, 0.5, 0.25),
        (1, count, 0.0, -0.4),
    ):
        stop = Stop(count, misses, gains, spare, earned)
        how = _how(f"world.draw_while({arm}, 0, {stop}, rng)", misses)
        rng = _generator(misses)
        with blamed(f"draw_while of {name}", how):
            stopped = [world.draw_while(arm, 0, stop, rng) for _ in range(draws)]
        by_hand = [_stopped_by_hand(world, arm, stop, rng) for _ in range(draws)]
        until = (
            f"more than {misses + spare:g} rewards below the highest, {earned:+g} for each that is the "
            f"highest, or more than {gains} above the least of arm {arm}"
        )
        _check_same_stops(f"draw_while of {name}", until, stopped, by_hand, how)


def _check_same_stops(who: str, until: str, stopped: Any, by_hand: Any, how: str) -> None:
    """Compare averages of pulls, sums and squares."""
    for what, column in (("number of pulls", 0), ("sum", 1), ("sum of squares", 2)):
        _check_alike(
            f"The {what} that {who} returns must be that of pulling one by one until there are {until}",
            np.array([paid[column] for paid in stopped], dtype=float),
            np.array([paid[column] for paid in by_hand], dtype=float),
            how,
        )


def _stopped_by_hand(
    world: Any, arm: int, stop: Stop, rng: np.random.Generator
) -> tuple[int, float, float]:
    least, highest = declared_range(world) or (-math.inf, math.inf)
    misses = hits = gains = pulls = 0
    total, squares = 0.0, 0.0
    while pulls < stop.length and gains <= stop.gains:
        if misses > stop.misses + stop.spare + stop.earned * hits:
            break
        paid = world.draw(arm, pulls, 1, rng)
        misses += paid.total < highest
        hits += paid.total >= highest
        gains += paid.total > least
        pulls, total, squares = pulls + 1, total + paid.total, squares + paid.squares
    return pulls, total, squares


def _check_value(world: Any, name: str) -> None:
    if not importable(world):
        return
    with blamed(f"Pickling {name}", "pickle.loads(pickle.dumps(world))"):
        other = pickle.loads(pickle.dumps(world))
    for arm in range(len(world.means)):
        for count in _counts(world):
            one, two = (_paid(each, arm, count) for each in (world, other))
            require(
                one == two,
                f"A pickled copy of {name} must pay the same.",
                f"The world pays {one!r}, its copy {two!r}.",
                "pickle.loads(pickle.dumps(world))",
            )


def _paid(world: Any, arm: int, count: int) -> Paid:
    """Return what some pulls of an arm pay, or one after so many if the world changes."""
    if changes(type(world)):
        return world.draw_at(arm, count, _generator(0))
    return world.draw(arm, 0, count, _generator(0))


def _check_delays(world: Any, name: str) -> None:
    """Raise unless each delay is a whole number of pulls, drawn from the generator only."""
    for seed in range(20):
        arm = seed % len(world.means)
        reward = world.draw(arm, 0, 1, _generator(seed)).total
        how = _how(f"world.draw_delay({arm}, {reward!r}, rng)", seed)
        with blamed(f"draw_delay of {name}", how):
            one, two = (world.draw_delay(arm, reward, _generator(seed)) for _ in range(2))
        require(
            isinstance(one, (int, np.integer)) and bool(one >= 0) and bool(one == two),
            f"draw_delay of {name} must return a whole number of pulls from 0, drawn from rng only.",
            f"With the same generator it returned {one!r} and {two!r}.",
            how,
        )


def _check_compiled(world: Any, name: str) -> None:
    """Play a policy whose every step depends on all that was paid, in Python and compiled."""
    pulls = min(400, _longest(world))
    policy = Echo(len(world.means))
    for planning in (True, False):
        how = f"sb.testing.check_world(world)  # a run of {pulls} pulls, planning={planning}"
        with blamed(f"Playing in {name}", how):
            one, two = (
                play_in(world, policy, pulls, by_compiler, planning, _generator(7))
                for by_compiler in (False, True)
            )
        require(
            one == two,
            f"{name} must pay the same in Python and in compiled code, drawing from rng only.",
            "With the same generator the two runs differ.",
            how,
        )


class EchoState(NamedTuple):
    """What was paid last."""

    last: Floats  # total and squares


class EchoChoice(NamedTuple):
    """An arm, and the number that it follows from."""

    arm: int
    empty: int
    number: int


class Echo(NamedTuple):
    """A policy that shows what a world pays: its choices depend on the payments."""

    n_arms: int

    def init(self) -> EchoState:
        """Return a fresh state."""
        return EchoState(np.zeros(2))

    def choose(self, state: EchoState, now: Now, rng: np.random.Generator) -> EchoChoice:
        """Choose an arm by what was paid."""
        size = abs(state.last[0]) * 1021.0 + abs(state.last[1]) * 509.0
        number = int(size % 1e6) + now.t
        return EchoChoice(number % self.n_arms, 0, number)

    def update(self, state: EchoState, outcome: Outcome) -> None:
        """Note what was paid, and when."""
        state.last[0] = (3.0 * state.last[0] + outcome.total) % 1e6
        state.last[1] = (3.0 * state.last[1] + outcome.squares) % 1e6


def echoed_streak(
    policy: Echo,
    state: EchoState,
    choice: EchoChoice,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Choose length, misses and what hits earn by what was paid."""
    number = choice.number
    length = 1 + number % 6
    earned = 0.25 * (number % 2)
    return Streak(choice.arm, length, length, number % 3, 0, -math.inf, NO_LIMIT, 0.5, earned)


LOOKAHEADS[Echo] = Lookahead(stretch=echoed_streak)  # stands in one module with its policy


def _longest(world: Any) -> int:
    longest: Callable[[], int | None] | None = getattr(world, "longest", None)
    return (longest() if longest is not None else None) or 1_000_000


def _counts(world: Any) -> list[int]:
    return [count for count in COUNTS if count <= _longest(world)]


def _is_random(world: Any, arm: int) -> bool:
    """Return whether the world draws from its generator."""
    rng = _generator(0)
    before = rng.bit_generator.state
    world.draw(arm, 0, 1, rng)
    return bool(rng.bit_generator.state != before)


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _how(call: str, seed: int) -> str:
    return f"rng = np.random.Generator(np.random.PCG64({seed}))\n{call}"
