"""Bad input never gets in: each message names the argument, the value and what is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right

R = figure1_right()
L = figure1_left()
NAN, INF = float("nan"), float("inf")
WORLD = sb.Bernoulli(R.means(0))

BAD_STRUCTURES: list[tuple[Callable[[], Any], str]] = [
    (lambda: sb.FiniteStructure([]), "means: shape (0,); expected models × arms"),
    (lambda: sb.FiniteStructure([[]]), "means: shape (1, 0); expected models × arms"),
    (lambda: sb.FiniteStructure([0.5, 0.5]), "means: shape (2,); expected models × arms"),
    (
        lambda: sb.FiniteStructure([[0.5], [0.5, 0.6]]),
        "means: expected numbers in rows of equal length",
    ),
    (lambda: sb.FiniteStructure([[0.5, NAN]]), "the mean at (0, 1) is nan; means must be finite"),
    (lambda: sb.FiniteStructure([[0.5, INF]]), "the mean at (0, 1) is inf; means must be finite"),
    (lambda: sb.FiniteStructure([["x"]]), "means: expected numbers"),
    (lambda: sb.FiniteStructure([[0.5]], arms=["a", "b"]), "arms: 2 names for 1 arms"),
    (
        lambda: sb.FiniteStructure([[0.5, 0.5]], arms=["a", "a"]),
        "arms: the name 'a' is given twice",
    ),
    (lambda: sb.FiniteStructure([[0.5]], models=["a", "b"]), "models: 2 names for 1 models"),
    (lambda: R.means("six"), "model='six' is unknown; known are 'model 1', 'model 2'"),
    (lambda: R.means(4), "model=4 is outside 0 to 3"),
    (lambda: R.means(1.5), "model=1.5: give an index from 0 or a name"),
    (lambda: R.arm_index("x"), "arm='x' is unknown"),
    (lambda: sb.FiniteStructure([[0.5]], arms=3), "arms=3: expected a list of names"),
    (lambda: sb.CurveStructure(sb.Piece(0, 1, [0.5], [0.5])), "got a single Piece"),
    (lambda: L.means(None), "model=None: give a number"),
    (lambda: sb.CurveStructure([]), "pieces: none given"),
    (lambda: sb.CurveStructure([3]), "pieces[0]: expected a Piece, got int"),
    (
        lambda: sb.CurveStructure([sb.Piece(1, 0, [0.5], [0.5])]),
        "pieces[0]: start=1 is above end=0",
    ),
    (lambda: sb.CurveStructure([sb.Piece(0, 1, [0.5], [0.5, 0.6])]), "expected one mean per arm"),
    (
        lambda: sb.CurveStructure([sb.Piece(0, 1, [NAN], [0.5])]),
        "pieces[0].at_start: the mean at (0,)",
    ),
    (lambda: sb.CurveStructure([sb.Piece(0, INF, [0.5], [0.5])]), "pieces[0].start and .end"),
    (lambda: sb.CurveStructure([sb.Piece(0, 0, [0.5], [0.6])]), "a single point has one vector"),
    (
        lambda: sb.CurveStructure([sb.Piece(0, 1, [0.5], [0.5], closed="open")]),
        "closed='open'; accepted are 'left', 'right', 'both', 'neither'",
    ),
    (
        lambda: sb.CurveStructure([sb.Piece(0, 2, [0.5], [0.5]), sb.Piece(1, 3, [0.5], [0.5])]),
        "pieces: [0, 2) and [1, 3) overlap",
    ),
    (
        lambda: sb.CurveStructure(
            [sb.Piece(0, 1, [0.5], [0.5], "both"), sb.Piece(1, 2, [0.5], [0.5])]
        ),
        "pieces: [0, 1] and [1, 2) overlap",
    ),
    (
        lambda: sb.CurveStructure(
            [sb.Piece(0, 1, [0.5], [0.5]), sb.Piece(1, 2, [0.5] * 2, [0.5] * 2)]
        ),
        "pieces: they have [1, 2] arms",
    ),
    (lambda: L.means("x"), "model='x': give a number"),
    (
        lambda: L.means(1.5),
        "model=1.5 is in no piece; the pieces are [0, 0.33), [0.33, 0.66), [0.66, 1]",
    ),
]

BAD_PARAMETERS: list[tuple[Callable[[], Any], str]] = [
    (lambda: sb.UCB(0), "n_arms=0: expected a whole number >= 1"),
    (lambda: sb.UCB(R, alpha=0), "alpha=0: expected a finite number > 0"),
    (lambda: sb.UCB(R, alpha=NAN), "alpha=nan: expected a finite number > 0"),
    (lambda: sb.SUCB.paper(R, alpha=-1.0), "alpha=-1.0: expected a finite number > 0"),
    (lambda: sb.SUCB.paper(3), "structure=3: expected a structure"),
    (lambda: sb.SAE.paper(R, 100, alpha="2"), "alpha='2': expected a finite number > 0"),
    (lambda: sb.SAE.paper(R, 0), "horizon=0: expected a whole number >= 1"),
    (lambda: sb.SAE.paper(R, 2.5), "horizon=2.5: expected a whole number >= 1"),
    (lambda: sb.SAE.paper(R, 2**52), "expected less than 2**52"),
    (lambda: sb.SAE.paper(R, 10**400), "expected a whole number >= 1"),
    (lambda: sb.UCB(R, reward_range=(0, 10**400)), "expected a pair (low, high) or None"),
    (lambda: sb.ASAE.paper(R, eta=1e-17), "eta=1e-17: expected 1e-06 to 1e+06"),
    (lambda: sb.simulate(None, WORLD, 10), "expected a policy such as sb.UCB(4), got None"),
    (lambda: sb.simulate({"P": sb.UCB}, WORLD, 10), "P: expected a policy such as sb.UCB(4)"),
    (lambda: sb.simulate(sb.UCB(R), [0.5], 10), "world: expected one such as sb.Bernoulli(means)"),
    (lambda: sb.simulate(sb.UCB(R), WORLD, "abc"), "horizon='abc': expected a whole number >= 1"),
    (
        lambda: sb.simulate_random(lambda rng: 3, 10),
        "draw: expected it to return (policies, world)",
    ),
    (lambda: sb.SAE.paper(R, 100, beta=0.5), "beta=0.5: expected a finite number >= 1"),
    (lambda: sb.ImprovedUCB(R, -3), "horizon=-3: expected a whole number >= 1"),
    (lambda: sb.ASAE.paper(R, alpha=INF), "alpha=inf: expected a finite number > 0"),
    (lambda: sb.ASAE.paper(R, beta=0), "beta=0: expected a finite number >= 1"),
    (lambda: sb.ASAE.paper(R, eta=0), "eta=0: expected a finite number > 0"),
    (
        lambda: sb.ASAE.paper(R, reading="paper"),
        "reading='paper': expected one of 'theory', 'figures', 'pseudocode' or a Reading",
    ),
    (lambda: sb.ASAE.paper(R, reading=3), "reading=3: expected a name or a Reading"),
    (
        lambda: sb.ASAE.paper(R, reading=sb.Reading(clock="ticks")),
        "reading.clock='ticks': expected 'length' or 'time'",
    ),
    (
        lambda: sb.WAGP(R),
        "WAGP cannot play on structure=FiniteStructure(4 models × 4 arms, 4 arms best in some model): "
        "it plays curves. Take instead, best first: ModelTS(structure), SUCB(structure), TSC(structure, alpha=0.5",
    ),
    (lambda: sb.GreedyMLE(None), "structure=None: expected a structure"),
    (
        lambda: sb.UCB(R, reward_range=(1, 0)),
        "reward_range=(1, 0): needs finite low < high, or None",
    ),
    (lambda: sb.UCB(R, reward_range=3), "reward_range=3: expected a pair (low, high) or None"),
    (
        lambda: sb.UCB(R, reward_range=None),
        "sigma=None: unbounded rewards (reward_range=None) need a sigma",
    ),
    (lambda: sb.UCB(R, sigma=0), "sigma=0: expected a finite number > 0"),
    (lambda: sb.Bernoulli([1.2]), "expected means in [0, 1], where the rewards lie"),
    (lambda: sb.Bernoulli([[0.5]]), "means: shape (1, 1); expected a mean per arm"),
    (lambda: sb.Bernoulli([NAN]), "means must be finite"),
    (lambda: sb.Bernoulli("x"), "means='x': expected a mean per arm"),
    (lambda: sb.Gaussian([0.5], sigma=0), "sigma=0: expected a finite number > 0"),
    (lambda: sb.Tape([0, 1]), "rewards: shape (2,); expected finite numbers, arms × length"),
    (lambda: sb.Tape([[0, NAN]]), "expected finite numbers"),
    (lambda: sb.Tape([[0, 1]], means=[0.5, 0.5]), "means: 2 for a tape of 1 arms"),
    (lambda: sb.simulate({}, WORLD, 10), "policies: none given"),
    (lambda: sb.simulate({1: sb.UCB(R)}, WORLD, 10), "policies: the name 1 is not a string"),
    (lambda: sb.simulate(sb.UCB(R), WORLD, 0), "horizon=0: expected a whole number >= 1"),
    (lambda: sb.simulate(sb.UCB(R), WORLD, 10, runs=0), "runs=0: expected a whole number >= 1"),
    (lambda: sb.simulate(sb.UCB(R), WORLD, 10, seed=-1), "seed=-1: expected a whole number >= 0"),
    (
        lambda: sb.simulate(sb.UCB(R), WORLD, 10, workers=0),
        "workers=0: expected a whole number >= 1",
    ),
    (
        lambda: sb.simulate(sb.UCB(R), WORLD, 10, engine="c"),
        "engine='c': expected 'auto', 'compiled' or 'python'",
    ),
    (
        lambda: sb.simulate(sb.UCB(R), WORLD, 10, checkpoints=[5, 11]),
        "checkpoints=[5, 11]: expected rising numbers of pulls from 1 to horizon=10",
    ),
    (
        lambda: sb.simulate(sb.UCB(R), WORLD, 10, checkpoints=[5, 5]),
        "checkpoints=[5, 5]: expected rising",
    ),
    (
        lambda: sb.simulate(sb.UCB(R), WORLD, 10, checkpoints=0),
        "checkpoints=0: expected a whole number >= 1",
    ),
    (lambda: sb.simulate(sb.UCB(3), WORLD, 10), "UCB: the policy has 3 arms, the world 4"),
    (
        lambda: sb.simulate(sb.UCB(2), sb.Tape(np.zeros((2, 5))), 6),
        "horizon=6: the tape holds 5 rewards of each arm",
    ),
]

BAD_REWARDS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: sb.simulate(sb.UCB(1), sb.Gaussian([0.5]), 10),
        "the world's rewards have no bounds, the policy expects (0.0, 1.0); "
        "give the policy reward_range=None and a sigma",
    ),
    (
        lambda: sb.simulate(sb.UCB(1, reward_range=None, sigma=0.5), sb.Gaussian([0.5]), 10),
        "the world's sigma 1 is larger than the policy's 0.5; give the policy sigma=1 or more",
    ),
    (
        lambda: sb.simulate(sb.UCB(1, reward_range=(0, 0.5)), sb.Bernoulli([0.5]), 10),
        "the world's rewards lie in (0.0, 1.0), outside the policy's range (0.0, 0.5)",
    ),
    (
        lambda: sb.simulate(sb.UCB(1, sigma=0.25), sb.Bernoulli([0.5]), 10),
        "the world's sigma 0.5 is larger than the policy's 0.25",
    ),
    (
        lambda: sb.simulate(sb.UCB(1), sb.Tape([[0.5, 2.0]]), 2),
        "the world's rewards lie in (0.5, 2.0), outside the policy's range (0.0, 1.0)",
    ),
]


@pytest.mark.parametrize(
    ("call", "message"), BAD_STRUCTURES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_bad_structures(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(sb.StructureError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("call", "message"), BAD_PARAMETERS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_bad_parameters(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(sb.ParameterError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("call", "message"), BAD_REWARDS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_rewards_that_do_not_fit(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(sb.RewardError, match=re.escape(message)):
        call()


def test_every_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="alpha"):
        sb.UCB(2, alpha=0)


def test_means_outside_the_unit_interval_warn_and_are_kept() -> None:
    with pytest.warns(
        sb.MeansOutsideUnitIntervalWarning, match=r"means outside \[0, 1\]"
    ) as caught:
        structure = sb.FiniteStructure([[0.5, 1.2]])
    assert len(caught) == 1
    assert caught[0].filename == __file__  # points at the user's line
    assert structure.means(0)[1] == 1.2
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        sb.CurveStructure([sb.Piece(0, 1, [-0.1], [0.5])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header with arm names and a row per model"),
        ("a,b\n", "expected a header with arm names and a row per model"),
        ("a,b\n0.5,0.5\n0.5\n", "line 3: 1 cells where the header has 2"),
        ("model,a,b\nx,0.5,high\n", "line 2, column 'b': 'high' is not a finite number"),
        ("model,a\nx,nan\n", "line 2, column 'a': 'nan' is not a finite number"),
        ("tea,milk\n0.8x,0.5\n0.2,0.5\n", "line 2, column 'tea': '0.8x' is not a finite number"),
        ("0.8,0.3\n0.2,0.7\n", "line 1: expected a header with arm names, found means"),
        ("tea;milk\n0.2;0.7\n", "line 1: no comma in 'tea;milk'; expected commas"),
    ],
)
def test_bad_csv_files_are_named_with_line_and_column(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(sb.FileFormatError, match=re.escape(message)) as caught:
        sb.FiniteStructure.from_csv(path)
    assert str(path) in str(caught.value)


class Lazy(NamedTuple):
    """A policy of a user's that plans nothing."""

    n_arms: int = 4

    def init(self):
        return (np.zeros(1),)

    def plan(self, state, now, quota, rng):
        quota[:] = 0
        return 0

    def observe(self, state, seen):
        pass


