"""What a person sees of an agent: intervals, models that fit, models that are likely, words and tables."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import draw_case
from support.first_version import SAVED

import structured_bandits as sb
from structured_bandits.agents.intervals import lasting_widths
from structured_bandits.policies.base import POLICIES

TABLE = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"], models=["A", "B"])
DEMAND = sb.CurveStructure([sb.Piece(0, 1, [0.9, 0.5], [0.1, 0.5], closed="both")])


def taught(policy: Any, pulls: Any = (40, 10), sums: Any = (34, 2)) -> sb.Agent:
    agent = sb.Agent(policy)
    agent.learn(pulls, sums, sums if policy.needs_squares else None)
    return agent


def divergence(x: float, q: float) -> float:
    """Of two coins, both neither 0 nor 1."""
    return x * math.log(x / q) + (1 - x) * math.log((1 - x) / (1 - q))


# ---- Intervals


@pytest.mark.parametrize(
    ("policy", "clock"),
    [
        (sb.UCB(2, alpha=0.5), 51),
        (sb.SUCB.paper(TABLE, alpha=0.5), 51),
        (sb.UCBC(TABLE, alpha=0.5), 51),
        (sb.KLUCBC(TABLE, alpha=0.5), 51),
        (sb.TSC(TABLE, alpha=0.5), 51),
        (sb.SAE.paper(TABLE, 100, alpha=0.5), 100),
        (sb.ASAE.paper(TABLE, alpha=0.5, eta=1.0), 256),  # periods end after 2, 6, 22 and 278 pulls
        (sb.Guarded(sb.SUCB.paper(TABLE, alpha=0.5)), 51),
        (
            sb.ASAE.paper(TABLE, alpha=0.5, eta=1.0, reading="figures"),
            256,
        ),  # by time: 2, 4, 16, 256
    ],
)
def test_intervals_are_those_of_the_policy_with_its_own_clock(policy: Any, clock: int) -> None:
    radii = [math.sqrt(0.5 * math.log(clock) / pulls) for pulls in (40, 10)]
    expected = [
        [max(0.0, mean - radius), min(1.0, mean + radius)]
        for mean, radius in zip((0.85, 0.2), radii, strict=True)
    ]
    np.testing.assert_allclose(taught(policy).intervals, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("policy", "budget"),
    [
        (sb.SUCB(TABLE, alpha=0.5, confidence="kl"), lambda pulls: math.log(51)),
        (sb.SAE(TABLE, 100, alpha=0.5, confidence="kl"), lambda pulls: math.log(100)),
        (sb.KLUCB(TABLE), lambda pulls: math.log(2 * 2 * math.sqrt(pulls) / 0.05)),
        (sb.ModelTS(TABLE), lambda pulls: math.log(2 * 2 * math.sqrt(pulls) / 0.05)),
    ],
    ids=["SUCB", "SAE", "KLUCB", "ModelTS"],
)
def test_ends_of_kl_intervals_have_the_divergence_of_the_budget(policy: Any, budget: Any) -> None:
    for mean, pulls, ends in zip((0.85, 0.2), (40, 10), taught(policy).intervals, strict=True):
        for end in ends:
            assert pulls * divergence(mean, end) == pytest.approx(budget(pulls), rel=1e-9)


def test_intervals_follow_the_range_of_rewards() -> None:
    wide = sb.KLUCB(2, reward_range=(-1.0, 3.0))
    agent = taught(wide, (40, 10), (40 * -1 + 4 * 34, 10 * -1 + 4 * 2))
    np.testing.assert_allclose(agent.intervals, -1 + 4 * taught(sb.KLUCB(2)).intervals, rtol=1e-12)


def test_gaussian_intervals() -> None:
    agent = taught(sb.ModelTS(TABLE, reward_range=None, sigma=2.0))
    for mean, pulls, ends in zip((0.85, 0.2), (40, 10), agent.intervals, strict=True):
        budget = 2 * math.log(2 / 0.05) + math.log(pulls + 1)
        radius = 2.0 * math.sqrt((1 + 1 / pulls) * budget / pulls)
        np.testing.assert_allclose(ends, [mean - radius, mean + radius], rtol=1e-12)


def test_arms_without_rewards_have_the_whole_range() -> None:
    assert taught(sb.SUCB.paper(TABLE), (5, 0), (2, 0)).intervals[1].tolist() == [0.0, 1.0]
    assert sb.Agent(sb.IMED(2, reward_range=(2, 7))).intervals.tolist() == [[2.0, 7.0]] * 2
    unbounded = sb.Agent(sb.ModelTS(TABLE, reward_range=None, sigma=1.0))
    assert unbounded.intervals.tolist() == [[-math.inf, math.inf]] * 2


@pytest.mark.parametrize(
    ("steps", "arms"), [((0.0, 1.0), 1), ((0.0, 1.0), 3), ((0.0, 0.5, 1.0), 1)]
)
@pytest.mark.parametrize("mean", [0.04, 0.5])
def test_lasting_intervals_miss_no_more_often_than_they_say(
    steps: tuple[float, ...], arms: int, mean: float
) -> None:
    """The exact probability that the mean is ever outside: all sums that have not left, pull by pull."""
    chances = {0.0: 1 - mean, 1.0: mean} if len(steps) == 2 else None
    if chances is None:  # half of the rewards that were 1 or 0 are 0.5 now
        chances = {0.0: 1 - 1.5 * mean, 0.5: mean, 1.0: 0.5 * mean}
    policy = sb.KLUCB(arms)
    inside = {0.0: 1.0}
    for pulls in range(1, 121):
        level = lasting_widths(policy, pulls, arms)
        after: dict[float, float] = {}
        for total, chance in inside.items():
            for step, probability in chances.items():
                after[total + step] = after.get(total + step, 0.0) + chance * probability
        ends = {total: level.interval(pulls, total) for total in after}
        inside = {t: after[t] for t in after if ends[t][0] < mean < ends[t][1]}
    missed = 1 - math.fsum(inside.values())
    assert 1e-5 < missed < 0.05 / arms


def test_lasting_gaussian_intervals_miss_no_more_often_than_they_say() -> None:
    """2,000 runs; at most 5 % of them may miss, so more than 130 would be three deviations off."""
    rng = np.random.default_rng(0)
    policy = sb.ModelTS(TABLE, reward_range=None, sigma=3.0)
    sums = np.cumsum(rng.normal(0.7, 3.0, (2000, 400)), axis=1)
    missed = np.zeros(2000, bool)
    for pulls in range(1, 401):
        radius = math.sqrt(lasting_widths(policy, pulls, 1).budget / pulls)
        missed |= np.abs(sums[:, pulls - 1] / pulls - 0.7) >= radius
    assert 0 < missed.sum() <= 130


# ---- Sums and means


def test_sums_and_means_are_copies_and_nan_where_nothing_was_seen() -> None:
    agent = taught(sb.SUCB.paper(TABLE), (4, 0), (3, 0))
    assert agent.sums.tolist() == [3.0, 0.0]
    assert agent.means[0] == 0.75
    assert math.isnan(agent.means[1])
    agent.sums[:] = agent.means[:] = agent.pulls[:] = 9
    assert (agent.sums[0], agent.means[0], agent.pulls[0]) == (3.0, 0.75, 4)


# ---- Models that fit


@pytest.mark.parametrize("index", range(12))
def test_the_best_arms_of_fitting_models_are_those_in_the_race(index: int) -> None:
    case = draw_case(70, index, "finite", full_size=False)
    agent = sb.Agent(sb.SUCB.paper(case.structure, alpha=case.alpha))
    pulls = np.random.default_rng(index).integers(0, 40, case.structure.n_arms)
    sums = [case.rewards[arm][:count].sum() for arm, count in enumerate(pulls)]
    counts = [min(count, case.horizon) for count in pulls]
    agent.learn(counts, sums)
    fitting = agent.fitting_models
    radii = [
        math.sqrt(case.alpha * math.log(sum(counts) + 1) / count) if count else math.inf
        for count in counts
    ]
    near = [
        name
        for name in case.structure.model_names
        if all(
            abs(total / max(count, 1) - mean) < radius
            for total, count, mean, radius in zip(
                sums, counts, case.structure.means(name), radii, strict=True
            )
        )
    ]
    assert list(fitting) == near
    if near:
        best = {case.structure.best_arm(name) for name in near}
        assert set(agent.active_arms) == best


@pytest.mark.parametrize("index", range(8))
def test_intervals_of_parameters_hold_just_the_models_that_fit(index: int) -> None:
    case = draw_case(71, index, "curves", full_size=False)
    agent = sb.Agent(sb.SUCB.paper(case.structure, alpha=case.alpha))
    counts = [min(case.horizon, 25 * (arm + 1)) for arm in range(case.structure.n_arms)]
    sums = [case.rewards[arm][:count].sum() for arm, count in enumerate(counts)]
    agent.learn(counts, sums)
    strength = case.alpha * math.log(sum(counts) + 1)
    radii = [math.sqrt(strength / count) for count in counts]
    for piece in case.structure.pieces:
        for parameter in np.linspace(piece.start, piece.end, 41):
            gaps = np.abs(np.divide(sums, counts) - means_at(piece, parameter)) - radii
            ends = [end for pair in agent.fitting_models for end in pair if pair[0] < pair[1]]
            if abs(gaps.max()) > 1e-9 and parameter not in ends:  # of these nothing is said
                inside = any(start <= parameter <= end for start, end in agent.fitting_models)
                assert inside == bool(gaps.max() < 0)


def means_at(piece: sb.Piece, parameter: float) -> Any:
    share = (parameter - piece.start) / ((piece.end - piece.start) or 1.0)
    return (1 - share) * np.array(piece.at_start) + share * np.array(piece.at_end)


def test_intervals_of_parameters_that_touch_are_one() -> None:
    """The best arm changes at 0.5, which is a border between cells but not between models."""
    assert sb.Agent(sb.SUCB.paper(DEMAND)).fitting_models == ((0.0, 1.0),)


def test_one_table_as_models_points_and_polytopes_has_the_same_fitting_models() -> None:
    rng = np.random.default_rng(3)
    table = sb.FiniteStructure(rng.uniform(0.1, 0.9, (9, 3)), models=list("abcdefghi"))
    points = sb.union([table])
    tilted = sb.PolyhedralStructure(  # constraints on a sum of means have no closed form
        [
            sb.Polytope(
                np.eye(3), 0.0, [[1, 1, 1], *np.eye(3)], [sum(row), *row], [sum(row), *row], name
            )
            for name in table.model_names
            for row in [table.means(name)]
        ]
    )
    assert type(tilted.cells).__name__ == "PolytopeCells"
    assert type(points.cells).__name__ == "DifferenceCells"
    sizes = set()
    for pulls in (5, 30, 120, 480):
        sums = np.round(pulls * table.means("d"))
        fitting = [
            taught(sb.SUCB.paper(each, alpha=0.5), [pulls] * 3, sums).fitting_models
            for each in (table, points, tilted)
        ]
        assert fitting[0] == fitting[1] == fitting[2]
        assert "d" in fitting[0]
        sizes.add(len(fitting[0]))
    assert len(sizes) > 2


def test_models_with_margins_fit_if_a_part_of_them_does() -> None:
    agent = taught(sb.SUCB.paper(sb.around(TABLE, 0.1), alpha=0.5), (90, 60), (55, 24))
    radii = [math.sqrt(0.5 * math.log(151) / pulls) for pulls in (90, 60)]
    assert 55 / 90 + radii[0] < 0.8 < 55 / 90 + radii[0] + 0.1  # A is out, its box is not
    assert 24 / 60 - radii[1] < 0.3
    assert agent.fitting_models == ("A",)
    assert taught(sb.SUCB.paper(TABLE, alpha=0.5), (90, 60), (55, 24)).fitting_models == ()
    assert "1 of 2 models fits these intervals: 'A'." in agent.describe()
    assert "is not computed for models with margins." in agent.describe()


def test_groups_of_a_product_answer_one_by_one() -> None:
    both = sb.product([TABLE, DEMAND, sb.lipschitz([0, 1], 0.1)])
    agent = taught(sb.SUCB.paper(both, alpha=0.5), [40, 10, 100, 0, 0, 0], [34, 2, 58, 0, 0, 0])
    types, demand, near = agent.fitting_models
    radius = math.sqrt(0.5 * math.log(151) / 100)
    assert types == ("A",)
    np.testing.assert_allclose(demand, [((0.9 - 0.58 - radius) / 0.8, (0.9 - 0.58 + radius) / 0.8)])
    assert near == ("0",)
    likely = agent.likely_models
    assert list(likely[0]) == ["A", "B"]
    assert likely[1].parameter == pytest.approx(0.4, rel=1e-12)
    assert likely[2] is None
    assert "Group 3: Which model is most likely is not computed" in agent.describe()


# ---- Likely models


def weighted(*prior: int) -> sb.FiniteStructure:
    return sb.FiniteStructure(TABLE.cells.table, TABLE.arm_names, ["A", "B"], prior=prior)


def exact_weights(prior: tuple[int, int]) -> dict[str, float]:
    """Of models A and B after 4 hits and 2 misses of tea, 1 hit and 2 misses of coffee."""
    weights = {}
    for name, weight, tea, coffee in zip("AB", prior, (8, 2), (3, 7), strict=True):
        p, q = Fraction(tea, 10), Fraction(coffee, 10)
        weights[name] = weight * p**4 * (1 - p) ** 2 * q * (1 - q) ** 2
    return {name: float(weight / sum(weights.values())) for name, weight in weights.items()}


@pytest.mark.parametrize(
    ("policy", "prior"),
    [
        (sb.ModelTS(TABLE, prior=[1, 30]), (1, 30)),
        (sb.ModelTS(TABLE, prior=[1, 30], temper=0.25), (1, 30)),
        (sb.IDS(TABLE, prior=[1, 30]), (1, 30)),
        (sb.ModelTS(TABLE, prior=[1, 30], trust=0.1), (1, 30)),
        (sb.ThompsonSampling(TABLE, prior=(1.0, 30.0)), (1, 1)),  # a prior of means, not of models
        (sb.TSC(TABLE, prior=(1.0, 30.0)), (1, 1)),
        (sb.SUCB.paper(TABLE), (1, 1)),
        (sb.SUCB.paper(weighted(1, 30)), (1, 30)),
        (sb.ModelTS(weighted(1, 30), prior=[5, 1]), (5, 1)),
        (sb.Guarded(sb.ModelTS(TABLE, prior=[1, 30])), (1, 30)),
    ],
    ids=[
        "ModelTS",
        "tempered",
        "IDS",
        "doubting",
        "ThompsonSampling",
        "TSC",
        "SUCB",
        "structure",
        "both",
        "Guarded",
    ],
)
def test_weights_of_models_are_exact_posterior_probabilities(
    policy: Any, prior: tuple[int, int]
) -> None:
    likely = taught(policy, (6, 3), (4, 1)).likely_models
    assert likely == pytest.approx(exact_weights(prior), rel=1e-12)
    assert list(likely.values()) == sorted(likely.values(), reverse=True)


def test_the_likelier_model_comes_first_and_a_tie_keeps_the_order() -> None:
    assert list(taught(sb.SUCB.paper(TABLE), (6, 3), (1, 3)).likely_models) == ["B", "A"]
    fresh = sb.Agent(sb.SUCB.paper(TABLE))
    assert fresh.likely_models == {"A": 0.5, "B": 0.5}
    assert "All models are equally likely." in fresh.describe()


def test_weights_under_gaussian_rewards() -> None:
    agent = taught(sb.ModelTS(TABLE, reward_range=None, sigma=2.0), (3, 1), (2.5, -1.0))
    logs = [
        -(3 * mu**2 - 2 * 2.5 * mu + nu**2 + 2 * nu) / 8.0 for mu, nu in ((0.8, 0.3), (0.2, 0.7))
    ]
    expected = 1 / (1 + math.exp(logs[1] - logs[0]))
    assert agent.likely_models["A"] == pytest.approx(expected, rel=1e-12)


def test_the_most_likely_parameter() -> None:
    assert sb.Agent(sb.SUCB.paper(DEMAND)).likely_models is None
    likely = taught(sb.SUCB.paper(DEMAND), (100, 10), (55, 6)).likely_models
    assert likely.parameter == pytest.approx(0.4375, rel=1e-12)  # 0.9 - 0.8 x = 0.55
    assert likely.means == pytest.approx((0.55, 0.5), rel=1e-12)
    low, high = (taught(sb.SUCB.paper(DEMAND), (9, 0), (n, 0)).likely_models for n in (9, 0))
    assert (low.parameter, high.parameter) == (0.0, 1.0)
    nothing_said = taught(sb.SUCB.paper(DEMAND), (0, 9), (0, 4)).likely_models
    assert nothing_said.parameter == 0.0  # all are equally likely


def test_the_most_likely_parameter_where_means_reach_the_ends_of_the_range() -> None:
    """Both arms speak; the likelihood x^3 (1 - x)^1 of one and (1 - x)^2 x^4 of the other."""
    cross = sb.CurveStructure([sb.Piece(0, 1, [0, 1], [1, 0], closed="both")])
    likely = taught(sb.SUCB.paper(cross), (4, 6), (3, 2)).likely_models
    assert likely.parameter == pytest.approx(0.7, rel=1e-12)
    sure = taught(sb.SUCB.paper(cross), (4, 0), (4, 0)).likely_models
    assert sure.parameter == pytest.approx(1.0, abs=1e-5)  # nothing is surer than the floor, 1e-6


def test_the_most_likely_parameter_of_gaussian_rewards_has_the_least_squares() -> None:
    kinked = sb.CurveStructure(
        [sb.Piece(0, 1, [0, 1], [1, 0.5]), sb.Piece(1, 2, [1, 0.5], [0.5, 0], closed="both")]
    )
    likely = taught(
        sb.SUCB.paper(kinked, reward_range=None, sigma=1.0), (4, 2), (3.2, 0.4)
    ).likely_models
    places = np.linspace(0, 2, 200_001)
    means = np.stack([np.interp(places, [0, 1, 2], ends) for ends in ([0, 1, 0.5], [1, 0.5, 0])])
    loss = 4 * (means[0] - 0.8) ** 2 + 2 * (means[1] - 0.2) ** 2
    assert likely.parameter == pytest.approx(places[loss.argmin()], abs=1e-5)


# ---- Words


def policies(structure: Any) -> list[Any]:
    made = []
    for name, kind in POLICIES.items():
        if name != "WAGP":  # needs a curve
            made.append(kind(structure, *((500,) if name in ("SAE", "ImprovedUCB") else ())))
    return made


@pytest.mark.parametrize("policy", policies(TABLE), ids=lambda policy: type(policy).__name__)
def test_every_policy_can_be_described_and_looking_changes_nothing(policy: Any) -> None:
    agent, twin = taught(policy), taught(policy)
    agent.ask(), twin.ask()
    before = agent.to_json()
    text, page = agent.describe(), agent._repr_html_()
    assert agent.describe() == text
    assert agent.to_json() == before
    assert "It has seen 50 rewards and waits for 1 more." in text
    assert "'A' (over 99.9 %)" in text
    assert [
        line.split()[:3] for line in text.splitlines() if line.startswith(("tea", "coffee"))
    ] == [
        ["tea", "40", "0.85"],
        ["coffee", "10", "0.2"],
    ]
    assert "<td>40</td><td><b>0.85</b></td>" in page
    for _ in range(5):
        one, other = agent.ask(), twin.ask()
        assert one == other
        agent.tell(one.id, 1.0)
        twin.tell(other.id, 1.0)
        agent.describe()


LINEAR = sb.linear([[1, 0], [0, 1], [0.6, 0.7]], bounds=(0.0, 0.6))


@pytest.mark.parametrize(
    "policy",
    [
        sb.SUCB.paper(DEMAND),
        sb.UCB(DEMAND),
        sb.WAGP(DEMAND),
        sb.ModelTS(DEMAND),
        sb.SUCB.paper(LINEAR),
        sb.UCB(LINEAR),
        sb.SUCB.paper(sb.lipschitz([0, 1, 2], 0.2)),
    ],
    ids=lambda policy: f"{type(policy).__name__}-{policy.structure.kind}",
)
def test_curves_and_polytopes_can_be_described(policy: Any) -> None:
    arms = policy.n_arms
    agent = taught(policy, [50] * arms, [25] * arms)
    before = agent.to_json()
    text = agent.describe()
    if isinstance(policy.structure, sb.CurveStructure):
        assert (
            "The most likely parameter is 0.5; its means are 0.5 for arm 0, 0.5 for arm 1." in text
        )
        assert "have parameters 0" in text
    else:
        assert "Some models of the structure fit these intervals." in text
        assert "Which model is most likely is not computed for polytopes." in text
    assert agent.to_json() == before


def test_words_about_sets_without_models() -> None:
    agent = taught(sb.SAE.paper(TABLE, 200, alpha=0.01), (100, 100), (50, 50))
    assert agent.empty > 0
    text = agent.describe()
    assert agent.fitting_models == ()
    assert "No model of the structure fits these intervals now." in text
    assert ") once." in text or f") {agent.empty} times." in text
    assert "this alone does not prove it" in text
    assert "fitted" not in taught(sb.ModelTS(TABLE), (100, 100), (50, 50)).describe()
    assert (
        "Each time the policy decided, some model fitted the rewards."
        in taught(sb.SUCB.paper(TABLE)).describe()
    )


def test_parked_arms_are_marked() -> None:
    agent = taught(sb.SUCB.paper(TABLE, alpha=0.5))
    agent.park("tea")
    last = [line.split("  ")[-1].strip() for line in agent.describe().splitlines()[5:7]]
    assert last == ["yes, parked", "no"]
    agent.unpark("tea")
    assert "parked" not in agent.describe()


def test_a_policy_without_a_structure_knows_no_models() -> None:
    agent = taught(sb.UCB(2))
    assert agent.fitting_models is None
    assert agent.likely_models is None
    assert "The policy uses no structure, so there are no models to compare." in agent.describe()


class Reader(HTMLParser):
    """Notes the tags and the texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_hostile_names_break_neither_a_line_nor_a_page() -> None:
    arms = [
        "<script>alert(1)</script>",
        "two\nlines",
        "back\u202ewards",
        "x" * 500,
        "\ud800 & 'q\"",
    ]
    models = ["<img src=x>", "a\r\nb", "y" * 500]
    table = sb.FiniteStructure(np.linspace(0.1, 0.9, 15).reshape(3, 5), arms=arms, models=models)
    agent = taught(sb.SUCB.paper(table), [3] * 5, [1] * 5)
    text, page = agent.describe(), agent._repr_html_()
    assert len(text.splitlines()) == 2 + 1 + (2 + 5) + 1 + 5  # sentences, table, sentences
    assert text.replace("\n", "").isprintable()
    assert max(map(len, text.splitlines())) < 320
    seen = Reader(page)
    assert set(seen.tags) == {"p", "table", "thead", "tbody", "tr", "th", "td", "b"}
    assert seen.tags.count("tr") == 6
    assert "<script>alert(1)</script>" in seen.texts
    assert page.isprintable()


