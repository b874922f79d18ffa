"""The policies of a report, played in the world of its truth to see what they cost."""

from __future__ import annotations

from typing import Any

from structured_bandits.errors import ParameterError
from structured_bandits.experiments.policies import keys_of, library_policy
from structured_bandits.policies.base import POLICIES
from structured_bandits.protocols import PolicyLike
from structured_bandits.simulation.result import Result
from structured_bandits.simulation.simulate import simulate
from structured_bandits.structures.base import Structure
from structured_bandits.theory.analysis import Analysis
from structured_bandits.theory.upper_bounds import theorem_policies
from structured_bandits.worlds.bernoulli import Bernoulli
from structured_bandits.worlds.gaussian import Gaussian


def named_policies(
    names: str | None, structure: Structure, horizon: int, rewards: dict[str, Any]
) -> dict[str, PolicyLike]:
    """Return the policies of these names, separated by commas, with their default parameters.

    "SUCB.paper" is SUCB with the paper's parameters, and so are SAE.paper and ASAE.paper. `rewards` are
    their parameters `reward_range` and `sigma`. Without names the policies are those of the table of
    bounds, with the parameters of the theorems.

    >>> from structured_bandits import FiniteStructure
    >>> types = FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    >>> [*named_policies("UCB, SAE", types, 1_000, {"reward_range": (0.0, 1.0)})]
    ['UCB', 'SAE']
    """
    if names is None:
        return theorem_policies(structure, horizon, **rewards)
    policies: dict[str, PolicyLike] = {}
    for name in (part.strip() for part in names.split(",")):
        kind_name, _, rule = name.partition(".")
        kind = POLICIES.get(kind_name)
        if kind is None or rule not in (("", "paper") if kind.former_defaults else ("",)):
            of_paper = [f"{each}.paper" for each in POLICIES if POLICIES[each].former_defaults]
            accepted = ", ".join([*POLICIES, *of_paper])
            raise ParameterError(f"policies={names!r}: accepted are {accepted}")
        known = {key: value for key, value in rewards.items() if key in keys_of(kind)}
        values = {**(kind.former_defaults if rule else {}), **known}
        policies[name] = library_policy(kind, structure, horizon, values)
    return policies


def played_policies(
    analysis: Analysis,
    names: str | None,
    horizon: int,
    family: str,
    reward_range: tuple[float, float],
    runs: int,
    seed: int,
) -> Result:
    """Return simulations of these policies (`named_policies`) where the truth of the analysis is true.

    Rewards are the ends of the range, or Gaussian with half the range as their deviation; these have no
    bounds, which the policies are told.
    """
    world: Bernoulli | Gaussian
    rewards: dict[str, Any]
    if family == "bernoulli":
        world, rewards = Bernoulli(analysis.means, reward_range), {"reward_range": reward_range}
    else:
        sigma = 0.5 * (reward_range[1] - reward_range[0])
        world, rewards = Gaussian(analysis.means, sigma), {"reward_range": None, "sigma": sigma}
    policies = named_policies(names, analysis.structure, horizon, rewards)
    return simulate(policies, world, horizon, runs, seed, checkpoints=1)