def test_a_plan_without_a_pull_is_refused() -> None:
    for engine in ("python", "compiled"):
        with pytest.raises(sb.ParameterError, match="planned no pull"):
            sb.simulate(Lazy(), WORLD, 10, engine=engine)
    with pytest.raises(sb.ParameterError, match="planned no pull"):
        sb.Agent(Lazy()).ask()


def test_a_users_policy_must_have_the_worlds_arms() -> None:
    with pytest.raises(sb.ParameterError, match="the policy has 3 arms, the world 4"):
        sb.simulate(Lazy(3), WORLD, 10)


def test_compiled_code_needs_named_tuples() -> None:
    class Plain:
        n_arms = 4
        init, observe = Lazy.init, Lazy.observe

        def plan(self, state, now, quota, rng):
            quota[:] = 1
            return 0

    with pytest.raises(sb.ParameterError, match="Plain is not a NamedTuple"):
        sb.simulate(Plain(), WORLD, 10)


def test_what_cannot_be_sent_to_a_process_is_named_before_one_is_started() -> None:
    for _ in range(6):
        with pytest.raises(sb.ParameterError, match="play it in this process"):
            sb.simulate_random(
                lambda rng: ({"UCB": sb.UCB(R)}, WORLD), 10, engine="python", workers=2
            )