def test_of_many_arms_the_most_pulled_are_shown() -> None:
    agent = sb.Agent(sb.UCB(60))
    agent.learn(np.arange(60), np.zeros(60))
    shown = [line.split()[0] for line in agent.describe().splitlines()[5:55]]
    assert shown == [str(arm) for arm in range(10, 60)]
    assert "The 10 arms with the fewest pulls are left out." in agent.describe()


def test_a_policy_of_ones_own_that_declares_nothing() -> None:
    """Version 0.1.0 did not save the sums of its rewards either."""
    file = Path(__file__).parent / "data" / "0.1.0" / "own-policy.json"
    saved = json.loads(file.read_text())["snapshot"]
    agent = sb.Agent.from_json(json.dumps(saved), SAVED["own-policy"].make())
    assert agent.pulls.any()
    assert np.isnan(agent.means).all()
    assert np.isinf(agent.intervals).all()
    assert "There are no intervals: the policy declares neither" in agent.describe()


# ---- Files


def test_a_saved_agent_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    policy = sb.ModelTS(TABLE)
    agent = sb.Agent(policy, seed=4)
    path = tmp_path / "shop.json"
    path.write_text("what was there before")
    for _ in range(20):
        agent.save(path)
        other = sb.Agent.load(str(path), policy)
        one, two = agent.ask(), other.ask()
        assert one == two
        agent.tell(one.id, 1.0)
        other.tell(two.id, 1.0)
        assert agent.to_json() == other.to_json()
    assert [each.name for each in tmp_path.iterdir()] == ["shop.json"]


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2]", b"tea,coffee\n0.5,0.3\n", b"\xff\xfe"])
def test_other_files_are_no_agents(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "shop.json"
    path.write_bytes(content)
    with pytest.raises(sb.FileFormatError, match=r"shop\.json: not a snapshot of an agent"):
        sb.Agent.load(path, sb.SUCB.paper(TABLE))


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    agent, path = sb.Agent(sb.SUCB.paper(TABLE)), tmp_path / "shop.json"
    with pytest.raises(FileNotFoundError, match=r"shop\.json"):
        sb.Agent.load(path, agent.policy)
    with pytest.raises(sb.OutputError, match="cannot be written"):
        agent.save(tmp_path / "no" / "folder.json")
    agent.save(path)
    with pytest.raises(
        sb.FileFormatError, match=r"shop\.json: .*does not fit the policy: its param"
    ):
        sb.Agent.load(path, sb.SUCB.paper(TABLE, alpha=1.0))
    path.write_text(path.read_text().replace('"empty":0', '"empty":1'))
    with pytest.raises(sb.FileFormatError, match=r"shop\.json: .*edited or damaged"):
        sb.Agent.load(path, agent.policy)
