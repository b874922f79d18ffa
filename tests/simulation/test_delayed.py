"""Rewards that come late: simulations play the rule of the live agent, decision by decision."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pytest
from support.stretches import Player

import structured_bandits as sb
from structured_bandits.lookahead.base import fresh_work
from structured_bandits.simulation.copies import copied, copy_into, holds_arrays
from structured_bandits.simulation.pending_queue import Spare
from structured_bandits.testing.tapes import play, play_in, reward_tape

matplotlib.use("Agg")

TABLE = sb.FiniteStructure([[0.75, 0.5, 0.25], [0.5, 0.625, 0.75], [0.125, 0.5, 0.25]])
POLICIES: dict[str, Callable[[], Any]] = {
    "UCB": lambda: sb.UCB(3, alpha=0.5),
    "UCB without a range": lambda: sb.UCB(3, reward_range=None, sigma=0.5),
    "KLUCB": lambda: sb.KLUCB(3),
    "UCBV": lambda: sb.UCBV(3),
    "SUCB": lambda: sb.SUCB.paper(TABLE, alpha=0.1),
    "SUCB with KL": lambda: sb.SUCB(TABLE, alpha=0.5, confidence="kl"),
    "SUCB with programs": lambda: sb.SUCB.paper(sb.concave(3), alpha=0.5),
    "SAE": lambda: sb.SAE.paper(TABLE, 200, alpha=0.1),
    "ASAE": lambda: sb.ASAE.paper(TABLE, alpha=0.1),
    "UCBC": lambda: sb.UCBC(TABLE),
    "OSSB": lambda: sb.OSSB(TABLE),
    "GreedyMLE": lambda: sb.GreedyMLE(TABLE),
    "ModelTS": lambda: sb.ModelTS(TABLE),
    "ThompsonSampling": lambda: sb.ThompsonSampling(3),
    "IDS": lambda: sb.IDS(TABLE),
    "ISAE": lambda: sb.ISAE(TABLE),
    "ISAE, threshold": lambda: sb.ISAE(TABLE, rule="threshold", leader="drawn"),
    "guarded ISAE": lambda: sb.Guarded(sb.ISAE(TABLE), level=0.3),
    "guarded SUCB": lambda: sb.Guarded(sb.SUCB.paper(TABLE, alpha=0.1), level=0.3),
    "guarded SAE": lambda: sb.Guarded(sb.SAE.paper(TABLE, 200, alpha=0.1), level=0.3, explore=0.5),
    "guarded ModelTS": lambda: sb.Guarded(sb.ModelTS(TABLE), level=0.3),
}
DELAYS = {"5": (5, None), "clicks at once": (0, 17), "never": (2, math.inf)}


def by_hand(
    policy: Any, rewards: Any, delay: float, failures: float | None, pulls: int
) -> tuple[Any, int]:
    """Ask and tell an agent; return its arms and the number of empty sets it met."""
    agent, taken, due, arms = sb.Agent(policy), [0] * len(rewards), {}, []
    for pull in range(pulls):
        for decision, reward in due.pop(pull, ()):
            agent.tell(decision, reward)
        decision = agent.ask()
        reward = rewards[decision.arm, taken[decision.arm]]
        taken[decision.arm] += 1
        failed = failures is not None and reward == rewards.min()
        due.setdefault(pull + 1 + (failures if failed else delay), []).append((decision.id, reward))
        arms.append(decision.arm)
    return arms, agent.empty


def late_play(
    policy: Any, world: Any, pulls: int, compiled: bool = False, planning: bool = True
) -> Any:
    return play_in(world, policy, pulls, compiled, planning, sb.testing.agent_generator(0))


@pytest.mark.parametrize("case", DELAYS)
@pytest.mark.parametrize("name", POLICIES)
def test_a_simulation_plays_what_an_agent_would_ask_for(name: str, case: str) -> None:
    """With the same random numbers: tapes and such delays take none."""
    policy, (delay, failures) = POLICIES[name](), DELAYS[case]
    pulls = 40 if name == "SUCB with programs" else 160
    for number in (3, 7):
        rewards = reward_tape(number, 3, pulls, coins=True)
        world = sb.Delayed(sb.Tape(rewards), delay, failures)
        arms, empty = by_hand(policy, rewards, delay, failures, pulls)
        run = late_play(policy, world, pulls)
        assert (run.arms, run.empty) == (arms, empty)
        assert late_play(policy, world, pulls, planning=False).arms == arms


@pytest.mark.parametrize(
    "name", [name for name in POLICIES if name[-2:] not in ("TS", "ng", "DS", "ld")]
)
def test_without_delay_nothing_changes(name: str) -> None:
    policy = POLICIES[name]()
    pulls = 40 if name == "SUCB with programs" else 300
    for number in (2, 6, 15):
        rewards = reward_tape(number, 3, pulls, coins=True)
        late = late_play(policy, sb.Delayed(sb.Tape(rewards), 0), pulls)
        assert late.arms == play(policy, rewards, pulls, compiled=False, planning=True).arms


def test_compiled_runs_are_those_of_the_other_engine() -> None:
    policy = POLICIES["UCB"]()
    for number, (delay, failures) in enumerate(((0, None), (9, None), (0, 30), (math.inf, 3))):
        world = sb.Delayed(sb.Tape(reward_tape(6 + 8 * number, 3, 400)), delay, failures)
        one, two = (late_play(policy, world, 400, compiled) for compiled in (False, True))
        assert one == two
    drawn = sb.Delayed(sb.Tape(reward_tape(6, 3, 400)), sb.GeometricDelay(20), failures=[0, 4, 50])
    assert late_play(policy, drawn, 400, True) == late_play(policy, drawn, 400, False)


def test_a_guard_whose_rewards_come_late_is_compiled() -> None:
    """Found by an attack: the compiler did not find how the guarded policy forgets."""
    world = sb.Delayed(sb.Tape(reward_tape(6, 3, 300, coins=True)), 4)
    for policy in (
        sb.Guarded(sb.SUCB.paper(TABLE, alpha=0.1), level=0.3),
        POLICIES["guarded ISAE"](),
    ):
        one, two = (late_play(policy, world, 300, compiled) for compiled in (False, True))
        assert one == two


class PatientState(NamedTuple):
    """Two countings of the same rewards, and the order in which they were settled."""

    heard: np.ndarray  # pulls and sums
    settled: np.ndarray
    order: np.ndarray  # a number that depends on the order


class Patient(NamedTuple):
    """Plays by what is settled and by what is heard."""

    n_arms: int

    in_order = True

    def init(self):
        zeros = np.zeros((2, self.n_arms))
        return PatientState(zeros, np.zeros((2, self.n_arms)), np.zeros(1))

    def plan(self, state, now, quota, rng):
        quota[:] = 0
        heard = int(state.heard[0].sum() * 7 + state.heard[1].sum())
        quota[(heard + int(state.order[0]) + now.t) % self.n_arms] = 1
        return 0

    def hear(self, state, seen):
        for arm in range(self.n_arms):
            state.heard[0, arm] += seen.pulls[arm]
            state.heard[1, arm] += seen.sums[arm]

    def observe(self, state, seen):
        raise AssertionError("such a policy hears and settles")

    def settle(self, state, seen):
        for arm in range(self.n_arms):
            state.settled[0, arm] += seen.pulls[arm]
            state.settled[1, arm] += seen.sums[arm]
            if seen.pulls[arm] > 0:
                state.order[0] = (3.0 * state.order[0] + arm + 2.0 * seen.sums[arm]) % 1009.0
        return False


def test_a_policy_may_want_its_rewards_in_order() -> None:
    """It hears them when they come; settled are those that no earlier one is waited for."""
    policy, rewards = Patient(3), reward_tape(7, 3, 200, coins=True)
    world = sb.Delayed(sb.Tape(rewards), 0, failures=11)
    arms, _ = by_hand(policy, rewards, 0, 11, 200)
    one, two = (late_play(policy, world, 200, compiled) for compiled in (False, True))
    assert one.arms == two.arms == arms


def test_copies_of_states_in_compiled_code() -> None:
    from numba import njit

    @njit
    def compiled_copy(policy: Any, spare: Spare, state: Any, work: Any) -> None:
        copied(policy, spare, state, work)

    policy = sb.SUCB.paper(TABLE, confidence="kl")
    player = Player(policy, [3, 1, 0], [1.0, 1.0, 0.0])
    player.streak(sb.Now(4, 10), np.random.default_rng(0))
    state, work = player.state, player.work
    spare, again = (Spare(policy.init(), fresh_work(policy).memory) for _ in range(2))
    compiled_copy(policy, spare, state, work)
    copy_into(again, Spare(state, work.memory))
    flat = [list(leaves(each)) for each in (Spare(state, work.memory), spare, again)]
    for original, one, two in zip(*flat, strict=True):
        assert original.tobytes() == one.tobytes() == two.tobytes()
        assert not np.shares_memory(original, one)
    assert holds_arrays(work.memory)
    assert not holds_arrays(fresh_work(sb.SUCB.paper(sb.concave(3))).memory)


def leaves(record: Any) -> Any:
    if isinstance(record, tuple):
        for each in record:
            yield from leaves(each)
    else:
        yield record


def late_result() -> sb.Result:
    world = sb.Delayed(sb.Tape(reward_tape(6, 3, 60, coins=True)), 7)
    return sb.simulate(
        {"a": sb.UCB(3), "b": sb.UCB(3)}, world, 60, runs=3, checkpoints=[3, 7, 20, 60],
        engine="python", record_arms=True,
    )  # fmt: skip


def test_results_know_how_many_rewards_are_out() -> None:
    result = late_result()
    for name in ("a", "b"):
        assert result.out[name].tolist() == [[3, 7, 7, 7]] * 3
    assert result.summary(t=3)["out"].tolist() == [3.0, 3.0]


def test_failures_that_are_never_told_stay_out() -> None:
    rewards = reward_tape(6, 3, 100, coins=True)
    result = sb.simulate(
        sb.UCB(3), sb.Delayed(sb.Tape(rewards), 0, math.inf), 100, 1, checkpoints=100,
        engine="python", record_arms=True,
    )  # fmt: skip
    arms, taken, missing = result.arms["UCB"][0], [0, 0, 0], []
    for arm in arms:
        missing.append(rewards[arm, taken[arm]] == 0.0)
        taken[arm] += 1
    assert result.out["UCB"][0].tolist() == np.cumsum(missing).tolist()


def test_rewards_that_come_at_once_leave_no_trace() -> None:
    result = sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.6]), 20, 2, engine="python")
    assert result.out == {}
    assert "out" not in result.summary().columns
    assert len(result.plot().figure.axes) == 1


def test_late_results_are_saved_and_drawn(tmp_path: Path) -> None:
    result = late_result()
    result.save(tmp_path / "late.parquet")
    again = sb.load_result(tmp_path / "late.parquet")
    assert again.out.keys() == result.out.keys()
    assert all(np.array_equal(again.out[name], result.out[name]) for name in result.out)
    regret, out = result.plot().figure.axes
    assert (regret.get_ylabel(), out.get_ylabel()) == ("regret", "rewards out")
    assert [line.get_ydata().tolist() for line in out.get_lines()] == [[3, 7, 7, 7]] * 2