def test_a_policy_tuned_for_less_than_it_plays_warns() -> None:
    with pytest.warns(
        sb.HorizonWarning, match="SAE is tuned for horizon=5 and will be played for 10"
    ):
        sb.simulate(sb.SAE.paper(R, 5), WORLD, 10, runs=1)


def test_draws_must_keep_names_and_number_of_arms() -> None:
    def other_names(rng: np.random.Generator) -> tuple[dict[str, sb.UCB], sb.Bernoulli]:
        return {f"P{rng.integers(1000)}": sb.UCB(2)}, sb.Bernoulli([0.5, 0.6])

    def other_arms(rng: np.random.Generator) -> tuple[dict[str, sb.UCB], sb.Bernoulli]:
        arms = int(rng.integers(2, 60))
        return {"UCB": sb.UCB(arms)}, sb.Bernoulli(np.full(arms, 0.5))

    with pytest.raises(sb.ParameterError, match="the names must stay the same"):
        sb.simulate_random(other_names, 10, runs=3)
    for workers in (1, 2):
        with pytest.raises(sb.ParameterError, match="the number of arms must stay the same"):
            sb.simulate_random(other_arms, 10, runs=64, workers=workers)


class OldForm(NamedTuple):
    """A policy as version 0.1 wanted it."""

    n_arms: int = 4

    def init(self):
        return (np.zeros(1),)

    def plan(self, state, t, limit, quota, rng):
        quota[:] = 1
        return 0

    def observe(self, state, pulls, sums):
        pass


