"""The policies that are compared: all of the library that can play the structure; why others cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.advice.options import Options, checked_options
from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.policies.base import POLICIES, Policy
from structured_bandits.policies.thompson_sampling import ThompsonSampling
from structured_bandits.simulation.compatibility import check_together, warn_of_horizons
from structured_bandits.structures.base import Structure
from structured_bandits.worlds.gaussian import Gaussian
from structured_bandits.worlds.tape import Tape

BLIND = "ThompsonSampling"  # knows nothing of the structure: what everything is compared with
SHARPER = 0.5  # the smallest alpha that is used in practice; the theorems have larger ones
OF_MODELS = {"table", "model_groups"}  # who asks for these has a prior over models, if it has one
Spec = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Candidate:
    """A policy by name: `policy` is handed out, `played` is what the simulations play.

    They differ where data are known: the one is going to learn them, the other starts with a prior that
    knows them already.
    """

    name: str
    policy: Any
    played: Any

    @property
    def randomised(self) -> bool | None:
        """Whether it draws random numbers; None if it does not say."""
        return getattr(type(self.policy), "randomised", None)

    @property
    def takes_batches(self) -> bool | None:
        """Whether it reckons with rewards that are out; None if it does not say what it is.

        An agent counts decisions that are out as average pulls, so all of the library's do.
        """
        return True if isinstance(self.policy, Policy) else None

    @property
    def doubts(self) -> bool:
        """Whether it plays well if the structure is wrong: it does not look at it, or doubts it."""
        return getattr(self.policy, "trust", 1.0) < 1.0 or not getattr(self.policy, "asks", ())


def candidates(
    structure: Structure,
    horizon: int,
    family: str = "bernoulli",
    trust: float = 0.5,
    prior: Any = None,
) -> dict[str, Any]:
    """Return the policies that `sb.advise` plays, by name, so that you can add your own.

    >>> from structured_bandits import FiniteStructure
    >>> several = candidates(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), horizon=1000)
    >>> several["SUCB"].alpha
    0.5
    """
    options = checked_options(
        structure,
        horizon,
        family=family,
        trust=trust,
        prior=prior,
        wrong=(),
        level=0.05,
        runs=None,
        seconds=60.0,
        seed=0,
    )
    return {each.name: each.policy for each in library_candidates(options, None)[0]}


def library_candidates(options: Options, learned: Any) -> tuple[list[Candidate], dict[str, str]]:
    """Return the library's candidates, and by name why the others cannot serve.

    `learned` is the prior to play with where data are known, else None.
    """
    able: list[Candidate] = []
    refused = {"BestArm": "BestArm samples to be certain, whatever the pulls cost until then"}
    for name, (kind, values) in specs(options):
        try:
            policy = _built(options, kind, values, options.prior)
            played = policy if learned is None else _built(options, kind, values, learned)
            _check_played(name, policy, options)
        except StructuredBanditsError as error:
            refused[name] = _first_sentence(str(error))
        else:
            able.append(Candidate(name, policy, played))
    return able, refused


def given_candidates(policies: Mapping[str, Any], options: Options) -> list[Candidate]:
    """Return the user's policies as candidates, and the blind reference beside them."""
    if not isinstance(policies, Mapping) or not policies:
        raise ParameterError(f"policies={policies!r}: expected policies by name, such as a dict")
    for name, policy in policies.items():
        if not isinstance(name, str):
            raise ParameterError(f"policies: the name {name!r} is not a string")
        _check_played(name, policy, options)
    warn_of_horizons(policies, options.horizon)
    several = [Candidate(name, policy, policy) for name, policy in policies.items()]
    if BLIND in policies:
        return several
    blind = ThompsonSampling(options.structure, **options.rewards)
    return [*several, Candidate(BLIND, blind, blind)]


def specs(options: Options) -> Iterator[tuple[str, Spec]]:
    """Yield all kinds with their default parameters, and with other confidence sets.

    With a trust below 1 ModelTS is played with it, too. Of the paper's policies these are the paper's
    rule, and KL intervals, with alpha = 2 where they are the default. Without a range KL intervals are
    Hoeffding's, and UCB with an alpha of 1/2 is KLUCB.
    """
    kl: dict[str, Any] = {} if options.reward_range is None else {"confidence": "kl"}
    word = " kl" if kl else ""
    for name, kind in POLICIES.items():
        if name == "BestArm":
            continue
        yield name, (name, {})
        if "trust" in kind.parameter_names() and options.trust < 1.0:
            yield f"{name} trust={options.trust:g}", (name, {"trust": options.trust})
        if kind.former_defaults:
            yield f"{name}.paper", (name, kind.former_defaults)
            if kl and options.structure.kind == "finite":
                yield f"{name} kl", (name, kl)
            elif kl:
                yield f"{name} alpha=2 kl", (name, {"alpha": 2.0, **kl})
        elif {"alpha", "confidence"} <= set(kind.parameter_names()):
            if kl:
                yield f"{name} kl", (name, kl)
            if kind.asks:
                yield f"{name} alpha={SHARPER:g}{word}", (name, {"alpha": SHARPER, **kl})


def _built(options: Options, name: str, values: dict[str, Any], prior: Any) -> Any:
    """Return a policy of a kind with the horizon of the options, these values, and this prior."""
    kind: Any = POLICIES[name]
    wanted = {"horizon": options.horizon, **options.rewards, **values}
    if set(kind.asks) & OF_MODELS:
        wanted["prior"] = prior
    known = kind.parameter_names()
    return kind(options.structure, **{key: each for key, each in wanted.items() if key in known})


def _check_played(name: str, policy: Any, options: Options) -> None:
    """Raise if a policy does not fit such rewards, by a world like those that it will play in."""
    arms = options.structure.n_arms
    if options.reward_range is None:
        world: Any = Gaussian(np.zeros(arms), options.sigma)
    else:
        world = Tape(np.tile(options.reward_range, (arms, 1)))
    check_together(name, policy, world, 1)


def _first_sentence(text: str) -> str:
    return re.split(r"[;:] |\. ", text, maxsplit=1)[0] if len(text) > 200 else text