class Forgetful(NamedTuple):
    """A policy whose plan forgot to return a number."""

    n_arms: int = 4

    def init(self):
        return (np.zeros(1),)

    def plan(self, state, now, quota, rng):
        quota[:] = 1

    def observe(self, state, seen):
        pass


class OldWorld(NamedTuple):
    """A world as version 0.1 wanted it."""

    means: np.ndarray

    def draw(self, arm, pulls, count, rng):
        return float(count)


NOT_POLICIES = [
    (sb.SUCB, "expected a policy such as sb.UCB(4), got the class SUCB; build one: sb.SUCB("),
    (R, "expected a policy, got a structure; build one on it: sb.SUCB(structure)"),
    ([sb.UCB(4)], "expected one policy, got list"),
    (None, "expected a policy such as sb.UCB(4), got None"),
    (
        OldForm(),
        "OldForm.plan(self, state, t, limit, quota, rng) is not the form plan(self, state, now",
    ),
    (Forgetful(), "plan returned None; it returns the number of empty confidence sets"),
]


@pytest.mark.parametrize(("given", "message"), NOT_POLICIES, ids=lambda x: type(x).__name__)
def test_what_is_no_policy_is_refused_with_what_to_write(given: Any, message: str) -> None:
    calls = [lambda: sb.Agent(given)]
    calls += [
        lambda engine=engine: sb.simulate({"P": given}, WORLD, 10, engine=engine)
        for engine in ("python", "compiled")
    ]
    for call in calls:
        with pytest.raises(sb.ParameterError, match=re.escape(message)):
            call()


def test_the_error_for_the_old_form_shows_the_new_one() -> None:
    with pytest.raises(sb.ParameterError) as caught:
        sb.Agent(OldForm())
    assert "def plan(self, state, now, quota, rng):" in str(caught.value)
    assert "def observe(self, state, seen):" in str(caught.value)


def test_a_world_of_the_old_form_is_told_what_draw_returns() -> None:
    for engine in ("python", "compiled"):
        with pytest.raises(
            sb.ParameterError, match=r"draw returned 1\.0; .* sb\.Paid\(count, total"
        ):
            sb.simulate(sb.UCB(2), OldWorld(np.array([0.5, 0.6])), 10, engine=engine)


def test_a_sequence_is_read_as_means_even_if_it_has_parts() -> None:
    with pytest.raises(sb.StructureError, match="a list, tuple or array is read as means"):
        sb.analyse(R, truth=(0, (0.5, 0.5)))


def test_a_policy_on_a_structure_is_not_one_on_a_number_of_arms() -> None:
    assert sb.UCB(R) != sb.UCB(R.n_arms)
    assert sb.UCB(R) == sb.UCB(R)
    assert sb.ImprovedUCB(R, 100) != sb.ImprovedUCB(R.n_arms, 100)


def test_more_pulls_than_can_be_counted_are_refused() -> None:
    agent = sb.Agent(sb.UCB(2))
    agent.learn([2**51, 2**51 - 2], [0, 0])
    before = agent.to_json()
    for pulls in ([2**51, 0], [1, 1]):
        with pytest.raises(sb.RewardError, match=r"expected less than 2\*\*52 in all"):
            agent.learn(pulls, [0, 0])
        assert agent.to_json() == before
    agent.tell(agent.ask().id, 1.0)
    last = agent.ask()
    with pytest.raises(sb.RewardError, match=r"expected less than 2\*\*52 in all"):
        agent.tell(last.id, 1.0)


class Ranged(NamedTuple):
    """A policy of a user's that says which rewards it expects."""

    n_arms: int = 4
    reward_range: tuple[float, float] = (0.0, 1.0)

    def init(self):
        return (np.zeros(1),)

    def plan(self, state, now, quota, rng):
        quota[:] = 1
        return 0

    def observe(self, state, seen):
        pass


def test_a_range_that_a_users_policy_declares_is_compared_with_the_world() -> None:
    """Found by a stranger: Beta counts of a Gaussian world would have become negative, silently."""
    with pytest.raises(sb.RewardError, match="the world's rewards have no bounds"):
        sb.simulate(Ranged(), sb.Gaussian([0.1, 0.2, 0.3, 0.4]), 10, engine="python")
    sb.simulate(Ranged(), WORLD, 10, runs=1, engine="python")


def test_a_state_without_names_cannot_be_saved_and_says_so() -> None:
    agent = sb.Agent(Ranged())
    with pytest.raises(sb.ParameterError, match="its state is tuple; a snapshot needs one"):
        agent.to_json()
